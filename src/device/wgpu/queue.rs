//! Launches and copies.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use super::compiler::{Pipeline, WgpuProgram};
use super::health::{Health, lock};
use super::memory::WgpuMemory;
use crate::block::{Block, Buffer};
use crate::device::caching::Caching;
use crate::device::contract::{DeviceError, Memory, Program, Queue};
use crate::device::staging::{RowWriter, for_each_part, mismatch};
use crate::dtype::DType;
use crate::kernel::Arguments;
use crate::kernel::render::{Pass, Slot, WORKGROUP};

/// The queue of one device.
pub struct WgpuQueue {
    pub(super) device: wgpu::Device,
    queue: wgpu::Queue,
    health: Arc<Health>,
    /// Its number among those that share the driver's.
    number: usize,
    memory: Arc<Caching<WgpuMemory>>,
    /// The buffer through which downloads come, kept for the next one.
    landing: Mutex<Option<wgpu::Buffer>>,
    workgroups_per_axis_max: u32,
}

/// Copies between host and device go in parts of this size, so that staging memory stays small.
const STAGE_BYTES: usize = 16 << 20;

impl WgpuQueue {
    pub(super) fn new(
        device: wgpu::Device,
        queue: wgpu::Queue,
        health: Arc<Health>,
        number: usize,
        memory: Arc<Caching<WgpuMemory>>,
    ) -> Self {
        let workgroups_per_axis_max = device.limits().max_compute_workgroups_per_dimension;
        WgpuQueue {
            device,
            queue,
            health,
            number,
            memory,
            landing: Mutex::new(None),
            workgroups_per_axis_max,
        }
    }

    /// Waits for everything that was submitted up to `index`, or at all.
    fn wait(&self, index: Option<wgpu::SubmissionIndex>) -> Result<(), DeviceError> {
        let waiting = self.device.poll(wgpu::PollType::Wait { submission_index: index, timeout: None });
        self.health.check()?;
        waiting.map(drop).map_err(|error| self.health.failed("waiting", error))
    }

    fn encode(
        &self,
        program: &WgpuProgram,
        arguments: &Arguments,
        passes: &[Pass],
        clears: bool,
        scratch: &[Block],
    ) -> Result<wgpu::CommandBuffer, DeviceError> {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        let block_at = |slot: Slot| match slot {
            Slot::Operand(at) => &arguments.operands[at].block,
            Slot::Scratch(at) => &scratch[at],
            Slot::Output => &arguments.output,
        };
        if clears {
            encoder.clear_buffer(self.memory.source().buffer_of(&arguments.output)?, 0, None);
        }
        for pass in passes.iter().filter(|pass| pass.invocations > 0) {
            let reads = pass.reads.iter().map(|&slot| self.memory.source().buffer_of(block_at(slot)));
            let buffers = reads
                .chain([self.memory.source().buffer_of(block_at(pass.write))])
                .collect::<Result<Vec<_>, _>>()?;
            let pipeline = &program.pipelines[pass.shader];
            let group = self.bind(pipeline, &buffers, &pass.params);
            let (x, y) = self.workgroups(pass.invocations)?;
            let mut compute = encoder.begin_compute_pass(&Default::default());
            compute.set_pipeline(&pipeline.pipeline);
            compute.set_bind_group(0, &group, &[]);
            compute.dispatch_workgroups(x, y, 1);
        }
        Ok(encoder.finish())
    }

