//! Device memory with a capacity of its own: drivers promise more than there is, so wgpu is asked only for
//! what fits.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::health::Health;
use crate::block::{Block, Buffer, Storage};
use crate::device::contract::{DeviceError, Memory};

/// The memory of one device.
pub struct WgpuMemory {
    device: wgpu::Device,
    health: Arc<Health>,
    ledger: Arc<Ledger>,
    /// The largest buffer that a kernel can bind.
    buffer_bytes_max: usize,
}

struct Ledger {
    capacity: usize,
    used: AtomicUsize,
    peak: AtomicUsize,
}

/// A buffer of this device.
pub(super) struct WgpuStorage {
    pub(super) buffer: wgpu::Buffer,
    bytes: usize,
    ledger: Arc<Ledger>,
}

impl WgpuMemory {
    pub(super) fn new(device: wgpu::Device, health: Arc<Health>, capacity: usize) -> Self {
        let limits = device.limits();
        let buffer_bytes_max = limits.max_buffer_size.min(limits.max_storage_buffer_binding_size);
        let ledger = Ledger { capacity, used: AtomicUsize::new(0), peak: AtomicUsize::new(0) };
        WgpuMemory {
            device,
            health,
            ledger: Arc::new(ledger),
            buffer_bytes_max: usize::try_from(buffer_bytes_max).unwrap_or(usize::MAX) & !15,
        }
    }

    /// Bytes that buffers may take in all.
    pub fn capacity(&self) -> usize {
        self.ledger.capacity
    }

    /// The most bytes that were in use at one time.
    pub fn peak(&self) -> usize {
        self.ledger.peak.load(Ordering::Relaxed)
    }

    /// Bytes of the largest block that a kernel can read or write.
    pub fn buffer_bytes_max(&self) -> usize {
        self.buffer_bytes_max
    }

    /// The wgpu buffer of a block of this device.
    pub(super) fn buffer_of<'a>(&self, block: &'a Block) -> Result<&'a wgpu::Buffer, DeviceError> {
        let storage = block.buffer.downcast::<WgpuStorage>().filter(|s| Arc::ptr_eq(&s.ledger, &self.ledger));
        storage.map(|storage| &storage.buffer).ok_or_else(|| {
            self.health.failed("finding a block", "the block lies in the memory of another device")
        })
    }

    fn full(&self, requested: usize) -> DeviceError {
        DeviceError::OutOfMemory {
            device: self.health.device().to_owned(),
            requested,
            used: self.used(),
            capacity: Some(self.ledger.capacity as u64),
        }
    }
}

impl Memory for WgpuMemory {
    fn allocate(&self, bytes: usize) -> Result<Buffer, DeviceError> {
        self.health.check()?;
        if bytes > self.buffer_bytes_max {
            let most = self.buffer_bytes_max;
            let message = format!("{bytes} bytes requested; one buffer holds at most {most} on this adapter");
            return Err(self.health.failed("allocating", message));
        }
        // Kernels bind whole words, and no empty buffers.
        let size = bytes.max(1).next_multiple_of(16);
        if !self.ledger.take(size) {
            // Buffers of work that is done go back when the device is asked what is done; then, of work that
            // is still running, when it is waited for.
            let _ = self.device.poll(wgpu::PollType::Poll);
            if !self.ledger.take(size) {
                let _ = self.device.poll(wgpu::PollType::wait_indefinitely());
                if !self.ledger.take(size) {
                    return Err(self.full(bytes));
                }
            }
        }
        let made = self.health.scoped(&self.device, "allocating", bytes, self.used(), || {
            self.device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: size as u64,
                usage: wgpu::BufferUsages::STORAGE
                    | wgpu::BufferUsages::COPY_SRC
                    | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        });
        match made {
            Ok(buffer) => Ok(Buffer::new(WgpuStorage { buffer, bytes: size, ledger: self.ledger.clone() })),
            Err(error) => {
                self.ledger.give_back(size);
                Err(error)
            }
        }
    }

    fn used(&self) -> usize {
        self.ledger.used.load(Ordering::Relaxed)
    }
}

impl Ledger {
    /// Takes `bytes` if they fit.
    fn take(&self, bytes: usize) -> bool {
        let room = |used: usize| used.checked_add(bytes).filter(|&sum| sum <= self.capacity);
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room);
        if let Ok(before) = taken {
            self.peak.fetch_max(before + bytes, Ordering::Relaxed);
        }
        taken.is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Storage for WgpuStorage {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn host_pointer(&self) -> Option<*mut u8> {
        None
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for WgpuStorage {
    fn drop(&mut self) {
        self.ledger.give_back(self.bytes);
    }
}
