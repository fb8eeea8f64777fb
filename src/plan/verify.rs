//! The rules that every plan keeps, checked after it is made.

use std::sync::Arc;
use std::time::Duration;

use crate::annotate::Annotations;
use crate::graph::layer::{Layer, Origin};
use crate::graph::layer_graph::LayerGraph;
use crate::ids::StepId;
use crate::machine::{DeviceId, Machine, MemoryId};
use crate::plan::effective::merged;
use crate::plan::error::PlanError;
use crate::plan::memory;
use crate::settings::Settings;
use crate::steps::{Plan, PlanLayer, StepKind, is_join};

/// Checks a whole plan. O(steps + operands).
///
/// # Errors
/// [`PlanError::Bug`] naming the rule that doesn't hold.
pub fn verify(
    plan: &Plan,
    graph: &LayerGraph,
    machine: &Machine,
    settings: &Settings,
) -> Result<(), PlanError> {
    let bug = |pass, problem| Err(PlanError::Bug { pass, problem });
    if plan.operand_offsets.len() != plan.steps.len() + 1 {
        return bug("assemble", "the operands don't match the steps".to_owned());
    }
    for index in 0..plan.steps.len() {
        let id = StepId::at(index);
        let step = plan.step(id);
        for operand in plan.operands(id) {
            if operand.step >= id {
                return bug(
                    "order",
                    format!("step {index} runs before step {}, which it reads", operand.step.0),
                );
            }
            let memory = plan.step(operand.step).memory;
            if !step.kind.is_copy() && memory != machine.memory_of(step.device) {
                let (at, name) = (&plan.memory_names[usize::from(memory.0)], &plan.layer_of(id).name);
                return bug("transfer", format!("'{name}' reads a value in {at} from another memory"));
            }
        }
        if let Some(problem) = wrong_move(plan, id) {
            return bug("memory", format!("step {index} {problem}"));
        }
        if !step.kind.is_copy() && step.memory != machine.memory_of(step.device) {
            return bug("transfer", format!("the value of step {index} isn't in its device's memory"));
        }
    }
    if let Some((a, b)) = plan.orderings.iter().find(|(a, b)| a >= b) {
        return bug("order", format!("steps {} and {} must keep their order", a.0, b.0));
    }
    memory::check(plan)?;
    terms(plan)?;
    annotations(plan, graph, settings)
}

/// What is wrong with a step that moves a value: only spills write to disk, of the host's values, and only reloads
/// read what was spilled, into the host's memory.
fn wrong_move(plan: &Plan, id: StepId) -> Option<&'static str> {
    let step = plan.step(id);
    let on_disk = |memory: MemoryId| plan.disk == Some(memory);
    if !step.kind.is_copy() {
        return on_disk(step.memory).then_some("computes on disk");
    }
    let &[operand] = plan.operands(id) else { return Some("moves more or less than one value") };
    let value = plan.step(operand.step);
    let is_right = match step.kind {
        StepKind::Spill => value.memory == MemoryId::HOST && on_disk(step.memory),
        StepKind::Reload => value.kind == StepKind::Spill && step.memory == MemoryId::HOST,
        _ => value.memory != step.memory && !on_disk(value.memory) && !on_disk(step.memory),
    };
    let is_whole = step.bytes >= value.bytes;
    match (is_right, is_whole) {
        (false, _) => Some("moves a value between the wrong memories"),
        (_, false) => Some("moves a part of a value"),
        _ => None,
    }
}

/// Every step has terms, which are its layer's wherever the layer's annotations are plain.
fn terms(plan: &Plan) -> Result<(), PlanError> {
    let asked = |layer: &PlanLayer| {
        let annotations = layer.annotations.of_tasks();
        let used = annotations.resources().values().filter(|amount| **amount > 0.0).count();
        let used = used + usize::from(layer.device != DeviceId::HOST && layer.annotations.gpu().is_some());
        let terms = (annotations.retries().unwrap_or(0), annotations.timeout(), used);
        (!annotations.has_functions()).then_some(terms)
    };
    let asked: Vec<Option<(u32, Option<Duration>, usize)>> = plan.layers.iter().map(asked).collect();
    for (index, step) in plan.steps.iter().enumerate() {
        let Some(terms) = plan.terms.get(step.terms as usize) else {
            let problem = format!("step {index} has no terms");
            return Err(PlanError::Bug { pass: "terms", problem });
        };
        let Some((retries, timeout, used)) = asked[step.layer as usize] else { continue };
        if is_join(&step, &plan.layers[step.layer as usize].op) {
            continue;
        }
        let used = if step.kind.computes() { used } else { 0 };
        if (terms.retries, terms.timeout, terms.resources.len()) != (retries, timeout, used) {
            let problem = format!("step {index} lost annotations of its layer");
            return Err(PlanError::Bug { pass: "terms", problem });
        }
    }
    Ok(())
}

/// Every layer of the graph is in the plan once, with the annotations that it was made with, and governed by
/// these between the session's default and the overrides.
fn annotations(plan: &Plan, graph: &LayerGraph, settings: &Settings) -> Result<(), PlanError> {
    let text = |given: &Annotations, governs: &Annotations| format!("{given} under {governs}");
    let mut planned: Vec<(&str, String)> = Vec::new();
    for source in plan.layers.iter().flat_map(|layer| &layer.sources) {
        let given = source.given.as_ref().unwrap_or(&source.annotations);
        planned.push((&source.name, text(given, &source.annotations)));
    }
    let origins = |layer: &Layer| -> Vec<(Arc<str>, String)> {
        let governs = merged(layer, settings);
        let text = |origin: Origin| (origin.name, text(&origin.annotations, &governs));
        layer.origins().into_iter().map(text).collect()
    };
    let origins: Vec<(Arc<str>, String)> = graph.layers().flat_map(|(_, layer)| origins(layer)).collect();
    let mut given: Vec<(&str, String)> = origins.iter().map(|(name, text)| (&**name, text.clone())).collect();
    planned.sort_unstable();
    given.sort_unstable();
    if planned == given {
        return Ok(());
    }
    let lost = given.iter().find(|one| !planned.contains(one)).map_or("none", |(name, _)| *name);
    Err(PlanError::Bug { pass: "fuse", problem: format!("layer '{lost}' or its annotations got lost") })
}
