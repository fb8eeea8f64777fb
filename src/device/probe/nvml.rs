//! NVIDIA's management library: which NVIDIA cards there are, and how large and fast. The one file that names it.
//!
//! A machine without the library has no NVIDIA driver, which is nothing to talk about. Any other trouble is.

use std::ffi::OsStr;

use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::enum_wrappers::nv_link::IntDeviceType;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, NvLink as RawLink, Nvml};

use super::Trouble;
use super::speed::Speed;
use crate::machine::{ComputeCapability, normalise_pci};
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
    /// The size of its memory; `None` where NVML doesn't tell.
    pub memory: Option<Bytes>,
    /// What of it is free.
    pub free: Option<Bytes>,
    /// Whether NVML says that there is no memory to tell of: the card has none of its own.
    pub is_unified: bool,
    /// What its speed can be reckoned from.
    pub speed: Speed,
    /// Its parts where it is divided (MIG mode), which may be none.
    pub slices: Option<Vec<Slice>>,
    /// Its NVLinks that are up.
    pub nvlinks: Vec<NvLink>,
}

/// A part of a card that is a device of its own: a MIG instance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slice {
    /// NVIDIA's name for it: `NVIDIA A100-SXM4-40GB MIG 1g.5gb`.
    pub name: String,
    /// `MIG-` and 8-4-4-4-12 hexadecimal digits; of drivers before 470 `MIG-GPU-…/1/0`.
    pub uuid: Option<String>,
    /// The size of its own memory.
    pub memory: Option<Bytes>,
    /// What of it is free.
    pub free: Option<Bytes>,
    /// Its share of the card's cores, above 0 and at most 1.
    pub share: Option<f64>,
}

/// One NVLink of a card.
#[derive(Clone, Debug, PartialEq)]
pub struct NvLink {
    /// What it moves each way.
    pub bytes_per_s: f64,
    /// Where it ends.
    pub end: LinkEnd,
}

/// What is at the other end of an NVLink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkEnd {
    /// The card at this PCI address.
    Card(String),
    /// A switch, which joins every card that has links to one.
    Switch,
}

/// A card by NVML's number, or a slice of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The card.
    pub card: u32,
    /// The slice's number within it.
    pub slice: Option<u32>,
}

/// A slice that a card has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Numbered {
    /// Its number within the card; there may be gaps.
    pub slice: u32,
    /// Its share of the card's cores.
    pub share: Option<f64>,
}

/// What NVML is asked; a test answers from a script.
pub trait Source {
    /// The driver's version.
    fn driver(&self) -> Result<String, Trouble>;
    /// How many cards there are.
    fn count(&self) -> Result<u32, Trouble>;
    /// Name, PCI address and UUID; empty where there is none.
    fn identity(&self, unit: Unit) -> Result<(String, String, String), Trouble>;
    /// Total and free bytes.
    fn memory(&self, unit: Unit) -> Result<(u64, u64), Trouble>;
    /// Figures of a card, each where it is known.
    fn speed(&self, card: u32) -> Speed;
    /// A card's slices; `None` where the card isn't in MIG mode.
    fn slices(&self, card: u32) -> Result<Option<Vec<Numbered>>, Trouble>;
    /// Links that are up.
    fn nvlinks(&self, card: u32) -> Vec<NvLink>;
}

/// Every card that NVML shows; `notes` gets a line for whatever went wrong.
pub fn read(notes: &mut Vec<String>) -> Vec<NvmlGpu> {
    read_loaded(Nvml::init(), notes)
}

/// As [`read`], from the library in a file.
pub fn read_library(path: &OsStr, notes: &mut Vec<String>) -> Vec<NvmlGpu> {
    read_loaded(Nvml::builder().lib_path(path).init(), notes)
}

