//! The plan: steps in planned order, over dense ids. Plain data, shared by planner and executor.
//!
//! Every step makes at most one value, which is named by the step; a value is freed when the last step that
//! reads it is done. There are therefore no separate steps that free: the moment is a count of readers, and
//! `explain` shows it. Moves between memories are steps of their own ([`StepKind::Transfer`]).

mod display;
mod table;
mod terms;

use std::sync::Arc;

use smallvec::SmallVec;

use crate::annotate::Annotations;
use crate::dtype::DType;
use crate::graph::block_set::BlockSet;
use crate::graph::chunking::Chunking;
use crate::graph::expr_ops::EdgeMode;
use crate::graph::op::{CopyRule, Op};
use crate::graph::piece::{Piece, copy_pieces, padded_pieces};
use crate::graph::value_spec::{KeyTable, ValueKind, ValueSpec};
use crate::ids::StepId;
use crate::kernel::Kernel;
use crate::key::{Key, KeyError};
use crate::machine::{DeviceId, MemoryId};
use crate::shape::{Region, Shape};
use crate::units::Bytes;

pub use table::Steps;
pub use terms::{Terms, millionths};

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepKind {
    /// Reads a block of a source into host memory, or views it there.
    Load,
    /// Computes a block of a map.
    Map,
    /// Gathers a block from others: slicing, rechunking.
    Gather,
    /// Gathers a block of one of the group's inputs together with a border, for a device whose stencils
    /// don't read neighbouring blocks.
    Pad {
        /// Which input.
        input: u16,
    },
    /// Folds a block of a reduction's domain into a state.
    Fold,
    /// Combines states.
    Combine,
    /// Makes a block of a reduction's result from its last state.
    Finish,
    /// Copies a value to another memory.
    Transfer,
    /// Hands a block to a sink.
    Store,
    /// Calls a function that isn't Outcrop's own.
    Call,
    /// Waits for others.
    Wait,
    /// Writes a value to the disk memory, so that its room can be had.
    Spill,
    /// Reads a spilled value back.
    Reload,
    /// Writes a value to the store from which a later run resumes.
    Keep,
    /// Takes a value that is known already: an earlier run kept it, or handed it over.
    Recall,
}

impl StepKind {
    /// Whether the step's value is its operand's, in another memory.
    pub const fn is_copy(self) -> bool {
        matches!(self, StepKind::Transfer | StepKind::Spill | StepKind::Reload)
    }
}

/// A queue of steps that one kind of worker takes from. Lane 0 is the host pool's, every other device has the lane of
/// its number; behind them come the disk's writer and its reader.
pub type Lane = u16;

/// One step of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// What it does.
    pub kind: StepKind,
    /// The layer of the plan that it belongs to.
    pub layer: u32,
    /// The compiled kernel that it launches, or [`Step::NO_KERNEL`].
    pub kernel: u32,
    /// The block of the layer's result; for a fold, of the reduction's domain.
    pub block: u64,
    /// The device that executes it. A transfer is executed by the device at its far end.
    pub device: DeviceId,
    /// The memory that its value lives in.
    pub memory: MemoryId,
    /// Bytes that its value takes there; 0 for views and stores.
    pub bytes: u64,
    /// The output of the plan that its value is part of, or [`Step::NO_OUTPUT`].
    pub output: u32,
    /// What governs it, in [`Plan::terms`].
    pub terms: u32,
}

impl Step {
    /// The step launches nothing.
    pub const NO_KERNEL: u32 = u32::MAX;
    /// The value is for other steps only.
    pub const NO_OUTPUT: u32 = u32::MAX;

    /// Bytes that the step allocates for its value: parts of results are allocated once, from the start.
    pub fn allocated(&self) -> u64 {
        if self.output == Step::NO_OUTPUT { self.bytes } else { 0 }
    }
}

/// A value that a step reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepOperand {
    /// The step that makes the value.
    pub step: StepId,
    /// Which of the layer's inputs it is a block of.
    pub input: u16,
}

