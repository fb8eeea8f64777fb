//! No rewrite loses an annotation: over random graphs, what is asked of each operation is the same before and after
//! every pass of the planner and every generic function.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use outcrop::annotate::{Annotations, annotate};
use outcrop::block::Block;
use outcrop::collections::array::{Index, Over};
use outcrop::collections::manipulate::{self, Options, SplitEvery, bind, checkpoint, wait_on};
use outcrop::collections::{Array, Collections, Delayed, nested};
use outcrop::dtype::DType;
use outcrop::graph::layer::Layer;
use outcrop::graph::layer_graph::{LayerGraph, Outputs};
use outcrop::graph::op::Op;
use outcrop::machine::Machine;
use outcrop::plan::known::Known;
use outcrop::plan::plan;
use outcrop::session::Session;
use outcrop::settings::{Config, Settings};

/// How often each (operation, annotations) occurs.
type Asked = BTreeMap<(String, String), usize>;

fn counted(asked: impl Iterator<Item = (String, String)>) -> Asked {
    let mut counts = Asked::new();
    asked.for_each(|one| *counts.entry(one).or_insert(0) += 1);
    counts
}

fn of_layer(layer: &Arc<Layer>) -> impl Iterator<Item = (String, String)> {
    layer.origins().into_iter().map(|origin| (origin.op.to_string(), origin.annotations.to_string()))
}

fn of_graph(graph: &LayerGraph) -> Asked {
    counted(graph.layers().flat_map(|(_, layer)| of_layer(layer)))
}

fn graph_of(collections: &impl Outputs) -> LayerGraph {
    LayerGraph::of(collections.output_layers().unwrap())
}

fn of(collections: &impl Outputs) -> Asked {
    of_graph(&graph_of(collections))
}

/// What `all` asks beyond `some`; a panic when it asks less.
fn beyond(all: &Asked, some: &Asked) -> Vec<(String, String)> {
    let mut rest = all.clone();
    for (one, count) in some {
        let left = rest.get_mut(one).unwrap_or_else(|| panic!("{one:?} got lost"));
        *left = left.checked_sub(*count).unwrap_or_else(|| panic!("{one:?} got lost"));
    }
    rest.into_iter().flat_map(|(one, count)| std::iter::repeat_n(one, count)).collect()
}

#[derive(Clone, Debug)]
enum Step {
    Add(usize, usize),
    Root(usize),
    Gradient(usize),
    Rechunk(usize, usize),
    Slice(usize),
    Sum(usize),
    Call(usize),
}

#[derive(Clone, Debug)]
struct Asking {
    priority: Option<i8>,
    retries: Option<u8>,
    device: Option<bool>,
    team: Option<bool>,
}

impl Asking {
    fn annotations(&self) -> Annotations {
        let mut asked = Annotations::new();
        if let Some(priority) = self.priority {
            asked = asked.with_priority(priority.into()).unwrap();
        }
        if let Some(retries) = self.retries {
            asked = asked.with_retries(retries.into()).unwrap();
        }
        if let Some(gpu) = self.device {
            asked = asked.set("device", if gpu { "prefer-gpu" } else { "any" }).unwrap();
        }
        if let Some(team) = self.team {
            asked = asked.set("team", if team { "geo" } else { "bio" }).unwrap();
        }
        asked
    }
}

fn step() -> impl Strategy<Value = Step> {
    let at = || 0..64usize;
    prop_oneof![
        (at(), at()).prop_map(|(a, b)| Step::Add(a, b)),
        at().prop_map(Step::Root),
        at().prop_map(Step::Gradient),
        (at(), 1..9usize).prop_map(|(a, size)| Step::Rechunk(a, size)),
        at().prop_map(Step::Slice),
        at().prop_map(Step::Sum),
        at().prop_map(Step::Call),
    ]
}

fn asking() -> impl Strategy<Value = Asking> {
    let fields = (
        proptest::option::weighted(0.4, -2..3i8),
        proptest::option::weighted(0.4, 0..3u8),
        proptest::option::weighted(0.3, any::<bool>()),
        proptest::option::weighted(0.4, any::<bool>()),
    );
    fields.prop_map(|(priority, retries, device, team)| Asking { priority, retries, device, team })
}

/// The arrays and calls that nobody reads, at the end of a random program.
fn build(program: &[(Step, Asking)]) -> (Vec<Array>, Vec<Delayed<f64>>) {
    let mut arrays = vec![Array::arange(1.0, 1.0, 24).rechunk(&[5])];
    let mut calls = Vec::new();
    let mut used = vec![false];
    for (step, asked) in program {
        let count = arrays.len();
        let mut take = |at: &usize| {
            used[at % count] = true;
            arrays[at % count].clone()
        };
        let made = annotate(asked.annotations(), || match step {
            Step::Add(a, b) => Some(take(a) + take(b).sum(&Over::all())),
            Step::Root(a) => Some((take(a).abs() + 1.0).sqrt()),
            Step::Gradient(a) => Some(take(a).gradient(1.0, 0)),
            Step::Rechunk(a, size) => Some(take(a).rechunk(&[*size])),
            Step::Slice(a) => {
                let index = Index::Range { start: Some(1), stop: None, step: None };
                let array = take(a);
                Some(if array.shape().unwrap()[0] > 12 {
                    array.slice(&[index])
                } else {
                    array.astype(DType::F32)
                })
            }
            Step::Sum(a) => Some(take(a) - take(a).mean(&Over::all())),
            Step::Call(a) => {
                let first = |x: &Block| x.to_f64_vec().map_or(f64::NAN, |all| all.iter().sum());
                calls.push(Delayed::call("total", (&take(a),), first));
                None
            }
        });
        if let Some(array) = made {
            arrays.push(array);
            used.push(false);
        }
    }
    let ends = arrays.into_iter().zip(used).filter(|(_, used)| !used).map(|(array, _)| array);
    (ends.collect(), calls)
}

