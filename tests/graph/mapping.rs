//! A graph as a mapping from keys to tasks, held against brute force over its written-out tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use outcrop::collections::Array;
use outcrop::collections::array::{Index, Over};
use outcrop::dtype::DType;
use outcrop::graph::block_set::BlockSet;
use outcrop::graph::cull::{Part, TaskNode};
use outcrop::graph::error::GraphError;
use outcrop::graph::keys::Keys;
use outcrop::graph::layer::Layer;
use outcrop::graph::layer_graph::{LayerGraph, NewLayer};
use outcrop::graph::tasks::{Argument, Task};
use outcrop::key::Key;
use proptest::prelude::*;
use proptest::sample::Index as Pick;
use proptest::test_runner::RngSeed;

use crate::sample::{EachBlock, every_op, key, task, waited_on};

/// How a layer of a random graph is made of earlier ones.
#[derive(Clone, Debug)]
enum Step {
    Map(Pick),
    Add(Pick, Pick),
    Stencil(Pick),
    Slice(Pick, usize),
    Rechunk(Pick, usize),
    Sum(Pick),
    Custom(Pick),
    /// Each task reads an earlier one and a block of an array.
    Tasks(Pick, Vec<(Pick, Pick)>),
    /// Tasks of the last layer of tasks or waits are waited for.
    Wait(Pick),
}

fn step() -> impl Strategy<Value = Step> {
    let pick = any::<Pick>;
    let tasks = prop::collection::vec((pick(), pick()), 1..6);
    prop_oneof![
        pick().prop_map(Step::Map),
        (pick(), pick()).prop_map(|(a, b)| Step::Add(a, b)),
        pick().prop_map(Step::Stencil),
        (pick(), 0usize..4).prop_map(|(a, start)| Step::Slice(a, start)),
        (pick(), 1usize..7).prop_map(|(a, size)| Step::Rechunk(a, size)),
        pick().prop_map(Step::Sum),
        pick().prop_map(Step::Custom),
        (pick(), tasks).prop_map(|(a, tasks)| Step::Tasks(a, tasks)),
        pick().prop_map(Step::Wait),
    ]
}

/// Random graphs, and several of their keys by number.
fn program() -> impl Strategy<Value = (Vec<Step>, Vec<Pick>, Vec<Pick>)> {
    let picks = || prop::collection::vec(any::<Pick>(), 1..4);
    (prop::collection::vec(step(), 1..9), picks(), picks())
}

/// Equal steps give equal graphs.
fn build(steps: &[Step]) -> LayerGraph {
    let mut arrays = vec![Array::indices([12], DType::F64).rechunk(&[4]).named("x")];
    let mut layers: Vec<Arc<Layer>> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let of = |pick: &Pick| pick.get(&arrays);
        let array = match step {
            Step::Map(a) => of(a) * (at as f64 + 2.0),
            Step::Add(a, b) => &of(a).sum(&Over::all()) + of(b),
            Step::Stencil(a) if of(a).shape().unwrap()[0] >= 2 => of(a).gradient(1.0, 0),
            Step::Slice(a, start) => {
                let range = Index::Range { start: Some(*start as i64), stop: None, step: Some(2) };
                of(a).slice(&[range])
            }
            Step::Rechunk(a, size) => of(a).rechunk(&[*size]),
            Step::Stencil(a) | Step::Sum(a) => of(a).sum(&Over::all().keeping_dims()),
            Step::Custom(a) => {
                let new = NewLayer::Custom(Arc::new(EachBlock("each")));
                let inputs = [of(a).layer().unwrap().clone()];
                layers.push(output(&format!("each-{at}"), new, &inputs));
                continue;
            }
            Step::Tasks(a, tasks) => {
                layers.push(explicit(&format!("tasks-{at}"), of(a).layer().unwrap(), tasks));
                continue;
            }
            Step::Wait(a) => {
                let all: Vec<Arc<Layer>> =
                    arrays.iter().map(|array| array.layer().unwrap().clone()).chain(layers.clone()).collect();
                layers.push(waited_on(a.get(&all)).named(&format!("ready-{at}")));
                continue;
            }
        };
        arrays.push(array);
    }
    layers.extend(arrays.iter().map(|array| array.layer().unwrap().clone()));
    LayerGraph::from_outputs(&layers).unwrap()
}

