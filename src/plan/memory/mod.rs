//! Makes a plan fit into the memories: values that aren't needed for long make room, and come back when they are.
//!
//! Liveness in the planned order gives a `peak` for each memory. Where all of them are within their budgets
//! nothing changes, and the pass is that one walk. Above a budget, and where the user allows it, a `moves` pass
//! walks the planned order with the values that each memory holds. When a task needs room, the value whose next
//! use is farthest away goes (Belady, *A study of replacement algorithms for a virtual-storage computer*, 1966):
//! - for nothing when another memory or the disk holds it too, or when a source can be read again;
//! - from a device's memory to the host's by a copy, from the host's to disk by a [`Spill`](StepKind::Spill).
//!
//! A value that is needed where it isn't comes back by a [`Reload`](StepKind::Reload) and copies, just before its
//! reader. Values never change, so what was written once stays good for as long as anybody needs the value: each
//! is written to disk at most once. Of those that go for nothing, the one with the farthest next use is preferred
//! when that is at least half as far away, which halves what stencils write.
//!
//! What never moves: parts of results, which are allocated once and from the start, whole or kept value by value;
//! objects, which have no form on disk; views of sources, which take no memory. A device's value goes through the
//! host's memory, never straight to disk, so with a device the host needs room for two of the largest values.
//! A rechunk reads many blocks at once: it is parted where that makes a plan fit, or move less.
//! A plan is refused only when one task's operands, value and reserve, with all that never moves, exceed a
//! budget.
//!
//! Which order is walked, and how much room is left for steps that run at once, is chosen by a `portfolio`:
//! depth first alone is best for the least memory, but its neighbours wait for each other. Candidates are played
//! by the [simulator](crate::simulate), and the best is kept.
//!
//! The walk takes O((tasks + operands) log tasks) for each candidate. Random plans with one memory were refused
//! exactly when a task's working set was too large; with two, exactly when the host also had no room for two of
//! the largest values. Planned peaks never exceeded the budget.

mod moves;
mod narrow;
mod part;
mod peak;
mod portfolio;
mod scene;
#[cfg(test)]
mod tests;
mod view;

use crate::machine::{Machine, MemoryId};
use crate::plan::error::PlanError;
use crate::plan::task_graph::TaskGraph;
use crate::plan::terms::Assigned;
use crate::settings::Settings;
use crate::steps::{MemoryPlan, PlanLayer, PlanOutput, StepKind};
use crate::units::Bytes;

use moves::{Moves, Refusal};
use peak::Peak;
use view::View;

pub(super) use peak::check;

/// What the pass knows of the plan beside its tasks.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// Layers, which say what can move and how long tasks take.
    pub layers: &'a [PlanLayer],
    /// What the user keeps.
    pub outputs: &'a [PlanOutput],
    /// Where it runs.
    pub machine: &'a Machine,
    /// Budgets, and whether values may be spilled.
    pub settings: &'a Settings,
}

/// An order of all tasks in which they fit.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// Tasks in planned order, those that were added among them.
    pub order: Vec<u32>,
    /// What each memory holds; the disk's comes last where values are spilled.
    pub memories: Vec<MemoryPlan>,
    /// The memory on disk, where values are spilled.
    pub disk: Option<MemoryId>,
    /// Predicted seconds from start to end, where values move.
    pub predicted_s: Option<f64>,
}

/// Makes tasks fit, in `order` or one like it; tasks that move values are added to them, and readers read what was
/// moved.
///
/// # Errors
/// [`PlanError::Memory`] when one task's working set is above a budget; [`PlanError::SpillLimit`] when the disk
/// may hold too little; [`PlanError::OverBudget`] when the plan doesn't fit as it is and nothing may be spilled.
pub fn fit(
    tasks: &mut TaskGraph,
    assigned: &mut Assigned,
    order: Vec<u32>,
    scope: Scope<'_>,
) -> Result<Fitted, PlanError> {
    let mut memories = memories(scope);
    let over = peak::measure(tasks, &assigned.terms, &order, &mut memories);
    let Some((memory, peak)) = over else {
        return Ok(Fitted { order, memories, disk: None, predicted_s: None });
    };
    if !scope.settings.spill {
        return Err(over_budget(scope, tasks, &memories, memory, peak));
    }
    let (nanos, moves) = best(tasks, assigned, &order, scope)?;
    let order = apply(tasks, assigned, moves);
    let disk = MemoryId(scope.machine.memories.len() as u16);
    let spills = tasks.tasks.iter().any(|task| task.kind == StepKind::Spill);
    if spills {
        memories.push(MemoryPlan { peak: Bytes(0), results: Bytes(0), budget: scope.settings.spill_limit });
    }
    match peak::measure(tasks, &assigned.terms, &order, &mut memories) {
        None => {
            let predicted_s = Some(nanos as f64 / 1e9);
            Ok(Fitted { order, memories, disk: spills.then_some(disk), predicted_s })
        }
        Some((memory, peak)) => Err(over_budget(scope, tasks, &memories, memory, peak)),
    }
}

