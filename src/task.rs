//! The task that runs on this thread: whether it should stop.
//!
//! Nobody can interrupt a function from outside. One that may take long asks [`check`] now and then, and returns when
//! the answer is an error: then a cancelled run ends at once, and a `timeout` is kept to the moment. One that never asks
//! is given up when its time is long over; the run goes on without the memory that it holds.
//!
//! ```
//! use outcrop::collections::Delayed;
//! use outcrop::session::Session;
//! use outcrop::task;
//!
//! let sum = Delayed::<u64>::try_call("sum", (), || {
//!     let mut sum = 0;
//!     for round in 0..100 {
//!         task::check()?;
//!         sum += round;
//!     }
//!     Ok::<_, task::Stopped>(sum)
//! });
//! assert_eq!(*Session::new(Default::default()).compute(&sum)?, 4950);
//! # Ok::<(), outcrop::error::Error>(())
//! ```

use std::any::Any;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::parts::Crew;
use crate::sync::{AtomicBool, now};
use crate::units::format_seconds;

/// The task should stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// Its run is cancelled.
    #[error("the run is cancelled")]
    Cancelled,
    /// Its time is up.
    #[error("its timeout of {} is over", format_seconds(.0.as_secs_f64()))]
    Timeout(Duration),
}

/// Whether the task that runs on this thread may go on; always, where none does. About as cheap as reading the clock
/// under a `timeout`, and cheaper without one.
///
/// # Errors
/// Its run is cancelled; its `timeout` is over. Return it: the attempt has failed whatever it makes.
pub fn check() -> Result<(), Stopped> {
    with_current(|current| current.map_or(Ok(()), Current::check))
}

/// What runs on a thread.
#[derive(Clone)]
pub(crate) struct Current {
    pub(crate) cancelled: Arc<AtomicBool>,
    /// When its time is up, and how long it was.
    pub(crate) limit: Option<(Instant, Duration)>,
    /// Who runs it: for work that is submitted from inside.
    pub(crate) owner: Arc<dyn Any + Send + Sync>,
    /// Who may take [parts](crate::parts) of it, if anybody.
    pub(crate) crew: Option<Arc<dyn Crew>>,
}

impl Current {
    /// As [`check`], from any thread.
    pub(crate) fn check(&self) -> Result<(), Stopped> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(Stopped::Cancelled);
        }
        match self.limit {
            Some((deadline, limit)) if now() >= deadline => Err(Stopped::Timeout(limit)),
            _ => Ok(()),
        }
    }
}

crate::sync::thread_local! {
    static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) };
}

/// Until the guard is dropped, this thread runs `current`.
pub(crate) fn enter(current: Current) -> Entered {
    let limit = current.limit;
    Entered { before: CURRENT.with(|now| now.replace(Some(current))), limit }
}

/// What runs on this thread.
pub(crate) fn current() -> Option<Current> {
    with_current(|current| current.cloned())
}

pub(crate) fn with_current<T>(look: impl FnOnce(Option<&Current>) -> T) -> T {
    CURRENT.with(|current| look(current.borrow().as_ref()))
}

/// Puts back what ran before.
pub(crate) struct Entered {
    before: Option<Current>,
    limit: Option<(Instant, Duration)>,
}

impl Entered {
    /// Whether what runs has a time that is up at some point.
    pub(crate) fn has_limit(&self) -> bool {
        self.limit.is_some()
    }

    /// How long what runs has taken and how long it may, once its time is up: by the clock that [`check`] goes by, so
    /// that whoever was told to stop is late here too.
    pub(crate) fn late(&self) -> Option<(Duration, Duration)> {
        let (deadline, limit) = self.limit?;
        now().checked_duration_since(deadline).map(|over| (limit + over, limit))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.with(|current| current.replace(self.before.take()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_asked_to_stop_when_cancelled_or_late() {
        assert_eq!(check(), Ok(()));
        let cancelled = Arc::new(AtomicBool::new(false));
        let current =
            |limit| Current { cancelled: cancelled.clone(), limit, owner: Arc::new(()), crew: None };
        let outer = enter(current(None));
        assert_eq!(check(), Ok(()));
        {
            let limit = Duration::from_secs(1000);
            let inner = enter(current(Some((now() + limit, limit))));
            assert_eq!((check(), inner.late()), (Ok(()), None));
        }
        {
            let limit = Duration::from_millis(1);
            let inner = enter(current(Some((now(), limit))));
            assert_eq!(check(), Err(Stopped::Timeout(limit)));
            assert!(inner.late().is_some_and(|(took, of)| took >= limit && of == limit));
        }
        assert_eq!(check(), Ok(()));
        cancelled.store(true, Ordering::Relaxed);
        assert_eq!(check(), Err(Stopped::Cancelled));
        drop(outer);
        assert_eq!(check(), Ok(()));
    }
}
