//! The narrowest order: the one that holds least when tasks run one after the other.
//!
//! Depth first with eager release is never far from it, but makes everything that one reader needs before it goes
//! on: of a rechunk, a column of all rows. *Least growth* takes what makes the least more be held, and among equals
//! what became ready last: it uses up a row first, but does badly where many chains grow alike. Each takes
//! O((tasks + operands) log tasks), and the better is kept.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::csr::Csr;
use crate::plan::memory::peak::measure;
use crate::plan::memory::view::View;
use crate::plan::order;
use crate::plan::task_graph::TaskGraph;
use crate::steps::MemoryPlan;

/// The narrowest order known, `given` included; all keep priorities.
pub fn narrowest(view: &View<'_>, given: &[u32], priority: &[f64], memories: &[MemoryPlan]) -> Vec<u32> {
    let other = order::keeping_priority(view.tasks, &least_growth(view.tasks), priority);
    let above = |order: &[u32]| {
        let mut memories = memories.to_vec();
        measure(view.tasks, view.terms, order, &mut memories);
        let above = |m: &MemoryPlan| m.budget.map_or(0, |budget| m.peak.0.saturating_sub(budget.0));
        memories.iter().map(above).fold(0, u64::saturating_add)
    };
    if above(&other) < above(given) { other } else { given.to_vec() }
}

fn least_growth(tasks: &TaskGraph) -> Vec<u32> {
    let mut growth = Growth::new(tasks);
    for task in 0..tasks.tasks.len() as u32 {
        if growth.waiting[task as usize] == 0 {
            growth.enable(task);
        }
    }
    while let Some((Reverse(known), _, task)) = growth.ready.pop() {
        if !growth.done[task as usize] && known == growth.of(task) {
            growth.run(task);
        }
    }
    growth.order
}

struct Growth<'a> {
    tasks: &'a TaskGraph,
    followers: Csr,
    readers: Csr,
    waiting: Vec<u32>,
    unread: Vec<u32>,
    done: Vec<bool>,
    /// When each task became ready: how many had run.
    enabled: Vec<u32>,
    ready: BinaryHeap<(Reverse<i64>, u32, u32)>,
    order: Vec<u32>,
}

impl<'a> Growth<'a> {
    fn new(tasks: &'a TaskGraph) -> Self {
        let count = tasks.tasks.len();
        let reads = (0..count as u32)
            .flat_map(|task| tasks.operands(task).iter().map(move |&(value, _)| (value, task)));
        let edges = reads.clone().chain(tasks.orderings.iter().copied());
        let mut waiting = vec![0; count];
        edges.clone().for_each(|(_, later)| waiting[later as usize] += 1);
        let readers = Csr::new(count, reads);
        Growth {
            tasks,
            followers: Csr::new(count, edges),
            waiting,
            unread: (0..count as u32).map(|task| readers.of(task).len() as u32).collect(),
            readers,
            done: vec![false; count],
            enabled: vec![0; count],
            ready: BinaryHeap::new(),
            order: Vec::with_capacity(count),
        }
    }

    /// Bytes that a task takes, less those that it is the last to read.
    fn of(&self, task: u32) -> i64 {
        let last = self.tasks.operands(task).iter().filter(|(value, _)| self.unread[*value as usize] == 1);
        let given: u64 = last.map(|&(value, _)| self.tasks.tasks[value as usize].allocated()).sum();
        self.tasks.tasks[task as usize].allocated() as i64 - given as i64
    }

    fn enable(&mut self, task: u32) {
        self.ready.push((Reverse(self.of(task)), self.enabled[task as usize], task));
    }

    fn run(&mut self, task: u32) {
        let tasks = self.tasks;
        self.done[task as usize] = true;
        self.order.push(task);
        for &(value, _) in tasks.operands(task) {
            self.unread[value as usize] -= 1;
            if self.unread[value as usize] == 1 {
                for at in self.readers.range(value) {
                    let reader = self.readers.item(at);
                    if !self.done[reader as usize] && self.waiting[reader as usize] == 0 {
                        self.enable(reader);
                    }
                }
            }
        }
        for at in self.followers.range(task) {
            let follower = self.followers.item(at);
            self.waiting[follower as usize] -= 1;
            if self.waiting[follower as usize] == 0 {
                self.enabled[follower as usize] = self.order.len() as u32;
                self.enable(follower);
            }
        }
    }
}
