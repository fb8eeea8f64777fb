//! Locks, threads and the clock, as those who drive runs use them: from one place, so that tests can decide who is next.
//!
//! They are the standard library's. In unit tests with the feature `interleavings` they are
//! [shuttle](https://docs.rs/shuttle)'s, which runs one thread at a time and switches at every lock, atomic and
//! notification as a seed says, and time passes only where the timer's thread waits for it. `exec::interleavings` has
//! the tests, and says how to run and replay them. Outside of such a test nothing here works in that build.
//!
//! What isn't taken from here (a lock of a store, of a device's allocator) must not be held where the executor's locks
//! are taken: shuttle's threads share one of the system's.

#[cfg(all(test, feature = "interleavings"))]
mod explored;
#[cfg(not(all(test, feature = "interleavings")))]
mod system;

#[cfg(all(test, feature = "interleavings"))]
use explored as source;
#[cfg(not(all(test, feature = "interleavings")))]
use system as source;

#[cfg(all(test, feature = "interleavings"))]
pub(crate) use explored::begin;
pub(crate) use source::{AtomicBool, AtomicU32, Condvar, Mutex, MutexGuard};
pub(crate) use source::{PATIENCE, cores, now, pause, thread, thread_local, wait_until};
