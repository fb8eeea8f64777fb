//! The pure state machine of execution: events in, commands out, no thread, no clock.
//!
//! It knows which steps of which runs wait for what, which are ready, what may start, and when values are no longer
//! needed. Equal events give equal commands. No allocation for a step in steady state.
//!
//! - [`tasks`]: what it knows of a plan. `run`: the state of a run. [`ledger`]: the book of memory and resources, with
//!   the rule that keeps plans from getting stuck.
//! - [`event`]: what it hears and says. [`bitmap`], [`profile`]: the structures below.
//!
//! **Which step next.** A worker of a lane gets the ready step that comes first in its plan's order among those that
//! may start; priority is settled in that order. Steps are queued by what they need, so what doesn't fit never holds up
//! what needs other things. One that is overtaken too often by others that take what it lacks gets a claim on it. Of
//! several runs the deeper nested one comes first, then the one of higher priority, then the one with fewer steps
//! under way.
//!
//! **Bundles.** Short steps of one queue are given out together, to run one after the other in their worker, under one
//! grant of resources: no more than a few of [`BUNDLE_NANOSECONDS`], and never so many that another worker goes without.

pub mod bitmap;
pub mod event;
mod grants;
pub mod ledger;
#[cfg(test)]
mod model;
mod pick;
pub mod profile;
mod run;
pub mod tasks;

use std::collections::HashMap;
use std::sync::Arc;

use crate::ids::StepId;
use crate::steps::{Lane, StepOperand};

pub use event::{Command, Event, GrantId, RunId};
use grants::Grants;
pub use ledger::Ledger;
use ledger::Lost;
use pick::{Claim, Picker};
pub use run::Standing;
use run::{NONE, Phase, Run, StepState};
use tasks::Class;
pub use tasks::{Demand, Need, Tasks};

/// How long the steps of a bundle take together, by what earlier ones took.
pub const BUNDLE_NANOSECONDS: u32 = 20_000;

/// What waking a worker takes, until it works: less than that is done sooner by those who are awake.
const WAKE_NANOSECONDS: u64 = 5_000;

/// The state of all runs.
#[derive(Clone, Debug)]
pub struct Reactor {
    ledger: Ledger,
    workers: usize,
    runs: Vec<Option<Slot>>,
    /// Runs that have begun, the one to look at first before the others.
    order: Vec<RunId>,
    /// Runs that wait for room, first come first.
    queued: Vec<RunId>,
    grants: Grants,
    claim: Option<Claim>,
    /// What abandoned attempts hold, by ticket.
    lost: HashMap<u64, Lost>,
    /// Whether reserves may be lower than they were last found to be.
    stale: bool,
}

#[derive(Clone, Debug)]
struct Slot {
    tasks: Arc<Tasks>,
    run: Run,
}

/// A run can't be admitted, and waiting for others wouldn't help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It needs too much memory at once.
    Memory {
        /// The memory.
        memory: usize,
        /// Bytes that the run needs of it at once.
        need: u64,
        /// Bytes that it could have.
        left: u64,
    },
    /// Abandoned attempts hold resources that it can't do without.
    Resources,
}

impl Reactor {
    /// No runs yet. `workers` is the number of threads in lane 0.
    pub fn new(ledger: Ledger, workers: usize) -> Self {
        Reactor {
            ledger,
            workers: workers.max(1),
            runs: Vec::new(),
            order: Vec::new(),
            queued: Vec::new(),
            grants: Grants::default(),
            claim: None,
            lost: HashMap::new(),
            stale: false,
        }
    }

