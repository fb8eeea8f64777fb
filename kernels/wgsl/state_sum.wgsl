// p0 + p1: the sum.
struct Fold { high: {{T}}, low: {{T}} }
fn fold_new() -> Fold { return Fold({{T}}(0), {{T}}(0)); }
fn fold_add(fold: ptr<function, Fold>, value: vec2<{{T}}>) {
    let sum = oc_pair_sum_{{T}}((*fold).high, value.x);
    (*fold).high = sum.x;
    (*fold).low += sum.y + value.y;
}
fn fold_pair(fold: Fold) -> vec2<{{T}}> {
    if (!oc_isfinite_{{T}}(fold.high)) { return vec2<{{T}}>(fold.high, {{T}}(0)); }
    return oc_pair_sum_{{T}}(fold.high, fold.low);
}
fn fold_state(fold: Fold) -> State {
    let sum = fold_pair(fold);
    return State(sum.x, sum.y);
}
fn combine(a: State, b: State) -> State {
    let sum = oc_pair_add_{{T}}(vec2<{{T}}>(a.p0, a.p1), vec2<{{T}}>(b.p0, b.p1));
    return State(sum.x, sum.y);
}
