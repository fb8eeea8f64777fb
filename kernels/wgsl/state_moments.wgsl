// p0 + p1: the count; p2 + p3: the mean; p4 + p5: the sum of squared deviations from it.
// A segment's values are taken relative to its first one, so that little cancels when the square of their sum
// is subtracted from the sum of their squares; segments combine by Chan, Golub and LeVeque's update.
struct Fold { count: u32, shift: f32, sum: vec2f, squares: vec2f }
fn fold_new() -> Fold { return Fold(0u, 0.0f, vec2f(), vec2f()); }
fn fold_add(fold: ptr<function, Fold>, value: vec2f) {
    if ((*fold).count == 0u && oc_isfinite_f32(value.x)) { (*fold).shift = value.x; }
    (*fold).count += 1u;
    var off = oc_pair_sum(value.x, -(*fold).shift);
    off.y += value.y;
    let sum = oc_pair_sum((*fold).sum.x, off.x);
    (*fold).sum = vec2f(sum.x, (*fold).sum.y + (sum.y + off.y));
    let square = oc_pair_exact(off.x, off.x);
    let squares = oc_pair_sum((*fold).squares.x, square.x);
    (*fold).squares = vec2f(squares.x, (*fold).squares.y + (squares.y + (square.y + 2.0f * off.x * off.y)));
}
fn tidy(x: vec2f) -> vec2f {
    if (!oc_isfinite_f32(x.x)) { return vec2f(x.x, 0.0f); }
    return oc_pair_sum(x.x, x.y);
}
fn fold_state(fold: Fold) -> State {
    if (fold.count == 0u) { return State(0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f); }
    let count = f32(fold.count);
    let sum = tidy(fold.sum);
    let off = oc_pair_divide(sum, vec2f(count, 0.0f));
    let mean = oc_pair_add(vec2f(fold.shift, 0.0f), off);
    var spread = oc_pair_add(tidy(fold.squares), oc_pair_multiply(sum, -off));
    if (spread.x < 0.0f) { spread = vec2f(); }
    return State(count, 0.0f, mean.x, mean.y, spread.x, spread.y);
}
fn combine(a: State, b: State) -> State {
    if (a.p0 == 0.0f) { return b; }
    if (b.p0 == 0.0f) { return a; }
    let na = vec2f(a.p0, a.p1);
    let nb = vec2f(b.p0, b.p1);
    let count = oc_pair_add(na, nb);
    let share = oc_pair_divide(nb, count);
    let off = oc_pair_add(vec2f(b.p2, b.p3), -vec2f(a.p2, a.p3));
    let step = oc_pair_multiply(off, share);
    let mean = oc_pair_add(vec2f(a.p2, a.p3), step);
    let between = oc_pair_multiply(oc_pair_multiply(off, step), na);
    let spread = oc_pair_add(oc_pair_add(vec2f(a.p4, a.p5), vec2f(b.p4, b.p5)), between);
    return State(count.x, count.y, mean.x, mean.y, spread.x, spread.y);
}
