//! The inventory: what this machine has, as a [`Machine`].
//!
//! ```text
//! /proc, cgroup ─▶ host ─┐
//! libnvidia-ml ──▶ nvml ─┼─▶ join (pure) ─▶ Machine
//! wgpu ──────▶ adapters ─┘
//! ```
//!
//! Each source answers in plain data, so that [`join`] is tested without a card. Nothing here panics or fails: a
//! source that can't answer leaves a note, and a missing one leaves nothing.

pub mod adapters;
pub mod host;
mod join;
pub mod nvml;
#[cfg(test)]
mod tests;

pub use join::join;

use crate::machine::Machine;

/// The machine, and what went wrong while it was looked at.
#[derive(Clone, Debug)]
pub struct Inventory {
    /// What is there.
    pub machine: Machine,
    /// One line for each source that answered with an error; to be shown, not to be acted on.
    pub notes: Vec<String>,
}

/// Looks at the host, NVML and, where it is built in, wgpu. Takes 50-300 ms, most of it in Vulkan's loader.
pub fn inventory() -> Inventory {
    let mut notes = Vec::new();
    let host = host::read(&host::file);
    let gpus = nvml::read(&mut notes);
    let adapters = adapters::list();
    Inventory { machine: join(&host, &gpus, &adapters), notes }
}