fn output(name: &str, new: NewLayer, inputs: &[Arc<Layer>]) -> Arc<Layer> {
    LayerGraph::from_collections(name, new, inputs).unwrap().output_layers()[0].clone()
}

/// Task `i` reads a block of `input`, and an earlier task where there is one. They are given last first.
fn explicit(name: &str, input: &Arc<Layer>, picks: &[(Pick, Pick)]) -> Arc<Layer> {
    let one = |(at, (block, earlier)): (usize, &(Pick, Pick))| {
        let mut arguments = vec![Argument::Key(input.key(block.index(input.spec().count())).unwrap())];
        if at > 0 {
            arguments.push(Argument::Key(key(name, earlier.index(at) as i64)));
        }
        (key(name, at as i64), task("f", arguments))
    };
    let mut tasks: Vec<(Key, Task)> = picks.iter().enumerate().map(one).collect();
    tasks.reverse();
    output(name, NewLayer::Tasks { tasks, bytes: 8 }, std::slice::from_ref(input))
}

fn keys(graph: &LayerGraph) -> BTreeSet<Key> {
    graph.keys().map(Result::unwrap).collect()
}

fn picked(graph: &LayerGraph, picks: &[Pick]) -> Vec<Key> {
    let all: Vec<Key> = graph.keys().map(Result::unwrap).collect();
    picks.iter().map(|pick| pick.get(&all).clone()).collect()
}

fn listed(keys: &[Key]) -> Keys {
    Keys::List(keys.iter().cloned().map(Keys::One).collect())
}

/// What some keys need: over the written-out tasks, one by one.
fn closure(tasks: &[TaskNode], wanted: &[Key]) -> BTreeSet<Key> {
    let reads: BTreeMap<&Key, &[Key]> = tasks.iter().map(|task| (&task.key, &*task.reads)).collect();
    let mut open = wanted.to_vec();
    let mut needed = BTreeSet::new();
    while let Some(key) = open.pop() {
        if needed.insert(key.clone()) {
            open.extend(reads[&key].iter().cloned());
        }
    }
    needed
}

fn fixed() -> ProptestConfig {
    ProptestConfig { rng_seed: RngSeed::Fixed(7), failure_persistence: None, ..Default::default() }
}

