use std::collections::BTreeMap;

use super::*;
use crate::annotate::{Annotations, KeyFunction, Value, annotate};
use crate::collections::Array;
use crate::collections::array::{Index, Over};
use crate::key::Key;
use crate::machine::Machine;
use crate::plan::known::KnownAt;
use crate::plan::plan;
use crate::settings::{Config, Settings};
use crate::steps::{Plan, StepKind};

const GPU: DeviceId = DeviceId(1);

fn machine() -> Machine {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/machines/one-gpu.toml");
    Machine::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn settings() -> Settings {
    Config { threads: Some(2), ..Config::default() }.resolve(2)
}

fn with(key: &str, value: impl Into<Value>) -> Annotations {
    Annotations::new().set("device", "gpu").unwrap().set(key, value).unwrap()
}

/// Four blocks of four rows.
fn source() -> Array {
    Array::from_slice([16, 2], &[1f32; 32]).rechunk(&[4, 2]).named("x")
}

fn graph(arrays: &[&Array]) -> LayerGraph {
    LayerGraph::of(arrays.iter().map(|array| array.layer().unwrap().clone()))
}

fn in_parts(layers: &[(&str, usize)]) -> Known {
    let mut known = Known::none();
    layers.iter().for_each(|&(layer, parts)| known.add_parts(layer, GPU, parts));
    known
}

fn planned(arrays: &[&Array], known: &Known) -> Plan {
    plan(&graph(arrays), known, &machine(), &settings()).unwrap()
}

/// The layers of a plan: what they are called, where they are, and their blocks.
fn layers(plan: &Plan) -> Vec<(&str, &str, usize)> {
    let device = |layer: &crate::steps::PlanLayer| plan.device_names[usize::from(layer.device.0)].as_str();
    plan.layers.iter().map(|layer| (layer.name.as_str(), device(layer), layer.chunks.blocks())).collect()
}

#[test]
fn a_layer_is_cut_made_and_joined_under_its_name() {
    let y = annotate(with("x-note", "kept"), || (source() * 2.0).named("y"));
    let plan = planned(&[&y], &in_parts(&[("y", 2)]));
    let want = [("x", "host", 4), ("x cut", "host", 8), ("y in parts", "gpu0", 8), ("y", "host", 4)];
    assert_eq!(layers(&plan), want, "{plan}");
    let (parts, joined) = (&plan.layers[2], &plan.layers[3]);
    assert_eq!(&*joined.root, "y");
    assert!(joined.sources.is_empty() && joined.annotations.is_empty());
    assert_eq!(
        (&*parts.sources[0].name, parts.annotations.to_string()),
        ("y", y.layer().unwrap().annotations().to_string())
    );
    assert_eq!((parts.whole_root(), parts.whole(5).1), ("y", 2));
    assert_eq!(plan.transfers.iter().map(|edge| edge.count).collect::<Vec<_>>(), [8, 8]);
}

#[test]
fn fused_layers_are_cut_alike_and_fuse_again() {
    let (x, row) = (source(), Array::from_slice([2], &[1f32, 2.0]).named("row"));
    let y = annotate(with("retries", 2), || (((&x * &row).named("a") + 1.0).named("b") - &x).named("y"));
    let plan = planned(&[&y], &in_parts(&[("a", 4), ("b", 4), ("y", 4)]));
    let want = [("x", 4), ("x cut", 16), ("row", 1), ("y in parts", 16), ("y", 4)];
    assert_eq!(
        layers(&plan).iter().map(|&(name, _, blocks)| (name, blocks)).collect::<Vec<_>>(),
        want,
        "{plan}"
    );
    assert_eq!(
        plan.layers[3].sources.iter().map(|source| &*source.name).collect::<Vec<_>>(),
        ["a", "b", "y"]
    );
}

/// A map is cut along the axes that the reduction keeps, whatever is cut first otherwise.
#[test]
fn a_map_is_cut_like_the_reduction_that_it_fuses_with() {
    let x = Array::from_slice([8, 8], &[1f32; 64]).rechunk(&[8, 8]).named("x");
    let sum = annotate(with("retries", 2), || (&x * 2.0).named("a").sum(&Over::axis(0)).named("sum"));
    let plan = planned(&[&sum], &in_parts(&[("a", 2), ("sum", 2)]));
    let want = [("x", "host", 1), ("x cut", "host", 2), ("sum in parts", "gpu0", 2), ("sum", "host", 1)];
    assert_eq!(layers(&plan), want, "{plan}");
    assert_eq!(plan.layers[1].chunks.largest_block(), 32);
    assert_eq!(plan.layers[1].chunks.grid(), [1, 2].into());
}

#[test]
fn what_cannot_be_cut_without_another_result_leaves() {
    let x = source();
    let one = Array::from_slice([1], &[1f32]);
    let wish = with("retries", 2);
    let cases: Vec<(Array, usize)> = annotate(wish, || {
        vec![
            ((&x * 2.0).named("map"), 8),
            (x.slice(&[Index::At(3)]).named("slice"), 2),
            (x.sum(&Over::axis(1)).named("rows"), 2),
            // Two columns can't be told apart and keep their order of summation.
            (x.sum(&Over::axis(0)).named("columns"), 1),
            (x.sum(&Over::all()).named("all"), 1),
            ((&one + 1.0).named("one"), 1),
            ((x.slice(&[Index::Range { start: Some(0), stop: Some(0), step: None }]) + 1.0).named("none"), 2),
        ]
    });
    for (array, most) in cases {
        let (graph, mut known) = (graph(&[&array]), Known::none());
        let layer = array.layer().unwrap();
        let names = [layer.shared_name().clone(), "elsewhere".into()];
        let mut remedies = 0;
        while relieve(&mut known, &graph, &names, GPU, "out of memory") {
            remedies += 1;
        }
        assert_eq!(known.parts(layer, GPU), most, "{}", layer.name());
        assert!(known.is_in_turn(GPU) && known.too_small(layer, GPU).is_some());
        assert_eq!(remedies, 2 + most.ilog2(), "{}", layer.name());
    }
}

#[test]
fn what_is_finished_is_not_made_again() {
    let y = annotate(with("retries", 2), || (source() * 2.0).named("y"));
    let mut known = in_parts(&[("y", 2)]);
    known.add("y", 1, KnownAt::Memory);
    let plan = planned(&[&y], &known);
    let steps = |kind: StepKind| plan.steps.iter().filter(move |step| step.kind == kind).count();
    assert_eq!((steps(StepKind::Map), steps(StepKind::Recall)), (6, 1), "{plan}");
}

/// A checkpoint keeps whole blocks, as it would have, and is read where they are.
#[test]
fn checkpoints_keep_what_is_joined() {
    let a = annotate(with("checkpoint", true), || (source() * 2.0).named("a"));
    let y = annotate(with("retries", 2), || (&a + 1.0).named("y"));
    let graph = graph(&[&y]);
    let mut known = Known::keeping(graph.contents());
    for layer in ["a", "y"] {
        known.add_parts(layer, GPU, 2);
    }
    let plan = plan(&graph, &known, &machine(), &settings()).unwrap();
    let mut kept: BTreeMap<&str, usize> = BTreeMap::new();
    for step in plan.steps.iter().filter(|step| step.kind == StepKind::Keep) {
        *kept.entry(&plan.layers[step.layer as usize].root).or_default() += 1;
    }
    assert_eq!(kept, [("a", 4), ("y", 4)].into(), "{plan}");
}

#[test]
fn parts_have_what_functions_say_of_their_block() {
    let row = |key: &Key| Value::Int(key.index().map_or(0, |at| at[0]) as i128);
    let by_row = |name| KeyFunction::new(name, row);
    let wish = with("retries", by_row("again")).set("priority", by_row("first")).unwrap();
    let y = annotate(wish, || (source() * 2.0).named("y"));
    let plan = planned(&[&y], &in_parts(&[("y", 2)]));
    let mut maps = Vec::new();
    for step in plan.steps.iter().filter(|step| step.kind == StepKind::Map) {
        maps.push((plan.terms[step.terms as usize].retries, step.block / 2));
    }
    let joined: Vec<u64> = plan
        .steps
        .iter()
        .filter(|step| &*plan.layers[step.layer as usize].root == "y")
        .map(|step| step.block)
        .collect();
    assert_eq!(maps, [3, 3, 2, 2, 1, 1, 0, 0].map(|row| (row, u64::from(row))));
    assert_eq!(joined, [3, 2, 1, 0], "{plan}");
}

#[test]
fn a_device_in_turn_starts_nothing_before_what_comes_first() {
    let y = annotate(with("retries", 2), || (source() * 2.0).named("y"));
    let free = planned(&[&y], &Known::none());
    assert!(free.orderings.is_empty());
    let mut known = Known::none();
    known.add_in_turn(GPU);
    let plan = planned(&[&y], &known);
    let there: Vec<_> =
        (0..plan.steps.len()).map(crate::ids::StepId::at).filter(|&id| plan.step(id).device == GPU).collect();
    assert_eq!(there.len(), 12);
    for pair in there.windows(2) {
        let reads = plan.operands(pair[1]).iter().any(|operand| operand.step == pair[0]);
        assert!(reads || plan.orderings.contains(&(pair[0], pair[1])), "{plan}");
    }
}

#[test]
fn blocks_above_what_a_buffer_holds_are_made_in_parts_from_the_start() {
    let y = annotate(with("x-note", "kept"), || (source() * 2.0).named("y"));
    let planned = |limit: u64| {
        let mut machine = machine();
        machine.devices[1].limits.binding_bytes_max = Some(limit);
        plan(&graph(&[&y]), &Known::none(), &machine, &settings())
    };
    assert_eq!(layers(&planned(32).unwrap()), [("x", "host", 4), ("y", "gpu0", 4)], "a block is 32 bytes");
    let parts = planned(16).unwrap();
    let want = [("x", "host", 4), ("x cut", "host", 8), ("y in parts", "gpu0", 8), ("y", "host", 4)];
    assert_eq!(layers(&parts), want, "{parts}");
    assert!(parts.layers[2].reason.contains("each block in up to 2 parts"), "{}", parts.layers[2].reason);
    // An element is four bytes.
    let error = planned(3).unwrap_err().to_string();
    assert!(error.contains("chunks of at most 3 B"), "{error}");
}

#[test]
fn parts_are_no_more_than_a_buffer_needs() {
    let layer = |array: &Array| array.layer().unwrap().clone();
    let y = layer(&(source() * 2.0));
    let counts = [64, 32, 31, 16, 8, 4, 3].map(|limit| parts_within(&y, limit, Order::Kept));
    assert_eq!(counts, [Some(1), Some(1), Some(2), Some(2), Some(4), Some(8), None]);
    let total = layer(&source().sum(&Over::all()));
    let within = |limit, order| parts_within(&total, limit, order);
    assert_eq!((within(32, Order::Kept), within(31, Order::Kept)), (Some(1), None));
    assert_eq!((within(31, Order::Free), within(7, Order::Free)), (Some(2), Some(8)));
}
