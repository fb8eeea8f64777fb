//! From groups of layers to tasks over blocks, of those blocks only that some output needs.

use crate::graph::block_set::BlockSet;
use crate::graph::chunking::{AxisChunks, Chunking};
use crate::graph::error::GraphError;
use crate::graph::expr::Expr;
use crate::graph::expr::NodeOp;
use crate::graph::expr_ops::EdgeMode;
use crate::graph::layer_graph::LayerGraph;
use crate::graph::needed::{Node, propagate};
use crate::graph::op::{Op, Reduce};
use crate::graph::rule::{Read, combine_levels, leaves, map_reads};
use crate::ids::{GroupId, LayerId};
use crate::kernel::{ArraySpec, Kernel, MapKernel, StateSpec, state_shape};
use crate::machine::{Backend, DeviceId, Machine};
use crate::plan::capability::{reads_neighbours_in_place, scratch_bytes, state_class};
use crate::plan::error::{PlanError, TASKS_MAX};
use crate::plan::fuse::{Group, Groups};
use crate::plan::keep::Keeping;
use crate::plan::known::Known;
use crate::plan::place::Placement;
use crate::plan::task_graph::TaskGraph;
use crate::shape::Region;
use crate::steps::{PlanInput, PlanKernel, Step, StepKind, gathered_blocks};

/// What the executor needs to know of a group's inputs.
pub fn plan_inputs(graph: &LayerGraph, groups: &Groups, group: &Group) -> Vec<PlanInput> {
    let expr = expr_of(&group.op);
    let input = |(i, layer): (usize, &LayerId)| {
        let source = graph.layer(*layer);
        let axes = 0..source.chunks().axes().len();
        PlanInput {
            layer: groups.of(*layer).0,
            dtype: source.dtype(),
            chunks: source.chunks().clone(),
            halo: axes.clone().map(|axis| expr.map_or(0, |expr| expr.halo(i as u16, axis))).collect(),
            modes: axes
                .map(|axis| expr.map_or(EdgeMode::Nearest, |expr| mode(expr, i as u16, axis)))
                .collect(),
        }
    };
    group.inputs.iter().enumerate().map(input).collect()
}

/// Makes the tasks of every block that outputs and sinks need: one that exists is recalled. Blocks of groups that
/// `keeping`, by group, has a token for are kept, save those that exist.
///
/// # Errors
/// [`PlanError::TooManyTasks`] beyond [`TASKS_MAX`]; a custom operation's wrong block rule.
pub fn lower(
    graph: &LayerGraph,
    groups: &Groups,
    placement: &Placement,
    machine: &Machine,
    known: &Known,
    keeping: &[Keeping],
) -> Result<TaskGraph, PlanError> {
    let needed = needed_blocks(graph, groups, known)?;
    let count =
        |(id, group): (GroupId, &Group)| needed[id.index()].len(graph.layer(group.root()).spec().count());
    let out = TaskGraph::with_capacity(groups.iter().map(count).sum());
    let (values, reads) = (Vec::new(), Vec::new());
    let mut lowering = Lowering { graph, groups, machine, out, values, reads };
    for (id, group) in groups.iter() {
        let device = placement.device(id);
        let known = known.blocks_of(graph.layer(group.root()));
        let keeps = keeping[id.index()].token.is_some();
        lowering.group(id.0, group, device, &Blocks { needed: &needed[id.index()], known, keeps })?;
    }
    Ok(lowering.out)
}

/// For each group, which blocks of its result are needed; those that are known among them.
pub(super) fn needed_blocks(
    graph: &LayerGraph,
    groups: &Groups,
    known: &Known,
) -> Result<Vec<BlockSet>, PlanError> {
    let spec = |layer: LayerId| graph.layer(layer).spec();
    let nodes: Vec<Node<'_>> = groups.iter().map(|(_, group)| node(graph, groups, group)).collect();
    let kept = |at: usize| graph.kept(groups.group(GroupId::at(at)).root());
    let there = |at: usize| known.blocks_of(graph.layer(groups.group(GroupId::at(at)).root()));
    let mut needed = vec![BlockSet::none(); nodes.len()];
    for output in graph.outputs() {
        let layer = graph.layer(*output);
        needed[groups.of(*output).index()] = known.unstored(layer, graph.asked_of(layer));
    }
    propagate(&nodes, kept, there, &mut needed)?;
    let total = groups.iter().fold(0u64, |total, (id, group)| {
        let blocks = needed[id.index()].len(spec(group.root()).count()) as u64;
        total.saturating_add(tasks_of(group, blocks))
    });
    if total > TASKS_MAX { Err(PlanError::TooManyTasks { tasks: total }) } else { Ok(needed) }
}

