//! The emulated driver's state: devices with their memory, streams, events, modules and pinned host memory.

pub mod device;
pub mod event;
pub mod faults;
pub mod heap;
pub mod host;
pub mod machine;
pub mod module;
pub mod schedule;
pub mod stream;
pub mod variables;

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use device::Device;
use faults::Kind;

use crate::result;

/// What a driver's function answers where it doesn't succeed.
pub type Answer<T> = Result<T, i32>;

static DEVICES: OnceLock<Result<Vec<Arc<Device>>, String>> = OnceLock::new();

thread_local! {
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// Makes the devices, once.
pub fn initialize() -> Answer<()> {
    let made = DEVICES.get_or_init(|| {
        let specs = machine::visible()?;
        let device = |(ordinal, spec)| Device::new(ordinal, spec).map(Arc::new);
        specs.into_iter().enumerate().map(device).collect()
    });
    match made {
        Ok(devices) if devices.is_empty() => Err(result::NO_DEVICE),
        Ok(_) => Ok(()),
        Err(wrong) => {
            eprintln!("[cuda-driver] {wrong}");
            Err(result::INVALID_VALUE)
        }
    }
}

/// All devices.
pub fn devices() -> Answer<&'static [Arc<Device>]> {
    match DEVICES.get() {
        Some(Ok(devices)) => Ok(devices),
        _ => Err(result::NOT_INITIALIZED),
    }
}

/// The device of an ordinal.
pub fn device(ordinal: i32) -> Answer<&'static Arc<Device>> {
    let index = usize::try_from(ordinal).map_err(|_| result::INVALID_DEVICE)?;
    devices()?.get(index).ok_or(result::INVALID_DEVICE)
}

/// The device whose context is current, sound; the call counts towards its faults.
pub fn current() -> Answer<&'static Arc<Device>> {
    let device = current_in_any_state()?;
    device.count(Kind::Call);
    device.check()?;
    Ok(device)
}

/// As [`current`], of a device that may be broken, without counting.
pub fn current_in_any_state() -> Answer<&'static Arc<Device>> {
    context_device(CURRENT.get())
}

/// The device of a context's handle.
pub fn context_device(context: usize) -> Answer<&'static Arc<Device>> {
    let device = devices()?.iter().find(|device| device.context() == context);
    device.filter(|device| device.is_retained()).ok_or(result::INVALID_CONTEXT)
}

/// The current context's handle; 0 is none.
pub fn current_context() -> usize {
    CURRENT.get()
}

pub fn set_current_context(context: usize) {
    CURRENT.set(context);
}

/// A number that no other handle has.
pub fn fresh_handle() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0x1000);
    NEXT.fetch_add(8, Relaxed)
}

/// Locks a mutex, whatever a panic of its last holder left: every value here is whole between statements.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