fn read_loaded(nvml: Result<Nvml, NvmlError>, notes: &mut Vec<String>) -> Vec<NvmlGpu> {
    match nvml {
        Ok(nvml) => read_from(&nvml, notes),
        Err(error) if library_is_missing(&error) => Vec::new(),
        Err(error) => {
            let trouble = Trouble::from(error);
            notes.push(format!("NVML can't be used, so NVIDIA cards may be missing: {trouble}"));
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
        .filter_map(|card| {
            let unit = Unit { card, slice: None };
            let (name, pci, uuid) = identity(source, unit, notes)?;
            let told = memory(source, unit, &name, notes);
            let (memory, free) = told.flatten().unzip();
            Some(NvmlGpu {
                pci: normalise_pci(&pci),
                uuid,
                driver: driver.clone(),
                speed: source.speed(card),
                slices: slices(source, card, notes),
                nvlinks: source.nvlinks(card),
                name,
                memory,
                free,
                is_unified: told == Some(None),
            })
        })
        .collect()
}

fn slices(source: &dyn Source, card: u32, notes: &mut Vec<String>) -> Option<Vec<Slice>> {
    let numbers = match source.slices(card) {
        Ok(numbers) => numbers?,
        Err(Trouble::NotSupported) => return None,
        Err(trouble) => {
            notes.push(format!("NVML can't tell whether card {card} is divided (MIG): {trouble}"));
            return None;
        }
    };
    let slice = |Numbered { slice, share }| {
        let unit = Unit { card, slice: Some(slice) };
        let (name, _, uuid) = identity(source, unit, notes)?;
        let (memory, free) = memory(source, unit, &name, notes).flatten().unzip();
        Some(Slice { name, uuid, memory, free, share })
    };
    Some(numbers.into_iter().filter_map(slice).collect())
}

fn identity(
    source: &dyn Source,
    unit: Unit,
    notes: &mut Vec<String>,
) -> Option<(String, String, Option<String>)> {
    match source.identity(unit) {
        Ok((name, pci, uuid)) => Some((name, pci, (!uuid.is_empty()).then_some(uuid))),
        Err(trouble) => {
            notes.push(format!("NVML can't identify {unit}, left out: {trouble}"));
            None
        }
    }
}

/// Total and free bytes; `None` within where there is no such thing, and without where that can't be found out.
fn memory(
    source: &dyn Source,
    unit: Unit,
    name: &str,
    notes: &mut Vec<String>,
) -> Option<Option<(Bytes, Bytes)>> {
    match source.memory(unit) {
        // A driver that doesn't know answers 0 as well.
        Ok((total, free)) => Some((total > 0).then_some((Bytes(total), Bytes(free)))),
        Err(Trouble::NotSupported) => Some(None),
        Err(trouble) => {
            notes.push(format!("NVML can't tell the memory of {unit} ({name}): {trouble}"));
            None
        }
    }
}

impl std::fmt::Display for Unit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.slice {
            Some(slice) => write!(f, "slice {slice} of card {}", self.card),
            None => write!(f, "card {}", self.card),
        }
    }
}

impl Source for Nvml {
    fn driver(&self) -> Result<String, Trouble> {
        Ok(self.sys_driver_version()?)
    }

    fn count(&self) -> Result<u32, Trouble> {
        Ok(self.device_count()?)
    }

    fn identity(&self, unit: Unit) -> Result<(String, String, String), Trouble> {
        let device = device(self, unit)?;
        // A card without a PCI address (Jetson) or UUID is still a card.
        let pci = device.pci_info().map(|pci| pci.bus_id).unwrap_or_default();
        Ok((device.name()?, pci, device.uuid().unwrap_or_default()))
    }

    fn memory(&self, unit: Unit) -> Result<(u64, u64), Trouble> {
        let memory = device(self, unit)?.memory_info()?;
        Ok((memory.total, memory.free))
    }

    fn speed(&self, card: u32) -> Speed {
        let Ok(device) = self.device_by_index(card) else { return Speed::default() };
        let capability = device.cuda_compute_capability().ok().and_then(|cc| {
            Some(ComputeCapability { major: cc.major.try_into().ok()?, minor: cc.minor.try_into().ok()? })
        });
        Speed {
            cores: device.num_cores().ok(),
            core_clock_mhz: device.max_clock_info(Clock::SM).ok(),
            memory_clock_mhz: device.max_clock_info(Clock::Memory).ok(),
            memory_bus_bits: device.memory_bus_width().ok(),
            compute_capability: capability,
            pcie: device.max_pcie_link_gen().ok().zip(device.max_pcie_link_width().ok()),
        }
    }