    fn bind(&self, pipeline: &Pipeline, buffers: &[&wgpu::Buffer], params: &[u32]) -> wgpu::BindGroup {
        let size = size_of_val(params).next_multiple_of(16) as u64;
        let params_buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size,
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        self.queue.write_buffer(&params_buffer, 0, bytemuck::cast_slice(params));
        let entries: Vec<_> = buffers
            .iter()
            .copied()
            .chain([&params_buffer])
            .enumerate()
            .map(|(binding, buffer)| wgpu::BindGroupEntry {
                binding: binding as u32,
                resource: buffer.as_entire_binding(),
            })
            .collect();
        self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.layout,
            entries: &entries,
        })
    }

    /// Workgroups along two axes: one alone is too short for large blocks. Kernels know where they are from
    /// the number along the first.
    fn workgroups(&self, invocations: usize) -> Result<(u32, u32), DeviceError> {
        let groups = invocations.div_ceil(WORKGROUP as usize);
        let most = self.workgroups_per_axis_max as usize;
        let y = groups.div_ceil(most);
        if y > most {
            return Err(self
                .health
                .failed("launching", format!("{groups} workgroups are more than {most}²")));
        }
        Ok((groups.div_ceil(y) as u32, y as u32))
    }

    /// Puts bytes on their way; `None` when a scope around it catches why not.
    fn upload_part(&self, to: &wgpu::Buffer, bytes: &[u8], offset: usize) -> Option<()> {
        let size = wgpu::BufferSize::new(bytes.len().next_multiple_of(4) as u64)?;
        let mut view = self.queue.write_buffer_with(to, offset as u64, size)?;
        view.slice(..bytes.len()).copy_from_slice(bytes);
        Some(())
    }

    fn check_pair(&self, operation: &str, host: &Block, device: &Block) -> Result<(), DeviceError> {
        mismatch(host, device).map_or(Ok(()), |message| Err(self.health.failed(operation, message)))
    }

    /// Waits for a mapping whose copy is done. Another thread that polls may be about to say so.
    fn mapped(
        &self,
        receiver: &mpsc::Receiver<Result<(), wgpu::BufferAsyncError>>,
    ) -> Result<(), DeviceError> {
        loop {
            match receiver.recv_timeout(Duration::from_millis(1)) {
                Ok(result) => {
                    return result.map_err(|error| self.health.failed("downloading", error));
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    self.wait(None)?;
                }
                Err(error) => return Err(self.health.failed("downloading", error)),
            }
        }
    }

    /// Hands `take` the `length` bytes from `offset` of a buffer.
    fn download_part(
        &self,
        from: &wgpu::Buffer,
        offset: usize,
        length: usize,
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), DeviceError> {
        let size = length.next_multiple_of(4) as u64;
        let mut landing = lock(&self.landing);
        let buffer = match landing.take() {
            Some(buffer) if buffer.size() >= size => buffer,
            _ => {
                let bytes = size.next_power_of_two().max(4096);
                self.health.scoped(&self.device, "downloading", bytes as usize, self.memory.used(), || {
                    self.device.create_buffer(&wgpu::BufferDescriptor {
                        label: None,
                        size: bytes,
                        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                        mapped_at_creation: false,
                    })
                })?
            }
        };
        let (sender, receiver) = mpsc::channel();
        let index = self.health.scoped(&self.device, "downloading", 0, 0, || {
            let mut encoder = self.device.create_command_encoder(&Default::default());
            encoder.copy_buffer_to_buffer(from, offset as u64, &buffer, 0, size);
            let index = self.queue.submit([encoder.finish()]);
            buffer.slice(..size).map_async(wgpu::MapMode::Read, move |result| {
                // Nobody waits for it when the download has failed.
                let _ = sender.send(result);
            });
            index
        })?;
        self.wait(Some(index))?;
        self.mapped(&receiver)?;
        {
            let view = buffer
                .slice(..size)
                .get_mapped_range()
                .map_err(|error| self.health.failed("downloading", error))?;
            take(&view[..length]);
        }
        buffer.unmap();
        *landing = Some(buffer);
        Ok(())
    }
}

impl Queue for WgpuQueue {
    fn launch(&self, program: &Program, arguments: &Arguments) -> Result<(), DeviceError> {
        let foreign = || self.health.failed("launching", "the program was made by another compiler");
        let program: &WgpuProgram = program.downcast().ok_or_else(foreign)?;
        let plan =
            program.rendered.launch(arguments).map_err(|error| self.health.failed(&program.name, error))?;
        let scratch = plan
            .scratch_bytes
            .iter()
            .map(|&bytes| Ok(scratch_block(self.memory.allocate(bytes)?, bytes)))
            .collect::<Result<Vec<_>, DeviceError>>()?;
        self.health.scoped(&self.device, &program.name, 0, self.memory.used(), || {
            let commands = self.encode(program, arguments, &plan.passes, plan.clears, &scratch)?;
            self.queue.submit([commands]);
            // The blocks count as used until the work is done: their memory is.
            let mut kept: Vec<Buffer> = scratch.iter().map(|block| block.buffer.clone()).collect();
            kept.extend(arguments.operands.iter().map(|operand| operand.block.buffer.clone()));
            kept.push(arguments.output.buffer.clone());
            self.queue.on_submitted_work_done(move || drop(kept));
            Ok(())
        })?
    }

    fn upload(&self, from: &Block, to: &Block) -> Result<(), DeviceError> {
        self.check_pair("uploading", from, to)?;
        let buffer = self.memory.source().buffer_of(to)?;
        // Two parts may be under way: staging memory is bounded.
        let mut under_way: VecDeque<wgpu::SubmissionIndex> = VecDeque::new();
        let mut offset = 0;
        let mut result = Ok(());
        for_each_part(from, STAGE_BYTES, |bytes| {
            if result.is_err() {
                return;
            }
            let used = self.memory.used();
            let submitted = self.health.scoped(&self.device, "uploading", bytes.len(), used, || {
                self.upload_part(buffer, bytes, offset);
                self.queue.submit([])
            });
            offset += bytes.len();
            result = submitted.and_then(|index| {
                under_way.push_back(index);
                let oldest = if under_way.len() > 2 { under_way.pop_front() } else { None };
                oldest.map_or(Ok(()), |oldest| self.wait(Some(oldest)))
            });
        });
        result
    }

    fn download(&self, from: &Block, to: &Block) -> Result<(), DeviceError> {
        self.check_pair("downloading", to, from)?;
        let buffer = self.memory.source().buffer_of(from)?;
        let total = from.layout.bytes();
        let mut writer = RowWriter::new(to);
        let mut offset = 0;
        while offset < total {
            let length = STAGE_BYTES.min(total - offset);
            self.download_part(buffer, offset, length, |bytes| writer.write(bytes))?;
            offset += length;
        }
        Ok(())
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        self.wait(None)?;
        self.health.late_error(self.number)
    }
}

fn scratch_block(buffer: Buffer, bytes: usize) -> Block {
    Block::contiguous(buffer, DType::U8, [bytes].into())
}
