//! A worker: takes steps of its lane, does them, reports.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::device::contract::DeviceError;
use crate::exec::active::Active;
use crate::exec::brief::Brief;
use crate::exec::control::StepEvent;
use crate::exec::error::{ExecError, StepError};
use crate::exec::nested::Inside;
use crate::exec::pool::{Core, Pool};
use crate::exec::posts::{Post, grace};
use crate::exec::trace::Traced;
use crate::ids::StepId;
use crate::machine::DeviceId;
use crate::panics;
use crate::reactor::{Command, Event, GrantId, RunId};
use crate::steps::{Lane, TransferEdge};
use crate::task::{self, Current, Entered};
use crate::value::Value;

/// Steps of the host's lane that a worker takes at most.
const HOST_BATCH: u16 = 64;
/// Steps that a device's worker submits before it waits for the device.
const DEVICE_BATCH: u16 = 16;

pub(super) struct Worker {
    pool: Arc<Pool>,
    lane: Lane,
    number: u16,
    /// The run that the steps below are of, if any.
    active: Option<Arc<Active>>,
    run: RunId,
    steps: Vec<(StepId, GrantId)>,
    attempts: Vec<Attempt>,
    /// The operands of a call under way.
    operands: Vec<Value>,
    /// Values to let go of, outside the lock.
    freed: Vec<Arc<Value>>,
    /// The only run whose steps it does, and until when it works: for a step that waits for it.
    only: Option<Arc<Active>>,
    /// The ticket of the attempt under way, if it has a timeout.
    ticket: Option<u64>,
    /// Whether the steps at hand are short, and it is counted among those who will be back in no time.
    is_brief: Option<Brief>,
    /// What this thread says that it is in the midst of.
    inside: Option<Arc<Inside>>,
    entered: Option<Entered>,
}

/// One attempt at a step.
struct Attempt {
    step: StepId,
    grant: GrantId,
    error: Option<Box<StepError>>,
    started: Instant,
    busy: Duration,
}

impl Worker {
    pub(super) fn new(pool: Arc<Pool>, lane: Lane, number: u16) -> Self {
        Worker {
            pool,
            lane,
            number,
            active: None,
            run: RunId(0),
            steps: Vec::new(),
            attempts: Vec::new(),
            operands: Vec::new(),
            freed: Vec::new(),
            only: None,
            ticket: None,
            is_brief: None,
            inside: None,
            entered: None,
        }
    }

    /// One that does steps of `child` until that is over.
    pub(super) fn helping(pool: Arc<Pool>, lane: Lane, number: u16, child: Arc<Active>) -> Self {
        Worker { only: Some(child), ..Worker::new(pool, lane, number) }
    }

    /// Until the engine ends.
    pub(super) fn work(mut self) {
        while self.exchange() {
            let Some(active) = self.active.clone() else { continue };
            let mut started = Instant::now();
            self.enter(&active, started);
            for (step, grant) in self.steps.drain(..) {
                let lost = self.pool.lost(self.lane);
                let error = match lost {
                    Some(message) => gone(&active, step, message),
                    None => attempt(&active, step, &mut self.operands),
                };
                let error = error.err().map(Box::new);
                let ended = Instant::now();
                let busy = ended - started;
                self.attempts.push(Attempt { step, grant, error, started, busy });
                started = ended;
            }
            let is_there = self.is_device() && self.pool.lost(self.lane).is_none();
            if is_there && !self.attempts.is_empty() {
                self.synchronize(&active);
            }
            self.judge(&active);
        }
    }

    /// Says on this thread what it is in the midst of.
    fn enter(&mut self, active: &Arc<Active>, started: Instant) {
        let is_same = self.inside.as_ref().is_some_and(|inside| Arc::ptr_eq(&inside.active, active));
        let limit = match &self.steps[..] {
            [(step, _)] if self.ticket.is_some() => active.plan.terms_of(*step).timeout,
            _ => None,
        };
        if !is_same || limit.is_some() || self.entered.as_ref().is_some_and(Entered::has_limit) {
            self.entered = None;
            let (lane, worker) = (self.lane, self.number);
            let grant = AtomicU32::new(GrantId::NONE.0);
            let inside = Inside { pool: self.pool.clone(), active: active.clone(), lane, worker, grant };
            let inside = Arc::new(inside);
            self.inside = Some(inside.clone());
            let limit = limit.map(|limit| (started + limit, limit));
            let cancelled = active.control.flag().clone();
            self.entered = Some(task::enter(Current { cancelled, limit, owner: inside }));
        }
        if let (Some(inside), Some((_, grant))) = (&self.inside, self.steps.first()) {
            inside.grant.store(grant.0, Ordering::Relaxed);
        }
    }

    fn leave(&mut self) {
        self.entered = None;
        self.inside = None;
        self.active = None;
    }

