//! What a graphics API tells of an adapter, in plain data.

use crate::dtype::DType;
use crate::machine::Limits;
use crate::units::Bytes;

/// One adapter as one API shows it; a card may be shown by several.
#[derive(Clone, Debug, PartialEq)]
pub struct Adapter {
    /// The driver's name for the card.
    pub name: String,
    /// `vulkan`, `gl`, `metal`, `dx12`.
    pub api: String,
    /// The driver's name and version.
    pub driver: String,
    /// What the driver says it is.
    pub kind: AdapterKind,
    /// The PCI address as [`normalise_pci`](crate::machine::normalise_pci) writes it.
    pub pci: Option<String>,
    /// The UUID in hexadecimal, as 8-4-4-4-12 digits.
    pub uuid: Option<String>,
    /// The size of its own memory.
    pub memory: Option<Bytes>,
    /// What of it is free.
    pub free: Option<Bytes>,
    /// Element types that its shaders compute in.
    pub dtypes: Vec<DType>,
    /// Bounds on buffers and launches.
    pub limits: Limits,
}

/// What a driver says that an adapter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdapterKind {
    /// A card with its own memory.
    Discrete,
    /// A GPU in the processor, on the host's memory.
    Integrated,
    /// A GPU handed into a virtual machine.
    Virtual,
    /// The CPU.
    Software,
    /// The driver doesn't say.
    Other,
}

impl Adapter {
    /// Whether the CPU plays this adapter. Some drivers (WARP, GL's llvmpipe) don't say so, but their names do.
    pub fn is_software(&self) -> bool {
        const NAMES: [&str; 6] =
            ["llvmpipe", "lavapipe", "softpipe", "swiftshader", "microsoft basic render", "warp"];
        let name = self.name.to_lowercase();
        self.kind == AdapterKind::Software || NAMES.iter().any(|software| name.contains(software))
    }

    /// Whether one of Outcrop's backends can drive it: compute shaders want Vulkan, Metal or DX12.
    pub fn is_usable(&self) -> bool {
        matches!(self.api.as_str(), "vulkan" | "metal" | "dx12")
    }
}

/// Every adapter that wgpu shows; none where wgpu isn't built in.
pub fn list() -> Vec<Adapter> {
    #[cfg(feature = "wgpu")]
    return crate::device::wgpu::adapters::list().into_iter().map(|found| found.seen).collect();
    #[cfg(not(feature = "wgpu"))]
    Vec::new()
}
