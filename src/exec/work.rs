//! Doing one step: gathering its operands, finding room for its value, launching.

use std::sync::{Arc, Mutex, PoisonError};

use crate::block::{Block, Layout};
use crate::device::contract::{Device, Program};
use crate::exec::driver::Devices;
use crate::exec::error::{ExecError, StepError};
use crate::graph::op::Op;
use crate::ids::StepId;
use crate::kernel::{Arguments, Operand};
use crate::machine::{DeviceId, MemoryId};
use crate::steps::{Plan, Step, StepKind};

/// Everything that steps share while a plan runs.
pub(super) struct Work<'a> {
    plan: &'a Plan,
    devices: &'a Devices,
    programs: Vec<Program>,
    /// The values that are alive, by the step that made them.
    values: Vec<Mutex<Option<Arc<Block>>>>,
    results: Vec<Block>,
}

impl<'a> Work<'a> {
    /// Compiles all kernels and makes room for the results.
    pub(super) fn prepare(plan: &'a Plan, devices: &'a Devices) -> Result<Self, ExecError> {
        for layer in &plan.layers {
            if devices.device(layer.device).is_none() {
                let device = plan.device_names[usize::from(layer.device.0)].clone();
                return Err(ExecError::NoDevice { layer: layer.name.clone(), device });
            }
        }
        let compile = |kernel: &crate::steps::PlanKernel| {
            let layer = || plan.layers[kernel.layer as usize].name.clone();
            let device = devices.device(kernel.device).ok_or_else(|| ExecError::NoDevice {
                layer: layer(),
                device: plan.device_names[usize::from(kernel.device.0)].clone(),
            })?;
            device
                .compiler()
                .compile(&kernel.kernel)
                .map_err(|source| ExecError::Compile { layer: layer(), source: Box::new(source) })
        };
        let programs = plan.kernels.iter().map(compile).collect::<Result<_, _>>()?;
        let result = |output: &crate::steps::PlanOutput| {
            let layout = Layout::contiguous(output.dtype, output.shape.clone());
            let layer = plan.layers[output.layer as usize].name.clone();
            let Some(host) = devices.device(DeviceId::HOST) else {
                return Err(ExecError::NoDevice { layer, device: "host".to_owned() });
            };
            let buffer = host
                .memory()
                .allocate(layout.bytes())
                .map_err(|source| ExecError::Result { layer, source: Box::new(source) })?;
            Ok(Block { buffer, layout })
        };
        let results = plan.outputs.iter().map(result).collect::<Result<_, _>>()?;
        let values = (0..plan.steps.len()).map(|_| Mutex::new(None)).collect();
        Ok(Work { plan, devices, programs, values, results })
    }

    /// The results, when all steps are done.
    pub(super) fn into_results(self) -> Vec<Block> {
        self.results
    }

    /// Does a step, up to the point where its device has the work. The value is there for later steps on
    /// the same device; others must wait until the device has synchronised.
    pub(super) fn run(&self, id: StepId) -> Result<(), StepError> {
        let step = self.plan.step(id);
        let layer = self.plan.layer_of(id);
        match (step.kind, &layer.op) {
            (StepKind::Load, Op::Load(source)) if source.in_place() => {
                let view = source.view(&self.plan.region(id))?;
                self.keep(id, view);
            }
            (StepKind::Load, Op::Load(source)) => {
                let value = self.room(id, step)?;
                source.read(&self.plan.region(id), &value)?;
                self.keep(id, value);
            }
            (StepKind::Store, Op::Store(sink)) => {
                let block = self.value(self.plan.operands(id)[0].step)?;
                sink.write(&self.plan.region(id), &block)?;
            }
            (StepKind::Transfer, _) => {
                let from = self.value(self.plan.operands(id)[0].step)?;
                let to = self.room(id, step)?;
                let queue = self.device(step.device)?.queue();
                if step.memory == MemoryId::HOST {
                    queue.download(&from, &to)?
                } else {
                    queue.upload(&from, &to)?
                }
                self.keep(id, to);
            }
            _ => {
                let value = self.room(id, step)?;
                let program = self.programs.get(step.kernel as usize).ok_or_else(|| StepError::Bug {
                    problem: format!("step {} of '{}' has no kernel", id.0, layer.name),
                })?;
                let arguments = self.arguments(id, value.clone())?;
                self.device(step.device)?.queue().launch(program, &arguments)?;
                self.keep(id, value);
            }
        }
        Ok(())
    }

    /// Waits for the device.
    pub(super) fn synchronize(&self, device: DeviceId) -> Result<(), StepError> {
        Ok(self.device(device)?.queue().synchronize()?)
    }

    /// Lets go of a value.
    pub(super) fn free(&self, id: StepId) {
        *self.values[id.index()].lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn keep(&self, id: StepId, value: Block) {
        let value = Some(Arc::new(value));
        *self.values[id.index()].lock().unwrap_or_else(PoisonError::into_inner) = value;
    }

    fn value(&self, id: StepId) -> Result<Arc<Block>, StepError> {
        let value = self.values[id.index()].lock().unwrap_or_else(PoisonError::into_inner).clone();
        value.ok_or_else(|| StepError::Bug { problem: format!("the value of step {} isn't there", id.0) })
    }

    fn device(&self, id: DeviceId) -> Result<&dyn Device, StepError> {
        self.devices
            .device(id)
            .map(|device| &**device)
            .ok_or_else(|| StepError::Bug { problem: format!("device {} isn't open", id.0) })
    }

    /// Where a step's value goes: its place in a result, or memory of its own.
    fn room(&self, id: StepId, step: &Step) -> Result<Block, StepError> {
        if let Some(result) = self.results.get(usize::from(step.output)) {
            return Ok(result.part(&self.plan.region(id)));
        }
        let (dtype, shape) = self.plan.value_layout(id);
        let owner = if step.memory == MemoryId::HOST { DeviceId::HOST } else { step.device };
        let layout = Layout::contiguous(dtype, shape);
        let buffer = self.device(owner)?.memory().allocate(layout.bytes())?;
        Ok(Block { buffer, layout })
    }

    fn arguments(&self, id: StepId, output: Block) -> Result<Arguments, StepError> {
        let operand = |operand: &crate::steps::StepOperand| {
            Ok(Operand {
                input: operand.input,
                block: Block::clone(&*self.value(operand.step)?),
                region: self.plan.region(operand.step),
            })
        };
        Ok(Arguments {
            operands: self.plan.operands(id).iter().map(operand).collect::<Result<_, StepError>>()?,
            output,
            region: self.plan.region(id),
            pieces: self.plan.pieces(id),
        })
    }
}
