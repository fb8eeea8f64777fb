//! Workers around the reactor.
//!
//! Workers of the host's lane, and one worker for every [other lane](crate::steps::Lanes) (a device's kernels, large copies
//! to it and from it, the disk's writer and its reader), call the reactor themselves, behind one lock: report what finished,
//! take what is next. A device's worker takes several steps at once, submits all of them, and waits for the device once.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock, PoisonError, TryLockError};
use std::time::Duration;

use crate::exec::active::Active;
use crate::exec::brief;
use crate::exec::crew::{Help, Offer};
use crate::exec::due::Due;
use crate::exec::engine::Limits;
use crate::exec::error::{ExecError, StepError};
use crate::exec::finished::Trouble;
use crate::exec::posts::Posts;
use crate::exec::record::Books;
use crate::exec::threads::Threads;
use crate::exec::timer::Timer;
use crate::exec::trace::Traced;
use crate::exec::values::Values;
use crate::ids::StepId;
use crate::machine::DeviceId;
use crate::panics;
use crate::reactor::{Command, Event, Ledger, Reactor, RunId};
use crate::steps::{Lane, Lanes, Plan, TransferEdge};
use crate::sync::{self, AtomicBool, Condvar, Mutex, MutexGuard, now, pause};
use crate::value::Value;

/// The first back-off of a retry; each further one is twice as long, up to [`BACK_OFF_MAX`].
const BACK_OFF: Duration = Duration::from_millis(10);
const BACK_OFF_MAX: Duration = Duration::from_secs(1);

/// What workers share.
pub(super) struct Pool {
    core: Mutex<Core>,
    /// One for each lane: its sleeping workers.
    wake: Vec<Condvar>,
    /// For each lane, whether there is something for those that [linger](Pool::linger).
    news: Vec<AtomicBool>,
    /// How often a thread looks before it sleeps: never where it would keep others from their core.
    patience: u32,
    /// Steps that wait for work of their own sleep here.
    wake_helpers: Condvar,
    pub(super) timer: Timer<Due>,
    limits: Limits,
    pub(super) threads: Threads,
    /// For each device that is gone, what was said of it.
    lost: Vec<OnceLock<String>>,
}

/// What the lock protects.
pub(super) struct Core {
    pub(super) reactor: Reactor,
    pub(super) commands: Vec<Command>,
    pub(super) runs: Vec<Option<Slot>>,
    pub(super) todo: VecDeque<Todo>,
    /// Sleeping workers of each lane.
    pub(super) idle: Vec<usize>,
    /// Those that are about to sleep, and still look.
    lingering: Vec<usize>,
    pub(super) brief: brief::Workers,
    /// Sleeping steps that wait for work of their own.
    helpers: usize,
    pub(super) posts: Posts,
    /// Steps under way whose parts may be taken.
    pub(super) offers: Vec<Offer>,
    /// Whether the timer is set for a look at the runs.
    pub(super) is_looked_at: bool,
    pub(super) is_over: bool,
}

/// A run, as the workers' lock protects it.
pub(super) struct Slot {
    pub(super) active: Arc<Active>,
    pub(super) books: Books,
    /// Parts of steps that aren't reported yet.
    pub(super) help: Vec<Help>,
    pub(super) values: Values,
    pub(super) failure: Option<ExecError>,
    /// The device that the failure shows to be unable, if so.
    pub(super) trouble: Option<(DeviceId, Trouble)>,
    /// Whether memory is short, so that what is freed has to be gone before it is granted again.
    pub(super) is_tight: bool,
}

/// What is to be done at the border of a run, outside the lock.
pub(super) enum Todo {
    Submit(Arc<Active>),
    Prepare(RunId, Arc<Active>),
    End(RunId, Box<Slot>),
}

