//! The plan: steps in planned order, over dense ids. Plain data, shared by planner and executor.
//!
//! Every step makes at most one value, which is named by the step; a value is freed when the last step that
//! reads it is done. There are therefore no separate steps that free: the moment is a count of readers, and
//! `explain` shows it. Moves between memories are steps of their own ([`StepKind::Transfer`]).

mod display;
mod lanes;
mod parts;
mod table;
mod terms;
mod values;

use std::sync::Arc;

use crate::annotate::Annotations;
use crate::dtype::DType;
use crate::graph::block_set::BlockSet;
use crate::graph::chunking::Chunking;
use crate::graph::expr_ops::EdgeMode;
use crate::graph::op::Op;
use crate::graph::value_spec::{KeyTable, ValueKind, ValueSpec};
use crate::ids::StepId;
use crate::kernel::Kernel;
use crate::key::{Key, KeyError};
use crate::machine::{DeviceId, MemoryId};
use crate::shape::Shape;
use crate::token::{Token, Tokenizer};
use crate::units::Bytes;

pub use lanes::{Lane, LaneOf, Lanes};
pub use parts::PartsOf;
pub use table::Steps;
pub use terms::{Terms, millionths};
pub use values::gathered_blocks;

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepKind {
    /// Reads a block of a source into host memory, or views it there.
    Load,
    /// Computes a block of a map.
    Map,
    /// Gathers a block from others, or from pieces of them: slicing, rechunking.
    Gather,
    /// Cuts out of a block what another is gathered from, so that the rest needn't be there then.
    Piece,
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

    /// Whether the step works on values, instead of moving one from one place to another.
    pub const fn computes(self) -> bool {
        !self.is_copy() && !matches!(self, StepKind::Keep | StepKind::Recall)
    }
}

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

/// Whether a step of a layer that does `op` waits on behalf of all others of the layer, and makes none of its values.
pub fn is_join(step: &Step, op: &Op) -> bool {
    step.kind == StepKind::Wait && !matches!(op, Op::Wait(_))
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

/// What plans call the memory on disk.
pub const DISK: &str = "disk";

/// What one group of fused layers became.
#[derive(Clone, Debug)]
pub struct PlanLayer {
    /// What people call it: the user's name for the root layer, or the layer's own.
    pub name: String,
    /// The name in the graph of the layer whose values are its.
    pub root: Arc<str>,
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
    /// Whose parts its values are, where they are another layer's in parts.
    pub parts: Option<PartsOf>,
    /// The annotations of its sources, joined; what governs each step is in [`Plan::terms`].
    pub annotations: Annotations,
    /// Under which token its values are kept for later runs, where they are.
    pub kept_as: Option<Token>,
    /// Why its values aren't kept though they should be, if so.
    pub not_kept: Option<String>,
    /// Steps that compute.
    pub tasks: u64,
    /// Values that exist already and are read.
    pub recalled: u64,
    /// Values that are kept for later runs.
    pub kept: u64,
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
    /// Amounts of resources: custom ones, then a share of 1 for each GPU.
    pub resources: Vec<(String, f64)>,
    /// How many of the last of them are shares of GPUs.
    pub gpu_shares: usize,
}

impl PlanLayer {
    /// A layer that does `op` on the host, makes blocks of this type, and of which nothing else is said.
    pub fn new(name: &str, op: Op, dtype: DType, chunks: Chunking) -> Self {
        PlanLayer {
            name: name.to_owned(),
            root: name.into(),
            sources: Vec::new(),
            op,
            dtype,
            chunks,
            kind: ValueKind::Blocks,
            keys: None,
            inputs: Vec::new(),
            device: DeviceId::HOST,
            class: "host",
            reason: String::new(),
            fallback: None,
            parts: None,
            annotations: Annotations::new(),
            kept_as: None,
            not_kept: None,
            tasks: 0,
            recalled: 0,
            kept: 0,
            predicted_s: 0.0,
        }
    }

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

    /// The token under which one of its values is kept, where they are.
    pub fn block_token(&self, block: usize) -> Option<Token> {
        let token = self.kept_as?;
        Some(Tokenizer::new("block").token(token).int(block as i64).finish())
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
        &self.layers[self.steps.class(id.index()).layer as usize]
    }

    /// The lanes that its steps are done in.
    pub fn lanes(&self) -> Lanes {
        Lanes::new(self.device_names.len())
    }

    /// What governs a step.
    pub fn terms_of(&self, id: StepId) -> &Terms {
        &self.terms[self.steps.class(id.index()).terms as usize]
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
