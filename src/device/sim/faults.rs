//! Which operations fail, and how.

use std::collections::BTreeMap;

/// What happens to one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It fails; the next one works.
    Fails,
    /// The memory is used up, just then.
    OutOfMemory,
    /// The memory is used up, from then on.
    Exhausted,
    /// The device is gone, for good.
    Lost,
    /// The call doesn't return until somebody [releases](super::SimDevice::release) the device; then it fails.
    Hangs,
}

/// Faults by the number of the operation, counted from 0 over launches and copies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultPlan(BTreeMap<u64, Fault>);

impl FaultPlan {
    /// Nothing fails.
    pub fn none() -> Self {
        FaultPlan::default()
    }

    /// Also this operation.
    pub fn with(mut self, operation: u64, fault: Fault) -> Self {
        self.0.insert(operation, fault);
        self
    }

    /// To each of the first `operations` happens one of `kinds` with probability `1 / one_in`, as the seed says. A kind
    /// that is named twice is twice as likely.
    pub fn seeded(seed: u64, operations: u64, one_in: u64, kinds: &[Fault]) -> Self {
        let mut state = seed;
        let mut next = move || {
            // SplitMix64 (Steele, Lea and Flood, 2014).
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            mixed ^ (mixed >> 31)
        };
        let happens = |operation| {
            let strikes = next() % one_in.max(1) == 0 && !kinds.is_empty();
            strikes.then(|| (operation, kinds[(next() % kinds.len() as u64) as usize]))
        };
        FaultPlan((0..operations).filter_map(happens).collect())
    }

    /// What happens to this operation.
    pub fn at(&self, operation: u64) -> Option<Fault> {
        self.0.get(&operation).copied()
    }
}
