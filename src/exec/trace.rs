//! What ran when and where: one record of 16 bytes for each attempt at a step, and for each part that others took of it.

use crate::ids::StepId;

/// Records in the order in which attempts were reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Of a fixed length each, but for the last: a list that doubled would hold twice its content for a while.
    pages: Vec<Vec<Record>>,
}

/// Records in a page.
const PAGE: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Record {
    /// Nanoseconds since the run began; 48 bits are three days.
    start: u64,
    nanoseconds: u32,
    step: u32,
}

const WORKER_SHIFT: u32 = 48;
const FAILED: u64 = 1 << 63;
const PART: u64 = 1 << 62;

/// One attempt at a step, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traced {
    /// The step.
    pub step: StepId,
    /// The worker, by its number in the engine.
    pub worker: u16,
    /// Nanoseconds since the run began.
    pub start: u64,
    /// Nanoseconds that it took; those of more than four seconds are cut to that.
    pub nanoseconds: u32,
    /// Whether it failed.
    pub failed: bool,
    /// Whether it is no attempt, but a part of one that this worker took from another.
    pub is_part: bool,
}

impl Trace {
    pub(super) fn push(&mut self, attempt: Traced) {
        let start = attempt.start & ((1 << WORKER_SHIFT) - 1);
        let worker = u64::from(attempt.worker & 0x3FFF) << WORKER_SHIFT;
        let failed = if attempt.failed { FAILED } else { 0 };
        let part = if attempt.is_part { PART } else { 0 };
        let record = Record {
            start: start | worker | failed | part,
            nanoseconds: attempt.nanoseconds,
            step: attempt.step.0,
        };
        match self.pages.last_mut().filter(|page| page.len() < PAGE) {
            Some(page) => page.push(record),
            None => {
                let mut page = Vec::with_capacity(PAGE);
                page.push(record);
                self.pages.push(page);
            }
        }
    }

    /// Attempts, and parts of them.
    pub fn len(&self) -> usize {
        self.pages.iter().map(Vec::len).sum()
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.pages.len() * PAGE * size_of::<Record>()
    }

    /// Whether nothing was tried.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// All attempts, in the order in which they were reported.
    pub fn iter(&self) -> impl Iterator<Item = Traced> + '_ {
        self.pages.iter().flatten().map(|record| Traced {
            step: StepId(record.step),
            worker: ((record.start & !(FAILED | PART)) >> WORKER_SHIFT) as u16,
            start: record.start & ((1 << WORKER_SHIFT) - 1),
            nanoseconds: record.nanoseconds,
            failed: record.start & FAILED != 0,
            is_part: record.start & PART != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_come_back_as_they_were() {
        let attempt = |at: u32| Traced {
            step: StepId(at),
            worker: (at % 1500) as u16,
            start: u64::from(at) * 1_000_003,
            nanoseconds: at * 7,
            failed: at.is_multiple_of(11),
            is_part: at.is_multiple_of(13),
        };
        let mut trace = Trace::default();
        (0..10_000).for_each(|at| trace.push(attempt(at)));
        assert_eq!(trace.len(), 10_000);
        assert!(trace.iter().eq((0..10_000).map(attempt)));
        assert_eq!(size_of::<Record>(), 16);
    }
}
