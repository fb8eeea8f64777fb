//! Doing one step: gathering its operands, finding room for its value, launching.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::block::{Block, Layout, OutputBlock};
use crate::device::contract::{Device, Program, Queue};
use crate::exec::Devices;
use crate::exec::error::{ExecError, StepError};
use crate::exec::inputs::RunInputs;
use crate::exec::values::Values;
use crate::graph::custom::{Call, Made, TaskError};
use crate::graph::op::Op;
use crate::graph::value_spec::ValueSpec;
use crate::ids::StepId;
use crate::kernel::{Arguments, Operand};
use crate::machine::{DeviceId, MemoryId};
use crate::steps::{LaneOf, OutputForm, Plan, PlanLayer, Step, StepKind, StepOperand};
use crate::store::Figures;
use crate::store::spill::{SpillStore, Spilled};
use crate::value::{Object, Value};

/// Everything that steps share while a plan runs.
pub(super) struct Work {
    plan: Arc<Plan>,
    devices: Devices,
    inputs: RunInputs,
    /// Where values are spilled to, if the plan spills any.
    spill: Option<SpillStore>,
    programs: Vec<Program>,
    /// What each layer of the plan makes.
    specs: Vec<ValueSpec>,
    /// By output: one array, allocated before anything runs; `None` where values come one by one.
    wholes: Vec<Option<Mutex<Option<Block>>>>,
}

/// A result.
#[derive(Clone, Debug)]
pub enum ResultValue {
    /// A whole array.
    Array(Block),
    /// Objects, or some blocks of an array, in the order of the blocks asked for.
    Values(Vec<Value>),
}

impl ResultValue {
    /// The array, when it is a whole one.
    pub fn array(&self) -> Option<&Block> {
        match self {
            ResultValue::Array(block) => Some(block),
            ResultValue::Values(_) => None,
        }
    }
}

impl Work {
    /// Compiles all kernels and makes room for the results.
    pub(super) fn prepare(
        plan: &Arc<Plan>,
        devices: &Devices,
        inputs: &RunInputs,
    ) -> Result<Self, ExecError> {
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
        let spill = plan
            .disk
            .map(|_| inputs.spill())
            .transpose()
            .map_err(|source| ExecError::Spill { source: Box::new(source) })?;
        let programs = plan.kernels.iter().map(compile).collect::<Result<_, _>>()?;
        let result = |output: &crate::steps::PlanOutput| {
            if output.form != OutputForm::Whole {
                return Ok(None);
            }
            let layout = Layout::contiguous(output.dtype, output.shape.clone());
            let layer = plan.layers[output.layer as usize].name.clone();
            let Some(host) = devices.device(DeviceId::HOST) else {
                return Err(ExecError::NoDevice { layer, device: "host".to_owned() });
            };
            let buffer = host
                .memory()
                .allocate(layout.bytes())
                .map_err(|source| ExecError::Result { layer, source: Box::new(source) })?;
            Ok(Some(Mutex::new(Some(Block { buffer, layout }))))
        };
        let wholes = plan.outputs.iter().map(result).collect::<Result<_, _>>()?;
        let specs = plan.layers.iter().map(PlanLayer::spec).collect();
        Ok(Work {
            plan: plan.clone(),
            devices: devices.clone(),
            inputs: inputs.clone(),
            spill,
            programs,
            specs,
            wholes,
        })
    }

    /// The results, when all steps are done.
    pub(super) fn take_results(&self, values: &mut Values) -> Vec<ResultValue> {
        let result = |(output, whole): (usize, &Option<Mutex<Option<Block>>>)| {
            let array = whole.as_ref().and_then(|whole| lock(whole).take());
            array.map_or_else(|| ResultValue::Values(values.take_asked(output)), ResultValue::Array)
        };
        self.wholes.iter().enumerate().map(result).collect()
    }

    /// Lets go of results that nobody has taken.
    pub(super) fn clear(&self) {
        self.wholes.iter().flatten().for_each(|whole| drop(lock(whole).take()));
    }

