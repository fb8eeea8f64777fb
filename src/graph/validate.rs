//! What must hold in every graph before anybody plans it.

use crate::graph::error::GraphError;
use crate::graph::expr::{Expr, NodeOp};
use crate::graph::layer::Layer;
use crate::graph::layer_graph::LayerGraph;
use crate::graph::op::Op;
use crate::key::Key;

impl LayerGraph {
    /// Checks that no two layers share a name, that every operation has the inputs that it reads, and that what explicit
    /// tasks read is there. O(layers + tasks of explicit layers); block rules are checked where they are asked.
    ///
    /// # Errors
    /// What is wrong, with the names and keys.
    pub fn validate(&self) -> Result<(), GraphError> {
        if let Some(clash) = self.clash() {
            return Err(clash.clone());
        }
        for (id, layer) in self.layers() {
            Key::named(layer.name())?;
            if let Some(problem) = inputs_problem(layer) {
                return Err(GraphError::ShapeRule { layer: layer.name().to_owned(), problem });
            }
            if matches!(layer.op(), Op::Tasks(_)) {
                let node = self.node(id);
                let mut reads = Vec::new();
                self.kept(id).iter(layer.spec().count()).try_for_each(|task| node.reads(task, &mut reads))?;
            }
        }
        Ok(())
    }
}

/// Why a built-in operation can't read its inputs; the collections never make such a layer.
fn inputs_problem(layer: &Layer) -> Option<String> {
    let have = layer.inputs().len();
    let needs = match layer.op() {
        Op::Load(_) => Some(0),
        Op::Copy(_) | Op::Store(_) => Some(1),
        Op::Map(_) | Op::Reduce(_) | Op::Custom(_) | Op::Tasks(_) | Op::Wait(_) => None,
    };
    if let Some(needs) = needs.filter(|&needs| needs != have) {
        return Some(format!("'{}' reads {needs} inputs, and it has {have}", layer.op().name()));
    }
    let (expr, domain) = match layer.op() {
        Op::Map(expr) => (Some(expr), layer.chunks()),
        Op::Reduce(reduce) => (Some(&reduce.expr), &reduce.domain),
        _ => (None, layer.chunks()),
    };
    let on_arrays = expr.is_some() || needs.is_some();
    if let Some(objects) = layer.inputs().iter().find(|input| on_arrays && !input.spec().is_array()) {
        return Some(format!("'{}' makes {}, not blocks of an array", objects.name(), objects.spec()));
    }
    let expr = expr?;
    let lacking = lacking_input(expr, have);
    let axes = domain.axes().len();
    let deeper = layer.inputs().iter().find(|input| input.chunks().axes().len() > axes);
    match (lacking, deeper) {
        _ if expr.outputs().is_empty() => Some("its expression has no result".to_owned()),
        (Some(input), _) => Some(format!("its expression reads input {input}, and there are {have}")),
        (_, Some(deeper)) => Some(format!("'{}' has more than its {axes} axes", deeper.name())),
        (None, None) => None,
    }
}

fn lacking_input(expr: &Expr, have: usize) -> Option<u16> {
    expr.nodes().iter().find_map(|node| match &node.op {
        NodeOp::Input(input) | NodeOp::Stencil(input, _) => {
            Some(*input).filter(|&input| usize::from(input) >= have)
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::dtype::DType;
    use crate::graph::block_set::BlockSet;
    use crate::graph::chunking::Chunking;
    use crate::graph::layer::{LayerBody, Naming};
    use crate::graph::op::{CopyRule, WaitRule};
    use crate::graph::value_spec::ValueSpec;

    #[test]
    fn layers_whose_inputs_do_not_fit_are_refused() {
        let chunks = || Chunking::single(&[4].into());
        let layer = |op, inputs| Layer::new(op, inputs, chunks(), DType::F32);
        let identity = || Op::Map(Arc::new(Expr::identity(DType::F32)));
        let rule = WaitRule { blocks: BlockSet::All, every: 8 };
        let body = LayerBody { op: Op::Wait(rule), spec: ValueSpec::object(1) };
        let object = Layer::of(body, Vec::new(), Naming::Content);
        for (op, inputs, problem) in [
            (identity(), vec![], "reads input 0, and there are 0"),
            (identity(), vec![object.clone()], "makes one object, not blocks"),
            (Op::Copy(CopyRule::Rechunk), vec![], "reads 1 inputs, and it has 0"),
            (Op::Copy(CopyRule::Rechunk), vec![object], "makes one object, not blocks"),
            (Op::Map(Arc::new(Expr::default())), vec![], "no result"),
        ] {
            let error = LayerGraph::of([layer(op, inputs)]).validate().unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}