/// A group as a node among all groups.
fn node<'a>(graph: &'a LayerGraph, groups: &Groups, group: &'a Group) -> Node<'a> {
    let place = |layer: &LayerId| groups.of(*layer).index();
    let root = graph.layer(group.root());
    Node {
        name: root.name(),
        op: &group.op,
        spec: root.spec(),
        inputs: group.inputs.iter().map(place).collect(),
        specs: group.inputs.iter().map(|&input| graph.layer(input).spec()).collect(),
        after: group.after.iter().map(place).collect(),
    }
}

/// A reduction has a task for each block that it folds, and at most a seventh more to combine them.
fn tasks_of(group: &Group, blocks: u64) -> u64 {
    match &group.op {
        Op::Reduce(_) if blocks == 0 => 0,
        Op::Reduce(reduce) => reduce.domain.blocks() as u64 * 8 / 7 + blocks,
        _ => blocks,
    }
}

/// What is to be done about the blocks of one group.
struct Blocks<'a> {
    needed: &'a BlockSet,
    /// Those that exist.
    known: BlockSet,
    /// Whether the others are kept for later runs.
    keeps: bool,
}

/// The tasks that make the blocks of one group.
struct Made {
    blocks: BlockSet,
    tasks: Vec<u32>,
}

impl Made {
    /// The task that makes a block, or `NONE`.
    fn task(&self, block: usize) -> u32 {
        self.blocks.position(block).and_then(|at| self.tasks.get(at).copied()).unwrap_or(NONE)
    }
}

struct Lowering<'a> {
    graph: &'a LayerGraph,
    groups: &'a Groups,
    machine: &'a Machine,
    out: TaskGraph,
    /// For each group so far.
    values: Vec<Made>,
    /// What the block at hand reads.
    reads: Vec<Read>,
}

const NONE: u32 = u32::MAX;

