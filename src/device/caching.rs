//! Buffers that are used again: a pool above the memory of any device.
//!
//! Asking a driver for memory takes from some microseconds to milliseconds, and blocks of a few sizes come and go. Freed
//! buffers wait for the next request of their size. What is alive and what waits never exceed the most that was ever
//! alive at once: where they would, those that have waited longest go back. So sizes that alternate fail no sooner than
//! without a pool, and the memory below bounds it all.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::block::{Buffer, Storage};
use crate::device::contract::{DeviceError, Memory};

/// Sizes are rounded up to multiples of this.
const ROUND: usize = 16;

/// A memory whose buffers are used again.
pub struct Caching<M>(Arc<Pool<M>>);

struct Pool<M> {
    source: M,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    used: usize,
    peak: usize,
    pooled: usize,
    /// When the last buffer was freed: a count.
    now: u64,
    /// Free buffers and their sizes, by when they were freed.
    free: BTreeMap<u64, (usize, Buffer)>,
    /// When those of each size were.
    by_size: BTreeSet<(usize, u64)>,
}

impl<M: Memory + 'static> Caching<M> {
    /// A pool above `source`, which bounds it.
    pub fn new(source: M) -> Self {
        Caching(Arc::new(Pool { source, state: Mutex::default() }))
    }

    /// The memory below, in which free buffers count as used.
    pub fn source(&self) -> &M {
        &self.0.source
    }

    /// What was there; if nothing was, as much has gone back as would be more than the peak together with something new.
    fn take(&self, size: usize) -> Option<Buffer> {
        let mut state = self.0.lock();
        let found = state.take(size);
        state.used += size;
        let most = state.peak.max(state.used);
        let mut dropped = Vec::new();
        while state.used + state.pooled > most {
            dropped.extend(state.oldest());
        }
        drop(state);
        drop(dropped);
        found
    }

    fn made(&self, size: usize) -> Result<Buffer, DeviceError> {
        loop {
            match self.0.source.allocate(size) {
                // Others may have freed something since.
                Err(DeviceError::OutOfMemory { .. }) if self.clear() => {}
                made => return made,
            }
        }
    }

    /// Gives back all that waits; whether there was anything.
    fn clear(&self) -> bool {
        let mut state = self.0.lock();
        state.by_size.clear();
        state.pooled = 0;
        let free = std::mem::take(&mut state.free);
        drop(state);
        !free.is_empty()
    }
}

impl<M: Memory + 'static> Memory for Caching<M> {
    /// # Errors
    /// As the memory below, which is asked once more when all that waited has gone back.
    fn allocate(&self, bytes: usize) -> Result<Buffer, DeviceError> {
        let size = bytes.max(1).checked_next_multiple_of(ROUND).unwrap_or(bytes);
        let found = self.take(size);
        let made = found.map_or_else(|| self.made(size), Ok);
        let mut state = self.0.lock();
        // What was refused is nothing that was ever alive.
        let buffer = made.inspect_err(|_| state.used -= size)?;
        state.peak = state.peak.max(state.used);
        drop(state);
        Ok(Buffer::new(Cached { buffer: Some(buffer), size, pool: self.0.clone() }))
    }

    fn used(&self) -> usize {
        self.0.lock().used
    }

    fn pooled(&self) -> usize {
        self.0.lock().pooled
    }
}

impl<M> Pool<M> {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs under this lock, so the state is whole even if it is poisoned.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Of those of a size, the one that was freed last: its memory is the likeliest to be in some cache.
    fn take(&mut self, size: usize) -> Option<Buffer> {
        let &(_, at) = self.by_size.range((size, 0)..=(size, u64::MAX)).next_back()?;
        self.by_size.remove(&(size, at));
        self.pooled -= size;
        self.free.remove(&at).map(|(_, buffer)| buffer)
    }

    fn oldest(&mut self) -> Option<Buffer> {
        let (at, (size, buffer)) = self.free.pop_first()?;
        self.by_size.remove(&(size, at));
        self.pooled -= size;
        Some(buffer)
    }

    fn give(&mut self, size: usize, buffer: Buffer) {
        self.now += 1;
        self.used -= size;
        self.pooled += size;
        self.free.insert(self.now, (size, buffer));
        self.by_size.insert((size, self.now));
    }
}

