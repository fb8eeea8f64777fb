//! The host's memory: aligned buffers from a pool, inside a hard limit.
//!
//! Buffers of 2 MiB and more are regions of their own that ask for huge pages: the first touch of a fresh
//! output in 4 KiB pages costs more than most arithmetic on it. Smaller ones are pieces of regions, and those of
//! some kilobytes come from Rust's allocator. Freed buffers wait in a pool for the next request of their size, or to be
//! cut. What is alive and what the pool holds never exceed the capacity together, nor the most that was ever alive at
//! once; where they would, the pool gives memory back to the operating system.

mod region;
mod slabs;

use std::alloc::Layout;
use std::any::Any;
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard};

use self::region::{HUGE_PAGE, Region};
use self::slabs::{Piece, Slabs};
use crate::block::{Buffer, Storage};
use crate::device::contract::{DeviceError, Memory};

/// Buffers start at a multiple of this, and their sizes are rounded up to it: a cache line, and the widest
/// vector.
const ALIGNMENT: usize = 64;
/// Size of the smallest buffer that is a piece of a region: less is not worth giving back by itself.
const PIECE: usize = 16 << 10;

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
    /// Bytes of memory that are nobody's, and held.
    pooled: usize,
    regions: BTreeMap<usize, Vec<Region>>,
    slabs: Slabs,
    tiny: BTreeMap<usize, Vec<Tiny>>,
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
        let taken = state.take(size);
        state.used += size;
        state.peak = state.peak.max(state.used);
        let limit = limit.min(state.peak);
        let dropped = state.trim(limit);
        drop(state);
        drop(dropped);
        match taken.or_else(|| Allocation::new(size)) {
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
    /// Something of this size that is there, or for a piece can be cut.
    fn take(&mut self, size: usize) -> Option<Allocation> {
        if size >= HUGE_PAGE {
            let region = pop(&mut self.regions, size)?;
            self.pooled -= region.touched;
            return Some(Allocation::Region(region));
        }
        if size >= PIECE {
            return self.take_piece(size);
        }
        let tiny = pop(&mut self.tiny, size)?;
        self.pooled -= size;
        Some(Allocation::Tiny(tiny))
    }

    /// Memory that is held comes before memory that would have to be zeroed.
    fn take_piece(&mut self, size: usize) -> Option<Allocation> {
        if !self.slabs.has_warm(size) {
            let smallest = self.regions.keys().next().copied();
            match smallest.and_then(|size| pop(&mut self.regions, size)) {
                Some(region) => {
                    self.pooled -= region.touched;
                    self.pooled += self.slabs.cut(region, size);
                }
                None if self.slabs.has_cold(size) => {}
                None => self.pooled += self.slabs.cut(Region::in_pages(HUGE_PAGE)?, size),
            }
        }
        let (piece, start, warm) = self.slabs.take(size)?;
        self.pooled -= warm;
        Some(Allocation::Piece { piece, start })
    }

    fn give(&mut self, allocation: Allocation, bytes: usize) {
        self.used -= bytes;
        self.pooled += bytes;
        let region = match allocation {
            Allocation::Tiny(tiny) => return self.tiny.entry(bytes).or_default().push(tiny),
            Allocation::Piece { piece, .. } => self.slabs.give(piece),
            Allocation::Region(mut region) => {
                region.touched = bytes;
                Some(region)
            }
        };
        if let Some(region) = region {
            self.regions.entry(region.size).or_default().push(region);
        }
    }

    /// Gives memory of the pool back until all that is held fits in `limit`: whole regions while that much is too much,
    /// large ones first, and then no more than must go. What is returned is the caller's to free, without the lock.
    fn trim(&mut self, limit: usize) -> Vec<Allocation> {
        let mut dropped = Vec::new();
        while self.used + self.pooled > limit {
            let over = self.used + self.pooled - limit;
            let largest = self.regions.keys().next_back().copied();
            let whole = largest.filter(|&size| size <= over);
            if let Some(region) = whole.and_then(|size| pop(&mut self.regions, size)) {
                self.pooled -= region.touched;
                dropped.push(Allocation::Region(region));
            } else if let Some(cooled) = self.slabs.cool() {
                self.pooled -= cooled;
            } else if let Some(mut region) = largest.and_then(|size| pop(&mut self.regions, size)) {
                self.pooled -= region.touched;
                if region.shrink(over) {
                    self.pooled += region.touched;
                    self.regions.entry(region.size).or_default().push(region);
                } else {
                    dropped.push(Allocation::Region(region));
                }
            } else {
                let Some((&size, _)) = self.tiny.last_key_value() else { break };
                self.pooled -= size;
                dropped.extend(pop(&mut self.tiny, size).map(Allocation::Tiny));
            }
        }
        dropped
    }
}

fn pop<T>(lists: &mut BTreeMap<usize, Vec<T>>, size: usize) -> Option<T> {
    let list = lists.get_mut(&size)?;
    let last = list.pop();
    if list.is_empty() {
        lists.remove(&size);
    }
    last
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
        self.pool.lock().give(allocation, self.bytes);
    }
}

/// Memory that holds a buffer.
enum Allocation {
    Tiny(Tiny),
    Piece { piece: Piece, start: *mut u8 },
    Region(Region),
}

// SAFETY: an allocation is plain memory with one owner; who may touch its bytes when is the business of the
// blocks that are made of it.
unsafe impl Send for Allocation {}
// SAFETY: as above; a shared allocation only tells its address.
unsafe impl Sync for Allocation {}

