//! Shuttle's, and a clock that tests set.

use std::cell::Cell;
use std::sync::{OnceLock, PoisonError};
use std::time::{Duration, Instant};

pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicU32};
pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard};
pub(crate) use shuttle::{thread, thread_local};

/// How often a thread looks for what it waits for before it sleeps, with a [pause] between two looks.
pub(crate) const PATIENCE: u32 = 1;

/// So much passes whenever somebody looks at the clock: steps are short, and none takes no time.
const TICK: Duration = Duration::from_micros(1);

std::thread_local! {
    /// What time it is, since the beginning, and when time stops.
    static CLOCK: Cell<(Duration, Duration)> = const { Cell::new((Duration::ZERO, Duration::ZERO)) };
}

/// Time begins, and stops at `end`: what is due later never comes.
pub(crate) fn begin(end: Duration) {
    CLOCK.set((Duration::ZERO, end));
}

/// Between two looks.
pub(crate) fn pause() {
    thread::yield_now();
}

/// As many threads as any test has can run at once.
pub(crate) fn cores() -> usize {
    64
}

/// Time passes.
pub(crate) fn pass(time: Duration) {
    let (now, end) = CLOCK.get();
    CLOCK.set((now + time, end));
}

/// What time it is.
pub(crate) fn now() -> Instant {
    pass(TICK);
    beginning() + CLOCK.get().0
}

/// Waits until somebody notifies, or until `at`; or less. Whenever this thread's turn comes before anybody else has
/// notified, it is `at`: what is due in an hour may be due before another thread's next step.
pub(crate) fn wait_until<'a, T>(told: &Condvar, guard: MutexGuard<'a, T>, at: Instant) -> MutexGuard<'a, T> {
    let (now, end) = CLOCK.get();
    let at = at.saturating_duration_since(beginning());
    if at > end {
        return told.wait(guard).unwrap_or_else(PoisonError::into_inner);
    }
    thread::yield_now();
    CLOCK.set((now.max(at), end));
    guard
}

fn beginning() -> Instant {
    static BEGINNING: OnceLock<Instant> = OnceLock::new();
    *BEGINNING.get_or_init(Instant::now)
}