struct Cached<M: Memory + 'static> {
    /// `None` only while dropping.
    buffer: Option<Buffer>,
    size: usize,
    pool: Arc<Pool<M>>,
}

impl<M: Memory + 'static> Storage for Cached<M> {
    fn bytes(&self) -> usize {
        self.size
    }

    fn host_pointer(&self) -> Option<*mut u8> {
        self.buffer.as_ref().and_then(Buffer::host_pointer)
    }

    /// The storage below: the device looks for its own.
    fn as_any(&self) -> &dyn Any {
        self.buffer.as_ref().map_or(self, Buffer::as_any)
    }
}

impl<M: Memory + 'static> Drop for Cached<M> {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            self.pool.lock().give(self.size, buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use proptest::prelude::*;

    use super::*;
    use crate::device::host::memory::HostMemory;

    /// Counts what it is asked for.
    struct Counted {
        memory: HostMemory,
        asked: AtomicUsize,
    }

    impl Memory for Counted {
        fn allocate(&self, bytes: usize) -> Result<Buffer, DeviceError> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            self.memory.allocate(bytes)
        }

        fn used(&self) -> usize {
            self.memory.used()
        }
    }

    fn caching(capacity: u64) -> Caching<Counted> {
        Caching::new(Counted { memory: HostMemory::new(Some(capacity)), asked: AtomicUsize::new(0) })
    }

    #[test]
    fn a_freed_buffer_is_the_next_one_of_its_size() {
        let memory = caching(1 << 20);
        let pointer = memory.allocate(1000).unwrap().host_pointer().unwrap();
        assert_eq!((memory.used(), memory.pooled()), (0, 1008));
        let again = memory.allocate(1001).unwrap();
        assert_eq!((again.host_pointer(), again.bytes()), (Some(pointer), 1008));
        assert_eq!(memory.source().asked.load(Ordering::Relaxed), 1);
        assert_eq!((memory.used(), memory.pooled()), (1008, 0));
        let other = memory.allocate(64).unwrap();
        drop((again, other));
        drop(memory.allocate(2000).unwrap());
        assert!(memory.pooled() <= 2000, "no more waits than was alive at once: {}", memory.pooled());
    }

    #[test]
    fn what_waits_gives_way_and_the_one_that_waited_longest_first() {
        let memory = caching(10 * 64);
        let held: Vec<Buffer> = (0..10).map(|_| memory.allocate(64).unwrap()).collect();
        assert!(matches!(memory.allocate(64), Err(DeviceError::OutOfMemory { .. })));
        assert_eq!(memory.used(), 640);
        drop(held);
        let asked = || memory.source().asked.load(Ordering::Relaxed);
        let (large, before) = (memory.allocate(5 * 64).unwrap(), asked());
        assert_eq!((memory.used(), memory.pooled(), memory.source().used()), (320, 320, 640));
        let rest: Vec<Buffer> = (0..5).map(|_| memory.allocate(64).unwrap()).collect();
        assert_eq!(asked(), before, "five of ten were left");
        drop((large, rest));
        assert!(memory.allocate(10 * 64).is_ok(), "all of it can be had at once");
    }

    proptest! {
        /// Nine tenths are in use, in sizes that alternate: whatever fits beside what is alive can be had.
        #[test]
        fn sizes_that_alternate_fail_no_sooner(steps in prop::collection::vec((0..6usize, any::<u16>()), 1..200)) {
            let capacity = 100 * 64 * 9;
            let memory = caching(capacity as u64);
            let mut alive: Vec<Buffer> = Vec::new();
            for (kind, number) in steps {
                let size = [64, 128, 320, 64 * 7, 64 * 31, 64 * 90][kind];
                while memory.used() + size > capacity {
                    alive.swap_remove(usize::from(number) % alive.len());
                }
                alive.push(memory.allocate(size).unwrap());
                prop_assert_eq!(memory.used(), alive.iter().map(Buffer::bytes).sum::<usize>());
                prop_assert!(memory.source().used() == memory.used() + memory.pooled());
                if number % 3 == 0 {
                    alive.swap_remove(usize::from(number) % alive.len());
                }
            }
            alive.clear();
            prop_assert_eq!(memory.used(), 0);
        }
    }
}
