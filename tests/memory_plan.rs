//! Plans under memory budgets: what moves, what doesn't, and what is refused. No device is touched.

use std::sync::Arc;

use outcrop::collections::Array;
use outcrop::collections::array::Over;
use outcrop::dtype::DType;
use outcrop::graph::layer::Layer;
use outcrop::graph::layer_graph::LayerGraph;
use outcrop::machine::{Machine, MemoryId};
use outcrop::plan::known::Known;
use outcrop::plan::{PlanError, plan};
use outcrop::report::Report;
use outcrop::settings::{Config, Settings};
use outcrop::steps::{Plan, StepKind};
use outcrop::units::Bytes;

const GIB: u64 = 1 << 30;

fn settings(memory: Option<u64>) -> Settings {
    Config { threads: Some(2), memory: memory.map(Bytes), ..Config::default() }.resolve(2)
}

fn planned(arrays: &[&Array], settings: &Settings) -> Result<Plan, PlanError> {
    planned_on(arrays, &Machine::host_only(2, Bytes(256 * GIB)), settings)
}

fn planned_on(arrays: &[&Array], machine: &Machine, settings: &Settings) -> Result<Plan, PlanError> {
    let layers: Vec<Arc<Layer>> = arrays.iter().map(|array| array.layer().unwrap().clone()).collect();
    plan(&LayerGraph::from_outputs(&layers).unwrap(), &Known::none(), machine, settings)
}

/// Blocks that are computed, and read by two others: they aren't fused away.
fn blocks(count: usize, elements: usize) -> Array {
    Array::zeros([count * elements], DType::F32).rechunk(&[elements]).cos().named("blocks")
}

/// Every block is needed again once all of them have been summed.
fn centred(blocks: &Array) -> Array {
    let mean = blocks.mean(&Over::all()).named("mean");
    (blocks - &mean).abs().max(&Over::all()).named("spread")
}

fn count(plan: &Plan, kind: StepKind) -> usize {
    plan.steps.iter().filter(|step| step.kind == kind).count()
}

#[test]
fn what_does_not_fit_is_spilled_once_and_what_fits_is_not() {
    let array = centred(&blocks(64, 1 << 16));
    let free = planned(&[&array], &settings(None)).unwrap();
    let peak = free.memories[0].peak.0;
    assert_eq!((free.disk, free.memories.len(), count(&free, StepKind::Spill)), (None, 1, 0));
    let exact = planned(&[&array], &settings(Some(peak))).unwrap();
    assert_eq!(exact.to_string().replace("256.0 GiB", "x"), {
        let budget = format!("{} of 256.0 GiB", Bytes(peak));
        free.to_string().replace(&budget, &format!("{0} of {0}", Bytes(peak)))
    });
    for share in [70, 50, 30, 10] {
        let plan = planned(&[&array], &settings(Some(peak * share / 100))).unwrap();
        assert!(plan.memories[0].peak.0 <= peak * share / 100, "{}", plan.memories[0].peak);
        assert_eq!((plan.disk, &plan.memory_names[1]), (Some(MemoryId(1)), &"disk".to_owned()));
        let (spills, reloads) = (count(&plan, StepKind::Spill), count(&plan, StepKind::Reload));
        let above = 64 * (100 - share as usize) / 100;
        assert!((above..=above + 8).contains(&spills), "{share} %: {spills} spills");
        assert_eq!(spills, reloads, "{share} %");
        let edges: Vec<(u16, u16, u64)> =
            plan.transfers.iter().map(|edge| (edge.from.0, edge.to.0, edge.count)).collect();
        assert_eq!(edges, [(0, 1, spills as u64), (1, 0, reloads as u64)]);
        assert_eq!(plan.memories[1].peak.0, spills as u64 * 4 * (1 << 16));
    }
}

#[test]
fn a_spilled_plan_shows_what_moves() {
    let array = centred(&blocks(4, 1 << 10));
    let machine = Machine::host_only(2, Bytes(10 << 10));
    let plan = planned_on(&[&array], &machine, &settings(None)).unwrap();
    let report = Report::of_plan(&plan, &machine, 0.0);
    insta::assert_snapshot!(format!("{plan}\n{report}\n{}", report.summary()));
}

#[test]
fn a_task_that_cannot_fit_is_refused_with_the_figures() {
    let array = centred(&blocks(4, 1 << 18)).named("spread");
    let refused = planned(&[&array], &settings(Some(600 << 10))).unwrap_err();
    let PlanError::Memory { memory, needs, fixed, budget, layer } = &refused else { panic!("{refused}") };
    assert_eq!((memory.as_str(), *budget, layer.as_str()), ("host", Bytes(600 << 10), "blocks"));
    assert!(needs.0 >= 1 << 20 && fixed.0 < 100, "{refused}");
    assert!(refused.to_string().contains("use smaller chunks"), "{refused}");
    let enough = planned(&[&array], &settings(Some(needs.0 + 64))).unwrap();
    assert!(count(&enough, StepKind::Spill) > 0);
}

