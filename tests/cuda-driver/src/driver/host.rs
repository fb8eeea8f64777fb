//! Pinned host memory, and copies between host and devices.

use std::alloc::{Layout, alloc, dealloc};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use super::device::Device;
use super::faults::Kind;
use super::heap::Allocation;
use super::stream::{Stream, device_of};
use super::{Answer, lock};
use crate::result;
use crate::run::Fault;

/// A range of pinned memory: its length, and whether this driver allocated it.
#[derive(Clone, Copy)]
struct Pinned {
    bytes: usize,
    own: bool,
}

static PINNED: Mutex<BTreeMap<usize, Pinned>> = Mutex::new(BTreeMap::new());

/// Allocates pinned memory, filled with a pattern; gives its address.
pub fn allocate(bytes: usize) -> Answer<usize> {
    let layout = layout(bytes).filter(|_| bytes > 0).ok_or(result::INVALID_VALUE)?;
    // SAFETY: the layout has more than no bytes.
    let data = unsafe { alloc(layout) };
    if data.is_null() {
        return Err(result::OUT_OF_MEMORY);
    }
    // SAFETY: `data` has `bytes` bytes.
    unsafe { data.write_bytes(Allocation::POISON, bytes) };
    lock(&PINNED).insert(data as usize, Pinned { bytes, own: true });
    Ok(data as usize)
}

pub fn free(address: usize) -> Answer<()> {
    let mut pinned = lock(&PINNED);
    let found = pinned.get(&address).copied().filter(|range| range.own).ok_or(result::INVALID_VALUE)?;
    pinned.remove(&address);
    let layout = layout(found.bytes).ok_or(result::INVALID_VALUE)?;
    // SAFETY: allocated with this layout; copies that run hold the lock.
    unsafe { dealloc(address as *mut u8, layout) };
    Ok(())
}

/// Pins memory of the program's own.
pub fn register(address: usize, bytes: usize) -> Answer<()> {
    if address == 0 || bytes == 0 {
        return Err(result::INVALID_VALUE);
    }
    lock(&PINNED).insert(address, Pinned { bytes, own: false });
    Ok(())
}

pub fn unregister(address: usize) -> Answer<()> {
    let mut pinned = lock(&PINNED);
    pinned.get(&address).filter(|range| !range.own).ok_or(result::INVALID_VALUE)?;
    pinned.remove(&address);
    Ok(())
}

/// Bytes of pinned memory that this driver allocated and that weren't freed.
pub fn unfreed() -> u64 {
    lock(&PINNED).values().filter(|range| range.own).map(|range| range.bytes as u64).sum()
}

/// Copies to a device in a stream's order. Pageable memory is read at once, pinned memory when the stream is there.
pub fn upload(stream: &Stream, to: u64, from: usize, bytes: usize) -> Answer<()> {
    known(to, bytes)?;
    let device = stream.device.clone();
    if held(&lock(&PINNED), from, bytes) {
        stream.submit(move || {
            begin(&device);
            let pinned = lock(&PINNED);
            check_pinned(&pinned, from, bytes)?;
            // SAFETY: pinned, as just checked, and the lock keeps it so.
            unsafe { write(to, from as *const u8, bytes) }
        });
        return Ok(());
    }
    // SAFETY: the caller of the copy says that so many bytes are there.
    let staged = unsafe { std::slice::from_raw_parts(from as *const u8, bytes) }.to_vec();
    stream.submit(move || {
        begin(&device);
        // SAFETY: the bytes are the vector's own.
        unsafe { write(to, staged.as_ptr(), staged.len()) }
    });
    Ok(())
}

