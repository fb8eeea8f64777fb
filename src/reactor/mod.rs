//! The pure state machine of execution: events in, commands out, no thread, no clock.
//!
//! It knows which steps of which runs wait for what, which are ready, what may start, and when values are no longer
//! needed. Equal events give equal commands. No allocation for a step in steady state.
//!
//! - [`tasks`]: what it knows of a plan. `run`: the state of a run. [`ledger`]: the book of memory and resources, with
//!   the rule that keeps plans from getting stuck.
//! - [`event`]: what it hears and says. `pick`, `bundle`: what starts next. `failing`: failed attempts, and those that
//!   were given up. [`bitmap`], [`profile`]: the structures below.
//!
//! **Which step next.** A worker of a lane gets the ready step that comes first in its plan's order among those that
//! may start; priority is settled in that order. Steps are queued by what they need, so what doesn't fit never holds up
//! what needs other things. One that is overtaken too often by others that take what it lacks gets a claim on it. Of
//! several runs the deeper nested one comes first, then the one of higher priority, then the one with fewer steps
//! under way.
//!
//! **Memory that gives out.** A step that its device had no memory for, whatever the book says, is tried again when
//! nothing else of its run is under way, which is none of its retries. If it fails alone too, its run ends; whoever
//! planned it may ask less of the device.
//!
//! **Bundles.** Short steps are given out together, to run one after the other in their worker, under one grant of
//! resources: steps of one queue, never so many that another worker goes without, and steps that wait for nothing but
//! earlier ones of the bundle. Together they take no more than [`BUNDLE_NANOSECONDS`] (the disk's ten times that), and
//! hold no more than what may run ahead. When one fails, those that wait for it go back untried.

pub mod bitmap;
mod bundle;
pub mod event;
mod failing;
mod grants;
pub mod ledger;
#[cfg(test)]
mod model;
mod pick;
pub mod profile;
mod questions;
mod run;
pub mod tasks;

use std::collections::HashMap;
use std::sync::Arc;

use crate::ids::StepId;
use crate::steps::Lane;
use bundle::Followers;

use failing::Lost;

pub use event::{Command, Event, Failure, GrantId, RunId};
use grants::Grants;
pub use ledger::Ledger;
use pick::Claim;
pub use run::Standing;
use run::{Phase, Run, StepState};
pub use tasks::{Demand, Need, Tasks};

/// How long the steps of a bundle take together, by what earlier ones took.
pub const BUNDLE_NANOSECONDS: u32 = 20_000;

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
    /// To be used again, by each bundle in the making.
    followers: Followers,
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
            followers: Followers::new(),
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
        self.ledger.extend(tasks.demands().len());
        if !self.ledger.could_give(&tasks) {
            return Err(Refusal::Resources);
        }
        if self.ledger.lacks(&tasks).is_some() {
            self.refresh();
        }
        let is_nested = standing.depth > 0;
        let lacks = if is_nested { self.ledger.lacks(&tasks) } else { self.ledger.lacks_alone(&tasks) };
        if let Some((memory, need, left)) = lacks {
            return Err(Refusal::Memory { memory, need, left });
        }
        // What attempts of a run that is over still hold goes by its place.
        let is_free = |at: &usize| {
            self.runs[*at].is_none() && self.lost.values().all(|lost| lost.run.0 as usize != *at)
        };
        let at = (0..self.runs.len()).find(is_free).unwrap_or(self.runs.len());
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
                Event::Untried { run, step, grant } => self.on_untried(run, step.0, grant, commands),
                Event::Failed { run, step, grant, why } => self.on_failed(run, step.0, grant, why, commands),
                Event::Abandoned { run, step, grant, ticket, retryable } => {
                    self.on_abandoned(run, step, grant, ticket, retryable, commands);
                }
                Event::Found { ticket } => self.on_found(ticket, commands),
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
        run.unbundle(tasks, step);
        let ahead = run.states[at].is_ahead();
        run.states[at] = StepState::DONE.ahead(ahead);
        run.running -= 1;
        run.unfinished -= 1;
        if !run.squeezed.is_empty() {
            run.squeezed.retain(|&other| other != step);
        }
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

/// Starts the head of its queue, or the step that is tried alone, which is in none.
fn start(ledger: &mut Ledger, tasks: &Tasks, run: &mut Run, step: u32) {
    if run.states[step as usize].stage() == StepState::READY {
        run.take(tasks, step);
    }
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
