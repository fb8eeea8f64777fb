//! A run under way: its plan, its values, whoever waits for it.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::device::contract::DeviceError;
use crate::exec::control::Control;
use crate::exec::engine::{Devices, Outcome, RunOptions};
use crate::exec::error::{ExecError, StepError};
use crate::exec::pool::Pool;
use crate::exec::usage::Meter;
use crate::exec::work::Work;
use crate::ids::StepId;
use crate::steps::Plan;
use crate::sync::{Condvar, Mutex, MutexGuard, now};

/// What workers need of a run, outside the lock.
pub(super) struct Active {
    pub(super) plan: Arc<Plan>,
    pub(super) devices: Devices,
    pub(super) options: RunOptions,
    pub(super) control: Control,
    pub(super) started: Instant,
    /// How deep it is nested in steps that wait.
    pub(super) depth: u16,
    /// Looks at what the run takes, from when there is room for it.
    pub(super) meter: OnceLock<Meter>,
    /// Made when there is room for the run.
    pub(super) work: OnceLock<Work>,
    pub(super) done: Done,
}

impl Active {
    /// Since the run was submitted.
    pub(super) fn elapsed(&self) -> Duration {
        now().saturating_duration_since(self.started)
    }

    /// As [`elapsed`](Active::elapsed), in nanoseconds.
    pub(super) fn nanoseconds(&self) -> u64 {
        self.elapsed().as_nanos() as u64
    }

    /// Why a step fails whose device is gone: nobody asks it.
    pub(super) fn device_lost(&self, step: StepId, message: &str) -> StepError {
        let device = self.plan.device_names[usize::from(self.plan.step(step).device.0)].clone();
        DeviceError::Lost { device, message: message.to_owned() }.into()
    }
}

/// Where the end of a run is told, once.
#[derive(Default)]
pub(super) struct Done {
    state: Mutex<State>,
    told: Condvar,
}

#[derive(Default)]
struct State {
    result: Option<Result<Outcome, ExecError>>,
    waker: Option<Waker>,
}

impl Done {
    pub(super) fn tell(&self, result: Result<Outcome, ExecError>) {
        let mut state = self.lock();
        state.result.get_or_insert(result);
        let waker = state.waker.take();
        drop(state);
        self.told.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(super) fn is_told(&self) -> bool {
        self.lock().result.is_some()
    }

    pub(super) fn wait(&self) -> Result<Outcome, ExecError> {
        let mut state = self.lock();
        loop {
            if let Some(result) = state.result.take() {
                return result;
            }
            state = self.told.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn poll(&self, context: &mut Context<'_>) -> Poll<Result<Outcome, ExecError>> {
        let mut state = self.lock();
        match state.result.take() {
            Some(result) => Poll::Ready(result),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run that was submitted: a future of its outcome, or to be waited for. Dropping it cancels the run.
///
/// Inside a step of the same engine, waiting lends the step's thread and resources to the run: the thread does steps of
/// it until it is over. The future does the same when it is polled there.
pub struct Running {
    pub(super) active: Arc<Active>,
    pub(super) pool: Arc<Pool>,
    pub(super) is_over: bool,
}

impl Running {
    /// Waits for the end.
    ///
    /// # Errors
    /// As [`Engine::run`](super::Engine::run).
    pub fn wait(mut self) -> Result<Outcome, ExecError> {
        self.is_over = true;
        self.pool.help(&self.active);
        self.active.done.wait()
    }
}

impl Future for Running {
    type Output = Result<Outcome, ExecError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.pool.help(&self.active);
        let polled = self.active.done.poll(context);
        self.is_over |= polled.is_ready();
        polled
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.is_over {
            self.active.control.cancel();
        }
    }
}