    /// Does a step, up to the point where its device has the work, and gives what it made, if anything. The value is
    /// there for later steps on the same device; others must wait until the device has synchronised. `operands` are what
    /// the plan says that it reads, in order.
    pub(super) fn run(&self, id: StepId, operands: &[Value]) -> Result<Option<Value>, StepError> {
        let step = self.plan.step(id);
        let layer = self.plan.layer_of(id);
        let made = match (step.kind, &layer.op) {
            (StepKind::Load, Op::Load(source)) if source.in_place() => {
                let view = source.view(&self.plan.region(id))?;
                view.into()
            }
            (StepKind::Load, Op::Load(source)) => {
                let value = self.room(id, &step)?;
                source.read(&self.plan.region(id), &value)?;
                value.into()
            }
            (StepKind::Store, Op::Store(sink)) => {
                let block = block(id, operands, 0)?;
                sink.write(&self.plan.region(id), block)?;
                return Ok(None);
            }
            (StepKind::Transfer, _) => {
                let from = block(id, operands, 0)?;
                let to = self.room(id, &step)?;
                let lanes = self.plan.lanes();
                let queue = queue(self.device(step.device)?, lanes.of(lanes.of_step(&step)));
                if step.memory == MemoryId::HOST {
                    queue.download(from, &to)?
                } else {
                    queue.upload(from, &to)?
                }
                to.into()
            }
            (StepKind::Call, op) => self.call(id, &step, layer, op, operands)?,
            (StepKind::Spill, _) => {
                let block = block(id, operands, 0)?;
                let spilled = self.spill_store(id)?.write(block)?;
                Object::new(spilled).into()
            }
            (StepKind::Reload, _) => {
                let value = self.room(id, &step)?;
                match operands.first().and_then(Value::object::<Spilled>) {
                    Some(spilled) => spilled.read(&value)?,
                    None => {
                        let problem = format!("the value that step {} reloads isn't on disk", id.0);
                        return Err(StepError::Bug { problem });
                    }
                }
                value.into()
            }
            (StepKind::Keep, _) => {
                let block = block(id, operands, 0)?;
                self.inputs.keep(layer, step.block as usize, block)?;
                return Ok(None);
            }
            (StepKind::Recall, _) => self.recall(id, &step, layer)?,
            (StepKind::Wait, _) => Object::new(()).into(),
            _ => {
                let value = self.room(id, &step)?;
                let program = self.programs.get(step.kernel as usize).ok_or_else(|| StepError::Bug {
                    problem: format!("step {} of '{}' has no kernel", id.0, layer.name),
                })?;
                let arguments = self.arguments(id, operands, value.clone())?;
                self.device(step.device)?.queue().launch(program, &arguments)?;
                value.into()
            }
        };
        Ok(Some(made))
    }

    /// Waits for what a lane's device was given in this lane.
    pub(super) fn synchronize(&self, lane: LaneOf) -> Result<(), StepError> {
        match lane.device() {
            Some(device) => Ok(queue(self.device(device)?, lane).synchronize()?),
            None => Ok(()),
        }
    }

    /// The part of a whole result that a step makes, if it makes one.
    pub(super) fn part(&self, id: StepId) -> Option<Block> {
        let whole = self.wholes.get(self.plan.step(id).output as usize)?.as_ref()?;
        lock(whole).as_ref().map(|whole| whole.part(&self.plan.region(id)))
    }

    fn spill_store(&self, id: StepId) -> Result<&SpillStore, StepError> {
        let problem = || StepError::Bug { problem: format!("step {} spills, and there is no store", id.0) };
        self.spill.as_ref().ok_or_else(problem)
    }

    /// What was spilled and read back, if the plan spills.
    pub(super) fn spill_figures(&self) -> Option<Figures> {
        self.spill.as_ref().map(SpillStore::figures)
    }

    /// A value that exists already. One that was handed over is shared, unless it is part of a result.
    fn recall(&self, id: StepId, step: &Step, layer: &PlanLayer) -> Result<Value, StepError> {
        let block = step.block as usize;
        let is_result = matches!(self.wholes.get(step.output as usize), Some(Some(_)));
        match self.inputs.handed(layer, block) {
            Some(value) if is_result => same(value, Some(self.room(id, step)?)),
            Some(value) => Ok(value.clone()),
            None => {
                let room = self.room(id, step)?;
                self.inputs.recall(layer, block, &room)?;
                Ok(room.into())
            }
        }
    }

