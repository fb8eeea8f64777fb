//! The driver: threads around the reactor.
//!
//! Host workers, and one worker for every other device, call the reactor themselves, behind one lock:
//! report what finished, take what is next. A device's worker takes several steps at once, submits all of
//! them, and waits for the device once. Only timers and the wait for the end go through tokio.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::device::contract::Device;
use crate::exec::control::{Control, StepEvent};
use crate::exec::error::{ExecError, StepError};
use crate::exec::event::{Command, Event, Lane};
use crate::exec::inputs::RunInputs;
use crate::exec::reactor::Reactor;
use crate::exec::record::RunRecord;
use crate::exec::work::{ResultValue, Work};
use crate::ids::StepId;
use crate::machine::DeviceId;
use crate::panics;
use crate::steps::{Plan, StepKind, TransferEdge};

/// Steps that a device's worker submits before it waits for the device.
const DEVICE_BATCH: u16 = 16;

/// The first back-off of a retry; each further one is twice as long, up to [`BACK_OFF_MAX`].
const BACK_OFF: Duration = Duration::from_millis(10);
const BACK_OFF_MAX: Duration = Duration::from_secs(1);

/// The devices that are open, by [`DeviceId`].
#[derive(Clone, Default)]
pub struct Devices(Vec<Option<Arc<dyn Device>>>);

impl Devices {
    /// Devices in the order of the machine's description; those that aren't open are `None`.
    pub fn new(devices: Vec<Option<Arc<dyn Device>>>) -> Self {
        Devices(devices)
    }

    /// The device, if it is open.
    pub fn device(&self, id: DeviceId) -> Option<&Arc<dyn Device>> {
        self.0.get(usize::from(id.0))?.as_ref()
    }
}

/// What a run leaves.
#[derive(Debug)]
pub struct Outcome {
    /// The results, in the order of the plan's outputs.
    pub results: Vec<ResultValue>,
    /// What happened.
    pub record: RunRecord,
}

/// Runs a plan to its end on the calling thread's watch; workers are threads of their own.
///
/// # Errors
/// The first failure that no retry mended; cancellation. Whatever the run held is given back.
pub fn run(
    plan: &Plan,
    devices: &Devices,
    inputs: &RunInputs,
    control: &Control,
) -> Result<Outcome, ExecError> {
    let started = Instant::now();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|error| ExecError::Start { message: error.to_string() })?;
    let work = Work::prepare(plan, devices, inputs)?;
    let mut core = Core {
        reactor: Reactor::new(plan),
        commands: Vec::new(),
        finished: vec![0; plan.layers.len()],
        record: RunRecord {
            attempts: vec![0; plan.layers.len()],
            busy_s: vec![0.0; plan.layers.len()],
            ..RunRecord::default()
        },
        failure: None,
        retries: Vec::new(),
        idle: vec![0; plan.device_names.len()],
        over: false,
    };
    core.reactor.on_events(&[Event::Start], &mut core.commands);
    core.over = core.commands.drain(..).any(|command| command == Command::Complete);
    let pool = Pool {
        plan,
        control,
        work: &work,
        core: Mutex::new(core),
        wake: (0..plan.device_names.len()).map(|_| Condvar::new()).collect(),
        attention: tokio::sync::Notify::new(),
    };
    std::thread::scope(|scope| {
        for lane in pool.lanes() {
            let pool = &pool;
            scope.spawn(move || pool.watched(|| pool.worker(lane)));
        }
        scope.spawn(|| pool.watched(|| pool.attend(&runtime)));
    });
    let core = pool.core.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(failure) = core.failure {
        return Err(failure);
    }
    if control.is_cancelled() && core.reactor.unfinished() > 0 {
        return Err(ExecError::Cancelled);
    }
    if core.reactor.unfinished() > 0 {
        return Err(ExecError::Stuck { unfinished: core.reactor.unfinished() });
    }
    let mut record = core.record;
    record.peak_bytes = core.reactor.ledger().peaks();
    record.wall_s = started.elapsed().as_secs_f64();
    record.transfers.sort_unstable_by_key(|edge| (edge.from, edge.to));
    Ok(Outcome { results: work.into_results(), record })
}

/// What workers share.
struct Pool<'a> {
    plan: &'a Plan,
    control: &'a Control,
    work: &'a Work<'a>,
    core: Mutex<Core>,
    /// One for each lane: its sleeping workers.
    wake: Vec<Condvar>,
    /// Calls the attendant: the end, or a retry to wait for.
    attention: tokio::sync::Notify,
}

