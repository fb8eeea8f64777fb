//! One device with its primary context.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::SeqCst};

use super::faults::{Faults, Kind, LOST};
use super::heap::Heap;
use super::machine::Spec;
use super::{Answer, lock, module, schedule::schedule, stream};
use crate::result;

pub struct Device {
    pub ordinal: usize,
    pub spec: Spec,
    pub heap: Mutex<Heap>,
    /// The devices whose memory its kernels may touch.
    pub peers: Mutex<HashSet<usize>>,
    /// What its memory pool keeps, as was set; nothing is kept.
    pub pool_threshold: AtomicU64,
    faults: Mutex<Faults>,
    retained: Mutex<u32>,
    broken: AtomicI32,
    /// Bytes that were never freed when a sound context ended.
    abandoned: AtomicU64,
}

impl Device {
    /// # Errors
    /// What in the environment's faults isn't understood.
    pub fn new(ordinal: usize, spec: Spec) -> Result<Device, String> {
        Ok(Device {
            ordinal,
            heap: Mutex::new(Heap::new(ordinal, spec.memory)),
            spec,
            peers: Mutex::default(),
            pool_threshold: AtomicU64::new(0),
            faults: Mutex::new(Faults::described(ordinal)?),
            retained: Mutex::new(0),
            broken: AtomicI32::new(result::SUCCESS),
            abandoned: AtomicU64::new(0),
        })
    }

    /// The handle of its primary context.
    pub fn context(&self) -> usize {
        0x100 * (self.ordinal + 1)
    }

    pub fn is_retained(&self) -> bool {
        *lock(&self.retained) > 0
    }

    /// Retains the primary context.
    pub fn retain(&self) {
        let mut retained = lock(&self.retained);
        *retained += 1;
        if *retained == 1 {
            schedule().open(self.null_stream(), self.ordinal);
        }
    }

    /// Releases the primary context; the last release ends it.
    pub fn release(&self) -> Answer<()> {
        let mut retained = lock(&self.retained);
        match *retained {
            0 => return Err(result::INVALID_CONTEXT),
            1 => self.end(),
            _ => {}
        }
        *retained -= 1;
        Ok(())
    }

    /// Ends the primary context, whoever retains it.
    pub fn reset(&self) {
        let mut retained = lock(&self.retained);
        if *retained > 0 {
            self.end();
            *retained = 0;
        }
    }

    /// Waits for all streams, drops what the context had, and mends what was broken.
    fn end(&self) {
        self.synchronize();
        stream::close_all(self.ordinal);
        schedule().close(self.null_stream());
        module::unload_all(self.ordinal);
        let mut heap = lock(&self.heap);
        if self.broken.swap(result::SUCCESS, SeqCst) == result::SUCCESS {
            self.abandoned.fetch_add(heap.unfreed() as u64, SeqCst);
        }
        heap.clear();
        lock(&self.peers).clear();
    }

    /// Waits for all that has been submitted to its streams.
    pub fn synchronize(&self) {
        for id in stream::of_device(self.ordinal).into_iter().chain([self.null_stream()]) {
            schedule().wait(schedule().last(id));
        }
    }

    /// The number of its null stream in the schedule; no handle is as small.
    pub fn null_stream(&self) -> u64 {
        0x10 + self.ordinal as u64
    }

    /// # Errors
    /// What broke the context.
    pub fn check(&self) -> Answer<()> {
        match self.broken.load(SeqCst) {
            result::SUCCESS => Ok(()),
            code => Err(code),
        }
    }

    /// Breaks the context: all that follows answers `code`, until the context ends. The first code stays.
    pub fn break_with(&self, code: i32, message: &str) {
        eprintln!("[cuda-driver] device {}: {message}", self.ordinal);
        let _ = self.broken.compare_exchange(result::SUCCESS, code, SeqCst, SeqCst);
    }

    /// Counts one towards the faults; says whether it is the one to fail. A call that fails loses the device.
    pub fn count(&self, kind: Kind) -> bool {
        let fails = lock(&self.faults).count(kind);
        if fails && kind == Kind::Call {
            self.break_with(LOST, "lost, as the test asked");
        }
        fails
    }

    pub fn counted(&self, kind: Kind) -> u64 {
        lock(&self.faults).counted(kind)
    }

    pub fn plan_fault(&self, kind: Kind, count: u64) {
        lock(&self.faults).plan(kind, count);
    }

    /// How much longer each copy takes, in microseconds.
    pub fn copy_delay(&self) -> u64 {
        lock(&self.faults).copy_delay()
    }

    /// Takes memory, live at once or when a stream comes to it.
    pub fn take(&self, bytes: usize, ready: bool) -> Answer<u64> {
        if bytes == 0 {
            return Err(result::INVALID_VALUE);
        }
        if self.count(Kind::Allocation) {
            return Err(result::OUT_OF_MEMORY);
        }
        let first = lock(&self.heap).take(bytes, ready);
        first.map_or_else(
            || {
                // What streams are about to free counts as free.
                self.synchronize();
                lock(&self.heap).take(bytes, ready).ok_or(result::OUT_OF_MEMORY)
            },
            Ok,
        )
    }

    /// Bytes taken and not given back, those of contexts that ended while sound included.
    pub fn unfreed(&self) -> u64 {
        self.abandoned.load(SeqCst) + lock(&self.heap).unfreed() as u64
    }
}
