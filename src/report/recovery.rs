//! What a run did about a device that was lost, or too small for some layer.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::exec::{ExecError, Finished, Trouble};
use crate::machine::{DeviceId, Machine};
use crate::steps::{PartsOf, Plan, PlanLayer, StepKind};

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
    /// Whether the device does one thing at a time since, so that nothing is brought there before it is needed.
    pub in_turn: bool,
    /// Layers of which a device makes blocks in parts, or in more of them, since.
    pub split: Vec<InParts>,
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

/// A layer whose blocks are made in parts, which are joined on the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InParts {
    /// The layer.
    pub layer: String,
    /// Where they are made.
    pub device: String,
    /// Parts of its largest block.
    pub parts: usize,
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
        let places: HashMap<&str, DeviceId> =
            made(before).map(|(root, layer)| (root, layer.device)).collect();
        let moves = made(after).filter_map(|(root, layer)| Some((layer, *places.get(root)?, layer.device)));
        let moves: Vec<_> = moves.filter(|(_, from, to)| from != to).collect();
        let name = |device: DeviceId| machine.device(device).name.clone();
        let class = |device: DeviceId| machine.device(device).backend.has_own_bits();
        let (layer, block) = match source {
            ExecError::Step { layer, key, .. } => (Some(layer.clone()), Some(key.clone())),
            ExecError::Compile { layer, .. } => (Some(layer.clone()), None),
            _ => (None, None),
        };
        let is_there = after.layers.iter().any(|layer| layer.device == device);
        let in_turn = is_there && matches!(trouble, Trouble::TooSmall { .. });
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
            in_turn,
            split: in_parts(before, after, name),
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

/// The layers whose values are made, by their names in the graph, each with the layer of the plan that makes them: the one
/// that makes parts, not the one that joins them.
fn made(plan: &Plan) -> impl Iterator<Item = (&str, &PlanLayer)> {
    let in_parts = plan.layers.iter().filter(|layer| layer.parts.is_some());
    let joined: HashSet<&str> = in_parts.map(|layer| layer.whole_root()).collect();
    let is_made = move |layer: &&PlanLayer| layer.parts.is_some() || !joined.contains(&*layer.root);
    plan.layers.iter().filter(is_made).map(|layer| (layer.whole_root(), layer))
}

/// The layers of which a plan makes parts that the plan before it didn't.
fn in_parts(before: &Plan, after: &Plan, name: impl Fn(DeviceId) -> String) -> Vec<InParts> {
    let known: HashSet<&str> = before.layers.iter().map(|layer| &*layer.root).collect();
    let mut all = Vec::new();
    for layer in after.layers.iter().filter(|layer| layer.tasks > 0 && !known.contains(&*layer.root)) {
        let Some(PartsOf { count, .. }) = layer.parts else { continue };
        for source in &layer.sources {
            let called = source.label.as_ref().unwrap_or(&source.name);
            let one = InParts { layer: called.clone(), device: name(layer.device), parts: count };
            if !all.contains(&one) {
                all.push(one);
            }
        }
    }
    all
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
        if self.in_turn {
            writeln!(f, "  {} does one thing at a time", self.device)?;
        }
        for InParts { layer, device, parts } in &self.split {
            writeln!(f, "  split: each block of '{layer}' is made in up to {parts} parts on {device}")?;
        }
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
