//! The planned order: priority first, then depth first from the outputs, releasing values early.
//!
//! Depth first keeps few values alive: a block's ancestors are made just before it. Readers that give
//! back at least as much as they take (stores, reductions) run as soon as they can, so that several outputs
//! of one layer advance together. A 10,000-block map-reduce keeps about
//! thirty blocks alive in this order, and all of them breadth first.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::csr::Csr;
use crate::machine::DeviceId;
use crate::plan::task_graph::TaskGraph;
use crate::steps::StepKind;

/// A permutation of the tasks, topological. `priority` is by task, or empty where all are equal; equal priorities
/// keep the depth-first order. O(tasks + edges), and O(log tasks) more each where priorities differ.
pub fn order(tasks: &TaskGraph, priority: &[f64]) -> Vec<u32> {
    let links = Links::new(tasks);
    let depth_first = depth_first(tasks, &links);
    if priority.iter().all(|&p| p == priority[0]) {
        return depth_first;
    }
    by_priority(&links, &depth_first, priority)
}

/// The order as close to a preferred one as priorities allow; the preferred one itself where they are all equal.
pub fn keeping_priority(tasks: &TaskGraph, preferred: &[u32], priority: &[f64]) -> Vec<u32> {
    if priority.iter().all(|&p| p == priority[0]) {
        return preferred.to_vec();
    }
    by_priority(&Links::new(tasks), preferred, priority)
}

/// Has devices do one thing at a time, those for which `in_turn` holds: what they do in `order` waits for what they do
/// before, so that nothing is brought there before it is needed. O(tasks).
pub fn in_turn(tasks: &mut TaskGraph, order: &[u32], in_turn: impl Fn(DeviceId) -> bool) {
    let mut last: HashMap<DeviceId, u32> = HashMap::new();
    for &task in order {
        let device = tasks.tasks[task as usize].device;
        if in_turn(device)
            && let Some(before) = last.insert(device, task)
            && !tasks.operands(task).iter().any(|&(from, _)| from == before)
        {
            tasks.orderings.push((before, task));
        }
    }
}

/// Who must come before and after each task.
struct Links<'a> {
    tasks: &'a TaskGraph,
    /// Value edges: who reads each value.
    readers: Csr,
    /// Who must keep an order though no value passes, forwards and backwards; `None` where nobody must.
    orderings: Option<(Csr, Csr)>,
}

impl<'a> Links<'a> {
    fn new(tasks: &'a TaskGraph) -> Self {
        let count = tasks.tasks.len();
        let values = (0..count as u32)
            .flat_map(|task| tasks.operands(task).iter().map(move |&(from, _)| (from, task)));
        let pairs = tasks.orderings.iter().copied();
        let orderings = (!tasks.orderings.is_empty())
            .then(|| (Csr::new(count, pairs.clone()), Csr::new(count, pairs.map(|(a, b)| (b, a)))));
        Links { tasks, readers: Csr::new(count, values), orderings }
    }

    /// Who must come before a task, number `at`. Orderings first: a walk backwards must finish what comes earlier
    /// before it makes new values.
    fn before(&self, task: u32, at: usize) -> Option<u32> {
        let operands = self.tasks.operands(task);
        let Some((_, earlier)) = &self.orderings else { return operands.get(at).map(|&(from, _)| from) };
        let earlier = earlier.of(task);
        earlier.get(at).copied().or_else(|| operands.get(at - earlier.len()).map(|&(from, _)| from))
    }

    fn count_before(&self, task: u32) -> usize {
        let earlier = self.orderings.as_ref().map_or(0, |(_, earlier)| earlier.of(task).len());
        earlier + self.tasks.operands(task).len()
    }

    /// Who must come after a task, those that read its value last.
    fn after(&self, task: u32) -> impl DoubleEndedIterator<Item = u32> {
        let later = self.orderings.as_ref().map_or(&[][..], |(later, _)| later.of(task));
        later.iter().chain(self.readers.of(task)).copied()
    }

    fn waiting(&self) -> Vec<u32> {
        (0..self.tasks.tasks.len() as u32).map(|task| self.count_before(task) as u32).collect()
    }
}

fn depth_first(tasks: &TaskGraph, links: &Links<'_>) -> Vec<u32> {
    let count = tasks.tasks.len();
    let mut walk = Walk {
        tasks,
        links,
        waiting: links.waiting(),
        unread: (0..count as u32).map(|task| links.readers.of(task).len() as u32).collect(),
        done: vec![false; count],
        order: Vec::with_capacity(count),
        eager: Vec::new(),
        stack: Vec::new(),
    };
    // The last tasks in the list are outputs or lead to none; starting from those that nobody follows gives
    // the outputs in the order asked.
    for root in (0..count as u32).filter(|&task| links.after(task).next().is_none()) {
        walk.visit(root);
    }
    walk.order
}

