//! A model checker: every order of events of thousands of small plans, in the real reactor.
//!
//! States are explored depth first and told apart by all that decides what comes next. In each one no more is held than
//! the budget, reserves fit together, the profile equals one worked out from scratch, something can happen, and a run
//! with nothing under way can start its head. Where all runs are over everything is given back.
//!
//! `OUTCROP_SOAK` multiplies the number of plans.

mod plans;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::*;
use crate::reactor::event::Failure;
use crate::steps::{Plan, StepOperand};
use plans::Random;

/// Workers of the host's lane.
const WORKERS: usize = 2;

/// A state of the reactor, and what the world around it owes.
#[derive(Clone)]
struct State {
    reactor: Reactor,
    runs: Vec<World>,
    /// Attempts that may still fail, and runs that may still be cancelled.
    failures: u8,
    cancellations: u8,
}

/// A run as its driver sees it.
#[derive(Clone, Default)]
struct World {
    running: Vec<(StepId, GrantId)>,
    backing_off: Vec<StepId>,
    is_begun: bool,
    is_stopped: bool,
    is_over: bool,
    /// Values that were freed, as bits.
    freed: u32,
}

/// What is explored: some plans under one book.
struct Scene {
    seed: u64,
    tasks: Vec<Arc<Tasks>>,
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
    explore_many(0xA11, 200, |random| vec![plans::random(random, 4, 6)], [1, 1]);
    explore_many(0xA12, 3, |random| vec![plans::random(random, 6, 7)], [2, 0]);
}