    /// Takes a run in. It begins at once, or when others have made room.
    ///
    /// # Errors
    /// It needs more than there will ever be: of all memory, or, nested, beside the runs that wait for it.
    pub fn submit(
        &mut self,
        tasks: Arc<Tasks>,
        standing: Standing,
        commands: &mut Vec<Command>,
    ) -> Result<RunId, Refusal> {
        if !self.ledger.could_give(&tasks) {
            return Err(Refusal::Resources);
        }
        if let Some((memory, need, left)) = self.ledger.lacks(&tasks) {
            self.refresh();
            let others = self.ledger.reserved(memory);
            let waits = standing.depth == 0 && need <= left.saturating_add(others);
            if !waits && self.ledger.lacks(&tasks).is_some() {
                return Err(Refusal::Memory { memory, need, left });
            }
        }
        let at = self.runs.iter().position(Option::is_none).unwrap_or(self.runs.len());
        if at == self.runs.len() {
            self.runs.push(None);
        }
        let id = RunId(at as u32);
        let run = Run::new(&tasks, standing);
        self.runs[at] = Some(Slot { tasks, run });
        self.queued.push(id);
        self.admit(commands);
        Ok(id)
    }

    /// Takes events in, and appends what follows to `commands`.
    pub fn on_events(&mut self, events: &[Event], commands: &mut Vec<Command>) {
        for event in events {
            match *event {
                Event::Start(run) => self.on_start(run, commands),
                Event::Poll { lane, room, only } => self.on_poll(lane, room, only, commands),
                Event::Finished { run, step, grant, nanoseconds } => {
                    self.on_finished(run, step.0, grant, nanoseconds, commands);
                }
                Event::Failed { run, step, grant, retryable } => {
                    self.on_failed(run, step.0, grant, retryable, commands);
                }
                Event::Abandoned { run, step, grant, ticket, retryable } => {
                    self.on_abandoned(run, step, grant, ticket);
                    let retryable = retryable && self.ledger.is_within();
                    self.on_failed(run, step.0, GrantId::NONE, retryable, commands);
                    self.starve(commands);
                }
                Event::Found { ticket } => {
                    if let Some(lost) = self.lost.remove(&ticket) {
                        self.ledger.find(&lost);
                        self.admit(commands);
                    }
                }
                Event::RetryDue { run, step } => {
                    if let Some(Slot { tasks, run }) = self.slot(run)
                        && run.states[step.index()].stage() == StepState::BACKING_OFF
                    {
                        run.make_ready(tasks, step.0);
                    }
                }
                Event::Cancel(run) => self.stop(run, commands),
            }
        }
    }

    /// Forgets a complete run, whose values are dropped, and lets others in.
    pub fn release(&mut self, id: RunId, commands: &mut Vec<Command>) {
        let Some(slot) = self.runs.get_mut(id.0 as usize).and_then(Option::take) else { return };
        self.ledger.close(&slot.run.shares);
        self.order.retain(|other| *other != id);
        self.queued.retain(|other| *other != id);
        self.forget_claim(id);
        self.admit(commands);
    }

    /// Ready steps of a lane, whether or not they may start.
    pub fn ready(&self, lane: Lane) -> usize {
        let slots = self.order.iter().filter_map(|id| self.runs[id.0 as usize].as_ref());
        let running = slots.filter(|slot| slot.run.phase == Phase::Running);
        running.map(|slot| ready_in(&slot.tasks, &slot.run, lane)).sum()
    }

    /// Whether a lane's ready steps are worth waking a worker for: it has to sleep less than they take.
    pub fn is_worth_waking(&self, lane: Lane) -> bool {
        let slots = self.order.iter().filter_map(|id| self.runs[id.0 as usize].as_ref());
        let running = slots.filter(|slot| slot.run.phase == Phase::Running);
        let backlog = |Slot { tasks, run }: &Slot| {
            let queues = tasks.queues().of_lane.get(usize::from(lane)).into_iter().flatten();
            queues.fold(0u64, |sum, &queue| sum.saturating_add(run.queue(queue).backlog()))
        };
        running.map(backlog).fold(0, u64::saturating_add) >= WAKE_NANOSECONDS
    }

    /// Whether steps like this one take no longer than a [bundle](BUNDLE_NANOSECONDS), as far as anybody knows.
    pub fn is_short(&self, run: RunId, step: StepId) -> bool {
        let slot = self.runs.get(run.0 as usize).and_then(Option::as_ref);
        let cost = slot.map_or(0, |Slot { tasks, run }| run.queue(tasks.class(step.0).queue).cost);
        cost > 0 && cost <= BUNDLE_NANOSECONDS
    }

