//! Device memory, from the driver's pool where it has one.
//!
//! Buffers are taken and given back in the order of a stream of their own. Whoever submits work holds its buffers until
//! it is done, so what is given back is out of use, and what is taken is there for every stream.

use std::any::Any;
use std::sync::Arc;

use cudarc::driver::result;
use cudarc::driver::sys::{CUdevice_attribute, CUdeviceptr, CUmemPool_attribute};

use super::context::Context;
use super::kept::Stream;
use crate::block::{Block, Buffer, Storage};
use crate::device::capacity::Capacity;
use crate::device::contract::{DeviceError, Memory};

/// The memory of one card.
pub struct CudaMemory {
    source: Arc<Source>,
    capacity: Arc<Capacity>,
}

struct Source {
    stream: Stream,
    has_pool: bool,
}

/// A buffer of this card.
struct CudaStorage {
    address: CUdeviceptr,
    bytes: usize,
    source: Arc<Source>,
    capacity: Arc<Capacity>,
}

impl CudaMemory {
    pub(super) fn new(
        context: &Arc<Context>,
        device: cudarc::driver::sys::CUdevice,
        capacity: usize,
    ) -> Result<Self, DeviceError> {
        let pools = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED;
        // SAFETY: the device is the driver's own answer.
        let ask = || unsafe { result::device::get_attribute(device, pools) };
        let has_pool = context.call("asking for pools", ask)? != 0;
        if has_pool {
            let keep_all = || {
                let threshold = CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
                let mut most = u64::MAX;
                // SAFETY: the pool is the device's own, and this attribute is 64 bits wide.
                unsafe {
                    let pool = result::device::get_default_mem_pool(device)?;
                    result::mem_pool::set_attribute(pool, threshold, (&raw mut most).cast())
                }
            };
            context.call("setting up the pool", keep_all)?;
        }
        let source = Arc::new(Source { stream: Stream::new(context)?, has_pool });
        Ok(CudaMemory { source, capacity: Arc::new(Capacity::new(capacity)) })
    }

    /// The address of a block's first element.
    pub(super) fn address_of(&self, block: &Block) -> Result<u64, DeviceError> {
        let storage =
            block.buffer.downcast::<CudaStorage>().filter(|own| Arc::ptr_eq(&own.source, &self.source));
        let start = storage.map(|storage| storage.address).ok_or_else(|| {
            let context = &self.source.stream.context;
            context.failed("finding a block", "the block lies in the memory of another device")
        })?;
        Ok(start + (block.layout.offset * block.layout.dtype.size()) as u64)
    }

    /// The most bytes that were in use at one time.
    pub(super) fn peak(&self) -> usize {
        self.capacity.peak()
    }

    /// The context and the address of a block that lies on any card, if it does.
    pub(super) fn on_any_card(block: &Block) -> Option<(Arc<Context>, u64)> {
        let storage = block.buffer.downcast::<CudaStorage>()?;
        let offset = (block.layout.offset * block.layout.dtype.size()) as u64;
        Some((storage.source.stream.context.clone(), storage.address + offset))
    }

    fn full(&self, requested: usize) -> DeviceError {
        DeviceError::OutOfMemory {
            device: self.source.stream.context.name().to_owned(),
            requested,
            used: self.used(),
            capacity: (self.capacity.bytes() != usize::MAX).then_some(self.capacity.bytes() as u64),
        }
    }
}

impl Source {
    fn allocate(&self, bytes: usize) -> Result<CUdeviceptr, DeviceError> {
        let context = &self.stream.context;
        if !self.has_pool {
            // SAFETY: an allocation has no conditions.
            return context.call("allocating", || unsafe { result::malloc_sync(bytes) });
        }
        // SAFETY: the stream lives.
        let address =
            context.call("allocating", || unsafe { result::malloc_async(self.stream.raw, bytes) })?;
        self.stream.synchronize("allocating")?;
        Ok(address)
    }

    fn free(&self, address: CUdeviceptr) {
        // SAFETY: the storage is dropped, and nobody has the address any more.
        self.stream.context.give_back(|| unsafe {
            if self.has_pool {
                result::free_async(address, self.stream.raw)
            } else {
                result::free_sync(address)
            }
        });
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        // What was given back is back before the context goes. Nobody is left to be told.
        let _ = self.stream.synchronize("giving back");
    }
}

impl Memory for CudaMemory {
    fn allocate(&self, bytes: usize) -> Result<Buffer, DeviceError> {
        let size = bytes.max(1);
        if !self.capacity.take(size) {
            return Err(self.full(bytes));
        }
        let made = self.source.allocate(size).map_err(|error| {
            self.capacity.give_back(size);
            match error {
                DeviceError::OutOfMemory { .. } => self.full(bytes),
                other => other,
            }
        });
        let (source, capacity) = (self.source.clone(), self.capacity.clone());
        Ok(Buffer::new(CudaStorage { address: made?, bytes: size, source, capacity }))
    }

    fn used(&self) -> usize {
        self.capacity.used()
    }
}

impl Storage for CudaStorage {
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

impl Drop for CudaStorage {
    fn drop(&mut self) {
        self.source.free(self.address);
        self.capacity.give_back(self.bytes);
    }
}
