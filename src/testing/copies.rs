//! Graphs like a collection's own, made to try it: under other names, other annotations, with other values.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::annotate::{Annotations, annotate};
use crate::dtype::DType;
use crate::graph::chunking::{AxisChunks, Chunking};
use crate::graph::custom::{Call, CustomOp, Made, TaskError};
use crate::graph::error::GraphError;
use crate::graph::layer::{Layer, LayerBody, Naming};
use crate::graph::layer_graph::LayerGraph;
use crate::graph::op::Op;
use crate::graph::rule::Read;
use crate::graph::value_spec::{ValueKind, ValueSpec};
use crate::shape::Shape;
use crate::token::Token;

/// The annotation by which copies are told apart; it asks for nothing.
const MARK: &str = "checked";

/// The graph over again: each layer computes the same, under the name and with the annotations that are given.
pub(super) fn copied(
    graph: &LayerGraph,
    name: impl Fn(&Layer) -> Arc<str>,
    annotations: impl Fn(&Layer) -> Result<Annotations, GraphError>,
) -> Result<LayerGraph, GraphError> {
    let mut copies: Vec<Arc<Layer>> = Vec::with_capacity(graph.layer_count());
    for (id, layer) in graph.layers() {
        let made = |ids: &[crate::ids::LayerId]| ids.iter().map(|id| copies[id.index()].clone()).collect();
        let (inputs, after): (Vec<_>, Vec<_>) = (made(graph.inputs(id)), made(graph.after(id)));
        let naming = Naming::Exact(name(layer));
        let own = Annotations::fresh().inner(&annotations(layer)?);
        let copy = annotate(own, || Layer::of(layer.body(), inputs.clone(), naming.clone()));
        copies.push(match after.is_empty() {
            true => copy,
            false => Layer::from_layers(&[copy], layer.body(), inputs, after, naming)?,
        });
    }
    Ok(LayerGraph::of(graph.outputs().iter().map(|id| copies[id.index()].clone())))
}

/// The graph over again, under the same names; what was asked for a layer stays, and a mark of its own is added.
pub(super) fn marked(graph: &LayerGraph) -> Result<LayerGraph, GraphError> {
    let name = |layer: &Layer| layer.shared_name().clone();
    copied(graph, name, |layer| Ok(layer.annotations().clone().set(MARK, layer.name())?))
}

/// The layer of this name replaced, in the outputs, by `other`.
pub(super) fn replaced(layers: &[Arc<Layer>], name: &str, other: Option<Arc<Layer>>) -> LayerGraph {
    let rest = layers.iter().filter(|layer| layer.name() != name).cloned();
    LayerGraph::of(rest.chain(other))
}

/// A layer of the same name and keys that reads nothing, and tells when somebody computes it.
pub(super) fn tripwire(layer: &Layer, tripped: &Arc<AtomicBool>) -> Arc<Layer> {
    let spec = layer.spec().clone();
    alone(layer, stand_in(&spec, tripped), spec)
}

/// A layer of the same name whose values are of another kind, under the same keys where that can be.
pub(super) fn of_another_kind(layer: &Layer) -> Arc<Layer> {
    let count = layer.spec().count();
    let spec = match layer.spec().kind {
        ValueKind::Blocks => ValueSpec::objects(count, 1),
        ValueKind::Object => ValueSpec::array(Chunking::single(&Shape::default()), DType::F64),
        ValueKind::Objects => ValueSpec::array(Chunking::new([AxisChunks::regular(count, 1)]), DType::F64),
    };
    alone(layer, stand_in(&spec, &Arc::default()), spec)
}

/// A layer of the same name and kind with a single value.
pub(super) fn with_one_value(layer: &Layer) -> Arc<Layer> {
    let spec = match layer.spec().kind {
        ValueKind::Blocks => ValueSpec::array(Chunking::single(&layer.shape()), layer.dtype()),
        ValueKind::Object | ValueKind::Objects => ValueSpec::objects(1, 1),
    };
    alone(layer, stand_in(&spec, &Arc::default()), spec)
}

fn alone(layer: &Layer, op: Op, spec: ValueSpec) -> Arc<Layer> {
    let naming = Naming::Exact(layer.shared_name().clone());
    annotate(Annotations::fresh(), || Layer::of(LayerBody { op, spec }, Vec::new(), naming))
}

fn stand_in(spec: &ValueSpec, tripped: &Arc<AtomicBool>) -> Op {
    Op::Custom(Arc::new(StandIn { token: Token::unique(), spec: spec.clone(), tripped: tripped.clone() }))
}

/// Computes nothing, and says so.
struct StandIn {
    token: Token,
    spec: ValueSpec,
    tripped: Arc<AtomicBool>,
}

impl fmt::Debug for StandIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stand-in")
    }
}

impl CustomOp for StandIn {
    fn name(&self) -> &str {
        "stand-in"
    }

    fn token(&self) -> Token {
        self.token
    }

    fn output(&self, _inputs: &[&ValueSpec]) -> Result<ValueSpec, String> {
        Ok(self.spec.clone())
    }

    fn reads(&self, _block: usize, _output: &ValueSpec, _inputs: &[&ValueSpec]) -> Vec<Read> {
        Vec::new()
    }

    fn compute(&self, _call: &mut Call<'_>) -> Result<Made, TaskError> {
        self.tripped.store(true, Ordering::Relaxed);
        Err(TaskError::new("nothing may be computed here"))
    }
}
