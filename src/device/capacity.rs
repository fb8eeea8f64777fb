//! A bound on the bytes of a device's buffers, whatever its driver would give.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that buffers may take in all, and what they take.
pub(super) struct Capacity {
    bytes: usize,
    used: AtomicUsize,
    peak: AtomicUsize,
}

impl Capacity {
    pub(super) fn new(bytes: usize) -> Self {
        Capacity { bytes, used: AtomicUsize::new(0), peak: AtomicUsize::new(0) }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// The most bytes that were in use at one time.
    pub(super) fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }

    /// Takes `bytes` if they fit.
    pub(super) fn take(&self, bytes: usize) -> bool {
        let room = |used: usize| used.checked_add(bytes).filter(|&sum| sum <= self.bytes);
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room);
        if let Ok(before) = taken {
            self.peak.fetch_max(before + bytes, Ordering::Relaxed);
        }
        taken.is_ok()
    }

    pub(super) fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}
