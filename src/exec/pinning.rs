//! Host workers on cores of their own.

/// The cores that this process may use, in their order; empty where the system can't tell or pin.
#[cfg(target_os = "linux")]
pub(super) fn cores() -> Vec<usize> {
    use rustix::thread::{CpuSet, sched_getaffinity};
    let allowed = sched_getaffinity(None).ok();
    let is_in = |set: &CpuSet| (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect();
    allowed.as_ref().map_or_else(Vec::new, is_in)
}

/// Keeps the calling thread on one core. Where that fails the thread runs anywhere, which is slower at worst.
#[cfg(target_os = "linux")]
pub(super) fn pin(core: usize) {
    use rustix::thread::{CpuSet, sched_setaffinity};
    let mut set = CpuSet::new();
    set.set(core);
    let _ = sched_setaffinity(None, &set);
}

#[cfg(not(target_os = "linux"))]
pub(super) fn cores() -> Vec<usize> {
    Vec::new()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn pin(_core: usize) {}

/// Whether threads can be pinned on this system.
pub const CAN_PIN: bool = cfg!(target_os = "linux");
