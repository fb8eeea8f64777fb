//! `CUresult`: the codes that the driver answers with, their names and what they mean.

use std::ffi::CStr;

macro_rules! results {
    ($($name:ident = $code:literal, $text:literal;)*) => {
        $(#[allow(missing_docs)] pub const $name: i32 = $code;)*

        /// The name of a code and what it means; `None` for one that this driver never gives.
        pub fn described(code: i32) -> Option<(&'static CStr, &'static CStr)> {
            let pair = match code {
                SUCCESS => ("CUDA_SUCCESS\0", "no error\0"),
                $($name => (concat!("CUDA_ERROR_", stringify!($name), "\0"), concat!($text, "\0")),)*
                _ => return None,
            };
            let [Ok(name), Ok(text)] = [pair.0, pair.1].map(|text| CStr::from_bytes_with_nul(text.as_bytes())) else {
                return None;
            };
            Some((name, text))
        }
    };
}

/// No error.
pub const SUCCESS: i32 = 0;

results! {
    INVALID_VALUE = 1, "invalid argument";
    OUT_OF_MEMORY = 2, "out of memory";
    NOT_INITIALIZED = 3, "initialization error";
    NO_DEVICE = 100, "no CUDA-capable device is detected";
    INVALID_DEVICE = 101, "invalid device ordinal";
    INVALID_IMAGE = 200, "device kernel image is invalid";
    INVALID_CONTEXT = 201, "invalid device context";
    NO_BINARY_FOR_GPU = 209, "no kernel image is available for execution on the device";
    PEER_ACCESS_UNSUPPORTED = 217, "peer access is not supported between these two devices";
    INVALID_PTX = 218, "a PTX JIT compilation failed";
    INVALID_HANDLE = 400, "invalid resource handle";
    NOT_FOUND = 500, "named symbol not found";
    NOT_READY = 600, "device not ready";
    ILLEGAL_ADDRESS = 700, "an illegal memory access was encountered";
    LAUNCH_OUT_OF_RESOURCES = 701, "too many resources requested for launch";
    LAUNCH_TIMEOUT = 702, "the launch timed out and was terminated";
    PEER_ACCESS_ALREADY_ENABLED = 704, "peer access is already enabled";
    PEER_ACCESS_NOT_ENABLED = 705, "peer access has not been enabled";
    MISALIGNED_ADDRESS = 716, "misaligned address";
    LAUNCH_FAILED = 719, "unspecified launch failure";
    NOT_SUPPORTED = 801, "operation not supported";
    UNKNOWN = 999, "unknown error";
}
