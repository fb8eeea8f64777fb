//! How the outside takes part in a run: it may cancel it, watch how far it is, and observe every attempt.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use crate::exec::error::StepError;
use crate::exec::trace::Trace;
use crate::ids::StepId;
use crate::key::{Key, KeyError};
use crate::panics;
use crate::steps::{Plan, PlanLayer, SourceLayer, Step, StepKind};
use crate::sync::{AtomicBool, Mutex};

/// Told the number of finished steps of each layer of the plan.
type Watch = Box<dyn Fn(&[u64]) + Send>;
/// Told of every attempt.
type Observe = Box<dyn FnMut(&StepEvent<'_>) + Send>;

/// A handle on a run; clones are the same handle.
#[derive(Clone, Default)]
pub struct Control(Arc<State>);

#[derive(Default)]
struct State {
    cancelled: Arc<AtomicBool>,
    /// How long the run may take.
    deadline: Option<Duration>,
    watcher: Mutex<Option<Watch>>,
    observer: Mutex<Option<Observe>>,
    is_watched: bool,
    is_observed: bool,
    is_traced: bool,
    priority: f64,
    /// What a run that didn't end well did, with its plan.
    left: Mutex<Option<(Arc<Plan>, Trace)>>,
    /// Called when somebody cancels.
    on_cancel: Mutex<Vec<Box<dyn Fn() + Send>>>,
}

/// One attempt at a step that is over.
#[derive(Clone, Copy, Debug)]
pub struct StepEvent<'a> {
    /// The step, in the plan.
    pub step: StepId,
    /// What it does.
    pub kind: StepKind,
    /// Where it ran.
    pub device: &'a str,
    /// Which attempt it was, from 1.
    pub attempt: u32,
    /// Time of a worker that it took.
    pub busy: Duration,
    /// How it ended.
    pub outcome: Result<(), &'a StepError>,
    plan: &'a Plan,
}

impl Control {
    /// Nobody watches, nobody cancels.
    pub fn new() -> Self {
        Control::default()
    }

    /// `watch` is called now and then with the number of finished steps of each layer of the plan. One that
    /// panics is not called again; the run goes on.
    pub fn watched(watch: impl Fn(&[u64]) + Send + 'static) -> Self {
        let watcher = Mutex::new(Some(Box::new(watch) as Watch));
        Control(Arc::new(State { watcher, is_watched: true, ..State::default() }))
    }

    /// `observe` is called for every attempt, finished or failed, on the worker's thread, one call at a time,
    /// before anything that waits for the step starts: a slow observer makes a slow run. One that panics is
    /// not called again; the run goes on. To be said before the handle is cloned.
    pub fn observed(self, observe: impl FnMut(&StepEvent<'_>) + Send + 'static) -> Self {
        self.with(|state| {
            *state.observer.get_mut().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(observe));
            state.is_observed = true;
        })
    }

    /// The run keeps a [`Trace`] of every attempt: 16 bytes each. To be said before the handle is
    /// cloned.
    pub fn traced(self) -> Self {
        self.with(|state| state.is_traced = true)
    }

    /// The run may take this long, from when it is handed in; then it is cancelled, and fails. To be said before the
    /// handle is cloned.
    pub fn with_deadline(self, deadline: Duration) -> Self {
        self.with(|state| state.deadline = Some(deadline))
    }

    /// Of several runs of a session, the steps of one of higher priority start first; 0 where nobody says otherwise. What
    /// isn't finite counts as 0. To be said before the handle is cloned.
    pub fn with_priority(self, priority: f64) -> Self {
        self.with(|state| state.priority = if priority.is_finite() { priority } else { 0.0 })
    }

    /// The priority of the run among others.
    pub fn priority(&self) -> f64 {
        self.0.priority
    }

    /// What a [traced](Control::traced) run did that has failed or was cancelled, and the plan that its steps are of;
    /// once. A run that ends well hands its trace over with the results.
    pub fn take_trace(&self) -> Option<(Arc<Plan>, Trace)> {
        self.0.left.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) fn leave_trace(&self, plan: &Arc<Plan>, trace: Trace) {
        *self.0.left.lock().unwrap_or_else(PoisonError::into_inner) = Some((plan.clone(), trace));
    }

    fn with(mut self, change: impl FnOnce(&mut State)) -> Self {
        if let Some(state) = Arc::get_mut(&mut self.0) {
            change(state);
        }
        self
    }

    /// Asks the run to stop: nothing new starts, and what runs is waited for.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Release);
        let hooks = self.0.on_cancel.lock().unwrap_or_else(PoisonError::into_inner);
        hooks.iter().for_each(|hook| hook());
    }

    /// Whether somebody asked it to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Acquire)
    }

    /// `hook` is called when somebody cancels, and at once where somebody has.
    pub(super) fn on_cancel(&self, hook: impl Fn() + Send + 'static) {
        let mut hooks = self.0.on_cancel.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_cancelled() {
            hook();
        }
        hooks.push(Box::new(hook));
    }

    /// The flag that [`Control::cancel`] sets.
    pub(super) fn flag(&self) -> &Arc<AtomicBool> {
        &self.0.cancelled
    }

    pub(super) fn deadline(&self) -> Option<Duration> {
        self.0.deadline
    }

    pub(super) fn is_watched(&self) -> bool {
        self.0.is_watched
    }

    pub(super) fn is_observed(&self) -> bool {
        self.0.is_observed
    }

    pub(super) fn is_traced(&self) -> bool {
        self.0.is_traced
    }

    pub(super) fn observe(&self, event: &StepEvent<'_>) {
        tell(&self.0.observer, |observe| observe(event));
    }

    pub(super) fn watch(&self, finished: &[u64]) {
        tell(&self.0.watcher, |watch| watch(finished));
    }
}

/// Calls a listener that is there, and lets go of it when it panics.
fn tell<L>(listener: &Mutex<Option<L>>, call: impl FnOnce(&mut L)) {
    let mut guard = listener.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(listener) = &mut *guard
        && panics::caught(|| call(listener)).is_err()
    {
        *guard = None;
    }
}

impl<'a> StepEvent<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        step: StepId,
        attempt: u32,
        busy: Duration,
        outcome: Result<(), &'a StepError>,
    ) -> Self {
        let Step { kind, device, .. } = plan.step(step);
        let device = &plan.device_names[usize::from(device.0)];
        StepEvent { step, kind, device, attempt, busy, outcome, plan }
    }

    /// The layer of the plan that the step belongs to; a copy belongs to the layer whose value it moves.
    pub fn layer(&self) -> &'a PlanLayer {
        self.plan.layer_of(self.step)
    }

    /// The layers of the user's graph that the step computes, each with the annotations that govern it. A value
    /// that is a function stays one: [`Annotations::for_key`](crate::annotate::Annotations::for_key) calls it.
    pub fn sources(&self) -> &'a [SourceLayer] {
        &self.layer().sources
    }

    /// The key of the block.
    ///
    /// # Errors
    /// As [`Plan::key`].
    pub fn key(&self) -> Result<Key, KeyError> {
        self.plan.key(self.step)
    }
}
