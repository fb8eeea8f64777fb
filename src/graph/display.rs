//! The graph as stable text: what snapshots hold and `explain` shows.

use std::fmt;

use crate::graph::layer_graph::LayerGraph;
use crate::graph::op::Op;

impl fmt::Display for LayerGraph {
    /// One line a layer, inputs before users: name, operation, type, shape, chunks, inputs, annotations.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (id, layer) in self.layers() {
            write!(f, "{}: ", layer.name())?;
            match layer.op() {
                Op::Load(source) => write!(f, "load {}", source.describe())?,
                Op::Map(expr) => write!(f, "map {expr}")?,
                Op::Reduce(reduce) => {
                    write!(f, "{} {} over axes {:?}", reduce.reduction.name(), reduce.expr, reduce.axes)?;
                }
                Op::Copy(_) | Op::Custom(_) | Op::Wait(_) => f.write_str(layer.op().name())?,
                Op::Store(sink) => write!(f, "store {}", sink.describe())?,
                Op::Tasks(tasks) => write!(f, "call {tasks:?}")?,
            }
            write!(f, " -> {}", layer.spec())?;
            let inputs: Vec<&str> = self.inputs(id).iter().map(|&input| self.layer(input).name()).collect();
            if !inputs.is_empty() {
                write!(f, " from {}", inputs.join(", "))?;
            }
            let after: Vec<&str> = self.after(id).iter().map(|&other| self.layer(other).name()).collect();
            if !after.is_empty() {
                write!(f, " after {}", after.join(", "))?;
            }
            if !layer.annotations().is_empty() {
                write!(f, " [{}]", layer.annotations())?;
            }
            f.write_str("\n")?;
        }
        Ok(())
    }
}

impl LayerGraph {
    /// As [`LayerGraph::to_svg`] stub.
    pub fn to_svg(&self) -> String {
        self.to_string()
    }
}
