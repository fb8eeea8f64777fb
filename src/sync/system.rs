//! The standard library's.

use std::sync::PoisonError;
use std::time::Instant;

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32};
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
pub(crate) use std::{thread, thread_local};

/// What time it is.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Waits until somebody notifies, or until `at`; or less.
pub(crate) fn wait_until<'a, T>(told: &Condvar, guard: MutexGuard<'a, T>, at: Instant) -> MutexGuard<'a, T> {
    told.wait_timeout(guard, at.saturating_duration_since(now())).unwrap_or_else(PoisonError::into_inner).0
}
