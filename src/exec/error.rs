//! Why a run didn't end well.

use std::time::Duration;

use crate::device::contract::DeviceError;
use crate::graph::custom::TaskError;
use crate::graph::op::TransferError;
use crate::units::{Bytes, format_seconds};

/// A run failed or was stopped. Everything that it held is given back.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ExecError {
    /// A kernel doesn't compile. Nothing has run.
    #[error("layer '{layer}': {source}")]
    Compile {
        /// The layer.
        layer: String,
        /// What the device said.
        source: Box<DeviceError>,
    },
    /// The plan names a device that isn't open. Nothing has run.
    #[error("layer '{layer}' is planned for '{device}', which isn't open here")]
    NoDevice {
        /// The layer.
        layer: String,
        /// The device.
        device: String,
    },
    /// The memory for a result couldn't be had. Nothing has run.
    #[error("result '{layer}': {source}")]
    Result {
        /// The layer.
        layer: String,
        /// What the device said.
        source: Box<DeviceError>,
    },
    /// A step failed, on its last attempt.
    #[error(
        "layer '{layer}'{} on {device}: {source}{}",
        place(layer, key, region.as_deref()),
        if *attempts > 1 { format!(" (attempt {attempts} of {attempts})") } else { String::new() }
    )]
    Step {
        /// The layer.
        layer: String,
        /// The block's key.
        key: String,
        /// The block as a slice of its array; `None` for an object.
        region: Option<String>,
        /// Where it ran.
        device: String,
        /// How often it was tried.
        attempts: u32,
        /// What went wrong the last time.
        source: Box<StepError>,
    },
    /// Letting go of a value panicked: the destructor of an object.
    #[error("letting go of a value panicked: {message}")]
    Value {
        /// What it said.
        message: String,
    },
    /// The system didn't give what a run needs besides memory. Nothing has run.
    #[error("the run can't start: {message}")]
    Start {
        /// What the system said.
        message: String,
    },
    /// It needs more memory at once than there can be beside the runs that wait for it. Nothing has run.
    #[error(
        "the run needs {} of memory '{memory}' at once, and {} can be had; use smaller chunks, or a larger budget",
        Bytes(*need),
        Bytes(*left)
    )]
    NoRoom {
        /// The memory.
        memory: String,
        /// Bytes that it needs.
        need: u64,
        /// Bytes that it could have.
        left: u64,
    },
    /// Attempts that were given up, and still run, hold on to what it needs.
    #[error(
        "attempts that ignored their timeout still hold memory or resources that this run can't do without"
    )]
    Starved,
    /// Somebody asked it to stop.
    #[error("cancelled; no output was written")]
    Cancelled,
    /// A worker came to a bad end. This is a fault in Outcrop; nothing of the engine runs any more.
    #[error("internal error: a worker panicked: {message}; please report this")]
    Broken {
        /// The panic's message.
        message: String,
    },
    /// The state machine stopped with work left. This is a fault in Outcrop.
    #[error("internal error: the run ended with {unfinished} steps left; please report this")]
    Stuck {
        /// Steps that never ran.
        unfinished: usize,
    },
}

/// One attempt at a step failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StepError {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A file failed.
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// A task's own function failed.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The code of a step panicked.
    #[error("panicked: {message}")]
    Panic {
        /// The panic's message.
        message: String,
    },
    /// It took longer than its `timeout` annotation allows. Kernels can't be interrupted: the time is
    /// checked when they are done.
    #[error("took {}, and its timeout is {}", format_seconds(took.as_secs_f64()), format_seconds(limit.as_secs_f64()))]
    Timeout {
        /// Time that it took.
        took: Duration,
        /// Time allowed.
        limit: Duration,
    },
    /// A value that the step reads isn't there. This is a fault in Outcrop.
    #[error("internal error: {problem}; please report this")]
    Bug {
        /// What is wrong.
        problem: String,
    },
}

impl StepError {
    /// Whether another attempt can end better: not when memory ran out, the device is gone, or the fault is
    /// Outcrop's own.
    pub fn retryable(&self) -> bool {
        !matches!(
            self,
            StepError::Device(DeviceError::OutOfMemory { .. } | DeviceError::Lost { .. })
                | StepError::Bug { .. }
        )
    }
}

/// The value among the layer's: nothing where the layer makes one object, whose key is its name.
fn place(layer: &str, key: &str, region: Option<&str>) -> String {
    match region {
        Some(region) => format!(", block {key} at {region}"),
        None if key == format!("'{layer}'") => String::new(),
        None => format!(", {key}"),
    }
}
