//! NVIDIA's management library: which NVIDIA cards there are, and how large and fast. The one file that names it.
//!
//! A machine without the library has no NVIDIA driver, which is nothing to talk about. Any other trouble is.

use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::error::NvmlError;

use crate::machine::normalise_pci;
use crate::units::Bytes;

/// One NVIDIA card.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NvmlGpu {
    /// NVIDIA's name for it.
    pub name: String,
    /// The PCI address as [`normalise_pci`] writes it.
    pub pci: Option<String>,
    /// `GPU-` and 8-4-4-4-12 hexadecimal digits.
    pub uuid: Option<String>,
    /// The driver's version.
    pub driver: String,
    /// The size of its memory; `None` where NVML doesn't know (unified memory).
    pub memory: Option<Bytes>,
    /// What of it is free.
    pub free: Option<Bytes>,
    /// What its speed can be reckoned from.
    pub speed: Speed,
    /// The MIG slices that it is cut into; none where it is whole.
    pub slices: Vec<NvmlSlice>,
    /// Active NVLinks to other cards.
    pub nvlinks: Vec<NvLink>,
}

/// One MIG slice of a card.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NvmlSlice {
    /// NVIDIA's name for it, with its profile: `NVIDIA A100-SXM4-40GB MIG 3g.20gb`.
    pub name: String,
    /// `MIG-` and what follows.
    pub uuid: Option<String>,
    /// The size of its own memory.
    pub memory: Option<Bytes>,
    /// What of it is free.
    pub free: Option<Bytes>,
}

/// Links of one card to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NvLink {
    /// The other card's PCI address.
    pub to: String,
    /// NVLink's generation.
    pub version: u32,
    /// How many links there are.
    pub count: u32,
}

/// Figures that a datasheet would have. `None` where this driver or card doesn't tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Speed {
    /// CUDA cores.
    pub cores: Option<u32>,
    /// The largest clock of the cores.
    pub core_clock_mhz: Option<u32>,
    /// The largest clock of the memory.
    pub memory_clock_mhz: Option<u32>,
    /// Wires to the memory.
    pub memory_bus_bits: Option<u32>,
    /// CUDA compute capability.
    pub compute_capability: Option<(i32, i32)>,
    /// PCI Express generation and lanes that card and slot agree on.
    pub pcie: Option<(u32, u32)>,
}

/// What NVML is asked; a test answers from a script.
pub trait Source {
    /// The driver's version.
    fn driver(&self) -> Result<String, Trouble>;
    /// How many cards there are.
    fn count(&self) -> Result<u32, Trouble>;
    /// Name, PCI address and UUID of a card.
    fn identity(&self, index: u32) -> Result<(String, String, String), Trouble>;
    /// Total and free bytes of a card.
    fn memory(&self, index: u32) -> Result<(u64, u64), Trouble>;
    /// Figures of a card, each where it is known.
    fn speed(&self, index: u32) -> Speed;
    /// The slices of a card: name, UUID, total and free bytes. None where it isn't cut, or can't be.
    fn slices(&self, index: u32) -> Result<Vec<(String, String, u64, u64)>, Trouble>;
    /// The PCI address at the other end, and the version, of each active NVLink of a card.
    fn nvlinks(&self, index: u32) -> Vec<(String, u32)>;
}

/// NVML gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// The card or the driver doesn't know such a thing.
    #[error("not supported")]
    NotSupported,
    /// Anything else, in NVML's words.
    #[error("{0}")]
    Failed(String),
}

/// Every card that NVML shows; `notes` gets a line for whatever went wrong.
pub fn read(notes: &mut Vec<String>) -> Vec<NvmlGpu> {
    match Nvml::init() {
        Ok(nvml) => read_from(&nvml, notes),
        Err(error) if library_is_missing(&error) => Vec::new(),
        Err(error) => {
            notes.push(format!("NVML can't be used, so NVIDIA cards may be missing: {error}"));
            Vec::new()
        }
    }
}

/// As [`read`], from any source.
pub fn read_from(source: &dyn Source, notes: &mut Vec<String>) -> Vec<NvmlGpu> {
    let driver = source.driver().unwrap_or_else(|trouble| {
        notes.push(format!("NVML doesn't tell the driver's version: {trouble}"));
        String::new()
    });
    let count = source.count().unwrap_or_else(|trouble| {
        notes.push(format!("NVML can't list the NVIDIA cards: {trouble}"));
        0
    });
    (0..count)
        .filter_map(|index| {
            let (name, pci, uuid) = source
                .identity(index)
                .map_err(|trouble| {
                    notes.push(format!("NVML can't identify card {index}, left out: {trouble}"))
                })
                .ok()?;
            let (memory, free) = match source.memory(index) {
                // A driver that doesn't know answers 0 as well.
                Ok((total, free)) if total > 0 => (Some(Bytes(total)), Some(Bytes(free))),
                Ok(_) | Err(Trouble::NotSupported) => (None, None),
                Err(trouble) => {
                    notes.push(format!("NVML can't tell the memory of card {index} ({name}): {trouble}"));
                    (None, None)
                }
            };
            let slices = source.slices(index).unwrap_or_else(|trouble| {
                if trouble != Trouble::NotSupported {
                    notes.push(format!("NVML can't tell the MIG slices of card {index} ({name}): {trouble}"));
                }
                Vec::new()
            });
            Some(NvmlGpu {
                slices: slices.into_iter().map(NvmlSlice::from).collect(),
                nvlinks: together(&source.nvlinks(index)),
                pci: normalise_pci(&pci),
                uuid: (!uuid.is_empty()).then_some(uuid),
                driver: driver.clone(),
                speed: source.speed(index),
                name,
                memory,
                free,
            })
        })
        .collect()
}

