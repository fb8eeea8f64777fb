//! States, and how each leads to others.

use std::collections::BTreeMap;

use super::*;
use crate::reactor::event::Failure;
use crate::steps::StepOperand;

/// A state of the reactor, and what the world around it owes.
#[derive(Clone)]
pub(super) struct State {
    pub(super) reactor: Reactor,
    /// By plan of the scene.
    pub(super) runs: Vec<World>,
    /// Attempts that were given up and still run.
    pub(super) lost: Vec<Lost>,
    trouble: Trouble,
}

/// What may go wrong yet, and how often.
#[derive(Clone, Copy, Default)]
pub(super) struct Trouble {
    /// Attempts that fail and may be tried again.
    pub(super) failures: u8,
    /// Attempts that fail for good.
    pub(super) finals: u8,
    /// Attempts that memory gives out for.
    pub(super) shortages: u8,
    /// Attempts that are given up.
    pub(super) abandonments: u8,
    pub(super) cancellations: u8,
}

/// A run as its driver sees it.
#[derive(Clone, Default)]
pub(super) struct World {
    /// While the reactor knows it.
    pub(super) id: Option<RunId>,
    pub(super) running: Vec<(StepId, GrantId)>,
    backing_off: Vec<StepId>,
    /// Steps that memory gave out for, until they have been tried alone.
    squeezed: Vec<StepId>,
    pub(super) is_late: bool,
    /// There is room for it.
    is_admitted: bool,
    is_begun: bool,
    pub(super) is_stopped: bool,
    is_over: bool,
    /// Values that were freed, as bits.
    pub(super) freed: u32,
}

/// An attempt that was given up and still runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Lost {
    /// Its run, as a place in the scene.
    pub(super) at: usize,
    pub(super) step: StepId,
    /// Whether it holds resources on.
    pub(super) takes: bool,
    ticket: u64,
}

impl State {
    pub(super) fn new(scene: &Scene, trouble: Trouble) -> Self {
        let limits: Vec<Option<u64>> = scene.budgets.iter().copied().map(Some).collect();
        let reactor = Reactor::new(Ledger::new(&limits, &[scene.licences], scene.workers), scene.workers);
        let runs = vec![World { is_late: true, ..World::default() }; scene.tasks.len()];
        let first = State { reactor, runs, lost: Vec::new(), trouble };
        let count = scene.tasks.len() - usize::from(scene.is_last_late);
        (0..count).fold(first, |state, at| state.submitted(scene, at))
    }

    /// Runs that may come.
    pub(super) fn late(&self) -> impl Iterator<Item = usize> {
        (0..self.runs.len()).filter(|&at| self.runs[at].is_late)
    }

    pub(super) fn submitted(&self, scene: &Scene, at: usize) -> State {
        let (mut next, mut commands, tasks) = (self.clone(), Vec::new(), &scene.tasks[at]);
        let submitted = next.reactor.submit(tasks.clone(), Standing::default(), &mut commands);
        next.runs[at].is_late = false;
        let could_run = scene.could_run(self, tasks);
        assert_eq!(submitted.is_ok(), could_run, "{}: {submitted:?}\n{}", scene.name(), self.told());
        match submitted {
            Ok(id) => next.runs[at].id = Some(id),
            Err(_) => (next.runs[at].is_stopped, next.runs[at].is_over) = (true, true),
        }
        next.obey(scene, commands);
        next
    }

    /// What happens by itself, sooner or later.
    pub(super) fn happenings(&self) -> Vec<Event> {
        let mut events = Vec::new();
        for (run, world) in self.known() {
            events.extend(world.is_begun.then_some(Event::Start(run)));
            events.extend(world.backing_off.iter().map(|&step| Event::RetryDue { run, step }));
            for (step, grant) in self.under_way(run) {
                events.push(Event::Finished { run, step, grant, nanoseconds: 1_000 });
            }
        }
        events
    }

