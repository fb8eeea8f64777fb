//! Workers around the reactor.
//!
//! Workers of the host's lane, one worker for every other device, and one each for the disk's reader and writer call the
//! reactor themselves, behind one lock: report what finished, take what is next. A device's worker takes several steps
//! at once, submits all of them, and waits for the device once. What comes with the beginning and the end of a run is
//! done by whichever worker is there first, outside the lock.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::exec::active::Active;
use crate::exec::engine::{Limits, Outcome};
use crate::exec::error::{ExecError, StepError};
use crate::exec::record::Books;
use crate::exec::timer::Timer;
use crate::exec::work::Work;
use crate::ids::StepId;
use crate::panics;
use crate::reactor::{Command, Event, Ledger, Reactor, RunId, Standing, Tasks};
use crate::steps::{Lane, Plan};
use crate::value::Value;

use super::worker::Worker;

/// The first back-off of a retry; each further one is twice as long, up to [`BACK_OFF_MAX`].
const BACK_OFF: Duration = Duration::from_millis(10);
const BACK_OFF_MAX: Duration = Duration::from_secs(1);

/// How often those who watch are told.
const GLANCE: Duration = Duration::from_millis(50);

/// What workers share.
pub(super) struct Pool {
    core: Mutex<Core>,
    /// One for each lane: its sleeping workers.
    wake: Vec<Condvar>,
    timer: Timer<Due>,
    limits: Limits,
}

/// What the lock protects.
pub(super) struct Core {
    pub(super) reactor: Reactor,
    pub(super) commands: Vec<Command>,
    runs: Vec<Option<Slot>>,
    todo: VecDeque<Todo>,
    /// Sleeping workers of each lane.
    pub(super) idle: Vec<usize>,
    pub(super) is_over: bool,
}

/// A run, as the workers' lock protects it.
pub(super) struct Slot {
    pub(super) active: Arc<Active>,
    pub(super) books: Books,
    failure: Option<ExecError>,
    /// Whether memory is short, so that what is freed has to be gone before it is granted again.
    is_tight: bool,
}

/// What is to be done at the borders of a run.
enum Todo {
    Submit(Arc<Active>),
    Prepare(RunId),
    End(RunId),
}

/// What the timer tells.
enum Due {
    Retry(Weak<Active>, RunId, StepId),
    Glance(Weak<Active>, RunId),
}

