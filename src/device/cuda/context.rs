//! A card's context: every call to the driver goes through it.

use std::sync::OnceLock;

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{CUcontext, CUdevice, CUresult};

use super::driver::explained;
use crate::device::contract::DeviceError;

/// The primary context of a card, held until it is dropped.
pub(super) struct Context {
    name: String,
    device: CUdevice,
    raw: CUcontext,
    /// Set once the context is broken; every later call answers it.
    lost: OnceLock<String>,
}

// SAFETY: contexts may be used from any thread; each call makes it the current one first.
unsafe impl Send for Context {}
// SAFETY: as above; the driver locks.
unsafe impl Sync for Context {}

impl Context {
    /// Takes hold of the card's context, as the machine's device `name`.
    pub(super) fn retain(name: &str, device: CUdevice) -> Result<Self, DriverError> {
        // SAFETY: the device is the driver's own answer; `drop` releases once.
        let raw = unsafe { result::primary_ctx::retain(device) }?;
        Ok(Context { name: name.to_owned(), device, raw, lost: OnceLock::new() })
    }

    /// The device's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The driver's handle.
    pub(super) fn raw(&self) -> CUcontext {
        self.raw
    }

    /// Calls the driver with this context as the current one.
    pub(super) fn call<T>(
        &self,
        operation: &str,
        call: impl FnOnce() -> Result<T, DriverError>,
    ) -> Result<T, DeviceError> {
        if let Some(message) = self.lost.get() {
            return Err(DeviceError::Lost { device: self.name.clone(), message: message.clone() });
        }
        // SAFETY: the context is held until `self` is dropped.
        let made = unsafe { result::ctx::set_current(self.raw) }.and_then(|()| call());
        made.map_err(|error| self.error(operation, error))
    }

    /// Calls the driver to give something back: nobody can do anything about what it says, and once the context is
    /// broken all is given back already.
    pub(super) fn give_back(&self, call: impl FnOnce() -> Result<(), DriverError>) {
        if self.lost.get().is_none() {
            let _ = self.call("giving back", call);
        }
    }

    /// A failure in words.
    pub(super) fn failed(&self, operation: &str, message: impl ToString) -> DeviceError {
        DeviceError::Failed {
            device: self.name.clone(),
            operation: operation.to_owned(),
            message: message.to_string(),
        }
    }

    fn error(&self, operation: &str, error: DriverError) -> DeviceError {
        let device = self.name.clone();
        if error.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY {
            return DeviceError::OutOfMemory { device, requested: 0, used: 0, capacity: None };
        }
        if !is_final(error.0) {
            return self.failed(operation, explained(error));
        }
        let message = self.lost.get_or_init(|| format!("{operation}: {}", explained(error))).clone();
        DeviceError::Lost { device, message }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: it was retained once. What is left in a broken context goes with it.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

/// Whether an error breaks the context: every later call would answer it, too.
fn is_final(error: CUresult) -> bool {
    use CUresult::*;
    matches!(
        error,
        CUDA_ERROR_DEINITIALIZED
            | CUDA_ERROR_CONTEXT_IS_DESTROYED
            | CUDA_ERROR_ECC_UNCORRECTABLE
            | CUDA_ERROR_NVLINK_UNCORRECTABLE
            | CUDA_ERROR_ILLEGAL_ADDRESS
            | CUDA_ERROR_LAUNCH_TIMEOUT
            | CUDA_ERROR_ASSERT
            | CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUDA_ERROR_MISALIGNED_ADDRESS
            | CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUDA_ERROR_INVALID_PC
            | CUDA_ERROR_LAUNCH_FAILED
            | CUDA_ERROR_DEVICE_UNAVAILABLE
            | CUDA_ERROR_EXTERNAL_DEVICE
            | CUDA_ERROR_UNKNOWN
    )
}
