//! Makes every move of data between memories a task of its own.
//!
//! A value is copied once to each memory that reads it. Two memories without a path of their own are joined
//! by two copies, through the host's.

use std::collections::{HashMap, HashSet};

use crate::graph::block_set::BlockSet;
use crate::graph::layer_graph::LayerGraph;
use crate::ids::GroupId;
use crate::machine::{DeviceId, Machine, MemoryId};
use crate::plan::fuse::Groups;
use crate::plan::task_graph::TaskGraph;
use crate::steps::{Step, StepKind, is_join};

/// The tasks with their copies, and every value in the memory of the device that makes it. Results that
/// the user keeps end in the host's memory.
pub fn transfer(
    mut tasks: TaskGraph,
    graph: &LayerGraph,
    groups: &Groups,
    machine: &Machine,
    kept: &[Kept],
) -> TaskGraph {
    let outputs = Outputs::new(kept, groups);
    if tasks.tasks.iter().all(|task| machine.memory_of(task.device) == MemoryId::HOST) {
        for task in &mut tasks.tasks {
            (task.memory, task.output) = (MemoryId::HOST, outputs.of(task).unwrap_or(Step::NO_OUTPUT));
        }
        return tasks;
    }
    let out = TaskGraph::with_capacity(tasks.tasks.len());
    let mut pass = Pass { graph, groups, machine, out, copies: HashMap::new(), moved: Vec::new() };
    for (at, task) in tasks.tasks.iter().enumerate() {
        let memory = machine.memory_of(task.device);
        let operands: Vec<(u32, u16)> = tasks
            .operands(at as u32)
            .iter()
            .map(|&(from, input)| (pass.value_in(pass.moved[from as usize], memory), input))
            .collect();
        let output = outputs.of(task);
        let own = if memory == MemoryId::HOST { output.unwrap_or(Step::NO_OUTPUT) } else { Step::NO_OUTPUT };
        let made = pass.out.push(Step { memory, output: own, ..*task }, operands);
        if let (Some(output), false) = (output, memory == MemoryId::HOST) {
            let copy = pass.value_in(made, MemoryId::HOST);
            pass.out.tasks[copy as usize].output = output;
        }
        pass.moved.push(made);
    }
    let moved = &pass.moved;
    pass.out.orderings =
        tasks.orderings.iter().map(|&(a, b)| (moved[a as usize], moved[b as usize])).collect();
    pass.out.kernels = tasks.kernels;
    pass.out.scratch = tasks.scratch;
    pass.out
}

/// A layer of the plan whose result the user keeps.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Its group's index.
    pub layer: u32,
    /// Which blocks of it.
    pub blocks: BlockSet,
}

/// The graph's outputs that are arrays to keep, not sinks.
pub fn kept(graph: &LayerGraph, groups: &Groups) -> Vec<Kept> {
    let is_sink = |layer| matches!(graph.layer(layer).op(), crate::graph::op::Op::Store(_));
    let mut kept: Vec<Kept> = Vec::new();
    let mut seen = HashSet::new();
    for &output in graph.outputs().iter().filter(|&&output| !is_sink(output)) {
        let layer = groups.of(output).0;
        if seen.insert(layer) {
            kept.push(Kept { layer, blocks: graph.asked_of(graph.layer(output)) });
        }
    }
    kept
}

fn is_result(kind: StepKind) -> bool {
    matches!(
        kind,
        StepKind::Load
            | StepKind::Map
            | StepKind::Gather
            | StepKind::Finish
            | StepKind::Call
            | StepKind::Wait
            | StepKind::Recall
    )
}

/// For each group, the output that it is and the blocks of it that are kept.
struct Outputs<'a> {
    groups: &'a Groups,
    of: Vec<Option<(u32, &'a BlockSet)>>,
}

impl<'a> Outputs<'a> {
    fn new(kept: &'a [Kept], groups: &'a Groups) -> Self {
        let mut of = vec![None; groups.iter().len()];
        for (output, kept) in kept.iter().enumerate() {
            of[kept.layer as usize] = Some((output as u32, &kept.blocks));
        }
        Outputs { groups, of }
    }

    /// The output that a task's value is part of.
    fn of(&self, task: &Step) -> Option<u32> {
        let (output, blocks) = self.of[task.layer as usize].filter(|_| is_result(task.kind))?;
        if is_join(task, &self.groups.group(GroupId(task.layer)).op) {
            return None;
        }
        blocks.contains(task.block as usize).then_some(output)
    }
}

struct Pass<'a> {
    graph: &'a LayerGraph,
    groups: &'a Groups,
    machine: &'a Machine,
    out: TaskGraph,
    /// The copy of a value in a memory.
    copies: HashMap<(u32, MemoryId), u32>,
    /// Where each of the old tasks is now.
    moved: Vec<u32>,
}

impl Pass<'_> {
    /// The task whose value is `value` in `memory`: itself, or a copy.
    fn value_in(&mut self, value: u32, memory: MemoryId) -> u32 {
        let task = self.out.tasks[value as usize];
        if task.memory == memory {
            return value;
        }
        if let Some(&copy) = self.copies.get(&(value, memory)) {
            return copy;
        }
        let staged = task.memory != MemoryId::HOST
            && memory != MemoryId::HOST
            && self.machine.link(task.memory, memory).via_host;
        let from = if staged { self.value_in(value, MemoryId::HOST) } else { value };
        let far_end = if memory == MemoryId::HOST { task.memory } else { memory };
        let copy = Step {
            kind: StepKind::Transfer,
            kernel: Step::NO_KERNEL,
            device: self.device_at(far_end),
            memory,
            bytes: self.bytes(value),
            output: Step::NO_OUTPUT,
            ..task
        };
        let copy = self.out.push(copy, [(from, 0)]);
        self.copies.insert((value, memory), copy);
        copy
    }

    fn device_at(&self, memory: MemoryId) -> DeviceId {
        let at = self.machine.devices().find(|(id, _)| self.machine.memory_of(*id) == memory);
        at.map_or(DeviceId::HOST, |(id, _)| id)
    }

    /// Bytes of a value as a block of its own: a view of a source takes none where it is, but does elsewhere.
    fn bytes(&self, value: u32) -> u64 {
        let task = self.out.tasks[value as usize];
        if task.kind != StepKind::Load {
            return task.bytes;
        }
        let layer = self.graph.layer(self.groups.group(GroupId(task.layer)).root());
        let block = layer.chunks().region_of(task.block as usize);
        (block.shape.elements() * layer.dtype().size()) as u64
    }
}
