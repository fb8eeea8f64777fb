//! From a graph, what is known of its values, and a description of a machine to a plan. Pure: no device, no clock, no environment; equal
//! input gives an equal plan.
//!
//! The passes, in order: [`effective`] annotations of each layer and block, [`resolve`] what each layer asks
//! for, [`mod@split`] of layers that a device is too small for, [`mod@fuse`] within placement classes, [`place`] on devices, fuse again within devices, [`lower`] to
//! tasks over the blocks that are needed and don't exist ([`known`], [`keep`]), [`transfer`] between memories, the [`terms`] of each task, [`order`],
//! [`memory`], [`verify`].

pub mod capability;
pub mod cost;
pub mod effective;
pub mod error;
pub mod fuse;
pub mod keep;
pub mod known;
pub mod lower;
pub mod memory;
pub mod order;
pub mod place;
pub mod resolve;
pub mod split;
pub mod task_graph;
pub mod terms;
pub mod transfer;
pub mod verify;

use std::collections::HashMap;

use crate::graph::block_set::BlockSet;
use crate::graph::layer::Origin;
use crate::graph::layer_graph::LayerGraph;
use crate::graph::op::Op;
use crate::ids::{GroupId, LayerId, StepId};
use crate::machine::{DeviceId, Machine, MemoryId};
use crate::plan::cost::Work;
use crate::plan::effective::Effective;
use crate::plan::fuse::{Group, Groups, fuse};
use crate::plan::keep::{Keeping, Standing};
use crate::plan::known::Known;
use crate::plan::lower::plan_inputs;
use crate::plan::place::Placement;
use crate::plan::resolve::Resolved;
use crate::plan::split::Split;
use crate::plan::task_graph::TaskGraph;
use crate::plan::terms::Room;
use crate::settings::Settings;
use crate::steps::{
    DISK, OutputForm, Plan, PlanLayer, PlanOutput, SourceLayer, StepKind, StepOperand, Steps, TransferEdge,
};

pub use error::{PlanError, Unsatisfied};

/// Plans the graph's outputs on a machine. What is `known` isn't computed again, and what only that needed isn't either:
/// persisted values, a resumed run and a lost device are this same call.
///
/// # Errors
/// Requirements that can't be met, all of them; more memory needed than the budget allows.
pub fn plan(
    graph: &LayerGraph,
    known: &Known,
    machine: &Machine,
    settings: &Settings,
) -> Result<Plan, PlanError> {
    let effective = Effective::new(graph, settings)?;
    let resolved = resolve::resolve(graph, &effective, known, machine, settings)?;
    let standing = Standing::new(graph, effective.all(), known);
    let (whole, split) = (graph, split::split(graph, effective, resolved, standing, known, machine)?);
    let Split { graph, effective, resolved, standing, .. } = &split;
    let same_class = |a: LayerId, b: LayerId| {
        let (at_a, at_b) = (resolved.of(a), resolved.of(b));
        at_a.class == at_b.class && at_a.candidates == at_b.candidates && effective.agree(graph, a, b)
    };
    let apart = |layer| standing.is_apart(layer);
    let by_class = fuse(graph, effective.all(), apart, same_class);
    let placement = place::place(graph, &by_class, resolved, machine, settings);
    let device = |layer: LayerId| placement.device(by_class.of(layer));
    let same_device = |a, b| device(a) == device(b) && effective.agree(graph, a, b);
    let groups = fuse(graph, effective.all(), apart, same_device);
    let placement = placement.regrouped(&by_class, &groups);
    let keeping = keep::keeping(graph, &groups, &placement, machine, standing, known);
    let tasks = lower::lower(graph, &groups, &placement, machine, known, &keeping)?;
    let kept = transfer::kept(graph, &groups);
    let mut tasks = transfer::transfer(tasks, graph, &groups, machine, &kept);
    let mut layers = layers(&split, &groups, &placement, machine, settings);
    for (layer, Keeping { token, refused }) in layers.iter_mut().zip(keeping) {
        (layer.kept_as, layer.not_kept) = (token, refused);
    }
    let resources = Resources::of(machine, settings);
    let rooms = rooms(&groups, &tasks, resolved, &placement, &resources, settings);
    let mut assigned = terms::assign(&mut tasks, &groups, effective, &rooms, settings)?;
    let order = order::order(&tasks, &assigned.priority);
    let outputs = outputs(graph, &groups);
    let scope = memory::Scope { layers: &layers, outputs: &outputs, machine, settings };
    let fitted = memory::fit(&mut tasks, &mut assigned, order, scope)?;
    order::in_turn(&mut tasks, &fitted.order, |device| known.is_in_turn(device));
    let mut plan = assemble(tasks, &fitted.order, layers);
    plan.terms = assigned.terms;
    plan.outputs = outputs;
    plan.requested = requested(graph, &groups, &plan.outputs);
    plan.device_names = machine.devices.iter().map(|device| device.name.clone()).collect();
    plan.memory_names = machine.memories.iter().map(|memory| memory.name.clone()).collect();
    plan.memory_names.extend(fitted.disk.map(|_| DISK.to_owned()));
    plan.disk = fitted.disk;
    plan.memories = fitted.memories;
    plan.threads = settings.threads;
    plan.resources = resources.amounts;
    plan.gpu_shares = resources.gpus.len();
    plan.predicted_s = fitted.predicted_s.unwrap_or(placement.predicted_s());
    if settings.verify {
        verify::verify(&plan, whole, machine, settings)?;
    }
    Ok(plan)
}