impl From<(String, String, u64, u64)> for NvmlSlice {
    fn from((name, uuid, total, free): (String, String, u64, u64)) -> Self {
        let known = |bytes: u64| (total > 0).then_some(Bytes(bytes));
        NvmlSlice { name, uuid: (!uuid.is_empty()).then_some(uuid), memory: known(total), free: known(free) }
    }
}

/// The links by the card that they lead to. What isn't a PCI address is a switch without one of its own.
fn together(links: &[(String, u32)]) -> Vec<NvLink> {
    let mut all: Vec<NvLink> = Vec::new();
    for (to, version) in links.iter().filter_map(|(to, version)| Some((normalise_pci(to)?, *version))) {
        match all.iter_mut().find(|link| link.to == to && link.version == version) {
            Some(link) => link.count += 1,
            None => all.push(NvLink { to, version, count: 1 }),
        }
    }
    all
}

impl Source for Nvml {
    fn driver(&self) -> Result<String, Trouble> {
        Ok(self.sys_driver_version()?)
    }

    fn count(&self) -> Result<u32, Trouble> {
        Ok(self.device_count()?)
    }

    fn identity(&self, index: u32) -> Result<(String, String, String), Trouble> {
        let device = self.device_by_index(index)?;
        // A card without a PCI address (Jetson) or UUID is still a card.
        let pci = device.pci_info().map(|pci| pci.bus_id).unwrap_or_default();
        Ok((device.name()?, pci, device.uuid().unwrap_or_default()))
    }

    fn memory(&self, index: u32) -> Result<(u64, u64), Trouble> {
        let memory = self.device_by_index(index)?.memory_info()?;
        Ok((memory.total, memory.free))
    }

    fn speed(&self, index: u32) -> Speed {
        let Ok(device) = self.device_by_index(index) else { return Speed::default() };
        Speed {
            cores: device.num_cores().ok(),
            core_clock_mhz: device.max_clock_info(Clock::SM).ok(),
            memory_clock_mhz: device.max_clock_info(Clock::Memory).ok(),
            memory_bus_bits: device.memory_bus_width().ok(),
            compute_capability: device.cuda_compute_capability().ok().map(|cc| (cc.major, cc.minor)),
            pcie: device.max_pcie_link_gen().ok().zip(device.max_pcie_link_width().ok()),
        }
    }

    fn slices(&self, index: u32) -> Result<Vec<(String, String, u64, u64)>, Trouble> {
        const MIG_ENABLED: u32 = 1;
        let device = self.device_by_index(index)?;
        if device.mig_mode()?.current != MIG_ENABLED {
            return Ok(Vec::new());
        }
        // So many there may be; fewer may have been made, at any of the indices.
        let slices = (0..device.mig_device_count()?).filter_map(|at| device.mig_device_by_index(at).ok());
        let told = |slice: nvml_wrapper::Device<'_>| {
            let (total, free) = slice.memory_info().map_or((0, 0), |memory| (memory.total, memory.free));
            Ok((slice.name()?, slice.uuid().unwrap_or_default(), total, free))
        };
        slices.map(told).collect()
    }

    fn nvlinks(&self, index: u32) -> Vec<(String, u32)> {
        // As many as any card has.
        const LINKS_MAX: u32 = 18;
        let Ok(device) = self.device_by_index(index) else { return Vec::new() };
        let links = (0..LINKS_MAX).map(|link| device.link_wrapper_for(link));
        let known = links.map_while(|link| link.is_active().ok().map(|is_active| (link, is_active)));
        let active = known.filter(|(_, is_active)| *is_active);
        active
            .filter_map(|(link, _)| Some((link.remote_pci_info().ok()?.bus_id, link.version().ok()?)))
            .collect()
    }
}

impl From<NvmlError> for Trouble {
    fn from(error: NvmlError) -> Trouble {
        match error {
            NvmlError::NotSupported => Trouble::NotSupported,
            error => Trouble::Failed(error.to_string()),
        }
    }
}

/// The loader's message names the file that it couldn't open: ours when there is no driver, another one when
/// the driver is there but broken.
fn library_is_missing(error: &NvmlError) -> bool {
    let NvmlError::LibloadingError(error) = error else { return false };
    let message = error.to_string();
    !cfg!(target_os = "linux")
        || message.contains("libnvidia-ml.so.1: cannot open shared object file: No such file")
}