impl Pool {
    pub(super) fn new(limits: &Limits) -> Self {
        let lanes = limits.devices.max(1) + 2;
        let ledger = Ledger::new(&limits.memories, &limits.millionths(), limits.threads.max(1));
        Pool {
            core: Mutex::new(Core {
                reactor: Reactor::new(ledger, limits.threads),
                commands: Vec::new(),
                runs: Vec::new(),
                todo: VecDeque::new(),
                idle: vec![0; lanes],
                is_over: false,
            }),
            wake: (0..lanes).map(|_| Condvar::new()).collect(),
            timer: Timer::new(),
            limits: limits.clone(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn sleep<'a>(&self, lane: Lane, mut core: MutexGuard<'a, Core>) -> MutexGuard<'a, Core> {
        core.idle[usize::from(lane)] += 1;
        core = self.wake[usize::from(lane)].wait(core).unwrap_or_else(PoisonError::into_inner);
        core.idle[usize::from(lane)] -= 1;
        core
    }

    /// One sleeper for each lane that has ready steps; each one that starts working wakes the next.
    pub(super) fn wake_others(&self, core: &Core) {
        for (lane, idle) in core.idle.iter().enumerate() {
            if *idle > 0 && ((lane == 0 && !core.todo.is_empty()) || core.reactor.ready(lane as Lane) > 0) {
                self.wake[lane].notify_one();
            }
        }
    }

    pub(super) fn submit(self: &Arc<Self>, active: &Arc<Active>) {
        let mut core = self.lock();
        if core.is_over {
            drop(core);
            return active.done.tell(Err(ExecError::Cancelled));
        }
        core.todo.push_back(Todo::Submit(active.clone()));
        self.wake_others(&core);
    }

    /// Ends all runs and all workers; whoever waits is told `error`.
    pub(super) fn close(&self, error: &ExecError) {
        let mut core = self.lock();
        core.is_over = true;
        let runs: Vec<Arc<Active>> = core.runs.drain(..).flatten().map(|slot| slot.active).collect();
        let waiting = core.todo.drain(..).filter_map(|todo| match todo {
            Todo::Submit(active) => Some(active),
            Todo::Prepare(_) | Todo::End(_) => None,
        });
        let runs: Vec<Arc<Active>> = waiting.chain(runs).collect();
        drop(core);
        self.wake.iter().for_each(Condvar::notify_all);
        self.timer.close();
        runs.iter().for_each(|active| active.done.tell(Err(error.clone())));
    }

    /// Does what is to be done at the borders of runs, outside the lock; whether there was anything.
    pub(super) fn do_next(self: &Arc<Self>, core: &mut MutexGuard<'_, Core>) -> Option<Chore> {
        let todo = core.todo.pop_front()?;
        Some(match todo {
            Todo::Submit(active) => Chore::Submit(active),
            Todo::Prepare(run) => Chore::Prepare(run, core.runs[run.0 as usize].as_ref()?.active.clone()),
            Todo::End(run) => Chore::End(run, Box::new(core.runs[run.0 as usize].take()?)),
        })
    }

    pub(super) fn carry_out(self: &Arc<Self>, chore: Chore) {
        match chore {
            Chore::Submit(active) => self.take_in(active),
            Chore::Prepare(run, active) => self.prepare(run, &active),
            Chore::End(run, slot) => self.end(run, *slot),
        }
    }

    fn take_in(self: &Arc<Self>, active: Arc<Active>) {
        let tasks = Arc::new(Tasks::new(active.plan.clone()));
        let is_tight = tasks
            .demands()
            .iter()
            .zip(&self.limits.memories)
            .any(|(demand, limit)| limit.is_some_and(|limit| demand.total > limit / 2));
        let mut guard = self.lock();
        let core = &mut *guard;
        let standing = Standing { priority: active.options.priority, depth: 0 };
        match core.reactor.submit(tasks, standing, &mut core.commands) {
            Ok(run) => {
                if core.runs.len() <= run.0 as usize {
                    core.runs.resize_with(run.0 as usize + 1, || None);
                }
                let books = Books::new(&active);
                core.runs[run.0 as usize] =
                    Some(Slot { active: active.clone(), books, failure: None, is_tight });
                self.obey(core, &mut Vec::new());
                self.wake_others(core);
                drop(guard);
                self.listen(run, &active);
            }
            Err(too_large) => {
                drop(guard);
                active.done.tell(Err(ExecError::NoRoom {
                    memory: active.plan.memory_names.get(too_large.memory).cloned().unwrap_or_default(),
                    need: too_large.need,
                    left: too_large.left,
                }));
            }
        }
    }

    /// Hears of cancellation, and shows those who watch how far the run is.
    fn listen(self: &Arc<Self>, run: RunId, active: &Arc<Active>) {
        let (pool, handle) = (Arc::downgrade(self), Arc::downgrade(active));
        active.control.on_cancel(move || {
            if let (Some(pool), Some(active)) = (pool.upgrade(), handle.upgrade()) {
                pool.tell(run, &active, Event::Cancel(run));
            }
        });
        if active.control.is_watched() {
            self.timer.set(Instant::now() + GLANCE, Due::Glance(Arc::downgrade(active), run));
        }
    }

    /// Tells the reactor of something that no worker reports; nothing if the run is over.
    fn tell(&self, run: RunId, active: &Arc<Active>, event: Event) {
        let mut guard = self.lock();
        let core = &mut *guard;
        if !core.is_run(run, active) {
            return;
        }
        core.reactor.on_events(&[event], &mut core.commands);
        let mut freed = Vec::new();
        self.obey(core, &mut freed);
        self.wake_others(core);
        drop(guard);
    }

    fn prepare(&self, run: RunId, active: &Arc<Active>) {
        let prepared = panics::caught(|| Work::prepare(&active.plan, &active.devices));
        let prepared = prepared.unwrap_or_else(|message| Err(ExecError::Value { message }));
        let event = match prepared {
            Ok(work) => {
                let _ = active.work.set(work);
                Event::Start(run)
            }
            Err(error) => {
                self.lock().fail(run, error);
                Event::Cancel(run)
            }
        };
        self.tell(run, active, event);
    }

    /// Gives back what is left of a run, and tells whoever waits for it.
    fn end(&self, run: RunId, slot: Slot) {
        let Slot { active, mut books, mut failure, .. } = slot;
        let (unfinished, peaks) = {
            let core = self.lock();
            (core.reactor.unfinished(run), core.reactor.peaks(run))
        };
        let mut results = Vec::new();
        if let Some(work) = active.work.get() {
            if failure.is_none() && unfinished == 0 {
                results = work.take_results();
            }
            if let Err(message) = panics::caught(|| work.clear()) {
                failure.get_or_insert(ExecError::Value { message });
            }
        }
        let mut guard = self.lock();
        let core = &mut *guard;
        core.reactor.release(run, &mut core.commands);
        self.obey(core, &mut Vec::new());
        self.wake_others(core);
        drop(guard);
        active.control.watch(&books.finished);
        active.done.tell(match failure {
            Some(failure) => Err(failure),
            None if unfinished > 0 && active.control.is_cancelled() => Err(ExecError::Cancelled),
            None if unfinished > 0 => Err(ExecError::Stuck { unfinished }),
            None => {
                books.record.peak_bytes = peaks;
                Ok(Outcome { results, record: books.closed(active.started.elapsed()) })
            }
        });
    }

    /// Carries out the reactor's commands that aren't for the polling worker; those stay. Values go to `freed`, to be
    /// dropped outside the lock, but for blocks where memory is short: their bytes may be granted again at once.
    pub(super) fn obey(&self, core: &mut Core, freed: &mut Vec<Arc<Value>>) {
        let Core { commands, runs, todo, .. } = core;
        commands.retain(|command| {
            match *command {
                Command::Run { .. } => return true,
                Command::Free { run, value } => {
                    let slot = runs[run.0 as usize].as_ref();
                    let value = slot.and_then(|slot| slot.active.work.get()?.take(value));
                    let is_tight = slot.is_some_and(|slot| slot.is_tight);
                    freed.extend(value.filter(|value| !is_tight || value.block().is_none()));
                }
                Command::Retry { run, step, attempt } => {
                    let back_off = (BACK_OFF * 2u32.saturating_pow(attempt - 1)).min(BACK_OFF_MAX);
                    if let Some(slot) = &runs[run.0 as usize] {
                        let handle = Arc::downgrade(&slot.active);
                        self.timer.set(Instant::now() + back_off, Due::Retry(handle, run, step));
                    }
                }
                Command::Abort { .. } => {}
                Command::Starve(run) => {
                    if let Some(slot) = &mut runs[run.0 as usize] {
                        slot.failure.get_or_insert(ExecError::Starved);
                    }
                }
                Command::Begin(run) => todo.push_back(Todo::Prepare(run)),
                Command::Complete(run) => todo.push_front(Todo::End(run)),
            }
            false
        });
    }

    /// The timer's thread.
    fn watch_time(self: &Arc<Self>) {
        while let Some(due) = self.timer.next() {
            match due {
                Due::Retry(active, run, step) => {
                    if let Some(active) = active.upgrade() {
                        self.tell(run, &active, Event::RetryDue { run, step });
                    }
                }
                Due::Glance(active, run) => {
                    let Some(active) = active.upgrade() else { continue };
                    let finished = self.lock().slot(run, &active).map(|slot| slot.books.finished.clone());
                    if let Some(finished) = finished {
                        active.control.watch(&finished);
                        self.timer.set(Instant::now() + GLANCE, Due::Glance(Arc::downgrade(&active), run));
                    }
                }
            }
        }
    }
}

/// A piece of work at the border of a run.
pub(super) enum Chore {
    Submit(Arc<Active>),
    Prepare(RunId, Arc<Active>),
    End(RunId, Box<Slot>),
}

impl Core {
    pub(super) fn run(&mut self, run: RunId) -> Option<&mut Slot> {
        self.runs.get_mut(run.0 as usize)?.as_mut()
    }

