//! Why there is no plan.

use std::fmt;

use crate::annotate::AnnotationError;
use crate::graph::error::GraphError;
use crate::units::Bytes;

/// Blocks of all layers together that a plan may have: with folds, pads and copies, their steps still have
/// 32-bit ids.
pub const TASKS_MAX: u64 = 1 << 26;

/// Planning failed. Nothing has run.
#[derive(Debug, Clone, thiserror::Error)]
pub enum PlanError {
    /// Requirements that this machine can't meet: all of them, in the graph's order.
    #[error("{}", list(.0))]
    Unsatisfiable(Vec<Unsatisfied>),
    /// One task, with all that can't move, needs more memory than the budget allows.
    #[error(
        "memory '{memory}': a task of '{layer}' needs {needs} at once, of which {fixed} are results or objects, \
         and the budget is {budget}; nothing else can make room: raise the budget to {}, or use smaller chunks",
        needs.rounded_up()
    )]
    Memory {
        /// The memory.
        memory: String,
        /// Bytes that must be held while the task runs.
        needs: Bytes,
        /// Those among them that are results or objects, and stay in memory.
        fixed: Bytes,
        /// Bytes allowed.
        budget: Bytes,
        /// The task's layer.
        layer: String,
    },
    /// Values that have to be spilled need more room on disk than is allowed.
    #[error(
        "the disk must hold {needs} of spilled values at once, in '{layer}', and the limit is {limit}; \
         raise the limit to at least {}, or the memory budget",
        needs.rounded_up()
    )]
    SpillLimit {
        /// Bytes that must be held.
        needs: Bytes,
        /// Bytes allowed.
        limit: Bytes,
        /// The layer of the task that makes room.
        layer: String,
    },
    /// The plan needs more memory at once than the budget allows, and may not spill.
    #[error(
        "memory '{memory}': the plan needs {peak} at once, in '{layer}', and the budget is {budget}; \
         raise the budget to {}, use smaller chunks, or let values be spilled to disk",
        peak.rounded_up()
    )]
    OverBudget {
        /// The memory.
        memory: String,
        /// Bytes that must be held at once.
        peak: Bytes,
        /// Bytes allowed.
        budget: Bytes,
        /// The layer at whose step the peak is.
        layer: String,
    },
    /// An override names no layer.
    #[error(
        "no layer is called '{pattern}', for which annotations were given; the layers are {}",
        some(layers)
    )]
    Override {
        /// The pattern.
        pattern: String,
        /// The layers, as the user calls them.
        layers: Vec<String>,
    },
    /// A function of the key gave a value that is refused, or panicked.
    #[error("layer '{layer}', block {block}: {source}")]
    Annotation {
        /// The layer, as the user calls it.
        layer: String,
        /// The block's key.
        block: String,
        /// The annotation, the value, and what is wrong with it.
        source: Box<AnnotationError>,
    },
    /// More tasks than the engine's dense ids can count.
    #[error("the plan would have {tasks} tasks; at most {TASKS_MAX} are supported: use larger chunks")]
    TooManyTasks {
        /// Tasks that the plan would have.
        tasks: u64,
    },
    /// An operation's block rule is wrong.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A pass broke a rule of plans. This is a fault in Outcrop.
    #[error("internal error: after the pass '{pass}': {problem}; please report this")]
    Bug {
        /// The pass.
        pass: &'static str,
        /// The rule that doesn't hold.
        problem: String,
    },
}

/// One layer's requirement that no device meets.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize)]
pub struct Unsatisfied {
    /// The layer, as the user calls it.
    pub layer: String,
    /// What it needs.
    pub need: String,
    /// The device that comes nearest, and what is missing there.
    pub best: String,
    /// The smallest change that would make it fit.
    pub fix: String,
}

impl fmt::Display for Unsatisfied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "layer '{}' needs {}", self.layer, self.need)?;
        writeln!(f, "  best available: {}", self.best)?;
        write!(f, "  nearest fix: {}", self.fix)
    }
}

/// Requirements that a message spells out; the error has all of them.
const SHOWN_MAX: usize = 100;

fn list(all: &[Unsatisfied]) -> String {
    let count = all.len();
    let plural = if count == 1 { "requirement" } else { "requirements" };
    let mut text = format!("{count} {plural} can't be met on this machine");
    for one in all.iter().take(SHOWN_MAX) {
        text.push('\n');
        text.push_str(&one.to_string());
    }
    if count > SHOWN_MAX {
        text.push_str(&format!("\nand {} more", count - SHOWN_MAX));
    }
    text
}

/// Names for a message: a graph may have 10^5 of them.
fn some(names: &[String]) -> String {
    const SHOWN_MAX: usize = 50;
    match names.len().checked_sub(SHOWN_MAX) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{}, and {more} more", names[..SHOWN_MAX].join(", ")),
    }
}
