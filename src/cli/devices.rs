//! `outcrop devices`: what this machine has, and how fast it truly is.

use clap::Args;

use super::failure::Failure;
use super::{pretty, tell};
use crate::device::calibration::{Calibration, Measured, measure};
use crate::device::open::open;
use crate::device::probe::{self, Inventory};
use crate::machine::{DeviceId, Machine};
use crate::units::Bytes;

#[derive(Debug, Args)]
pub(super) struct DevicesArguments {
    /// Print the machine as one JSON object, which 'outcrop plan --machine' reads
    #[arg(long)]
    pub(super) json: bool,
    /// Measure every usable device, a few seconds each, and keep the figures for plans to come
    #[arg(long)]
    calibrate: bool,
}

pub(super) fn devices(arguments: &DevicesArguments) -> Result<String, Failure> {
    let mut inventory = probe::inventory();
    let kept = arguments.calibrate.then(|| calibrate(&mut inventory));
    if arguments.json {
        tell(&inventory.notes);
        return Ok(pretty(&inventory.machine));
    }
    let text = inventory.to_string();
    Ok(text + &kept.unwrap_or_default())
}

/// Measures what can be measured. Says where the figures are; whatever went wrong is noted.
fn calibrate(inventory: &mut Inventory) -> String {
    let calibration = Calibration::of_user();
    let machine = inventory.machine.clone();
    let mut kept = false;
    for (id, device) in machine.devices().filter(|(_, device)| device.unusable.is_none()) {
        match measured(&machine, id) {
            Err(why) => inventory.notes.push(format!("{} isn't measured: {why}", device.name)),
            Ok(figures) => match calibration.keep(&machine, id, figures) {
                Ok(()) => kept = true,
                Err(error) => inventory.notes.push(format!("the figures can't be kept: {error}")),
            },
        }
    }
    calibration.apply(&mut inventory.machine);
    match calibration.path().filter(|_| kept) {
        Some(path) => format!("the figures that were measured are in {}\n", path.display()),
        None => String::new(),
    }
}

fn measured(machine: &Machine, id: DeviceId) -> Result<Measured, String> {
    const CAPACITY: Bytes = Bytes(1 << 30);
    let info = machine.device(id);
    let capacity = (id != DeviceId::HOST).then_some(CAPACITY);
    let device = open(info, capacity).map_err(|error| error.to_string())?;
    let device = device.ok_or("this build can't drive it")?;
    measure(&*device, info, machine.host.cores).map_err(|error| error.to_string())
}