    /// What may happen, and may not.
    pub(super) fn troubles(&self, scene: &Scene) -> Vec<Event> {
        let mut events: Vec<Event> =
            self.lost.iter().map(|lost| Event::Found { ticket: lost.ticket }).collect();
        let Trouble { failures, finals, shortages, abandonments, cancellations } = self.trouble;
        let whys =
            [(failures, Failure::Retryable), (finals, Failure::Final), (shortages, Failure::OutOfMemory)];
        let ticket = (0..).find(|ticket| self.lost.iter().all(|lost| lost.ticket != *ticket)).unwrap_or(0);
        for (run, world) in self.known() {
            for (step, grant) in self.under_way(run) {
                let whys = whys.iter().filter(|(left, _)| *left > 0);
                events.extend(whys.map(|&(_, why)| Event::Failed { run, step, grant, why }));
                // A device's attempts are given up together, and aren't tried again.
                let class = scene.tasks[self.at(run)].class(step.0);
                let retryable: &[bool] = match class.alone {
                    true => &[false, true],
                    false if class.lane > 0 => &[false],
                    false => &[],
                };
                let given_up = |&retryable| Event::Abandoned { run, step, grant, ticket, retryable };
                events.extend(retryable.iter().filter(|_| abandonments > 0).map(given_up));
            }
            events.extend((cancellations > 0 && !world.is_stopped).then_some(Event::Cancel(run)));
        }
        events
    }

    /// What workers that are free may ask for.
    pub(super) fn polls(&self, scene: &Scene) -> Vec<Event> {
        let lanes = scene.tasks.iter().map(|tasks| tasks.plan().lanes().count()).max();
        let mut polls = Vec::new();
        for lane in 0..lanes.unwrap_or(0) as Lane {
            let busy = |(world, tasks): (&World, &Arc<Tasks>)| {
                world.running.iter().filter(|(step, _)| tasks.class(step.0).lane == lane).count()
            };
            let busy: usize = self.runs.iter().zip(&scene.tasks).map(busy).sum();
            if busy < if lane == 0 { scene.workers } else { 1 } {
                polls.extend([1, 2].map(|room| Event::Poll { lane, room, only: None }));
            }
        }
        polls
    }

    pub(super) fn after(&self, scene: &Scene, event: Event) -> State {
        let mut next = self.clone();
        next.notice(event);
        let mut commands = Vec::new();
        next.reactor.on_events(&[event], &mut commands);
        next.obey(scene, commands);
        self.check_outcome(scene, event, &next);
        match event {
            Event::Failed { run, step, .. }
            | Event::Untried { run, step, .. }
            | Event::Abandoned { run, step, .. } => {
                let tasks = &scene.tasks[self.at(run)];
                let running = &next.runs[self.at(run)].running;
                let untried = running.iter().find(|(other, _)| follows(tasks, *other, step));
                match untried.copied() {
                    Some((step, grant)) => next.after(scene, Event::Untried { run, step, grant }),
                    None => next,
                }
            }
            _ => next,
        }
    }

    /// What the world knows of an event.
    fn notice(&mut self, event: Event) {
        match event {
            Event::Start(run) => self.world(run).is_begun = false,
            Event::RetryDue { run, step } => self.world(run).backing_off.retain(|other| *other != step),
            Event::Finished { run, step, .. } => self.world(run).ended(step),
            Event::Untried { run, step, .. } => self.world(run).running.retain(|(other, _)| *other != step),
            Event::Failed { run, step, why, .. } => {
                let was_squeezed = self.world(run).squeezed.contains(&step);
                self.world(run).ended(step);
                match why {
                    Failure::Retryable => self.trouble.failures -= 1,
                    Failure::Final => self.trouble.finals -= 1,
                    Failure::OutOfMemory => self.trouble.shortages -= 1,
                }
                if why == Failure::OutOfMemory && !was_squeezed && !self.world(run).is_stopped {
                    self.world(run).squeezed.push(step);
                    self.world(run).squeezed.sort();
                }
            }
            Event::Abandoned { run, step, grant, ticket, .. } => {
                self.trouble.abandonments -= 1;
                self.world(run).ended(step);
                let is_last = self.world(run).running.iter().all(|(_, other)| *other != grant);
                let (at, takes) = (self.at(run), grant != GrantId::NONE && is_last);
                self.lost.push(Lost { at, step, takes, ticket });
                self.lost.sort();
            }
            Event::Found { ticket } => self.lost.retain(|lost| lost.ticket != ticket),
            Event::Cancel(run) => {
                self.trouble.cancellations -= 1;
                self.world(run).stopped();
            }
            Event::Poll { .. } => {}
        }
    }

