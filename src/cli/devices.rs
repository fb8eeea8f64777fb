//! `outcrop devices`: what this machine has.

use clap::Args;

use super::failure::Failure;
use super::{pretty, tell};
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
        tell(&inventory.notes);
        return Ok(pretty(&inventory.machine));
    }
    Ok(inventory.to_string())
}