/// An array that a layer reads.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanInput {
    /// The layer that makes it, in the plan.
    pub layer: u32,
    /// Its type.
    pub dtype: DType,
    /// Its blocks.
    pub chunks: Chunking,
    /// How far stencils read beyond a block, along each axis.
    pub halo: Vec<usize>,
    /// What they find beyond the array.
    pub modes: Vec<EdgeMode>,
}

/// A layer of the user's graph within a plan's layer.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceLayer {
    /// Its name in the graph.
    pub name: String,
    /// What the user calls it, if not that.
    pub label: Option<String>,
    /// Its operation's name.
    pub op: Arc<str>,
    /// What governs it: the session's default, what the layer was made with, and overrides.
    pub annotations: Annotations,
    /// What the layer was made with, where that differs.
    pub given: Option<Annotations>,
    /// Why it doesn't run where it was asked to, if so.
    pub fallback: Option<String>,
}

/// What one group of fused layers became.
#[derive(Clone, Debug)]
pub struct PlanLayer {
    /// What people call it: the user's name for the root layer, or the layer's own.
    pub name: String,
    /// The layers of the graph that it computes, inputs first.
    pub sources: Vec<SourceLayer>,
    /// What it does.
    pub op: Op,
    /// Its result's type; objects are bytes.
    pub dtype: DType,
    /// Its result's blocks.
    pub chunks: Chunking,
    /// What its values are.
    pub kind: ValueKind,
    /// Their keys, where explicit tasks chose them.
    pub keys: Option<Arc<KeyTable>>,
    /// What it reads.
    pub inputs: Vec<PlanInput>,
    /// Where it runs.
    pub device: DeviceId,
    /// What kind of place was asked for.
    pub class: &'static str,
    /// Why it runs there.
    pub reason: String,
    /// Why it doesn't run where it was asked to, if so.
    pub fallback: Option<String>,
    /// The annotations of its sources, joined; what governs each step is in [`Plan::terms`].
    pub annotations: Annotations,
    /// Steps, transfers not counted.
    pub tasks: u64,
    /// Predicted seconds of its device's time.
    pub predicted_s: f64,
}

/// A result that the user asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanOutput {
    /// The layer that makes it.
    pub layer: u32,
    /// Its type.
    pub dtype: DType,
    /// Its extents.
    pub shape: Shape,
    /// How it is kept.
    pub form: OutputForm,
    /// Bytes that it takes.
    pub bytes: u64,
}

/// How a result is kept.
#[derive(Clone, Debug, PartialEq)]
pub enum OutputForm {
    /// As one array.
    Whole,
    /// Value by value: objects, or some blocks of an array.
    Values(BlockSet),
}

impl PlanOutput {
    /// How many values are kept one by one.
    pub fn slots(&self, layer: &PlanLayer) -> usize {
        match &self.form {
            OutputForm::Whole => 0,
            OutputForm::Values(blocks) => blocks.len(layer.chunks.blocks()),
        }
    }
}

/// Copies between two memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct TransferEdge {
    /// The memory read.
    pub from: MemoryId,
    /// The memory written.
    pub to: MemoryId,
    /// Copies.
    pub count: u64,
    /// Bytes in all.
    pub bytes: u64,
}

/// What a plan needs of one memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryPlan {
    /// Bytes held at once when steps run one after the other in planned order.
    pub peak: Bytes,
    /// Bytes of results, which are held from beginning to end; part of the peak.
    pub results: Bytes,
    /// The limit; `None` where the memory's size is unknown and no budget was set.
    pub budget: Option<Bytes>,
}

/// A kernel and the device that compiles it.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanKernel {
    /// What to compile.
    pub kernel: Kernel,
    /// For which device.
    pub device: DeviceId,
    /// For which layer of the plan.
    pub layer: u32,
}

