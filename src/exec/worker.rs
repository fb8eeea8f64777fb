//! A worker: takes steps of its lane, does them, reports.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::device::contract::DeviceError;
use crate::exec::active::Active;
use crate::exec::batch::{Attempt, Batch, End};
use crate::exec::brief::Brief;
use crate::exec::control::StepEvent;
use crate::exec::error::{ExecError, StepError};
use crate::exec::nested::Inside;
use crate::exec::pool::{Core, Pool};
use crate::exec::posts::{Post, grace};
use crate::panics;
use crate::parts::Crew;
use crate::reactor::{Command, Event, GrantId, RunId};
use crate::steps::Lane;
use crate::sync::{AtomicU32, MutexGuard, now};
use crate::task::{self, Current, Entered};
use crate::value::Value;

/// Steps that a worker of the host's or the disk's takes at most.
const BATCH: u16 = 64;
/// Steps that a device's worker submits before it waits for the device.
const DEVICE_BATCH: u16 = 16;

pub(super) struct Worker {
    pool: Arc<Pool>,
    lane: Lane,
    number: u16,
    /// The run that the steps below are of, if any.
    active: Option<Arc<Active>>,
    run: RunId,
    batch: Batch,
    /// Values to let go of, outside the lock.
    freed: Vec<Value>,
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

impl Worker {
    pub(super) fn new(pool: Arc<Pool>, lane: Lane, number: u16) -> Self {
        Worker {
            pool,
            lane,
            number,
            active: None,
            run: RunId(0),
            batch: Batch::default(),
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
            self.enter(&active);
            let lane = self.lane;
            self.batch.run(&active, || self.pool.lost(lane));
            let is_there = self.is_device() && self.pool.lost(lane).is_none();
            if is_there && !self.batch.attempts.is_empty() {
                self.synchronize(&active);
            }
            self.judge(&active);
        }
    }

    /// Says on this thread what it is in the midst of.
    fn enter(&mut self, active: &Arc<Active>) {
        let is_same = self.inside.as_ref().is_some_and(|inside| Arc::ptr_eq(&inside.active, active));
        let limit = match &self.batch.steps[..] {
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
            let limit = limit.map(|limit| (now() + limit, limit));
            let cancelled = active.control.flag().clone();
            let has_crew = lane == 0 && self.pool.limits().threads > 1;
            let crew = has_crew.then(|| -> Arc<dyn Crew> { inside.clone() });
            self.entered = Some(task::enter(Current { cancelled, limit, owner: inside, crew }));
        }
        if let (Some(inside), Some((_, grant))) = (&self.inside, self.batch.steps.first()) {
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
        self.pool.lanes().of(self.lane).device().is_some()
    }

    /// A late error of a batch is every attempt's: nobody knows whose it was.
    fn synchronize(&mut self, active: &Active) {
        let start = active.nanoseconds();
        let Some(work) = active.work.get() else { return };
        let synchronized = panics::caught(|| work.synchronize(self.pool.lanes().of(self.lane)));
        let attempts = &mut self.batch.attempts;
        if let Err(error) = synchronized.unwrap_or_else(|message| Err(StepError::Panic { message })) {
            attempts.iter_mut().for_each(|attempt| attempt.end = End::Failed(Box::new(error.clone())));
        }
        let share = (active.nanoseconds() - start) / attempts.len() as u64;
        attempts.iter_mut().for_each(|attempt| attempt.busy += share);
    }

    /// Holds attempts against their timeouts, and tells the observer, outside the lock.
    fn judge(&mut self, active: &Active) {
        let is_observed = active.control.is_observed();
        if self.ticket.is_none() && !is_observed {
            return;
        }
        // Steps with a timeout come alone.
        let late = self.entered.as_ref().and_then(Entered::late);
        for attempt in &mut self.batch.attempts {
            // Whoever was told to stop says so in its own words.
            let is_plain = matches!(
                attempt.error(),
                None | Some(StepError::Task(_) | StepError::Device(DeviceError::Stopped(_)))
            );
            if let Some((took, limit)) = late.filter(|_| is_plain) {
                attempt.end = End::Failed(Box::new(StepError::Timeout { took, limit }));
            }
            if is_observed && !matches!(attempt.end, End::Untried) {
                let failures = self.pool.lock().reactor.failures(self.run, attempt.step);
                let outcome = attempt.error().map_or(Ok(()), Err);
                let took = Duration::from_nanos(attempt.busy);
                let event = StepEvent::new(&active.plan, attempt.step, failures + 1, took, outcome);
                active.control.observe(&event);
            }
        }
    }

    /// Reports attempts, and takes steps; sleeps while there are none. `false` at the end.
    fn exchange(&mut self) -> bool {
        let room = if self.is_device() { DEVICE_BATCH } else { BATCH };
        let pool = self.pool.clone();
        let mut guard = pool.lock();
        let mut has_lingered = self.batch.attempts.is_empty();
        let mut news = !self.batch.attempts.is_empty();
        guard.brief.back(self.is_brief.take());
        if !self.report(&mut guard) {
            pool.wake_others(&mut guard);
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
            if news || !self.batch.steps.is_empty() {
                // One that may be given up may never be back.
                let is_watched = self.ticket.is_some();
                if self.only.is_none() && !is_watched && self.steps_are_short(core) {
                    self.is_brief = Some(core.brief.away(self.lane));
                }
                pool.wake_beside(core, core.brief.any(self.lane).then_some(self.lane));
            }
            if !self.batch.steps.is_empty() {
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
            guard = self.idle(&pool, guard, &mut has_lingered);
        }
    }

    /// There are no steps: takes a part of somebody else's, or sleeps until there may be something to do.
    fn idle<'a>(
        &self,
        pool: &'a Pool,
        core: MutexGuard<'a, Core>,
        has_lingered: &mut bool,
    ) -> MutexGuard<'a, Core> {
        let offered = if self.lane == 0 { core.offered(self.only.as_ref()) } else { None };
        if let Some(work) = offered {
            drop(core);
            work.take(self.number);
            return pool.lock();
        }
        match self.only {
            Some(_) => pool.sleep_as_helper(core),
            // The disk's workers are more than there are cores for: looking takes one from others.
            None if (self.lane == 0 || self.is_device()) && !std::mem::replace(has_lingered, true) => {
                pool.linger(self.lane, core)
            }
            None => pool.sleep(self.lane, core),
        }
    }

