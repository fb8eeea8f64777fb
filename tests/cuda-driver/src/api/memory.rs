//! Memory of devices and pinned memory of the host.

use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering::SeqCst;

use super::{functions, put};
use crate::driver::device::Device;
use crate::driver::stream::{Stream, device_of, stream};
use crate::driver::{self, Answer, host, lock};
use crate::result;

functions! {
    fn cuMemAlloc_v2(address: *mut u64, bytes: usize) {
        put(address, driver::current()?.take(bytes, true)?)
    }

    // A broken context frees too, so that what is left over says what the program forgot.
    fn cuMemFree_v2(address: u64) {
        if address == 0 {
            return Ok(());
        }
        let answer = driver::current().map(|_| ());
        let device = device_of(address).ok_or(result::INVALID_VALUE)?;
        device.synchronize();
        let mut heap = lock(&device.heap);
        if !(heap.begins_at(address) && heap.free(address)) {
            return Err(result::INVALID_VALUE);
        }
        answer
    }

    fn cuMemAllocAsync(address: *mut u64, bytes: usize, handle: usize) {
        driver::current()?;
        put(address, take_ordered(&stream(handle)?, bytes)?)
    }

    fn cuMemAllocFromPoolAsync(address: *mut u64, bytes: usize, pool: usize, handle: usize) {
        driver::current()?;
        let (owner, stream) = (pool_device(pool)?, stream(handle)?);
        if owner.ordinal != stream.device.ordinal {
            return Err(result::INVALID_VALUE);
        }
        put(address, take_ordered(&stream, bytes)?)
    }

    fn cuMemFreeAsync(address: u64, handle: usize) {
        if address == 0 {
            return Ok(());
        }
        let answer = driver::current().map(|_| ());
        let stream = stream(handle)?;
        let device = device_of(address).ok_or(result::INVALID_VALUE)?;
        if !lock(&device.heap).begins_at(address) {
            return Err(result::INVALID_VALUE);
        }
        let name = stream.device.ordinal;
        stream.submit_always(move || {
            if !lock(&device.heap).free(address) {
                eprintln!("[cuda-driver] device {name}: {address:#x} is freed twice");
                device.break_with(result::INVALID_VALUE, "a stream frees what isn't there");
            }
        });
        answer
    }

    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        let heap = lock(&driver::current()?.heap);
        put(free, heap.total() - heap.used())?;
        put(total, heap.total())
    }

    fn cuMemGetAddressRange_v2(start: *mut u64, bytes: *mut usize, address: u64) {
        driver::current()?;
        let device = device_of(address).ok_or(result::NOT_FOUND)?;
        let found = lock(&device.heap).at(address).filter(|found| found.holds(address, 1));
        let found = found.ok_or(result::NOT_FOUND)?;
        if !start.is_null() {
            put(start, found.address)?;
        }
        if bytes.is_null() { Ok(()) } else { put(bytes, found.bytes) }
    }

    fn cuMemHostAlloc(address: *mut usize, bytes: usize, _flags: u32) {
        driver::current()?;
        put(address, host::allocate(bytes)?)
    }

    fn cuMemAllocHost_v2(address: *mut usize, bytes: usize) {
        driver::current()?;
        put(address, host::allocate(bytes)?)
    }

    fn cuMemFreeHost(address: usize) {
        let answer = driver::current().map(|_| ());
        for device in driver::devices()?.iter().filter(|device| device.is_retained()) {
            device.synchronize();
        }
        host::free(address)?;
        answer
    }

    fn cuMemHostRegister_v2(address: usize, bytes: usize, _flags: u32) {
        driver::current()?;
        host::register(address, bytes)
    }

    fn cuMemHostUnregister(address: usize) {
        driver::current()?;
        host::unregister(address)
    }

    // Each device has one pool, whatever is created, and it keeps nothing.
    fn cuDeviceGetDefaultMemPool(pool: *mut usize, device: c_int) {
        put(pool, pool_handle(driver::device(device)?))
    }

    fn cuDeviceGetMemPool(pool: *mut usize, device: c_int) { put(pool, pool_handle(driver::device(device)?)) }

    fn cuDeviceSetMemPool(device: c_int, pool: usize) {
        driver::device(device)?;
        pool_device(pool).map(|_| ())
    }

    fn cuMemPoolTrimTo(pool: usize, _keep: usize) { pool_device(pool).map(|_| ()) }

    fn cuMemPoolSetAttribute(pool: usize, attribute: u32, value: *mut c_void) {
        let device = pool_device(pool)?;
        if value.is_null() {
            return Err(result::INVALID_VALUE);
        }
        match attribute {
            // Which memory may be used again: none is.
            1..=3 => Ok(()),
            4 => {
                device.pool_threshold.store(value.cast::<u64>().read_unaligned(), SeqCst);
                Ok(())
            }
            _ => Err(result::INVALID_VALUE),
        }
    }

    fn cuMemPoolGetAttribute(pool: usize, attribute: u32, value: *mut c_void) {
        let device = pool_device(pool)?;
        let heap = lock(&device.heap);
        match attribute {
            1..=3 => put(value.cast::<c_int>(), 0),
            4 => put(value.cast::<u64>(), device.pool_threshold.load(SeqCst)),
            5 | 7 => put(value.cast::<u64>(), heap.used() as u64),
            6 | 8 => put(value.cast::<u64>(), heap.most() as u64),
            _ => Err(result::INVALID_VALUE),
        }
    }
}

/// Takes memory that is live once the stream comes to it.
fn take_ordered(stream: &Stream, bytes: usize) -> Answer<u64> {
    let address = stream.device.take(bytes, false)?;
    let device = stream.device.clone();
    stream.submit_always(move || lock(&device.heap).appear(address));
    Ok(address)
}

fn pool_handle(device: &Device) -> usize {
    0x8000_0000 + device.ordinal
}

fn pool_device(pool: usize) -> Answer<&'static std::sync::Arc<Device>> {
    let ordinal = pool.checked_sub(0x8000_0000).and_then(|ordinal| i32::try_from(ordinal).ok());
    driver::device(ordinal.ok_or(result::INVALID_VALUE)?).map_err(|_| result::INVALID_VALUE)
}
