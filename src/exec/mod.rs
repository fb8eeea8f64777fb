//! Runs a plan within its limits.
//!
//! [`reactor`] is a pure state machine: events in, commands out, no thread, no clock. [`ledger`] is its
//! book of memory and resources. [`driver`] is the only part that knows threads and devices: its workers
//! report what finished and take what is next, under one lock.

pub mod bitmap;
pub mod control;
pub mod driver;
pub mod error;
pub mod event;
pub mod inputs;
pub mod ledger;
pub mod profile;
pub mod reactor;
pub mod record;
mod work;

pub use control::{Control, StepEvent};
pub use driver::{Devices, Outcome, run};
pub use error::{ExecError, StepError};
pub use inputs::RunInputs;
pub use record::RunRecord;
pub use work::ResultValue;
