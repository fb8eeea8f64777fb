//! The machine that a plan is made for: devices, memories, links and rates, as plain data.
//!
//! A [`Machine`] holds no handle. The probe makes one of the machine at hand, a person writes one of a machine
//! that isn't (`--machine gpu-server.toml`), and the planner can't tell them apart. What may be left out of a
//! hand-written file, and what stands in its place, is in [`defaults`].

mod capability;
pub mod defaults;
mod display;
mod file;
mod links;
mod pci;
#[cfg(test)]
mod tests;
mod validate;

use globset::GlobBuilder;
use serde::{Deserialize, Serialize};

use crate::dtype::DType;
use crate::units::Bytes;

pub use capability::ComputeCapability;
pub use display::scaled;
pub use links::LinkRate;
pub use pci::normalise_pci;
pub use validate::MachineError;

/// The position of a device in [`Machine::devices`]; the host is always 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DeviceId(pub u16);

/// The position of a memory in [`Machine::memories`]; the host's is always 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MemoryId(pub u16);

impl DeviceId {
    /// The host's pool of threads.
    pub const HOST: DeviceId = DeviceId(0);
}

impl MemoryId {
    /// The host's main memory.
    pub const HOST: MemoryId = MemoryId(0);
}

/// Everything that the planner knows about a machine.
///
/// Values made by [`from_toml`](Machine::from_toml), [`from_json`](Machine::from_json), serde or the probe are
/// valid (see [`Machine::validate`]); one put together by hand should be checked before it is planned for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "file::MachineFile")]
pub struct Machine {
    /// What people call it.
    pub name: String,
    /// The host's processors.
    pub host: Host,
    /// The host first, then GPUs in PCI order.
    pub devices: Vec<DeviceInfo>,
    /// The host's first.
    pub memories: Vec<MemoryInfo>,
    /// Known paths between memories. A path that isn't listed has a default: [`Machine::link`].
    pub links: Vec<Link>,
}

/// The host's processors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Cores that this process may use (affinity and quota counted), at least 1.
    pub cores: usize,
    /// The processor's name, for people.
    #[serde(default)]
    pub model: String,
    /// The parts of the memory that some cores reach faster than others; none where that isn't told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numa: Vec<NumaNode>,
}

/// One part of the host's memory, with the cores that are near to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NumaNode {
    /// The operating system's number for it.
    pub node: u32,
    /// Cores of it that this process may use; may be 0.
    pub cores: usize,
}

/// One device, however many drivers show it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceInfo {
    /// `host`, or `gpu0`, `gpu1`, … in PCI order; `gpu0.mig0`, … for the slices of a card; `soft0` for software adapters.
    pub name: String,
    /// What kind of device it is.
    pub kind: DeviceKind,
    /// The maker's name for it.
    pub model: String,
    /// The PCI address in the form of [`normalise_pci`], where the device has one.
    pub pci: Option<String>,
    /// The driver's UUID, where it gives one.
    pub uuid: Option<String>,
    /// The name of the device that this one is a slice of (MIG).
    pub slice_of: Option<String>,
    /// What an NVIDIA card's kernels can be compiled for.
    pub compute_capability: Option<ComputeCapability>,
    /// The [`NumaNode`] that it is attached to.
    pub numa_node: Option<u32>,
    /// The name of the memory that its kernels read and write.
    pub memory: String,
    /// Which of Outcrop's backends drives it.
    pub backend: Backend,
    /// Every driver that shows this device.
    pub ways: Vec<Way>,
    /// Element types that its kernels can compute in.
    #[serde(serialize_with = "file::dtype_names")]
    pub dtypes: Vec<DType>,
    /// Bounds on buffers and launches.
    pub limits: Limits,
    /// How fast it is.
    pub rates: Rates,
    /// Where `rates` are from.
    pub rates_from: RatesFrom,
    /// Why nothing can be placed here, if so.
    pub unusable: Option<String>,
}

/// What kind of device it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    /// The host's pool of threads.
    Host,
    /// A card with a memory of its own.
    Gpu,
    /// A GPU that shares the host's memory.
    IntegratedGpu,
    /// A GPU API played by the CPU (llvmpipe, lavapipe, WARP): no GPU unless the user allows it.
    SoftwareGpu,
}

/// The part of Outcrop that drives a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// The pool of threads.
    Host,
    /// The CUDA driver.
    Cuda,
    /// Vulkan, Metal or DX12 through wgpu.
    Wgpu,
    /// The simulated device.
    Sim,
}

impl Backend {
    /// Whether its results may differ from the host's in their last digits. All others are of one class: they give equal
    /// bits.
    pub const fn has_own_bits(self) -> bool {
        match self {
            Backend::Host | Backend::Cuda | Backend::Sim => false,
            Backend::Wgpu => true,
        }
    }
}

/// One driver through which a device was seen.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Way {
    /// `vulkan`, `cuda`, `nvml`, `gl`, `metal`, `dx12`.
    pub api: String,
    /// The driver's name and version, as it reports them.
    #[serde(default)]
    pub driver: String,
}

/// Bounds on buffers and launches; `None` is "no bound known".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Bytes of the largest buffer.
    pub buffer_bytes_max: Option<u64>,
    /// Bytes of a buffer that one kernel argument can address.
    pub binding_bytes_max: Option<u64>,
    /// Workgroups along one axis of a launch.
    pub workgroups_per_axis_max: Option<u64>,
}

/// How fast a device is. Every rate is positive and finite.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rates {
    /// Single-precision operations a second, the whole device.
    pub flops_f32: f64,
    /// Double-precision operations a second, the whole device.
    pub flops_f64: f64,
    /// Bytes a second between the device's kernels and its own memory.
    pub memory_bytes_per_s: f64,
    /// Seconds from a launch to the first element.
    pub launch_s: f64,
}

