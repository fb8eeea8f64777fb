//! The standard library's.

use std::hint::spin_loop;
use std::num::NonZero;
use std::sync::PoisonError;
use std::time::Instant;

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32};
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
pub(crate) use std::{thread, thread_local};

/// How often a thread looks for what it waits for before it sleeps, with a [pause] between two looks: ten to twenty
/// microseconds, what sleeping and waking take.
pub(crate) const PATIENCE: u32 = 128;

/// Between two looks.
pub(crate) fn pause() {
    (0..4).for_each(|_| spin_loop());
}

/// Threads that can run at once.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// What time it is.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Waits until somebody notifies, or until `at`; or less.
pub(crate) fn wait_until<'a, T>(told: &Condvar, guard: MutexGuard<'a, T>, at: Instant) -> MutexGuard<'a, T> {
    told.wait_timeout(guard, at.saturating_duration_since(now())).unwrap_or_else(PoisonError::into_inner).0
}
