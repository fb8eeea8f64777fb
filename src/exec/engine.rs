//! The engine: a pool of workers and one book of memory and resources, for all runs of a session.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::device::contract::Device;
use crate::exec::active::{Active, Done};
use crate::exec::control::Control;
use crate::exec::error::ExecError;
use crate::exec::inputs::RunInputs;
use crate::exec::nested;
use crate::exec::pool::Pool;
use crate::exec::record::RunRecord;
use crate::exec::work::ResultValue;
use crate::machine::DeviceId;
use crate::steps::{Plan, millionths};
use crate::sync::now;

pub use crate::exec::active::Running;

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

/// What an engine may use; the same for all its runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// Worker threads of the host pool, at least 1.
    pub threads: usize,
    /// Bytes of each memory, by [`MemoryId`](crate::machine::MemoryId); `None` where nobody knows. Memories beyond the
    /// list have no limit.
    pub memories: Vec<Option<u64>>,
    /// Amounts of custom resources, in the order in which plans number them.
    pub resources: Vec<f64>,
    /// Devices of the machine, the host among them.
    pub devices: usize,
    /// How long a device's driver may take for one step that has no `timeout`, before the device counts as lost; `None`
    /// waits for ever.
    pub device_timeout: Option<Duration>,
    /// Whether each host worker stays on one core of those that the process may use; more workers than cores share
    /// them. Linux only; elsewhere it does nothing.
    pub pin_threads: bool,
}

impl Limits {
    /// The limits that one plan was made for.
    pub fn of(plan: &Plan) -> Self {
        Limits {
            threads: plan.threads.max(1),
            memories: plan.memories.iter().map(|memory| memory.budget.map(|bytes| bytes.0)).collect(),
            resources: plan.resources.iter().map(|(_, amount)| *amount).collect(),
            devices: plan.device_names.len().max(1),
            device_timeout: None,
            pin_threads: false,
        }
    }

    pub(super) fn millionths(&self) -> Vec<u64> {
        self.resources.iter().map(|&amount| millionths(amount)).collect()
    }
}

/// What a run has beside its plan, and how it stands towards others of its engine.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Steps of runs of higher priority start first. Finite; 0 where nobody says otherwise.
    pub priority: f64,
    /// Values that exist already, and where values are kept.
    pub inputs: RunInputs,
}

/// What a run leaves.
#[derive(Debug)]
pub struct Outcome {
    /// The results, in the order of the plan's outputs.
    pub results: Vec<ResultValue>,
    /// What happened.
    pub record: RunRecord,
}

/// Workers, and the book that they share. Threads start with the first run, sleep between runs, and end when the engine
/// is dropped; runs that are under way then are cancelled.
pub struct Engine {
    pub(super) pool: Arc<Pool>,
}

impl Engine {
    /// An engine that keeps within these limits.
    pub fn new(limits: &Limits) -> Self {
        Engine { pool: Arc::new(Pool::new(limits)) }
    }

    /// Runs a plan to its end; other runs may be under way.
    ///
    /// # Errors
    /// The first failure that no retry mended; cancellation; no room for it beside others that wait for it. Whatever the
    /// run held is given back.
    pub fn run(
        &self,
        plan: &Arc<Plan>,
        devices: &Devices,
        options: RunOptions,
        control: &Control,
    ) -> Result<Outcome, ExecError> {
        self.submit(plan, devices, options, control)?.wait()
    }

    /// Hands a plan in, to be run.
    ///
    /// # Errors
    /// The system gives no threads. All else is told by the [`Running`].
    pub fn submit(
        &self,
        plan: &Arc<Plan>,
        devices: &Devices,
        options: RunOptions,
        control: &Control,
    ) -> Result<Running, ExecError> {
        self.pool.threads.start(&self.pool, plan)?;
        let parent = nested::parent(&self.pool);
        let depth = parent.as_ref().map_or(0, |parent| parent.depth() + 1);
        let active = Arc::new(Active {
            plan: plan.clone(),
            devices: devices.clone(),
            options,
            control: control.clone(),
            started: now(),
            depth,
            meter: OnceLock::new(),
            work: OnceLock::new(),
            done: Done::default(),
        });
        self.pool.submit(&active);
        Ok(Running { active, pool: self.pool.clone(), is_over: false })
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.pool.close(&ExecError::Cancelled);
        self.pool.threads.join();
    }
}

/// Runs one plan in an engine of its own, within the limits that it was made for.
///
/// # Errors
/// As [`Engine::run`].
pub fn run(plan: &Arc<Plan>, devices: &Devices, control: &Control) -> Result<Outcome, ExecError> {
    Engine::new(&Limits::of(plan)).run(plan, devices, RunOptions::default(), control)
}
