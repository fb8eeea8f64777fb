//! Runs plans within their limits.
//!
//! An [`Engine`] has a pool of workers for the host and a worker for every other device and for the disk. They call the
//! [`reactor`](crate::reactor) themselves, behind one lock: report what finished, take what is next. Several runs are
//! under way at once, in one book of memory and resources. Workers sleep when there is nothing to do.
//!
//! - [`engine`]: submitting and waiting. `pool` and `worker`: threads around the reactor. `borders`: where runs begin
//!   and end. `active`: a run under way. `nested`: work that a step submits. `crew`: parts of a step that others take.
//!   `timer`, `due`, `watch`: what is due later. `posts`: attempts that must end in
//!   time. [`finished`]: what a run leaves that a device kept from its end.
//! - `batch`: doing some steps. `work`: doing one step. `values`: what steps have made. [`control`]: cancelling, watching, observing. [`trace`], [`record`], [`usage`]: what
//!   happened. [`pinning`]: workers on cores of their own.

mod active;
mod batch;
mod borders;
mod brief;
pub mod control;
mod crew;
mod due;
pub mod engine;
pub mod error;
pub mod finished;
pub mod inputs;
#[cfg(test)]
#[cfg(feature = "interleavings")]
mod interleavings;
mod nested;
pub mod pinning;
mod pool;
mod posts;
pub mod record;
mod threads;
mod timer;
pub mod trace;
pub mod usage;
mod values;
mod watch;
mod work;
mod worker;

pub use control::{Control, StepEvent};
pub use engine::{Devices, Engine, Limits, Outcome, RunOptions, Running, run};
pub use error::{ExecError, StepError};
pub use finished::{Finished, Trouble};
pub use inputs::RunInputs;
pub use record::RunRecord;
pub use trace::Trace;
pub use usage::Usage;
pub use work::ResultValue;