fn layers(
    split: &Split,
    groups: &Groups,
    placement: &Placement,
    machine: &Machine,
    settings: &Settings,
) -> Vec<PlanLayer> {
    let Split { graph, resolved, .. } = split;
    let describe = |(id, group): (GroupId, &Group)| {
        let root = graph.layer(group.root());
        let device = placement.device(id);
        let resolution = resolved.of(group.root());
        let (dtype, chunks) = (root.dtype(), root.chunks().clone());
        PlanLayer {
            root: root.shared_name().clone(),
            sources: group.layers.iter().flat_map(|&layer| sources(split, layer)).collect(),
            kind: root.spec().kind,
            keys: root.spec().keys.clone(),
            inputs: plan_inputs(graph, groups, group),
            device,
            class: resolution.class.name(),
            reason: placement.reason(id).to_owned(),
            fallback: fallbacks(group, resolved),
            parts: split.parts_of(root),
            annotations: group.annotations.clone(),
            predicted_s: Work::of(graph, group).seconds(machine, device, settings.threads),
            ..PlanLayer::new(&split.called(root), group.op.clone(), dtype, chunks)
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

/// What the tasks of each group hold, whatever annotations say.
fn rooms(
    groups: &Groups,
    tasks: &TaskGraph,
    resolved: &Resolved,
    placement: &Placement,
    resources: &Resources,
    settings: &Settings,
) -> Vec<Room> {
    let room = |((id, group), &scratch): ((GroupId, &Group), &u64)| Room {
        scratch,
        gpu: resources.share_of(placement.device(id)),
        // A GPU's memory that `--cpu-only` waived isn't asked of the host, and neither is it of layers that are on
        // the host whatever is asked: they hold their block and nothing else.
        is_waived: settings.cpu_only && resolved.of(group.root()).fallback.is_some()
            || matches!(group.op, Op::Load(_) | Op::Store(_) | Op::Wait(_)),
    };
    groups.iter().zip(&tasks.scratch).map(room).collect()
}

/// What the ledger counts beside memory, as plans number it.
#[derive(Clone, Debug)]
pub struct Resources {
    /// Names and amounts: custom resources, then a share of 1 for each GPU, named `gpu:` and the device.
    pub amounts: Vec<(String, f64)>,
    /// The GPUs, in the order of their shares.
    gpus: Vec<DeviceId>,
}

impl Resources {
    /// Those of a machine under some settings; the same for all plans of a session.
    pub fn of(machine: &Machine, settings: &Settings) -> Self {
        let gpus: Vec<DeviceId> =
            machine.devices().filter(|(id, _)| *id != DeviceId::HOST).map(|(id, _)| id).collect();
        let custom = settings.resources.iter().map(|(name, amount)| (name.clone(), *amount));
        let shares = gpus.iter().map(|&id| (format!("gpu:{}", machine.device(id).name), 1.0));
        Resources { amounts: custom.chain(shares).collect(), gpus }
    }

    /// The place of a device's share among all resources, if it is a GPU.
    fn share_of(&self, device: DeviceId) -> Option<u16> {
        let at = self.gpus.iter().position(|gpu| *gpu == device)?;
        Some((self.amounts.len() - self.gpus.len() + at) as u16)
    }
}

/// The layers of the user's that a layer of the graph does the work of.
fn sources(split: &Split, id: LayerId) -> Vec<SourceLayer> {
    let (fallback, annotations) = (&split.resolved.of(id).fallback, split.effective.of(id));
    let source = |origin: Origin| SourceLayer {
        name: origin.name.to_string(),
        label: origin.label.map(|label| label.to_string()),
        op: origin.op,
        annotations: annotations.clone(),
        given: (*annotations != origin.annotations).then_some(origin.annotations),
        fallback: fallback.clone(),
    };
    let origins = split.source(split.graph.layer(id)).map_or_else(Vec::new, |layer| layer.origins());
    origins.into_iter().map(source).collect()
}

fn outputs(graph: &LayerGraph, groups: &Groups) -> Vec<PlanOutput> {
    let output = |kept: transfer::Kept| {
        let root = graph.layer(groups.group(GroupId(kept.layer)).root());
        let size = root.dtype().size();
        let (form, elements) = match kept.blocks {
            BlockSet::All if root.spec().is_array() => (OutputForm::Whole, root.shape().elements()),
            BlockSet::All => (OutputForm::Values(BlockSet::All), root.shape().elements()),
            blocks => {
                let elements = |block| root.chunks().elements_of(block);
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
fn requested(graph: &LayerGraph, groups: &Groups, outputs: &[PlanOutput]) -> Vec<u32> {
    let places: HashMap<u32, u32> = outputs.iter().zip(0..).map(|(output, at)| (output.layer, at)).collect();
    graph.outputs().iter().filter_map(|&layer| places.get(&groups.of(layer).0).copied()).collect()
}

/// Renumbers tasks by their planned order.
fn assemble(tasks: TaskGraph, order: &[u32], mut layers: Vec<PlanLayer>) -> Plan {
    let mut rank = vec![StepId(0); order.len()];
    for (at, &task) in order.iter().enumerate() {
        rank[task as usize] = StepId::at(at);
    }
    let mut plan = Plan { steps: Steps::with_capacity(order.len()), ..Plan::default() };
    plan.operands.reserve_exact(tasks.operands.len());
    plan.operand_offsets.reserve_exact(order.len() + 1);
    plan.operand_offsets.push(0);
    for &task in order {
        let step = tasks.tasks[task as usize];
        let operands = tasks.operands(task).iter();
        plan.operands.extend(operands.map(|&(from, input)| StepOperand { step: rank[from as usize], input }));
        plan.operand_offsets.push(plan.operands.len() as u32);
        let layer = &mut layers[step.layer as usize];
        match step.kind {
            _ if step.kind.is_copy() => {
                let from = tasks.tasks[tasks.operands(task)[0].0 as usize].memory;
                count_transfer(&mut plan.transfers, from, step.memory, step.bytes);
            }
            StepKind::Recall => layer.recalled += 1,
            StepKind::Keep => layer.kept += 1,
            _ => layer.tasks += 1,
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
