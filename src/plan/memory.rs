//! How much each memory must hold when steps run one after the other in planned order.

use crate::ids::StepId;
use crate::machine::{Machine, MemoryId};
use crate::plan::error::PlanError;
use crate::settings::Settings;
use crate::steps::{MemoryPlan, Plan};
use crate::units::Bytes;

/// Fills in [`Plan::memories`].
///
/// # Errors
/// [`PlanError::Memory`] when a memory's peak is above its budget: the plan can't run without moving
/// values out, which the planner doesn't do yet.
pub fn measure(plan: &mut Plan, machine: &Machine, settings: &Settings) -> Result<(), PlanError> {
    let count = machine.memories.len();
    let mut held = vec![0u64; count];
    let results = plan.outputs.iter().fold(0u64, |all, output| all.saturating_add(output.bytes));
    held[0] = results;
    let mut peaks: Vec<(u64, Option<StepId>)> = held.iter().map(|&bytes| (bytes, None)).collect();
    let mut unread = plan.readers();
    for index in 0..plan.steps.len() {
        let id = StepId::at(index);
        let step = plan.step(id);
        let memory = usize::from(step.memory.0);
        held[memory] += step.allocated();
        let terms = plan.terms_of(id);
        let needs = (held[memory] + terms.reserve).max(terms.memory);
        if needs > peaks[memory].0 {
            peaks[memory] = (needs, Some(id));
        }
        for operand in plan.operands(id) {
            let value = plan.step(operand.step);
            unread[operand.step.index()] -= 1;
            if unread[operand.step.index()] == 0 {
                held[usize::from(value.memory.0)] -= value.allocated();
            }
        }
        if unread[index] == 0 {
            held[memory] -= step.allocated();
        }
    }
    plan.memories = (0..count)
        .map(|memory| MemoryPlan {
            peak: Bytes(peaks[memory].0),
            results: Bytes(if memory == 0 { results } else { 0 }),
            budget: budget(machine, settings, MemoryId(memory as u16)),
        })
        .collect();
    for (memory, need) in plan.memories.iter().enumerate() {
        if let Some(budget) = need.budget.filter(|budget| need.peak > *budget) {
            let layer = peaks[memory].1.map_or("results", |id| plan.layer_of(id).name.as_str());
            return Err(PlanError::Memory {
                memory: machine.memories[memory].name.clone(),
                peak: need.peak,
                budget,
                layer: layer.to_owned(),
            });
        }
    }
    Ok(())
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
