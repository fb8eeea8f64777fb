//! The inventory: what this machine has, as a [`Machine`].
//!
//! ```text
//! /proc, /sys, cgroup ──▶ host ─┐
//! libnvidia-ml ─────────▶ nvml ─┤
//! libcuda, NVRTC ───────▶ cuda ─┼─▶ join (pure) ─▶ Machine, notes
//! CUDA_VISIBLE_DEVICES ▶ visible┤
//! wgpu ─────────────▶ adapters ─┘
//! ```
//!
//! Each source answers in plain data, so that [`join`] is tested without a card. Nothing here panics or fails: a
//! source that can't answer leaves a note, and a missing one leaves nothing.

pub mod adapters;
mod cards;
pub mod cuda;
mod display;
pub mod host;
mod join;
mod links;
pub mod nvml;
pub mod speed;
#[cfg(test)]
mod tests;
pub mod visible;

pub use join::join;

use std::thread;

use crate::device::calibration::Calibration;
use crate::machine::Machine;

/// The machine, and what went wrong while it was looked at.
#[derive(Clone, Debug)]
pub struct Inventory {
    /// What is there.
    pub machine: Machine,
    /// One line for each source that answered with an error, each device that isn't driven as it could be, and each
    /// setting that names nothing; to be shown, not to be acted on.
    pub notes: Vec<String>,
}

/// What each source told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sources {
    /// The operating system.
    pub host: host::HostFacts,
    /// NVIDIA's management library.
    pub nvml: Vec<nvml::NvmlGpu>,
    /// The CUDA driver and what belongs to it.
    pub cuda: CudaFacts,
    /// Graphics APIs.
    pub adapters: Vec<adapters::Adapter>,
    /// What went wrong.
    pub notes: Vec<String>,
}

/// The CUDA driver and what belongs to it.
#[derive(Clone, Debug, PartialEq)]
pub struct CudaFacts {
    /// What became of asking the driver.
    pub driver: cuda::Driver,
    /// Whether there is a compiler, or why there is none.
    pub compiler: Result<(), String>,
    /// Which cards the user lets the driver show.
    pub variables: visible::Variables,
}

/// A source gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// The card or the driver doesn't know such a thing.
    #[error("not supported")]
    NotSupported,
    /// Anything else, in the source's words.
    #[error("{0}")]
    Failed(String),
}

/// Looks at the host, NVML, the CUDA driver and, where it is built in, wgpu; what was measured here before is known.
/// Takes 30-300 ms, most of it in Vulkan's loader, and what NVIDIA's driver takes to start where there is one.
pub fn inventory() -> Inventory {
    let mut inventory = join(&sources());
    Calibration::of_user().apply(&mut inventory.machine);
    inventory
}

fn sources() -> Sources {
    thread::scope(|scope| {
        let adapters = scope.spawn(adapters::list);
        let mut notes = Vec::new();
        let nvml = nvml::read(&mut notes);
        let driver = cuda::read(&mut notes);
        let compiler = match driver {
            cuda::Driver::There { .. } => cuda::compiler(),
            // It is of no use, and looking for it takes time.
            _ => Ok(()),
        };
        let cuda = CudaFacts { driver, compiler, variables: visible::Variables::of_process() };
        let mut host = host::read(&host::file);
        let adapters = adapters.join().unwrap_or_else(|_| {
            notes.push("wgpu can't list its adapters: it panicked".to_owned());
            Vec::new()
        });
        let mut sources = Sources { nvml, cuda, adapters, notes, ..Sources::default() };
        let attached = |pci: &str| Some((pci.to_owned(), host::attached(&host::file, pci)?));
        host.attached = sources.addresses().filter_map(attached).collect();
        sources.host = host;
        sources
    })
}

impl Sources {
    fn addresses(&self) -> impl Iterator<Item = &str> {
        let cuda = self.cuda.driver.gpus().iter().filter_map(|gpu| gpu.pci.as_deref());
        let nvml = self.nvml.iter().filter_map(|gpu| gpu.pci.as_deref());
        nvml.chain(cuda).chain(self.adapters.iter().filter_map(|adapter| adapter.pci.as_deref()))
    }
}

impl Default for CudaFacts {
    /// No driver, and no word of the user's.
    fn default() -> Self {
        CudaFacts { driver: cuda::Driver::absent(), compiler: Ok(()), variables: Default::default() }
    }
}
