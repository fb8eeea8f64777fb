//! The host: kernels run on the calling thread, large ones on others beside it, and blocks live in its memory.
//!
//! A launch is done when it returns; several threads launch at once and share programs. Copies to and from the
//! host are copies inside its memory.
//!
//! - [`compiler`]: kernels become programs.
//! - `vm`: maps, as code over tiles; `stencil` and `random` are steps of it.
//! - `reduce`: folds and what follows them. `copy`: strided copies. `split`: launches in parts.
//! - [`isa`]: loops compiled for several instruction sets. [`memory`]: the pool of buffers.

pub mod compiler;
mod copy;
pub mod isa;
mod launch;
mod matmul;
pub mod memory;
mod random;
mod reduce;
mod scratch;
mod split;
mod stencil;
mod vm;

use crate::block::Block;
use crate::device::contract::{Compiler, Device, DeviceError, Memory, Program, Queue};
use crate::kernel::Arguments;

use self::compiler::HostCompiler;
use self::isa::Isa;
use self::launch::Failure;
use self::memory::HostMemory;

/// The host as a device.
pub struct Host {
    memory: HostMemory,
    compiler: HostCompiler,
    queue: HostQueue,
}

impl Host {
    /// A host with the best instruction set of this machine that gives out at most `capacity` bytes of memory,
    /// or as much as the operating system has.
    pub fn new(capacity: Option<u64>) -> Self {
        Host::with_isa(capacity, Isa::detect())
    }

    /// As [`Host::new`], for an instruction set out of [`Isa::available`]. Results are the same bits.
    pub fn with_isa(capacity: Option<u64>, isa: Isa) -> Self {
        let isa = if Isa::available().contains(&isa) { isa } else { Isa::Portable };
        Host { memory: HostMemory::new(capacity), compiler: HostCompiler::new(isa), queue: HostQueue }
    }

    /// The memory as its own type, with figures that the contract doesn't ask for.
    pub fn host_memory(&self) -> &HostMemory {
        &self.memory
    }
}

impl Device for Host {
    fn name(&self) -> &str {
        "host"
    }

    fn memory(&self) -> &dyn Memory {
        &self.memory
    }

    fn compiler(&self) -> &dyn Compiler {
        &self.compiler
    }

    fn queue(&self) -> &dyn Queue {
        &self.queue
    }
}

/// The host's queue: everything is done when the call returns.
struct HostQueue;

impl Queue for HostQueue {
    fn launch(&self, program: &Program, arguments: &Arguments) -> Result<(), DeviceError> {
        split::launch(program, arguments)
    }

    fn upload(&self, from: &Block, to: &Block) -> Result<(), DeviceError> {
        split::copy("an upload", from, to)
    }

    fn download(&self, from: &Block, to: &Block) -> Result<(), DeviceError> {
        split::copy("a download", from, to)
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        Ok(())
    }
}

fn failed(operation: &'static str) -> impl Fn(Failure) -> DeviceError {
    move |Failure(message)| DeviceError::Failed {
        device: "host".to_owned(),
        operation: operation.to_owned(),
        message,
    }
}
