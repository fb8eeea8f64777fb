// p0 + p1: the count; p2 + p3: the mean; p4 + p5: the sum of squared deviations from it.
// A segment's values are taken relative to its first one, so that little cancels when the square of their sum
// is subtracted from the sum of their squares; segments combine by Chan, Golub and LeVeque's update.
struct Fold { count: u32, shift: {{T}}, sum: vec2<{{T}}>, squares: vec2<{{T}}> }
fn fold_new() -> Fold { return Fold(0u, {{T}}(0), vec2<{{T}}>(), vec2<{{T}}>()); }
fn fold_add(fold: ptr<function, Fold>, value: vec2<{{T}}>) {
    if ((*fold).count == 0u && oc_isfinite_{{T}}(value.x)) { (*fold).shift = value.x; }
    (*fold).count += 1u;
    var off = oc_pair_sum_{{T}}(value.x, -(*fold).shift);
    off.y += value.y;
    let sum = oc_pair_sum_{{T}}((*fold).sum.x, off.x);
    (*fold).sum = vec2<{{T}}>(sum.x, (*fold).sum.y + (sum.y + off.y));
    let square = oc_pair_exact_{{T}}(off.x, off.x);
    let squares = oc_pair_sum_{{T}}((*fold).squares.x, square.x);
    (*fold).squares = vec2<{{T}}>(squares.x, (*fold).squares.y + (squares.y + (square.y + {{T}}(2) * off.x * off.y)));
}
fn tidy(x: vec2<{{T}}>) -> vec2<{{T}}> {
    if (!oc_isfinite_{{T}}(x.x)) { return vec2<{{T}}>(x.x, {{T}}(0)); }
    return oc_pair_sum_{{T}}(x.x, x.y);
}
fn fold_state(fold: Fold) -> State {
    if (fold.count == 0u) { return State({{T}}(0), {{T}}(0), {{T}}(0), {{T}}(0), {{T}}(0), {{T}}(0)); }
    let count = {{T}}(fold.count);
    let sum = tidy(fold.sum);
    let off = oc_pair_divide_{{T}}(sum, vec2<{{T}}>(count, {{T}}(0)));
    let mean = oc_pair_add_{{T}}(vec2<{{T}}>(fold.shift, {{T}}(0)), off);
    var spread = oc_pair_add_{{T}}(tidy(fold.squares), oc_pair_multiply_{{T}}(sum, -off));
    if (spread.x < {{T}}(0)) { spread = vec2<{{T}}>(); }
    return State(count, {{T}}(0), mean.x, mean.y, spread.x, spread.y);
}
fn combine(a: State, b: State) -> State {
    if (a.p0 == {{T}}(0)) { return b; }
    if (b.p0 == {{T}}(0)) { return a; }
    let na = vec2<{{T}}>(a.p0, a.p1);
    let nb = vec2<{{T}}>(b.p0, b.p1);
    let count = oc_pair_add_{{T}}(na, nb);
    let share = oc_pair_divide_{{T}}(nb, count);
    let off = oc_pair_add_{{T}}(vec2<{{T}}>(b.p2, b.p3), -vec2<{{T}}>(a.p2, a.p3));
    let step = oc_pair_multiply_{{T}}(off, share);
    let mean = oc_pair_add_{{T}}(vec2<{{T}}>(a.p2, a.p3), step);
    let between = oc_pair_multiply_{{T}}(oc_pair_multiply_{{T}}(off, step), na);
    let spread = oc_pair_add_{{T}}(oc_pair_add_{{T}}(vec2<{{T}}>(a.p4, a.p5), vec2<{{T}}>(b.p4, b.p5)), between);
    return State(count.x, count.y, mean.x, mean.y, spread.x, spread.y);
}
