//! What a third party does wrong is an error of a type, with the names and the figures.

use std::sync::Arc;

use outcrop::block::Block;
use outcrop::collections::{Array, Collection, Computed, Rename};
use outcrop::dtype::DType;
use outcrop::error::Error;
use outcrop::graph::chunking::Chunking;
use outcrop::graph::{
    Call, CustomOp, GraphError, Keys, Layer, LayerGraph, Made, NewLayer, Read, TaskError, ValueSpec,
};
use outcrop::key::Key;
use outcrop::session::Session;
use outcrop::testing::check_collection;
use outcrop::token::{Token, Tokenizer};
use third_party::Ragged;
use third_party::window::Anomaly;

/// Makes blocks of its input's cuts, and reads, or makes, what it shouldn't.
#[derive(Clone, Debug)]
struct Careless {
    reads: usize,
    makes: Option<Arc<Vec<f64>>>,
}

impl CustomOp for Careless {
    fn name(&self) -> &str {
        "careless"
    }

    fn token(&self) -> Token {
        Tokenizer::new("careless").int(self.reads as i64).finish()
    }

    fn output(&self, inputs: &[&ValueSpec]) -> Result<ValueSpec, String> {
        inputs.first().map(|spec| ValueSpec::clone(spec)).ok_or_else(|| "one input is needed".to_owned())
    }

    fn reads(&self, _block: usize, _output: &ValueSpec, _inputs: &[&ValueSpec]) -> Vec<Read> {
        vec![Read { input: 0, block: self.reads }]
    }

    fn compute(&self, call: &mut Call<'_>) -> Result<Made, TaskError> {
        match &self.makes {
            None => Ok(Made::Same(7)),
            Some(values) if values.is_empty() => Ok(Made::Written),
            Some(values) => call.write(values),
        }
    }
}

fn through(op: Careless) -> Array {
    let x = Array::arange(0.0, 1.0, 6).rechunk(&[3]);
    let graph = LayerGraph::from_collections("mine", NewLayer::Custom(Arc::new(op)), &x).unwrap();
    Array::from_layer(graph.output_layers()[0].clone())
}

fn rows() -> Ragged {
    Ragged::from_rows("m", vec![vec![1.0], vec![2.0]], 1).unwrap()
}

#[test]
fn a_block_rule_that_reads_what_is_not_there() {
    let array = through(Careless { reads: 5, makes: None });
    let error = Session::new(Default::default()).compute(&array).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("'mine'") && message.contains("reads value 5 of input 0"), "{message}");
    let culled = array.graph().unwrap().cull(&Keys::One(Key::block("mine", &[1]).unwrap()));
    assert!(matches!(culled, Err(GraphError::BlockRule { block: 1, read: 5, .. })), "{culled:?}");
}

#[test]
fn a_function_that_makes_what_it_should_not() {
    let session = Session::new(Default::default());
    let table = [
        (Careless { reads: 0, makes: None }, "operand 7 was to be passed on, and there are 1"),
        (
            Careless { reads: 0, makes: Some(Arc::new(vec![1.0])) },
            "the block is f64 (3,); it can't be filled with 1 value of f64",
        ),
        (Careless { reads: 0, makes: Some(Arc::new(vec![])) }, "says that it wrote its block, and it didn't"),
    ];
    for (op, want) in table {
        let error = session.compute(&through(op)).unwrap_err();
        assert!(matches!(error, Error::Exec(_)));
        let message = error.to_string();
        assert!(message.contains("layer 'mine'") && message.contains(want), "{message}");
    }
    let written = through(Careless { reads: 1, makes: Some(Arc::new(vec![1.0, 2.0, 3.0])) });
    let values: Block = session.compute(&written).unwrap();
    assert_eq!(values.to_f64_vec().unwrap(), [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]);
}

#[test]
fn a_shape_rule_that_refuses() {
    let array = Array::ones([4], DType::F64);
    let error = Layer::custom(Arc::new(Anomaly), vec![array.layer().unwrap().clone()]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the layer 'anomaly' doesn't take its inputs: a window slides over partitions, and this is f64 (4,) in 4"
    );
    let error = LayerGraph::from_collections("w", NewLayer::Custom(Arc::new(Anomaly)), &()).unwrap_err();
    assert!(matches!(error, GraphError::ShapeRule { .. }));
    let error = Ragged::from_rows("m", vec![], 3).unwrap_err();
    assert!(error.to_string().contains("rows come in at least one partition"), "{error}");
}

#[test]
fn a_graph_that_lacks_the_keys() {
    let rows = rows();
    let name = rows.partitions().name();
    let header = rows.layer_names().unwrap()[0].clone();
    let header = rows.graph().unwrap().layer_named(&header).unwrap().clone();
    let error = rows.rebuild(&LayerGraph::of([header.clone()]), &Rename::none()).unwrap_err();
    assert!(matches!(&error, GraphError::MissingLayer { name: missing, .. } if missing == name), "{error}");
    let fewer = Ragged::from_rows("m", vec![vec![1.0]], 1).unwrap().partitions().named(name);
    let error = rows.rebuild(&LayerGraph::of([header, fewer]), &Rename::none()).unwrap_err();
    assert_eq!(error.to_string(), format!("the layer '{name}' makes 1 object, not 2 objects"));
}

/// An array that says it is made by a layer which its graph doesn't have.
#[derive(Clone)]
struct Stray(Array);

impl Collection for Stray {
    type Value = Block;

    fn graph(&self) -> Result<LayerGraph, GraphError> {
        Ok(LayerGraph::of(Vec::new()))
    }

    fn keys(&self) -> Result<Keys, GraphError> {
        self.0.keys()
    }

    fn rebuild(&self, graph: &LayerGraph, rename: &Rename) -> Result<Self, GraphError> {
        Ok(Stray(self.0.rebuild(graph, rename)?))
    }

    fn finalize(&self, values: &Computed) -> Result<Block, GraphError> {
        self.0.finalize(values)
    }
}

#[test]
fn a_declared_layer_that_is_not_in_the_graph() {
    let session = Session::new(Default::default());
    let array = Array::from_layer(Layer::new(
        Array::ones([2], DType::F64).layer().unwrap().op().clone(),
        Vec::new(),
        Chunking::single(&[2].into()),
        DType::F64,
    ));
    let stray = Stray(array.named("lost"));
    let message = session.compute(&stray).unwrap_err().to_string();
    assert!(message.contains("lost"), "{message}");
    for made in [
        outcrop::collections::manipulate::clone(&stray, &Default::default()).map(drop),
        outcrop::collections::manipulate::checkpoint(&stray, Default::default()).map(drop),
    ] {
        assert!(matches!(&made, Err(GraphError::MissingLayer { name, .. }) if name == "lost"), "{made:?}");
    }
    let breaches = check_collection(&stray, &session, PartialEq::eq).unwrap_err();
    assert_eq!(
        breaches.to_string().lines().skip(1).collect::<Vec<_>>(),
        [
            "clause 2 (keys): the key ('lost', 0) isn't in the graph",
            "clause 3 (names): layer_names() has 'lost', which isn't a layer of the graph",
        ]
    );
}
