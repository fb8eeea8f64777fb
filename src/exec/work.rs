//! Doing one step: gathering its operands, finding room for its value, launching.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::block::{Block, Layout, OutputBlock};
use crate::device::contract::{Device, Program};
use crate::exec::Devices;
use crate::exec::error::{ExecError, StepError};
use crate::exec::inputs::RunInputs;
use crate::graph::custom::{Call, Made, TaskError};
use crate::graph::op::Op;
use crate::graph::value_spec::ValueSpec;
use crate::ids::StepId;
use crate::kernel::{Arguments, Operand};
use crate::machine::{DeviceId, MemoryId};
use crate::steps::{OutputForm, Plan, PlanLayer, Step, StepKind};
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
    /// The values that are alive, by the step that made them.
    values: Vec<Mutex<Option<Arc<Value>>>>,
    results: Vec<Room>,
}

/// Room for a result.
enum Room {
    /// One array, allocated before anything runs.
    Whole(Mutex<Option<Block>>),
    /// Its values one by one, as they come.
    Values(Mutex<Vec<Option<Arc<Value>>>>),
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
                let slots = output.slots(&plan.layers[output.layer as usize]);
                return Ok(Room::Values(Mutex::new(vec![None; slots])));
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
            Ok(Room::Whole(Mutex::new(Some(Block { buffer, layout }))))
        };
        let results = plan.outputs.iter().map(result).collect::<Result<_, _>>()?;
        let values = (0..plan.steps.len()).map(|_| Mutex::new(None)).collect();
        let specs = plan.layers.iter().map(PlanLayer::spec).collect();
        Ok(Work {
            plan: plan.clone(),
            devices: devices.clone(),
            inputs: inputs.clone(),
            spill,
            programs,
            specs,
            values,
            results,
        })
    }

    /// The results, when all steps are done.
    pub(super) fn take_results(&self) -> Vec<ResultValue> {
        let result = |room: &Room| match room {
            Room::Whole(block) => {
                lock(block).take().map_or(ResultValue::Values(Vec::new()), ResultValue::Array)
            }
            Room::Values(slots) => {
                let values = std::mem::take(&mut *lock(slots)).into_iter().flatten();
                ResultValue::Values(values.map(Arc::unwrap_or_clone).collect())
            }
        };
        self.results.iter().map(result).collect()
    }

    /// Lets go of all values, and of the results that nobody has taken.
    pub(super) fn clear(&self) {
        self.values.iter().for_each(|value| drop(lock(value).take()));
        drop(self.take_results());
    }

    /// Does a step, up to the point where its device has the work. The value is there for later steps on
    /// the same device; others must wait until the device has synchronised. `operands` is a list to be used again, for
    /// those of a call; the caller lets go of what is left in it.
    pub(super) fn run(&self, id: StepId, operands: &mut Vec<Value>) -> Result<(), StepError> {
        let step = self.plan.step(id);
        let layer = self.plan.layer_of(id);
        match (step.kind, &layer.op) {
            (StepKind::Load, Op::Load(source)) if source.in_place() => {
                let view = source.view(&self.plan.region(id))?;
                self.keep(id, &step, view.into());
            }
            (StepKind::Load, Op::Load(source)) => {
                let value = self.room(id, &step)?;
                source.read(&self.plan.region(id), &value)?;
                self.keep(id, &step, value.into());
            }
            (StepKind::Store, Op::Store(sink)) => {
                let block = self.block(self.plan.operands(id)[0].step)?;
                sink.write(&self.plan.region(id), &block)?;
            }
            (StepKind::Transfer, _) => {
                let from = self.block(self.plan.operands(id)[0].step)?;
                let to = self.room(id, &step)?;
                let queue = self.device(step.device)?.queue();
                if step.memory == MemoryId::HOST {
                    queue.download(&from, &to)?
                } else {
                    queue.upload(&from, &to)?
                }
                self.keep(id, &step, to.into());
            }
            (StepKind::Call, op) => {
                let value = self.call(id, &step, layer, op, operands)?;
                self.keep(id, &step, value);
            }
            (StepKind::Spill, _) => {
                let block = self.block(self.plan.operands(id)[0].step)?;
                let spilled = self.spill_store(id)?.write(&block)?;
                self.keep(id, &step, Object::new(spilled).into());
            }
            (StepKind::Reload, _) => {
                let spilled = self.value(self.plan.operands(id)[0].step)?;
                let value = self.room(id, &step)?;
                match spilled.object::<Spilled>() {
                    Some(spilled) => spilled.read(&value)?,
                    None => {
                        let problem = format!("the value that step {} reloads isn't on disk", id.0);
                        return Err(StepError::Bug { problem });
                    }
                }
                self.keep(id, &step, value.into());
            }
            (StepKind::Keep, _) => {
                let block = self.block(self.plan.operands(id)[0].step)?;
                self.inputs.keep(layer, step.block as usize, &block)?;
            }
            (StepKind::Recall, _) => {
                let value = self.recall(id, &step, layer)?;
                self.keep(id, &step, value);
            }
            (StepKind::Wait, _) => self.keep(id, &step, Object::new(()).into()),
            _ => {
                let value = self.room(id, &step)?;
                let program = self.programs.get(step.kernel as usize).ok_or_else(|| StepError::Bug {
                    problem: format!("step {} of '{}' has no kernel", id.0, layer.name),
                })?;
                let arguments = self.arguments(id, value.clone())?;
                self.device(step.device)?.queue().launch(program, &arguments)?;
                self.keep(id, &step, value.into());
            }
        }
        Ok(())
    }

    /// Waits for the device.
    pub(super) fn synchronize(&self, device: DeviceId) -> Result<(), StepError> {
        Ok(self.device(device)?.queue().synchronize()?)
    }

    /// Takes a value that nobody reads any more; it is gone when the last handle is.
    pub(super) fn take(&self, id: StepId) -> Option<Arc<Value>> {
        lock(&self.values[id.index()]).take()
    }

    /// The value of a step that is done, in host memory, if it is still there.
    pub(super) fn finished(&self, id: StepId) -> Option<Value> {
        let step = self.plan.step(id);
        if let Some(Room::Whole(result)) = self.results.get(step.output as usize) {
            return lock(result).as_ref().map(|result| result.part(&self.plan.region(id)).into());
        }
        let slot = |slots: &Mutex<Vec<Option<Arc<Value>>>>| {
            let OutputForm::Values(blocks) = &self.plan.outputs[step.output as usize].form else {
                return None;
            };
            lock(slots).get(blocks.position(step.block as usize)?)?.as_deref().cloned()
        };
        match self.results.get(step.output as usize) {
            Some(Room::Values(slots)) => slot(slots),
            _ => lock(&self.values[id.index()]).as_deref().cloned(),
        }
    }

    fn keep(&self, id: StepId, step: &Step, value: Value) {
        let value = Arc::new(value);
        if let Some(Room::Values(slots)) = self.results.get(step.output as usize)
            && let OutputForm::Values(blocks) = &self.plan.outputs[step.output as usize].form
            && let Some(slot) = blocks.position(step.block as usize)
        {
            lock(slots)[slot] = Some(value.clone());
        }
        *lock(&self.values[id.index()]) = Some(value);
    }

    fn value(&self, id: StepId) -> Result<Arc<Value>, StepError> {
        let value = lock(&self.values[id.index()]).clone();
        value.ok_or_else(|| StepError::Bug { problem: format!("the value of step {} isn't there", id.0) })
    }

    fn block(&self, id: StepId) -> Result<Block, StepError> {
        let value = self.value(id)?;
        let problem = || StepError::Bug { problem: format!("the value of step {} is no block", id.0) };
        value.block().cloned().ok_or_else(problem)
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
        let is_result = matches!(self.results.get(step.output as usize), Some(Room::Whole(_)));
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
        operands: &mut Vec<Value>,
    ) -> Result<Value, StepError> {
        operands.clear();
        for operand in self.plan.operands(id) {
            operands.push(Value::clone(&*self.value(operand.step)?));
        }
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
        if let Some(Room::Whole(result)) = self.results.get(step.output as usize)
            && let Some(result) = &*lock(result)
        {
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
                block: self.block(operand.step)?,
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
