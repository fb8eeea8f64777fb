//! Work in parts, which several threads may take.
//!
//! What makes a large block is cut into parts that don't touch each other. The thread that has the work calls [`share`]:
//! it takes parts, and so does whoever of its [`Crew`] has nothing else to do, until none is left. Which thread takes
//! which part, and in what order, is nothing that a result may depend on; the cut is a matter of the work alone.
//!
//! A part should take long beside the handing over, which is some microseconds, and short beside what people wait for:
//! a tenth of a millisecond to one. Nobody is interrupted inside a part. Between parts everybody looks whether the task
//! [should stop](crate::task::check).

use std::sync::{Arc, PoisonError};
use std::time::Instant;

use crate::panics;
use crate::sync::{Condvar, Mutex, MutexGuard, now};
use crate::task::{self, Stopped};

/// Threads that may take parts of what one of them runs.
pub(crate) trait Crew: Send + Sync {
    /// Does all parts of the work, and returns when nobody is in the midst of one.
    fn share(&self, work: &Arc<Shared>);
}

/// Whether others may take parts of what runs on this thread.
pub(crate) fn has_crew() -> bool {
    task::with_current(|current| current.is_some_and(|current| current.crew.is_some()))
}

/// Does parts `0..count`, each once, in any order, here and on other threads. When it returns, nobody has a handle to
/// `part` any more.
///
/// # Errors
/// What went wrong first; parts that hadn't begun then were left out. The same when the task should stop.
///
/// # Panics
/// When a part does, with its message.
pub(crate) fn share<E: From<Stopped> + Send + 'static>(
    count: usize,
    part: impl Fn(usize) -> Result<(), E> + Send + Sync + 'static,
) -> Result<(), E> {
    let Some(current) = task::current() else {
        return (0..count).try_for_each(part);
    };
    let failed = Arc::new(Mutex::new(None));
    let note = failed.clone();
    let stop = current.clone();
    let run = move |at: usize| {
        let result = stop.check().map_err(E::from).and_then(|()| part(at));
        let is_ok = result.is_ok();
        if let Err(error) = result {
            lock(&note).get_or_insert(error);
        }
        is_ok
    };
    let work = Arc::new(Shared::new(count, run));
    match &current.crew {
        Some(crew) => crew.share(&work),
        None => while work.take(0) {},
    }
    if let Some(message) = work.close() {
        std::panic::panic_any(message);
    }
    let failure = lock(&failed).take();
    failure.map_or(Ok(()), Err)
}

type Run = dyn Fn(usize) -> bool + Send + Sync;

/// Work under way, as the threads that take its parts see it.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// The last part that was under way is done, and none is left.
    is_over: Condvar,
}

struct State {
    /// Whether more parts may begin, of each that it does. `None` once the work is closed.
    run: Option<Arc<Run>>,
    next: usize,
    count: usize,
    under_way: usize,
    panic: Option<String>,
    stints: Vec<Stint>,
}

/// One part that somebody did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stint {
    /// Whoever called [`Shared::take`], by its number.
    pub(crate) worker: u16,
    pub(crate) began: Instant,
    pub(crate) ended: Instant,
}

impl Shared {
    fn new(count: usize, run: impl Fn(usize) -> bool + Send + Sync + 'static) -> Self {
        let run: Arc<Run> = Arc::new(run);
        let (panic, stints) = (None, Vec::new());
        let state = State { run: Some(run), next: 0, count, under_way: 0, panic, stints };
        Shared { state: Mutex::new(state), is_over: Condvar::new() }
    }

    /// How many parts haven't begun.
    pub(crate) fn left(&self) -> usize {
        let state = lock(&self.state);
        state.count - state.next
    }

    /// Does a part; `false` if none is left. A panic is the owner's to tell.
    pub(crate) fn take(&self, worker: u16) -> bool {
        let mut state = lock(&self.state);
        let Some(run) = state.run.clone().filter(|_| state.next < state.count) else { return false };
        let part = state.next;
        (state.next, state.under_way) = (part + 1, state.under_way + 1);
        drop(state);
        let began = now();
        let result = panics::caught(|| run(part));
        // Before the part counts as done: the owner goes on then, and what the work holds has to be gone.
        drop(run);
        let stint = Stint { worker, began, ended: now() };
        let mut state = lock(&self.state);
        state.stints.push(stint);
        state.under_way -= 1;
        if result != Ok(true) {
            state.next = state.count;
        }
        if let Err(message) = result {
            state.panic.get_or_insert(message);
        }
        if state.under_way == 0 && state.next == state.count {
            self.is_over.notify_all();
        }
        true
    }

