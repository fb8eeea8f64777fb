{{bindings}}
{{library}}
{{state}}
{{item_at}}
@compute @workgroup_size({{workgroup}})
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let item = id.x + id.y * groups.x * {{workgroup}}u;
{{store}}
}