impl Lowering<'_> {
    fn group(
        &mut self,
        index: u32,
        group: &Group,
        device: DeviceId,
        blocks: &Blocks<'_>,
    ) -> Result<(), PlanError> {
        let inputs = plan_inputs(self.graph, self.groups, group);
        let kernels = self.kernels(index, group, &inputs, device);
        self.out.scratch.push(self.scratch(group, &kernels, device));
        let root = self.graph.layer(group.root());
        let equal_bytes =
            root.chunks().equal_blocks().map(|elements| (elements * root.dtype().size()) as u64);
        let draft = Draft { index, group, inputs: &inputs, device, kernels, equal_bytes };
        let node = node(self.graph, self.groups, group);
        let count = root.spec().count();
        let needed = blocks.needed;
        self.values.push(Made { blocks: needed.clone(), tasks: Vec::with_capacity(needed.len(count)) });
        let earlier = self.earlier(&draft, needed.len(count));
        let first = self.out.tasks.len() as u32;
        let mut previous = None;
        for block in needed.iter(count) {
            let task = match &group.op {
                _ if blocks.known.contains(block) => self.recall(&draft, block),
                Op::Load(_) | Op::Store(_) | Op::Map(_) => self.plain(&draft, block),
                Op::Copy(_) => self.gather(&draft, StepKind::Gather, block),
                Op::Reduce(reduce) => self.reduce(&draft, reduce, block),
                Op::Custom(_) | Op::Tasks(_) => self.call(&draft, &node, block)?,
                Op::Wait(_) => self.wait(&draft, &node, block)?,
            };
            if let (Op::Store(sink), Some(previous)) = (&group.op, previous)
                && sink.ordered()
            {
                self.out.orderings.push((previous, task));
            }
            previous = Some(task);
            if blocks.keeps && !blocks.known.contains(block) {
                self.keep(&draft, task, block);
            }
            self.values[index as usize].tasks.push(task);
        }
        self.order_after(&earlier, first);
        Ok(())
    }

    /// What a group's `count` tasks wait for without reading it: many that wait for many wait for one that does, so
    /// that orderings are as many as tasks, not their product.
    fn earlier(&mut self, draft: &Draft<'_>, count: usize) -> Vec<u32> {
        let tasks = |other: &LayerId| self.values[self.groups.of(*other).index()].tasks.iter().copied();
        let earlier: Vec<u32> = draft.group.after.iter().flat_map(tasks).collect();
        if earlier.len() < 2 || count < 2 || matches!(draft.group.op, Op::Wait(_)) {
            return earlier;
        }
        let join = Step { device: DeviceId::HOST, ..draft.step(StepKind::Wait, Step::NO_KERNEL, 0, 0) };
        let join = self.out.push(join, []);
        self.out.orderings.extend(earlier.into_iter().map(|earlier| (earlier, join)));
        vec![join]
    }

    /// Puts a group's tasks from `first` on behind `earlier` ones. Those that read others of the group come later
    /// anyway.
    fn order_after(&mut self, earlier: &[u32], first: u32) {
        for task in first..self.out.tasks.len() as u32 {
            let kind = self.out.tasks[task as usize].kind;
            if !matches!(kind, StepKind::Combine | StepKind::Finish | StepKind::Recall | StepKind::Keep) {
                self.out.orderings.extend(earlier.iter().map(|&earlier| (earlier, task)));
            }
        }
    }

    /// Adds the tasks that a custom, explicit or waiting one reads, by its block rule, to the operands.
    ///
    /// # Errors
    /// The rule names a value that isn't there; one that reads everything, or that answers otherwise each time, was
    /// asked by nobody before.
    fn rule_operands(&mut self, draft: &Draft<'_>, node: &Node<'_>, block: usize) -> Result<(), GraphError> {
        node.reads(block, &mut self.reads)?;
        for &read in &self.reads {
            let (task, input) = match read.input {
                Read::OWN => (self.values[draft.index as usize].task(read.block), 0),
                input => (self.value(draft, input, read.block), input),
            };
            if task == NONE {
                return Err(node.refuses(block, read));
            }
            self.out.operands.push((task, input));
        }
        Ok(())
    }

    fn call(&mut self, draft: &Draft<'_>, node: &Node<'_>, block: usize) -> Result<u32, GraphError> {
        self.rule_operands(draft, node, block)?;
        let bytes = self.block_bytes(draft, block);
        let kernel = draft.kernels.main;
        let kind = if kernel == Step::NO_KERNEL { StepKind::Call } else { StepKind::Map };
        Ok(self.out.end(draft.step(kind, kernel, block, bytes)))
    }

    /// Waiting is an order without a value: what is waited for needn't be held, nor moved.
    fn wait(&mut self, draft: &Draft<'_>, node: &Node<'_>, block: usize) -> Result<u32, GraphError> {
        let (first, task) = (self.out.operands.len(), self.out.tasks.len() as u32);
        self.rule_operands(draft, node, block)?;
        self.out.orderings.extend(self.out.operands.drain(first..).map(|(earlier, _)| (earlier, task)));
        Ok(self.out.push(draft.step(StepKind::Wait, Step::NO_KERNEL, block, 0), []))
    }

    /// A value that exists is brought to the host, from wherever it is.
    fn recall(&mut self, draft: &Draft<'_>, block: usize) -> u32 {
        let elements = self.graph.layer(draft.group.root()).chunks().region_of(block).shape.elements();
        let bytes = self.bytes(draft, elements);
        let step = draft.step(StepKind::Recall, Step::NO_KERNEL, block, bytes);
        self.out.push(Step { device: DeviceId::HOST, ..step }, [])
    }

    /// Writes a block out, from the host; the task leaves no value.
    fn keep(&mut self, draft: &Draft<'_>, value: u32, block: usize) {
        let step = draft.step(StepKind::Keep, Step::NO_KERNEL, block, 0);
        self.out.push(Step { device: DeviceId::HOST, ..step }, [(value, 0)]);
    }

    /// A load, a store, or a map: one task, which reads blocks as they are.
    fn plain(&mut self, draft: &Draft<'_>, block: usize) -> u32 {
        let chunks = self.graph.layer(draft.group.root()).chunks();
        let (kind, bytes) = match &draft.group.op {
            Op::Load(source) if source.in_place() => (StepKind::Load, 0),
            Op::Load(_) => (StepKind::Load, self.block_bytes(draft, block)),
            Op::Store(_) => (StepKind::Store, 0),
            _ => (StepKind::Map, self.block_bytes(draft, block)),
        };
        let operands = match &draft.group.op {
            Op::Map(expr) => self.map_operands(draft, expr, chunks, block),
            Op::Store(_) => vec![(self.value(draft, 0, block), 0)],
            _ => Vec::new(),
        };
        let kernel = draft.kernels.main;
        self.out.push(draft.step(kind, kernel, block, bytes), operands)
    }

    fn gather(&mut self, draft: &Draft<'_>, kind: StepKind, block: usize) -> u32 {
        let region = self.graph.layer(draft.group.root()).chunks().region_of(block);
        let blocks = gathered_blocks(kind, &draft.group.op, draft.inputs, &region);
        let input = if let StepKind::Pad { input } = kind { input } else { 0 };
        let operands: Vec<(u32, u16)> =
            blocks.into_iter().map(|block| (self.value(draft, input, block), input)).collect();
        let (bytes, kernel) = match kind {
            StepKind::Pad { .. } => {
                let input = &draft.inputs[usize::from(input)];
                let padded = (0..region.shape.len()).map(|axis| region.shape[axis] + 2 * input.halo[axis]);
                (padded.product::<usize>() * input.dtype.size(), draft.kernels.pads[&input.dtype])
            }
            _ => (self.bytes(draft, region.shape.elements()) as usize, draft.kernels.main),
        };
        self.out.push(draft.step(kind, kernel, block, bytes as u64), operands)
    }

    /// The operands of an expression on one block; stencil inputs are padded first where the device wants it.
    fn map_operands(
        &mut self,
        draft: &Draft<'_>,
        expr: &Expr,
        domain: &Chunking,
        block: usize,
    ) -> Vec<(u32, u16)> {
        let graph = self.graph;
        let chunks: Vec<&Chunking> =
            draft.group.inputs.iter().map(|&input| graph.layer(input).chunks()).collect();
        let pads = !reads_neighbours_in_place(self.machine.device(draft.device).backend);
        let mut operands = Vec::new();
        for read in map_reads(expr, domain, &chunks, block) {
            if !(pads && expr.has_stencil(read.input)) {
                operands.push((self.value(draft, read.input, read.block), read.input));
            } else if !operands.iter().any(|&(_, input)| input == read.input) {
                let pad = self.gather(draft, StepKind::Pad { input: read.input }, block);
                operands.push((pad, read.input));
            }
        }
        operands
    }

    /// Folds of all leaves, the combining tree, and the result.
    fn reduce(&mut self, draft: &Draft<'_>, reduce: &Reduce, block: usize) -> u32 {
        let chunks = self.graph.layer(draft.group.root()).chunks();
        let state = draft.kernels.state;
        let mut states = Vec::new();
        let mut bytes = 0;
        for leaf in leaves(reduce, chunks, block) {
            let operands = self.map_operands(draft, &reduce.expr, &reduce.domain, leaf);
            let shape = state.map(|state| state_shape(reduce, state, &reduce.domain.region_of(leaf).shape));
            bytes = shape.map_or(0, |shape| shape.elements() * state.map_or(0, |state| state.dtype.size()))
                as u64;
            states.push(self.out.push(draft.step(StepKind::Fold, draft.kernels.main, leaf, bytes), operands));
        }
        for level in combine_levels(states.len()) {
            let mut rest = states.as_slice();
            let mut next = Vec::with_capacity(level.len());
            for size in level {
                let (group, others) = rest.split_at(size);
                rest = others;
                let step = draft.step(StepKind::Combine, draft.kernels.combine, block, bytes);
                next.push(self.out.push(step, group.iter().map(|&state| (state, 0))));
            }
            states = next;
        }
        let elements = chunks.region_of(block).shape.elements();
        let step = draft.step(StepKind::Finish, draft.kernels.finish, block, self.bytes(draft, elements));
        self.out.push(step, states.iter().map(|&state| (state, 0)))
    }

    fn kernels(&mut self, index: u32, group: &Group, inputs: &[PlanInput], device: DeviceId) -> GroupKernels {
        let root = self.graph.layer(group.root());
        let backend = self.machine.device(device).backend;
        let mut kernels = GroupKernels::default();
        let mut add = |kernel: Kernel| {
            self.out.kernels.push(PlanKernel { kernel, device, layer: index });
            (self.out.kernels.len() - 1) as u32
        };
        if !reads_neighbours_in_place(backend) {
            for input in inputs.iter().filter(|input| input.halo.iter().any(|&halo| halo > 0)) {
                kernels.pads.entry(input.dtype).or_insert_with(|| add(Kernel::Copy { dtype: input.dtype }));
            }
        }
        let specs = || -> Vec<ArraySpec> {
            let spec = |input: &PlanInput| ArraySpec { dtype: input.dtype, shape: input.chunks.shape() };
            inputs.iter().map(spec).collect()
        };
        match &group.op {
            Op::Custom(op) if backend != Backend::Host => {
                kernels.main =
                    op.device_source().map_or(Step::NO_KERNEL, |source| add(Kernel::Source(source)));
            }
            Op::Load(_) | Op::Store(_) | Op::Custom(_) | Op::Tasks(_) | Op::Wait(_) => {}
            Op::Copy(_) => kernels.main = add(Kernel::Copy { dtype: root.dtype() }),
            Op::Map(expr) => kernels.main = add(Kernel::Map(MapKernel::new(expr, specs(), root.shape()))),
            Op::Reduce(reduce) => {
                let reduction = reduce.reduction;
                let state = StateSpec::new(state_class(backend), reduction, reduce.expr.output_dtype(0));
                let map = MapKernel::folded(&reduce.expr, specs(), reduce.domain.shape());
                kernels.main = add(Kernel::Fold { map, reduction, axes: reduce.axes.clone(), state });
                kernels.combine = add(Kernel::Combine { reduction, state });
                kernels.finish = add(Kernel::Finish { reduction, state, output: root.dtype() });
                kernels.state = Some(state);
            }
        }
        kernels
    }

    /// What the device's folds take beside their states, for the largest block.
    fn scratch(&self, group: &Group, kernels: &GroupKernels, device: DeviceId) -> u64 {
        let (Op::Reduce(reduce), Some(kernel)) = (&group.op, self.out.kernels.get(kernels.main as usize))
        else {
            return 0;
        };
        let largest = Region::whole(&reduce.domain.axes().iter().map(AxisChunks::longest).collect());
        scratch_bytes(self.machine.device(device).backend, &kernel.kernel, &largest)
    }

    fn value(&self, draft: &Draft<'_>, input: u16, block: usize) -> u32 {
        let group = self.groups.of(draft.group.inputs[usize::from(input)]);
        self.values[group.index()].task(block)
    }

    fn block_bytes(&self, draft: &Draft<'_>, block: usize) -> u64 {
        let chunks = self.graph.layer(draft.group.root()).chunks();
        draft.equal_bytes.unwrap_or_else(|| self.bytes(draft, chunks.elements_of(block)))
    }

    fn bytes(&self, draft: &Draft<'_>, elements: usize) -> u64 {
        (elements * self.graph.layer(draft.group.root()).dtype().size()) as u64
    }
}