#[test]
fn no_interleaving_of_two_runs_exceeds_a_budget_or_gets_stuck() {
    explore_many(0x2B2, 30, |random| (0..2).map(|_| plans::random(random, 2, 4)).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn no_interleaving_of_a_plan_that_spills_exceeds_a_budget_or_gets_stuck() {
    explore_many(0x591, 4, |random| vec![plans::spilling(random)], [1, 0]);
}

#[test]
fn steps_that_fail_together_find_room_again() {
    let tasks = vec![Arc::new(Tasks::new(Arc::new(plans::failing_together())))];
    let (scene, mut figures) =
        (Scene { seed: 0, tasks, workers: 1, budgets: vec![7, 0], licences: 1 }, Figures::default());
    scene.explore([3, 0], &mut figures);
    assert!(figures.ends > 0);
}

/// Explores scenes of random plans, with up to so many failures and cancellations in each.
fn explore_many(salt: u64, count: u64, plans: impl Fn(&mut Random) -> Vec<Plan>, trouble: [u8; 2]) {
    let mut figures = Figures::default();
    for seed in (0..count * soak()).map(|at| at ^ (salt << 32)) {
        let mut random = Random(seed);
        let scene = Scene::new(seed, plans(&mut random), &mut random);
        scene.explore(trouble, &mut figures);
    }
    println!("{} plans, {} states, {} ends", figures.plans, figures.states, figures.ends);
    assert!(figures.ends > 0);
}

impl Scene {
    /// Budgets are what the plan that needs most takes in its own order, and a little more.
    fn new(seed: u64, plans: Vec<Plan>, random: &mut Random) -> Self {
        let tasks: Vec<Arc<Tasks>> =
            plans.into_iter().map(|plan| Arc::new(Tasks::new(Arc::new(plan)))).collect();
        let peak = |memory: usize| tasks.iter().map(|tasks| tasks.demands()[memory].peak).max().unwrap_or(0);
        let memories = tasks[0].demands().len();
        let budgets = (0..memories).map(|memory| peak(memory) + random.below(4)).collect();
        Scene { seed, tasks, workers: WORKERS, budgets, licences: (1 + random.below(2)) * 1_000_000 }
    }

    fn explore(&self, [failures, cancellations]: [u8; 2], figures: &mut Figures) {
        let limits: Vec<Option<u64>> = self.budgets.iter().copied().map(Some).collect();
        let reactor = Reactor::new(Ledger::new(&limits, &[self.licences], self.workers), self.workers);
        let runs = vec![World::default(); self.tasks.len()];
        let mut first = State { reactor, runs, failures, cancellations };
        let mut commands = Vec::new();
        for tasks in &self.tasks {
            first.reactor.submit(tasks.clone(), Standing::default(), &mut commands).expect("it fits alone");
        }
        first.obey(self, commands);
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
            for poll in state.polls(self.workers) {
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
            state.troubles().into_iter().for_each(|event| push(state.after(self, event)));
        }
        figures.plans += self.tasks.len();
        figures.states += seen.len();
    }

    fn name(&self) -> String {
        format!("seed {:#x}, budgets {:?}, {} licences", self.seed, self.budgets, self.licences / 1_000_000)
    }

    /// What must hold in every state.
    fn check(&self, state: &State) {
        let (name, ledger) = (self.name(), state.reactor.ledger());
        for (memory, budget) in self.budgets.iter().enumerate() {
            let (held, reserved) = (ledger.held(memory), ledger.reserved(memory));
            assert!(held <= *budget, "{name}: {held} held in memory {memory}\n{}", state.told());
            assert!(reserved <= *budget, "{name}: {reserved} reserved in memory {memory}\n{}", state.told());
        }
        for slot in state.reactor.runs.iter().flatten() {
            if slot.run.phase == Phase::Running {
                self.check_run(state, slot);
            }
        }
        if state.is_over() {
            assert!(ledger.is_settled(), "{name}: not all was given back\n{}", state.told());
            for (tasks, run) in self.tasks.iter().zip(&state.runs).filter(|(_, run)| !run.is_stopped) {
                assert_eq!(run.freed, (1 << tasks.len()) - 1, "{name}: values that weren't freed");
            }
        }
    }

    fn check_run(&self, state: &State, Slot { tasks, run }: &Slot) {
        let mut ledger = state.reactor.ledger.clone();
        for (memory, share) in run.shares.iter().enumerate() {
            let mut share = share.clone();
            let held = held_now(tasks, run, memory);
            assert_eq!(share.held, held, "{}: held in memory {memory}\n{}", self.name(), state.told());
            let needs = needs(tasks, run, memory);
            if let Some(profile) = &mut share.profile {
                for to in 0..=tasks.len() {
                    let largest = needs[..to].iter().flatten().max().copied();
                    let told = profile.largest_before(to);
                    assert!(
                        largest.map_or(told < 0, |largest| largest == told),
                        "{}: profile of memory {memory} up to {to} is {told}, not {largest:?}\n{}",
                        self.name(),
                        state.told()
                    );
                }
            }
            let most = needs.iter().flatten().max().map_or(0, |most| *most as u64).max(share.held);
            assert!(
                run.running > 0 || share.reserve >= most,
                "{}: {} in reserve of {most} needed of memory {memory}\n{}",
                self.name(),
                share.reserve,
                state.told()
            );
        }
        let head = run.head;
        if run.running == 0 && head < tasks.len() as u32 {
            let share = &mut run.shares[usize::from(tasks.need(head).memory)].clone();
            assert!(
                ledger.may_start(share, tasks, head, head, |_| false),
                "{}: nothing runs, and the head {head} doesn't fit\n{}",
                self.name(),
                state.told()
            );
        }
    }
}

impl State {
    /// What happens by itself, sooner or later.
    fn happenings(&self) -> Vec<Event> {
        let mut events = Vec::new();
        for (run, world) in (0..).map(RunId).zip(&self.runs) {
            events.extend(world.is_begun.then_some(Event::Start(run)));
            events.extend(world.backing_off.iter().map(|&step| Event::RetryDue { run, step }));
            for (step, grant) in self.under_way(run) {
                events.push(Event::Finished { run, step, grant, nanoseconds: 1_000 });
            }
        }
        events
    }

    /// The steps of a run that may end: of a bundle, those that wait for none of the others.
    fn under_way(&self, run: RunId) -> Vec<(StepId, GrantId)> {
        let (running, slot) = (&self.runs[run.0 as usize].running, &self.reactor.runs[run.0 as usize]);
        let Some(Slot { tasks, .. }) = slot else { return Vec::new() };
        let waits = |step: StepId| running.iter().any(|(other, _)| follows(tasks, step, *other));
        running.iter().filter(|(step, _)| !waits(*step)).copied().collect()
    }

    /// What may happen, and may not.
    fn troubles(&self) -> Vec<Event> {
        let mut events = Vec::new();
        for (run, world) in (0..).map(RunId).zip(&self.runs).filter(|(_, world)| !world.is_over) {
            if self.failures > 0 {
                let failed = |&(step, grant)| Event::Failed { run, step, grant, why: Failure::Retryable };
                events.extend(self.under_way(run).iter().map(failed));
            }
            events.extend((self.cancellations > 0 && !world.is_stopped).then_some(Event::Cancel(run)));
        }
        events
    }

    /// What workers that are free may ask for.
    fn polls(&self, workers: usize) -> Vec<Event> {
        let lanes = self.reactor.runs.iter().flatten().map(|slot| slot.tasks.plan().lanes()).max();
        let mut polls = Vec::new();
        for lane in 0..lanes.unwrap_or(0) as Lane {
            let on_lane =
                |slot: &Slot, step: StepId| slot.tasks.plan().lane_of(&slot.tasks.plan().step(step)) == lane;
            let slots = self.reactor.runs.iter().zip(&self.runs);
            let busy: usize = slots
                .filter_map(|(slot, world)| Some((slot.as_ref()?, world)))
                .map(|(slot, world)| world.running.iter().filter(|(step, _)| on_lane(slot, *step)).count())
                .sum();
            if busy < if lane == 0 { workers } else { 1 } {
                polls.extend([1, 2].map(|room| Event::Poll { lane, room, only: None }));
            }
        }
        polls
    }

    fn after(&self, scene: &Scene, event: Event) -> State {
        let mut next = self.clone();
        match event {
            Event::Start(run) => next.world(run).is_begun = false,
            Event::RetryDue { run, step } => {
                next.world(run).backing_off.retain(|other| *other != step);
            }
            Event::Finished { run, step, .. } => next.world(run).running.retain(|(other, _)| *other != step),
            Event::Failed { run, step, .. } => {
                next.failures -= 1;
                next.world(run).running.retain(|(other, _)| *other != step);
            }
            Event::Cancel(run) => {
                next.cancellations -= 1;
                let world = next.world(run);
                (world.is_stopped, world.is_begun) = (true, false);
                world.backing_off.clear();
            }
            Event::Untried { run, step, .. } => next.world(run).running.retain(|(other, _)| *other != step),
            Event::Poll { .. } | Event::Abandoned { .. } | Event::Found { .. } => {}
        }
        let mut commands = Vec::new();
        next.reactor.on_events(&[event], &mut commands);
        next.obey(scene, commands);
        match event {
            Event::Failed { run, step, .. } | Event::Untried { run, step, .. } => {
                let tasks = &scene.tasks[run.0 as usize];
                let untried = next.world(run).running.iter().find(|(other, _)| follows(tasks, *other, step));
                match untried.copied() {
                    Some((step, grant)) => next.after(scene, Event::Untried { run, step, grant }),
                    None => next,
                }
            }
            _ => next,
        }
    }

    /// A worker asks once, and again if the first answer was that others have made room.
    fn polled(&self, scene: &Scene, poll: Event) -> (State, bool) {
        let mut next = self.clone();
        let mut commands = Vec::new();
        next.reactor.on_events(&[poll], &mut commands);
        let did_something = !commands.is_empty();
        next.obey(scene, commands);
        (next, did_something)
    }

    fn obey(&mut self, scene: &Scene, mut commands: Vec<Command>) {
        while !commands.is_empty() {
            for command in std::mem::take(&mut commands) {
                match command {
                    Command::Begin(run) => self.world(run).is_begun = true,
                    Command::Run { run, step, grant } => {
                        let tasks = &scene.tasks[run.0 as usize];
                        let freed = self.world(run).freed;
                        let operands = tasks.plan().operands(step);
                        let is_alive = |operand: &StepOperand| freed & (1 << operand.step.0) == 0;
                        assert!(operands.iter().all(is_alive), "{}: reads what is freed", scene.name());
                        self.world(run).running.push((step, grant));
                        self.world(run).running.sort_by_key(|(step, _)| *step);
                    }
                    Command::Free { run, value } => {
                        let world = self.world(run);
                        assert_eq!(world.freed & (1 << value.0), 0, "{}: freed twice", scene.name());
                        world.freed |= 1 << value.0;
                    }
                    Command::Retry { run, step, .. } => {
                        self.world(run).backing_off.push(step);
                        self.world(run).backing_off.sort();
                    }
                    Command::Abort { run, .. } | Command::Starve(run) => {
                        let world = self.world(run);
                        world.is_stopped = true;
                        world.backing_off.clear();
                    }
                    Command::Complete(run) => {
                        let world = self.world(run);
                        assert!(world.running.is_empty() && !world.is_over, "{}", scene.name());
                        world.is_over = true;
                        self.reactor.release(run, &mut commands);
                    }
                }
            }
        }
    }

    fn world(&mut self, run: RunId) -> &mut World {
        &mut self.runs[run.0 as usize]
    }

    fn is_over(&self) -> bool {
        self.runs.iter().all(|run| run.is_over)
    }

    /// All that decides what comes next. Grants are told apart by the steps that hold them, not by their numbers.
    fn key(&self) -> Vec<u64> {
        let reactor = &self.reactor;
        let mut key = vec![u64::from(self.failures), u64::from(self.cancellations), u64::from(reactor.stale)];
        for ids in [&reactor.order, &reactor.queued] {
            key.push(ids.iter().fold(1, |all, id| all << 8 | u64::from(id.0)));
        }
        let claim = reactor.claim.as_ref();
        key.push(claim.map_or(0, |claim| 1 + (u64::from(claim.run.0) << 32) + u64::from(claim.queue)));
        key.extend(reactor.ledger.free_resources());
        let mut grants = BTreeMap::new();
        for world in &self.runs {
            let flags = [world.is_begun, world.is_stopped, world.is_over];
            key.push(flags.into_iter().fold(u64::from(world.freed), |all, flag| all << 1 | u64::from(flag)));
            key.extend(world.backing_off.iter().map(|step| u64::from(step.0)));
            for (_, grant) in world.running.iter().filter(|(_, grant)| *grant != GrantId::NONE) {
                let number = grants.len() as u64;
                key.push(*grants.entry(grant.0).or_insert(number));
            }
        }
        reactor.runs.iter().for_each(|slot| match slot {
            Some(slot) => add_run(&slot.run, &mut key),
            None => key.push(u64::MAX),
        });
        key
    }

    fn told(&self) -> String {
        format!("{:#?}", self.reactor)
    }
}

/// Whether a step waits for another.
fn follows(tasks: &Tasks, step: StepId, earlier: StepId) -> bool {
    tasks.followers().of(earlier.0).contains(&step.0)
}

fn add_run(run: &Run, key: &mut Vec<u64>) {
    key.push(run.phase as u64);
    key.extend(run.states.iter().map(|state| state.number()));
    key.extend((0..run.states.len() as u32).map(|step| u64::from(run.failures(StepId(step)))));
    key.extend(run.queues.iter().map(|queue| u64::from(queue.bypasses) << 32 | u64::from(queue.cost)));
    for share in &run.shares {
        key.extend([
            share.held,
            share.ahead,
            share.bundled,
            share.reserve,
            u64::from(share.no_short_way_before),
        ]);
    }
}

/// The last reader of a value, in planned order, that isn't done.
fn last_reader(tasks: &Tasks, run: &Run, value: u32) -> Option<u32> {
    let is_open = |reader: &&u32| run.states[**reader as usize].stage() != StepState::DONE;
    tasks.readers(value).iter().filter(is_open).max().copied()
}

/// Bytes that a run holds, worked out from where its steps are.
fn held_now(tasks: &Tasks, run: &Run, memory: usize) -> u64 {
    let mut held = tasks.demands()[memory].results;
    for step in 0..tasks.len() as u32 {
        let need = tasks.need(step);
        if usize::from(need.memory) == memory {
            held += match run.states[step as usize].stage() {
                StepState::RUNNING => need.bytes(),
                StepState::DONE if last_reader(tasks, run, step).is_some() => need.value,
                _ => 0,
            };
        }
    }
    held
}

/// For each step that isn't done, the bytes held when it runs once all before it are done, worked out from scratch. Steps
/// that allocate elsewhere count though they are done: no more is held at one than at the next that isn't.
fn needs(tasks: &Tasks, run: &Run, memory: usize) -> Vec<Option<i64>> {
    let mut needs = Vec::new();
    for at in 0..tasks.len() as u32 {
        let mut held = tasks.demands()[memory].results;
        for step in 0..tasks.len() as u32 {
            let (need, stage) = (tasks.need(step), run.states[step as usize].stage());
            if usize::from(need.memory) != memory {
                continue;
            }
            let is_read_later = last_reader(tasks, run, step).is_some_and(|last| last >= at);
            held += match stage {
                StepState::DONE if is_read_later => need.value,
                StepState::DONE => 0,
                _ if step == at => need.bytes(),
                StepState::RUNNING if step > at => need.bytes(),
                _ if step < at && is_read_later => need.value,
                _ => 0,
            };
        }
        let is_done = run.states[at as usize].stage() == StepState::DONE;
        let is_elsewhere = usize::from(tasks.need(at).memory) != memory;
        needs.push((!is_done || is_elsewhere).then_some(held as i64));
    }
    needs
}
