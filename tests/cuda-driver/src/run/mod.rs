//! Executes kernels: the blocks of a launch one after the other, a block's threads in turn.
//!
//! A thread runs until it waits for others, has done its slice of instructions, or ends: no lockstep, as on every
//! architecture since Volta. The order of the threads turns around at each barrier, so that a kernel which lacks
//! one reads stale values. Every access is checked against the memory that is there.

mod block;
mod memory;
mod thread;
mod warp;

use std::sync::Arc;

use crate::driver::heap::Allocation;
use crate::ptx::code::Module;
use crate::result;

/// What a launch runs, and on what.
pub struct Launch<'a> {
    pub module: &'a Module,
    pub function: usize,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared_bytes: usize,
    /// The kernel's parameters as they lie in parameter space.
    pub parameters: &'a [u8],
    /// Finds what lies at an address of the device.
    pub memory: &'a dyn Fn(u64) -> Option<Arc<Allocation>>,
}

/// Why a kernel was stopped.
#[derive(Debug, PartialEq)]
pub struct Fault {
    /// The result that the driver gives, such as [`result::ILLEGAL_ADDRESS`].
    pub code: i32,
    pub message: String,
}

impl Fault {
    fn illegal_address(message: String) -> Fault {
        Fault { code: result::ILLEGAL_ADDRESS, message }
    }

    fn failed(message: impl Into<String>) -> Fault {
        Fault { code: result::LAUNCH_FAILED, message: message.into() }
    }
}

/// Runs every block; the fault's message names kernel, block, thread and line.
pub fn run(launch: &Launch<'_>) -> Result<(), Fault> {
    let [x, y, z] = launch.grid;
    let mut block = block::Block::new(launch);
    for at in 0..u64::from(x) * u64::from(y) * u64::from(z) {
        let row = at / u64::from(x);
        let place = [at % u64::from(x), row % u64::from(y), row / u64::from(y)];
        block.run(place.map(|index| index as u32))?;
    }
    Ok(())
}
