//! Panics of functions that aren't Outcrop's own, as messages.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What `run` gives, or the message of its panic. What it was working on must not be used after a panic.
pub(crate) fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| message(&*panic))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
