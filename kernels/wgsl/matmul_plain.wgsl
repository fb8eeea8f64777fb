{{bindings}}
// An invocation makes a part of the product, {{each}} by {{each}} elements, by itself.
@compute @workgroup_size({{workgroup}})
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let m = params[2];
    let k = params[3];
    let n = params[4];
    let item = id.x + id.y * groups.x * {{workgroup}}u;
    if (item >= params[1]) {
        return;
    }
    let across = (n + {{each}}u - 1u) / {{each}}u;
    let row = item / across * {{each}}u;
    let column = item % across * {{each}}u;
    var sums: array<array<{{type}}, {{each}}>, {{each}}>;
    for (var i = 0u; i < {{each}}u; i++) {
        for (var j = 0u; j < {{each}}u; j++) {
            let place = min(row + i, m - 1u) * n + min(column + j, n - 1u);
            sums[i][j] = {{begin}};
        }
    }
    for (var begin = 0u; begin < k; begin += {{panel}}u) {
        var panel: array<array<{{type}}, {{each}}>, {{each}}>;
        for (var i = 0u; i < {{each}}u; i++) {
            for (var j = 0u; j < {{each}}u; j++) {
                panel[i][j] = {{zero}};
            }
        }
        for (var d = begin; d < min(begin + {{panel}}u, k); d++) {
            var left: array<{{type}}, {{each}}>;
            var right: array<{{type}}, {{each}}>;
            for (var i = 0u; i < {{each}}u; i++) {
                left[i] = x0[min(row + i, m - 1u) * k + d];
                right[i] = x1[d * n + min(column + i, n - 1u)];
            }
            for (var i = 0u; i < {{each}}u; i++) {
                for (var j = 0u; j < {{each}}u; j++) {
                    panel[i][j] = {{fused}};
                }
            }
        }
        for (var i = 0u; i < {{each}}u; i++) {
            for (var j = 0u; j < {{each}}u; j++) {
                sums[i][j] += panel[i][j];
            }
        }
    }
    for (var i = 0u; i < {{each}}u; i++) {
        for (var j = 0u; j < {{each}}u; j++) {
            if (row + i < m && column + j < n) {
                output[(row + i) * n + column + j] = sums[i][j];
            }
        }
    }
}
