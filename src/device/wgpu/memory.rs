//! Device memory with a capacity of its own: drivers promise more than there is, so wgpu is asked only for
//! what fits.

use std::any::Any;
use std::sync::Arc;

use super::health::Health;
use crate::block::{Block, Buffer, Storage};
use crate::device::capacity::Capacity;
use crate::device::contract::{DeviceError, Memory};

/// The memory of one device.
pub struct WgpuMemory {
    device: wgpu::Device,
    health: Arc<Health>,
    capacity: Arc<Capacity>,
    /// The largest buffer that a kernel can bind.
    buffer_bytes_max: usize,
}

/// A buffer of this device.
pub(super) struct WgpuStorage {
    pub(super) buffer: wgpu::Buffer,
    bytes: usize,
    capacity: Arc<Capacity>,
}

impl WgpuMemory {
    pub(super) fn new(device: wgpu::Device, health: Arc<Health>, capacity: usize) -> Self {
        let limits = device.limits();
        let buffer_bytes_max = limits.max_buffer_size.min(limits.max_storage_buffer_binding_size);
        WgpuMemory {
            device,
            health,
            capacity: Arc::new(Capacity::new(capacity)),
            buffer_bytes_max: usize::try_from(buffer_bytes_max).unwrap_or(usize::MAX) & !15,
        }
    }

    /// Bytes that buffers may take in all.
    pub fn capacity(&self) -> usize {
        self.capacity.bytes()
    }

    /// The most bytes that were in use at one time.
    pub fn peak(&self) -> usize {
        self.capacity.peak()
    }

    /// Bytes of the largest block that a kernel can read or write.
    pub fn buffer_bytes_max(&self) -> usize {
        self.buffer_bytes_max
    }

    /// The wgpu buffer of a block of this device.
    pub(super) fn buffer_of<'a>(&self, block: &'a Block) -> Result<&'a wgpu::Buffer, DeviceError> {
        let storage =
            block.buffer.downcast::<WgpuStorage>().filter(|s| Arc::ptr_eq(&s.capacity, &self.capacity));
        storage.map(|storage| &storage.buffer).ok_or_else(|| {
            self.health.failed("finding a block", "the block lies in the memory of another device")
        })
    }

    fn full(&self, requested: usize) -> DeviceError {
        DeviceError::OutOfMemory {
            device: self.health.device().to_owned(),
            requested,
            used: self.used(),
            capacity: Some(self.capacity() as u64),
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
        if !self.capacity.take(size) {
            // Buffers of work that is done go back when the device is asked what is done; then, of work that
            // is still running, when it is waited for.
            let _ = self.device.poll(wgpu::PollType::Poll);
            if !self.capacity.take(size) {
                let _ = self.device.poll(wgpu::PollType::wait_indefinitely());
                if !self.capacity.take(size) {
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
            Ok(buffer) => {
                Ok(Buffer::new(WgpuStorage { buffer, bytes: size, capacity: self.capacity.clone() }))
            }
            Err(error) => {
                self.capacity.give_back(size);
                Err(error)
            }
        }
    }

    fn used(&self) -> usize {
        self.capacity.used()
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
        self.capacity.give_back(self.bytes);
    }
}