/// What the lock protects.
struct Core {
    reactor: Reactor,
    commands: Vec<Command>,
    finished: Vec<u64>,
    record: RunRecord,
    failure: Option<ExecError>,
    /// Steps to try again, and when.
    retries: Vec<(Instant, StepId)>,
    /// Sleeping workers of each lane.
    idle: Vec<usize>,
    over: bool,
}

/// One attempt at a step, as its worker reports it.
struct Attempt {
    step: StepId,
    result: Result<(), StepError>,
    busy: Duration,
}

impl Pool<'_> {
    /// The lane of each worker: the pool's threads, and one for each device that has steps.
    fn lanes(&self) -> Vec<Lane> {
        let mut lanes = vec![0; self.plan.threads.max(1)];
        for device in 1..self.plan.device_names.len() as u16 {
            if self.plan.steps.iter().any(|step| step.device.0 == device) {
                lanes.push(device);
            }
        }
        lanes
    }

    /// Ends the run when `body` panics: a worker that is gone would leave the others waiting for ever. Steps are caught
    /// one by one; what comes here is the destructor of a value.
    fn watched(&self, body: impl FnOnce()) {
        let Err(message) = panics::caught(body) else { return };
        let mut core = self.lock();
        core.failure.get_or_insert(ExecError::Value { message });
        core.over = true;
        self.wake.iter().for_each(Condvar::notify_all);
        self.attention.notify_one();
    }

    fn worker(&self, lane: Lane) {
        let mut attempts: Vec<Attempt> = Vec::new();
        let mut steps: Vec<StepId> = Vec::new();
        while self.exchange(lane, &mut attempts, &mut steps) {
            for step in steps.drain(..) {
                let started = Instant::now();
                let result = self.attempt(step);
                attempts.push(Attempt { step, result, busy: started.elapsed() });
            }
            if lane != 0 && !attempts.is_empty() {
                self.synchronize(lane, &mut attempts);
            }
        }
    }

    fn attempt(&self, step: StepId) -> Result<(), StepError> {
        caught(|| self.work.run(step))
    }

    /// A late error of a batch is every attempt's: nobody knows whose it was.
    fn synchronize(&self, lane: Lane, attempts: &mut [Attempt]) {
        let started = Instant::now();
        if let Err(error) = caught(|| self.work.synchronize(DeviceId(lane))) {
            attempts.iter_mut().for_each(|attempt| attempt.result = Err(error.clone()));
        }
        let share = started.elapsed() / attempts.len() as u32;
        attempts.iter_mut().for_each(|attempt| attempt.busy += share);
    }

    /// Reports attempts, and takes steps; sleeps while there are none. `false` at the end.
    fn exchange(&self, lane: Lane, attempts: &mut Vec<Attempt>, steps: &mut Vec<StepId>) -> bool {
        let room = if lane == 0 { 1 } else { DEVICE_BATCH };
        attempts.iter_mut().for_each(|attempt| self.judge(attempt));
        let mut guard = self.lock();
        let mut news = !attempts.is_empty();
        for attempt in attempts.drain(..) {
            self.report(&mut guard, attempt);
        }
        loop {
            let core = &mut *guard;
            if !core.over {
                core.reactor.on_events(&[Event::Poll { lane, room }], &mut core.commands);
            }
            self.obey(core, steps);
            if core.over {
                self.wake.iter().for_each(Condvar::notify_all);
                self.attention.notify_one();
                return false;
            }
            // Whoever changed nothing wakes nobody: two sleepers would wake each other for ever.
            if news || !steps.is_empty() {
                self.wake_others(core);
            }
            if !steps.is_empty() {
                return true;
            }
            news = false;
            core.idle[usize::from(lane)] += 1;
            guard = self.wake[usize::from(lane)].wait(guard).unwrap_or_else(PoisonError::into_inner);
            guard.idle[usize::from(lane)] -= 1;
        }
    }

    /// Holds an attempt against its timeout, and tells the observer, outside the lock.
    fn judge(&self, attempt: &mut Attempt) {
        let limit = self.plan.terms_of(attempt.step).timeout;
        if let Some(limit) = limit.filter(|limit| attempt.result.is_ok() && attempt.busy > *limit) {
            attempt.result = Err(StepError::Timeout { took: attempt.busy, limit });
        }
        if self.control.is_observed() {
            let failures = self.lock().reactor.failures(attempt.step);
            let outcome = attempt.result.as_ref().copied();
            let event = StepEvent::new(self.plan, attempt.step, failures + 1, attempt.busy, outcome);
            self.control.observe(&event);
        }
    }

    fn report(&self, core: &mut Core, attempt: Attempt) {
        let step = self.plan.step(attempt.step);
        core.record.attempts[step.layer as usize] += 1;
        core.record.busy_s[step.layer as usize] += attempt.busy.as_secs_f64();
        let mut failure = None;
        let event = match attempt.result {
            Ok(()) => {
                core.finished[step.layer as usize] += 1;
                if step.kind == StepKind::Transfer {
                    let from = self.plan.step(self.plan.operands(attempt.step)[0].step).memory;
                    core.record.count_transfer(TransferEdge {
                        from,
                        to: step.memory,
                        count: 1,
                        bytes: step.bytes,
                    });
                }
                Event::Finished(attempt.step)
            }
            Err(error) => {
                // A late error comes after the value was kept; the ledger is about to take its bytes back.
                self.work.free(attempt.step);
                let retryable = error.retryable();
                failure = Some(self.failure(core, attempt.step, error));
                Event::Failed { step: attempt.step, retryable }
            }
        };
        core.reactor.on_events(&[event], &mut core.commands);
        if core.commands.contains(&Command::Abort(attempt.step)) {
            core.failure = failure;
        }
    }

    fn failure(&self, core: &Core, id: StepId, source: StepError) -> ExecError {
        let device = self.plan.step(id).device;
        ExecError::Step {
            layer: self.plan.layer_of(id).name.clone(),
            key: self.plan.key(id).map_or_else(|_| String::new(), |key| key.to_string()),
            region: self.plan.layer_of(id).is_array().then(|| self.plan.region(id).to_string()),
            device: self.plan.device_names[usize::from(device.0)].clone(),
            attempts: core.reactor.failures(id) + 1,
            source: Box::new(source),
        }
    }

    /// Carries out the reactor's commands. Values are dropped under the lock: the ledger has taken their
    /// bytes back, and nobody may be granted them while they are still in use.
    fn obey(&self, core: &mut Core, steps: &mut Vec<StepId>) {
        for command in core.commands.drain(..) {
            match command {
                Command::Run(step) => steps.push(step),
                Command::Free(value) => self.work.free(value),
                Command::Retry { step, attempt } => {
                    let back_off = (BACK_OFF * 2u32.saturating_pow(attempt - 1)).min(BACK_OFF_MAX);
                    core.retries.push((Instant::now() + back_off, step));
                    self.attention.notify_one();
                }
                Command::Abort(_) => {}
                Command::Complete => core.over = true,
            }
        }
    }

    /// One sleeper for each lane that has ready steps; each one that starts working wakes the next.
    fn wake_others(&self, core: &Core) {
        for (lane, idle) in core.idle.iter().enumerate() {
            if *idle > 0 && core.reactor.ready(lane as Lane) > 0 {
                self.wake[lane].notify_one();
            }
        }
    }

    /// The attendant: waits for the end, sends retries when they are due, shows progress, hears of
    /// cancellation.
    fn attend(&self, runtime: &tokio::runtime::Runtime) {
        const GLANCE: Duration = Duration::from_millis(50);
        runtime.block_on(async {
            loop {
                let _ = tokio::time::timeout(self.next_due().min(GLANCE), self.attention.notified()).await;
                if self.glance() {
                    return;
                }
            }
        });
    }

    fn next_due(&self) -> Duration {
        let core = self.lock();
        let now = Instant::now();
        let due = core.retries.iter().map(|(due, _)| due.saturating_duration_since(now)).min();
        due.unwrap_or(Duration::MAX)
    }

    /// Whether the run is over.
    fn glance(&self) -> bool {
        let mut guard = self.lock();
        let core = &mut *guard;
        let now = Instant::now();
        let mut events: Vec<Event> = Vec::new();
        core.retries.retain(|&(due, step)| {
            if due <= now {
                events.push(Event::RetryDue(step));
            }
            due > now
        });
        if self.control.is_cancelled() {
            events.push(Event::Cancel);
        }
        core.reactor.on_events(&events, &mut core.commands);
        self.obey(core, &mut Vec::new());
        if core.over || !events.is_empty() {
            self.wake.iter().for_each(Condvar::notify_all);
        }
        let (over, finished) = (core.over, core.finished.clone());
        drop(guard);
        self.control.watch(&finished);
        over
    }

    fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A panic as an error: a worker that is gone would leave its steps running for ever.
fn caught(work: impl FnOnce() -> Result<(), StepError>) -> Result<(), StepError> {
    panics::caught(work).unwrap_or_else(|message| Err(StepError::Panic { message }))
}
