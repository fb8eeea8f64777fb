//! What tests ask of the emulation itself. Kinds are numbered as in [`Kind`].

use std::ffi::{CStr, c_char, c_int};

use super::functions;
use crate::driver::faults::Kind;
use crate::driver::{self, host, variables};
use crate::result;

functions! {
    // Sets a variable of this process in place of the environment's, such as OUTCROP_CUDA_DEVICES; before cuInit.
    fn outcrop_cuda_configure(name: *const c_char, value: *const c_char) {
        if name.is_null() || value.is_null() || driver::devices().is_ok() {
            return Err(result::INVALID_VALUE);
        }
        let [name, value] = [name, value].map(|text| CStr::from_ptr(text).to_string_lossy());
        variables::set(&name, &value);
        Ok(())
    }

    // Lets the `count`-th of a kind from here on fail, once; 0 plans none. Of copies, each takes `count`
    // microseconds longer.
    fn outcrop_cuda_fault(device: c_int, kind: u32, count: u64) {
        let kind = Kind::numbered(kind).ok_or(result::INVALID_VALUE)?;
        driver::device(device)?.plan_fault(kind, count);
        Ok(())
    }
}

/// Bytes of device memory that the program took and didn't free, on all devices. What a broken context took with
/// it doesn't count; what a sound one did does.
#[unsafe(no_mangle)]
pub extern "C" fn outcrop_cuda_live_bytes() -> u64 {
    driver::devices().map_or(0, |devices| devices.iter().map(|device| device.unfreed()).sum())
}

/// As [`outcrop_cuda_live_bytes`], of one device.
#[unsafe(no_mangle)]
pub extern "C" fn outcrop_cuda_live_bytes_of(device: c_int) -> u64 {
    driver::device(device).map_or(0, |device| device.unfreed())
}

/// Bytes of pinned host memory that the program took and didn't free.
#[unsafe(no_mangle)]
pub extern "C" fn outcrop_cuda_live_host_bytes() -> u64 {
    host::unfreed()
}

/// How many of a kind a device has counted.
#[unsafe(no_mangle)]
pub extern "C" fn outcrop_cuda_count(device: c_int, kind: u32) -> u64 {
    match (driver::device(device), Kind::numbered(kind)) {
        (Ok(device), Some(kind)) => device.counted(kind),
        _ => 0,
    }
}
