//! Random small task graphs against what must hold, worked out by hand; the order's bytes against the optimum.

mod graphs;
mod optimum;
mod search;
mod shapes;

use std::collections::HashMap;

use super::moves::{Moves, walk};
use super::view::View;
use super::{peak, *};
use crate::steps::Step;
use graphs::{Sample, sample};

/// What tasks need whatever moves: by memory, the most that any task's operands, value and reserve take, together
/// with what never moves.
fn working_sets(sample: &Sample, order: &[u32]) -> Vec<u64> {
    let (tasks, memories) = (&sample.tasks, sample.machine.memories.len());
    let mut last = HashMap::new();
    for (rank, &task) in order.iter().enumerate() {
        last.insert(task, rank);
        tasks.operands(task).iter().for_each(|&(value, _)| _ = last.insert(value, rank));
    }
    let mut most: Vec<u64> = vec![0; memories];
    most[0] = sample.results();
    for (rank, &task) in order.iter().enumerate() {
        let step = &tasks.tasks[task as usize];
        let mut held: Vec<u32> = tasks.operands(task).iter().map(|&(value, _)| value).collect();
        held.push(task);
        let fixed = order[..rank].iter().filter(|&&other| sample.is_fixed(other) && last[&other] >= rank);
        held.extend(fixed);
        held.sort_unstable();
        held.dedup();
        for (memory, most) in most.iter_mut().enumerate() {
            let there =
                held.iter().filter(|&&value| usize::from(tasks.tasks[value as usize].memory.0) == memory);
            let values: u64 = there.map(|&value| tasks.tasks[value as usize].allocated()).sum();
            let own = usize::from(step.memory.0) == memory;
            let reserve = if own { sample.terms[step.terms as usize].reserve } else { 0 };
            let results = if memory == 0 { sample.results() } else { 0 };
            // Values that a task elsewhere needs are no concern of this memory's.
            let concerned = own || values > 0 && step.kind == StepKind::Transfer || memory == 0;
            if concerned {
                *most = (*most).max(values + reserve + results);
            }
        }
    }
    most
}

/// Runs the tasks of a walk one after the other with symbols for values: every reader gets what it asked for, in its
/// own memory, and no memory holds more than its budget.
fn play_symbols(sample: &Sample, moves: Moves, budgets: &[u64]) {
    let want: Vec<Vec<u64>> = (0..sample.tasks.tasks.len() as u32)
        .map(|task| {
            let operands = sample.tasks.operands(task).iter();
            operands.map(|&(value, _)| sample.tasks.tasks[value as usize].block).collect()
        })
        .collect();
    let (count, mut tasks) = (sample.tasks.tasks.len(), sample.tasks.clone());
    let mut assigned = Assigned { terms: sample.terms.clone(), priority: Vec::new() };
    let order = apply(&mut tasks, &mut assigned, moves);
    let mut value: HashMap<u32, u64> = HashMap::new();
    let mut ran = vec![false; tasks.tasks.len()];
    for &task in &order {
        assert!(!std::mem::replace(&mut ran[task as usize], true), "task {task} runs twice");
        let step = &tasks.tasks[task as usize];
        let got: Vec<u64> = tasks.operands(task).iter().map(|(value_of, _)| value[value_of]).collect();
        if step.kind.is_copy() {
            assert_eq!(got, [step.block], "a move of another value");
            value.insert(task, got[0]);
        } else {
            if (task as usize) < count {
                assert_eq!(got, want[task as usize], "task {task} reads the wrong values");
            }
            for &(operand, _) in tasks.operands(task) {
                assert_eq!(tasks.tasks[operand as usize].memory, step.memory, "read from elsewhere");
            }
            value.insert(task, step.block);
        }
    }
    assert!(ran.iter().all(|&ran| ran), "a task doesn't run");
    let memory =
        |&budget: &u64| MemoryPlan { peak: Bytes(0), results: Bytes(0), budget: Some(Bytes(budget)) };
    let mut memories: Vec<MemoryPlan> = budgets.iter().map(memory).collect();
    memories[0].results = Bytes(sample.results());
    let over = peak::measure(&tasks, &assigned.terms, &order, &mut memories);
    assert_eq!(over, None, "{memories:?}");
}

/// Accepted, refused.
fn refusals(memories: usize, seeds: std::ops::Range<u64>) -> (u32, u32) {
    let (mut accepted, mut refused) = (0, 0);
    for seed in seeds {
        let mut sample = sample(seed, memories);
        let order = sample.order();
        let needs = working_sets(&sample, &order);
        let budgets: Vec<u64> =
            needs.iter().map(|need| (need + sample.random(6)).saturating_sub(2)).collect();
        let view = View::new(&sample.tasks, &sample.terms, sample.scope());
        let all: Vec<u64> = budgets.iter().copied().chain([u64::MAX]).collect();
        let fits = needs.iter().zip(&budgets).all(|(need, budget)| need <= budget);
        // Values of devices go through the host's memory, where one may be on its way while another makes room.
        let largest = sample.tasks.tasks.iter().map(|task| task.bytes).max().unwrap_or(0);
        let roomy = memories == 1 || budgets[0] >= sample.results() + sample.fixed_bytes() + 2 * largest;
        match walk(&view, &order, &all) {
            Ok(moves) => {
                assert!(fits, "seed {seed}: accepted, but needs {needs:?} of {budgets:?}");
                accepted += 1;
                play_symbols(&sample, moves, &all);
            }
            Err(refusal) => {
                assert!(!fits || !roomy, "seed {seed}: {refusal:?} though {needs:?} of {budgets:?}");
                refused += 1;
            }
        }
    }
    (accepted, refused)
}

#[test]
fn one_memory_is_refused_exactly_when_a_working_set_is_too_large() {
    let (accepted, refused) = refusals(1, 0..6000);
    assert!(accepted > 2000 && refused > 1000, "{accepted} {refused}");
}

#[test]
fn two_memories_are_refused_when_a_working_set_or_the_way_between_them_is_too_large() {
    let (accepted, refused) = refusals(2, 10_000..16_000);
    assert!(accepted > 1500 && refused > 1500, "{accepted} {refused}");
}

#[test]
fn nothing_moves_when_it_fits() {
    for seed in 20_000..21_000 {
        let mut sample = sample(seed, 1 + seed as usize % 2);
        let order = sample.order();
        let mut memories = memories(sample.scope());
        peak::measure(&sample.tasks, &sample.terms, &order, &mut memories);
        let budgets: Vec<u64> = memories.iter().map(|memory| memory.peak.0).chain([u64::MAX]).collect();
        let view = View::new(&sample.tasks, &sample.terms, sample.scope());
        let moves = walk(&view, &order, &budgets).expect("it fits");
        let real: Vec<&Step> = moves.added.iter().map(|(step, _)| step).collect();
        assert!(real.is_empty(), "seed {seed}: {real:?}");
        assert_eq!((moves.order, moves.operands), (order, sample.tasks.operands.clone()));
    }
}
