//! What runs really take of each memory, beside what the book granted.
//!
//! **Host.** Anonymous memory of the process that is resident (`/proc/self/statm`, resident less shared pages; Linux
//! only), beyond what it was when the run began, and without buffers that have come to wait for reuse since. That is
//! the process's: functions of all runs, and whatever else runs in it, so that no function can be told to be at fault.
//! Memory that was freed and that the C library keeps counts too. **Other devices.** What their allocators have given
//! out.
//!
//! It is read when the run begins and ends, and by the timer now and then: what comes and goes in between isn't seen.

use std::sync::PoisonError;

use crate::exec::engine::Devices;
use crate::machine::{DeviceId, MemoryId};
use crate::steps::Plan;
use crate::sync::Mutex;

/// Host memory may exceed what was granted by this much, and by an eighth of that: stacks, buffers of the C library and
/// of files.
const HOST_MARGIN: u64 = 64 << 20;
/// By this much for each step: the run's own books.
const STEP_MARGIN: u64 = 256;
/// By this much for each other device that takes part: its driver's.
const DRIVER_MARGIN: u64 = 256 << 20;
/// Allocators of devices round up.
const DEVICE_MARGIN: u64 = 1 << 20;

/// The use of one memory in a run: the most that was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The memory, by its number in the plan.
    pub memory: u16,
    /// Bytes in use beyond those in use at the beginning.
    pub used: u64,
    /// Bytes that were granted, to all runs that were under way.
    pub granted: u64,
    /// Bytes by which `used` may exceed `granted` without a word.
    pub margin: u64,
}

impl Usage {
    /// Bytes in use that nobody was granted, where that is more than the margin.
    pub fn excess(&self) -> Option<u64> {
        let excess = self.used.saturating_sub(self.granted);
        (excess > self.margin).then_some(excess)
    }
}

/// Looks at the memories that a plan uses.
pub(super) struct Meter {
    /// As they were at the beginning.
    before: Vec<Reading>,
    most: Mutex<Vec<Usage>>,
}

/// One memory at one time.
#[derive(Clone, Copy)]
struct Reading {
    memory: u16,
    device: DeviceId,
    /// Of the process, on the host.
    resident: Option<u64>,
    /// In buffers that are alive.
    alive: u64,
    pooled: u64,
}

impl Meter {
    pub(super) fn new(plan: &Plan, devices: &Devices) -> Self {
        let mut places = vec![(MemoryId::HOST, DeviceId::HOST)];
        for step in plan.steps.classes() {
            if step.device != DeviceId::HOST && step.memory != MemoryId::HOST {
                let place = (step.memory, step.device);
                places.extend((!places.contains(&place)).then_some(place));
            }
        }
        let drivers = (places.len() as u64 - 1) * DRIVER_MARGIN;
        let host_margin = HOST_MARGIN + plan.steps.len() as u64 * STEP_MARGIN + drivers;
        let before: Vec<Reading> =
            places.iter().filter_map(|&(memory, device)| Reading::of(memory, device, devices)).collect();
        let usage = |reading: &Reading| {
            let margin = if reading.device == DeviceId::HOST { host_margin } else { DEVICE_MARGIN };
            Usage { memory: reading.memory, margin, ..Usage::default() }
        };
        let most = Mutex::new(before.iter().map(usage).collect());
        Meter { before, most }
    }

    /// Takes a look; `granted` tells the bytes of a memory that are granted at the time.
    pub(super) fn look(&self, devices: &Devices, granted: impl Fn(usize) -> u64) {
        let mut most = self.most.lock().unwrap_or_else(PoisonError::into_inner);
        let readings: Vec<Option<Reading>> = self
            .before
            .iter()
            .map(|before| Reading::of(MemoryId(before.memory), before.device, devices))
            .collect();
        let foreign: u64 = readings.iter().flatten().skip(1).map(|reading| reading.alive).sum();
        for ((before, reading), most) in self.before.iter().zip(readings).zip(&mut *most) {
            let Some(reading) = reading else { continue };
            let alive = reading.alive.saturating_sub(before.alive);
            let granted = granted(usize::from(before.memory));
            match (reading.resident, before.resident) {
                (Some(resident), Some(was)) => {
                    let pooled = reading.pooled.saturating_sub(before.pooled);
                    // A software adapter's memory is the process's as well.
                    let used = resident.saturating_sub(was).saturating_sub(pooled + foreign);
                    most.used = most.used.max(used);
                    // Buffers that were let go of a moment ago are no longer granted, and still alive.
                    most.granted = most.granted.max(granted).max(alive);
                }
                _ => {
                    most.used = most.used.max(alive);
                    most.granted = most.granted.max(granted);
                }
            }
        }
    }

    /// What was seen, for a run that was itself granted `peaks`. Nothing of the host where it can't be measured.
    pub(super) fn usage(&self, peaks: &[u64]) -> Vec<Usage> {
        let most = self.most.lock().unwrap_or_else(PoisonError::into_inner);
        let is_measured =
            |at: &usize| self.before[*at].device != DeviceId::HOST || self.before[*at].resident.is_some();
        let usage = |at: usize| {
            let mut usage = most[at];
            usage.granted = usage.granted.max(peaks.get(usize::from(usage.memory)).copied().unwrap_or(0));
            if self.before[at].device == DeviceId::HOST {
                usage.margin += usage.granted / 8;
            }
            usage
        };
        (0..most.len()).filter(is_measured).map(usage).collect()
    }
}

impl Reading {
    fn of(memory: MemoryId, device: DeviceId, devices: &Devices) -> Option<Reading> {
        let allocator = devices.device(device)?.memory();
        let resident = if device == DeviceId::HOST { resident_anonymous() } else { None };
        let (alive, pooled) = (allocator.used() as u64, allocator.pooled() as u64);
        Some(Reading { memory: memory.0, device, resident, alive, pooled })
    }
}

/// Resident anonymous memory of this process, in bytes; `None` where the system doesn't say. Takes some microseconds.
/// The kernel counts in batches for each thread, and may be off by some hundred KiB.
#[cfg(target_os = "linux")]
pub fn resident_anonymous() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = statm.split(' ').skip(1).map(|field| field.parse::<u64>().ok());
    let (resident, shared) = (pages.next()??, pages.next()??);
    Some(resident.saturating_sub(shared) * rustix::param::page_size() as u64)
}

/// Resident anonymous memory of this process, in bytes; `None` where the system doesn't say.
#[cfg(not(target_os = "linux"))]
pub fn resident_anonymous() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excess_is_what_is_beyond_the_margin() {
        let usage = Usage { memory: 0, used: 300, granted: 100, margin: 150 };
        assert_eq!(usage.excess(), Some(200));
        assert_eq!(Usage { margin: 200, ..usage }.excess(), None);
        assert_eq!(Usage { used: 90, ..usage }.excess(), None);
    }
}
