// p0 + p1: the sum; p2 + p3: the count.
struct Fold { high: f32, low: f32, count: u32 }
fn fold_new() -> Fold { return Fold(0.0f, 0.0f, 0u); }
fn fold_add(fold: ptr<function, Fold>, value: vec2f) {
    let sum = oc_pair_sum((*fold).high, value.x);
    (*fold).high = sum.x;
    (*fold).low += sum.y + value.y;
    (*fold).count += 1u;
}
fn fold_state(fold: Fold) -> State {
    // A segment is short: its count is exact in f32.
    let count = f32(fold.count);
    if (!oc_isfinite_f32(fold.high)) { return State(fold.high, 0.0f, count, 0.0f); }
    let sum = oc_pair_sum(fold.high, fold.low);
    return State(sum.x, sum.y, count, 0.0f);
}
fn combine(a: State, b: State) -> State {
    let sum = oc_pair_add(vec2f(a.p0, a.p1), vec2f(b.p0, b.p1));
    let count = oc_pair_add(vec2f(a.p2, a.p3), vec2f(b.p2, b.p3));
    return State(sum.x, sum.y, count.x, count.y);
}