struct Draft<'a> {
    index: u32,
    group: &'a Group,
    inputs: &'a [PlanInput],
    device: DeviceId,
    kernels: GroupKernels,
    /// Bytes of every block of the result, where these are equal.
    equal_bytes: Option<u64>,
}

impl Draft<'_> {
    fn step(&self, kind: StepKind, kernel: u32, block: usize, bytes: u64) -> Step {
        Step {
            kind,
            layer: self.index,
            kernel,
            block: block as u64,
            device: self.device,
            memory: crate::machine::MemoryId::HOST,
            bytes,
            output: Step::NO_OUTPUT,
            terms: 0,
        }
    }
}

struct GroupKernels {
    main: u32,
    combine: u32,
    finish: u32,
    pads: std::collections::BTreeMap<crate::dtype::DType, u32>,
    state: Option<StateSpec>,
}

impl Default for GroupKernels {
    fn default() -> Self {
        let none = Step::NO_KERNEL;
        GroupKernels { main: none, combine: none, finish: none, pads: Default::default(), state: None }
    }
}

fn expr_of(op: &Op) -> Option<&Expr> {
    match op {
        Op::Map(expr) => Some(expr),
        Op::Reduce(reduce) => Some(&reduce.expr),
        _ => None,
    }
}

fn mode(expr: &Expr, input: u16, axis: usize) -> EdgeMode {
    let mode = |node: &crate::graph::expr::Node| match &node.op {
        NodeOp::Stencil(i, stencil) if *i == input && stencil.axis() == axis => Some(stencil.mode()),
        _ => None,
    };
    expr.nodes().iter().find_map(mode).unwrap_or(EdgeMode::Nearest)
}
