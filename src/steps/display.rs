//! A plan as stable text: layers, then steps in planned order.

use std::fmt;

use crate::graph::value_spec::ValueKind;
use crate::ids::StepId;
use crate::steps::{Plan, Step, StepKind};
use crate::units::Bytes;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for layer in &self.layers {
            let device = &self.device_names[usize::from(layer.device.0)];
            writeln!(f, "{} on {device} [{}]: {}", layer.name, layer.class, layer.reason)?;
            for source in &layer.sources {
                let annotations = if source.annotations.is_empty() {
                    String::new()
                } else {
                    format!(" [{}]", source.annotations)
                };
                let given = source.given.as_ref().map_or_else(String::new, |given| match given.is_empty() {
                    true => " (the layer's own: none)".to_owned(),
                    false => format!(" (the layer's own: {given})"),
                });
                writeln!(f, "  {} {}{annotations}{given}", source.op, source.name)?;
            }
        }
        for index in 0..self.steps.len() {
            self.write_step(f, StepId::at(index))?;
        }
        for (memory, need) in self.memory_names.iter().zip(&self.memories) {
            let budget = need.budget.map_or("no limit known".to_owned(), |budget| budget.to_string());
            writeln!(f, "memory {memory}: peak {} of {budget}", need.peak)?;
        }
        Ok(())
    }
}

impl Plan {
    fn write_step(&self, f: &mut fmt::Formatter<'_>, id: StepId) -> fmt::Result {
        let step = self.step(id);
        let device = &self.device_names[usize::from(step.device.0)];
        write!(f, "s{} {} {}", id.0, step.kind.name(), self.layer_of(id).name)?;
        match step.kind {
            StepKind::Transfer | StepKind::Spill | StepKind::Reload => {
                let from = self.step(self.operands(id)[0].step).memory;
                let name = |memory: crate::machine::MemoryId| &self.memory_names[usize::from(memory.0)];
                write!(f, "{} {} → {}", self.region(id), name(from), name(step.memory))?;
            }
            StepKind::Combine => write!(f, " on {device}")?,
            StepKind::Call | StepKind::Wait if self.layer_of(id).kind != ValueKind::Blocks => {
                write!(f, "[{}] on {device}", step.block)?;
            }
            StepKind::Pad { .. } => {
                let block = self.layer_of(id).chunks.region_of(step.block as usize);
                write!(f, "{block} on {device}")?;
            }
            _ => write!(f, "{} on {device}", self.region(id))?,
        }
        if step.bytes > 0 {
            let kept = if step.output == Step::NO_OUTPUT { "" } else { " (result)" };
            write!(f, " {}{kept}", Bytes(step.bytes))?;
        }
        let reads: Vec<String> =
            self.operands(id).iter().map(|operand| format!("s{}", operand.step.0)).collect();
        if !reads.is_empty() {
            write!(f, " reads {}", reads.join(" "))?;
        }
        f.write_str("\n")
    }
}

impl StepKind {
    /// As plans write it.
    pub const fn name(self) -> &'static str {
        match self {
            StepKind::Load => "load",
            StepKind::Map => "map",
            StepKind::Gather => "gather",
            StepKind::Piece => "piece",
            StepKind::Pad { .. } => "pad",
            StepKind::Fold => "fold",
            StepKind::Combine => "combine",
            StepKind::Finish => "finish",
            StepKind::Transfer => "copy",
            StepKind::Store => "store",
            StepKind::Call => "call",
            StepKind::Wait => "wait",
            StepKind::Spill => "spill",
            StepKind::Reload => "reload",
            StepKind::Keep => "keep",
            StepKind::Recall => "recall",
        }
    }
}
