//! A model checker: every order of events of thousands of small plans, in the real reactor.
//!
//! States are explored depth first and told apart by all that decides what comes next. Steps fail in every way, memory
//! gives out for them, attempts are given up and may be found at any time or never, and runs are cancelled and come late.
//! What must hold in each state is in [`check`]; in none may nothing run and nothing start. Where all runs are over and
//! all is found everything is given back.
//!
//! `OUTCROP_SOAK` multiplies the number of plans.

mod check;
mod plans;
mod state;

use std::collections::HashSet;
use std::sync::Arc;

use super::*;
use crate::steps::Plan;
use plans::Random;
use state::{State, Trouble};

/// Workers of the host's lane.
const WORKERS: usize = 2;

/// What is explored: some plans under one book.
struct Scene {
    seed: u64,
    tasks: Vec<Arc<Tasks>>,
    /// Whether the last of them comes at any time, or never.
    is_last_late: bool,
    /// Of the host's lane.
    workers: usize,
    budgets: Vec<u64>,
    licences: u64,
}

#[derive(Default)]
struct Figures {
    plans: usize,
    states: usize,
    ends: usize,
}

fn soak() -> u64 {
    std::env::var("OUTCROP_SOAK").ok().and_then(|times| times.parse().ok()).unwrap_or(1)
}

#[test]
fn no_interleaving_of_one_run_exceeds_a_budget_or_gets_stuck() {
    let trouble = Trouble { failures: 1, cancellations: 1, ..Trouble::default() };
    explore_many(0xA11, 200, |random| vec![plans::random(random, 4, 6)], trouble);
    let trouble = Trouble { failures: 2, ..Trouble::default() };
    explore_many(0xA12, 3, |random| vec![plans::random(random, 6, 7)], trouble);
}

#[test]
fn no_interleaving_of_two_runs_exceeds_a_budget_or_gets_stuck() {
    let trouble = Trouble { failures: 1, cancellations: 1, ..Trouble::default() };
    explore_many(0x2B2, 30, |random| (0..2).map(|_| plans::random(random, 2, 4)).collect(), trouble);
}

#[test]
fn no_interleaving_of_a_plan_that_spills_exceeds_a_budget_or_gets_stuck() {
    let trouble = Trouble { failures: 1, ..Trouble::default() };
    explore_many(0x591, 4, |random| vec![plans::spilling(random)], trouble);
}

#[test]
fn what_memory_gives_out_for_is_tried_alone_once_in_every_interleaving() {
    let trouble = Trouble { shortages: 3, failures: 1, finals: 1, ..Trouble::default() };
    explore_many(0x0A1, 60, |random| vec![plans::random(random, 3, 5)], trouble);
    let trouble = Trouble { shortages: 2, failures: 1, ..Trouble::default() };
    explore_many(0x0A2, 6, |random| (0..2).map(|_| plans::random(random, 2, 3)).collect(), trouble);
}

#[test]
fn no_interleaving_with_attempts_that_are_given_up_gets_stuck() {
    let one = |random: &mut Random| vec![plans::impatient(plans::random(random, 3, 5), random)];
    let trouble = Trouble { abandonments: 2, shortages: 1, ..Trouble::default() };
    explore_many(0xAB1, 40, one, trouble);
    let trouble = Trouble { abandonments: 1, shortages: 2, ..Trouble::default() };
    explore_many(0xAB3, 30, one, trouble);
    let two = |random: &mut Random| {
        let [first, second] = [(); 2].map(|()| plans::impatient(plans::random(random, 2, 4), random));
        if random.below(2) == 0 { vec![first.clone(), first] } else { vec![first, second] }
    };
    let trouble = Trouble { abandonments: 2, ..Trouble::default() };
    explore_many(0xAB2, 20, two, trouble);
}

#[test]
fn steps_that_fail_together_find_room_again() {
    explore_one(plans::failing_together(), 7, Trouble { failures: 3, ..Trouble::default() });
}

#[test]
fn a_value_that_a_step_reads_twice_needs_room_once() {
    explore_one(plans::reading_twice(), 7, Trouble::default());
}

fn explore_one(plan: Plan, budget: u64, trouble: Trouble) {
    let tasks = vec![Arc::new(Tasks::new(Arc::new(plan)))];
    let budgets = vec![budget, 0];
    let scene = Scene { seed: 0, tasks, is_last_late: false, workers: 1, budgets, licences: 1 };
    let mut figures = Figures::default();
    scene.explore(trouble, &mut figures);
    assert!(figures.ends > 0);
}

/// Explores scenes of random plans, with up to so much trouble in each.
fn explore_many(salt: u64, count: u64, plans: impl Fn(&mut Random) -> Vec<Plan>, trouble: Trouble) {
    let mut figures = Figures::default();
    for seed in (0..count * soak()).map(|at| at ^ (salt << 32)) {
        let mut random = Random(seed);
        let scene = Scene::new(seed, plans(&mut random), trouble, &mut random);
        scene.explore(trouble, &mut figures);
    }
    println!("{} plans, {} states, {} ends", figures.plans, figures.states, figures.ends);
    assert!(figures.ends > 0);
}

impl Scene {
    /// Budgets are what the plan that needs most takes in its own order, and a little more, where room gets lost a
    /// little more than that.
    fn new(seed: u64, plans: Vec<Plan>, trouble: Trouble, random: &mut Random) -> Self {
        let spare = if trouble.abandonments > 0 { 8 } else { 4 };
        let tasks: Vec<Arc<Tasks>> =
            plans.into_iter().map(|plan| Arc::new(Tasks::new(Arc::new(plan)))).collect();
        let peak = |memory: usize| tasks.iter().map(|tasks| tasks.demands()[memory].peak).max().unwrap_or(0);
        let memories = tasks[0].demands().len();
        let budgets = (0..memories).map(|memory| peak(memory) + random.below(spare)).collect();
        let licences = (1 + random.below(2)) * 1_000_000;
        let is_last_late = tasks.len() > 1 && random.below(2) == 0;
        Scene { seed, tasks, is_last_late, workers: WORKERS, budgets, licences }
    }

    fn explore(&self, trouble: Trouble, figures: &mut Figures) {
        let first = State::new(self, trouble);
        let (mut seen, mut stack) = (HashSet::from([first.key()]), vec![first]);
        while let Some(state) = stack.pop() {
            self.check(&state);
            figures.ends += usize::from(state.is_over());
            let mut push = |next: State| {
                if seen.insert(next.key()) {
                    stack.push(next);
                }
            };
            let happened =
                state.happenings().into_iter().map(|event| state.after(self, event)).map(&mut push);
            let is_under_way = happened.count() > 0;
            let mut may_start = false;
            for poll in state.polls(self) {
                let (next, did_something) = state.polled(self, poll);
                may_start |= did_something;
                push(next);
            }
            assert!(
                is_under_way || may_start || state.is_over(),
                "{}: nothing runs, nothing may start\n{}",
                self.name(),
                state.told()
            );
            state.troubles(self).into_iter().for_each(|event| push(state.after(self, event)));
            state.late().for_each(|at| push(state.submitted(self, at)));
        }
        figures.plans += self.tasks.len();
        figures.states += seen.len();
    }

    fn name(&self) -> String {
        format!("seed {:#x}, budgets {:?}, {} licences", self.seed, self.budgets, self.licences / 1_000_000)
    }
}

/// Whether a step waits for another.
fn follows(tasks: &Tasks, step: StepId, earlier: StepId) -> bool {
    tasks.followers().of(earlier.0).contains(&step.0)
}
