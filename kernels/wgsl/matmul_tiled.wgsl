{{bindings}}
var<workgroup> left_tile: array<{{type}}, {{shared}}>;
var<workgroup> right_tile: array<{{type}}, {{shared}}>;
// A workgroup makes a tile of the product, 16 by 16 invocations of {{each}} by {{each}} elements, from 16 columns of the
// left and rows of the right matrix at a time.
@compute @workgroup_size({{workgroup}})
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let m = params[2];
    let k = params[3];
    let n = params[4];
    let across = (n + {{tile}}u - 1u) / {{tile}}u;
    // Groups beyond the last compute the last one's tile again, but write nothing: barriers are for all.
    let tiles = params[1] / {{workgroup}}u;
    let number = group.x + group.y * groups.x;
    let tile = min(number, tiles - 1u);
    let row = tile / across * {{tile}}u;
    let column = tile % across * {{tile}}u;
    let down = local / 16u;
    let right = local % 16u;
    var sums: array<array<{{type}}, {{each}}>, {{each}}>;
    for (var i = 0u; i < {{each}}u; i++) {
        for (var j = 0u; j < {{each}}u; j++) {
            let place = min(row + down + 16u * i, m - 1u) * n + min(column + right + 16u * j, n - 1u);
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
        let end = min(begin + {{panel}}u, k);
        for (var at = begin; at < end; at += 16u) {
            for (var load = local; load < {{shared}}u; load += {{workgroup}}u) {
                let r = row + load / 16u;
                let d = at + load % 16u;
                left_tile[load] = select({{zero}}, x0[min(r, m - 1u) * k + min(d, k - 1u)], r < m && d < end);
                let e = at + load / {{tile}}u;
                let q = column + load % {{tile}}u;
                right_tile[load] = select({{zero}}, x1[min(e, k - 1u) * n + min(q, n - 1u)], e < end && q < n);
            }
            workgroupBarrier();
            for (var d = 0u; d < min(16u, end - at); d++) {
                var left: array<{{type}}, {{each}}>;
                var right_row: array<{{type}}, {{each}}>;
                for (var i = 0u; i < {{each}}u; i++) {
                    left[i] = left_tile[(down + 16u * i) * 16u + d];
                    right_row[i] = right_tile[d * {{tile}}u + right + 16u * i];
                }
                for (var i = 0u; i < {{each}}u; i++) {
                    for (var j = 0u; j < {{each}}u; j++) {
                        panel[i][j] = {{fused_tiled}};
                    }
                }
            }
            workgroupBarrier();
        }
        for (var i = 0u; i < {{each}}u; i++) {
            for (var j = 0u; j < {{each}}u; j++) {
                sums[i][j] += panel[i][j];
            }
        }
    }
    if (number != tile) {
        return;
    }
    for (var i = 0u; i < {{each}}u; i++) {
        for (var j = 0u; j < {{each}}u; j++) {
            let r = row + down + 16u * i;
            let q = column + right + 16u * j;
            if (r < m && q < n) {
                output[r * n + q] = sums[i][j];
            }
        }
    }
}
