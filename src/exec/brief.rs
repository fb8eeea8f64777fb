//! Workers that do short steps, and will look for more in no time: others leave short steps to them.
//!
//! That a step is short is a guess. So nobody is trusted to be back for longer than between two
//! [looks](Workers::doubt): a step that takes its time after all, or that waits for work of its own, holds up others of
//! its lane no longer than that.

use crate::steps::Lane;

/// For each lane, how many there are.
pub(super) struct Workers {
    counts: Vec<usize>,
    round: u64,
}

/// A worker that is counted.
pub(super) struct Brief {
    lane: Lane,
    round: u64,
}

impl Workers {
    pub(super) fn new(lanes: usize) -> Self {
        Workers { counts: vec![0; lanes], round: 0 }
    }

    /// A worker of the lane begins short steps.
    pub(super) fn away(&mut self, lane: Lane) -> Brief {
        self.counts[usize::from(lane)] += 1;
        Brief { lane, round: self.round }
    }

    /// It is back, if it was away.
    pub(super) fn back(&mut self, brief: Option<Brief>) {
        if let Some(Brief { lane, .. }) = brief.filter(|brief| brief.round == self.round) {
            self.counts[usize::from(lane)] -= 1;
        }
    }

    pub(super) fn any(&self, lane: Lane) -> bool {
        self.counts[usize::from(lane)] > 0
    }

    /// Counts nobody any more who is away.
    pub(super) fn doubt(&mut self) {
        self.counts.fill(0);
        self.round += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_trusted_past_a_look() {
        let mut workers = Workers::new(2);
        let (first, second) = (workers.away(1), workers.away(1));
        assert_eq!((workers.any(0), workers.any(1)), (false, true));
        workers.back(Some(first));
        assert!(workers.any(1));
        workers.doubt();
        assert!(!workers.any(1));
        let third = workers.away(1);
        workers.back(Some(second));
        assert!(workers.any(1), "one that was doubted counts no more when it is back");
        workers.back(Some(third));
        assert!(!workers.any(1));
    }
}
