//! An order in which everything comes after what it reads.

/// The numbers of `reads`, which says what each reads, so that each comes after those; in the given order otherwise.
/// O(nodes + edges), without recursion.
///
/// # Errors
/// A circle: each of its members reads the next, and the last the first.
pub(super) fn topological(reads: &[Vec<usize>]) -> Result<Vec<usize>, Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut state = vec![State::New; reads.len()];
    let mut order = Vec::with_capacity(reads.len());
    for root in 0..reads.len() {
        let mut stack = vec![(root, 0)];
        while let Some((node, next)) = stack.pop() {
            if state[node] == State::Done {
                continue;
            }
            state[node] = State::Open;
            let Some(&read) = reads[node].get(next) else {
                state[node] = State::Done;
                order.push(node);
                continue;
            };
            stack.push((node, next + 1));
            match state[read] {
                State::New => stack.push((read, 0)),
                State::Done => {}
                State::Open => {
                    let from = stack.iter().position(|&(open, _)| open == read).unwrap_or(0);
                    return Err(stack[from..].iter().map(|&(open, _)| open).collect());
                }
            }
        }
    }
    Ok(order)
}