impl Allocation {
    fn new(size: usize) -> Option<Allocation> {
        if size >= HUGE_PAGE {
            return Region::new(size).map(Allocation::Region);
        }
        Tiny::new(size).map(Allocation::Tiny)
    }

    fn pointer(&self) -> *mut u8 {
        match self {
            Allocation::Tiny(tiny) => tiny.start.as_ptr(),
            Allocation::Piece { start, .. } => *start,
            Allocation::Region(region) => region.start(),
        }
    }
}

/// Memory from Rust's allocator.
struct Tiny {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it is the owner of plain memory.
unsafe impl Send for Tiny {}

impl Tiny {
    fn new(size: usize) -> Option<Tiny> {
        let layout = Layout::from_size_align(size, ALIGNMENT).ok()?;
        // SAFETY: the layout's size is not zero: sizes are rounded up from at least 1.
        let start = NonNull::new(unsafe { std::alloc::alloc(layout) })?;
        Some(Tiny { start, layout })
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        // SAFETY: `start` came from `alloc` with this layout and is freed only here.
        unsafe { std::alloc::dealloc(self.start.as_ptr(), self.layout) }
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

    /// SplitMix64.
    fn random(state: &mut u64) -> usize {
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (mixed ^ (mixed >> 29)) as usize
    }

    fn fill(buffer: &Buffer, byte: u8) {
        // SAFETY: the buffer is that long, and this test's.
        unsafe { buffer.host_pointer().unwrap().write_bytes(byte, buffer.bytes()) };
    }

    fn holds(buffer: &Buffer, byte: u8) -> bool {
        // SAFETY: the buffer is that long, was filled, and is this test's.
        let bytes = unsafe { std::slice::from_raw_parts(buffer.host_pointer().unwrap(), buffer.bytes()) };
        bytes.iter().all(|&other| other == byte)
    }

    #[test]
    fn buffers_of_any_sizes_share_the_capacity_and_no_byte() {
        for seed in 0..30 {
            let mut state = seed;
            let capacity = 12 << 20;
            let memory = HostMemory::new(Some(capacity as u64));
            let mut alive: Vec<(Buffer, u8)> = Vec::new();
            for at in 0..400 {
                let sizes = [100, 5_000, PIECE, 64 << 10, (64 << 10) + 4_160, HUGE_PAGE, 2 * HUGE_PAGE + 64];
                let size = sizes[random(&mut state) % sizes.len()];
                let wants_room = !random(&mut state).is_multiple_of(3);
                let used: usize = alive.iter().map(|(buffer, _)| buffer.bytes()).sum();
                match memory.allocate(size) {
                    Ok(buffer) if wants_room => {
                        fill(&buffer, at as u8);
                        alive.push((buffer, at as u8));
                    }
                    Ok(_) => {}
                    Err(error) => {
                        assert!(used + size > capacity, "seed {seed}: {error}, and {used} are used")
                    }
                }
                if !wants_room && !alive.is_empty() {
                    let (buffer, byte) = alive.swap_remove(random(&mut state) % alive.len());
                    assert!(holds(&buffer, byte), "seed {seed}: another buffer's bytes");
                }
                let used: usize = alive.iter().map(|(buffer, _)| buffer.bytes()).sum();
                assert_eq!(memory.used(), used, "seed {seed}");
                assert!(memory.used() + memory.pooled() <= capacity.min(memory.peak()), "seed {seed}");
            }
            assert!(alive.iter().all(|(buffer, byte)| holds(buffer, *byte)), "seed {seed}");
            alive.clear();
            assert!(memory.allocate(capacity).is_ok(), "seed {seed}: all of it can be had at once");
        }
    }

    #[test]
    fn a_large_buffer_that_is_free_is_cut_and_put_together_again() {
        let memory = HostMemory::new(Some(8 << 20));
        let large = memory.allocate(4 << 20).unwrap();
        let start = large.host_pointer().unwrap() as usize;
        drop(large);
        let pieces: Vec<Buffer> = (0..64).map(|_| memory.allocate(64 << 10).unwrap()).collect();
        let within =
            |piece: &Buffer| (start..start + (4 << 20)).contains(&(piece.host_pointer().unwrap() as usize));
        assert!(pieces.iter().all(within), "what was the large buffer's");
        assert_eq!((memory.used(), memory.pooled()), (4 << 20, 0));
        let other = memory.allocate(4 << 20).unwrap();
        assert_ne!(other.host_pointer().unwrap() as usize, start);
        drop(pieces);
        assert_eq!(memory.pooled(), 4 << 20);
        assert_eq!(memory.allocate(4 << 20).unwrap().host_pointer().unwrap() as usize, start);
    }

    #[test]
    fn a_little_room_costs_no_large_buffer() {
        let memory = HostMemory::new(Some(8 << 20));
        let other = memory.allocate(4 << 20).unwrap();
        let start = {
            let large = memory.allocate(4 << 20).unwrap();
            fill(&large, 1);
            large.host_pointer().unwrap()
        };
        let tiny = memory.allocate(100).unwrap();
        assert_eq!(memory.used() + memory.pooled(), (8 << 20) + 128 - (64 << 10), "no more goes than must");
        drop((tiny, other));
        let again = [memory.allocate(4 << 20).unwrap(), memory.allocate(4 << 20).unwrap()];
        assert!(
            again.iter().any(|buffer| buffer.host_pointer() == Some(start)),
            "what was the large buffer's"
        );
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
