//! Plans over values that exist already, and plans that keep values: which steps there are, and which there aren't.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use outcrop::annotate::{Annotations, Overrides, annotate};
use outcrop::block::Block;
use outcrop::collections::Array;
use outcrop::collections::array::{Index, Over};
use outcrop::device::host::Host;
use outcrop::exec::{Control, Devices, Engine, Limits, RunInputs, RunOptions};
use outcrop::graph::layer::{Layer, labelled};
use outcrop::graph::layer_graph::LayerGraph;
use outcrop::graph::op::{Op, Sink, TransferError};
use outcrop::ids::StepId;
use outcrop::machine::{DeviceId, Machine};
use outcrop::plan::known::{Known, KnownAt};
use outcrop::plan::plan;
use outcrop::settings::{Config, Settings};
use outcrop::shape::Region;
use outcrop::steps::{Plan, Step, StepKind};
use outcrop::value::Value;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn machine(name: &str) -> Machine {
    let path = format!("{}/examples/machines/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    Machine::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn settings() -> Settings {
    Config { threads: Some(2), ..Config::default() }.resolve(2)
}

fn graph(arrays: &[&Array]) -> LayerGraph {
    LayerGraph::from_outputs(&arrays.iter().map(|array| array.layer().unwrap().clone()).collect::<Vec<_>>())
        .unwrap()
}

fn planned(graph: &LayerGraph, known: &Known) -> Plan {
    plan(graph, known, &machine("cpu-only"), &settings()).unwrap()
}

fn known(blocks: &[(&str, usize)]) -> Known {
    let mut known = Known::none();
    blocks.iter().for_each(|&(layer, block)| known.add(layer, block, KnownAt::Memory));
    known
}

fn checkpoint() -> Annotations {
    Annotations::new().with_checkpoint(true).unwrap()
}

fn source() -> Array {
    Array::from_slice([8], &[1f32; 8]).rechunk(&[2]).named("x")
}

/// Steps of a kind by the name of their layer.
fn steps(plan: &Plan, kind: StepKind) -> Vec<(&str, u64)> {
    let of_kind = plan.steps.iter().filter(|step| step.kind == kind);
    of_kind.map(|step| (plan.layers[step.layer as usize].name.as_str(), step.block)).collect()
}

#[test]
fn known_blocks_are_recalled_and_what_only_they_needed_is_not_made() {
    let y = (source() * 2.0).named("y");
    let sum = y.sum(&Over::all()).named("sum");
    let plan = planned(&graph(&[&sum]), &known(&[("y", 1), ("y", 3), ("elsewhere", 0)]));
    insta::assert_snapshot!(plan.to_string());
}

#[test]
fn a_known_result_leaves_nothing_to_do() {
    let y = (source() * 2.0).named("y");
    let sum = y.sum(&Over::all()).named("sum");
    let plan = planned(&graph(&[&sum]), &known(&[("sum", 0), ("y", 2)]));
    assert_eq!(plan.steps.len(), 1, "{plan}");
    assert_eq!((steps(&plan, StepKind::Recall), plan.steps.at(0).output), (vec![("sum", 0)], 0));
}

#[test]
fn what_a_gpu_reads_of_known_values_is_copied_to_it() {
    let wish = || Annotations::new().set("device", "gpu").unwrap();
    let y = annotate(wish(), || (source() * 2.0).named("y"));
    let z = annotate(wish(), || y.sum(&Over::all()).named("z"));
    let plan = plan(&graph(&[&z]), &known(&[("y", 0)]), &machine("one-gpu"), &settings()).unwrap();
    let copied = plan.steps.iter().enumerate().find(|(_, step)| {
        step.kind == StepKind::Transfer && plan.layers[step.layer as usize].name == "y" && step.block == 0
    });
    let from = plan.operands(StepId::at(copied.unwrap().0))[0].step;
    assert_eq!((plan.step(from).kind, plan.step(from).device), (StepKind::Recall, DeviceId::HOST), "{plan}");
}

#[test]
fn checkpoints_are_not_fused_into_their_readers() {
    let x = source();
    let marked = annotate(checkpoint(), || (&x + 1.0).named("marked"));
    let after = ((marked * 2.0) - 3.0).named("after");
    let roots = |graph: &LayerGraph, settings: &Settings| -> Vec<String> {
        let plan = plan(graph, &Known::none(), &machine("cpu-only"), settings).unwrap();
        plan.layers.iter().map(|layer| layer.name.clone()).collect()
    };
    assert_eq!(roots(&graph(&[&after]), &settings()), ["x", "marked", "after"]);
    let none = Overrides::new().with("marked", Annotations::new().with_checkpoint(false).unwrap()).unwrap();
    let overridden = Settings { overrides: none, ..settings() };
    assert_eq!(roots(&graph(&[&after]), &overridden), ["x", "after"]);
    let all = Settings { annotations: checkpoint(), ..settings() };
    assert_eq!(roots(&graph(&[&((&x * 2.0).named("a") - 1.0).named("b")]), &all), ["x", "a", "b"]);
}

/// One expression of a pipeline file makes several layers under one label; its value is what is kept.
#[test]
fn the_layers_of_one_label_are_one_checkpoint() {
    let x = source();
    let hill = labelled("hill", || annotate(checkpoint(), || (((&x + 1.0) * 2.0) - 3.0).named("hill")));
    let after = hill.sum(&Over::all()).named("after");
    let graph = graph(&[&after]);
    let plan = planned(&graph, &Known::keeping(graph.contents()));
    assert_eq!(
        plan.layers.iter().map(|layer| layer.name.as_str()).collect::<Vec<_>>(),
        ["x", "hill", "after"]
    );
    let kept: Vec<&str> = steps(&plan, StepKind::Keep).into_iter().map(|(layer, _)| layer).collect();
    assert_eq!(kept, ["hill", "hill", "hill", "hill", "after"]);
}

#[derive(Debug)]
struct Nowhere;

impl Sink for Nowhere {
    fn describe(&self) -> String {
        "nowhere".to_owned()
    }
    fn ordered(&self) -> bool {
        true
    }
    fn write(&self, _region: &Region, _block: &Block) -> Result<(), TransferError> {
        Ok(())
    }
    fn restart(&self) -> Result<(), TransferError> {
        Ok(())
    }
    fn finish(&self) -> Result<(), TransferError> {
        Ok(())
    }
}

/// Sources have their values anyway; of a stored array the blocks are kept, since its file may not come about.
#[test]
fn checkpoints_outputs_and_what_sinks_read_are_kept_unless_they_are_known() {
    let x = source();
    let between = annotate(checkpoint(), || (&x + 1.0).named("between"));
    let stored = (&between * 2.0).named("stored");
    let total = between.sum(&Over::all()).named("total");
    let store = |array: &Array| {
        let layer = array.layer().unwrap();
        let op = Op::Store(Arc::new(Nowhere));
        Array::from_layer(Layer::new(op, vec![layer.clone()], layer.chunks().clone(), layer.dtype()))
    };
    let graph = graph(&[&store(&stored).named("write"), &total]);
    let mut known = Known::keeping(graph.contents());
    known.add("between", 2, KnownAt::Store);
    let plan = planned(&graph, &known);
    insta::assert_snapshot!(plan.to_string());
    let counts = |name: &str| {
        let layer = plan.layers.iter().find(|layer| layer.name == name).unwrap();
        (layer.tasks, layer.recalled, layer.kept)
    };
    assert_eq!((counts("between"), counts("stored"), counts("total")), ((3, 1, 3), (4, 0, 4), (6, 0, 1)));
    assert!(steps(&planned(&graph, &Known::none()), StepKind::Keep).is_empty());
}

#[test]
fn a_layer_that_no_other_process_knows_is_not_kept_and_the_plan_says_so() {
    let x = source();
    let opaque = x.map_blocks("secret", |block| block.to_vec::<f32>().unwrap());
    let after = annotate(checkpoint(), || (&opaque + 1.0).named("after"));
    let known_function =
        annotate(checkpoint(), || x.map_blocks(("first", 1), |block| block.to_vec::<f32>().unwrap()));
    let graph = graph(&[&after, &known_function.named("fine")]);
    let plan = planned(&graph, &Known::keeping(graph.contents()));
    let layer = |name: &str| plan.layers.iter().find(|layer| layer.name == name).unwrap();
    let refused = layer("after").not_kept.as_deref().unwrap();
    assert!(
        refused.contains("does what no other process can recognise") && refused.contains("(\"secret\", 1)"),
        "{refused}"
    );
    assert_eq!((layer("after").kept, layer("fine").kept, &layer("fine").not_kept), (0, 4, &None));
}

/// What the annotations of a plan's keeping steps are: those of a copy.
#[test]
fn keeping_and_recalling_take_no_resources() {
    let wish = checkpoint()
        .set("retries", 2)
        .unwrap()
        .set("memory", "1 MiB")
        .unwrap()
        .with_resource("tape", 1.0)
        .unwrap();
    let y = annotate(wish, || (source() * 2.0).named("y"));
    let graph = graph(&[&y]);
    let mut known = Known::keeping(graph.contents());
    known.add("y", 0, KnownAt::Store);
    let resources = [("tape".to_owned(), 1.0)].into();
    let settings = Config { threads: Some(1), resources: Some(resources), ..Config::default() }.resolve(1);
    let plan = plan(&graph, &known, &machine("cpu-only"), &settings).unwrap();
    let mut seen = BTreeSet::new();
    for step in plan.steps.iter().filter(|step| plan.layers[step.layer as usize].name == "y") {
        let terms = &plan.terms[step.terms as usize];
        assert_eq!(terms.retries, 2);
        assert_eq!(
            (terms.resources.len(), terms.reserve > 0),
            if step.kind == StepKind::Map { (1, true) } else { (0, false) }
        );
        seen.insert(step.kind.name());
    }
    assert_eq!(seen, BTreeSet::from(["keep", "map", "recall"]));
}

/// Values that are handed over are taken as they are: these say another thing than what would be computed.
#[test]
fn a_run_takes_the_values_that_it_is_given() {
    let y = (source() * 2.0).named("y");
    let z = (&y + 1.0).named("z");
    let plan = Arc::new(planned(&graph(&[&y, &z]), &known(&[("y", 1), ("z", 3)])));
    let value = |value: f32| Value::from(Block::from_slice([2], &[value; 2]).unwrap());
    let values = [(("y".into(), 1), value(10.0)), (("z".into(), 3), value(-1.0))];
    let inputs = RunInputs { values: Arc::new(values.into()), ..RunInputs::default() };
    let devices = Devices::new(vec![Some(Arc::new(Host::new(None)))]);
    let engine = Engine::new(&Limits::of(&plan));
    let run = |inputs: RunInputs| {
        engine.run(&plan, &devices, RunOptions { inputs, ..RunOptions::default() }, &Control::new())
    };
    let outcome = run(inputs).unwrap();
    let results: Vec<Vec<f32>> =
        outcome.results.iter().map(|result| result.array().unwrap().to_vec().unwrap()).collect();
    assert_eq!(results[0], [2., 2., 10., 10., 2., 2., 2., 2.]);
    assert_eq!(results[1], [3., 3., 11., 11., 3., 3., -1., -1.]);
    let none = run(RunInputs::default()).unwrap_err().to_string();
    assert!(none.contains("there is no store"), "{none}");
}

/// Steps that compute, by layer, kind and block, each as often as it is there.
type Computed = BTreeMap<(String, String, u64), usize>;

/// What a plan without known values has left when they are there: found by walking back from what is asked.
fn brute_force(plan: &Plan, known: &Known) -> (Computed, BTreeSet<(String, u64)>) {
    let (mut computed, mut recalled) = (Computed::new(), BTreeSet::new());
    let readers = plan.readers();
    let is_asked = |id: &StepId| readers[id.index()] == 0 || plan.step(*id).output != Step::NO_OUTPUT;
    let mut open: Vec<StepId> = (0..plan.steps.len()).map(StepId::at).filter(is_asked).collect();
    let mut seen: BTreeSet<StepId> = open.iter().copied().collect();
    while let Some(id) = open.pop() {
        let (step, layer) = (plan.step(id), plan.layer_of(id));
        let is_value = !matches!(step.kind, StepKind::Fold | StepKind::Combine | StepKind::Load);
        if is_value && known.at(&layer.root, step.block as usize).is_some() {
            recalled.insert((layer.name.clone(), step.block));
            continue;
        }
        *computed.entry((layer.name.clone(), step.kind.name().to_owned(), step.block)).or_insert(0) += 1;
        open.extend(plan.operands(id).iter().map(|operand| operand.step).filter(|&step| seen.insert(step)));
    }
    (computed, recalled)
}

fn what_is_left(plan: &Plan) -> (Computed, BTreeSet<(String, u64)>) {
    let (mut computed, mut recalled) = (Computed::new(), BTreeSet::new());
    for step in plan.steps.iter() {
        let name = plan.layers[step.layer as usize].name.clone();
        if step.kind == StepKind::Recall {
            assert!(recalled.insert((name, step.block)), "recalled twice");
        } else {
            *computed.entry((name, step.kind.name().to_owned(), step.block)).or_insert(0) += 1;
        }
    }
    (computed, recalled)
}

/// A pipeline over 8 × 6 arrays: each choice makes an array of two that are there.
fn pipeline(choices: &[(u8, u8, u8, bool)]) -> Vec<Array> {
    let x = Array::from_slice([8, 6], &[1f32; 48]).rechunk(&[3, 2]).named("x");
    let mut arrays = vec![x];
    for (at, &(op, first, second, is_checkpoint)) in choices.iter().enumerate() {
        let a = arrays[usize::from(first) % arrays.len()].clone();
        let b = arrays[usize::from(second) % arrays.len()].clone();
        let name = format!("a{at}");
        let wish = if is_checkpoint { checkpoint() } else { Annotations::new() };
        arrays.push(annotate(wish, || {
            let made = match op % 9 {
                0 => &a + &b,
                1 => &a * 2.0,
                2 => a.rechunk(&[4, 6]),
                3 => a.rechunk(&[2, 5]),
                4 => a.slice(&[Index::Range { start: None, stop: None, step: Some(-1) }]),
                5 => a.gradient(1.0, 0),
                6 => &a - a.sum(&Over::axis(0)),
                7 => &b + a.max(&Over::all()),
                _ => a.map_blocks(("twice", 1), |block| block.to_vec::<f32>().unwrap()),
            };
            made.named(&name)
        }));
    }
    arrays
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(7), failure_persistence: None, cases: 300, ..Default::default() })]

    #[test]
    fn what_is_computed_is_what_is_reached_without_known_values(
        choices in prop::collection::vec((any::<u8>(), any::<u8>(), any::<u8>(), any::<bool>()), 1..12),
        outputs in prop::collection::vec(any::<u8>(), 1..3),
        picks in prop::collection::vec((any::<u8>(), any::<u8>()), 0..40),
    ) {
        let arrays = pipeline(&choices);
        let outputs: Vec<&Array> = outputs.iter().map(|&at| &arrays[1 + usize::from(at) % choices.len()]).collect();
        let graph = graph(&outputs);
        let all = planned(&graph, &Known::none());
        // Layers that have no kernel of their own would get one by being known, and the plans could not be compared.
        let roots: Vec<_> = all.layers.iter().filter(|layer| !matches!(layer.op, Op::Load(_))).collect();
        let mut known = Known::none();
        for &(layer, block) in picks.iter().filter(|_| !roots.is_empty()) {
            let layer = roots[usize::from(layer) % roots.len()];
            known.add(&layer.root, usize::from(block) % layer.chunks.blocks(), KnownAt::Memory);
        }
        let rest = planned(&graph, &known);
        prop_assert_eq!(what_is_left(&rest), brute_force(&all, &known));
    }
}
