//! Who does a step.

use crate::machine::{DeviceId, Machine, MemoryId};
use crate::steps::{Step, StepKind};

/// A queue of steps that one kind of worker takes from: see [`Lanes`].
pub type Lane = u16;

/// The lanes of a machine with so many devices, by number: the host's pool, every other device, the ways to and from each
/// of those for large copies, the disk's writer and its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    devices: u16,
}

/// Whose a lane is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneOf {
    /// A device's: kernels, and copies so short that handing them over would take longer.
    Device(DeviceId),
    /// Large copies to a device.
    In(DeviceId),
    /// Large copies from a device.
    Out(DeviceId),
    /// What is written to disk.
    Writer,
    /// What is read back.
    Reader,
}

impl Lanes {
    /// Copies of so many bytes have a lane of their own: they take about as long as waking another thread, on the fastest
    /// link.
    pub const LARGE_COPY_BYTES: u64 = 1 << 20;

    /// The lanes of a machine with so many devices, the host among them; at least one and at most
    /// [`Machine::DEVICES_MAX`].
    pub fn new(devices: usize) -> Lanes {
        Lanes { devices: devices.clamp(1, Machine::DEVICES_MAX) as u16 }
    }

    /// How many there are.
    pub fn count(self) -> usize {
        3 * usize::from(self.devices)
    }

    /// The number of a lane.
    pub fn number(self, of: LaneOf) -> Lane {
        let way = |device: DeviceId| self.devices + 2 * (device.0 - 1);
        match of {
            LaneOf::Device(device) => device.0,
            LaneOf::In(device) => way(device),
            LaneOf::Out(device) => way(device) + 1,
            LaneOf::Writer => 3 * self.devices - 2,
            LaneOf::Reader => 3 * self.devices - 1,
        }
    }

    /// Whose the lane with this number is.
    pub fn of(self, lane: Lane) -> LaneOf {
        let ways =
            |lane: Lane| (DeviceId(1 + (lane - self.devices) / 2), (lane - self.devices).is_multiple_of(2));
        match lane {
            _ if lane < self.devices => LaneOf::Device(DeviceId(lane)),
            _ if lane + 2 < 3 * self.devices => match ways(lane) {
                (device, true) => LaneOf::In(device),
                (device, false) => LaneOf::Out(device),
            },
            _ if lane + 2 == 3 * self.devices => LaneOf::Writer,
            _ => LaneOf::Reader,
        }
    }

    /// The lane of a step: what it does to a disk is the disk's, a large copy its way's, all else its device's.
    pub fn of_step(self, step: &Step) -> Lane {
        let is_large = step.bytes >= Lanes::LARGE_COPY_BYTES && step.device != DeviceId::HOST;
        self.number(match step.kind {
            StepKind::Spill | StepKind::Keep => LaneOf::Writer,
            StepKind::Reload | StepKind::Recall => LaneOf::Reader,
            StepKind::Transfer if is_large && step.memory == MemoryId::HOST => LaneOf::Out(step.device),
            StepKind::Transfer if is_large => LaneOf::In(step.device),
            _ => LaneOf::Device(step.device),
        })
    }
}

impl LaneOf {
    /// The device beside the host whose work the lane does, if it is one's.
    pub fn device(self) -> Option<DeviceId> {
        match self {
            LaneOf::Device(device) | LaneOf::In(device) | LaneOf::Out(device) => {
                (device != DeviceId::HOST).then_some(device)
            }
            LaneOf::Writer | LaneOf::Reader => None,
        }
    }

    /// Whether it is the disk's.
    pub fn is_disk(self) -> bool {
        matches!(self, LaneOf::Writer | LaneOf::Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_lanes_go_together() {
        for devices in 1..6 {
            let lanes = Lanes::new(devices);
            let all: Vec<LaneOf> = (0..lanes.count() as Lane).map(|lane| lanes.of(lane)).collect();
            for (number, of) in all.iter().enumerate() {
                assert_eq!(usize::from(lanes.number(*of)), number, "{of:?} of {devices} devices");
            }
            let ways = all.iter().filter(|of| matches!(of, LaneOf::In(_) | LaneOf::Out(_))).count();
            assert_eq!(
                (ways, all[devices * 3 - 2..].to_vec()),
                (2 * devices - 2, vec![LaneOf::Writer, LaneOf::Reader])
            );
            assert_eq!(
                all.iter().filter(|of| of.device() == Some(DeviceId(1))).count(),
                if devices > 1 { 3 } else { 0 }
            );
        }
        assert_eq!(Lanes::new(usize::MAX).count(), 3 * Machine::DEVICES_MAX);
    }
}