proptest! {
    #![proptest_config(fixed())]

    #[test]
    fn a_graph_is_a_mapping((steps, picks, _) in program()) {
        let graph = build(&steps);
        prop_assert_eq!(graph.keys().count(), graph.len());
        prop_assert_eq!(keys(&graph).len(), graph.len(), "keys are distinct");
        for (id, layer) in graph.layers() {
            for block in 0..layer.spec().count() {
                prop_assert_eq!(graph.find(&layer.key(block).unwrap()), Some((id, block)));
            }
            let beyond = Key::new(layer.name(), [1i64 << 40]).unwrap();
            prop_assert!(!graph.contains(&beyond) && !graph.contains(&beyond.renamed("no layer").unwrap()));
            prop_assert!(!graph.contains(&Key::new(layer.name(), [0i64, 0, 0]).unwrap()));
        }
        let names: Vec<&str> = graph.layers().map(|(_, layer)| layer.name()).collect();
        for a in &names {
            for b in &names {
                let reads = graph.dependencies(a).unwrap().contains(b);
                prop_assert_eq!(reads, graph.dependents(b).unwrap().contains(a), "{} {}", a, b);
            }
        }
        let again = build(&steps);
        prop_assert_eq!(again.to_string(), graph.to_string());
        prop_assert_eq!(keys(&again), keys(&graph));
        let wanted = listed(&picked(&graph, &picks));
        prop_assert_eq!(keys(&again.cull(&wanted).unwrap()), keys(&graph.cull(&wanted).unwrap()));
    }

    #[test]
    fn tasks_are_in_topological_order((steps, _, _) in program()) {
        let graph = build(&steps);
        let mut seen = BTreeSet::new();
        for task in graph.to_tasks().unwrap() {
            for read in &task.reads {
                prop_assert!(seen.contains(read), "{} reads {}, which comes later", task.key, read);
                let (user, input) = (task.key.name(), read.name());
                prop_assert!(user == input || graph.dependencies(user).unwrap().contains(input));
            }
            prop_assert_eq!(task.reads.iter().collect::<BTreeSet<_>>().len(), task.reads.len());
            prop_assert!(seen.insert(task.key));
        }
        prop_assert_eq!(seen, keys(&graph));
    }

    #[test]
    fn culling_keeps_what_is_needed_and_nothing_else((steps, picks, others) in program()) {
        let graph = build(&steps);
        let tasks = graph.to_tasks().unwrap();
        let wanted = picked(&graph, &picks);
        let culled = graph.cull(&listed(&wanted)).unwrap();
        culled.validate().unwrap();
        let kept = keys(&culled);
        prop_assert_eq!(&kept, &closure(&tasks, &wanted));
        prop_assert_eq!(culled.len(), kept.len());
        for node in &tasks {
            prop_assert_eq!(culled.contains(&node.key), kept.contains(&node.key));
        }
        let reads = |tasks: Vec<TaskNode>| -> BTreeMap<Key, Vec<Key>> {
            tasks.into_iter().map(|task| (task.key, task.reads)).collect()
        };
        let mut recomputed = reads(tasks);
        recomputed.retain(|key, _| kept.contains(key));
        prop_assert_eq!(reads(culled.to_tasks().unwrap()), recomputed);
        prop_assert_eq!(keys(&culled.cull(&listed(&wanted)).unwrap()), kept);

        let more = picked(&graph, &others);
        let merged = LayerGraph::merge(&[culled, graph.cull(&listed(&more)).unwrap()]).unwrap();
        let both = [wanted, more].concat();
        prop_assert_eq!(keys(&merged), keys(&graph.cull(&listed(&both)).unwrap()));
    }

    #[test]
    fn culling_a_merge_is_merging_what_was_culled(
        (left, left_picks, _) in program(),
        (right, right_picks, _) in program(),
    ) {
        let (left, right) = (build(&left), build(&right));
        // One name for unequal content is refused: such pairs are left out.
        let merged = LayerGraph::merge(&[left.clone(), right.clone()]);
        prop_assume!(merged.is_ok());
        let merged = merged.unwrap();
        prop_assert_eq!(keys(&merged), keys(&left).union(&keys(&right)).cloned().collect());
        let (left_keys, right_keys) = (picked(&left, &left_picks), picked(&right, &right_picks));
        let culled = merged.cull(&listed(&[left_keys.clone(), right_keys.clone()].concat())).unwrap();
        let parts = [left.cull(&listed(&left_keys)).unwrap(), right.cull(&listed(&right_keys)).unwrap()];
        prop_assert_eq!(keys(&culled), keys(&LayerGraph::merge(&parts).unwrap()));
    }
}

#[test]
fn a_merge_of_unequal_layers_of_one_name_names_it() {
    let graph = |value: f64| {
        let x = &Array::ones([4], DType::F64) * value;
        LayerGraph::of([x.named("weights").layer().unwrap().clone()])
    };
    let error = LayerGraph::merge(&[graph(1.0), graph(2.0)]).unwrap_err().to_string();
    assert_eq!(error, "two different layers are both named 'weights'; rename one of them");
    assert_eq!(LayerGraph::merge(&[graph(1.0), graph(1.0)]).unwrap().layer_count(), 2);
}

fn refused(name: &str, tasks: Vec<(Key, Task)>) -> String {
    LayerGraph::from_collections(name, NewLayer::Tasks { tasks, bytes: 1 }, &()).unwrap_err().to_string()
}

#[test]
fn explicit_tasks_are_checked_where_they_come_in() {
    let reads = |at| [Argument::Key(key("t", at))];
    let circle = vec![
        (key("t", 0), task("f", reads(2))),
        (key("t", 1), task("f", reads(0))),
        (key("t", 2), task("f", reads(1))),
    ];
    assert_eq!(
        refused("t", circle),
        "('t', 0), ('t', 2), ('t', 1) wait for each other in a circle: each needs the next, and the last the first"
    );
    assert!(refused("t", vec![(key("t", 0), task("f", reads(0)))]).starts_with("('t', 0) wait"));
    assert_eq!(
        refused("t", vec![(key("t", 0), task("f", reads(9)))]),
        "the task ('t', 0) reads ('t', 9), which neither its layer nor one of the layer's inputs makes"
    );
    assert_eq!(
        refused("t", vec![(key("t", 0), task("f", [])), (key("t", 0), task("g", []))]),
        "the key ('t', 0) is given twice; every task has a key of its own"
    );
    assert!(refused("t", vec![(key("u", 0), task("f", []))]).contains("('u', 0) is given to the layer 't'"));
}

