//! What a device must do, in four small traits.
//!
//! **Who validates.** Callers pass kernels whose types check and arguments whose regions lie in their
//! blocks; the planner made both. A device checks what only it can know: its limits, its compiler.
//! **Order.** Work on one queue happens in the order of the calls; between queues of a device there is no order, and
//! whoever gives work to one waits first for what it needs from another. [`Queue::launch`] and the copies may return
//! before the work is done; [`Queue::synchronize`] returns when all of its queue's is, with the first error that came
//! late: one that can't be told to be another queue's is told to all. **Lifetime.** A device keeps the buffers of submitted work alive until it is done.
//! **Memory.** [`Memory::allocate`] never gives out more than the capacity it was made with; a buffer goes
//! back when its last handle is dropped.

use std::any::Any;
use std::sync::Arc;

use crate::block::{Block, Buffer};
use crate::kernel::{Arguments, Kernel};
use crate::task::Stopped;

/// A device that is open for work.
pub trait Device: Send + Sync {
    /// Its name in the machine's description: `host`, `gpu0`.
    fn name(&self) -> &str;

    /// Its memory.
    fn memory(&self) -> &dyn Memory;

    /// Its compiler.
    fn compiler(&self) -> &dyn Compiler;

    /// Its queue.
    fn queue(&self) -> &dyn Queue;

    /// A queue for large copies to it, which may go on beside kernels; its queue where it has no other.
    fn uploads(&self) -> &dyn Queue {
        self.queue()
    }

    /// A queue for large copies from it.
    fn downloads(&self) -> &dyn Queue {
        self.queue()
    }
}

/// Memory that blocks live in.
pub trait Memory: Send + Sync {
    /// A buffer of at least `bytes`, not cleared.
    fn allocate(&self, bytes: usize) -> Result<Buffer, DeviceError>;

    /// Bytes in buffers that are alive.
    fn used(&self) -> usize;

    /// Bytes in buffers that were given back and wait for reuse; 0 where none do.
    fn pooled(&self) -> usize {
        0
    }
}

/// Makes programs of kernels.
pub trait Compiler: Send + Sync {
    /// Compiles; may take a while, and is called once for each kernel of a plan, before anything runs.
    fn compile(&self, kernel: &Kernel) -> Result<Program, DeviceError>;
}

/// Runs programs and moves blocks.
pub trait Queue: Send + Sync {
    /// Launches a program that this device's compiler made.
    fn launch(&self, program: &Program, arguments: &Arguments) -> Result<(), DeviceError>;

    /// Copies a block of the host, or of a device that the machine lists a link from, to a contiguous block of this
    /// device, of the same shape and type.
    fn upload(&self, from: &Block, to: &Block) -> Result<(), DeviceError>;

    /// Copies a contiguous block of this device to a host block of the same shape and type.
    fn download(&self, from: &Block, to: &Block) -> Result<(), DeviceError>;

    /// Waits until everything submitted is done.
    fn synchronize(&self) -> Result<(), DeviceError>;
}

/// A compiled kernel.
#[derive(Clone)]
pub struct Program(Arc<dyn Any + Send + Sync>);

impl Program {
    /// Wraps what a compiler made.
    pub fn new(program: impl Any + Send + Sync) -> Self {
        Program(Arc::new(program))
    }

    /// The program as the type that its compiler made, or `None` when another compiler made it.
    pub fn downcast<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

/// A device failed, or can't do what was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum DeviceError {
    /// The memory is used up.
    #[error(
        "{device}: out of memory: {requested} bytes requested, {used} in use, capacity {}",
        capacity.map_or("unknown".to_owned(), |bytes| format!("{bytes} bytes"))
    )]
    OutOfMemory {
        /// The device.
        device: String,
        /// Bytes asked for.
        requested: usize,
        /// Bytes in use then.
        used: usize,
        /// Bytes there are, if known.
        capacity: Option<u64>,
    },
    /// The compiler refused a kernel.
    #[error("{device}: the kernel '{kernel}' doesn't compile: {message}")]
    Compile {
        /// The device.
        device: String,
        /// The kernel.
        kernel: String,
        /// What the compiler said.
        message: String,
    },
    /// The device is gone; nothing on it can be had any more.
    #[error("{device}: device lost: {message}")]
    Lost {
        /// The device.
        device: String,
        /// What the driver said.
        message: String,
    },
    /// The task was told to stop, in the midst of a launch or copy.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// A launch or copy failed; the device lives.
    #[error("{device}: {operation} failed: {message}")]
    Failed {
        /// The device.
        device: String,
        /// What was being done.
        operation: String,
        /// What went wrong.
        message: String,
    },
}
