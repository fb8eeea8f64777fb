//! The terms under which a task runs: what annotations ask of the executor, in numbers.

use std::time::Duration;

use smallvec::SmallVec;

/// What governs the attempts at a task. Steps refer to one by [`Step::terms`](super::Step::terms); a plan
/// has each only once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Terms {
    /// Attempts after the first.
    pub retries: u32,
    /// How long one attempt may take.
    pub timeout: Option<Duration>,
    /// What a running attempt takes of [`Plan::resources`](super::Plan::resources), by place there, in
    /// millionths; amounts are above 0.
    pub resources: SmallVec<[(u16, u64); 1]>,
    /// Bytes that the task holds beyond its operands and value: its kernel's scratch, or what a `memory`
    /// annotation asks for.
    pub reserve: u64,
    /// Bytes that a `memory` annotation asks for, where that is more than the planner's own figure; else 0.
    pub memory: u64,
}

impl Terms {
    /// The terms of a copy of the value: tried again as its maker is, but it computes nothing, and so takes no
    /// resources and no room beyond the value.
    pub fn of_copy(&self) -> Terms {
        Terms { retries: self.retries, timeout: self.timeout, ..Terms::default() }
    }
}

/// An amount of a resource in millionths, the ledger's unit: sums of shares are exact.
pub fn millionths(amount: f64) -> u64 {
    (amount * 1e6).round() as u64
}
