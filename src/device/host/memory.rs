//! The host's memory: aligned buffers from a pool, inside a hard limit.
//!
//! Buffers of 2 MiB and more start at a 2 MiB border and ask for huge pages: the first touch of a fresh
//! output in 4 KiB pages costs more than most arithmetic on it. Freed buffers wait in a pool for the next
//! request of their size. Alive and pooled buffers together never exceed the capacity, nor the most that was
//! ever alive at once.

use std::alloc::Layout;
use std::any::Any;
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard};

use memmap2::MmapMut;

use crate::block::{Buffer, Storage};
use crate::device::contract::{DeviceError, Memory};

/// Buffers start at a multiple of this, and their sizes are rounded up to it: a cache line, and the widest
/// vector.
const ALIGNMENT: usize = 64;
/// Size of a huge page, and of the smallest buffer that asks for them.
const HUGE_PAGE: usize = 2 << 20;

/// The host's memory.
pub struct HostMemory(Arc<Pool>);

struct Pool {
    device: String,
    capacity: Option<u64>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    used: usize,
    peak: usize,
    pooled: usize,
    free: BTreeMap<usize, Vec<Allocation>>,
}

impl HostMemory {
    /// A memory that gives out at most `capacity` bytes; `None` leaves the limit to the operating system.
    pub fn new(capacity: Option<u64>) -> Self {
        HostMemory(Arc::new(Pool { device: "host".to_owned(), capacity, state: Mutex::default() }))
    }

    /// The most bytes that were alive at once.
    pub fn peak(&self) -> usize {
        self.0.lock().peak
    }

    /// The limit, in bytes.
    pub fn capacity(&self) -> Option<u64> {
        self.0.capacity
    }
}

