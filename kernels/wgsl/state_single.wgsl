// p0: the value.
struct Fold { value: {{T}} }
fn fold_new() -> Fold { return Fold({{identity}}); }
fn fold_add(fold: ptr<function, Fold>, b: {{T}}) {
    let a = (*fold).value;
    (*fold).value = {{join}};
}
fn fold_state(fold: Fold) -> State { return State(fold.value); }
fn join(a: {{T}}, b: {{T}}) -> {{T}} { return {{join}}; }
fn combine(a: State, b: State) -> State { return State(join(a.p0, b.p0)); }
