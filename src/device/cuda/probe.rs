//! What the driver shows, for the inventory. No context is made: that takes memory and a second.

use cudarc::driver::result;
use cudarc::driver::sys::{self, CUdevice, CUdevice_attribute};

use super::driver::{self, DriverError};
use super::nvrtc::Nvrtc;
use super::open::{capability, pci, uuid};
use crate::device::probe::cuda::{Cuda, CudaGpu};
use crate::machine::normalise_pci;
use crate::units::Bytes;

/// Every card of the driver, and whether there is a compiler for them.
pub(in crate::device) fn probe() -> Cuda {
    match driver::load() {
        Ok(()) => {}
        Err(DriverError::Missing) => return Cuda::default(),
        // A driver that finds no card is no trouble: NVML tells what is hidden.
        Err(DriverError::NoDevice) => return Cuda { answered: true, ..Cuda::default() },
        Err(error) => return Cuda { trouble: Some(error.to_string()), ..Cuda::default() },
    }
    let version = version();
    let count = result::device::get_count().unwrap_or_default();
    let devices: Vec<CUdevice> = (0..count).filter_map(|ordinal| result::device::get(ordinal).ok()).collect();
    let mut gpus: Vec<CudaGpu> = devices.iter().map(|&device| gpu(device, &version)).collect();
    for (at, &device) in devices.iter().enumerate() {
        let reached =
            devices.iter().zip(&gpus).filter(|&(&other, _)| other != device && reaches(device, other));
        let peers = reached.filter_map(|(_, gpu)| gpu.uuid.clone()).collect();
        gpus[at].peers = peers;
    }
    let no_compiler = if gpus.is_empty() { None } else { Nvrtc::find().err().map(|error| error.to_string()) };
    Cuda { gpus, answered: true, trouble: None, no_compiler }
}

fn gpu(device: CUdevice, version: &str) -> CudaGpu {
    let capability = capability(device).unwrap_or_default();
    // SAFETY: the device is the driver's own answer.
    let memory = unsafe { result::device::total_mem(device) };
    CudaGpu {
        name: result::device::get_name(device).unwrap_or_default(),
        pci: pci(device).ok().and_then(|pci| normalise_pci(&pci)),
        uuid: uuid(device).ok(),
        memory: memory.ok().filter(|bytes| *bytes > 0).map(|bytes| Bytes(bytes as u64)),
        capability: (capability / 10, capability % 10),
        is_integrated: attribute(device, CUdevice_attribute::CU_DEVICE_ATTRIBUTE_INTEGRATED) == Some(1),
        version: version.to_owned(),
        peers: Vec::new(),
    }
}

fn attribute(device: CUdevice, attribute: CUdevice_attribute) -> Option<i32> {
    // SAFETY: the device is the driver's own answer.
    unsafe { result::device::get_attribute(device, attribute) }.ok()
}

/// Whether kernels and copies of one card reach the other's memory without the host.
fn reaches(device: CUdevice, other: CUdevice) -> bool {
    let mut can = 0;
    // SAFETY: both are the driver's own answers.
    let answered = unsafe { sys::cuDeviceCanAccessPeer(&mut can, device, other) }.result();
    answered.is_ok() && can == 1
}

fn version() -> String {
    let mut version = 0;
    // SAFETY: the number is written.
    let answered = unsafe { sys::cuDriverGetVersion(&mut version) }.result();
    if answered.is_ok() { format!("{}.{}", version / 1000, version % 1000 / 10) } else { String::new() }
}