impl Memory for HostMemory {
    fn allocate(&self, bytes: usize) -> Result<Buffer, DeviceError> {
        let pool = &self.0;
        let refused = |used| DeviceError::OutOfMemory {
            device: pool.device.clone(),
            requested: bytes,
            used,
            capacity: pool.capacity,
        };
        let limit =
            pool.capacity.map_or(isize::MAX as usize, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let size = bytes.max(1).checked_next_multiple_of(ALIGNMENT).ok_or_else(|| refused(self.used()))?;
        let mut state = pool.lock();
        if size > limit.saturating_sub(state.used) {
            return Err(refused(state.used));
        }
        let reused = state.take(size);
        state.used += size;
        state.peak = state.peak.max(state.used);
        let limit = limit.min(state.peak);
        let dropped = state.trim(limit);
        drop(state);
        drop(dropped);
        match reused.or_else(|| Allocation::new(size)) {
            Some(allocation) => {
                let allocation = Some(allocation);
                Ok(Buffer::new(HostBuffer { allocation, bytes: size, pool: pool.clone() }))
            }
            None => {
                let mut state = pool.lock();
                state.used -= size;
                Err(refused(state.used))
            }
        }
    }

    fn used(&self) -> usize {
        self.0.lock().used
    }

    fn pooled(&self) -> usize {
        self.0.lock().pooled
    }
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs under this lock, so the state is whole even if it is poisoned.
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl State {
    fn take(&mut self, size: usize) -> Option<Allocation> {
        let list = self.free.get_mut(&size)?;
        let allocation = list.pop();
        if list.is_empty() {
            self.free.remove(&size);
        }
        self.pooled -= if allocation.is_some() { size } else { 0 };
        allocation
    }

    /// Takes pooled buffers out, large ones first, until all that is held fits in `limit`; the caller frees
    /// them without the lock.
    fn trim(&mut self, limit: usize) -> Vec<Allocation> {
        let mut dropped = Vec::new();
        while self.used + self.pooled > limit {
            let Some((&size, _)) = self.free.last_key_value() else { break };
            dropped.extend(self.take(size));
        }
        dropped
    }
}

struct HostBuffer {
    /// `None` only while dropping.
    allocation: Option<Allocation>,
    bytes: usize,
    pool: Arc<Pool>,
}

impl Storage for HostBuffer {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn host_pointer(&self) -> Option<*mut u8> {
        self.allocation.as_ref().map(Allocation::pointer)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for HostBuffer {
    fn drop(&mut self) {
        let Some(allocation) = self.allocation.take() else { return };
        let mut state = self.pool.lock();
        state.used -= self.bytes;
        state.pooled += self.bytes;
        state.free.entry(self.bytes).or_default().push(allocation);
    }
}

/// Memory from the operating system.
enum Allocation {
    Small { start: NonNull<u8>, layout: Layout },
    Huge { map: MmapMut, skip: usize },
}

// SAFETY: an allocation is plain memory with one owner; who may touch its bytes when is the business of the
// blocks that are made of it.
unsafe impl Send for Allocation {}
// SAFETY: as above; a shared allocation only tells its address.
unsafe impl Sync for Allocation {}

impl Allocation {
    fn new(size: usize) -> Option<Allocation> {
        if size >= HUGE_PAGE {
            return Allocation::huge(size);
        }
        let layout = Layout::from_size_align(size, ALIGNMENT).ok()?;
        // SAFETY: the layout's size is not zero: sizes are rounded up from at least 1.
        let start = NonNull::new(unsafe { std::alloc::alloc(layout) })?;
        Some(Allocation::Small { start, layout })
    }

    fn huge(size: usize) -> Option<Allocation> {
        let mut map = MmapMut::map_anon(size).ok()?;
        let mut skip = map.as_ptr().align_offset(HUGE_PAGE);
        if skip != 0 {
            // Newer kernels align such maps themselves; where not, a longer one has a border inside.
            map = MmapMut::map_anon(size.checked_add(HUGE_PAGE)?).ok()?;
            skip = map.as_ptr().align_offset(HUGE_PAGE);
        }
        // Only whole huge pages: a huge page for the rest would hold memory that nobody counts.
        #[cfg(target_os = "linux")]
        if let Err(error) = map.advise_range(memmap2::Advice::HugePage, skip, size - size % HUGE_PAGE) {
            // A kernel without huge pages says so here; the memory is as good, only slower at first touch.
            debug_assert_ne!(error.kind(), std::io::ErrorKind::OutOfMemory);
        }
        Some(Allocation::Huge { map, skip })
    }

    fn pointer(&self) -> *mut u8 {
        match self {
            Allocation::Small { start, .. } => start.as_ptr(),
            Allocation::Huge { map, skip } => map.as_ptr().wrapping_add(*skip).cast_mut(),
        }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if let Allocation::Small { start, layout } = self {
            // SAFETY: `start` came from `alloc` with this layout and is freed only here.
            unsafe { std::alloc::dealloc(start.as_ptr(), *layout) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_buffers_are_used_again() {
        let memory = HostMemory::new(None);
        for bytes in [100, HUGE_PAGE, 3 * HUGE_PAGE + 5] {
            let first = memory.allocate(bytes).unwrap();
            let pointer = first.host_pointer().unwrap();
            assert_eq!(pointer.align_offset(if bytes < HUGE_PAGE { ALIGNMENT } else { HUGE_PAGE }), 0);
            assert_eq!(first.bytes(), bytes.next_multiple_of(64));
            drop(first);
            assert_eq!(memory.allocate(bytes).unwrap().host_pointer(), Some(pointer));
        }
        assert_eq!(memory.used(), 0);
        assert_eq!(memory.peak(), (3 * HUGE_PAGE + 64));
    }

    #[test]
    fn alive_and_pooled_stay_within_the_capacity() {
        let memory = HostMemory::new(Some(10_000));
        let kept = memory.allocate(4_000).unwrap();
        drop(memory.allocate(5_000).unwrap());
        assert_eq!(memory.pooled(), 5_056);
        let other = memory.allocate(3_000).unwrap();
        assert_eq!(memory.pooled(), 0, "another size makes the pool give way");
        let error = memory.allocate(4_000).unwrap_err().to_string();
        assert_eq!(error, "host: out of memory: 4000 bytes requested, 7040 in use, capacity 10000 bytes");
        drop((kept, other));
        assert!(memory.allocate(10_001).is_err());
        assert!(memory.allocate(usize::MAX).is_err());
        assert_eq!(memory.used(), 0);
    }

    #[test]
    fn the_pool_holds_no_more_than_was_ever_alive() {
        let memory = HostMemory::new(None);
        for bytes in (1..100).map(|k| k * 64) {
            drop(memory.allocate(bytes).unwrap());
            assert!(memory.pooled() <= memory.peak());
        }
    }
}
