//! The planned order: priority first, then depth first from the outputs, releasing values early.
//!
//! Depth first keeps few values alive: a block's ancestors are made just before it. Readers that give
//! back at least as much as they take (stores, reductions) run as soon as they can, so that several outputs
//! of one layer advance together. A 10,000-block map-reduce keeps about
//! thirty blocks alive in this order, and all of them breadth first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::csr::Csr;
use crate::plan::lower::TaskGraph;
use crate::steps::StepKind;

/// A permutation of the tasks, topological. `priority` is by task; equal priorities keep the depth-first
/// order. O(tasks + edges), and O(log tasks) more each where priorities differ.
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

/// Who must come before and after each task.
struct Links {
    before: Csr,
    after: Csr,
    /// Value edges only: who reads each value.
    readers: Csr,
}

impl Links {
    fn new(tasks: &TaskGraph) -> Self {
        let count = tasks.tasks.len();
        let mut values = Vec::with_capacity(tasks.operands.len());
        for task in 0..count as u32 {
            values.extend(tasks.operands(task).iter().map(|&(from, _)| (from, task)));
        }
        // Orderings first: a walk backwards must finish what comes earlier before it makes new values.
        let all = tasks.orderings.iter().chain(&values).copied();
        Links {
            before: Csr::new(count, all.clone().map(|(a, b)| (b, a))),
            after: Csr::new(count, all),
            readers: Csr::new(count, values.iter().copied()),
        }
    }
}

fn depth_first(tasks: &TaskGraph, links: &Links) -> Vec<u32> {
    let count = tasks.tasks.len();
    let mut walk = Walk {
        tasks,
        links,
        waiting: (0..count as u32).map(|task| links.before.of(task).len() as u32).collect(),
        unread: (0..count as u32).map(|task| links.readers.of(task).len() as u32).collect(),
        done: vec![false; count],
        order: Vec::with_capacity(count),
        eager: Vec::new(),
    };
    // The last tasks in the list are outputs or lead to none; starting from those that nobody follows gives
    // the outputs in the order asked.
    for root in (0..count as u32).filter(|&task| links.after.of(task).is_empty()) {
        walk.visit(root);
    }
    walk.order
}

struct Walk<'a> {
    tasks: &'a TaskGraph,
    links: &'a Links,
    waiting: Vec<u32>,
    unread: Vec<u32>,
    done: Vec<bool>,
    order: Vec<u32>,
    eager: Vec<u32>,
}

impl Walk<'_> {
    /// Emits `root` and whatever it needs first, without recursion.
    fn visit(&mut self, root: u32) {
        let mut stack = vec![(root, 0usize)];
        while let Some((task, next)) = stack.pop() {
            if self.done[task as usize] {
                continue;
            }
            match self.links.before.of(task).get(next) {
                Some(&before) => {
                    stack.push((task, next + 1));
                    if !self.done[before as usize] {
                        stack.push((before, 0));
                    }
                }
                None => self.emit(task),
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
            for &after in self.links.after.of(task).iter().rev() {
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
        if matches!(step.kind, StepKind::Load | StepKind::Transfer) {
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
fn by_priority(links: &Links, depth_first: &[u32], priority: &[f64]) -> Vec<u32> {
    let mut urgency = priority.to_vec();
    for &task in depth_first.iter().rev() {
        for &after in links.after.of(task) {
            urgency[task as usize] = urgency[task as usize].max(urgency[after as usize]);
        }
    }
    let mut rank = vec![0u32; depth_first.len()];
    for (at, &task) in depth_first.iter().enumerate() {
        rank[task as usize] = at as u32;
    }
    let key = |task: u32| (Urgency(urgency[task as usize]), Reverse(rank[task as usize]), task);
    let mut waiting: Vec<u32> =
        (0..rank.len() as u32).map(|task| links.before.of(task).len() as u32).collect();
    let ready = (0..rank.len() as u32).filter(|&task| waiting[task as usize] == 0);
    let mut heap: BinaryHeap<_> = ready.map(key).collect();
    let mut order = Vec::with_capacity(rank.len());
    while let Some((_, _, task)) = heap.pop() {
        order.push(task);
        for &after in links.after.of(task) {
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