/// Copies from a device in a stream's order; into pageable memory it waits for the end.
pub fn download(stream: &Stream, to: usize, from: u64, bytes: usize) -> Answer<()> {
    known(from, bytes)?;
    let device = stream.device.clone();
    let is_pinned = held(&lock(&PINNED), to, bytes);
    stream.submit(move || {
        begin(&device);
        let source = live(from, bytes)?;
        let at = source.host((from - source.address) as usize, bytes).ok_or_else(|| gone(from))?;
        let pinned = lock(&PINNED);
        if is_pinned {
            check_pinned(&pinned, to, bytes)?;
        }
        // SAFETY: both have so many bytes: `source` as checked; `to` is pinned, or its owner waits below.
        unsafe { std::ptr::copy(at, to as *mut u8, bytes) };
        Ok(())
    });
    if !is_pinned {
        stream.synchronize();
        stream.device.check()?;
    }
    Ok(())
}

/// Copies between two places of devices, in a stream's order.
pub fn copy(stream: &Stream, to: u64, from: u64, bytes: usize) -> Answer<()> {
    known(to, bytes)?;
    known(from, bytes)?;
    let device = stream.device.clone();
    stream.submit(move || {
        begin(&device);
        let source = live(from, bytes)?;
        let at = source.host((from - source.address) as usize, bytes).ok_or_else(|| gone(from))?;
        // SAFETY: `source` has so many bytes there and lives until the end of the copy.
        unsafe { write(to, at, bytes) }
    });
    Ok(())
}

/// Fills memory of a device with a pattern of 1, 2 or 4 bytes, in a stream's order.
pub fn fill(stream: &Stream, to: u64, pattern: Vec<u8>, count: usize) -> Answer<()> {
    let bytes = pattern.len().checked_mul(count).ok_or(result::INVALID_VALUE)?;
    known(to, bytes)?;
    if !to.is_multiple_of(pattern.len() as u64) {
        return Err(result::INVALID_VALUE);
    }
    stream.submit(move || {
        let whole = pattern.repeat(count);
        // SAFETY: the bytes are the vector's own.
        unsafe { write(to, whole.as_ptr(), whole.len()) }
    });
    Ok(())
}

/// What each copy counts and waits.
fn begin(device: &Device) {
    device.count(Kind::Copy);
    let delay = device.copy_delay();
    if delay > 0 {
        std::thread::sleep(Duration::from_micros(delay));
    }
}

/// # Safety
/// `from` must have `bytes` bytes.
unsafe fn write(to: u64, from: *const u8, bytes: usize) -> Result<(), Fault> {
    let target = live(to, bytes)?;
    let at = target.host((to - target.address) as usize, bytes).ok_or_else(|| gone(to))?;
    // SAFETY: the caller vouches for `from`, `live` for the target.
    unsafe { std::ptr::copy(from, at, bytes) };
    Ok(())
}

/// Whether a device's heap knows the range, live or about to be; what isn't known is refused at once.
fn known(address: u64, bytes: usize) -> Answer<()> {
    let device = device_of(address).ok_or(result::INVALID_VALUE)?;
    if lock(&device.heap).knows(address, bytes) { Ok(()) } else { Err(result::INVALID_VALUE) }
}

fn live(address: u64, bytes: usize) -> Result<std::sync::Arc<Allocation>, Fault> {
    let found = device_of(address).and_then(|device| lock(&device.heap).at(address));
    found.filter(|found| found.holds(address, bytes)).ok_or_else(|| gone(address))
}

fn gone(address: u64) -> Fault {
    let message = format!("a copy of {address:#x}, which isn't live when the stream comes to it");
    Fault { code: result::ILLEGAL_ADDRESS, message }
}

fn held(pinned: &MutexGuard<'_, BTreeMap<usize, Pinned>>, address: usize, bytes: usize) -> bool {
    let range = pinned.range(..=address).next_back();
    range.is_some_and(|(start, range)| address - start + bytes <= range.bytes)
}

fn check_pinned(
    pinned: &MutexGuard<'_, BTreeMap<usize, Pinned>>,
    address: usize,
    bytes: usize,
) -> Result<(), Fault> {
    if held(pinned, address, bytes) {
        return Ok(());
    }
    let message = "a copy of pinned memory that was freed before the stream came to it".to_owned();
    Err(Fault { code: result::ILLEGAL_ADDRESS, message })
}

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes, 4096).ok()
}