/// Steps in planned order, and all that they refer to.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Layers, inputs before users.
    pub layers: Vec<PlanLayer>,
    /// Kernels to compile before anything runs.
    pub kernels: Vec<PlanKernel>,
    /// What governs steps, each once.
    pub terms: Vec<Terms>,
    /// Steps; every step comes after those that it reads.
    pub steps: Steps,
    /// Where each step's operands start in `operands`; one entry more than steps.
    pub operand_offsets: Vec<u32>,
    /// Operands of all steps.
    pub operands: Vec<StepOperand>,
    /// Pairs `(earlier, later)` that must keep their order though no value passes.
    pub orderings: Vec<(StepId, StepId)>,
    /// Results to keep, each once.
    pub outputs: Vec<PlanOutput>,
    /// For each array asked for, which of `outputs` it is.
    pub requested: Vec<u32>,
    /// Names of the machine's devices.
    pub device_names: Vec<String>,
    /// Names of the machine's memories, and of the disk where values are spilled to it.
    pub memory_names: Vec<String>,
    /// The memory on disk, the last one, where values are spilled to it.
    pub disk: Option<MemoryId>,
    /// Needs, by [`MemoryId`].
    pub memories: Vec<MemoryPlan>,
    /// Copies, by pair of memories.
    pub transfers: Vec<TransferEdge>,
    /// Predicted seconds from start to end.
    pub predicted_s: f64,
    /// Worker threads of the host pool.
    pub threads: usize,
    /// Amounts of custom resources.
    pub resources: Vec<(String, f64)>,
}

impl PlanLayer {
    /// Whether its values are blocks of an array, not objects.
    pub fn is_array(&self) -> bool {
        self.kind == ValueKind::Blocks
    }

    /// The key of one of its values, under the name that people know it by.
    ///
    /// # Errors
    /// It has no name.
    pub fn key(&self, block: usize) -> Result<Key, KeyError> {
        self.spec().key(&self.name.as_str().into(), block)
    }

    /// What it makes.
    pub fn spec(&self) -> ValueSpec {
        let (chunks, keys) = (self.chunks.clone(), self.keys.clone());
        ValueSpec { chunks, dtype: self.dtype, kind: self.kind, keys }
    }
}

impl Plan {
    /// The step with this id.
    pub fn step(&self, id: StepId) -> Step {
        self.steps.at(id.index())
    }

    /// The values that a step reads.
    pub fn operands(&self, id: StepId) -> &[StepOperand] {
        let (from, to) = (self.operand_offsets[id.index()], self.operand_offsets[id.index() + 1]);
        &self.operands[from as usize..to as usize]
    }

    /// The layer that a step belongs to.
    pub fn layer_of(&self, id: StepId) -> &PlanLayer {
        &self.layers[self.step(id).layer as usize]
    }

    /// Where a step's value lies in its array. States of reductions lie nowhere; theirs is the folded
    /// block's place.
    pub fn region(&self, id: StepId) -> Region {
        let step = self.step(id);
        let layer = self.layer_of(id);
        let block = step.block as usize;
        match step.kind {
            StepKind::Transfer | StepKind::Spill | StepKind::Reload | StepKind::Keep => {
                self.region(self.operands(id)[0].step)
            }
            StepKind::Pad { input } => {
                padded(&layer.chunks.region_of(block), &layer.inputs[usize::from(input)])
            }
            StepKind::Fold | StepKind::Combine => match &layer.op {
                Op::Reduce(reduce) => reduce.domain.region_of(block),
                _ => layer.chunks.region_of(block),
            },
            _ => layer.chunks.region_of(block),
        }
    }

    /// The key of the block that a step works on.
    ///
    /// # Errors
    /// When the layer has no name, which collections don't let happen.
    pub fn key(&self, id: StepId) -> Result<Key, KeyError> {
        let (step, layer) = (self.step(id), self.layer_of(id));
        let block = step.block as usize;
        match (&layer.op, step.kind) {
            (Op::Reduce(reduce), StepKind::Fold) => {
                Key::block(layer.name.as_str(), &reduce.domain.grid().unravel(block))
            }
            _ => layer.key(block),
        }
    }

