//! Faults that a test asks for, and what has been counted towards them.

use super::variables::variable;
use crate::result;

/// What is counted, and may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// Allocations of device memory, which fail with out of memory.
    Allocation = 1,
    /// Launches, which fail where the stream comes to them: the context is lost.
    Launch = 2,
    /// Calls of the driver with the device current, which lose the device.
    Call = 3,
    /// Launches, which are refused at once: the context goes on.
    Refusal = 4,
    /// Copies between host and device or devices, which take so many microseconds longer.
    Copy = 5,
}

impl Kind {
    pub const ALL: [Kind; 5] = [Kind::Allocation, Kind::Launch, Kind::Call, Kind::Refusal, Kind::Copy];

    /// The kind of a number at the border.
    pub fn numbered(number: u32) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| *kind as u32 == number)
    }

    fn named(name: &str) -> Option<Kind> {
        Some(match name {
            "oom" => Kind::Allocation,
            "launch" => Kind::Launch,
            "lost" => Kind::Call,
            "refuse" => Kind::Refusal,
            "slow" => Kind::Copy,
            _ => return None,
        })
    }
}

/// A device's counts and what is to fail.
#[derive(Debug, Default)]
pub struct Faults {
    counts: [u64; 5],
    /// The count at which a kind fails, once; of copies the microseconds.
    at: [Option<u64>; 5],
}

impl Faults {
    /// Those of `OUTCROP_CUDA_FAULTS` for a device: `0:oom=3;0:slow=500;1:lost=40`.
    ///
    /// # Errors
    /// What in it isn't understood.
    pub fn described(device: usize) -> Result<Faults, String> {
        let mut faults = Faults::default();
        let text = variable("OUTCROP_CUDA_FAULTS").unwrap_or_default();
        for entry in text.split(';').map(str::trim).filter(|entry| !entry.is_empty()) {
            let read = || {
                let (own, fault) = entry.split_once(':')?;
                let (name, count) = fault.split_once('=')?;
                Some((
                    own.trim().parse::<usize>().ok()?,
                    Kind::named(name.trim())?,
                    count.trim().parse().ok()?,
                ))
            };
            let (own, kind, count) =
                read().ok_or(format!("OUTCROP_CUDA_FAULTS: '{entry}' isn't understood"))?;
            if own == device {
                faults.plan(kind, count);
            }
        }
        Ok(faults)
    }

    /// Lets the `count`-th of the kind from here on fail; of copies, each take `count` microseconds longer. 0 plans
    /// none.
    pub fn plan(&mut self, kind: Kind, count: u64) {
        let base = if kind == Kind::Copy { 0 } else { self.counted(kind) };
        self.at[kind as usize - 1] = (count > 0).then_some(base + count);
    }

    /// Counts one; says whether it is the one to fail.
    pub fn count(&mut self, kind: Kind) -> bool {
        let index = kind as usize - 1;
        self.counts[index] += 1;
        let fails = kind != Kind::Copy && self.at[index] == Some(self.counts[index]);
        if fails {
            self.at[index] = None;
        }
        fails
    }

    pub fn counted(&self, kind: Kind) -> u64 {
        self.counts[kind as usize - 1]
    }

    /// How much longer each copy takes, in microseconds.
    pub fn copy_delay(&self) -> u64 {
        self.at[Kind::Copy as usize - 1].unwrap_or(0)
    }
}

/// The code of a device that is lost: what a card that has fallen off the bus answers.
pub const LOST: i32 = result::UNKNOWN;
