//! What codes mean, the driver's version, and the tables that others look for.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;

use super::{functions, put};
use crate::{driver, result};

/// The version of the API: 12.9.
const VERSION: c_int = 12090;

functions! {
    fn cuInit(flags: u32) {
        if flags != 0 {
            return Err(result::INVALID_VALUE);
        }
        driver::initialize()
    }

    fn cuDriverGetVersion(version: *mut c_int) { put(version, VERSION) }

    fn cuGetErrorName(error: c_int, text: *mut *const c_char) {
        match result::described(error) {
            Some((name, _)) => put(text, name.as_ptr()),
            None => Err(result::INVALID_VALUE),
        }
    }

    fn cuGetErrorString(error: c_int, text: *mut *const c_char) {
        match result::described(error) {
            Some((_, meaning)) => put(text, meaning.as_ptr()),
            None => Err(result::INVALID_VALUE),
        }
    }

    // NVRTC asks for private tables once it finds libcuda.so.1, and goes on without them.
    fn cuGetExportTable(_table: *mut *const c_void, _id: *const c_void) { Err(result::NOT_FOUND) }

    fn cuGetProcAddress_v2(_name: *const c_char, function: *mut *mut c_void, _version: c_int, _flags: u64,
                           _status: *mut c_int) {
        put(function, null_mut())?;
        Err(result::NOT_FOUND)
    }
}
