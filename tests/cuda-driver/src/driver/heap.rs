//! A device's memory: which addresses are live, and the bytes behind them.
//!
//! Addresses are made up, say which device they are of, keep a gap between neighbours and are never used again:
//! an access past an end, after a free or of the wrong device finds nothing.

use std::alloc::{Layout, alloc, dealloc};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Memory of a device, at its address there.
pub struct Allocation {
    pub address: u64,
    pub bytes: usize,
    /// Kernels may not write it.
    pub constant: bool,
    data: *mut u8,
}

// SAFETY: the bytes belong to the allocation alone; threads that race on them do so by atomics or by copies whose
// order is the emulated program's business, as on a device.
unsafe impl Send for Allocation {}
// SAFETY: as above.
unsafe impl Sync for Allocation {}

impl Allocation {
    /// What fresh memory is filled with: as a float a large negative number, as an integer a negative one.
    pub const POISON: u8 = 0xcb;

    fn new(address: u64, bytes: usize, constant: bool) -> Option<Allocation> {
        // SAFETY: the layout has more than no bytes.
        let data = unsafe { alloc(Allocation::layout(bytes)?) };
        if data.is_null() {
            return None;
        }
        // SAFETY: `data` has at least `bytes` bytes.
        unsafe { data.write_bytes(Allocation::POISON, bytes) };
        Some(Allocation { address, bytes, constant, data })
    }

    fn layout(bytes: usize) -> Option<Layout> {
        Layout::from_size_align(bytes.max(1), 16).ok()
    }

    /// Whether `bytes` bytes at an address are within.
    pub fn holds(&self, at: u64, bytes: usize) -> bool {
        at.checked_sub(self.address).is_some_and(|offset| self.fits(offset as usize, bytes))
    }

    /// Reads 1, 2, 4 or 8 bytes at a multiple of as many.
    ///
    /// # Panics
    /// Where they aren't within.
    pub fn read(&self, offset: usize, bytes: usize) -> u64 {
        let at = self.at(offset, bytes);
        // SAFETY: `at` checked that the bytes are within and aligned; atomics allow the races of kernels.
        unsafe {
            match bytes {
                1 => u64::from(AtomicU8::from_ptr(at).load(Relaxed)),
                2 => u64::from(AtomicU16::from_ptr(at.cast()).load(Relaxed)),
                4 => u64::from(AtomicU32::from_ptr(at.cast()).load(Relaxed)),
                _ => AtomicU64::from_ptr(at.cast()).load(Relaxed),
            }
        }
    }

    /// Writes 1, 2, 4 or 8 bytes at a multiple of as many.
    ///
    /// # Panics
    /// Where they aren't within.
    pub fn write(&self, offset: usize, bytes: usize, value: u64) {
        let at = self.at(offset, bytes);
        // SAFETY: as in `read`.
        unsafe {
            match bytes {
                1 => AtomicU8::from_ptr(at).store(value as u8, Relaxed),
                2 => AtomicU16::from_ptr(at.cast()).store(value as u16, Relaxed),
                4 => AtomicU32::from_ptr(at.cast()).store(value as u32, Relaxed),
                _ => AtomicU64::from_ptr(at.cast()).store(value, Relaxed),
            }
        }
    }

    /// Replaces 2, 4 or 8 bytes by what `new` makes of them, in one step; gives the old value.
    ///
    /// # Panics
    /// Where they aren't within.
    pub fn update(&self, offset: usize, bytes: usize, new: impl Fn(u64) -> u64) -> u64 {
        let at = self.at(offset, bytes);
        macro_rules! exchange {
            ($atomic:ty, $word:ty) => {{
                // SAFETY: as in `read`.
                let cell = unsafe { <$atomic>::from_ptr(at.cast()) };
                let step = |old: $word| Some(new(u64::from(old)) as $word);
                match cell.fetch_update(Relaxed, Relaxed, step) {
                    Ok(old) | Err(old) => u64::from(old),
                }
            }};
        }
        match bytes {
            2 => exchange!(AtomicU16, u16),
            4 => exchange!(AtomicU32, u32),
            _ => exchange!(AtomicU64, u64),
        }
    }

    /// The host's address of what lies `offset` on, for a copy of `bytes`; `None` where they aren't within.
    pub fn host(&self, offset: usize, bytes: usize) -> Option<*mut u8> {
        // SAFETY: within the allocation, or one past its end.
        self.fits(offset, bytes).then(|| unsafe { self.data.add(offset) })
    }

    fn fits(&self, offset: usize, bytes: usize) -> bool {
        offset.checked_add(bytes).is_some_and(|end| end <= self.bytes)
    }

    fn at(&self, offset: usize, bytes: usize) -> *mut u8 {
        assert!(self.fits(offset, bytes) && offset.is_multiple_of(bytes), "{bytes} bytes at {offset}");
        // SAFETY: just checked.
        unsafe { self.data.add(offset) }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if let Some(layout) = Allocation::layout(self.bytes) {
            // SAFETY: allocated with this layout.
            unsafe { dealloc(self.data, layout) };
        }
    }
}

/// Bits of an address below its device.
const DEVICE_SHIFT: u32 = 44;

