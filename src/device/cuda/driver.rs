//! Loading the driver, once: cudarc panics where the library or a function is missing, so that is found out first.

use std::ffi::c_void;
use std::sync::OnceLock;

use cudarc::driver::{result, sys};

/// The driver can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DriverError {
    /// There is no library.
    #[error("there is no CUDA driver: no libcuda.so.1 (nvcuda.dll) can be loaded")]
    Missing,
    /// The library is too old.
    #[error("the CUDA driver is too old: it has no function {function}; one for CUDA 12 is needed")]
    Function {
        /// The first function that it lacks.
        function: &'static str,
    },
    /// It shows no card.
    #[error("the CUDA driver shows no card (CUDA_ERROR_NO_DEVICE)")]
    NoDevice,
    /// It refuses.
    #[error("the CUDA driver doesn't start: {message}")]
    Refused {
        /// What it said.
        message: String,
    },
}

/// Every function of the driver that the backend calls.
const FUNCTIONS: [&str; 38] = [
    "cuCtxSetCurrent",
    "cuDeviceCanAccessPeer",
    "cuDeviceGet",
    "cuDeviceGetAttribute",
    "cuDeviceGetCount",
    "cuDeviceGetDefaultMemPool",
    "cuDeviceGetName",
    "cuDeviceGetPCIBusId",
    "cuDeviceGetUuid_v2",
    "cuDevicePrimaryCtxRelease_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDeviceTotalMem_v2",
    "cuDriverGetVersion",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuInit",
    "cuLaunchKernel",
    "cuMemAllocAsync",
    "cuMemAlloc_v2",
    "cuMemFreeAsync",
    "cuMemFreeHost",
    "cuMemFree_v2",
    "cuMemHostAlloc",
    "cuMemPoolSetAttribute",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyPeerAsync",
    "cuMemsetD8Async",
    "cuModuleGetFunction",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
];

/// Loads and starts the driver; afterwards none of [`FUNCTIONS`] panics.
pub(super) fn load() -> Result<(), DriverError> {
    static LOADED: OnceLock<Result<(), DriverError>> = OnceLock::new();
    LOADED.get_or_init(start).clone()
}

fn start() -> Result<(), DriverError> {
    // SAFETY: loading a driver runs its initialisers, which is what it is for.
    if !unsafe { sys::is_culib_present() } {
        return Err(DriverError::Missing);
    }
    // SAFETY: the library was just found to be there.
    let library = unsafe { sys::culib() };
    // SAFETY: the function isn't called, only looked for.
    let is_there = |name: &str| unsafe { library.get::<*const c_void>(name.as_bytes()) }.is_ok();
    if let Some(function) = FUNCTIONS.into_iter().find(|name| !is_there(name)) {
        return Err(DriverError::Function { function });
    }
    result::init().map_err(|error| match error.0 {
        sys::CUresult::CUDA_ERROR_NO_DEVICE => DriverError::NoDevice,
        _ => DriverError::Refused { message: explained(error) },
    })
}

/// The driver's own words, with its name for the error.
pub(super) fn explained(error: result::DriverError) -> String {
    let text = |found: Result<&std::ffi::CStr, _>| found.map(|text| text.to_string_lossy().into_owned());
    match (text(error.error_name()), text(error.error_string())) {
        (Ok(name), Ok(words)) => format!("{words} ({name})"),
        _ => format!("error {}", error.0 as u32),
    }
}