    /// Waits until no part is under way and none is left, and tells who did which.
    pub(crate) fn wait(&self) -> Vec<Stint> {
        let mut state = lock(&self.state);
        while state.under_way > 0 || state.next < state.count {
            state = self.is_over.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::take(&mut state.stints)
    }

    /// Lets go of the work; the message of a part that panicked.
    fn close(&self) -> Option<String> {
        let mut state = lock(&self.state);
        let (run, panic) = (state.run.take(), state.panic.take());
        drop(state);
        drop(run);
        panic
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::sync::AtomicBool;
    use crate::task::Current;

    /// Two threads that both have to take part, for as long as `count` parts last.
    struct Pair;

    impl Crew for Pair {
        fn share(&self, work: &Arc<Shared>) {
            std::thread::scope(|scope| {
                scope.spawn(|| while work.take(1) {});
                while work.take(0) {}
                work.wait();
            });
        }
    }

    fn inside<T>(cancelled: &Arc<AtomicBool>, run: impl FnOnce() -> T) -> T {
        let crew: Option<Arc<dyn Crew>> = Some(Arc::new(Pair));
        let current = Current { cancelled: cancelled.clone(), limit: None, owner: Arc::new(()), crew };
        let _entered = task::enter(current);
        run()
    }

    #[test]
    fn every_part_is_done_once_and_by_several() {
        let none = Arc::new(AtomicBool::new(false));
        let done: Arc<Vec<AtomicUsize>> = Arc::new((0..6).map(|_| AtomicUsize::new(0)).collect());
        let (count, barrier) = (done.clone(), Barrier::new(2));
        let result = inside(&none, || {
            share(6, move |part| {
                count[part].fetch_add(1, Ordering::Relaxed);
                barrier.wait();
                Ok::<_, Stopped>(())
            })
        });
        assert_eq!(result, Ok(()));
        assert!(done.iter().all(|count| count.load(Ordering::Relaxed) == 1));
        assert_eq!(Arc::strong_count(&done), 1, "nobody holds on to the work");
    }

    #[test]
    fn nothing_begins_after_an_error_a_panic_or_a_cancellation() {
        let none = Arc::new(AtomicBool::new(false));
        let begun = Arc::new(AtomicUsize::new(0));
        let count = begun.clone();
        let timeout = Stopped::Timeout(std::time::Duration::ZERO);
        let result = inside(&none, || {
            share(1000, move |_| {
                count.fetch_add(1, Ordering::Relaxed);
                Err(timeout)
            })
        });
        assert_eq!(result, Err(timeout));
        assert!(begun.load(Ordering::Relaxed) <= 2);

        let result = inside(&none, || {
            panics::caught(|| {
                share(1000, |part| if part == 3 { panic!("part 3") } else { Ok::<_, Stopped>(()) })
            })
        });
        assert_eq!(result, Err("part 3".to_owned()));

        let (cancelled, begun) = (none.clone(), Arc::new(AtomicUsize::new(0)));
        let count = begun.clone();
        let result = inside(&none, || {
            share(1000, move |_| {
                count.fetch_add(1, Ordering::Relaxed);
                cancelled.store(true, Ordering::Relaxed);
                Ok(())
            })
        });
        assert_eq!(result, Err(Stopped::Cancelled));
        assert!(begun.load(Ordering::Relaxed) <= 2);
    }

    #[test]
    fn without_a_crew_all_parts_are_done_here() {
        let sum = Arc::new(AtomicUsize::new(0));
        let added = sum.clone();
        assert!(!has_crew());
        let result = share(5, move |part| {
            added.fetch_add(part, Ordering::Relaxed);
            Ok::<_, Stopped>(())
        });
        assert_eq!((result, sum.load(Ordering::Relaxed)), (Ok(()), 10));
    }
}
