// Joins up to {{fan}} neighbouring partial states of one result.
{{gets}}
fn item_at(item: u32) -> State {
    let kept = item / params[2];
    let group = item - kept * params[2];
    let first = kept * params[3] + group * {{fan}}u;
    let last = kept * params[3] + min(params[3], (group + 1u) * {{fan}}u);
    var state = get0(first);
    for (var at = first + 1u; at < last; at++) { state = combine(state, get0(at)); }
    return state;
}
