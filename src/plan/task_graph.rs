//! Tasks over blocks: what passes between lowering and assembling work on.

use crate::steps::{PlanKernel, Step};

/// Tasks in topological order, with the values that they read.
#[derive(Clone, Debug, Default)]
pub struct TaskGraph {
    /// The tasks; like the steps they become, but in no particular order.
    pub tasks: Vec<Step>,
    /// Where each task's operands start; one entry more than tasks.
    pub offsets: Vec<u32>,
    /// The tasks read, and which input they are a block of.
    pub operands: Vec<(u32, u16)>,
    /// Pairs that must keep their order though no value passes.
    pub orderings: Vec<(u32, u32)>,
    /// Kernels that the tasks launch.
    pub kernels: Vec<PlanKernel>,
    /// For each group, bytes that a launch of its kernels takes beside its value.
    pub scratch: Vec<u64>,
}

impl TaskGraph {
    /// No tasks, and room for `count`.
    pub(crate) fn with_capacity(count: usize) -> Self {
        let mut offsets = Vec::with_capacity(count + 1);
        offsets.push(0);
        TaskGraph { tasks: Vec::with_capacity(count), offsets, ..TaskGraph::default() }
    }

    pub(crate) fn push(&mut self, task: Step, operands: impl IntoIterator<Item = (u32, u16)>) -> u32 {
        self.operands.extend(operands);
        self.end(task)
    }

    /// Adds a task that reads what was added to the operands since the last.
    pub(super) fn end(&mut self, task: Step) -> u32 {
        self.offsets.push(self.operands.len() as u32);
        self.tasks.push(task);
        (self.tasks.len() - 1) as u32
    }

    /// The values that a task reads.
    pub fn operands(&self, task: u32) -> &[(u32, u16)] {
        &self.operands[self.offsets[task as usize] as usize..self.offsets[task as usize + 1] as usize]
    }
}
