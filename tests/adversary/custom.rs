//! Operations of third parties that break their word.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use outcrop::annotate::Overrides;
use outcrop::annotate::{Annotations, annotate};
use outcrop::block::Block;
use outcrop::collections::array::Over;
use outcrop::collections::delayed::Whole;
use outcrop::collections::{Array, Collection, Computed, Delayed, Rename};
use outcrop::device::sim::FaultPlan;
use outcrop::dtype::DType;
use outcrop::exec::{Control, ResultValue};
use outcrop::graph::chunking::Chunking;
use outcrop::graph::custom::{Call, CustomOp, Made, TaskError};
use outcrop::graph::error::GraphError;
use outcrop::graph::keys::Keys;
use outcrop::graph::layer::Layer;
use outcrop::graph::layer_graph::{LayerGraph, NewLayer};
use outcrop::graph::rule::Read;
use outcrop::graph::value_spec::ValueSpec;
use outcrop::key::Key;
use outcrop::token::Token;
use outcrop::value::Object;

use crate::{host, simulated};

type Rule = dyn Fn(usize) -> Vec<Read> + Send + Sync;
type Function = fn(&mut Call<'_>) -> Result<Made, TaskError>;
type Compute = dyn Fn(&mut Call<'_>) -> Result<Made, TaskError> + Send + Sync;

struct Op {
    spec: ValueSpec,
    rule: Box<Rule>,
    compute: Box<Compute>,
    everything: bool,
}

impl std::fmt::Debug for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("op")
    }
}

impl CustomOp for Op {
    fn name(&self) -> &str {
        "third"
    }
    fn token(&self) -> Token {
        Token::unique()
    }
    fn output(&self, _inputs: &[&ValueSpec]) -> Result<ValueSpec, String> {
        Ok(self.spec.clone())
    }
    fn reads(&self, block: usize, _output: &ValueSpec, _inputs: &[&ValueSpec]) -> Vec<Read> {
        (self.rule)(block)
    }
    fn reads_everything(&self) -> bool {
        self.everything
    }
    fn compute(&self, call: &mut Call<'_>) -> Result<Made, TaskError> {
        (self.compute)(call)
    }
}

fn spec(extent: usize, block: usize) -> ValueSpec {
    ValueSpec::array(Chunking::regular(&[extent].into(), &[block]), DType::F64)
}

