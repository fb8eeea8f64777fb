//! Launches and copies on one stream.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::result;

use super::compiler::CudaProgram;
use super::context::Context;
use super::kept::Stream;
use super::memory::CudaMemory;
use super::staging::{PART_BYTES, Staging};
use crate::block::{Block, Buffer};
use crate::device::caching::Caching;
use crate::device::contract::{DeviceError, Memory, Program, Queue};
use crate::device::staging::{RowWriter, for_each_part, mismatch};
use crate::kernel::Arguments;
use crate::kernel::cuda::{BLOCK, Pass, Slot, Word};

/// One stream of a device.
pub struct CudaQueue {
    stream: Stream,
    memory: Arc<Caching<CudaMemory>>,
    staging: Mutex<Staging>,
    /// Buffers of work that may be under way: their memory is in use.
    held: Mutex<Vec<Buffer>>,
}

/// What the words of a pass refer to.
struct Places<'a> {
    arguments: &'a Arguments,
    scratch: u64,
    memory: &'a CudaMemory,
}

impl CudaQueue {
    pub(super) fn new(
        context: &Arc<Context>,
        memory: &Arc<Caching<CudaMemory>>,
    ) -> Result<Self, DeviceError> {
        Ok(CudaQueue {
            stream: Stream::new(context)?,
            memory: memory.clone(),
            staging: Mutex::new(Staging::new(context)?),
            held: Mutex::default(),
        })
    }

    fn hold(&self, buffers: impl IntoIterator<Item = Buffer>) {
        lock(&self.held).extend(buffers);
    }

    fn context(&self) -> &Context {
        &self.stream.context
    }

    fn check_pair(&self, operation: &str, host: &Block, device: &Block) -> Result<(), DeviceError> {
        mismatch(host, device).map_or(Ok(()), |message| Err(self.context().failed(operation, message)))
    }

    fn copy_from_card(
        &self,
        from: &Block,
        (there, start): (&Arc<Context>, u64),
        to: &Block,
    ) -> Result<(), DeviceError> {
        const OPERATION: &str = "copying from another card";
        let (a, b) = (&from.layout, &to.layout);
        if a.dtype != b.dtype || a.shape != b.shape || !a.is_contiguous() || !b.is_contiguous() {
            let message =
                format!("{} {} there, {} {} here, not both contiguous", a.dtype, a.shape, b.dtype, b.shape);
            return Err(self.context().failed(OPERATION, message));
        }
        let address = self.memory.source().address_of(to)?;
        self.hold([from.buffer.clone(), to.buffer.clone()]);
        let (here, bytes) = (self.context().raw(), a.bytes());
        // SAFETY: both blocks have that many bytes from their addresses on, and are held until the copy is done.
        let copy = || unsafe {
            result::memcpy_peer_async(here, address, there.raw(), start, bytes, self.stream.raw)
        };
        if bytes == 0 { Ok(()) } else { self.context().call(OPERATION, copy) }
    }

    fn pass(&self, program: &CudaProgram, pass: &Pass, places: &Places<'_>) -> Result<(), DeviceError> {
        let mut words = pass.words.iter().map(|word| places.word(*word)).collect::<Result<Vec<u64>, _>>()?;
        // The driver reads as many as the function declares.
        words.resize(words.len().max(program.rendered.words), 0);
        let apart = program.rendered.takes_words_apart();
        let count = if apart { words.len() } else { 1 };
        let mut parameters: Vec<*mut c_void> =
            words.iter_mut().take(count).map(|word| (&raw mut *word).cast()).collect();
        let function = program.functions[pass.function].0;
        let (grid, block) = ((pass.blocks.0, pass.blocks.1, 1), (BLOCK, 1, 1));
        // SAFETY: the function takes one struct of that many words, or so many parameters of one; our kernels keep within the blocks that the launch
        // was checked against, and those are held until the work is done.
        let launch =
            || unsafe { result::launch_kernel(function, grid, block, 0, self.stream.raw, &mut parameters) };
        self.context().call(&program.name, launch)
    }
}

impl Places<'_> {
    fn word(&self, word: Word) -> Result<u64, DeviceError> {
        let (slot, offset) = match word {
            Word::Value(value) => return Ok(value),
            Word::Address(slot, offset) => (slot, offset),
        };
        let start = match slot {
            Slot::Operand(at) => self.memory.address_of(&self.arguments.operands[at].block)?,
            Slot::Output => self.memory.address_of(&self.arguments.output)?,
            Slot::Scratch => self.scratch,
        };
        Ok(start.wrapping_add_signed(offset as i64))
    }
}

