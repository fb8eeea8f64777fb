// One segment of one result: elements `segment`, `segment + segments`, … of those that are folded into it, so
// that neighbours read neighbouring elements, and the result depends on the block's extents alone.
fn item_at(item: u32) -> State {
    let kept = item / params[2];
    var fold = fold_new();
{{kept}}    for (var r = item - kept * params[2]; r < params[3]; r += params[2]) {
{{index}}{{body}}{{add}}    }
    return fold_state(fold);
}
