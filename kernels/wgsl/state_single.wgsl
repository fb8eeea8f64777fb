// p0: the value.
struct Fold { value: {{type}} }
fn fold_new() -> Fold { return Fold({{identity}}); }
fn fold_add(fold: ptr<function, Fold>, b: {{type}}) {
    let a = (*fold).value;
    (*fold).value = {{join}};
}
fn fold_state(fold: Fold) -> State { return State(fold.value); }
fn join(a: {{type}}, b: {{type}}) -> {{type}} { return {{join}}; }
fn combine(a: State, b: State) -> State { return State(join(a.p0, b.p0)); }
