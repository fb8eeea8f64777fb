//! A simulated device: a memory of its own, a clock of its own, faults on demand.
//!
//! It computes with the host's kernels, so values can be checked; its blocks can't be read as host memory,
//! so that a transfer that a plan forgot is found. Time passes by the machine's rates, not by the clock on
//! the wall: the same work takes the same time on every run.

mod faults;
mod gate;
mod memory;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::block::Block;
use crate::device::contract::{Compiler, Device, DeviceError, Memory, Program, Queue};
use crate::device::host::Host;
use crate::kernel::{Arguments, Kernel, Operand};
use crate::machine::{DeviceInfo, LinkRate};

pub use faults::{Fault, FaultPlan};
use gate::Gate;
use memory::{SimMemory, as_host};

/// A simulated device.
pub struct SimDevice {
    name: String,
    memory: SimMemory,
    kernels: Host,
    faults: FaultPlan,
    operations: AtomicU64,
    lost: AtomicBool,
    exhausted: AtomicBool,
    gate: Gate,
    launch_s: f64,
    memory_bytes_per_s: f64,
    link: LinkRate,
    nanoseconds: AtomicU64,
}

impl SimDevice {
    /// The device that `info` describes, with `capacity` bytes of memory, behind a link to the host.
    pub fn new(info: &DeviceInfo, capacity: Option<u64>, link: LinkRate, faults: FaultPlan) -> Self {
        SimDevice {
            name: info.name.clone(),
            memory: SimMemory::new(info.name.clone(), capacity),
            kernels: Host::new(None),
            faults,
            operations: AtomicU64::new(0),
            lost: AtomicBool::new(false),
            exhausted: AtomicBool::new(false),
            gate: Gate::default(),
            launch_s: info.rates.launch_s,
            memory_bytes_per_s: info.rates.memory_bytes_per_s,
            link,
            nanoseconds: AtomicU64::new(0),
        }
    }

    /// Seconds of simulated time so far.
    pub fn clock_s(&self) -> f64 {
        self.nanoseconds.load(Ordering::Relaxed) as f64 * 1e-9
    }

    /// Launches and copies so far, failed ones included.
    pub fn operations(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }

    /// Lets go of the calls that [hang](Fault::Hangs); from now on none does.
    pub fn release(&self) {
        self.gate.open();
    }

    fn spend(&self, seconds: f64) {
        self.nanoseconds.fetch_add((seconds * 1e9) as u64, Ordering::Relaxed);
    }

    /// Counts an operation, and fails it if the plan of faults says so.
    fn admit(&self, operation: &str) -> Result<(), DeviceError> {
        let number = self.operations.fetch_add(1, Ordering::Relaxed);
        let fault = self.faults.at(number);
        match fault {
            Some(Fault::Lost) => self.lost.store(true, Ordering::Relaxed),
            Some(Fault::Exhausted) => self.exhausted.store(true, Ordering::Relaxed),
            Some(Fault::Hangs) => self.gate.pass(),
            Some(Fault::Fails | Fault::OutOfMemory) | None => {}
        }
        if self.lost.load(Ordering::Relaxed) {
            let message = format!("simulated, at operation {number}");
            return Err(DeviceError::Lost { device: self.name.clone(), message });
        }
        if self.exhausted.load(Ordering::Relaxed) {
            return Err(self.memory.exhausted(0));
        }
        match fault {
            Some(Fault::OutOfMemory) => Err(self.memory.exhausted(0)),
            Some(Fault::Fails | Fault::Hangs) => Err(DeviceError::Failed {
                device: self.name.clone(),
                operation: operation.to_owned(),
                message: format!("simulated, at operation {number}"),
            }),
            _ => Ok(()),
        }
    }

    fn own(&self, block: &Block) -> Result<Block, DeviceError> {
        as_host(block).ok_or_else(|| DeviceError::Failed {
            device: self.name.clone(),
            operation: "launch".to_owned(),
            message: "an operand isn't in this device's memory".to_owned(),
        })
    }

    fn copy(&self, operation: &str, from: &Block, to: &Block) -> Result<(), DeviceError> {
        self.admit(operation)?;
        self.spend(self.link.seconds(from.layout.bytes() as u64));
        self.kernels.queue().upload(from, to)
    }
}

impl Device for SimDevice {
    fn name(&self) -> &str {
        &self.name
    }

    fn memory(&self) -> &dyn Memory {
        &self.memory
    }

    fn compiler(&self) -> &dyn Compiler {
        self
    }

    fn queue(&self) -> &dyn Queue {
        self
    }
}

impl Compiler for SimDevice {
    fn compile(&self, kernel: &Kernel) -> Result<Program, DeviceError> {
        self.kernels.compiler().compile(kernel)
    }
}

impl Queue for SimDevice {
    fn launch(&self, program: &Program, arguments: &Arguments) -> Result<(), DeviceError> {
        self.admit("launch")?;
        let operand = |operand: &Operand| Ok(Operand { block: self.own(&operand.block)?, ..operand.clone() });
        let own = Arguments {
            operands: arguments.operands.iter().map(operand).collect::<Result<_, DeviceError>>()?,
            output: self.own(&arguments.output)?,
            ..arguments.clone()
        };
        let touched: usize = own.operands.iter().map(|operand| operand.block.layout.bytes()).sum();
        let bytes = touched + own.output.layout.bytes();
        self.spend(self.launch_s + bytes as f64 / self.memory_bytes_per_s);
        self.kernels.queue().launch(program, &own)
    }

    fn upload(&self, from: &Block, to: &Block) -> Result<(), DeviceError> {
        self.copy("upload", from, &self.own(to)?)
    }

    fn download(&self, from: &Block, to: &Block) -> Result<(), DeviceError> {
        self.copy("download", &self.own(from)?, to)
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        Ok(())
    }
}
