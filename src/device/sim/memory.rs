//! Host memory that passes for a device's.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::block::{Block, Buffer, Storage};
use crate::device::contract::{Device, DeviceError, Memory};
use crate::device::host::Host;

pub(super) struct SimMemory {
    device: String,
    capacity: Option<u64>,
    used: Arc<AtomicU64>,
    source: Host,
}

impl SimMemory {
    pub(super) fn new(device: String, capacity: Option<u64>) -> Self {
        SimMemory { device, capacity, used: Arc::default(), source: Host::new(None) }
    }

    pub(super) fn exhausted(&self, requested: usize) -> DeviceError {
        DeviceError::OutOfMemory {
            device: self.device.clone(),
            requested,
            used: self.used(),
            capacity: self.capacity,
        }
    }
}

impl Memory for SimMemory {
    fn allocate(&self, bytes: usize) -> Result<Buffer, DeviceError> {
        let before = self.used.fetch_add(bytes as u64, Ordering::Relaxed);
        if self.capacity.is_some_and(|capacity| before + bytes as u64 > capacity) {
            self.used.fetch_sub(bytes as u64, Ordering::Relaxed);
            return Err(self.exhausted(bytes));
        }
        let inner = self.source.memory().allocate(bytes)?;
        Ok(Buffer::new(SimStorage { inner, bytes: bytes as u64, used: self.used.clone() }))
    }

    fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed) as usize
    }
}

struct SimStorage {
    inner: Buffer,
    bytes: u64,
    used: Arc<AtomicU64>,
}

impl Storage for SimStorage {
    fn bytes(&self) -> usize {
        self.inner.bytes()
    }

    fn host_pointer(&self) -> Option<*mut u8> {
        None
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for SimStorage {
    fn drop(&mut self) {
        self.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// The block as the host's kernels see it, or `None` when it isn't a simulated device's.
pub(super) fn as_host(block: &Block) -> Option<Block> {
    let storage = block.buffer.downcast::<SimStorage>()?;
    Some(Block { buffer: storage.inner.clone(), layout: block.layout.clone() })
}
