//! The graph as stable text: what snapshots hold and `explain` shows.

use std::collections::BTreeSet;
use std::fmt;

use crate::graph::block_set::BlockSet;
use crate::graph::draw::text::visible;
use crate::graph::layer_graph::LayerGraph;
use crate::graph::op::{CopyRule, Op, SliceAxis, WaitRule};
use crate::ids::LayerId;

/// Functions of a table of tasks, and kept values, of which at most so many are named.
const NAMED_MAX: usize = 6;

impl fmt::Display for LayerGraph {
    /// One line a layer, inputs before users: name, operation, values, what is kept of them where that isn't all,
    /// inputs, annotations.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |ids: &[LayerId]| {
            let names: Vec<String> = ids.iter().map(|&id| visible(self.layer(id).name())).collect();
            names.join(", ")
        };
        for (id, layer) in self.layers() {
            let (name, op) = (visible(layer.name()), visible(&layer.op().to_string()));
            write!(f, "{name}: {op} -> {}", layer.spec())?;
            if let BlockSet::Some(blocks) = self.kept(id) {
                write!(f, ", keeping {}{}", blocks.len(), listed(&blocks))?;
            }
            if !self.inputs(id).is_empty() {
                write!(f, " from {}", names(self.inputs(id)))?;
            }
            if !self.after(id).is_empty() {
                write!(f, " after {}", names(self.after(id)))?;
            }
            if !layer.annotations().is_empty() {
                write!(f, " [{}]", visible(&layer.annotations().to_string()))?;
            }
            f.write_str("\n")?;
        }
        Ok(())
    }
}

impl fmt::Display for Op {
    /// Its name and what tells it from others of the name: expression, axes, indices, functions, a path.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Load(source) => write!(f, "load {}", source.describe()),
            Op::Map(expr) => write!(f, "map {expr}"),
            Op::Reduce(reduce) => {
                write!(f, "{} {} over axes {:?}", reduce.reduction.name(), reduce.expr, reduce.axes)
            }
            Op::Copy(CopyRule::Rechunk) => f.write_str("rechunk"),
            Op::Copy(CopyRule::Slice(axes)) => {
                let axes: Vec<String> = axes.iter().map(ToString::to_string).collect();
                write!(f, "slice [{}]", axes.join(", "))
            }
            Op::Store(sink) => write!(f, "store {}", sink.describe()),
            Op::Custom(op) => write!(f, "custom {}", op.name()),
            Op::Tasks(tasks) => {
                let functions: BTreeSet<&str> =
                    (0..tasks.len()).map(|task| &**tasks.function(task).name()).collect();
                let more = if functions.len() > NAMED_MAX { ", …" } else { "" };
                let named: Vec<&str> = functions.into_iter().take(NAMED_MAX).collect();
                write!(f, "call {}{more}", named.join(", "))
            }
            Op::Wait(WaitRule { blocks: BlockSet::All, .. }) => f.write_str("wait"),
            Op::Wait(WaitRule { blocks: BlockSet::Some(blocks), .. }) => {
                write!(f, "wait for {}{}", blocks.len(), listed(blocks))
            }
        }
    }
}

impl fmt::Display for SliceAxis {
    /// As NumPy writes it: an index, or `start:stop:step` without what goes without saying.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            SliceAxis::At(index) => write!(f, "{index}"),
            SliceAxis::Range { start, step, length } => {
                write!(f, "{start}:")?;
                // Before the first element stands nothing that could be named.
                if let Ok(stop) = usize::try_from(start as isize + step * length as isize) {
                    write!(f, "{stop}")?;
                }
                if step == 1 { Ok(()) } else { write!(f, ":{step}") }
            }
        }
    }
}

/// The numbers of some values: all of a few, else the first and the last ones.
fn listed(blocks: &[usize]) -> String {
    let words = |blocks: &[usize]| blocks.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    match blocks {
        [] => String::new(),
        few if few.len() <= NAMED_MAX => format!(" ({})", words(few)),
        many => format!(" ({}, …, {})", words(&many[..NAMED_MAX - 1]), many[many.len() - 1]),
    }
}