    /// How often a step has been tried and failed.
    pub fn failures(&self, run: RunId, step: StepId) -> u32 {
        self.run(run).map_or(0, |run| run.failures(step))
    }

    /// Steps of a run that aren't done.
    pub fn unfinished(&self, run: RunId) -> usize {
        self.run(run).map_or(0, |run| run.unfinished)
    }

    /// Bytes that an attempt at a step holds, the values that it reads among them.
    pub fn holds(&self, run: RunId, step: StepId) -> u64 {
        let slot = self.runs.get(run.0 as usize).and_then(Option::as_ref);
        slot.map_or(0, |slot| held_by(&slot.tasks, step).into_iter().map(Need::bytes).sum())
    }

    /// The most bytes that a run held at once, by memory.
    pub fn peaks(&self, run: RunId) -> Vec<u64> {
        self.run(run).map_or_else(Vec::new, |run| run.shares.iter().map(|share| share.peak()).collect())
    }

    /// The book.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Lends what a step holds of resources, while it waits for work that it has submitted.
    pub fn lend(&mut self, grant: GrantId) {
        self.ledger.give(&self.grants.lend(grant));
    }

    /// Takes back what was lent; whether it is there.
    pub fn reclaim(&mut self, grant: GrantId) -> bool {
        let wanted = self.grants.lent(grant);
        let is_free = self.ledger.has(wanted);
        if is_free {
            self.ledger.take(wanted);
            self.grants.reclaimed(grant);
        }
        is_free
    }

    fn run(&self, id: RunId) -> Option<&Run> {
        self.runs.get(id.0 as usize)?.as_ref().map(|slot| &slot.run)
    }

    fn slot(&mut self, id: RunId) -> Option<&mut Slot> {
        self.runs.get_mut(id.0 as usize)?.as_mut()
    }

    fn forget_claim(&mut self, id: RunId) {
        if self.claim.as_ref().is_some_and(|claim| claim.run == id) {
            self.claim = None;
        }
    }

    /// Begins queued runs: nested ones that fit, others in the order they came, as far as they fit.
    fn admit(&mut self, commands: &mut Vec<Command>) {
        let mut is_blocked = false;
        for id in self.queued.clone() {
            let Some(Slot { tasks, run }) = self.runs[id.0 as usize].as_mut() else { continue };
            let fits = self.ledger.lacks(tasks).is_none();
            if !fits || (is_blocked && run.standing.depth == 0) {
                is_blocked |= run.standing.depth == 0;
                continue;
            }
            run.shares = self.ledger.open(tasks);
            run.phase = Phase::Begun;
            self.queued.retain(|other| *other != id);
            self.order.push(id);
            commands.push(Command::Begin(id));
        }
        self.sort();
    }

