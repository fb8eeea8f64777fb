// p0 + p1: the sum.
struct Fold { high: f32, low: f32 }
fn fold_new() -> Fold { return Fold(0.0f, 0.0f); }
fn fold_add(fold: ptr<function, Fold>, value: vec2f) {
    let sum = oc_pair_sum((*fold).high, value.x);
    (*fold).high = sum.x;
    (*fold).low += sum.y + value.y;
}
fn fold_pair(fold: Fold) -> vec2f {
    if (!oc_isfinite_f32(fold.high)) { return vec2f(fold.high, 0.0f); }
    return oc_pair_sum(fold.high, fold.low);
}
fn fold_state(fold: Fold) -> State {
    let sum = fold_pair(fold);
    return State(sum.x, sum.y);
}
fn combine(a: State, b: State) -> State {
    let sum = oc_pair_add(vec2f(a.p0, a.p1), vec2f(b.p0, b.p1));
    return State(sum.x, sum.y);
}