    /// Type and shape of a step's value.
    pub fn value_layout(&self, id: StepId) -> (DType, Shape) {
        let step = self.step(id);
        let layer = self.layer_of(id);
        match step.kind {
            StepKind::Transfer | StepKind::Combine | StepKind::Spill | StepKind::Reload | StepKind::Keep => {
                self.value_layout(self.operands(id)[0].step)
            }
            StepKind::Fold => match (&layer.op, self.kernels.get(step.kernel as usize).map(|k| &k.kernel)) {
                (Op::Reduce(reduce), Some(Kernel::Fold { state, .. })) => {
                    let block = reduce.domain.region_of(step.block as usize);
                    (state.dtype, crate::kernel::state_shape(reduce, *state, &block.shape))
                }
                _ => (layer.dtype, Shape::default()),
            },
            StepKind::Pad { input } => (layer.inputs[usize::from(input)].dtype, self.region(id).shape),
            _ => (layer.dtype, self.region(id).shape),
        }
    }

    /// The pieces that a gathering step copies, numbered by its operands.
    pub fn pieces(&self, id: StepId) -> Vec<Piece> {
        let step = self.step(id);
        let layer = self.layer_of(id);
        let region = layer.chunks.region_of(step.block as usize);
        match (step.kind, &layer.op) {
            (StepKind::Gather, Op::Copy(rule)) => copy_pieces(rule, &layer.inputs[0].chunks, &region).1,
            (StepKind::Pad { input }, _) => {
                let input = &layer.inputs[usize::from(input)];
                padded_pieces(&input.chunks, &region, &input.halo, &input.modes).1
            }
            _ => Vec::new(),
        }
    }

    /// How many lanes there are.
    pub fn lanes(&self) -> usize {
        self.device_names.len().max(1) + 2
    }

    /// Whose work a step is: what it does to a disk is the disk's, all else its device's.
    pub fn lane_of(&self, step: &Step) -> Lane {
        let devices = self.device_names.len().max(1) as Lane;
        match step.kind {
            StepKind::Spill | StepKind::Keep => devices,
            StepKind::Reload | StepKind::Recall => devices + 1,
            _ => step.device.0,
        }
    }

    /// What governs a step.
    pub fn terms_of(&self, id: StepId) -> &Terms {
        &self.terms[self.step(id).terms as usize]
    }

    /// How many steps read each value.
    pub fn readers(&self) -> Vec<u32> {
        let mut readers = vec![0; self.steps.len()];
        for operand in &self.operands {
            readers[operand.step.index()] += 1;
        }
        readers
    }
}

/// A region grown by the input's halo; near the array's start the origin wraps below zero.
fn padded(region: &Region, input: &PlanInput) -> Region {
    let axes = 0..region.shape.len();
    Region {
        origin: axes.clone().map(|axis| region.origin[axis].wrapping_sub(input.halo[axis])).collect(),
        shape: axes.map(|axis| region.shape[axis] + 2 * input.halo[axis]).collect(),
    }
}

/// The blocks that a gathering or padding step reads, in the order in which its pieces number them.
pub fn gathered_blocks(
    kind: StepKind,
    op: &Op,
    inputs: &[PlanInput],
    region: &Region,
) -> SmallVec<[usize; 4]> {
    match (kind, op) {
        (StepKind::Pad { input }, _) => {
            let input = &inputs[usize::from(input)];
            padded_pieces(&input.chunks, region, &input.halo, &input.modes).0.into()
        }
        (_, Op::Copy(rule)) => gather_sources(rule, &inputs[0].chunks, region),
        _ => SmallVec::new(),
    }
}

fn gather_sources(rule: &CopyRule, input: &Chunking, region: &Region) -> SmallVec<[usize; 4]> {
    copy_pieces(rule, input, region).0.into()
}
