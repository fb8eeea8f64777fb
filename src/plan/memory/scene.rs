//! A walk's tasks as a scene for the simulator.

use crate::csr::Csr;
use crate::machine::MemoryId;
use crate::plan::memory::moves::Moves;
use crate::plan::memory::view::View;
use crate::simulate::{Item, Scene};
use crate::steps::Step;

/// The scene of tasks in the order of a walk, under `budgets` by memory, the disk's last, with `workers` on the
/// host. O(tasks + operands).
pub fn scene(view: &View<'_>, moves: &Moves, budgets: &[u64], workers: u32) -> Scene {
    let count = moves.order.len();
    let mut rank = vec![0u32; view.datum.len() + moves.added.len()];
    for (at, &task) in moves.order.iter().enumerate() {
        rank[task as usize] = at as u32;
    }
    let items = moves.order.iter().map(|&task| item(view, moves, task)).collect();
    let reads = moves.order.iter().zip(0u32..).flat_map(|(&task, at)| {
        let rank = &rank;
        sources(view, moves, task).map(move |source| (at, rank[source as usize]))
    });
    let place = |task: u32| rank[task as usize];
    let mut held = vec![0; budgets.len()];
    held[0] = view.results;
    let mut lanes = view.engines.lanes.clone();
    lanes[0] = workers;
    Scene {
        items,
        operands: Csr::new(count, reads),
        orderings: view.tasks.orderings.iter().map(|&(a, b)| (place(a), place(b))).collect(),
        lanes,
        budgets: budgets.to_vec(),
        held,
    }
}

fn item(view: &View<'_>, moves: &Moves, task: u32) -> Item {
    let step = step(view, moves, task);
    let moved = step.kind.is_copy().then(|| sources(view, moves, task).next()).flatten();
    let (engine, nanos, scratch) = match moved {
        Some(source) => {
            let from: MemoryId = self::step(view, moves, source).memory;
            let (engine, nanos) = view.engines.of_move(view.machine, step, from);
            (engine, nanos, 0)
        }
        None => {
            let nanos = view.nanos.get(task as usize).copied();
            // Reading a source again takes as long as reading the disk.
            let nanos = nanos.unwrap_or_else(|| view.engines.read_again(step));
            (view.engines.of(step), nanos, view.terms_of(step).reserve)
        }
    };
    Item { engine, memory: step.memory.0, value: step.allocated(), scratch, nanos }
}

fn step<'a>(view: &'a View<'_>, moves: &'a Moves, task: u32) -> &'a Step {
    match view.tasks.tasks.get(task as usize) {
        Some(step) => step,
        None => &moves.added[task as usize - view.datum.len()].0,
    }
}

/// The tasks whose values a task reads.
fn sources<'a>(view: &'a View<'_>, moves: &'a Moves, task: u32) -> impl Iterator<Item = u32> + Clone + 'a {
    let (known, added) = match (task as usize).checked_sub(view.datum.len()) {
        None => {
            let (from, to) = (view.tasks.offsets[task as usize], view.tasks.offsets[task as usize + 1]);
            (&moves.operands[from as usize..to as usize], None)
        }
        Some(at) => (&[][..], moves.added[at].1),
    };
    known.iter().map(|&(source, _)| source).chain(added)
}
