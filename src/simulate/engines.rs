//! What a machine can do at once: compute on each device, copy each way on each link, write and read the disk.

use crate::machine::{DeviceId, Machine, MemoryId, defaults};
use crate::steps::{Step, StepKind};

/// The engines of a machine: its devices, then for each memory beside the host's the way to it and the way from it,
/// then the disk's writer and its reader.
#[derive(Clone, Debug)]
pub struct Engines {
    devices: usize,
    /// For each, how many items it does at once.
    pub lanes: Vec<u32>,
}

impl Engines {
    /// The engines of a machine whose host has `threads` workers.
    pub fn new(machine: &Machine, threads: usize) -> Engines {
        let devices = machine.devices.len();
        let mut lanes = vec![1; devices + 2 * machine.memories.len()];
        lanes[0] = threads as u32;
        Engines { devices, lanes }
    }

    /// The engine that does a step which computes.
    pub fn of(&self, step: &Step) -> u16 {
        step.device.0
    }

    /// Nanoseconds that reading a block of a source takes.
    pub fn read_again(&self, step: &Step) -> u64 {
        (defaults::disk_seconds(step.bytes) * 1e9) as u64
    }

    /// The engine that does a step which moves a value from a memory, and the nanoseconds that it takes.
    pub fn of_move(&self, machine: &Machine, step: &Step, from: MemoryId) -> (u16, u64) {
        let last = self.lanes.len();
        let (engine, seconds) = match step.kind {
            StepKind::Spill => (last - 2, defaults::disk_seconds(step.bytes)),
            StepKind::Reload => (last - 1, defaults::disk_seconds(step.bytes)),
            _ if step.memory == from => (usize::from(DeviceId::HOST.0), 0.0),
            _ => {
                let there = step.memory != MemoryId::HOST;
                let far_end = if there { step.memory } else { from };
                let engine = self.devices + 2 * (usize::from(far_end.0) - 1) + usize::from(!there);
                (engine, machine.link(from, step.memory).seconds(step.bytes))
            }
        };
        (engine as u16, (seconds * 1e9) as u64)
    }
}