impl Queue for CudaQueue {
    fn launch(&self, program: &Program, arguments: &Arguments) -> Result<(), DeviceError> {
        let foreign = || self.context().failed("launching", "the program was made by another compiler");
        let program: &CudaProgram = program.downcast().ok_or_else(foreign)?;
        let plan = program
            .rendered
            .launch(arguments)
            .map_err(|error| self.context().failed(&program.name, error))?;
        let memory = self.memory.source();
        let mut used: Vec<Buffer> =
            arguments.operands.iter().map(|operand| operand.block.buffer.clone()).collect();
        used.push(arguments.output.buffer.clone());
        let mut scratch = 0;
        if plan.scratch_bytes > 0 {
            let buffer = self.memory.allocate(plan.scratch_bytes)?;
            let whole = Block::contiguous(buffer, crate::dtype::DType::U8, [plan.scratch_bytes].into());
            scratch = memory.address_of(&whole)?;
            used.push(whole.buffer);
        }
        self.hold(used);
        let output = &arguments.output;
        if plan.clears && output.layout.bytes() > 0 {
            let (address, bytes) = (memory.address_of(output)?, output.layout.bytes());
            // SAFETY: a contiguous block has that many bytes from its address on.
            let clear = || unsafe { result::memset_d8_async(address, 0, bytes, self.stream.raw) };
            self.context().call(&program.name, clear)?;
        }
        let places = Places { arguments, scratch, memory };
        plan.passes.iter().try_for_each(|pass| self.pass(program, pass, &places))
    }

    /// From the host, or from another card that reaches this one.
    fn upload(&self, from: &Block, to: &Block) -> Result<(), DeviceError> {
        const OPERATION: &str = "uploading";
        if let Some((there, start)) = CudaMemory::on_any_card(from) {
            return self.copy_from_card(from, (&there, start), to);
        }
        self.check_pair(OPERATION, from, to)?;
        let mut address = self.memory.source().address_of(to)?;
        self.hold([to.buffer.clone()]);
        let mut staging = lock(&self.staging);
        let (mut nth, mut result) = (0, Ok(()));
        let mut submit = |bytes: &[u8]| {
            let part = staging.part(nth);
            part.wait(OPERATION)?;
            let room = part.room(bytes.len())?;
            room.copy_from_slice(bytes);
            // SAFETY: the block has room for all parts together; the pinned memory isn't touched before the event.
            let copy = || unsafe { result::memcpy_htod_async(address, &*room, self.stream.raw) };
            self.context().call(OPERATION, copy)?;
            part.submitted(&self.stream)?;
            (nth, address) = (nth + 1, address + bytes.len() as u64);
            Ok(())
        };
        for_each_part(from, PART_BYTES, |bytes| {
            if result.is_ok() {
                result = submit(bytes);
            }
        });
        result
    }

    fn download(&self, from: &Block, to: &Block) -> Result<(), DeviceError> {
        const OPERATION: &str = "downloading";
        self.check_pair(OPERATION, to, from)?;
        let (start, total) = (self.memory.source().address_of(from)?, from.layout.bytes());
        let mut staging = lock(&self.staging);
        let mut writer = RowWriter::new(to);
        let parts = total.div_ceil(PART_BYTES);
        let length = |nth: usize| PART_BYTES.min(total - nth * PART_BYTES);
        // While one part is emptied the next one comes.
        for nth in 0..=parts {
            if nth < parts {
                let part = staging.part(nth);
                part.wait(OPERATION)?;
                let room = part.room(length(nth))?;
                let address = start + (nth * PART_BYTES) as u64;
                // SAFETY: the block has that many bytes there; the pinned memory isn't touched before the event.
                let copy = || unsafe { result::memcpy_dtoh_async(room, address, self.stream.raw) };
                self.context().call(OPERATION, copy)?;
                part.submitted(&self.stream)?;
            }
            if let Some(before) = nth.checked_sub(1) {
                let part = staging.part(before);
                part.wait(OPERATION)?;
                writer.write(part.room(length(before))?);
            }
        }
        Ok(())
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        // What is submitted meanwhile is held by its own entry, which stays.
        let done = std::mem::take(&mut *lock(&self.held));
        self.stream.synchronize("work on the device")?;
        drop(done);
        Ok(())
    }
}

impl Drop for CudaQueue {
    fn drop(&mut self) {
        // Nobody is left to be told.
        let _ = self.synchronize();
    }
}

/// A thread that panicked leaves these values whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
