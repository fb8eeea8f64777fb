//! Opening a card.

use std::ffi::c_int;
use std::sync::Arc;

use cudarc::driver::result;
use cudarc::driver::sys::{self, CUdevice, CUdevice_attribute};

use super::compiler::CudaCompiler;
use super::context::Context;
use super::driver::{self, DriverError, explained};
use super::memory::CudaMemory;
use super::nvrtc::{Nvrtc, NvrtcError};
use super::queue::CudaQueue;
use crate::device::caching::Caching;
use crate::device::contract::{Compiler, Device, DeviceError, Memory, Queue};
use crate::device::kernel_cache::KernelCache;
use crate::machine::{DeviceInfo, normalise_pci};
use crate::units::Bytes;

/// An open card.
pub struct CudaDevice {
    name: String,
    memory: Arc<Caching<CudaMemory>>,
    compiler: CudaCompiler,
    compute: CudaQueue,
    uploads: CudaQueue,
    downloads: CudaQueue,
}

/// Which card to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// The one with this UUID, as NVML or the driver writes it.
    Uuid(String),
    /// The one at this PCI address; domains of four and eight digits are the same.
    Pci(String),
    /// The driver's number for it.
    Ordinal(usize),
}

/// A card can't be opened.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OpenError {
    /// There is no driver to ask.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// There is no compiler.
    #[error(transparent)]
    Compiler(#[from] NvrtcError),
    /// None matches.
    #[error("the CUDA driver shows no card {wanted}; it shows {found} (see CUDA_VISIBLE_DEVICES)")]
    NoCard {
        /// What was looked for.
        wanted: Selector,
        /// How many there are.
        found: usize,
    },
    /// The driver refused.
    #[error("the CUDA driver doesn't open the card: {0}")]
    Refused(String),
    /// Something on it failed at once.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl From<result::DriverError> for OpenError {
    fn from(error: result::DriverError) -> Self {
        OpenError::Refused(explained(error))
    }
}

impl CudaDevice {
    /// Opens the card behind a device of the inventory. Without a known memory size buffers may take whatever the driver
    /// gives.
    ///
    /// # Errors
    /// Driver or compiler are missing, or the driver doesn't show the card.
    pub fn of(info: &DeviceInfo, capacity: Option<Bytes>) -> Result<Self, DeviceError> {
        let failed = |message: String| DeviceError::Failed {
            device: info.name.clone(),
            operation: "opening it".to_owned(),
            message,
        };
        let selector = match (&info.uuid, &info.pci) {
            (Some(uuid), _) => Selector::Uuid(uuid.clone()),
            (None, Some(pci)) => Selector::Pci(pci.clone()),
            (None, None) => return Err(failed("it has neither UUID nor PCI address".to_owned())),
        };
        let capacity = capacity.map_or(usize::MAX, |bytes| bytes.0 as usize);
        let opened = CudaDevice::open(&info.name, &selector, capacity, KernelCache::of_user());
        opened.map_err(|error| match error {
            OpenError::Device(error) => error,
            other => failed(other.to_string()),
        })
    }

    /// Opens a card as the machine's device `name`. Buffers will take at most `capacity_bytes`; staging for copies, up to
    /// 32 MiB of pinned memory on the host's side, comes on top.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(
        name: &str,
        selector: &Selector,
        capacity_bytes: usize,
        cache: KernelCache,
    ) -> Result<Self, OpenError> {
        driver::load()?;
        let nvrtc = Nvrtc::find()?;
        let device = find(selector)?;
        let context = Arc::new(Context::retain(name, device)?);
        let memory = CudaMemory::new(&context, device, capacity_bytes)?;
        let memory = Arc::new(Caching::new(memory));
        let queue = || CudaQueue::new(&context, &memory);
        Ok(CudaDevice {
            name: name.to_owned(),
            compiler: CudaCompiler::new(&context, nvrtc, capability(device)?, cache),
            compute: queue()?,
            uploads: queue()?,
            downloads: queue()?,
            memory,
        })
    }

    /// The most bytes of its memory that were in use at one time, what waited for reuse included.
    pub fn memory_peak(&self) -> usize {
        self.memory.source().peak()
    }
}

/// The card's compute capability: 90 is 9.0.
pub(super) fn capability(device: CUdevice) -> Result<u32, OpenError> {
    let [major, minor] = [
        CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
        CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
    ]
    // SAFETY: the device is the driver's own answer.
    .map(|attribute| unsafe { result::device::get_attribute(device, attribute) });
    Ok(u32::try_from(10 * major? + minor?).unwrap_or_default())
}

fn find(selector: &Selector) -> Result<CUdevice, OpenError> {
    let count = result::device::get_count()?;
    for ordinal in 0..count {
        let device = result::device::get(ordinal)?;
        let is_it = match selector {
            Selector::Ordinal(wanted) => usize::try_from(ordinal) == Ok(*wanted),
            Selector::Uuid(wanted) => digits(wanted) == digits(&uuid(device)?),
            Selector::Pci(wanted) => normalise_pci(wanted) == normalise_pci(&pci(device)?),
        };
        if is_it {
            return Ok(device);
        }
    }
    Err(OpenError::NoCard { wanted: selector.clone(), found: usize::try_from(count).unwrap_or_default() })
}

/// The UUID in NVIDIA's form. A slice has one of its own, which looks like a card's here.
pub(super) fn uuid(device: CUdevice) -> Result<String, OpenError> {
    let mut uuid = sys::CUuuid { bytes: [0; 16] };
    // SAFETY: sixteen bytes are written.
    unsafe { sys::cuDeviceGetUuid_v2(&mut uuid, device) }.result()?;
    let hex: String = uuid.bytes.iter().map(|byte| format!("{:02x}", *byte as u8)).collect();
    let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    Ok(format!("GPU-{}", parts.join("-")))
}

/// The digits of a UUID, whatever stands before and between them.
fn digits(uuid: &str) -> String {
    let bare = uuid
        .split_once('-')
        .filter(|(kind, _)| matches!(*kind, "GPU" | "MIG"))
        .map_or(uuid, |(_, rest)| rest);
    bare.chars().filter(|c| *c != '-').map(|c| c.to_ascii_lowercase()).collect()
}

/// The PCI address as the driver writes it.
pub(super) fn pci(device: CUdevice) -> Result<String, OpenError> {
    let mut text = [0u8; 32];
    // SAFETY: the driver writes at most so many bytes, the last a zero.
    unsafe { sys::cuDeviceGetPCIBusId(text.as_mut_ptr().cast(), text.len() as c_int, device) }.result()?;
    let text = text.iter().copied().take_while(|byte| *byte != 0).collect::<Vec<u8>>();
    Ok(String::from_utf8_lossy(&text).into_owned())
}

impl Device for CudaDevice {
    fn name(&self) -> &str {
        &self.name
    }

    fn memory(&self) -> &dyn Memory {
        &*self.memory
    }

    fn compiler(&self) -> &dyn Compiler {
        &self.compiler
    }

    fn queue(&self) -> &dyn Queue {
        &self.compute
    }

    fn uploads(&self) -> &dyn Queue {
        &self.uploads
    }

    fn downloads(&self) -> &dyn Queue {
        &self.downloads
    }
}

impl std::fmt::Display for Selector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Selector::Uuid(uuid) => write!(f, "with UUID {uuid}"),
            Selector::Pci(pci) => write!(f, "at PCI address {pci}"),
            Selector::Ordinal(ordinal) => write!(f, "number {ordinal}"),
        }
    }
}