    /// Calls a function that isn't Outcrop's own.
    fn call(
        &self,
        id: StepId,
        step: &Step,
        layer: &PlanLayer,
        op: &Op,
        operands: &[Value],
    ) -> Result<Value, StepError> {
        let block = step.block as usize;
        let custom = match op {
            Op::Custom(custom) => custom,
            Op::Tasks(tasks) => return Ok(tasks.run(block, operands)?.into()),
            _ => return Err(StepError::Bug { problem: format!("'{}' has nothing to call", layer.name) }),
        };
        let spec = &self.specs[step.layer as usize];
        let room = if spec.is_array() { Some(self.room(id, step)?) } else { None };
        let written = AtomicBool::new(false);
        let output = room.as_ref().and_then(|room| OutputBlock::new(room, &written));
        let mut call = Call { block, spec, operands, output };
        match (custom.compute(&mut call)?, room) {
            (Made::Written, Some(room)) if written.load(Ordering::Relaxed) => Ok(room.into()),
            (Made::Written, Some(_)) => Err(TaskError::new(
                "the operation says that it wrote its block, and it didn't; see what OutputBlock::write returns",
            )
            .into()),
            (Made::Object(object), None) => Ok(object.into()),
            (Made::Same(at), room) => match operands.get(at) {
                Some(operand) => same(operand, room),
                None => Err(TaskError::new(format!(
                    "operand {at} was to be passed on, and there are {}: they count from 0, in the order of reads",
                    operands.len()
                ))
                .into()),
            },
            (Made::Written, None) => {
                Err(TaskError::new("a layer of objects wrote a block; return an object").into())
            }
            (Made::Object(object), Some(_)) => {
                let type_name = object.type_name();
                Err(TaskError::new(format!(
                    "a layer of blocks made an object, {type_name}; write to the output"
                ))
                .into())
            }
        }
    }

    fn device(&self, id: DeviceId) -> Result<&dyn Device, StepError> {
        self.devices
            .device(id)
            .map(|device| &**device)
            .ok_or_else(|| StepError::Bug { problem: format!("device {} isn't open", id.0) })
    }

    /// Where a step's value goes: its place in a result, or memory of its own.
    fn room(&self, id: StepId, step: &Step) -> Result<Block, StepError> {
        if let Some(part) = self.part(id) {
            return Ok(part);
        }
        let (dtype, shape) = self.plan.value_layout(id);
        let owner = if step.memory == MemoryId::HOST { DeviceId::HOST } else { step.device };
        let layout = Layout::contiguous(dtype, shape);
        let buffer = self.device(owner)?.memory().allocate(layout.bytes())?;
        Ok(Block { buffer, layout })
    }

    fn arguments(&self, id: StepId, operands: &[Value], output: Block) -> Result<Arguments, StepError> {
        let operand = |(at, operand): (usize, &StepOperand)| {
            Ok(Operand {
                input: operand.input,
                block: block(id, operands, at)?.clone(),
                region: self.plan.region(operand.step),
            })
        };
        let all = self.plan.operands(id).iter().enumerate();
        Ok(Arguments {
            operands: all.map(operand).collect::<Result<_, StepError>>()?,
            output,
            region: self.plan.region(id),
            pieces: self.plan.pieces(id),
        })
    }
}

/// The queue of a device for a lane's work.
fn queue(device: &dyn Device, lane: LaneOf) -> &dyn Queue {
    match lane {
        LaneOf::In(_) => device.uploads(),
        LaneOf::Out(_) => device.downloads(),
        _ => device.queue(),
    }
}

fn block(id: StepId, operands: &[Value], at: usize) -> Result<&Block, StepError> {
    operands
        .get(at)
        .and_then(Value::block)
        .ok_or_else(|| StepError::Bug { problem: format!("operand {at} of step {} is no block", id.0) })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An operand passed on: an object as it is, a block by its elements, since its memory is somebody else's.
fn same(operand: &Value, room: Option<Block>) -> Result<Value, StepError> {
    match (operand, room) {
        (Value::Object(_), None) => Ok(operand.clone()),
        (Value::Block(block), Some(room)) => {
            let copied = OutputBlock::new(&room, &AtomicBool::new(false))
                .is_some_and(|mut output| output.copy_from(block));
            let (dtype, shape) = (room.dtype(), room.shape().clone());
            if copied {
                return Ok(room.into());
            }
            Err(TaskError::new(format!("{} was passed on as a {dtype} block {shape}", operand.describe()))
                .into())
        }
        (_, room) => {
            let wanted = if room.is_some() { "a block" } else { "an object" };
            Err(TaskError::new(format!("{} was passed on as {wanted}", operand.describe())).into())
        }
    }
}