struct Walk<'a> {
    tasks: &'a TaskGraph,
    links: &'a Links<'a>,
    waiting: Vec<u32>,
    unread: Vec<u32>,
    done: Vec<bool>,
    order: Vec<u32>,
    eager: Vec<u32>,
    /// Tasks that are waited for, and how many of those that they wait for themselves were looked at.
    stack: Vec<(u32, u32)>,
}

impl Walk<'_> {
    /// Emits `root` and whatever it needs first, without recursion.
    fn visit(&mut self, root: u32) {
        self.stack.push((root, 0));
        while let Some((task, looked_at)) = self.stack.last_mut() {
            let task = *task;
            if self.done[task as usize] {
                self.stack.pop();
                continue;
            }
            match self.links.before(task, *looked_at as usize) {
                Some(before) => {
                    *looked_at += 1;
                    if !self.done[before as usize] {
                        self.stack.push((before, 0));
                    }
                }
                None => {
                    self.stack.pop();
                    self.emit(task);
                }
            }
        }
    }

    fn emit(&mut self, task: u32) {
        self.eager.push(task);
        while let Some(task) = self.eager.pop() {
            if self.done[task as usize] {
                continue;
            }
            self.done[task as usize] = true;
            self.order.push(task);
            for &(value, _) in self.tasks.operands(task) {
                self.unread[value as usize] -= 1;
                if self.unread[value as usize] == 1 {
                    self.push_last_reader(value);
                }
            }
            for after in self.links.after(task).rev() {
                self.waiting[after as usize] -= 1;
                if self.waiting[after as usize] == 0 && self.releases(after) {
                    self.eager.push(after);
                }
            }
        }
    }

    /// A value with one reader left: if that reader is ready, running it now may give the value back.
    fn push_last_reader(&mut self, value: u32) {
        let links = self.links;
        let left = links.readers.of(value).iter().find(|&&reader| !self.done[reader as usize]);
        if let Some(&reader) = left
            && self.waiting[reader as usize] == 0
            && self.releases(reader)
        {
            self.eager.push(reader);
        }
    }

    /// Whether running the task now gives back at least the memory that it takes. A load in place takes
    /// none but gives none: it waits until somebody needs it.
    fn releases(&self, task: u32) -> bool {
        let step = &self.tasks.tasks[task as usize];
        if matches!(step.kind, StepKind::Load | StepKind::Recall | StepKind::Transfer) {
            return false;
        }
        let freed: u64 = self
            .tasks
            .operands(task)
            .iter()
            .filter(|&&(value, _)| self.unread[value as usize] == 1)
            .map(|&(value, _)| self.tasks.tasks[value as usize].bytes)
            .sum();
        step.bytes <= freed
    }
}

/// Kahn's algorithm over (priority, depth-first rank). A task counts with the highest priority among
/// itself and all that depend on it, so that whatever a high-priority task needs comes early too.
fn by_priority(links: &Links<'_>, depth_first: &[u32], priority: &[f64]) -> Vec<u32> {
    let mut urgency = priority.to_vec();
    for &task in depth_first.iter().rev() {
        for after in links.after(task) {
            urgency[task as usize] = urgency[task as usize].max(urgency[after as usize]);
        }
    }
    let mut rank = vec![0u32; depth_first.len()];
    for (at, &task) in depth_first.iter().enumerate() {
        rank[task as usize] = at as u32;
    }
    let key = |task: u32| (Urgency(urgency[task as usize]), Reverse(rank[task as usize]), task);
    let mut waiting = links.waiting();
    let ready = (0..rank.len() as u32).filter(|&task| waiting[task as usize] == 0);
    let mut heap: BinaryHeap<_> = ready.map(key).collect();
    let mut order = Vec::with_capacity(rank.len());
    while let Some((_, _, task)) = heap.pop() {
        order.push(task);
        for after in links.after(task) {
            waiting[after as usize] -= 1;
            if waiting[after as usize] == 0 {
                heap.push(key(after));
            }
        }
    }
    order
}

/// A finite priority, ordered.
#[derive(Clone, Copy, PartialEq)]
struct Urgency(f64);

impl Eq for Urgency {}

impl PartialOrd for Urgency {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Urgency {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}