fn each(name: &str, inputs: &[&str]) -> Part {
    Part {
        name: name.to_owned(),
        layer: NewLayer::Custom(Arc::new(EachBlock("each"))),
        inputs: inputs.iter().map(|&input| input.to_owned()).collect(),
    }
}

#[test]
fn parts_that_do_not_fit_together_are_refused() {
    let said = |parts: Vec<Part>| LayerGraph::from_parts(parts).unwrap_err();
    let circle = said(vec![each("a", &["b"]), each("b", &["c"]), each("c", &["a"])]);
    assert!(matches!(&circle, GraphError::Cycle { keys } if keys == &["a", "b", "c"]), "{circle}");
    let missing = said(vec![each("a", &["nowhere"])]).to_string();
    assert_eq!(missing, "the layer 'a' reads 'nowhere', and there is no layer of this name");
    let twice = said(vec![each("a", &["a"]), each("a", &[])]).to_string();
    assert!(twice.contains("both named 'a'"), "{twice}");
}

#[test]
fn parts_in_any_order_are_one_graph() {
    let tasks = vec![(key("x", 0), task("f", [])), (key("x", 1), task("f", []))];
    let first = Part { name: "x".to_owned(), layer: NewLayer::Tasks { tasks, bytes: 1 }, inputs: Vec::new() };
    let graph = LayerGraph::from_parts(vec![each("z", &["y"]), each("y", &["x"]), first]).unwrap();
    let names: Vec<&str> = graph.layers().map(|(_, layer)| layer.name()).collect();
    assert_eq!((names, graph.len()), (vec!["x", "y", "z"], 6));
}

#[test]
fn a_literal_that_reads_like_a_key_is_none() {
    let tasks = vec![
        (key("t", 0), task("f", [])),
        (key("t", 1), task("f", [Argument::literal("('t', 0)"), Argument::literal(key("t", 0))])),
    ];
    let graph = LayerGraph::from_collections("t", NewLayer::Tasks { tasks, bytes: 1 }, &()).unwrap();
    assert_eq!(graph.key_dependencies(&key("t", 1)).unwrap(), Some(Vec::new()));
    assert_eq!(graph.cull(&Keys::One(key("t", 1))).unwrap().len(), 1);
}

#[test]
fn one_of_many_blocks_keeps_few_numbers() {
    let blocks = 100_000_000;
    let x = Array::zeros([blocks], DType::F64).rechunk(&[1]).named("x");
    let y = (&x.gradient(1.0, 0) * 2.0).named("y");
    let graph = LayerGraph::of([y.layer().unwrap().clone()]);
    assert_eq!(graph.layer_named("y").unwrap().spec().count(), blocks);
    let culled = graph.cull(&Keys::One(key("y", 50_000_000))).unwrap();
    let mut numbers = 0;
    for (id, layer) in culled.layers().filter(|(_, layer)| layer.spec().count() > 1) {
        let BlockSet::Some(kept) = culled.kept(id) else { panic!("{} is kept whole", layer.name()) };
        numbers += kept.len();
    }
    assert!(numbers <= 3 * culled.layer_count(), "{numbers} blocks of {} layers", culled.layer_count());
    let whole = graph.cull(&Keys::Grid { name: "y".into(), grid: [blocks].into() }).unwrap();
    assert!(whole.layers().all(|(id, _)| whole.kept(id) == BlockSet::All));
}

#[test]
fn a_key_that_is_not_there_is_told_with_what_is() {
    let error = every_op().cull(&Keys::One(key("stats", 7))).unwrap_err().to_string();
    assert_eq!(
        error,
        "the key ('stats', 7) isn't in the graph: the layer 'stats' makes 3 objects, under keys from ('stats', 0) to ('stats', 2)"
    );
}