/// The best walk over the tasks as they are, or in which rechunks are parted, if that is better: the tasks are these
/// then.
///
/// # Errors
/// When neither fits, what is said of the parted ones, which need less.
fn best(
    tasks: &mut TaskGraph,
    assigned: &mut Assigned,
    order: &[u32],
    scope: Scope<'_>,
) -> Result<(u64, Moves), PlanError> {
    let walked = |tasks: &TaskGraph, order: &[u32], priority: &[f64]| {
        let view = View::new(tasks, &assigned.terms, scope);
        let best = portfolio::best(&view, order, priority, scope);
        best.map_err(|refusal| refused(scope, tasks, refusal))
    };
    let whole = walked(tasks, order, &assigned.priority);
    let Some(parted) = part::part(tasks, order, &assigned.priority, scope.layers) else { return whole };
    let pieces = walked(&parted.tasks, &parted.order, &parted.priority);
    match (whole, pieces) {
        (Ok(whole), pieces) if !pieces.as_ref().is_ok_and(|pieces| portfolio::is_better(pieces, &whole)) => {
            Ok(whole)
        }
        (_, pieces) => {
            (*tasks, assigned.priority) = (parted.tasks, parted.priority);
            pieces
        }
    }
}

/// The memories of a machine: what results take, and the limits.
fn memories(scope: Scope<'_>) -> Vec<MemoryPlan> {
    let results = scope.outputs.iter().fold(0u64, |all, output| all.saturating_add(output.bytes));
    let memory = |at: usize| MemoryPlan {
        peak: Bytes(0),
        results: Bytes(if at == 0 { results } else { 0 }),
        budget: budget(scope.machine, scope.settings, MemoryId(at as u16)),
    };
    (0..scope.machine.memories.len()).map(memory).collect()
}

/// What may be held in a memory: its size, and the host's no more than the user's budget. `None` where neither
/// is known.
pub fn budget(machine: &Machine, settings: &Settings, memory: MemoryId) -> Option<Bytes> {
    let size = machine.memory(memory).bytes;
    let set = settings.memory.filter(|_| memory == MemoryId::HOST);
    match (size, set) {
        (Some(size), Some(set)) => Some(size.min(set)),
        (size, set) => size.or(set),
    }
}

fn apply(tasks: &mut TaskGraph, assigned: &mut Assigned, moves: Moves) -> Vec<u32> {
    tasks.operands = moves.operands;
    for (mut step, source) in moves.added {
        if step.kind.is_copy() {
            step.terms = assigned.of_copy(step.terms);
        }
        tasks.push(step, source.map(|source| (source, 0)));
    }
    moves.order
}

fn over_budget(
    scope: Scope<'_>,
    tasks: &TaskGraph,
    memories: &[MemoryPlan],
    memory: usize,
    peak: Peak,
) -> PlanError {
    PlanError::OverBudget {
        memory: scope.machine.memories.get(memory).map_or("disk", |memory| memory.name.as_str()).to_owned(),
        peak: Bytes(peak.bytes),
        budget: memories[memory].budget.unwrap_or_default(),
        layer: layer_name(scope, tasks, peak.task),
    }
}

fn refused(scope: Scope<'_>, tasks: &TaskGraph, refusal: Refusal) -> PlanError {
    let layer = layer_name(scope, tasks, Some(refusal.task));
    let needs = Bytes(refusal.needs);
    match scope.machine.memories.get(refusal.memory) {
        None => PlanError::SpillLimit { needs, limit: scope.settings.spill_limit.unwrap_or_default(), layer },
        Some(info) => PlanError::Memory {
            memory: info.name.clone(),
            needs,
            fixed: Bytes(refusal.fixed),
            budget: budget(scope.machine, scope.settings, MemoryId(refusal.memory as u16))
                .unwrap_or_default(),
            layer,
        },
    }
}

fn layer_name(scope: Scope<'_>, tasks: &TaskGraph, task: Option<u32>) -> String {
    let layer = task.map(|task| tasks.tasks[task as usize].layer as usize);
    layer.map_or("results", |layer| scope.layers[layer].name.as_str()).to_owned()
}