    fn slot(&mut self, run: RunId, active: &Arc<Active>) -> Option<&mut Slot> {
        self.run(run).filter(|slot| Arc::ptr_eq(&slot.active, active))
    }

    fn is_run(&mut self, run: RunId, active: &Arc<Active>) -> bool {
        self.slot(run, active).is_some()
    }

    /// The run fails; what failed first counts.
    pub(super) fn fail(&mut self, run: RunId, error: ExecError) {
        if let Some(slot) = self.run(run) {
            slot.failure.get_or_insert(error);
        }
    }
}

/// The error of a step's last attempt.
pub(super) fn step_failed(plan: &Plan, id: StepId, attempts: u32, source: StepError) -> ExecError {
    let layer = plan.layer_of(id);
    ExecError::Step {
        layer: layer.name.clone(),
        key: plan.key(id).map_or_else(|_| String::new(), |key| key.to_string()),
        region: layer.is_array().then(|| plan.region(id).to_string()),
        device: plan.device_names[usize::from(plan.step(id).device.0)].clone(),
        attempts,
        source: Box::new(source),
    }
}

/// The threads of an engine, started when a plan first needs them.
#[derive(Default)]
pub(super) struct Threads(Mutex<Started>);

#[derive(Default)]
struct Started {
    /// For each lane, whether its workers are there.
    lanes: Vec<bool>,
    workers: u16,
    handles: Vec<JoinHandle<()>>,
}

impl Threads {
    /// Starts what a plan needs and isn't there.
    pub(super) fn start(&self, pool: &Arc<Pool>, plan: &Plan) -> Result<(), ExecError> {
        let mut started = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if started.lanes.is_empty() {
            started.lanes = vec![false; pool.wake.len()];
            let pool = pool.clone();
            started.spawn("outcrop-timer".to_owned(), move || pool.watch_time())?;
        }
        let used = plan.steps.classes().iter().map(|step| plan.lane_of(step)).chain([0]);
        for lane in used {
            if started.lanes.get(usize::from(lane)).is_none_or(|is_there| *is_there) {
                continue;
            }
            for _ in 0..if lane == 0 { pool.limits.threads.max(1) } else { 1 } {
                let (pool, number) = (pool.clone(), started.workers);
                started.workers += 1;
                started.spawn(format!("outcrop-{number}"), move || {
                    // Steps and destructors are caught one by one; a worker that is gone all the same would leave others
                    // waiting for ever.
                    let worker = Worker::new(pool.clone(), lane, number);
                    if let Err(message) = panics::caught(|| worker.work()) {
                        pool.close(&ExecError::Broken { message });
                    }
                })?;
            }
            started.lanes[usize::from(lane)] = true;
        }
        Ok(())
    }

    pub(super) fn join(&self) {
        let mut started = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = std::thread::current().id();
        for handle in started.handles.drain(..).filter(|handle| handle.thread().id() != own) {
            // A worker's panic was told as the failure of its run.
            let _ = handle.join();
        }
    }
}

impl Started {
    fn spawn(&mut self, name: String, body: impl FnOnce() + Send + 'static) -> Result<(), ExecError> {
        let handle = std::thread::Builder::new().name(name).spawn(body);
        self.handles.push(handle.map_err(|error| ExecError::Start { message: error.to_string() })?);
        Ok(())
    }
}
