//! Hostile input to collections and graphs: what people, third parties and other programs get wrong, and random
//! programs against values computed by hand.

mod custom;
mod engine;
mod held;
mod memory;
mod orders;
mod programs;
mod tables;

use std::sync::Arc;

use outcrop::device::sim::{FaultPlan, SimDevice};
use outcrop::machine::{Backend, DeviceId, Machine, MemoryId};
use outcrop::session::Session;
use outcrop::settings::Config;

fn config(threads: usize) -> Config {
    Config { threads: Some(threads), ..Config::default() }
}

/// The host alone.
fn host() -> Session {
    Session::new(config(2))
}

/// A described machine with one GPU, which is simulated.
fn simulated(threads: usize, faults: FaultPlan) -> Session {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/machines/one-gpu.toml");
    let mut machine = Machine::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap();
    machine.devices[1].backend = Backend::Sim;
    let link = machine.link(MemoryId::HOST, machine.memory_of(DeviceId(1)));
    let gpu = SimDevice::new(machine.device(DeviceId(1)), Some(1 << 30), link, faults);
    Session::on(machine, config(threads)).with_device(Arc::new(gpu))
}