fn op(
    spec: ValueSpec,
    rule: impl Fn(usize) -> Vec<Read> + Send + Sync + 'static,
    compute: impl Fn(&mut Call<'_>) -> Result<Made, TaskError> + Send + Sync + 'static,
) -> Op {
    Op { spec, rule: Box::new(rule), compute: Box::new(compute), everything: false }
}

fn graph(op: Op, input: &Array) -> LayerGraph {
    LayerGraph::from_collections("third", NewLayer::Custom(Arc::new(op)), input).unwrap()
}

fn array(op: Op, input: &Array) -> Array {
    Array::from_layer(graph(op, input).output_layers()[0].clone())
}

fn input() -> Array {
    (&Array::arange(0.0, 1.0, 12).rechunk(&[4]) + 0.0).named("x")
}

/// Sums all operands into every element.
fn total(call: &mut Call<'_>) -> Result<Made, TaskError> {
    let blocks: Result<Vec<&Block>, _> = (0..call.operands.len()).map(|at| call.block_operand(at)).collect();
    let sum: f64 = blocks?.iter().flat_map(|block| block.to_vec::<f64>().unwrap()).sum();
    let output = call.output.as_mut().unwrap();
    let values = vec![sum; output.shape().elements()];
    assert!(output.write(&values));
    Ok(Made::Written)
}

#[test]
fn block_rules_that_name_what_is_not_there_are_errors_even_where_nobody_asks_block_by_block() {
    let read = |input: u16, block: usize| move |_| vec![Read { input, block }];
    for everything in [false, true] {
        for (input_at, block) in [(0, 3), (1, 0), (Read::OWN, 0), (7, 7)] {
            let mut bad = op(spec(12, 4), read(input_at, block), total);
            bad.everything = everything;
            let error = host().compute(&array(bad, &input())).unwrap_err().to_string();
            assert!(error.contains("third"), "{everything} {input_at} {block}: {error}");
        }
    }
}

#[test]
fn rules_that_panic_are_errors_of_their_layer() {
    for everything in [false, true] {
        let mut bad = op(spec(12, 4), |_| panic!("no idea"), total);
        bad.everything = everything;
        let error = host().compute(&array(bad, &input())).unwrap_err().to_string();
        assert_eq!(
            error,
            "the block rule of the layer 'third' panicked: no idea; a rule that refuses returns an error"
        );
    }
    #[derive(Debug)]
    struct Shapeless;
    impl CustomOp for Shapeless {
        fn name(&self) -> &str {
            "shapeless"
        }
        fn token(&self) -> Token {
            Token::unique()
        }
        fn output(&self, inputs: &[&ValueSpec]) -> Result<ValueSpec, String> {
            Ok(inputs[inputs.len()].clone())
        }
        fn reads(&self, _block: usize, _output: &ValueSpec, _inputs: &[&ValueSpec]) -> Vec<Read> {
            Vec::new()
        }
        fn compute(&self, _call: &mut Call<'_>) -> Result<Made, TaskError> {
            Ok(Made::Written)
        }
    }
    let error = Layer::custom(Arc::new(Shapeless), Vec::new()).unwrap_err().to_string();
    assert!(
        error.starts_with("the shape rule of the layer 'shapeless' panicked: index out of bounds"),
        "{error}"
    );
}

#[test]
fn a_collection_handed_over_whole_costs_its_own_blocks_and_no_others() {
    /// Every second block of an array.
    #[derive(Clone)]
    struct Half(Array);
    impl Collection for Half {
        type Value = f64;
        fn graph(&self) -> Result<LayerGraph, GraphError> {
            self.0.graph()
        }
        fn keys(&self) -> Result<Keys, GraphError> {
            let keys = self.0.keys()?;
            let every: Result<Vec<Keys>, _> = keys.iter().step_by(2).map(|key| key.map(Keys::One)).collect();
            Ok(Keys::List(every?))
        }
        fn rebuild(&self, graph: &LayerGraph, rename: &Rename) -> Result<Self, GraphError> {
            self.0.rebuild(graph, rename).map(Half)
        }
        fn finalize(&self, values: &Computed) -> Result<f64, GraphError> {
            let blocks = self.keys()?;
            let blocks = blocks.iter().filter_map(|key| values.find(&key.ok()?));
            Ok(blocks.filter_map(|value| value.block()?.to_f64_vec()).flatten().sum())
        }
    }
    let made = Arc::new(AtomicUsize::new(0));
    let count = made.clone();
    let counted = input().map_blocks("counted", move |block| {
        count.fetch_add(1, Ordering::SeqCst);
        block.to_f64_vec().unwrap_or_default()
    });
    let half = Half(counted);
    let call = Delayed::call("sum", (Whole(&half),), |sum: &f64| *sum);
    let want: f64 = (0..4).chain(8..12).map(f64::from).sum();
    assert_eq!((*host().compute(&call).unwrap(), made.load(Ordering::SeqCst)), (want, 2));
    assert_eq!(host().compute(&half).unwrap(), want);
}

#[test]
fn thousands_of_unmet_requirements_are_counted_and_not_all_spelled_out() {
    let wish = Annotations::new().set("device", "gpu").unwrap();
    let x = input();
    let all: Vec<Array> = (0..300)
        .map(|at| annotate(wish.clone(), || (&x + f64::from(at)).named(&format!("layer {at}"))))
        .collect();
    let machine = outcrop::machine::Machine::host_only(2, outcrop::units::Bytes(1 << 30));
    let session = outcrop::session::Session::on(machine, Default::default());
    let error = session.compute(&all).unwrap_err().to_string();
    assert!(error.starts_with("300 requirements can't be met"), "{error}");
    assert!(error.ends_with("and 200 more") && error.contains("layer 'layer 99'"), "{error}");
}

#[test]
fn a_layer_that_reads_its_own_earlier_values_does_so_whole_and_in_part() {
    let scan = |block: usize| {
        let own = block.checked_sub(1).map(|earlier| Read { input: Read::OWN, block: earlier });
        own.into_iter().chain([Read { input: 0, block }]).collect::<Vec<_>>()
    };
    let running = array(op(spec(3, 1), scan, total), &input());
    let session = host();
    assert_eq!(session.compute(&running).unwrap().to_vec::<f64>().unwrap(), [6.0, 28.0, 66.0]);
    let last = LayerGraph::of([running.layer().unwrap().clone()]);
    let culled = last.cull(&Keys::One(Key::block("third", &[2]).unwrap())).unwrap();
    let prepared = session.prepare_graph(&culled, &Overrides::new()).unwrap();
    assert_eq!(
        prepared.plan.steps.iter().filter(|step| step.layer == prepared.plan.outputs[0].layer).count(),
        3
    );
    let done = session.run(&prepared, &Control::new()).unwrap();
    let ResultValue::Values(last) = &done.results[0] else { panic!("{:?}", done.results[0]) };
    assert_eq!((last.len(), last[0].block().unwrap().to_scalar::<f64>()), (1, Some(66.0)));
    let tail = running.slice(&[outcrop::collections::array::Index::At(2)]);
    assert_eq!(session.compute(&tail).unwrap().to_scalar::<f64>(), Some(66.0));
}

#[test]
fn the_same_block_twice_no_block_and_all_blocks() {
    let rule = |block: usize| match block {
        0 => Vec::new(),
        1 => vec![Read { input: 0, block: 1 }; 3],
        _ => (0..3).map(|block| Read { input: 0, block }).collect(),
    };
    let y = array(op(spec(3, 1), rule, total), &input());
    assert_eq!(host().compute(&y).unwrap().to_vec::<f64>().unwrap(), [0.0, 66.0, 66.0]);
    assert_eq!(
        simulated(2, FaultPlan::none()).compute(&y).unwrap().to_vec::<f64>().unwrap(),
        [0.0, 66.0, 66.0]
    );
}

#[test]
fn a_block_that_is_said_to_be_written_and_is_not_is_an_error() {
    let session = host();
    // What an earlier run left in the pool must not come back as a result.
    let seven = &Array::ones([1 << 12], DType::F64).rechunk(&[1 << 10]) * 7.0;
    session.compute(&seven.sum(&Over::all())).unwrap();
    let compute: [Function; 3] = [
        |_| Ok(Made::Written),
        |call| {
            call.output.take();
            Ok(Made::Written)
        },
        |call| {
            let _ = call.output.as_mut().unwrap().write(&[1.0f64; 3]);
            Ok(Made::Written)
        },
    ];
    for compute in compute {
        let y = array(op(spec(1 << 12, 1 << 10), |_| Vec::new(), compute), &input());
        let error = session.compute(&y).unwrap_err().to_string();
        assert!(error.contains("third") && error.contains("wrote its block"), "{error}");
        let error = session.compute(&y.sum(&Over::all())).unwrap_err().to_string();
        assert!(error.contains("third") && error.contains("wrote its block"), "{error}");
    }
}

#[test]
fn what_does_not_fit_the_layer_is_an_error_that_says_so() {
    let read = |block| vec![Read { input: 0, block }];
    let message = |spec: ValueSpec, made: Function| {
        host().compute(&array(op(spec, read, made), &input()).sum(&Over::all())).unwrap_err().to_string()
    };
    assert!(message(spec(12, 4), |_| Ok(Made::Same(1))).contains("operand 1 was to be passed on"));
    let other = message(spec(3, 1), |_| Ok(Made::Same(0)));
    assert!(other.contains("f64 block (4,) was passed on as a f64 block (1,)"), "{other}");
    assert!(message(spec(12, 4), |_| Ok(Made::Object(Object::new(1)))).contains("write to the output"));
    assert!(message(spec(12, 4), |_| panic!("at the disco")).contains("panicked: at the disco"));
    let f32s = ValueSpec::array(Chunking::regular(&[12].into(), &[4]), DType::F32);
    assert!(message(f32s, |_| Ok(Made::Same(0))).contains("as a f32 block"));
}

#[test]
fn blocks_without_elements_and_without_axes() {
    let empty = |shape: &[usize], blocks: &[usize]| {
        ValueSpec::array(Chunking::regular(&shape.into(), blocks), DType::F64)
    };
    let session = host();
    for shape in [empty(&[0], &[1]), empty(&[3, 0], &[1, 1])] {
        let y = array(op(shape, |_| Vec::new(), total), &input());
        assert_eq!(session.compute(&y).unwrap().to_vec::<f64>().unwrap(), [0.0; 0]);
    }
    let scalar = array(op(empty(&[], &[]), |_| vec![Read { input: 0, block: 0 }], total), &input());
    assert_eq!(session.compute(&scalar).unwrap().to_scalar::<f64>(), Some(6.0));
    assert_eq!(session.compute(&(&scalar + 1.0)).unwrap().to_scalar::<f64>(), Some(7.0));
}

#[test]
fn objects_between_arrays_and_devices() {
    let on_gpu = || Annotations::new().set("device", "gpu").unwrap();
    let session = simulated(2, FaultPlan::none());
    let x = input();
    let before = annotate(on_gpu(), || (&x * 2.0).named("before"));
    let third = array(op(spec(3, 1), |block| vec![Read { input: 0, block }], total), &before);
    let after = annotate(on_gpu(), || (&third + 1.0).named("after"));
    let prepared = session.prepare(&[after.layer().unwrap().clone()]).unwrap();
    let done = session.run(&prepared, &Control::new()).unwrap();
    assert_eq!(done.results[0].array().unwrap().to_vec::<f64>().unwrap(), [13.0, 45.0, 77.0]);
    let edges: Vec<(u64, u64)> =
        done.report.transfers.edges.iter().map(|edge| (edge.count, edge.bytes)).collect();
    assert_eq!(edges, [(6, 12 * 8 + 3 * 8), (6, 12 * 8 + 3 * 8)]);
    let asked = |wish: &str| {
        let wish = Annotations::new().set("device", wish).unwrap();
        annotate(wish, || array(op(spec(3, 1), |block| vec![Read { input: 0, block }], total), &input()))
    };
    let error = session.compute(&asked("gpu")).unwrap_err().to_string();
    assert!(error.contains("third") && error.contains("function on the host"), "{error}");
    let prepared = session.prepare(&[asked("prefer-gpu").layer().unwrap().clone()]).unwrap();
    let report = session.run(&prepared, &Control::new()).unwrap().report.to_string();
    assert_eq!(report.matches("a function on the host").count(), 1, "{report}");
}

#[test]
fn an_object_whose_destructor_panics_ends_the_run() {
    struct Grenade;
    impl Drop for Grenade {
        fn drop(&mut self) {
            panic!("boom");
        }
    }
    let grenade = outcrop::collections::Delayed::call("grenade", (), || Grenade);
    let after = outcrop::collections::Delayed::call("after", (&grenade,), |_: &Grenade| 1i64);
    let later = outcrop::collections::Delayed::call("later", (&after,), |x: &i64| x + 1);
    let error = host().compute(&later).unwrap_err().to_string();
    assert!(error.contains("boom"), "{error}");
}
