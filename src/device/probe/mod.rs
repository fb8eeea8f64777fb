//! The inventory: what this machine has, as a [`Machine`].
//!
//! ```text
//! /proc, cgroup ─▶ host ─────┐
//! libnvidia-ml ──▶ nvml ─────┤
//! libcuda ───────▶ cuda ─────┼─▶ join (pure) ─▶ Machine
//! wgpu ──────────▶ adapters ─┘
//! ```
//!
//! Each source answers in plain data, so that [`join`] is tested without a card. Nothing here panics or fails: a
//! source that can't answer leaves a note, and a missing one leaves nothing.

pub mod adapters;
pub mod cuda;
pub mod host;
mod join;
mod links;
pub mod nvml;
#[cfg(test)]
mod tests;
pub mod visible;

pub use join::{Seen, join};

use std::fmt;

use crate::machine::Machine;

/// The machine, and what went wrong while it was looked at.
#[derive(Clone, Debug)]
pub struct Inventory {
    /// What is there.
    pub machine: Machine,
    /// One line for each thing that isn't as one would wish; to be shown, not to be acted on.
    pub notes: Vec<String>,
}

impl fmt::Display for Inventory {
    /// The machine, the ways in to its devices, and the notes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.machine)?;
        for device in self.machine.devices.iter().filter(|device| !device.ways.is_empty()) {
            let way = |way: &crate::machine::Way| match &way.driver[..] {
                "" => way.api.clone(),
                driver => format!("{} ({driver})", way.api),
            };
            let ways = device.ways.iter().map(way).collect::<Vec<_>>().join(", ");
            let capability = device
                .compute_capability
                .map(|(major, minor)| format!("; compute capability {major}.{minor}"));
            writeln!(f, "{} is seen through {ways}{}", device.name, capability.unwrap_or_default())?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "note: {note}"))
    }
}

/// Looks at the host, NVML, the CUDA driver and, where it is built in, wgpu. Takes 30-300 ms, most of it in Vulkan's
/// loader.
pub fn inventory() -> Inventory {
    let mut notes = Vec::new();
    let variable = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    let seen = Seen {
        host: host::read(&host::file),
        nvml: nvml::read(&mut notes),
        cuda: cuda::read(&mut notes),
        adapters: adapters::list(),
        visible_devices: variable("CUDA_VISIBLE_DEVICES"),
        device_order: variable("CUDA_DEVICE_ORDER"),
    };
    let joined = join(&seen);
    notes.extend(joined.notes);
    Inventory { machine: joined.machine, notes }
}
