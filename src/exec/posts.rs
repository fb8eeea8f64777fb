//! Attempts that must end in time, and those that were given up.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::exec::active::Active;
use crate::ids::StepId;
use crate::reactor::{GrantId, RunId};

/// How much longer than its timeout an attempt is waited for: it may be about to [ask](crate::task::check).
pub(super) fn grace(limit: Duration) -> Duration {
    limit.clamp(Duration::from_millis(100), Duration::from_secs(5))
}

/// An attempt under a timeout.
pub(super) struct Post {
    pub(super) active: Arc<Active>,
    pub(super) run: RunId,
    pub(super) step: StepId,
    pub(super) grant: GrantId,
    pub(super) limit: Duration,
    pub(super) started: Instant,
    pub(super) worker: u16,
}

/// Attempts by ticket.
#[derive(Default)]
pub(super) struct Posts {
    count: u64,
    /// `None` for one that was given up and still runs.
    open: HashMap<u64, Option<Post>>,
}

impl Posts {
    pub(super) fn open(&mut self, post: Post) -> u64 {
        self.count += 1;
        self.open.insert(self.count, Some(post));
        self.count
    }

    /// The attempt has ended: whether it had been given up.
    pub(super) fn close(&mut self, ticket: u64) -> bool {
        matches!(self.open.remove(&ticket), Some(None))
    }

    /// Gives an attempt up, if it is still under way.
    pub(super) fn give_up(&mut self, ticket: u64) -> Option<Post> {
        self.open.get_mut(&ticket)?.take()
    }
}