impl Pool {
    pub(super) fn new(limits: &Limits) -> Self {
        let lanes = Lanes::new(limits.devices).count();
        let ledger = Ledger::new(&limits.memories, &limits.millionths(), limits.threads.max(1));
        Pool {
            core: Mutex::new(Core {
                reactor: Reactor::new(ledger, limits.threads),
                commands: Vec::new(),
                runs: Vec::new(),
                todo: VecDeque::new(),
                idle: vec![0; lanes],
                lingering: vec![0; lanes],
                brief: brief::Workers::new(lanes),
                helpers: 0,
                posts: Posts::default(),
                offers: Vec::new(),
                is_looked_at: false,
                is_over: false,
            }),
            wake: (0..lanes).map(|_| Condvar::new()).collect(),
            news: (0..lanes).map(|_| AtomicBool::new(false)).collect(),
            patience: if limits.threads > 1 && limits.threads <= sync::cores() { sync::PATIENCE } else { 0 },
            wake_helpers: Condvar::new(),
            timer: Timer::new(),
            limits: limits.clone(),
            threads: Threads::default(),
            lost: (0..limits.devices.max(1)).map(|_| OnceLock::new()).collect(),
        }
    }

    /// Workers hold it for microseconds: waiting a moment takes less than sleeping does.
    pub(super) fn lock(&self) -> MutexGuard<'_, Core> {
        for _ in 0..self.patience {
            match self.core.try_lock() {
                Ok(core) => return core,
                Err(TryLockError::Poisoned(core)) => return core.into_inner(),
                Err(TryLockError::WouldBlock) => pause(),
            }
        }
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks for steps for a moment, before it [sleeps](Pool::sleep): whoever has some then need not wake anybody.
    pub(super) fn linger<'a>(&'a self, lane: Lane, mut core: MutexGuard<'a, Core>) -> MutexGuard<'a, Core> {
        let news = &self.news[usize::from(lane)];
        news.store(false, Ordering::Relaxed);
        core.lingering[usize::from(lane)] += 1;
        drop(core);
        let mut looks = 0..self.patience;
        while !news.load(Ordering::Relaxed) && looks.next().is_some() {
            pause();
        }
        core = self.lock();
        core.lingering[usize::from(lane)] -= 1;
        core
    }

