//! What a run leaves when a device keeps it from its end: enough to plan the rest without.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::device::contract::DeviceError;
use crate::exec::active::Active;
use crate::exec::error::{ExecError, StepError};
use crate::exec::record::RunRecord;
use crate::exec::values::Values;
use crate::exec::work::Work;
use crate::graph::op::Op;
use crate::ids::StepId;
use crate::machine::{DeviceId, MemoryId};
use crate::steps::{OutputForm, Plan, PlanLayer, StepKind};
use crate::value::Value;

/// What is the matter with a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It is gone, with all that was in its memory.
    Lost {
        /// What the driver said, or that it says nothing any more.
        message: String,
    },
    /// It has too little memory for one task of these layers, with nothing else of the run under way.
    TooSmall {
        /// Their names in the graph.
        layers: Vec<Arc<str>>,
        /// The figures.
        message: String,
    },
}

/// One value of a layer: the layer's name in the graph, and the block.
pub type ValueName = (Arc<str>, usize);

/// How often tasks failed, by the name of their layer in the graph, kind and block.
pub type Failures = HashMap<(Arc<str>, StepKind, u64), u32>;

/// What is finished of a run that was broken off.
#[derive(Clone, Debug, Default)]
pub struct Finished {
    /// Values in host memory: those that were alive, and finished parts of results.
    pub values: HashMap<ValueName, Value>,
    /// Bytes that these keep alive.
    pub bytes: u64,
    /// Blocks that sinks have taken.
    pub stored: Vec<ValueName>,
    /// Values that had been computed, whatever has become of them.
    pub computed: HashSet<ValueName>,
    /// How often tasks had failed: their retries go on from there. Of tasks that ran on a device
    /// that was lost then, that is one of the times.
    pub failures: Failures,
    /// What happened.
    pub record: RunRecord,
}

impl Trouble {
    /// The device that a step's failure shows to be unable, and how. The host is none that could be done without.
    pub(super) fn of_step(plan: &Plan, id: StepId, error: &StepError) -> Option<(DeviceId, Trouble)> {
        let step = plan.step(id);
        let StepError::Device(error) = error else { return None };
        if step.device == DeviceId::HOST {
            return None;
        }
        match error {
            DeviceError::Lost { message, .. } => {
                Some((step.device, Trouble::Lost { message: message.clone() }))
            }
            DeviceError::OutOfMemory { device, .. } if *device != plan.device_names[0] => {
                let (layers, message) = (layers_there(plan, id), error.to_string());
                Some((step.device, Trouble::TooSmall { layers, message }))
            }
            _ => None,
        }
    }

    /// The device that was lost when kernels were compiled for it.
    pub(super) fn of_failure(plan: &Plan, failure: &ExecError) -> Option<(DeviceId, Trouble)> {
        let ExecError::Compile { source, .. } = failure else { return None };
        let DeviceError::Lost { device, message } = &**source else { return None };
        let at = plan.device_names.iter().position(|name| name == device).filter(|at| *at > 0)?;
        Some((DeviceId(at as u16), Trouble::Lost { message: message.clone() }))
    }
}

/// The layers on a step's device whose work it is: its own, and of a copy to the device those that read it there.
fn layers_there(plan: &Plan, id: StepId) -> Vec<Arc<str>> {
    let device = plan.step(id).device;
    let reads = |reader: &StepId| plan.operands(*reader).iter().any(|operand| operand.step == id);
    let readers = (0..plan.steps.len()).map(StepId::at).filter(reads);
    let mut names: Vec<Arc<str>> = Vec::new();
    for layer in readers.chain([id]).map(|step| plan.layer_of(step)).filter(|layer| layer.device == device) {
        names.push(layer.root.clone());
        names.extend(layer.sources.iter().map(|source| source.name.as_str().into()));
    }
    names.sort_unstable();
    names.dedup();
    names
}

impl Finished {
    /// What is finished of a run, of which these steps are done. Nothing is computed or copied. O(steps).
    pub(super) fn of(work: &Work, values: &mut Values, plan: &Plan, done: &[StepId]) -> Self {
        let mut finished = Finished::default();
        let mut results = HashSet::new();
        let mut found = |id| work.part(id).map(Value::from).or_else(|| values.found(plan, id));
        for &id in done {
            let origin = origin(plan, id);
            let (step, made) = (plan.step(id), plan.step(origin));
            let layer = plan.layer_of(origin);
            let name = || (layer.root.clone(), made.block as usize);
            if step.kind == StepKind::Store {
                finished.stored.push(name());
            }
            if !is_value(made.kind, layer) {
                continue;
            }
            if origin == id && made.kind != StepKind::Recall {
                finished.computed.insert(name());
            }
            let Some(value) = (step.memory == MemoryId::HOST).then(|| found(id)).flatten() else {
                continue;
            };
            if finished.values.insert(name(), value).is_some() {
                continue;
            }
            finished.bytes += match plan.outputs.get(step.output as usize) {
                // A part keeps the whole alive.
                Some(output) if output.form == OutputForm::Whole => {
                    if results.insert(step.output) {
                        output.bytes
                    } else {
                        0
                    }
                }
                _ => step.bytes,
            };
        }
        finished
    }
}

/// The step whose value a copy is, which is the step itself where it is no copy.
fn origin(plan: &Plan, mut id: StepId) -> StepId {
    while plan.step(id).kind.is_copy() {
        id = plan.operands(id)[0].step;
    }
    id
}

/// Whether steps of this kind make a layer's values, and not something on the way to one. What is loaded is there anyway.
fn is_value(kind: StepKind, layer: &PlanLayer) -> bool {
    use StepKind::{Call, Finish, Gather, Map, Recall};
    matches!(kind, Map | Gather | Finish | Call | Recall) && !matches!(layer.op, Op::Load(_))
}

/// How often steps failed, under names that another plan knows.
pub(super) fn failures_of(plan: &Plan, failures: &[(StepId, u32)]) -> Failures {
    let mut named = Failures::new();
    for &(id, failures) in failures {
        let of_block = named.entry(charged(plan, id)).or_insert(0);
        *of_block = failures.max(*of_block);
    }
    named
}

/// Whom the failures of a step are charged to, in this plan and others: parts answer for their block together.
fn charged(plan: &Plan, id: StepId) -> (Arc<str>, StepKind, u64) {
    let step = plan.step(id);
    let (root, block) = match step.kind {
        // These number leaves, not blocks.
        StepKind::Fold | StepKind::Pad { .. } => (&plan.layer_of(id).root, step.block as usize),
        _ => plan.layer_of(id).whole(step.block as usize),
    };
    (root.clone(), step.kind, block as u64)
}

/// The steps of a run that failed in an earlier one, and how often.
pub(super) fn charges(active: &Active) -> Vec<(StepId, u32)> {
    let (plan, failures) = (&active.plan, &active.options.inputs.failures);
    if failures.is_empty() {
        return Vec::new();
    }
    let charge = |id: StepId| Some((id, *failures.get(&charged(plan, id))?));
    (0..plan.steps.len()).map(StepId::at).filter_map(charge).collect()
}
