//! From a graph and a description of a machine to a plan. Pure: no device, no clock, no environment; equal
//! input gives an equal plan.
//!
//! The passes, in order: [`resolve`] what each layer asks for, [`mod@fuse`] within placement classes, [`place`]
//! on devices, fuse again within devices, [`lower`] to tasks over the blocks that are needed, [`transfer`]
//! between memories, [`order`], [`memory`], [`verify`].

pub mod capability;
pub mod cost;
pub mod error;
pub mod fuse;
pub mod lower;
pub mod memory;
pub mod order;
pub mod place;
pub mod resolve;
pub mod transfer;
pub mod verify;

use crate::graph::block_set::BlockSet;
use crate::graph::layer::Origin;
use crate::graph::layer_graph::LayerGraph;
use crate::ids::{GroupId, LayerId, StepId};
use crate::machine::{Machine, MemoryId};
use crate::plan::cost::Work;
use crate::plan::fuse::{Group, Groups, fuse};
use crate::plan::lower::{TaskGraph, plan_inputs};
use crate::plan::place::Placement;
use crate::plan::resolve::Resolved;
use crate::settings::Settings;
use crate::steps::{
    OutputForm, Plan, PlanLayer, PlanOutput, SourceLayer, StepKind, StepOperand, TransferEdge,
};

pub use error::{PlanError, Unsatisfied};

/// Plans the graph's outputs on a machine.
///
/// # Errors
/// Requirements that can't be met, all of them; more memory needed than the budget allows.
pub fn plan(graph: &LayerGraph, machine: &Machine, settings: &Settings) -> Result<Plan, PlanError> {
    let resolved = resolve::resolve(graph, machine, settings)?;
    let same_class = |a: LayerId, b: LayerId| {
        let (a, b) = (resolved.of(a), resolved.of(b));
        a.class == b.class && a.candidates == b.candidates
    };
    let by_class = fuse(graph, same_class);
    let placement = place::place(graph, &by_class, &resolved, machine, settings);
    let device = |layer: LayerId| placement.device(by_class.of(layer));
    let groups = fuse(graph, |a, b| device(a) == device(b));
    let placement = placement.regrouped(&by_class, &groups);
    let tasks = lower::lower(graph, &groups, &placement, machine)?;
    let kept = transfer::kept(graph, &groups);
    let tasks = transfer::transfer(tasks, graph, &groups, machine, &kept);
    let mut layers = layers(graph, &groups, &placement, &resolved, machine, settings);
    for (layer, scratch) in layers.iter_mut().zip(&tasks.scratch) {
        layer.reserve = layer.reserve.max(*scratch);
    }
    let priority: Vec<f64> = tasks
        .tasks
        .iter()
        .map(|task| layers[task.layer as usize].annotations.priority().unwrap_or(0.0))
        .collect();
    let order = order::order(&tasks, &priority);
    let mut plan = assemble(tasks, &order, layers);
    plan.outputs = outputs(graph, &groups);
    plan.requested = requested(graph, &groups, &plan.outputs);
    plan.device_names = machine.devices.iter().map(|device| device.name.clone()).collect();
    plan.memory_names = machine.memories.iter().map(|memory| memory.name.clone()).collect();
    plan.threads = settings.threads;
    plan.resources = settings.resources.iter().map(|(name, amount)| (name.clone(), *amount)).collect();
    plan.predicted_s = placement.predicted_s();
    memory::measure(&mut plan, machine, settings)?;
    verify::verify(&plan, graph, machine)?;
    Ok(plan)
}

fn layers(
    graph: &LayerGraph,
    groups: &Groups,
    placement: &Placement,
    resolved: &Resolved,
    machine: &Machine,
    settings: &Settings,
) -> Vec<PlanLayer> {
    let describe = |(id, group): (GroupId, &Group)| {
        let root = graph.layer(group.root());
        let device = placement.device(id);
        let resolution = resolved.of(group.root());
        let inputs = plan_inputs(graph, groups, group);
        // A GPU's memory that `--cpu-only` waived isn't asked of the host.
        let is_waived = settings.cpu_only && resolution.fallback.is_some();
        PlanLayer {
            name: root.label().unwrap_or(root.name()).to_owned(),
            sources: group.layers.iter().flat_map(|&layer| sources(graph, resolved, layer)).collect(),
            op: group.op.clone(),
            dtype: root.dtype(),
            chunks: root.chunks().clone(),
            kind: root.spec().kind,
            reserve: if is_waived { 0 } else { reserve(group, root, &inputs) },
            inputs,
            device,
            class: resolution.class.name(),
            reason: placement.reason(id).to_owned(),
            fallback: fallbacks(group, resolved),
            annotations: group.annotations.clone(),
            tasks: 0,
            predicted_s: Work::of(graph, group).seconds(machine, device, settings.threads),
        }
    };
    groups.iter().map(describe).collect()
}

