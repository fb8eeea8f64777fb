{{bindings}}
{{library}}
{{state}}
{{item_at}}
@compute @workgroup_size({{workgroup}})
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let count = (params[1] + {{lanes}}u - 1u) / {{lanes}}u;
    let stride = groups.x * groups.y * {{workgroup}}u;
    for (var item = id.x + id.y * groups.x * {{workgroup}}u; item < count; item += stride) {
{{store}}
    }
}