/// Where the rates of a device are from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RatesFrom {
    /// Nobody tells: they are those of [`defaults`].
    #[default]
    Assumed,
    /// Reckoned from the card's own figures, as a datasheet has them, or written by a person. What no figure tells of is
    /// assumed.
    Datasheet,
    /// Measured on this machine.
    Measured,
}

/// One memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryInfo {
    /// `host`, or the name of its device.
    pub name: String,
    /// Whose it is.
    pub kind: MemoryKind,
    /// Its size; for the host what this process may use. `None` where no driver tells.
    pub bytes: Option<Bytes>,
    /// What was free when the machine was described.
    pub free: Option<Bytes>,
}

/// Whose a memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryKind {
    /// The host's.
    Host,
    /// The device's own.
    Dedicated,
    /// Taken from the host's, but addressed by its own buffers.
    Unified,
    /// No driver tells.
    Unknown,
}

/// A path between two memories. One direction stands for both unless the other is listed too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The name of the memory that is read.
    pub from: String,
    /// The name of the memory that is written.
    pub to: String,
    /// Bytes a second of a large copy.
    pub bytes_per_s: f64,
    /// Seconds before the first byte.
    pub latency_s: f64,
    /// What it is made of, for people: `PCIe 4.0 x16`, `NVLink x12`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub via: String,
}

impl Machine {
    /// Devices, or memories, that a machine may have: each has lanes with numbers of 16 bits, three at most.
    pub const DEVICES_MAX: usize = u16::MAX as usize / 3;

    /// A machine without a GPU: `cores` threads (at least 1) and `memory` bytes.
    pub fn host_only(cores: usize, memory: Bytes) -> Machine {
        let cores = cores.max(1);
        let host = DeviceInfo {
            name: "host".to_owned(),
            kind: DeviceKind::Host,
            model: String::new(),
            pci: None,
            uuid: None,
            slice_of: None,
            compute_capability: None,
            numa_node: None,
            memory: "host".to_owned(),
            backend: Backend::Host,
            ways: Vec::new(),
            dtypes: DType::ALL.to_vec(),
            limits: Limits::default(),
            rates: defaults::rates(DeviceKind::Host, cores),
            rates_from: RatesFrom::Assumed,
            unusable: None,
        };
        let memory =
            MemoryInfo { name: "host".to_owned(), kind: MemoryKind::Host, bytes: Some(memory), free: None };
        Machine {
            name: "host-only".to_owned(),
            host: Host { cores, model: String::new(), numa: Vec::new() },
            devices: vec![host],
            memories: vec![memory],
            links: Vec::new(),
        }
    }

    /// Reads a hand-written description; the error names the line, or the field and its value.
    pub fn from_toml(text: &str) -> Result<Machine, MachineError> {
        let file: file::MachineFile = toml::from_str(text).map_err(Box::new)?;
        file.resolve()
    }

    /// Reads a description as `outcrop devices --json` prints it.
    pub fn from_json(text: &str) -> Result<Machine, MachineError> {
        let file: file::MachineFile = serde_json::from_str(text)?;
        file.resolve()
    }

    /// The device with this id. Panics when the id is from another machine.
    pub fn device(&self, id: DeviceId) -> &DeviceInfo {
        &self.devices[usize::from(id.0)]
    }

    /// The memory with this id. Panics when the id is from another machine.
    pub fn memory(&self, id: MemoryId) -> &MemoryInfo {
        &self.memories[usize::from(id.0)]
    }

    /// The memory that a device's kernels read and write.
    pub fn memory_of(&self, id: DeviceId) -> MemoryId {
        self.memory_by_name(&self.device(id).memory).unwrap_or(MemoryId::HOST)
    }

    /// Every device with its id, the host first.
    pub fn devices(&self) -> impl Iterator<Item = (DeviceId, &DeviceInfo)> {
        self.devices.iter().enumerate().map(|(at, device)| (DeviceId(at as u16), device))
    }

    /// The device called `name`, to the letter.
    pub fn device_by_name(&self, name: &str) -> Option<DeviceId> {
        self.devices().find(|(_, device)| device.name == name).map(|(id, _)| id)
    }

    /// The memory called `name`, to the letter.
    pub fn memory_by_name(&self, name: &str) -> Option<MemoryId> {
        let at = self.memories.iter().position(|memory| memory.name == name)?;
        Some(MemoryId(at as u16))
    }

    /// The devices that a `workers` annotation means: those whose name, UUID, PCI address or model fits one of
    /// the globs, letter case aside, in order of their ids. A pattern that is no valid glob fits only itself.
    pub fn matching(&self, patterns: &[String]) -> Vec<DeviceId> {
        self.devices()
            .filter(|(_, device)| patterns.iter().any(|pattern| device.matches(pattern)))
            .map(|(id, _)| id)
            .collect()
    }
}

impl DeviceInfo {
    /// Whether the device's name, UUID, PCI address or model fits the glob, letter case aside.
    pub fn matches(&self, pattern: &str) -> bool {
        let glob =
            GlobBuilder::new(pattern).case_insensitive(true).build().map(|glob| glob.compile_matcher());
        let names = [Some(&self.name), self.uuid.as_ref(), self.pci.as_ref(), Some(&self.model)];
        names.into_iter().flatten().any(|name| match &glob {
            Ok(glob) => glob.is_match(name),
            Err(_) => name.eq_ignore_ascii_case(pattern),
        })
    }

    /// Whether this is a GPU in hardware. A software adapter isn't.
    pub fn is_gpu(&self) -> bool {
        matches!(self.kind, DeviceKind::Gpu | DeviceKind::IntegratedGpu)
    }
}
