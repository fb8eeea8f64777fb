//! Graphs with every kind of layer.

use std::sync::Arc;

use outcrop::annotate::{Annotations, KeyFunction, Value as Wish, annotate};
use outcrop::collections::Array;
use outcrop::collections::array::{Index, Over};
use outcrop::dtype::DType;
use outcrop::graph::block_set::BlockSet;
use outcrop::graph::custom::{Call, CustomOp, Made, TaskError};
use outcrop::graph::layer::{Layer, LayerBody, Naming};
use outcrop::graph::layer_graph::{LayerGraph, NewLayer};
use outcrop::graph::op::{Op, WaitRule};
use outcrop::graph::rule::Read;
use outcrop::graph::tasks::{Argument, Function, Task};
use outcrop::graph::value_spec::ValueSpec;
use outcrop::key::Key;
use outcrop::token::{Token, Tokenizer};
use outcrop::value::Object;

/// Value `i` of the result is made of value `i` of the input: the rule of a function for every block.
#[derive(Debug)]
pub struct EachBlock(pub &'static str);

impl CustomOp for EachBlock {
    fn name(&self) -> &str {
        self.0
    }
    fn token(&self) -> Token {
        Tokenizer::new("each-block").text(self.0).finish()
    }
    fn output(&self, inputs: &[&ValueSpec]) -> Result<ValueSpec, String> {
        inputs.first().map(|input| (*input).clone()).ok_or_else(|| "it takes one input".to_owned())
    }
    fn reads(&self, block: usize, _output: &ValueSpec, _inputs: &[&ValueSpec]) -> Vec<Read> {
        vec![Read { input: 0, block }]
    }
    fn compute(&self, _call: &mut Call<'_>) -> Result<Made, TaskError> {
        Ok(Made::Same(0))
    }
}

/// A function that is never called here.
pub fn function(name: &str) -> Function {
    Function::registered(name, 1, |_| Ok(Object::new(())))
}

pub fn task(name: &str, arguments: impl IntoIterator<Item = Argument>) -> Task {
    Task { function: function(name), arguments: arguments.into_iter().collect() }
}

/// A key of a tuple with one number.
pub fn key(name: &str, at: i64) -> Key {
    Key::new(name, [at]).unwrap()
}

pub fn wishes<V: Into<Wish>>(pairs: impl IntoIterator<Item = (&'static str, V)>) -> Annotations {
    Annotations::from_pairs(pairs).unwrap()
}

/// A layer that waits for all of `layer`, and passes its values on.
pub fn waited_on(layer: &Arc<Layer>) -> Arc<Layer> {
    let rule = WaitRule { blocks: BlockSet::All, every: usize::MAX };
    let body = LayerBody { op: Op::Wait(rule), spec: ValueSpec::object(1) };
    let sources = std::slice::from_ref(layer);
    Layer::from_layers(sources, body, sources.to_vec(), Vec::new(), Naming::Exact("ready".into())).unwrap()
}

/// Loads, maps, stencils, reductions, slices, rechunks, a custom layer, tasks that read each other, a wait and a
/// layer that comes after it.
pub fn every_op() -> LayerGraph {
    let x = Array::indices([100, 100], DType::F32).rechunk(&[10, 10]).named("x");
    let gpu = Annotations::new().set("device", "prefer-gpu").unwrap().set("retries", 2).unwrap();
    let smooth = annotate(gpu, || x.gradient(0.5, 0).named("smooth"));
    let cut = smooth
        .slice(&[Index::At(3), Index::Range { start: None, stop: None, step: Some(-2) }])
        .rechunk(&[20])
        .named("cut");
    let heavy = wishes([("memory", "2 GiB"), ("timeout", "30 s")]);
    let total = annotate(heavy, || x.sum(&Over::axis(0)).named("total"));
    let by_row = KeyFunction::new("by-row", |_: &Key| Wish::Int(1));
    let each = annotate(Annotations::new().set("priority", by_row).unwrap(), || {
        let layer = NewLayer::Custom(Arc::new(EachBlock("denoise")));
        LayerGraph::from_collections("denoised", layer, &[cut.layer().unwrap().clone()][..]).unwrap()
    });
    let inputs = [each.output_layers()[0].clone(), total.layer().unwrap().clone()];
    let tasks = vec![
        (key("stats", 0), task("mean", [Argument::Key(key("denoised", 1))])),
        (key("stats", 1), task("mean", [Argument::Key(key("total", 3)), Argument::literal(2)])),
        (key("stats", 2), task("join", [Argument::Key(key("stats", 0)), Argument::Key(key("stats", 1))])),
    ];
    let strict = wishes([("gpu", 0.5)]);
    let stats = annotate(strict, || {
        LayerGraph::from_collections("stats", NewLayer::Tasks { tasks, bytes: 64 }, &inputs[..]).unwrap()
    });
    let stats = stats.output_layers()[0].clone();
    let ready = waited_on(&stats);
    let after = Layer::from_layers(
        &[total.layer().unwrap().clone()],
        total.layer().unwrap().body(),
        total.layer().unwrap().inputs().to_vec(),
        vec![ready],
        Naming::Exact("total after stats".into()),
    )
    .unwrap();
    LayerGraph::from_outputs(&[stats, after]).unwrap()
}

/// Names, labels, functions and annotations that try to break out of their quotes.
pub const HOSTILE: [&str; 6] = [
    "</text><script>alert(\"1\")</script>",
    "a\"];\n  evil -> n0 [label=\"",
    "back\\slash\\n \\N &lt;&amp;#10;",
    "line\u{2028}one\r\nline two\u{0}\u{7}\u{1b}[31m",
    "right\u{202e}left \u{ffff}",
    "Größe 火山 🗻 ]]> <!-- -- 'single'",
];

pub fn hostile() -> LayerGraph {
    let layers = HOSTILE.iter().map(|text| {
        let wish = Annotations::new().set("x-note", *text).unwrap();
        let source = Array::ones([4], DType::F64);
        let layer = annotate(wish, || (&source + 1.0).named(text)).layer().unwrap().clone();
        let op: NewLayer = NewLayer::Tasks {
            tasks: vec![(
                Key::named(format!("call {text}")).unwrap(),
                task(text, [Argument::Key(key(text, 0))]),
            )],
            bytes: 1,
        };
        LayerGraph::from_collections(&format!("call {text}"), op, &[layer][..]).unwrap().output_layers()[0]
            .clone()
    });
    LayerGraph::from_outputs(&layers.collect::<Vec<_>>()).unwrap()
}