/// What every layer of a group fell back from: none is silent because it was fused.
fn fallbacks(group: &Group, resolved: &Resolved) -> Option<String> {
    let mut reasons: Vec<&str> = Vec::new();
    for &layer in &group.layers {
        if let Some(reason) =
            resolved.of(layer).fallback.as_deref().filter(|reason| !reasons.contains(reason))
        {
            reasons.push(reason);
        }
    }
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// What a `memory` annotation asks for beyond the operands and value that are counted anyway.
fn reserve(group: &Group, root: &crate::graph::layer::Layer, inputs: &[crate::steps::PlanInput]) -> u64 {
    let Some(asked) = group.annotations.memory() else { return 0 };
    let value = root.chunks().largest_block() * root.dtype().size();
    let read: usize = inputs.iter().map(|input| input.chunks.largest_block() * input.dtype.size()).sum();
    asked.0.saturating_sub((value + read) as u64)
}

/// The layers of the user's that a layer of the graph stands for.
fn sources(graph: &LayerGraph, resolved: &Resolved, id: LayerId) -> Vec<SourceLayer> {
    let fallback = &resolved.of(id).fallback;
    let source = |origin: Origin| SourceLayer {
        name: origin.name.to_string(),
        label: origin.label.map(|label| label.to_string()),
        op: origin.op,
        annotations: origin.annotations,
        fallback: fallback.clone(),
    };
    graph.layer(id).origins().into_iter().map(source).collect()
}

fn outputs(graph: &LayerGraph, groups: &Groups) -> Vec<PlanOutput> {
    let output = |kept: transfer::Kept| {
        let root = graph.layer(groups.group(GroupId(kept.layer)).root());
        let size = root.dtype().size();
        let (form, elements) = match kept.blocks {
            BlockSet::All if root.spec().is_array() => (OutputForm::Whole, root.shape().elements()),
            blocks => {
                let elements = |block| root.chunks().region_of(block).shape.elements();
                let elements = blocks.iter(root.spec().count()).map(elements).sum();
                (OutputForm::Values(blocks), elements)
            }
        };
        let bytes = (elements * size) as u64;
        PlanOutput { layer: kept.layer, dtype: root.dtype(), shape: root.shape(), form, bytes }
    };
    transfer::kept(graph, groups).into_iter().map(output).collect()
}

/// For each output of the graph that isn't a sink, its place among the plan's outputs.
fn requested(graph: &LayerGraph, groups: &Groups, outputs: &[PlanOutput]) -> Vec<u16> {
    let place = |&layer: &LayerId| {
        let group = groups.of(layer).0;
        outputs.iter().position(|output| output.layer == group).map(|at| at as u16)
    };
    graph.outputs().iter().filter_map(place).collect()
}

/// Renumbers tasks by their planned order.
fn assemble(tasks: TaskGraph, order: &[u32], mut layers: Vec<PlanLayer>) -> Plan {
    let mut rank = vec![StepId(0); order.len()];
    for (at, &task) in order.iter().enumerate() {
        rank[task as usize] = StepId::at(at);
    }
    let mut plan = Plan { operand_offsets: vec![0], ..Plan::default() };
    for &task in order {
        let step = tasks.tasks[task as usize];
        let operands = tasks.operands(task).iter();
        plan.operands.extend(operands.map(|&(from, input)| StepOperand { step: rank[from as usize], input }));
        plan.operand_offsets.push(plan.operands.len() as u32);
        if step.kind == StepKind::Transfer {
            let from = tasks.tasks[tasks.operands(task)[0].0 as usize].memory;
            count_transfer(&mut plan.transfers, from, step.memory, step.bytes);
        } else {
            layers[step.layer as usize].tasks += 1;
        }
        plan.steps.push(step);
    }
    plan.transfers.sort_unstable_by_key(|edge| (edge.from, edge.to));
    plan.orderings = tasks.orderings.iter().map(|&(a, b)| (rank[a as usize], rank[b as usize])).collect();
    plan.kernels = tasks.kernels;
    plan.layers = layers;
    plan
}

fn count_transfer(edges: &mut Vec<TransferEdge>, from: MemoryId, to: MemoryId, bytes: u64) {
    match edges.iter_mut().find(|edge| edge.from == from && edge.to == to) {
        Some(edge) => {
            edge.count += 1;
            edge.bytes += bytes;
        }
        None => edges.push(TransferEdge { from, to, count: 1, bytes }),
    }
}