    /// Whether the lane is that of a device whose work is under way when the call returns.
    fn is_device(&self) -> bool {
        self.lane != 0 && usize::from(self.lane) < self.pool.limits().devices
    }

    /// A late error of a batch is every attempt's: nobody knows whose it was.
    fn synchronize(&mut self, active: &Active) {
        let started = Instant::now();
        let Some(work) = active.work.get() else { return };
        if let Err(error) = caught(|| work.synchronize(DeviceId(self.lane))) {
            self.attempts.iter_mut().for_each(|attempt| attempt.error = Some(Box::new(error.clone())));
        }
        let share = started.elapsed() / self.attempts.len() as u32;
        self.attempts.iter_mut().for_each(|attempt| attempt.busy += share);
    }

    /// Holds attempts against their timeouts, and tells the observer, outside the lock.
    fn judge(&mut self, active: &Active) {
        for attempt in &mut self.attempts {
            let limit = active.plan.terms_of(attempt.step).timeout;
            // A function that was told to stop says so in its own words.
            let is_plain = matches!(attempt.error.as_deref(), None | Some(StepError::Task(_)));
            if let Some(limit) = limit.filter(|limit| is_plain && attempt.busy > *limit) {
                attempt.error = Some(Box::new(StepError::Timeout { took: attempt.busy, limit }));
            }
            if active.control.is_observed() {
                let failures = self.pool.lock().reactor.failures(self.run, attempt.step);
                let outcome = attempt.error.as_deref().map_or(Ok(()), Err);
                let event = StepEvent::new(&active.plan, attempt.step, failures + 1, attempt.busy, outcome);
                active.control.observe(&event);
            }
        }
    }

    /// Reports attempts, and takes steps; sleeps while there are none. `false` at the end.
    fn exchange(&mut self) -> bool {
        let room = match self.lane {
            0 => HOST_BATCH,
            _ if self.is_device() => DEVICE_BATCH,
            _ => 1,
        };
        let pool = self.pool.clone();
        let mut guard = pool.lock();
        let mut news = !self.attempts.is_empty();
        guard.brief.back(self.is_brief.take());
        if !self.report(&mut guard) {
            pool.wake_others(&guard);
            return false;
        }
        loop {
            let core = &mut *guard;
            pool.obey(core, &mut self.freed);
            if core.is_over || self.only.as_ref().is_some_and(|only| only.done.is_told()) {
                return false;
            }
            if let Some(todo) = core.todo.pop_front() {
                drop(guard);
                self.let_go();
                pool.carry_out(todo);
                guard = pool.lock();
                continue;
            }
            let core = &mut *guard;
            // Two who take turns at short steps spend more on the lock than one spends on all of them.
            let is_left_to_others =
                self.only.is_none() && core.brief.any(self.lane) && !core.reactor.is_worth_waking(self.lane);
            let room = if is_left_to_others { 0 } else { room };
            let only = self.only.as_ref().map(|only| core.run_of(only).unwrap_or(RunId(u32::MAX)));
            core.reactor.on_events(&[Event::Poll { lane: self.lane, room, only }], &mut core.commands);
            self.take(core);
            if !core.commands.is_empty() {
                // A poll can let another run begin.
                continue;
            }
            // Whoever changed nothing wakes nobody: two sleepers would wake each other for ever.
            if news || !self.steps.is_empty() {
                // One that may be given up may never be back.
                let is_watched = self.ticket.is_some();
                if self.only.is_none() && !is_watched && self.steps_are_short(core) {
                    self.is_brief = Some(core.brief.away(self.lane));
                }
                pool.wake_beside(core, core.brief.any(self.lane).then_some(self.lane));
            }
            if !self.steps.is_empty() {
                drop(guard);
                self.let_go();
                return true;
            }
            news = false;
            if self.active.is_some() || !self.freed.is_empty() {
                // Nothing of a run is kept while asleep; and dropping its last handle is nothing for under the lock.
                drop(guard);
                self.let_go();
                self.leave();
                guard = pool.lock();
                continue;
            }
            guard = match self.only {
                Some(_) => pool.sleep_as_helper(guard),
                None => pool.sleep(self.lane, guard),
            };
        }
    }

    /// Whether the steps at hand will be done before anybody who is woken for others begins.
    fn steps_are_short(&self, core: &Core) -> bool {
        self.steps.first().is_some_and(|(step, _)| core.reactor.is_short(self.run, *step))
    }

    /// Takes the steps that the reactor gave out.
    fn take(&mut self, core: &mut Core) {
        let Some(&Command::Run { run, .. }) = core.commands.first() else { return };
        let Some(slot) = core.run(run) else { return };
        if self.run != run || self.active.as_ref().is_none_or(|active| !Arc::ptr_eq(active, &slot.active)) {
            self.active = Some(slot.active.clone());
            self.run = run;
        }
        let steps = &mut self.steps;
        core.commands.retain(|command| match *command {
            Command::Run { step, grant, .. } => {
                steps.push((step, grant));
                false
            }
            _ => true,
        });
        self.ticket = self.post().map(|post| self.pool.watch_over(core, post));
    }

