//! Bytes moved against the least possible, by search over all choices of what to give up.

use std::collections::HashMap;

use super::graphs::{Random, Sample};
use crate::plan::memory::moves::walk;
use crate::plan::memory::view::View;

/// Tasks of one memory in order, bytes and reads.
type Tasks = Vec<(u64, Vec<u32>)>;

/// The least bytes written and read with which tasks run in order within a budget: shortest paths over (task, what
/// is in memory, what is on disk).
fn least(tasks: &Tasks, budget: u64) -> u64 {
    let last = |value: usize| {
        let reads = (0..tasks.len()).filter(|&task| tasks[task].1.contains(&(value as u32)));
        reads.max().unwrap_or(value)
    };
    let size = |set: u32| (0..tasks.len()).filter(|at| set >> at & 1 == 1).map(|at| tasks[at].0).sum::<u64>();
    let mut states: HashMap<(u32, u32), u64> = HashMap::from([((0, 0), 0)]);
    for (task, (_, reads)) in tasks.iter().enumerate() {
        let operands = reads.iter().fold(0u32, |set, value| set | 1 << value);
        let alive = (0..task).filter(|&value| last(value) >= task).fold(0u32, |set, value| set | 1 << value);
        let mut next = HashMap::new();
        for ((memory, disk), cost) in states {
            let (memory, disk) = (memory & alive, disk & alive);
            let read = operands & !memory;
            // What is in memory while the task runs: operands, its value, and any others that were there.
            let others = memory & !operands;
            let mut kept = others;
            loop {
                let running = operands | kept | 1 << task;
                if size(running) <= budget {
                    let written = others & !kept & !disk;
                    let cost = cost + size(read) + size(written);
                    let best = next.entry((running, disk | written)).or_insert(u64::MAX);
                    *best = cost.min(*best);
                }
                if kept == 0 {
                    break;
                }
                kept = (kept - 1) & others;
            }
        }
        states = next;
    }
    states.into_values().min().expect("every working set fits")
}

#[test]
fn bytes_moved_are_near_the_least_possible() {
    for (sizes, factor, worst) in [(1, 1.05, 2.5), (3, 1.1, 3.5)] {
        let (mut all, mut all_least) = (0, 0);
        for seed in 0..300 {
            let mut random = Random(seed * 7919 + sizes);
            let mut tasks: Tasks = Vec::new();
            for at in 0..11u32 {
                let mut reads: Vec<u32> =
                    (0..random.below(3)).map(|_| random.below(at.into()) as u32).collect();
                reads.retain(|&value| value < at);
                reads.sort_unstable();
                reads.dedup();
                tasks.push((1 + random.below(sizes), reads));
            }
            let set = |task: &(u64, Vec<u32>)| {
                task.0 + task.1.iter().map(|&value| tasks[value as usize].0).sum::<u64>()
            };
            let budget = tasks.iter().map(set).max().expect("tasks") + random.below(2);
            let given: Vec<(u64, &[u32])> = tasks.iter().map(|(bytes, reads)| (*bytes, &reads[..])).collect();
            let sample = Sample::of(&given);
            let view = View::new(&sample.tasks, &sample.terms, sample.scope());
            let order: Vec<u32> = (0..tasks.len() as u32).collect();
            let moved = walk(&view, &order, &[budget, u64::MAX]).expect("it fits").bytes();
            let least = least(&tasks, budget);
            assert!(moved >= least, "seed {seed}: {moved} below the least, {least}");
            assert!(moved as f64 <= worst * least as f64 + 2.0, "seed {seed}: {moved} for {least}");
            all += moved;
            all_least += least;
        }
        assert!(all as f64 <= factor * all_least as f64, "{all} bytes, at least {all_least}");
        assert!(all_least > 300, "{all_least}");
    }
}
