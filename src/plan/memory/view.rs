//! What the memory pass asks of tasks: which values are one and the same, what can move, how long tasks take.

use std::collections::HashMap;

use crate::graph::op::Op;
use crate::machine::{Machine, MemoryId};
use crate::plan::memory::Scope;
use crate::plan::task_graph::TaskGraph;
use crate::simulate::Engines;
use crate::steps::{Step, StepKind, Terms};

/// The tasks of a plan. A *datum* is a value with all its copies, named by the task that computes it.
pub struct View<'a> {
    /// The tasks.
    pub tasks: &'a TaskGraph,
    /// What governs them.
    pub terms: &'a [Terms],
    /// The machine.
    pub machine: &'a Machine,
    /// The memory on disk, one more than the machine has.
    pub disk: usize,
    /// Bytes held in the host's memory from the start.
    pub results: u64,
    /// Limits, the disk's last; `u64::MAX` where there is none.
    pub budgets: Vec<u64>,
    /// For each task, the datum that its value is.
    pub datum: Vec<u32>,
    /// For each datum, bytes of a copy.
    pub bytes: Vec<u64>,
    /// For each datum, what can be done to give its room to others.
    pub mobility: Vec<Mobility>,
    /// The planned copy of a datum to a memory.
    pub copies: HashMap<(u32, MemoryId), u32>,
    /// The engines of the machine.
    pub engines: Engines,
    /// For each task that isn't a move, nanoseconds that it takes.
    pub nanos: Vec<u64>,
}

/// How a datum gives its room to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mobility {
    /// It doesn't.
    Fixed,
    /// A copy of it is made elsewhere.
    Written,
    /// Its source is read again when it is needed.
    ReadAgain,
}

impl<'a> View<'a> {
    /// Looks at all tasks once. O(tasks + operands).
    pub fn new(tasks: &'a TaskGraph, terms: &'a [Terms], scope: Scope<'a>) -> View<'a> {
        let count = tasks.tasks.len();
        let (mut datum, mut bytes) = (Vec::with_capacity(count), vec![0; count]);
        let mut copies = HashMap::new();
        for (at, task) in tasks.tasks.iter().enumerate() {
            let own = match task.kind {
                StepKind::Transfer => datum[tasks.operands(at as u32)[0].0 as usize],
                _ => at as u32,
            };
            if task.kind == StepKind::Transfer {
                copies.insert((own, task.memory), at as u32);
            }
            datum.push(own);
            bytes[own as usize] = task.bytes.max(bytes[own as usize]);
        }
        let memories = super::memories(scope);
        let limit = |budget: Option<crate::units::Bytes>| budget.map_or(u64::MAX, |budget| budget.0);
        let budgets = memories.iter().map(|memory| limit(memory.budget));
        View {
            tasks,
            terms,
            machine: scope.machine,
            disk: memories.len(),
            results: memories[0].results.0,
            budgets: budgets.chain([limit(scope.settings.spill_limit)]).collect(),
            mobility: mobility(tasks, scope),
            engines: Engines::new(scope.machine, scope.settings.threads),
            nanos: nanos(tasks, scope),
            datum,
            bytes,
            copies,
        }
    }

    /// The memory in which a task reads its operands.
    pub fn reads_in(&self, task: u32) -> usize {
        let step = &self.tasks.tasks[task as usize];
        let memory = match step.kind {
            StepKind::Transfer => self.tasks.tasks[self.tasks.operands(task)[0].0 as usize].memory,
            _ => step.memory,
        };
        usize::from(memory.0)
    }

    /// What governs a task.
    pub fn terms_of(&self, step: &Step) -> &Terms {
        &self.terms[step.terms as usize]
    }
}

fn mobility(tasks: &TaskGraph, scope: Scope<'_>) -> Vec<Mobility> {
    let moves: Vec<bool> = scope.layers.iter().map(|layer| layer.is_array()).collect();
    let pure: Vec<bool> = scope.layers.iter().map(|layer| matches!(layer.op, Op::Load(_))).collect();
    let of = |task: &Step| match task.kind {
        _ if !moves[task.layer as usize] => Mobility::Fixed,
        StepKind::Load if pure[task.layer as usize] => Mobility::ReadAgain,
        _ => Mobility::Written,
    };
    let mut all: Vec<Mobility> = tasks.tasks.iter().map(of).collect();
    // What must come after something else can't be read at any other time.
    for &(_, later) in
        tasks.orderings.iter().filter(|(_, later)| tasks.tasks[*later as usize].kind == StepKind::Load)
    {
        all[later as usize] = Mobility::Written;
    }
    all
}

/// A layer's predicted time, shared out among its tasks by the bytes that they touch.
fn nanos(tasks: &TaskGraph, scope: Scope<'_>) -> Vec<u64> {
    let counts = |task: &Step| !task.kind.is_copy();
    let touched = |at: usize| {
        if tasks.tasks[at].kind == StepKind::Piece {
            return (2 * tasks.tasks[at].bytes + 1) as f64;
        }
        let operands = tasks.operands(at as u32).iter();
        let read: u64 = operands.map(|&(value, _)| tasks.tasks[value as usize].bytes).sum();
        // A task that touches views alone takes its share too.
        (read + tasks.tasks[at].bytes + 1) as f64
    };
    let mut of_layer = vec![0.0; scope.layers.len()];
    // A layer's time is predicted without pieces, which are copied as fast, and in addition.
    let predicted = |task: &Step| counts(task) && task.kind != StepKind::Piece;
    for (at, task) in tasks.tasks.iter().enumerate().filter(|(_, task)| predicted(task)) {
        of_layer[task.layer as usize] += touched(at);
    }
    let lanes = |layer: usize| match scope.layers[layer].device {
        crate::machine::DeviceId::HOST => scope.settings.threads as f64,
        _ => 1.0,
    };
    let rate = |(layer, touched): (usize, &f64)| {
        scope.layers[layer].predicted_s * 1e9 * lanes(layer) / touched.max(1.0)
    };
    let rates: Vec<f64> = of_layer.iter().enumerate().map(rate).collect();
    let time = |(at, task): (usize, &Step)| match counts(task) {
        true => (rates[task.layer as usize] * touched(at)) as u64 + 1,
        false => 0,
    };
    tasks.tasks.iter().enumerate().map(time).collect()
}
