//! `outcrop devices`: what this machine has.

use clap::Args;

use super::failure::Failure;
use super::pretty;
use crate::device::probe;

#[derive(Debug, Args)]
pub(super) struct DevicesArguments {
    /// Print the machine as one JSON object, which 'outcrop plan --machine' reads
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn devices(arguments: &DevicesArguments) -> Result<String, Failure> {
    let inventory = probe::inventory();
    if arguments.json {
        return Ok(pretty(&inventory.machine));
    }
    let mut text = inventory.machine.to_string();
    for device in inventory.machine.devices.iter().filter(|device| !device.ways.is_empty()) {
        let ways: Vec<String> =
            device.ways.iter().map(|way| format!("{} ({})", way.api, way.driver)).collect();
        text.push_str(&format!("{} is seen through {}\n", device.name, ways.join(", ")));
    }
    for note in &inventory.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    Ok(text)
}