#[test]
fn spilling_can_be_turned_off_and_limited() {
    let array = centred(&blocks(16, 1 << 16));
    let tight = settings(Some((8 * 4) << 16));
    let refused = planned(&[&array], &Settings { spill: false, ..tight.clone() }).unwrap_err();
    assert!(matches!(refused, PlanError::OverBudget { .. }), "{refused}");
    assert!(refused.to_string().contains("spilled to disk"), "{refused}");
    let limit = |blocks: u64| Settings { spill_limit: Some(Bytes((blocks * 4) << 16)), ..tight.clone() };
    let refused = planned(&[&array], &limit(2)).unwrap_err();
    assert!(matches!(refused, PlanError::SpillLimit { .. }), "{refused}");
    let plan = planned(&[&array], &limit(14)).unwrap();
    assert_eq!(plan.memories[1].budget, Some(Bytes((14 * 4) << 16)));
}

#[test]
fn results_stay_in_memory() {
    let y = blocks(8, 1 << 16);
    let refused = planned(&[&y], &settings(Some(1 << 20))).unwrap_err();
    let PlanError::Memory { needs, fixed, .. } = refused else { panic!("{refused}") };
    assert_eq!((needs, fixed), (Bytes(2 << 20), Bytes(2 << 20)));
}

#[test]
fn values_of_a_device_make_room_through_the_host() {
    let path = format!("{}/examples/machines/one-gpu.toml", env!("CARGO_MANIFEST_DIR"));
    let mut machine = Machine::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap();
    let gpu = outcrop::annotate::Annotations::new().set("device", "gpu").unwrap();
    let array = outcrop::annotate::annotate(gpu, || centred(&blocks(32, 1 << 16)));
    let free = planned_on(&[&array], &machine, &settings(None)).unwrap();
    let (host, device) = (free.memories[0].peak.0, free.memories[1].peak.0);
    machine.memories[1].bytes = Some(Bytes(device / 2));
    let to_host = planned_on(&[&array], &machine, &settings(None)).unwrap();
    assert_eq!(to_host.disk, None, "the host has room");
    assert!(to_host.memories[1].peak.0 <= device / 2);
    assert!(
        to_host.transfers.iter().any(|edge| edge.from.0 == 1 && edge.count > 10),
        "{:?}",
        to_host.transfers
    );
    let tight = settings(Some(host.max(1 << 20)));
    let to_disk = planned_on(&[&array], &machine, &tight).unwrap();
    assert_eq!(to_disk.disk, Some(MemoryId(2)));
    for memory in &to_disk.memories[..2] {
        assert!(Some(memory.peak) <= memory.budget, "{memory:?}");
    }
}

#[test]
fn case_e05_a_rechunk_stays_within_its_budget_and_has_few_tasks() {
    // 40 GB in slabs of 4 GB, or in blocks of 40 MB, to columns of 40 MB.
    let columns = |columns: usize| {
        let rows = Array::zeros([100, 100_000_000], DType::F32).rechunk(&[10, columns]).sqrt();
        rows.rechunk(&[100, 100_000]).sum(&Over::all())
    };
    let slabs = planned(&[&columns(100_000_000)], &settings(Some(42_000_000_000))).unwrap();
    assert!(slabs.steps.len() < 10 + 4 * 1000, "{}", slabs.steps.len());
    let blocks = planned(&[&columns(1_000_000)], &settings(Some(GIB))).unwrap();
    assert!(blocks.steps.len() < 1000 + 4 * 1000, "{}", blocks.steps.len());
    for plan in [slabs, blocks] {
        assert!(Some(plan.memories[0].peak) <= plan.memories[0].budget);
        assert_eq!(count(&plan, StepKind::Spill), 0);
    }
    // A slab is cut into a piece for each column, so that it needn't wait for the others in memory.
    let parted = planned(&[&columns(100_000_000)], &settings(Some(8 * GIB))).unwrap();
    assert!(parted.memories[0].peak <= Bytes(8 * GIB), "{}", parted.memories[0].peak);
    assert_eq!(count(&parted, StepKind::Piece), 10 * 1000);
    let spilled: u64 = parted.transfers.iter().filter(|edge| edge.to.0 == 1).map(|edge| edge.bytes).sum();
    assert!(spilled <= 40_000_000_000 + 4_000_000_000 - 8 * GIB, "{spilled} bytes");
    let refused = planned(&[&columns(100_000_000)], &settings(Some(2 * GIB))).unwrap_err();
    assert!(matches!(refused, PlanError::Memory { .. }), "a slab takes 4 GB: {refused}");
}

#[test]
fn a_map_reduce_of_ten_thousand_blocks_keeps_few_alive() {
    let y = blocks(10_000, 1 << 10);
    let range = y.max(&Over::all()) - y.min(&Over::all());
    let plan = planned(&[&range], &settings(None)).unwrap();
    assert!(plan.memories[0].peak.0 <= (40 * 4) << 10, "{}", plan.memories[0].peak);
}

#[test]
fn equal_input_gives_equal_spills() {
    let text =
        || planned(&[&centred(&blocks(40, 1 << 12))], &settings(Some((10 * 4) << 12))).unwrap().to_string();
    assert_eq!(text(), text());
}