    /// A worker asks once, and again if the first answer was that others have made room.
    pub(super) fn polled(&self, scene: &Scene, poll: Event) -> (State, bool) {
        let mut next = self.clone();
        let mut commands = Vec::new();
        let is_told = matches!(poll, Event::Poll { lane, .. } if next.reactor.could_start(lane));
        next.reactor.on_events(&[poll], &mut commands);
        let did_something = !commands.is_empty();
        let starts = commands.iter().any(|command| matches!(command, Command::Run { .. }));
        assert!(is_told || !starts, "{}: nobody is woken for what starts\n{}", scene.name(), self.told());
        next.obey(scene, commands);
        (next, did_something)
    }

    fn obey(&mut self, scene: &Scene, mut commands: Vec<Command>) {
        while !commands.is_empty() {
            for command in std::mem::take(&mut commands) {
                match command {
                    Command::Begin(run) => {
                        let world = self.world(run);
                        (world.is_admitted, world.is_begun) = (true, true);
                    }
                    Command::Run { run, step, grant } => {
                        self.check_start(scene, run, step);
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
                    Command::Abort { run, .. } => self.world(run).stopped(),
                    Command::Starve(run) => {
                        let (tasks, world) = (&scene.tasks[self.at(run)], &self.runs[self.at(run)]);
                        let could = scene.could_go_on(self, tasks, world.is_admitted);
                        assert!(!could, "{}: starved for nothing\n{}", scene.name(), self.told());
                        self.world(run).stopped();
                    }
                    Command::Complete(run) => {
                        let world = self.world(run);
                        assert!(world.running.is_empty() && !world.is_over, "{}", scene.name());
                        (world.is_over, world.id) = (true, None);
                        self.reactor.release(run, &mut commands);
                    }
                }
            }
        }
    }

    /// What must hold of a step that starts.
    fn check_start(&self, scene: &Scene, run: RunId, step: StepId) {
        let (tasks, world) = (&scene.tasks[self.at(run)], &self.runs[self.at(run)]);
        let is_alive = |operand: &StepOperand| world.freed & (1 << operand.step.0) == 0;
        assert!(tasks.plan().operands(step).iter().all(is_alive), "{}: reads what is freed", scene.name());
        let is_alone = world.squeezed.is_empty() || world.running.is_empty();
        assert!(is_alone, "{}: {step:?} starts beside others\n{}", scene.name(), self.told());
        let (need, ledger) = (tasks.need(step.0), self.reactor.ledger());
        let memory = usize::from(need.memory);
        let used = ledger.held(memory) + ledger.lost(memory);
        let fits = need.bytes() == 0 || used <= scene.budgets[memory];
        assert!(fits, "{}: {step:?} starts and {used} is used\n{}", scene.name(), self.told());
    }

    /// Whether a failure ended its run as it had to, or didn't.
    fn check_outcome(&self, scene: &Scene, event: Event, next: &State) {
        let (Event::Failed { run, step, .. } | Event::Abandoned { run, step, .. }) = event else { return };
        let (at, failures) = (self.at(run), self.reactor.failures(run, step));
        if self.runs[at].is_stopped {
            return;
        }
        let tasks = &scene.tasks[at];
        let is_last = failures >= tasks.plan().terms[tasks.class(step.0).terms as usize].retries;
        let ends = match event {
            Event::Failed { why: Failure::Retryable, .. } => is_last,
            Event::Failed { why: Failure::OutOfMemory, .. } => {
                let ends = self.runs[at].squeezed.contains(&step);
                let counts = ends || next.reactor.failures(run, step) == failures;
                assert!(counts, "{}: a shortage that is a retry", scene.name());
                ends
            }
            Event::Abandoned { retryable: true, .. } => {
                is_last || !scene.has_room(&next.lost, self) || !scene.could_give(next, tasks)
            }
            _ => true,
        };
        assert_eq!(next.runs[at].is_stopped, ends, "{}: after {event:?}\n{}", scene.name(), self.told());
    }

    /// The steps of a run that may end: of a bundle, those that wait for none of the others.
    fn under_way(&self, run: RunId) -> Vec<(StepId, GrantId)> {
        let (running, slot) = (&self.runs[self.at(run)].running, &self.reactor.runs[run.0 as usize]);
        let Some(Slot { tasks, .. }) = slot else { return Vec::new() };
        let waits = |step: StepId| running.iter().any(|(other, _)| follows(tasks, step, *other));
        running.iter().filter(|(step, _)| !waits(*step)).copied().collect()
    }

    /// Runs that the reactor knows.
    pub(super) fn known(&self) -> impl Iterator<Item = (RunId, &World)> {
        self.runs.iter().filter_map(|world| Some((world.id?, world)))
    }

    /// The place of a run in the scene.
    fn at(&self, run: RunId) -> usize {
        self.runs.iter().position(|world| world.id == Some(run)).expect("a run that the reactor knows")
    }

    fn world(&mut self, run: RunId) -> &mut World {
        let at = self.at(run);
        &mut self.runs[at]
    }

    pub(super) fn is_over(&self) -> bool {
        self.runs.iter().all(|run| run.is_over || run.is_late)
    }

    /// All that decides what comes next. Grants are told apart by the steps that hold them, not by their numbers.
    pub(super) fn key(&self) -> Vec<u64> {
        let (reactor, trouble) = (&self.reactor, &self.trouble);
        let mut key: Vec<u64> = [trouble.failures, trouble.finals, trouble.shortages, trouble.abandonments]
            .into_iter()
            .chain([trouble.cancellations, u8::from(reactor.stale)])
            .map(u64::from)
            .collect();
        for ids in [&reactor.order, &reactor.queued] {
            key.push(ids.iter().fold(1, |all, id| all << 8 | u64::from(id.0)));
        }
        let claim = reactor.claim.as_ref();
        key.push(claim.map_or(0, |claim| 1 + (u64::from(claim.run.0) << 32) + u64::from(claim.queue)));
        key.extend(reactor.ledger.free_resources());
        let mut grants = BTreeMap::new();
        for world in &self.runs {
            key.push(world.id.map_or(u64::MAX, |id| u64::from(id.0)));
            let flags = [world.is_late, world.is_begun, world.is_stopped, world.is_over];
            key.push(flags.into_iter().fold(u64::from(world.freed), |all, flag| all << 1 | u64::from(flag)));
            key.extend(world.backing_off.iter().map(|step| u64::from(step.0)));
            for (_, grant) in world.running.iter().filter(|(_, grant)| *grant != GrantId::NONE) {
                let number = grants.len() as u64;
                key.push(*grants.entry(grant.0).or_insert(number));
            }
        }
        let lost = |lost: &Lost| (lost.at as u64) << 33 | u64::from(lost.step.0) << 1 | u64::from(lost.takes);
        key.push(self.lost.len() as u64);
        key.extend(self.lost.iter().map(lost));
        reactor.runs.iter().for_each(|slot| match slot {
            Some(slot) => add_run(&slot.run, &mut key),
            None => key.push(u64::MAX),
        });
        key
    }

    pub(super) fn told(&self) -> String {
        format!("{:#?}", self.reactor)
    }
}

impl World {
    /// A step ran, alone if it was to.
    fn ended(&mut self, step: StepId) {
        self.running.retain(|(other, _)| *other != step);
        self.squeezed.retain(|other| *other != step);
    }

    /// Nothing of it starts any more.
    fn stopped(&mut self) {
        (self.is_stopped, self.is_begun) = (true, false);
        self.backing_off.clear();
    }
}

fn add_run(run: &Run, key: &mut Vec<u64>) {
    key.push(run.phase as u64);
    key.extend(run.states.iter().map(|state| state.number()));
    key.extend((0..run.states.len() as u32).map(|step| u64::from(run.failures(StepId(step)))));
    key.push(run.squeezed.iter().fold(1, |all, step| all << 8 | u64::from(*step)));
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
