//! Attempts that must end in time, and those that were given up.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::exec::active::Active;
use crate::ids::StepId;
use crate::reactor::{GrantId, RunId};
use crate::steps::Lane;

/// How much longer than its timeout an attempt is waited for: it may be about to [ask](crate::task::check).
pub(super) fn grace(limit: Duration) -> Duration {
    limit.clamp(Duration::from_millis(500), Duration::from_secs(5))
}

/// Attempts of one worker that are waited for no longer than until they are due.
pub(super) struct Post {
    pub(super) active: Arc<Active>,
    pub(super) run: RunId,
    /// One step, or those that a device's worker has under way together.
    pub(super) steps: Vec<(StepId, GrantId)>,
    /// What they were given each.
    pub(super) limit: Duration,
    pub(super) started: Instant,
    pub(super) due: Instant,
    pub(super) worker: u16,
    pub(super) lane: Lane,
    /// Whether a driver is waited for: one that doesn't answer is no device any more.
    pub(super) is_device: bool,
}

/// Attempts by ticket. A post of several steps has a ticket for each, and goes by the first.
#[derive(Default)]
pub(super) struct Posts {
    count: u64,
    /// `None` for one that was given up and still runs.
    open: HashMap<u64, Option<Post>>,
    /// For each lane that is looked after now and then: the post of its worker.
    looked_after: HashMap<Lane, u64>,
}

impl Posts {
    pub(super) fn open(&mut self, post: Post) -> u64 {
        let ticket = self.count + 1;
        self.count += post.steps.len() as u64;
        self.open.insert(ticket, Some(post));
        ticket
    }

    /// The lane's worker is to be looked after by its post of this ticket: whether nobody looked after the lane.
    pub(super) fn look_after(&mut self, lane: Lane, ticket: u64) -> bool {
        self.looked_after.insert(lane, ticket).is_none()
    }

    /// When the post of a lane that is looked after is due, and its ticket. A lane whose worker has nothing under way is
    /// looked after no longer.
    pub(super) fn look(&mut self, lane: Lane) -> Option<(u64, Instant)> {
        let ticket = *self.looked_after.get(&lane)?;
        let due = self.open.get(&ticket).and_then(Option::as_ref).map(|post| post.due);
        if due.is_none() {
            self.looked_after.remove(&lane);
        }
        Some((ticket, due?))
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
