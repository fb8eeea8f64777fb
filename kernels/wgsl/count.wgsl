{{bindings}}
{{library}}
fn flush(bin: u32, count: u32) {
    if (count > 0u) { atomicAdd(&output[bin], count); }
}
@compute @workgroup_size({{workgroup}})
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let item = id.x + id.y * groups.x * {{workgroup}}u;
    // Runs of equal values, which are common, cost one atomic addition.
    var bin = 0u;
    var count = 0u;
    if (item < params[1]) {
    for (var e = item; e < params[3]; e += params[1]) {
{{index}}{{body}}
        if ({{mask}} && {{value}} >= 0 && {{value}} < {{bins}}) {
            if (u32({{value}}) != bin) {
                flush(bin, count);
                bin = u32({{value}});
                count = 0u;
            }
            count += 1u;
        }
    }
    }
    flush(bin, count);
}