    /// Whether the steps at hand will be done before anybody who is woken for others begins.
    fn steps_are_short(&self, core: &Core) -> bool {
        self.batch.steps.first().is_some_and(|(step, _)| core.reactor.is_short(self.run, *step))
    }

    /// Takes the steps that the reactor gave out.
    fn take(&mut self, core: &mut Core) {
        let Some(&Command::Run { run, .. }) = core.commands.first() else { return };
        let Some(slot) = core.run(run) else { return };
        if self.run != run || self.active.as_ref().is_none_or(|active| !Arc::ptr_eq(active, &slot.active)) {
            self.active = Some(slot.active.clone());
            self.run = run;
        }
        let Core { commands, runs, .. } = core;
        let values = runs[run.0 as usize].as_ref().map(|slot| (&slot.values, &slot.active.plan));
        let Some((values, plan)) = values else { return };
        commands.retain(|command| match *command {
            Command::Run { step, grant, .. } => {
                self.batch.push(plan, values, step, grant);
                false
            }
            _ => true,
        });
        self.ticket = self.post().map(|post| self.pool.watch_over(core, post));
    }

    /// What is waited for no longer than it may take: a step with a timeout, and whatever a device does.
    fn post(&self) -> Option<Post> {
        let (active, &(first, _)) = (self.active.as_ref()?, self.batch.steps.first()?);
        let (started, is_device) = (now(), self.is_device());
        let timeout = active.plan.terms_of(first).timeout;
        let limit = timeout.or(self.pool.limits().device_timeout.filter(|_| is_device))?;
        // Steps with a timeout come alone.
        let most = timeout.map_or(limit * self.batch.steps.len() as u32, |limit| limit + grace(limit));
        Some(Post {
            active: active.clone(),
            run: self.run,
            steps: self.batch.steps.clone(),
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
        if let Err(message) = panics::drop_all(&mut self.freed) {
            let mut core = self.pool.lock();
            core.fail(self.run, ExecError::Value { message });
            let core = &mut *core;
            core.reactor.on_events(&[Event::Cancel(self.run)], &mut core.commands);
        }
    }

    /// Reports attempts. `false` when the last one had been given up: another worker has taken this one's place, and
    /// what was made is nobody's.
    fn report(&mut self, core: &mut Core) -> bool {
        if let Some(ticket) = self.ticket.take()
            && core.posts.close(ticket)
        {
            for ticket in ticket..ticket + self.batch.attempts.len() as u64 {
                core.reactor.on_events(&[Event::Found { ticket }], &mut core.commands);
            }
            return false;
        }
        let Some(active) = self.active.clone() else { return true };
        let run = self.run;
        let mut attempts = std::mem::take(&mut self.batch.attempts);
        for attempt in attempts.drain(..) {
            let Core { reactor, commands, runs, .. } = core;
            let Some(slot) = runs.get_mut(run.0 as usize).and_then(Option::as_mut) else { return true };
            let Attempt { step, grant, end, start, busy } = attempt;
            let failed = match end {
                End::Made(value) => {
                    slot.note(step, self.number, (start, busy), false);
                    value.into_iter().for_each(|value| slot.values.keep(&active.plan, step, value));
                    let nanoseconds = busy.min(u64::from(u32::MAX)) as u32;
                    reactor.on_events(&[Event::Finished { run, step, grant, nanoseconds }], commands);
                    continue;
                }
                End::Untried => {
                    if active.control.is_cancelled() {
                        // Whoever cancels is about to tell; until then it would be given out over and over.
                        reactor.on_events(&[Event::Cancel(run)], commands);
                    }
                    reactor.on_events(&[Event::Untried { run, step, grant }], commands);
                    continue;
                }
                End::Failed(error) => error,
            };
            slot.note(step, self.number, (start, busy), true);
            let device = self.pool.lanes().of(self.lane).device();
            if let (StepError::Device(DeviceError::Lost { message, .. }), Some(device)) = (&*failed, device) {
                self.pool.lose(device, message.clone());
            }
            let tries = reactor.failures(run, step) + 1;
            reactor.on_events(&[Event::Failed { run, step, grant, why: failed.failure() }], commands);
            core.failed(run, step, tries, *failed);
        }
        self.batch.attempts = attempts;
        true
    }
}