/// All of a device's memory.
pub struct Heap {
    live: BTreeMap<u64, Held>,
    next: u64,
    total: usize,
    used: usize,
    most: usize,
}

struct Held {
    allocation: Arc<Allocation>,
    /// A stream's allocation is there when the stream comes to it.
    ready: bool,
    /// Of a module, not asked for by the program.
    module: bool,
}

impl Heap {
    pub fn new(device: usize, total: usize) -> Heap {
        let next = (device as u64 + 1) << DEVICE_SHIFT;
        Heap { live: BTreeMap::new(), next, total, used: 0, most: 0 }
    }

    /// The device that an address is of.
    pub fn device_of(address: u64) -> Option<usize> {
        (address >> DEVICE_SHIFT).checked_sub(1).map(|device| device as usize)
    }

    /// Takes memory; `None` when there is too little. It is live when `ready`, else from [`Heap::appear`] on.
    pub fn take(&mut self, bytes: usize, ready: bool) -> Option<u64> {
        let address = self.reserve(bytes as u64);
        self.hold(Allocation::new(address, self.fitting(bytes)?, false)?, ready, false);
        Some(address)
    }

    /// Takes memory of a module at an address that [`Heap::reserve`] gave.
    pub fn place(&mut self, address: u64, bytes: usize, constant: bool) -> Option<Arc<Allocation>> {
        let allocation = Allocation::new(address, self.fitting(bytes)?, constant)?;
        Some(self.hold(allocation, true, true))
    }

    /// Addresses that nothing else gets.
    pub fn reserve(&mut self, bytes: u64) -> u64 {
        let address = self.next;
        self.next = (address + bytes + 256).next_multiple_of(256);
        address
    }

    /// Makes a stream's allocation live.
    pub fn appear(&mut self, address: u64) {
        if let Some(held) = self.live.get_mut(&address) {
            held.ready = true;
        }
    }

    /// Gives memory back; says whether it was there.
    pub fn free(&mut self, address: u64) -> bool {
        let Some(held) = self.live.remove(&address) else { return false };
        self.used -= held.allocation.bytes;
        true
    }

    /// Whether an allocation begins there, live or not yet.
    pub fn begins_at(&self, address: u64) -> bool {
        self.live.get(&address).is_some_and(|held| !held.module)
    }

    /// Whether these bytes are within an allocation, live or not yet.
    pub fn knows(&self, address: u64, bytes: usize) -> bool {
        self.held(address).is_some_and(|held| held.allocation.holds(address, bytes))
    }

    /// The live allocation that holds an address.
    pub fn at(&self, address: u64) -> Option<Arc<Allocation>> {
        self.held(address).filter(|held| held.ready).map(|held| held.allocation.clone())
    }

    pub fn total(&self) -> usize {
        self.total
    }

    pub fn used(&self) -> usize {
        self.used
    }

    /// The most that was used at once.
    pub fn most(&self) -> usize {
        self.most
    }

    /// What the program has taken and not given back, modules' memory left out.
    pub fn unfreed(&self) -> usize {
        self.live.values().filter(|held| !held.module).map(|held| held.allocation.bytes).sum()
    }

    /// Drops everything, as the end of a context does.
    pub fn clear(&mut self) {
        self.live.clear();
        self.used = 0;
    }

    fn fitting(&self, bytes: usize) -> Option<usize> {
        self.used.checked_add(bytes).filter(|used| *used <= self.total).map(|_| bytes)
    }

    fn hold(&mut self, allocation: Allocation, ready: bool, module: bool) -> Arc<Allocation> {
        self.used += allocation.bytes;
        self.most = self.most.max(self.used);
        let allocation = Arc::new(allocation);
        self.live.insert(allocation.address, Held { allocation: allocation.clone(), ready, module });
        allocation
    }

    fn held(&self, address: u64) -> Option<&Held> {
        self.live.range(..=address).next_back().map(|(_, held)| held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_say_their_device_and_are_never_reused() {
        let mut heap = Heap::new(2, 1000);
        let first = heap.take(100, true).expect("room");
        assert_eq!(Heap::device_of(first), Some(2));
        assert!(heap.free(first) && !heap.free(first));
        let second = heap.take(1000, true).expect("room");
        assert!(second > first + 100);
        assert_eq!(heap.take(1, true), None);
        assert_eq!((heap.used(), heap.most(), heap.unfreed()), (1000, 1000, 1000));
        assert!(heap.at(first).is_none());
    }

    #[test]
    fn a_streams_allocation_is_known_before_it_is_live() {
        let mut heap = Heap::new(0, 1000);
        let address = heap.take(64, false).expect("room");
        assert!(heap.knows(address, 64) && !heap.knows(address, 65) && heap.at(address).is_none());
        heap.appear(address);
        let allocation = heap.at(address + 63).expect("live");
        assert!(allocation.holds(address + 60, 4) && !allocation.holds(address + 61, 4));
        allocation.write(8, 4, 7);
        assert_eq!(allocation.update(8, 4, |old| old + 1), 7);
        assert_eq!(allocation.read(8, 8), 0xcbcb_cbcb_0000_0008);
    }
}
