// Pieces of one operand, or constants. A piece is rows; the `units` invocations of a row copy every so many of
// its elements, or for packed types of the words of the output in which the row lies. Rows and pieces may share
// a word, so parts of words are written by atomic operations on their own bits.
{{bindings}}
const PIECE = 32u;
fn param(at: u32) -> i32 { return bitcast<i32>(params[at]); }
fn element(at: i32) -> {{type}} { {{read}} }

@compute @workgroup_size({{workgroup}})
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let item = id.x + id.y * groups.x * {{workgroup}}u;
    if (item >= params[1]) { return; }
    // The last piece that starts at or before this unit.
    var low = 0u;
    var high = params[2];
    while (high - low > 1u) {
        let middle = (low + high) / 2u;
        if (params[4u + middle * PIECE] <= item) { low = middle; } else { high = middle; }
    }
    let piece = 4u + low * PIECE;
    let rest = item - params[piece];
    let units = params[piece + 6u];
    var row = rest / units;
    let unit = rest - row * units;
    var target_at = param(piece + 1u);
    var source = param(piece + 2u);
    let length = param(piece + 3u);
    let step = param(piece + 4u);
    let constant = params[piece + 5u] != 0u;
    // Outer axes, innermost first.
    for (var axis = 0u; axis < params[3]; axis++) {
        let extent = params[piece + 11u + axis];
        let next = row / extent;
        let at = i32(row - next * extent);
        target_at += at * param(piece + 18u + axis);
        source += at * param(piece + 25u + axis);
        row = next;
    }
{{unit}}
}