    /// What is waited for no longer than it may take: a step with a timeout, and whatever a device does.
    fn post(&self) -> Option<Post> {
        let (active, &(first, _)) = (self.active.as_ref()?, self.steps.first()?);
        let (started, is_device) = (Instant::now(), self.is_device());
        let timeout = active.plan.terms_of(first).timeout;
        let limit = timeout.or(self.pool.limits().device_timeout.filter(|_| is_device))?;
        // Steps with a timeout come alone.
        let most = timeout.map_or(limit * self.steps.len() as u32, |limit| limit + grace(limit));
        Some(Post {
            active: active.clone(),
            run: self.run,
            steps: self.steps.clone(),
            limit,
            started,
            due: started + most,
            worker: self.number,
            lane: self.lane,
            is_device,
        })
    }

    /// Lets go of values; a destructor that panics fails the run.
    fn let_go(&mut self) {
        let freed = &mut self.freed;
        if let Err(message) = panics::caught(|| freed.clear()) {
            self.freed.clear();
            let mut core = self.pool.lock();
            core.fail(self.run, ExecError::Value { message });
            let core = &mut *core;
            core.reactor.on_events(&[Event::Cancel(self.run)], &mut core.commands);
        }
    }

    /// Reports attempts. `false` when the last one had been given up: another worker has taken this one's place.
    fn report(&mut self, core: &mut Core) -> bool {
        if let Some(ticket) = self.ticket.take()
            && core.posts.close(ticket)
        {
            for ticket in ticket..ticket + self.attempts.len() as u64 {
                core.reactor.on_events(&[Event::Found { ticket }], &mut core.commands);
            }
            self.attempts.clear();
            return false;
        }
        let is_device = self.is_device();
        let Some(active) = self.active.as_ref() else { return true };
        let run = self.run;
        for attempt in self.attempts.drain(..) {
            let Some(slot) = core.run(run) else { return true };
            let plan = &active.plan;
            let step = plan.step(attempt.step);
            let nanoseconds = attempt.busy.as_nanos().min(u128::from(u32::MAX)) as u32;
            slot.books.count(step.layer, attempt.busy, attempt.error.is_none());
            if let Some(trace) = &mut slot.books.record.trace {
                trace.push(Traced {
                    step: attempt.step,
                    worker: self.number,
                    start: attempt.started.duration_since(active.started).as_nanos() as u64,
                    nanoseconds,
                    failed: attempt.error.is_some(),
                });
            }
            let Some(error) = attempt.error else {
                if step.kind.is_copy() {
                    let from = plan.step(plan.operands(attempt.step)[0].step).memory;
                    let edge = TransferEdge { from, to: step.memory, count: 1, bytes: step.bytes };
                    slot.books.record.count_transfer(edge);
                }
                let event = Event::Finished { run, step: attempt.step, grant: attempt.grant, nanoseconds };
                core.reactor.on_events(&[event], &mut core.commands);
                continue;
            };
            // A late error comes after the value was kept; the ledger is about to take its bytes back.
            self.freed.extend(active.work.get().and_then(|work| work.take(attempt.step)));
            let why = error.failure();
            if let (StepError::Device(DeviceError::Lost { message, .. }), true) = (&*error, is_device) {
                self.pool.lose(self.lane, message.clone());
            }
            let attempts = core.reactor.failures(run, attempt.step) + 1;
            let event = Event::Failed { run, step: attempt.step, grant: attempt.grant, why };
            core.reactor.on_events(&[event], &mut core.commands);
            core.failed(run, attempt.step, attempts, *error);
        }
        true
    }
}

fn attempt(active: &Active, step: StepId, operands: &mut Vec<Value>) -> Result<(), StepError> {
    let problem = "the run has nothing to work with".to_owned();
    let work = active.work.get().ok_or(StepError::Bug { problem })?;
    let result = caught(|| work.run(step, operands));
    // Also after a panic: a worker that sleeps holds no values.
    result.and(caught(|| {
        operands.clear();
        Ok(())
    }))
}

/// Nobody asks a device that is gone.
fn gone(active: &Active, step: StepId, message: &str) -> Result<(), StepError> {
    let device = active.plan.device_names[usize::from(active.plan.step(step).device.0)].clone();
    Err(DeviceError::Lost { device, message: message.to_owned() }.into())
}

/// A panic as an error: a worker that is gone would leave its steps running for ever.
fn caught(work: impl FnOnce() -> Result<(), StepError>) -> Result<(), StepError> {
    panics::caught(work).unwrap_or_else(|message| Err(StepError::Panic { message }))
}