fn program() -> impl Strategy<Value = Vec<(Step, Asking)>> {
    proptest::collection::vec((step(), asking()), 1..12)
}

fn settings() -> Settings {
    Config { threads: Some(2), ..Config::default() }.resolve(2)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn plans_keep_every_annotation(program in program(), machine in 0..3usize) {
        let name = ["cpu-only", "one-gpu", "two-unequal-gpus"][machine];
        let path = format!("{}/examples/machines/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let machine = Machine::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap();
        let (arrays, calls) = build(&program);
        let graph = graph_of(&(arrays, calls));
        let planned = plan(&graph, &Known::none(), &machine, &settings()).unwrap();
        let sources = planned.layers.iter().flat_map(|layer| &layer.sources);
        let kept = counted(sources.map(|source| (source.op.to_string(), source.annotations.to_string())));
        prop_assert_eq!(kept, of_graph(&graph));
        for layer in &planned.layers {
            let most = layer.sources.iter().map(|s| s.annotations.retries().unwrap_or(0)).max();
            prop_assert_eq!(layer.annotations.retries().unwrap_or(0), most.unwrap());
        }
    }

    #[test]
    fn generic_functions_keep_every_annotation(program in program()) {
        let originals = build(&program);
        if originals.output_layers().unwrap().is_empty() {
            return Ok(());
        }
        let before = of(&originals);
        let scope = Annotations::new().with_retries(9).unwrap().set("team", "nobody").unwrap();
        // A rewrite never reads the scope in which it is called.
        annotate(scope, || check(&originals, &before))?;
        prop_assert_eq!(of(&originals), before);
    }

    #[test]
    fn computing_copies_gives_equal_values(program in program()) {
        let originals = build(&program);
        let session = Session::new(Config { threads: Some(2), ..Config::default() });
        let values = |collections: &(Vec<Array>, Vec<Delayed<f64>>)| {
            let (arrays, calls) = session.compute(collections).unwrap();
            let arrays: Vec<Vec<f64>> = arrays.iter().map(|block| block.to_f64_vec().unwrap()).collect();
            let bits = |all: &[f64]| all.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            (arrays.iter().map(|all| bits(all)).collect::<Vec<_>>(), calls.iter().map(|n| n.to_bits()).collect::<Vec<_>>())
        };
        if originals.output_layers().unwrap().is_empty() {
            return Ok(());
        }
        let want = values(&originals);
        prop_assert_eq!(&values(&manipulate::clone(&originals, &Options::new()).unwrap()), &want);
        prop_assert_eq!(&values(&wait_on(&originals, SplitEvery::Values(3)).unwrap()), &want);
        prop_assert_eq!(&values(&session.persist(&originals).unwrap()), &want);
        let parent = Delayed::literal(1i64);
        prop_assert_eq!(&values(&bind(&originals, &parent, &Options::new()).unwrap()), &want);
    }
}

fn check(originals: &(Vec<Array>, Vec<Delayed<f64>>), before: &Asked) -> Result<(), TestCaseError> {
    let clone = manipulate::clone(originals, &Options::new()).unwrap();
    prop_assert_eq!(&of(&clone), before);
    let seeded = manipulate::clone(originals, &Options::new().seed("again")).unwrap();
    prop_assert_eq!(&of(&seeded), before);
    prop_assert_eq!(&of(&nested::optimize(originals).unwrap()), before);

    let parent = Delayed::literal(1.0f64).named("parent");
    let bound = bind(originals, &parent, &Options::new()).unwrap();
    let beside = beyond(&of(&bound), before);
    prop_assert!(beside.iter().all(|(op, _)| op == "wait" || op == "value"), "{:?}", beside);

    let omitted = bind(originals, &parent, &Options::new().omit(originals)).unwrap();
    prop_assert_eq!(&of(&omitted), before);

    let waited = wait_on(originals, SplitEvery::Auto).unwrap();
    let beside = beyond(&of(&waited), before);
    prop_assert!(beside.iter().all(|(op, _)| ["wait", "map", "pass"].contains(&&**op)), "{:?}", beside);
    let outputs = counted(
        originals.output_layers().unwrap().iter().flat_map(of_layer).map(|(_, a)| (String::new(), a)),
    );
    let passed = waited.output_layers().unwrap();
    prop_assert_eq!(counted(passed.iter().flat_map(of_layer).map(|(_, a)| (String::new(), a))), outputs);

    let done = checkpoint(originals, SplitEvery::Flat).unwrap();
    prop_assert!(beyond(&of(&done), before).iter().all(|(op, _)| op == "wait"));

    let graphs: Vec<LayerGraph> =
        originals.output_layers().unwrap().into_iter().map(|layer| LayerGraph::of([layer])).collect();
    prop_assert_eq!(&of_graph(&LayerGraph::merge(&graphs).unwrap()), before);
    let mut members = Vec::new();
    originals.members(&mut members).unwrap();
    for member in members {
        let culled = member.graph.cull(&member.keys).unwrap();
        beyond(before, &of_graph(&culled));
        prop_assert!(culled.layers().all(|(_, layer)| !matches!(layer.op(), Op::Store(_))));
    }
    Ok(())
}