    fn sort(&mut self) {
        let runs = &self.runs;
        let standing = |id: &RunId| {
            let slot = runs[id.0 as usize].as_ref();
            slot.map_or((0, 0.0, 0), |Slot { run, .. }| {
                (run.standing.depth, run.standing.priority, run.running)
            })
        };
        self.order.sort_by(|a, b| {
            let (a, b) = (standing(a), standing(b));
            b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2))
        });
    }

    fn refresh(&mut self) {
        for Slot { tasks, run } in self.runs.iter_mut().flatten() {
            if run.phase == Phase::Running {
                self.ledger.refresh(&mut run.shares, tasks.len());
            }
        }
        self.stale = false;
    }

    fn on_start(&mut self, id: RunId, commands: &mut Vec<Command>) {
        let Some(Slot { tasks, run }) = self.slot(id) else { return };
        if run.phase == Phase::Begun {
            run.start(tasks);
            self.complete_if_over(id, commands);
        }
    }

    fn on_poll(&mut self, lane: Lane, room: u16, only: Option<RunId>, commands: &mut Vec<Command>) {
        if room == 0 {
            return;
        }
        if self.order.len() > 1 {
            self.sort();
        }
        for at in 0..self.order.len() {
            let id = self.order[at];
            if only.is_none_or(|only| only == id) && self.poll_run(id, lane, room, commands) {
                return;
            }
        }
        if self.stale && (self.order.len() > 1 || !self.queued.is_empty()) {
            // What others no longer need may be what was lacking.
            self.refresh();
            self.admit(commands);
        }
    }

    /// Gives out a bundle of one run's steps; whether there were any.
    fn poll_run(&mut self, id: RunId, lane: Lane, room: u16, commands: &mut Vec<Command>) -> bool {
        let Some(Slot { tasks, run }) = self.runs[id.0 as usize].as_mut() else { return false };
        if run.phase != Phase::Running {
            return false;
        }
        let mut picker = Picker { id, tasks, run, ledger: &mut self.ledger, claim: &mut self.claim };
        let Some(mut step) = picker.pick(lane) else { return false };
        let &Class { queue, takes, takes_custom, alone, .. } = tasks.class(step);
        let resources = tasks.resources(step);
        let grant = if takes { self.grants.open(resources) } else { GrantId::NONE };
        picker.ledger.take(resources);
        let mut nanoseconds = 0u32;
        for given in 1..=room {
            picker.met(step);
            start(picker.ledger, tasks, picker.run, step);
            self.grants.add(grant);
            commands.push(Command::Run { run: id, step: StepId(step), grant });
            let cost = picker.run.queue(queue).cost;
            nanoseconds = nanoseconds.saturating_add(cost);
            let is_full = match lane {
                0 => {
                    alone
                        || cost == 0
                        || nanoseconds.saturating_add(cost) > BUNDLE_NANOSECONDS
                        || usize::from(given) > picker.run.ready(queue) / self.workers
                }
                // A device's steps are under way together.
                _ => takes_custom || alone,
            };
            step = picker.run.queue(queue).head;
            if is_full || step == NONE || tasks.resources(step) != resources || !picker.has_memory(step) {
                break;
            }
        }
        true
    }

    fn on_finished(
        &mut self,
        id: RunId,
        step: u32,
        grant: GrantId,
        nanoseconds: u32,
        commands: &mut Vec<Command>,
    ) {
        self.ledger.give(&self.grants.close(grant));
        let Some(Slot { tasks, run }) = self.runs[id.0 as usize].as_mut() else { return };
        let at = step as usize;
        debug_assert_eq!(run.states[at].stage(), StepState::RUNNING);
        let ahead = run.states[at].is_ahead();
        run.states[at] = StepState::DONE.ahead(ahead);
        run.running -= 1;
        run.unfinished -= 1;
        run.queue_mut(tasks.class(step).queue).learn(nanoseconds);
        let need = tasks.need(step);
        self.ledger.finish(&mut run.shares[usize::from(need.memory)], step, need, ahead);
        for operand in tasks.plan().operands(StepId(step)) {
            if run.was_read(tasks, operand.step.0, step) {
                free(&mut self.ledger, tasks, run, operand.step.0, step);
                commands.push(Command::Free { run: id, value: operand.step });
            }
        }
        if run.is_unread(step) {
            free(&mut self.ledger, tasks, run, step, step);
            commands.push(Command::Free { run: id, value: StepId(step) });
        }
        if run.phase == Phase::Running {
            run.release_followers(tasks, step);
        }
        self.stale = true;
        self.complete_if_over(id, commands);
    }

    fn on_failed(
        &mut self,
        id: RunId,
        step: u32,
        grant: GrantId,
        retryable: bool,
        commands: &mut Vec<Command>,
    ) {
        self.ledger.give(&self.grants.close(grant));
        let Some(Slot { tasks, run }) = self.runs[id.0 as usize].as_mut() else { return };
        let (need, at) = (tasks.need(step), step as usize);
        debug_assert_eq!(run.states[at].stage(), StepState::RUNNING);
        let ahead = run.states[at].is_ahead();
        self.ledger.fail(&mut run.shares[usize::from(need.memory)], step, need, ahead, run.head);
        run.states[at] = StepState::BACKING_OFF;
        run.running -= 1;
        run.head = run.head.min(step);
        let failures = run.failures.entry(step).or_insert(0);
        *failures += 1;
        let attempt = *failures;
        self.stale = true;
        let retries = tasks.plan().terms[tasks.class(step).terms as usize].retries;
        if run.phase == Phase::Running {
            if retryable && attempt <= retries {
                commands.push(Command::Retry { run: id, step: StepId(step), attempt });
                return;
            }
            commands.push(Command::Abort { run: id, step: StepId(step) });
        }
        self.stop(id, commands);
    }

    fn on_abandoned(&mut self, id: RunId, step: StepId, grant: GrantId, ticket: u64) {
        let resources = self.grants.close(grant);
        let Some(slot) = self.slot(id) else { return };
        let lost = Lost { memory: held_by(&slot.tasks, step), resources };
        self.ledger.lose(&lost);
        self.lost.insert(ticket, lost);
    }

    /// Ends the runs that can't do with what abandoned attempts leave.
    fn starve(&mut self, commands: &mut Vec<Command>) {
        for at in 0..self.runs.len() {
            let id = RunId(at as u32);
            let Some(Slot { tasks, run }) = self.runs[at].as_ref() else { continue };
            let is_over = matches!(run.phase, Phase::Stopping | Phase::Complete);
            // One that was admitted has its memory in reserve.
            let has_room = run.phase != Phase::Queued || self.ledger.could_hold(tasks);
            if !(is_over || has_room && self.ledger.could_give(tasks)) {
                commands.push(Command::Starve(id));
                self.stop(id, commands);
            }
        }
    }

    fn stop(&mut self, id: RunId, commands: &mut Vec<Command>) {
        let Some(Slot { run, .. }) = self.slot(id) else { return };
        match run.phase {
            // One that hasn't started has nothing to wait for.
            Phase::Queued | Phase::Begun | Phase::Running => run.phase = Phase::Stopping,
            Phase::Stopping | Phase::Complete => {}
        }
        self.queued.retain(|other| *other != id);
        self.forget_claim(id);
        self.complete_if_over(id, commands);
    }

    fn complete_if_over(&mut self, id: RunId, commands: &mut Vec<Command>) {
        let Some(Slot { run, .. }) = self.slot(id) else { return };
        let is_over = match run.phase {
            Phase::Running => run.unfinished == 0,
            Phase::Stopping => run.running == 0,
            Phase::Queued | Phase::Begun | Phase::Complete => false,
        };
        if is_over {
            run.phase = Phase::Complete;
            commands.push(Command::Complete(id));
        }
    }
}

