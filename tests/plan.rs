//! The planner's rules, on described machines: no device is touched.

use std::sync::Arc;

use outcrop::annotate::{Annotations, annotate};
use outcrop::block::Block;
use outcrop::collections::Array;
use outcrop::collections::array::{Index, Over};
use outcrop::dtype::DType;
use outcrop::graph::layer::{Layer, Naming};
use outcrop::graph::layer_graph::LayerGraph;
use outcrop::graph::op::{Op, Sink, TransferError};
use outcrop::ids::StepId;
use outcrop::machine::Machine;
use outcrop::plan::known::Known;
use outcrop::plan::{PlanError, plan};
use outcrop::settings::{Config, Settings};
use outcrop::shape::Region;
use outcrop::steps::{Plan, Step, StepKind, is_join};
use outcrop::units::Bytes;

fn machine(name: &str) -> Machine {
    let path = format!("{}/examples/machines/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    Machine::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn settings() -> Settings {
    Config { threads: Some(2), ..Config::default() }.resolve(2)
}

fn layers(arrays: &[&Array]) -> LayerGraph {
    let layers: Vec<Arc<Layer>> = arrays.iter().map(|array| array.layer().unwrap().clone()).collect();
    LayerGraph::from_outputs(&layers).unwrap()
}

fn planned(arrays: &[&Array], machine_name: &str) -> Result<Plan, PlanError> {
    plan(&layers(arrays), &Known::none(), &machine(machine_name), &settings())
}

fn device(name: &str) -> Annotations {
    Annotations::new().set("device", name).unwrap()
}

/// A source layer that reads a host array in place.
fn source(shape: &[usize], chunks: &[usize]) -> Array {
    let values = vec![0f32; shape.iter().product()];
    Array::from_slice(shape, &values).rechunk(chunks)
}

/// The devices of the plan's layers, in order.
fn devices(plan: &Plan) -> Vec<&str> {
    plan.layers.iter().map(|layer| plan.device_names[usize::from(layer.device.0)].as_str()).collect()
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

fn stored(array: &Array) -> Array {
    let layer = array.layer().unwrap();
    let store = Op::Store(Arc::new(Nowhere));
    Array::from_layer(Layer::new(store, vec![layer.clone()], layer.chunks().clone(), layer.dtype()))
}

#[test]
fn a_chain_of_maps_and_a_reduction_become_one_kernel() {
    let x = source(&[64], &[16]);
    let sum = ((&x * 2.0 + 1.0).sqrt()).sum(&Over::all());
    let plan = planned(&[&sum], "cpu-only").unwrap();
    assert_eq!(plan.layers.len(), 2, "{plan}");
    assert_eq!(plan.layers[1].sources.len(), 4);
    let folds = plan.steps.iter().filter(|step| step.kind == StepKind::Fold).count();
    assert_eq!((folds, plan.steps.len()), (4, 4 + 4 + 1 + 1), "{plan}");
}

#[test]
fn a_value_that_others_need_is_not_fused_away() {
    let x = source(&[64], &[16]);
    let y = (&x * 2.0).named("y");
    let z = (&y + 1.0).named("z");
    let plan = planned(&[&y, &z], "cpu-only").unwrap();
    assert_eq!(plan.layers.iter().map(|layer| layer.name.as_str()).collect::<Vec<_>>()[1..], ["y", "z"]);
}

/// `x` is read by the last map and by the rechunk before it: joining that map would make its group wait for
/// itself.
#[test]
fn a_group_never_waits_for_itself() {
    let x = source(&[64], &[16]) * 2.0;
    let y = x.rechunk(&[64]).rechunk(&[16]);
    let plan = planned(&[&(&x + &y + 1.0)], "cpu-only").unwrap();
    let fused: Vec<usize> = plan.layers.iter().map(|layer| layer.sources.len()).collect();
    assert_eq!(fused.iter().max(), Some(&2), "the sum and the last map, no more: {fused:?}");
}

#[test]
fn a_long_chain_fuses_whole() {
    let mut x = source(&[64], &[16]);
    for _ in 0..3000 {
        x = x.sin();
    }
    let plan = planned(&[&x], "cpu-only").unwrap();
    assert_eq!(plan.layers.iter().map(|layer| layer.sources.len()).max(), Some(3000));
}

#[test]
fn case_a02_classes_never_fuse() {
    let x = source(&[4096, 1024], &[1024, 1024]);
    let before = (&x * 2.0).named("before");
    let middle = annotate(device("gpu"), || (&before + 1.0).sqrt().named("middle"));
    let after = (&middle * 3.0).named("after");
    let plan = planned(&[&after], "one-gpu").unwrap();
    assert_eq!(devices(&plan), ["host", "host", "gpu0", "host"], "{plan}");
    assert_eq!(plan.layers[2].sources.len(), 2, "both annotated layers are one kernel");
    let edges: Vec<(u64, u64)> = plan.transfers.iter().map(|edge| (edge.count, edge.bytes)).collect();
    assert_eq!(edges, [(4, 16 << 20), (4, 16 << 20)]);
}

#[test]
fn case_a06_a10_every_source_keeps_its_annotations() {
    let note = |text: &str| Annotations::new().set("x-note", text).unwrap();
    let x = source(&[64], &[64]);
    let y = annotate(note("first"), || &x * 2.0);
    let z = annotate(note("second"), || &y + 1.0);
    let plan = planned(&[&z], "cpu-only").unwrap();
    let sources: Vec<String> =
        plan.layers[1].sources.iter().map(|source| source.annotations.to_string()).collect();
    assert_eq!(sources, ["x-note=\"first\"", "x-note=\"second\""]);
}

#[test]
fn case_a11_the_same_expression_with_and_without_annotations_exists_twice() {
    let x = source(&[64], &[64]);
    let plain = &x * 2.0 + 1.0;
    let y = annotate(device("prefer-gpu"), || &x * 2.0);
    let after = &y + 1.0;
    let graph = layers(&[&plain, &after]);
    assert_eq!(graph.len(), 5, "{graph}");
    let again = layers(&[&plain, &(&x * 2.0 + 1.0)]);
    assert_eq!(again.len(), 3, "equal work is shared");
    assert_eq!(devices(&planned(&[&plain, &after], "one-gpu").unwrap()), ["host", "host", "gpu0", "host"]);
}

#[test]
fn case_b01_everything_unsatisfiable_is_said_at_once() {
    let x = source(&[64], &[64]);
    let want = |key: &str, value: &str| Annotations::new().set(key, value).unwrap();
    let a = annotate(device("gpu"), || (&x * 2.0).named("a"));
    let b = annotate(want("memory", "900 GiB"), || (&x * 3.0).named("b"));
    let c = annotate(want("workers", "gpu7"), || (&x * 4.0).named("c"));
    let licence = Annotations::new().with_resource("licence", 1.0).unwrap();
    let d = annotate(licence, || (&x * 5.0).named("d"));
    let Err(PlanError::Unsatisfiable(all)) = planned(&[&a, &b, &c, &d], "cpu-only") else {
        panic!("planned what can't be met")
    };
    let layers: Vec<&str> = all.iter().map(|one| one.layer.as_str()).collect();
    assert_eq!(layers, ["a", "b", "c", "d"]);
    for (one, word) in all.iter().zip(["gpu", "900", "gpu7", "licence"]) {
        assert!(one.need.contains(word), "{one}");
        assert!(!one.best.is_empty() && !one.fix.is_empty(), "{one}");
    }
}

#[test]
fn case_e09_a_fallback_is_said_and_can_be_denied() {
    let x = source(&[64], &[64]);
    let y = annotate(device("prefer-gpu"), || (&x * 2.0).named("y"));
    let plan = planned(&[&y], "cpu-only").unwrap();
    let layer = &plan.layers[1];
    assert_eq!(devices(&plan)[1], "host");
    assert!(layer.fallback.as_deref().unwrap().contains("no GPU"), "{:?}", layer.fallback);
    let strict = Settings { deny_fallback: true, ..settings() };
    let refused = plan_with(&y, "cpu-only", &strict).unwrap_err();
    assert!(matches!(refused, PlanError::Unsatisfiable(_)), "{refused}");
    assert_eq!(devices(&planned(&[&y], "one-gpu").unwrap())[1], "gpu0");
}

#[test]
fn a_fallback_keeps_the_name_of_the_layer_that_fell_back() {
    let x = source(&[64], &[64]);
    let wished = annotate(device("prefer-gpu"), || (&x * 2.0).named("wished"));
    let after = (&wished + 1.0).named("after");
    let machine = machine("cpu-only");
    let plan = plan(&layers(&[&after]), &Known::none(), &machine, &settings()).unwrap();
    assert_eq!(plan.layers.len(), 2, "both are on the host, and fuse: {plan}");
    let text = outcrop::report::Report::of_plan(&plan, &machine, 0.0).to_string();
    assert!(text.contains("fallback to the host: wished: this machine has no GPU"), "{text}");
}

#[test]
fn more_tasks_than_the_engine_counts_are_refused() {
    let x = Array::zeros([30_000, 30_000], DType::U8).rechunk(&[1, 1]);
    let refused = plan_with(&x.sum(&Over::all()), "cpu-only", &settings()).unwrap_err();
    assert!(matches!(refused, PlanError::TooManyTasks { tasks } if tasks > 900_000_000), "{refused}");
}

#[test]
fn cpu_only_waives_and_says_what() {
    let x = source(&[64], &[64]);
    let y = annotate(device("gpu"), || (&x * 2.0).named("y"));
    let waiving = Settings { cpu_only: true, ..settings() };
    let plan = plan_with(&y, "one-gpu", &waiving).unwrap();
    assert_eq!(devices(&plan)[1], "host");
    assert_eq!(plan.layers[1].fallback.as_deref(), Some("--cpu-only waives device=gpu"));
    let large = device("gpu").set("memory", "900 GiB").unwrap();
    let z = annotate(large, || (&x * 2.0).named("z"));
    let plan = plan_with(&z, "cpu-only", &waiving).unwrap();
    assert!(plan.memories[0].peak < Bytes(1 << 20), "peak {}", plan.memories[0].peak);
}

#[test]
fn a_memory_annotation_counts_in_the_peak() {
    let x = source(&[64], &[64]);
    let roomy = Annotations::new().set("memory", "1 MiB").unwrap();
    let y = annotate(roomy, || (&x * 2.0).named("y"));
    let peak = plan_with(&y, "cpu-only", &settings()).unwrap().memories[0].peak;
    assert_eq!(peak, Bytes(1 << 20));
    let exact = Settings { memory: Some(peak), ..settings() };
    assert_eq!(plan_with(&y, "cpu-only", &exact).unwrap().memories[0].peak, peak);
}

fn plan_with(array: &Array, name: &str, settings: &Settings) -> Result<Plan, PlanError> {
    plan(&layers(&[array]), &Known::none(), &machine(name), settings)
}

/// Sixty-four tasks that wait for as many others wait for one that does: orderings are no product.
#[test]
fn a_layer_waits_for_another_through_one_step() {
    let parent = (source(&[64], &[1]) * 3.0).layer().unwrap().clone();
    let own = annotate(Annotations::new().with_priority(-2.0).unwrap(), || source(&[64], &[1]) * 2.0);
    let own = own.layer().unwrap().clone();
    let sources = std::slice::from_ref(&own);
    let after = vec![parent.clone()];
    let waiting =
        Layer::from_layers(sources, own.body(), own.inputs().to_vec(), after, Naming::Exact("late".into()));
    let graph = LayerGraph::from_outputs(&[waiting.unwrap(), parent]).unwrap();
    let plan = plan(&graph, &Known::none(), &machine("cpu-only"), &settings()).unwrap();
    assert_eq!(plan.orderings.len(), 64 + 64, "{plan}");
    let joins: Vec<usize> = (0..plan.steps.len())
        .filter(|&at| is_join(&plan.steps.at(at), &plan.layer_of(StepId::at(at)).op))
        .collect();
    let [join] = joins[..] else { panic!("one step waits for all: {plan}") };
    let place = |name: &str| plan.layers.iter().position(|layer| layer.name == name).unwrap() as u32;
    let late = place("late");
    let first = plan.steps.iter().take(join).filter(|step| step.kind == StepKind::Map);
    let first: Vec<u32> = first.map(|step| step.layer).collect();
    assert!(first.len() == 64 && !first.contains(&late), "{plan}");
    let join = StepId::at(join);
    assert!(plan.step(join).output == Step::NO_OUTPUT && plan.terms_of(join).resources.is_empty());
}

#[test]
fn case_e01_a_value_is_copied_once_to_each_memory() {
    let x = source(&[1024, 1024], &[1024, 1024]);
    let on = |name: &str| Annotations::new().set("workers", name).unwrap();
    let a = annotate(on("gpu0"), || &x * 2.0);
    let b = annotate(on("gpu0"), || (&x * 3.0).sum(&Over::all()));
    let c = annotate(on("gpu1"), || &x * 4.0);
    let plan = planned(&[&a, &b, &c], "two-unequal-gpus").unwrap();
    let out: Vec<(u16, u64)> =
        plan.transfers.iter().filter(|edge| edge.from.0 == 0).map(|edge| (edge.to.0, edge.count)).collect();
    assert_eq!(out, [(1, 1), (2, 1)], "{plan}");
}

#[test]
fn only_needed_blocks_are_planned() {
    let x = source(&[1000, 10], &[10, 10]);
    let y = (&x * 2.0).slice(&[Index::Range { start: Some(500), stop: Some(510), step: None }]);
    let plan = planned(&[&y], "cpu-only").unwrap();
    assert_eq!(plan.steps.len(), 3, "{plan}");
}

#[test]
fn streams_keep_few_blocks_alive() {
    let x = source(&[1000, 1000], &[10, 1000]);
    let y = (x.gradient(1.0, 0) + x.gradient(1.0, 1)).named("y");
    let (first, second) = (stored(&y), stored(&(&y * 2.0).astype(DType::U8)));
    let plan = planned(&[&first, &second], "cpu-only").unwrap();
    let block = 10 * 1000 * 4;
    assert!(
        plan.memories[0].peak.0 <= 2 * block,
        "peak {} of blocks of {}",
        plan.memories[0].peak,
        Bytes(block)
    );
}

#[test]
fn a_reduction_keeps_few_states_alive() {
    let x = Array::zeros([1 << 20], DType::F32).rechunk(&[1 << 8]);
    let mean = (&x + 1.0).mean(&Over::all());
    let plan = planned(&[&mean], "cpu-only").unwrap();
    let state = 16;
    assert!(plan.memories[0].peak.0 <= 40 * state, "peak {}", plan.memories[0].peak);
}

#[test]
fn a_budget_below_the_peak_is_refused_with_the_figures() {
    let x = source(&[1024, 1024], &[256, 1024]);
    let y = (&x * 2.0).named("y");
    let tight = Settings { memory: Some(Bytes(1 << 20)), ..settings() };
    let refused = plan_with(&y, "cpu-only", &tight).unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("4.0 MiB") && text.contains("1.0 MiB") && text.contains("host"), "{text}");
}

#[test]
fn case_b09_priority_comes_before_depth() {
    let x = source(&[64], &[16]);
    let slow = (&x * 2.0).sum(&Over::all()).named("slow");
    let urgent = annotate(Annotations::new().set("priority", 10).unwrap(), || {
        (&x * 3.0).sum(&Over::all()).named("urgent")
    });
    let plan = planned(&[&slow, &urgent], "cpu-only").unwrap();
    let last_urgent =
        plan.steps.iter().rposition(|s| plan.layers[s.layer as usize].name == "urgent").unwrap();
    let first_slow = plan.steps.iter().position(|s| plan.layers[s.layer as usize].name == "slow").unwrap();
    assert!(last_urgent < first_slow, "{plan}");
}

#[test]
fn equal_input_gives_equal_plans() {
    let text = || {
        let x = Array::zeros([4096, 64], DType::F32).rechunk(&[512, 64]);
        let y = annotate(device("prefer-gpu"), || (x.gradient(1.0, 0)).sqrt());
        planned(&[&y.mean(&Over::axis(0)), &y], "two-unequal-gpus").unwrap().to_string()
    };
    assert_eq!(text(), text());
}

#[test]
fn stencils_are_padded_where_the_device_wants_it() {
    let x = source(&[40, 8], &[10, 8]);
    let y = annotate(device("gpu"), || x.gradient(1.0, 0));
    let plan = planned(&[&y], "one-gpu").unwrap();
    let pads = plan.steps.iter().filter(|step| matches!(step.kind, StepKind::Pad { .. })).count();
    assert_eq!(pads, 4, "{plan}");
    let host = planned(&[&x.gradient(1.0, 0)], "cpu-only").unwrap();
    assert!(!host.steps.iter().any(|step| matches!(step.kind, StepKind::Pad { .. })));
}
