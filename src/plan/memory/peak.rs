//! How much each memory must hold when tasks run one after the other in planned order.

use crate::ids::StepId;
use crate::plan::error::PlanError;
use crate::plan::task_graph::TaskGraph;
use crate::steps::{MemoryPlan, Plan, Step, Terms};
use crate::units::Bytes;

/// The most that a memory holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    /// Bytes.
    pub bytes: u64,
    /// The task while which runs they are held; `None` when results alone are the most.
    pub task: Option<u32>,
}

/// Fills in the peaks; the first memory whose peak is above its budget, if any. O(tasks + operands).
pub fn measure(
    tasks: &TaskGraph,
    terms: &[Terms],
    order: &[u32],
    memories: &mut [MemoryPlan],
) -> Option<(usize, Peak)> {
    let mut unread = vec![0u32; tasks.tasks.len()];
    for &(value, _) in &tasks.operands {
        unread[value as usize] += 1;
    }
    let mut walk = Walk::new(memories);
    for &task in order {
        let step = &tasks.tasks[task as usize];
        walk.start(step, &terms[step.terms as usize], task);
        for &(value, _) in tasks.operands(task) {
            unread[value as usize] -= 1;
            if unread[value as usize] == 0 {
                walk.free(&tasks.tasks[value as usize]);
            }
        }
        if unread[task as usize] == 0 {
            walk.free(step);
        }
    }
    let over = walk.peaks.iter().zip(memories.iter_mut()).map(|(peak, memory)| {
        memory.peak = Bytes(peak.bytes);
        memory.budget.is_some_and(|budget| memory.peak > budget)
    });
    let over: Vec<bool> = over.collect();
    over.iter().position(|&over| over).map(|at| (at, walk.peaks[at]))
}

/// Checks that a plan's memories hold what its steps need in order, and no more than they may. O(steps + operands).
///
/// # Errors
/// [`PlanError::Bug`] with the memory and the figures.
pub fn check(plan: &Plan) -> Result<(), PlanError> {
    let mut unread = plan.readers();
    let mut walk = Walk::new(&plan.memories);
    for (at, step) in plan.steps.iter().enumerate() {
        let id = StepId::at(at);
        walk.start(&step, &plan.terms[step.terms as usize], id.0);
        for operand in plan.operands(id) {
            unread[operand.step.index()] -= 1;
            if unread[operand.step.index()] == 0 {
                walk.free(&plan.step(operand.step));
            }
        }
        if unread[at] == 0 {
            walk.free(&step);
        }
    }
    for ((peak, memory), name) in walk.peaks.iter().zip(&plan.memories).zip(&plan.memory_names) {
        let needs = Bytes(peak.bytes);
        if needs != memory.peak || memory.budget.is_some_and(|budget| needs > budget) {
            let said = format!("{} of {:?} were planned", memory.peak, memory.budget);
            let problem = format!("memory {name} holds {needs} at once, but {said}");
            return Err(PlanError::Bug { pass: "memory", problem });
        }
    }
    Ok(())
}

struct Walk {
    held: Vec<u64>,
    peaks: Vec<Peak>,
}

impl Walk {
    fn new(memories: &[MemoryPlan]) -> Walk {
        let held: Vec<u64> = memories.iter().map(|memory| memory.results.0).collect();
        let peaks = held.iter().map(|&bytes| Peak { bytes, task: None }).collect();
        Walk { held, peaks }
    }

    fn start(&mut self, step: &Step, terms: &Terms, task: u32) {
        let memory = usize::from(step.memory.0);
        self.held[memory] += step.allocated();
        let needs = (self.held[memory] + terms.reserve).max(terms.memory);
        if needs > self.peaks[memory].bytes {
            self.peaks[memory] = Peak { bytes: needs, task: Some(task) };
        }
    }

    fn free(&mut self, step: &Step) {
        self.held[usize::from(step.memory.0)] -= step.allocated();
    }
}
