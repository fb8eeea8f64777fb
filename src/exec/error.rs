//! Why a run didn't end well.

use std::sync::Arc;
use std::time::Duration;

use crate::device::contract::DeviceError;
use crate::exec::finished::{Finished, Trouble};
use crate::graph::custom::TaskError;
use crate::graph::op::TransferError;
use crate::machine::DeviceId;
use crate::reactor::Failure;
use crate::store::StoreError;
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
        history(*attempts, earlier, source)
    )]
    Step {
        /// The layer.
        layer: String,
        /// The block's key.
        key: String,
        /// The block as a slice of its array; `None` for an object.
        region: Option<Box<str>>,
        /// Where it ran.
        device: String,
        /// How often it was tried.
        attempts: u32,
        /// What went wrong before the last time, first to last.
        earlier: Box<[String]>,
        /// What went wrong the last time.
        source: Box<StepError>,
    },
    /// A device is lost, or too small for a task. What is finished is handed over, for a plan that does without the device;
    /// a [`Session`](crate::session::Session) makes one, and goes on.
    #[error("{source}")]
    Unable {
        /// The device.
        device: DeviceId,
        /// What is the matter with it.
        trouble: Trouble,
        /// What is finished.
        finished: Arc<Finished>,
        /// The failure that showed it.
        source: Box<ExecError>,
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
    /// It took longer than it may.
    #[error("the deadline of {} is over; no output was written", format_seconds(limit.as_secs_f64()))]
    Deadline {
        /// How long it may take.
        limit: Duration,
    },
    /// There is no place to spill values to. Nothing has run.
    #[error("the run has to spill values to disk, and can't: {source}; choose a folder with --spill-dir")]
    Spill {
        /// What is wrong with the folder.
        source: Box<StoreError>,
    },
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
    /// The store of a resume directory failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A task's own function failed.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The code of a step panicked.
    #[error("panicked: {message}")]
    Panic {
        /// The panic's message.
        message: String,
    },
    /// It took longer than its `timeout` annotation allows. Nothing can be interrupted: the time is checked when a kernel
    /// is done, or when a function [asks](crate::task::check).
    #[error("took {}, and its timeout is {}", format_seconds(took.as_secs_f64()), format_seconds(limit.as_secs_f64()))]
    Timeout {
        /// Time that it took.
        took: Duration,
        /// Time allowed.
        limit: Duration,
    },
    /// It took so much longer than its `timeout` that nobody waits for it any more. Its thread goes on, and what it
    /// holds is out of reach until it ends.
    #[error(
        "was given up after {}: it ignores its timeout of {}, and goes on running with {} that nobody else can have; \
         call outcrop::task::check() in it now and then, and return its error",
        format_seconds(took.as_secs_f64()),
        format_seconds(limit.as_secs_f64()),
        Bytes(*held)
    )]
    Abandoned {
        /// Time that it was given.
        took: Duration,
        /// Time allowed.
        limit: Duration,
        /// Bytes that it holds.
        held: u64,
    },
    /// A value that the step reads isn't there. This is a fault in Outcrop.
    #[error("internal error: {problem}; please report this")]
    Bug {
        /// What is wrong.
        problem: String,
    },
}

impl StepError {
    /// How the attempt failed: another can't end better when the device or the value is gone, or the fault is Outcrop's
    /// own.
    pub fn failure(&self) -> Failure {
        match self {
            StepError::Device(DeviceError::OutOfMemory { .. }) => Failure::OutOfMemory,
            StepError::Device(DeviceError::Lost { .. }) | StepError::Bug { .. } => Failure::Final,
            StepError::Store(error) if error.is_lost_chunk() => Failure::Final,
            _ => Failure::Retryable,
        }
    }
}

/// ` (attempt 3 of 3; before: …)`; nothing of a first attempt.
fn history(attempts: u32, earlier: &[String], last: &StepError) -> String {
    let last = last.to_string();
    let mut distinct: Vec<&str> = Vec::new();
    for message in earlier {
        if *message != last && !distinct.contains(&message.as_str()) {
            distinct.push(message);
        }
    }
    match (attempts, distinct.is_empty()) {
        (0 | 1, _) => String::new(),
        (_, true) => format!(" (attempt {attempts} of {attempts}, each ended so)"),
        (_, false) => format!(" (attempt {attempts} of {attempts}; before: {})", distinct.join("; ")),
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
