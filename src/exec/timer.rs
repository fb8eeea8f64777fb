//! What is due later: one thread that sleeps until then.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::PoisonError;
use std::time::Instant;

use crate::sync::{Condvar, Mutex, MutexGuard, now, wait_until};

/// Things by the time when they are due.
pub(super) struct Timer<T> {
    state: Mutex<State<T>>,
    sooner: Condvar,
}

struct State<T> {
    due: BinaryHeap<Reverse<Due<T>>>,
    count: u64,
    is_over: bool,
}

/// Ordered by time, then in the order in which they were set.
struct Due<T> {
    at: Instant,
    number: u64,
    what: T,
}

impl<T> Timer<T> {
    pub(super) fn new() -> Self {
        Timer {
            state: Mutex::new(State { due: BinaryHeap::new(), count: 0, is_over: false }),
            sooner: Condvar::new(),
        }
    }

    /// `what` comes out of [`next`](Timer::next) at this time.
    pub(super) fn set(&self, at: Instant, what: T) {
        let mut state = self.lock();
        let number = state.count;
        state.count += 1;
        let is_first = state.due.peek().is_none_or(|Reverse(first)| at < first.at);
        state.due.push(Reverse(Due { at, number, what }));
        drop(state);
        if is_first {
            self.sooner.notify_one();
        }
    }

    /// What is due next, when it is; `None` once the timer is [closed](Timer::close).
    pub(super) fn next(&self) -> Option<T> {
        let mut state = self.lock();
        loop {
            if state.is_over {
                return None;
            }
            let Some(Reverse(first)) = state.due.peek() else {
                state = self.sooner.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let at = first.at;
            if at <= now() {
                return state.due.pop().map(|Reverse(due)| due.what);
            }
            state = wait_until(&self.sooner, state, at);
        }
    }

    pub(super) fn close(&self) {
        self.lock().is_over = true;
        self.sooner.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> PartialEq for Due<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.number) == (other.at, other.number)
    }
}

impl<T> Eq for Due<T> {}

impl<T> PartialOrd for Due<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Due<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}
