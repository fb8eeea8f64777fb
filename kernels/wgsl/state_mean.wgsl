// p0 + p1: the sum; p2 + p3: the count.
struct Fold { high: {{T}}, low: {{T}}, count: u32 }
fn fold_new() -> Fold { return Fold({{T}}(0), {{T}}(0), 0u); }
fn fold_add(fold: ptr<function, Fold>, value: vec2<{{T}}>) {
    let sum = oc_pair_sum_{{T}}((*fold).high, value.x);
    (*fold).high = sum.x;
    (*fold).low += sum.y + value.y;
    (*fold).count += 1u;
}
fn fold_state(fold: Fold) -> State {
    // A segment is short: its count is exact in {{T}}.
    let count = {{T}}(fold.count);
    if (!oc_isfinite_{{T}}(fold.high)) { return State(fold.high, {{T}}(0), count, {{T}}(0)); }
    let sum = oc_pair_sum_{{T}}(fold.high, fold.low);
    return State(sum.x, sum.y, count, {{T}}(0));
}
fn combine(a: State, b: State) -> State {
    let sum = oc_pair_add_{{T}}(vec2<{{T}}>(a.p0, a.p1), vec2<{{T}}>(b.p0, b.p1));
    let count = oc_pair_add_{{T}}(vec2<{{T}}>(a.p2, a.p3), vec2<{{T}}>(b.p2, b.p3));
    return State(sum.x, sum.y, count.x, count.y);
}