/// Memory that an attempt at a step holds: room of its own, and the values that it reads.
fn held_by(tasks: &Tasks, step: StepId) -> Vec<Need> {
    let value = |operand: &StepOperand| Need { scratch: 0, ..tasks.need(operand.step.0) };
    let read = tasks.plan().operands(step).iter().map(value);
    read.chain([tasks.need(step.0)]).filter(|need| need.bytes() > 0).collect()
}

fn ready_in(tasks: &Tasks, run: &Run, lane: Lane) -> usize {
    let queues = tasks.queues().of_lane.get(usize::from(lane));
    queues.map_or(0, |queues| queues.iter().map(|&queue| run.ready(queue)).sum())
}

/// Starts the head of its queue.
fn start(ledger: &mut Ledger, tasks: &Tasks, run: &mut Run, step: u32) {
    run.take(tasks, step);
    let need = tasks.need(step);
    let overtakes = step != run.head;
    run.states[step as usize] = StepState::RUNNING.ahead(overtakes);
    run.running += 1;
    ledger.start(&mut run.shares[usize::from(need.memory)], step, need, overtakes);
    if !overtakes {
        run.advance(tasks);
    }
}

/// Frees a value that nobody reads any more; `until` is the reader up to which the profile still counts it.
fn free(ledger: &mut Ledger, tasks: &Tasks, run: &mut Run, value: u32, until: u32) {
    let (need, state) = (tasks.need(value), run.states[value as usize]);
    ledger.free(&mut run.shares[usize::from(need.memory)], need, until, state.is_ahead());
    run.states[value as usize] = state.ahead(false);
}
