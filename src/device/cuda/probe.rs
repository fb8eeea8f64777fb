//! What the driver shows, for the inventory. No context is made: that takes memory and a second.

use std::ffi::c_int;

use cudarc::driver::result::{self, DriverError as CudaError};
use cudarc::driver::sys::{self, CUdevice, CUdevice_attribute, CUresult};

use super::driver::{self, DriverError, explained};
use super::nvrtc::Nvrtc;
use super::open::{pci, uuid};
use crate::device::probe::Trouble;
use crate::device::probe::cuda::{CudaGpu, Driver, Source, read_from};
use crate::device::probe::speed::{Speed, cores_of_multiprocessor};
use crate::machine::{ComputeCapability, normalise_pci};
use crate::units::Bytes;

/// Every card that the driver shows.
pub(in crate::device) fn read(notes: &mut Vec<String>) -> Driver {
    match driver::load() {
        Ok(()) => read_from(&Loaded, notes),
        Err(DriverError::Missing) => Driver::absent(),
        // How it says that the process may use none.
        Err(DriverError::NoDevice) => Driver::There { version: String::new(), gpus: Vec::new() },
        Err(error) => Driver::Broken(error.to_string()),
    }
}

/// Whether there is a compiler for its kernels, or why there is none.
pub(in crate::device) fn compiler() -> Result<(), String> {
    Nvrtc::find().map(|_| ()).map_err(|error| error.to_string())
}

/// The driver once it is loaded and started.
struct Loaded;

impl Source for Loaded {
    fn version(&self) -> Result<u32, Trouble> {
        let mut version = 0;
        // SAFETY: one number is written.
        unsafe { sys::cuDriverGetVersion(&mut version) }.result()?;
        Ok(version.unsigned_abs())
    }

    fn count(&self) -> Result<u32, Trouble> {
        Ok(result::device::get_count()?.unsigned_abs())
    }

    fn card(&self, ordinal: u32) -> Result<CudaGpu, Trouble> {
        let device = device(ordinal)?;
        // SAFETY: the device is the driver's own answer.
        let memory = unsafe { result::device::total_mem(device) }.ok().filter(|bytes| *bytes > 0);
        Ok(CudaGpu {
            name: result::device::get_name(device)?,
            pci: pci(device).ok().as_deref().and_then(normalise_pci),
            uuid: uuid(device).ok().map(|uuid| uuid.trim_start_matches("GPU-").to_owned()),
            memory: memory.map(|bytes| Bytes(bytes as u64)),
            is_integrated: number(device, CUdevice_attribute::CU_DEVICE_ATTRIBUTE_INTEGRATED).is_some(),
            speed: speed(device),
            peers: Vec::new(),
        })
    }

    fn reaches(&self, ordinal: u32, other: u32) -> Result<bool, Trouble> {
        let mut can = 0;
        // SAFETY: one number is written, and the devices are the driver's own answers.
        unsafe { sys::cuDeviceCanAccessPeer(&mut can, device(ordinal)?, device(other)?) }.result()?;
        Ok(can != 0)
    }
}

fn device(ordinal: u32) -> Result<CUdevice, CudaError> {
    result::device::get(ordinal as c_int)
}

fn speed(device: CUdevice) -> Speed {
    use CUdevice_attribute::*;
    let capability = ComputeCapability {
        major: number(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR).unwrap_or_default(),
        minor: number(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR).unwrap_or_default(),
    };
    let multiprocessors = number(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    Speed {
        cores: multiprocessors.and_then(|count| count.checked_mul(cores_of_multiprocessor(capability)?)),
        core_clock_mhz: number(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE).map(|khz| khz / 1000),
        memory_clock_mhz: number(device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE).map(|khz| khz / 1000),
        memory_bus_bits: number(device, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH),
        compute_capability: (capability.major > 0).then_some(capability),
        pcie: None,
    }
}

/// An attribute that is above 0.
fn number(device: CUdevice, attribute: CUdevice_attribute) -> Option<u32> {
    // SAFETY: the device is the driver's own answer.
    let value = unsafe { result::device::get_attribute(device, attribute) }.ok()?;
    u32::try_from(value).ok().filter(|value| *value > 0)
}

impl From<CudaError> for Trouble {
    fn from(error: CudaError) -> Trouble {
        match error.0 {
            CUresult::CUDA_ERROR_NOT_SUPPORTED => Trouble::NotSupported,
            _ => Trouble::Failed(explained(error)),
        }
    }
}