    fn slices(&self, card: u32) -> Result<Option<Vec<Numbered>>, Trouble> {
        let device = match self.device_by_index(card).and_then(|card| Ok((card.mig_mode()?.current, card))) {
            // A library from before MIG has no function that tells.
            Ok((0, _)) | Err(NvmlError::FailedToLoadSymbol(_)) => return Ok(None),
            Ok((_, card)) => card,
            Err(error) => return Err(error.into()),
        };
        let most = device.mig_device_count()?;
        // Numbers may have gaps; those of other users' slices answer that there is nothing to see.
        let slices = (0..most).filter_map(|at| Some((at, device.mig_device_by_index(at).ok()?)));
        let numbered = slices.map(|(at, slice)| Numbered { slice: at, share: share(&slice, most) });
        Ok(Some(numbered.collect()))
    }

    fn nvlinks(&self, card: u32) -> Vec<NvLink> {
        let Ok(device) = self.device_by_index(card) else { return Vec::new() };
        // NVML_NVLINK_MAX_LINKS; the first number that the card doesn't have ends the list.
        let links = (0..18).map_while(|at| {
            let link = device.link_wrapper_for(at);
            Some(link.is_active().ok()?.then(|| nvlink(&link)).flatten())
        });
        links.flatten().collect()
    }
}

fn device(nvml: &Nvml, unit: Unit) -> Result<Device<'_>, NvmlError> {
    let card = nvml.device_by_index(unit.card)?;
    match unit.slice {
        Some(slice) => card.mig_device_by_index(slice),
        None => Ok(card),
    }
}

/// Compute slices to the most that the card can have; told by NVML, or by the name (`1c.3g.20gb` has one, `3g.20gb`
/// three).
fn share(slice: &Device<'_>, most: u32) -> Option<f64> {
    let told = slice.attributes().ok().map(|attributes| attributes.compute_instance_slice_count);
    let count = told.filter(|count| *count > 0).or_else(|| compute_slices(&slice.name().ok()?))?;
    (count <= most).then(|| f64::from(count) / f64::from(most))
}

fn compute_slices(name: &str) -> Option<u32> {
    let profile = name.split_once("MIG ")?.1;
    let digits = &profile[..profile.find(|c: char| !c.is_ascii_digit())?];
    digits.parse().ok().filter(|count| *count > 0)
}

fn nvlink(link: &RawLink<'_, '_>) -> Option<NvLink> {
    // Each way, by NVML's number of the version (nvmlNvlinkVersion_t): 1.0, then 2.0 to 4.0, then 5.0 (NVIDIA's
    // whitepapers: 20, 25 and 50 GB/s a link).
    let bytes_per_s = match link.version().ok()? {
        0 | 1 => 20e9,
        2..=6 => 25e9,
        _ => 50e9,
    };
    let end = match link.remote_device_type(link.link()) {
        Ok(IntDeviceType::Switch) => LinkEnd::Switch,
        _ => LinkEnd::Card(normalise_pci(&link.remote_pci_info().ok()?.bus_id)?),
    };
    Some(NvLink { bytes_per_s, end })
}

impl From<NvmlError> for Trouble {
    fn from(error: NvmlError) -> Trouble {
        match error {
            NvmlError::NotSupported => Trouble::NotSupported,
            NvmlError::LibRmVersionMismatch => Trouble::Failed(
                "driver/library version mismatch: the NVIDIA kernel module that is loaded is of another version than \
                 the library; restart the machine, or reload the module"
                    .to_owned(),
            ),
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
        || (message.contains("libnvidia-ml.so.1: ") && message.contains("No such file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compute_slices_are_read_from_names() {
        let table = [
            ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", Some(1)),
            ("NVIDIA H100 80GB HBM3 MIG 7g.80gb", Some(7)),
            ("NVIDIA A100-SXM4-40GB MIG 2c.3g.20gb", Some(2)),
            ("NVIDIA A100-SXM4-40GB", None),
            ("NVIDIA A100-SXM4-40GB MIG g", None),
        ];
        for (name, want) in table {
            assert_eq!(compute_slices(name), want, "{name}");
        }
    }
}
