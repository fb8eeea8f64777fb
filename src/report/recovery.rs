//! What a run did about a device that was lost, or too small for some layer.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::exec::{ExecError, Finished, Trouble};
use crate::machine::{DeviceId, Machine};
use crate::steps::{Plan, PlanLayer, StepKind};

/// A plan was broken off, and the rest was planned anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Recovery {
    /// The device.
    pub device: String,
    /// `lost`, or `too small`.
    pub trouble: String,
    /// What the device said.
    pub message: String,
    /// The layer of the step that showed it, where it was one.
    pub layer: Option<String>,
    /// The step's block, as a key.
    pub block: Option<String>,
    /// Layers that run elsewhere since.
    pub moved: Vec<Moved>,
    /// Finished values that the next plan took over from host memory, among those that it has use for.
    pub taken_over: u64,
    /// Values that had been computed, and are computed again.
    pub computed_again: u64,
    /// Whether a layer moved between classes of arithmetic: its values may differ in their last digits from those of a run
    /// without the trouble.
    pub crosses_classes: bool,
}

/// A layer that moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// The layer.
    pub layer: String,
    /// Where it was.
    pub from: String,
    /// Where it is.
    pub to: String,
}

impl Recovery {
    /// From one plan to the next. O(steps).
    pub fn new(
        before: &Plan,
        after: &Plan,
        machine: &Machine,
        device: DeviceId,
        trouble: &Trouble,
        finished: &Finished,
        source: &ExecError,
    ) -> Self {
        let places: HashMap<&str, &PlanLayer> =
            before.layers.iter().map(|layer| (&*layer.root, layer)).collect();
        let places = |layer: &PlanLayer| places.get(&*layer.root).map(|before| before.device);
        let moves = after.layers.iter().filter_map(|layer| Some((layer, places(layer)?, layer.device)));
        let moves: Vec<_> = moves.filter(|(_, from, to)| from != to).collect();
        let name = |device: DeviceId| machine.device(device).name.clone();
        let class = |device: DeviceId| machine.device(device).backend.has_own_bits();
        let (layer, block) = match source {
            ExecError::Step { layer, key, .. } => (Some(layer.clone()), Some(key.clone())),
            ExecError::Compile { layer, .. } => (Some(layer.clone()), None),
            _ => (None, None),
        };
        let (trouble, message) = match trouble {
            Trouble::Lost { message } => ("lost", message),
            Trouble::TooSmall { message, .. } => ("too small", message),
        };
        let mut recovery = Recovery {
            device: name(device),
            trouble: trouble.to_owned(),
            message: message.clone(),
            layer,
            block,
            crosses_classes: moves.iter().any(|&(_, from, to)| class(from) != class(to)),
            moved: moves
                .iter()
                .map(|&(layer, from, to)| Moved { layer: layer.name.clone(), from: name(from), to: name(to) })
                .collect(),
            taken_over: 0,
            computed_again: 0,
        };
        recovery.count(after, finished);
        recovery
    }

    fn count(&mut self, after: &Plan, finished: &Finished) {
        for step in after.steps.iter() {
            let root: &Arc<str> = &after.layers[step.layer as usize].root;
            let name = (root.clone(), step.block as usize);
            match step.kind {
                StepKind::Recall => self.taken_over += u64::from(finished.values.contains_key(&name)),
                StepKind::Map | StepKind::Gather | StepKind::Finish | StepKind::Call => {
                    self.computed_again += u64::from(finished.computed.contains(&name));
                }
                _ => {}
            }
        }
    }
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "device {}: {}", self.device, self.trouble)?;
        match (&self.layer, &self.block) {
            (Some(layer), Some(block)) => write!(f, " at '{layer}', {block}")?,
            (Some(layer), None) => write!(f, " at '{layer}'")?,
            _ => {}
        }
        writeln!(f, ": {}", self.message)?;
        for Moved { layer, from, to } in &self.moved {
            writeln!(f, "  moved: '{layer}' from {from} to {to}")?;
        }
        let plural = |count: u64| if count == 1 { "value" } else { "values" };
        let (taken, again) = (self.taken_over, self.computed_again);
        writeln!(f, "  {taken} {} taken over, {again} {} computed again", plural(taken), plural(again))?;
        if self.crosses_classes {
            writeln!(f, "  the run crossed classes of arithmetic: last digits may differ from a run on one")?;
        }
        Ok(())
    }
}