    pub(super) fn sleep<'a>(&self, lane: Lane, mut core: MutexGuard<'a, Core>) -> MutexGuard<'a, Core> {
        core.idle[usize::from(lane)] += 1;
        core = self.wake[usize::from(lane)].wait(core).unwrap_or_else(PoisonError::into_inner);
        core.idle[usize::from(lane)] -= 1;
        core
    }

    /// Sleeps inside a step, until something that it may wait for has happened.
    pub(super) fn sleep_as_helper<'a>(&self, mut core: MutexGuard<'a, Core>) -> MutexGuard<'a, Core> {
        core.helpers += 1;
        core = self.wake_helpers.wait(core).unwrap_or_else(PoisonError::into_inner);
        core.helpers -= 1;
        core
    }

    /// One sleeper for each lane that has steps which may start; each one that starts working wakes the next.
    pub(super) fn wake_others(&self, core: &mut Core) {
        self.wake_beside(core, None);
    }

    /// As [`wake_others`](Pool::wake_others), by a worker that will look for steps of lane `back_soon` in no time: it
    /// wakes nobody for less than waking takes.
    pub(super) fn wake_beside(&self, core: &mut Core, back_soon: Option<Lane>) {
        for lane in 0..core.idle.len() {
            if core.idle[lane] + core.lingering[lane] == 0 {
                continue;
            }
            let is_worth_it = back_soon != Some(lane as Lane) || core.reactor.is_worth_waking(lane as Lane);
            let has_steps = is_worth_it && core.reactor.could_start(lane as Lane);
            if !has_steps && (lane != 0 || core.todo.is_empty()) {
                continue;
            }
            if core.lingering[lane] > 0 {
                self.news[lane].store(true, Ordering::Relaxed);
            } else {
                self.wake[lane].notify_one();
            }
        }
        if core.helpers > 0 {
            self.wake_helpers.notify_all();
        }
    }

    /// As many of those who sleep as there are parts for, and everybody who waits inside a step: it may be for that.
    pub(super) fn wake_for_parts(&self, core: &Core, parts: usize) {
        self.news[0].store(true, Ordering::Relaxed);
        (0..core.idle[0].min(parts)).for_each(|_| self.wake[0].notify_one());
        if core.helpers > 0 {
            self.wake_helpers.notify_all();
        }
    }

    /// A device is gone, for as long as the engine lives: what any run still has for it fails at once.
    pub(super) fn lose(&self, device: DeviceId, message: String) {
        if let Some(lost) = self.lost.get(usize::from(device.0)) {
            let _ = lost.set(message);
        }
    }

    /// What was said of a lane's device, if it has one that is gone.
    pub(super) fn lost(&self, lane: Lane) -> Option<&str> {
        let device = self.lanes().of(lane).device()?;
        self.lost.get(usize::from(device.0))?.get().map(String::as_str)
    }

    pub(super) fn lanes(&self) -> Lanes {
        Lanes::new(self.limits.devices)
    }

    /// Steps that wait for work of their own look again.
    pub(super) fn wake_helpers(&self) {
        // The lock orders this behind the look of a helper that is about to sleep.
        drop(self.lock());
        self.wake_helpers.notify_all();
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(super) fn submit(self: &Arc<Self>, active: &Arc<Active>) {
        let mut core = self.lock();
        if core.is_over {
            drop(core);
            return active.done.tell(Err(ExecError::Cancelled));
        }
        core.todo.push_back(Todo::Submit(active.clone()));
        self.wake_others(&mut core);
    }

    /// Ends all runs and all workers; whoever waits is told `error`. A run that a worker is about to take in or to end is
    /// told by that one.
    pub(super) fn close(&self, error: &ExecError) {
        let mut core = self.lock();
        core.is_over = true;
        let mut slots: Vec<Slot> = core.runs.iter_mut().filter_map(Option::take).collect();
        let todo = std::mem::take(&mut core.todo);
        drop(core);
        self.wake.iter().chain([&self.wake_helpers]).for_each(Condvar::notify_all);
        self.timer.close();
        for todo in todo {
            match todo {
                Todo::Submit(active) => active.done.tell(Err(error.clone())),
                // That run has a slot.
                Todo::Prepare(..) => {}
                Todo::End(_, slot) => slots.push(*slot),
            }
        }
        for mut slot in slots {
            // Destructors that panic, or look at the engine: nothing for under the lock, nor what others wait for.
            let _ = slot.values.clear();
            slot.active.done.tell(Err(error.clone()));
            let _ = panics::caught(|| drop(slot));
        }
    }

    /// Tells the reactor of something that no worker reports; nothing if the run is over.
    pub(super) fn tell(&self, run: RunId, active: &Arc<Active>, event: Event) {
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

    /// Carries out the reactor's commands that aren't for the polling worker; those stay. Values go to `freed`, to be
    /// dropped outside the lock, but for blocks where memory is short: their bytes may be granted again at once.
    pub(super) fn obey(&self, core: &mut Core, freed: &mut Vec<Value>) {
        let Core { commands, runs, todo, .. } = core;
        commands.retain(|command| {
            match *command {
                Command::Run { .. } => return true,
                Command::Free { run, value } => {
                    if let Some(slot) = &mut runs[run.0 as usize] {
                        let (value, is_tight) = (slot.values.take(value), slot.is_tight);
                        freed.extend(value.filter(|value| !is_tight || value.block().is_none()));
                    }
                }
                Command::Retry { run, step, attempt } => {
                    let back_off = (BACK_OFF * 2u32.saturating_pow(attempt - 1)).min(BACK_OFF_MAX);
                    if let Some(slot) = &runs[run.0 as usize] {
                        let handle = Arc::downgrade(&slot.active);
                        self.timer.set(now() + back_off, Due::Retry(handle, run, step));
                    }
                }
                Command::Abort { .. } => {}
                Command::Starve(run) => {
                    if let Some(slot) = &mut runs[run.0 as usize] {
                        slot.failure.get_or_insert(ExecError::Starved);
                    }
                }
                Command::Begin(run) => {
                    let active = runs[run.0 as usize].as_ref().map(|slot| slot.active.clone());
                    todo.extend(active.map(|active| Todo::Prepare(run, active)));
                }
                Command::Complete(run) => {
                    let slot = runs[run.0 as usize].take();
                    slot.into_iter().for_each(|slot| todo.push_front(Todo::End(run, Box::new(slot))));
                }
            }
            false
        });
    }
}

impl Slot {
    /// Enters an attempt in the books: when it started and how long it took, in nanoseconds.
    pub(super) fn note(&mut self, step: StepId, worker: u16, (start, busy): (u64, u64), failed: bool) {
        let (plan, record) = (&self.active.plan, &mut self.books.record);
        let said = plan.steps.class(step.index());
        if let Some(trace) = &mut record.trace {
            let nanoseconds = busy.min(u64::from(u32::MAX)) as u32;
            trace.push(Traced { step, worker, start, nanoseconds, failed, is_part: false });
        }
        if said.kind.is_copy() && !failed {
            let from = plan.step(plan.operands(step)[0].step).memory;
            let edge = TransferEdge { from, to: said.memory, count: 1, bytes: said.bytes };
            record.count_transfer(edge);
        }
        self.books.count(said.layer, busy, !failed);
        if !self.help.is_empty() {
            self.note_help(step, worker, (start, busy));
        }
    }
}

impl Core {
    pub(super) fn run(&mut self, run: RunId) -> Option<&mut Slot> {
        self.runs.get_mut(run.0 as usize)?.as_mut()
    }

    /// The runs that are taken in.
    pub(super) fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.runs.iter().flatten()
    }

    /// The place of a run, once it is taken in.
    pub(super) fn run_of(&self, active: &Arc<Active>) -> Option<RunId> {
        let is_it = |slot: &Option<Slot>| slot.as_ref().is_some_and(|slot| Arc::ptr_eq(&slot.active, active));
        self.runs.iter().position(is_it).map(|at| RunId(at as u32))
    }

    pub(super) fn slot(&mut self, run: RunId, active: &Arc<Active>) -> Option<&mut Slot> {
        self.run(run).filter(|slot| Arc::ptr_eq(&slot.active, active))
    }

    pub(super) fn is_run(&mut self, run: RunId, active: &Arc<Active>) -> bool {
        self.slot(run, active).is_some()
    }

    /// An attempt failed: what it was is kept until the step has no attempts left, which is the run's failure.
    pub(super) fn failed(&mut self, run: RunId, step: StepId, attempts: u32, error: StepError) {
        let is_last = self.commands.contains(&Command::Abort { run, step });
        let Some(slot) = self.run(run) else { return };
        if !is_last {
            return slot.books.earlier.entry(step).or_default().push(error.to_string());
        }
        let earlier = slot.books.earlier.remove(&step).unwrap_or_default();
        let trouble = Trouble::of_step(&slot.active.plan, step, &error);
        let error = step_failed(&slot.active.plan, step, attempts, earlier, error);
        // A step that a cancellation made fail isn't why the run ends.
        if !slot.active.control.is_cancelled() && slot.failure.is_none() {
            (slot.failure, slot.trouble) = (Some(error), trouble);
        }
    }

    /// The run fails; what failed first counts.
    pub(super) fn fail(&mut self, run: RunId, error: ExecError) {
        if let Some(slot) = self.run(run) {
            slot.failure.get_or_insert(error);
        }
    }
}

/// The error of a step's last attempt.
fn step_failed(plan: &Plan, id: StepId, attempts: u32, earlier: Vec<String>, source: StepError) -> ExecError {
    let layer = plan.layer_of(id);
    ExecError::Step {
        layer: layer.name.clone(),
        key: plan.key(id).map_or_else(|_| String::new(), |key| key.to_string()),
        region: layer.is_array().then(|| plan.region(id).to_string().into()),
        device: plan.device_names[usize::from(plan.step(id).device.0)].clone(),
        attempts,
        earlier: earlier.into(),
        source: Box::new(source),
    }
}
