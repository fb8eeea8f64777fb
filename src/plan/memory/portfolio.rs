//! Which order to walk, and how much of the budget to leave to steps that run at once.
//!
//! The [narrowest](super::narrow) order holds the least, but its neighbours wait for each other, so that workers wait too. A *wide*
//! order is the one in which a play of the narrow order on some workers, with a little more room, starts its
//! tasks: neighbours don't depend on each other. It holds a little more, and under small budgets moves much more,
//! so that the narrow order stays a candidate. *Slack* is budget that the walk leaves alone: it moves more, and
//! workers wait less where the plan's profile is flat.
//!
//! What is chosen doesn't depend on which order was tried first.

use std::panic::resume_unwind;
use std::thread::{Builder, ScopedJoinHandle};

use crate::plan::memory::moves::{Moves, Refusal, walk};
use crate::plan::memory::narrow::narrowest;
use crate::plan::memory::scene::scene;
use crate::plan::memory::view::View;
use crate::plan::memory::{Scope, memories};
use crate::plan::order;
use crate::simulate::{play, sequential_peaks};

/// Plans of more tasks try the narrowest and the widest order only.
const TASKS_MANY: usize = 20_000;

/// Plans of more tasks try their orders on threads beside each other.
const TASKS_FEW: usize = 2_000;

/// A plan that moves less is preferred to one that is faster by no more than this.
const NEARLY: f64 = 1.05;

/// The best walk found, and the nanoseconds that its play takes. `priority` is by task, and all orders keep it.
///
/// # Errors
/// When no order fits, what the narrow one says, which needs the least.
pub fn best(
    view: &View<'_>,
    given: &[u32],
    priority: &[f64],
    scope: Scope<'_>,
) -> Result<(u64, Moves), Refusal> {
    let workers = scope.settings.threads as u32;
    let count = view.datum.len();
    let block = usual_block(view);
    let narrow = narrowest(view, given, priority, &memories(scope));
    let of_width = |width: u32| {
        let order = match width {
            1 => narrow.clone(),
            _ => order::keeping_priority(view.tasks, &widened(view, &narrow, width, block), priority),
        };
        with_slacks(view, &order, workers, block)
    };
    let widths = widths(workers, count > TASKS_MANY);
    let tried = if count > TASKS_FEW { side_by_side(&widths, of_width) } else { in_turn(&widths, of_width) };
    let (found, refused): (Vec<_>, Vec<_>) = tried.into_iter().unzip();
    let refused = refused.into_iter().flatten().next();
    let found = found.into_iter().flatten().collect();
    choose(found).ok_or(refused.unwrap_or(Refusal { task: 0, memory: 0, needs: 0, fixed: 0 }))
}

/// Walks of one order with more and more slack, each with its play's nanoseconds, up to the first that is refused.
fn with_slacks(
    view: &View<'_>,
    order: &[u32],
    workers: u32,
    block: u64,
) -> (Vec<(u64, Moves)>, Option<Refusal>) {
    let is_large = view.datum.len() > TASKS_MANY;
    let all = u64::from(workers - 1) * block;
    let slacks = [0, all / 2, all].into_iter().filter(|&slack| !is_large || slack != all / 2);
    let (mut found, mut tried) = (Vec::new(), None);
    for slack in slacks {
        match with_slack(view, order, slack) {
            Ok((_, used)) if tried == Some(used) => {}
            Ok((moves, used)) => {
                tried = Some(used);
                let nanos = play(&scene(view, &moves, &view.budgets, workers)).nanos;
                found.push((nanos, moves));
            }
            Err(refusal) => return (found, Some(refusal)),
        }
    }
    (found, None)
}

fn in_turn<T>(widths: &[u32], of_width: impl Fn(u32) -> T) -> Vec<T> {
    widths.iter().map(|&width| of_width(width)).collect()
}

/// As [`in_turn`], with a thread for each width where the system has one.
fn side_by_side<T: Send>(widths: &[u32], of_width: impl Fn(u32) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let of_width = &of_width;
        let begun = |&width: &u32| {
            let thread = Builder::new().spawn_scoped(scope, move || of_width(width));
            thread.map_err(|_| width)
        };
        let begun: Vec<_> = widths.iter().map(begun).collect();
        let result = |begun: Result<ScopedJoinHandle<'_, T>, u32>| match begun {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(width) => of_width(width),
        };
        begun.into_iter().map(result).collect()
    })
}

/// Whether a walk is to be preferred to another.
pub fn is_better(one: &(u64, Moves), other: &(u64, Moves)) -> bool {
    let (nanos, others) = (one.0 as f64, other.0 as f64);
    let is_near = nanos.max(others) <= nanos.min(others) * NEARLY;
    if is_near { one.1.bytes() < other.1.bytes() } else { nanos < others }
}

fn choose(found: Vec<(u64, Moves)>) -> Option<(u64, Moves)> {
    let fastest = found.iter().map(|(nanos, _)| *nanos).min()?;
    let nearly = found.into_iter().filter(|(nanos, _)| *nanos as f64 <= fastest as f64 * NEARLY);
    nearly.min_by_key(|(nanos, moves)| (moves.bytes(), *nanos))
}

/// 1, 2, 4 and so on up to the number of workers.
fn widths(workers: u32, is_large: bool) -> Vec<u32> {
    let doubled = std::iter::successors(Some(1u32), |width| width.checked_mul(2));
    let mut all: Vec<u32> = doubled.take_while(|width| *width < workers).chain([workers]).collect();
    all.dedup();
    if is_large && all.len() > 2 { vec![1, workers] } else { all }
}

/// What nine of ten tasks that allocate in the host's memory don't exceed.
fn usual_block(view: &View<'_>) -> u64 {
    let tasks = view.tasks.tasks.iter().filter(|task| task.memory.0 == 0);
    let mut all: Vec<u64> = tasks.map(|task| task.allocated() + view.terms_of(task).reserve).collect();
    all.retain(|&bytes| bytes > 0);
    let at = all.len() * 9 / 10;
    if all.is_empty() { 0 } else { *all.select_nth_unstable(at).1 }
}

/// The order in which `width` workers start the tasks of an order, with room for two more blocks each.
fn widened(view: &View<'_>, narrow: &[u32], width: u32, block: u64) -> Vec<u32> {
    let order = narrow.to_vec();
    let plain = Moves { order, added: Vec::new(), operands: view.tasks.operands.clone() };
    let mut scene = scene(view, &plain, &view.budgets, width);
    let peaks = sequential_peaks(&scene);
    let budget = |(memory, &peak): (usize, &u64)| match memory {
        0 => peak + 2 * u64::from(width) * block,
        // A device does one thing at a time: it gains nothing by more room than its order needs.
        _ => peak,
    };
    scene.budgets = peaks.iter().enumerate().map(budget).collect();
    play(&scene).starts.into_iter().map(|at| narrow[at as usize]).collect()
}

/// A walk that leaves slack in the host's memory, half as much as long as that is refused; and how much.
fn with_slack(view: &View<'_>, order: &[u32], slack: u64) -> Result<(Moves, u64), Refusal> {
    let mut slack = slack;
    loop {
        let mut budgets = view.budgets.clone();
        if budgets[0] < u64::MAX {
            budgets[0] = budgets[0].saturating_sub(slack);
        }
        match walk(view, order, &budgets) {
            Ok(moves) => return Ok((moves, slack)),
            Err(refusal) if slack == 0 => return Err(refusal),
            Err(_) => slack /= 2,
        }
    }
}
