//! Devices with less memory than the inventory says: blocks are made in parts before their layers go elsewhere, and what
//! comes out is the same, bit for bit.

#[allow(dead_code)]
#[path = "oracle/program.rs"]
mod program;

use std::sync::Arc;

use outcrop::annotate::{Annotations, annotate};
use outcrop::collections::Array;
use outcrop::collections::array::{Index, Over};
use outcrop::device::contract::Device;
use outcrop::device::sim::{Fault, FaultPlan, SimDevice};
use outcrop::dtype::DType;
use outcrop::error::{Error, ErrorClass};
use outcrop::exec::{Control, ResultValue};
use outcrop::machine::{Backend, Machine, MemoryId};
use outcrop::report::Report;
use outcrop::session::Session;
use outcrop::settings::Config;
use outcrop::steps::{Plan, StepKind};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use program::{Program, Style};

/// A machine whose GPUs are simulated, and have so many bytes in truth.
fn session(name: &str, bytes: u64) -> (Session, Vec<Arc<SimDevice>>) {
    struck(name, |_| bytes, &FaultPlan::none())
}

fn struck(name: &str, bytes: impl Fn(&str) -> u64, faults: &FaultPlan) -> (Session, Vec<Arc<SimDevice>>) {
    let path = format!("{}/examples/machines/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let mut machine = Machine::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap();
    for device in &mut machine.devices[1..] {
        (device.backend, device.dtypes) = (Backend::Sim, DType::ALL.to_vec());
    }
    let gpus: Vec<Arc<SimDevice>> = machine
        .devices()
        .skip(1)
        .map(|(id, info)| {
            let link = machine.link(MemoryId::HOST, machine.memory_of(id));
            Arc::new(SimDevice::new(info, Some(bytes(&info.name)), link, faults.clone()))
        })
        .collect();
    let session = Session::on(machine, Config { threads: Some(2), ..Config::default() });
    (gpus.iter().fold(session, |session, gpu| session.with_device(gpu.clone())), gpus)
}

fn wish(device: &str) -> Annotations {
    Annotations::new().set("device", device).unwrap()
}

/// Four blocks of 16 rows of 8 numbers: 512 bytes each.
fn source() -> Array {
    let numbers: Vec<f32> = (0..512).map(|i| (i as f32 * 0.37).sin()).collect();
    Array::from_slice([64, 8], &numbers).rechunk(&[16, 8]).named("x")
}

struct Seen {
    results: Vec<Vec<u8>>,
    report: Report,
    plan: Arc<Plan>,
}

fn run(session: &Session, arrays: &[&Array]) -> Result<Seen, Error> {
    let layers: Vec<_> = arrays.iter().map(|array| array.layer().unwrap().clone()).collect();
    let completed = session.run(&session.prepare(&layers)?, &Control::new())?;
    let bits = |result: &ResultValue| match result.array().unwrap().contiguous_bytes() {
        Some(bytes) => bytes.to_vec(),
        None => format!("{:?}", result.array()).into_bytes(),
    };
    let results = completed.results.iter().map(bits).collect();
    Ok(Seen { results, report: completed.report, plan: completed.plan })
}

/// The same on the host.
fn on_host(arrays: &[&Array]) -> Vec<Vec<u8>> {
    let config = Config { threads: Some(2), cpu_only: Some(true), ..Config::default() };
    let (session, _) = self::session("one-gpu", 0);
    run(&Session::on(session.machine().clone(), config), arrays).unwrap().results
}

/// For each layer of the user's, the device that it ran on and in how many parts its blocks were made.
fn made(plan: &Plan) -> Vec<(&str, &str, usize)> {
    let layers = plan.layers.iter().flat_map(|layer| layer.sources.iter().map(move |source| (layer, source)));
    let made = layers.map(|(layer, source)| {
        let device = plan.device_names[usize::from(layer.device.0)].as_str();
        let called = source.label.as_deref().unwrap_or(&source.name);
        (called, device, layer.parts.as_ref().map_or(1, |parts| parts.count))
    });
    made.collect()
}

fn parts(report: &Report) -> Vec<(&str, usize)> {
    let split = report.recoveries.iter().flat_map(|recovery| &recovery.split);
    split.map(|split| (split.layer.as_str(), split.parts)).collect()
}

fn moved(report: &Report) -> Vec<(&str, &str, &str)> {
    let moved = report.recoveries.iter().flat_map(|recovery| &recovery.moved);
    moved.map(|moved| (&*moved.layer, &*moved.from, &*moved.to)).collect()
}

/// In how many parts blocks are made, one after the other.
const LADDER: [usize; 4] = [2, 4, 8, 16];

#[test]
fn a_block_that_does_not_fit_is_made_in_parts_where_it_was_to_be() {
    let doubled = annotate(wish("gpu"), || (source() * 2.0).named("doubled"));
    // A block and its result take 1024 bytes.
    for (count, bytes) in [(1, 1536), (2, 768), (4, 384), (8, 192), (16, 96)] {
        let (session, gpus) = session("one-gpu", bytes);
        let seen = run(&session, &[&doubled]).unwrap();
        assert_eq!(seen.results, on_host(&[&doubled]));
        assert_eq!(made(&seen.plan)[1..], [("doubled", "gpu0", count)], "{bytes}: {}", seen.report);
        let told: Vec<_> =
            LADDER.iter().take_while(|&&parts| parts <= count).map(|&parts| ("doubled", parts)).collect();
        assert_eq!(parts(&seen.report), told, "{}", seen.report);
        assert!(moved(&seen.report).is_empty() && gpus[0].memory().used() == 0, "{}", seen.report);
    }
}

#[test]
fn the_report_says_what_was_done_and_why() {
    let doubled = annotate(wish("gpu"), || (source() * 2.0).named("doubled"));
    let (session, _) = session("one-gpu", 768);
    let report = run(&session, &[&doubled]).unwrap().report;
    let text = report.to_string();
    assert_eq!(report.recoveries.len(), 2, "{text}");
    for line in [
        "gpu0: out of memory: 512 bytes requested",
        "  gpu0 does one thing at a time\n",
        "  split: each block of 'doubled' is made in up to 2 parts on gpu0\n",
        "device=gpu, each block in up to 2 parts",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let json = serde_json::to_value(&report).unwrap();
    let split = &json["recoveries"][1]["split"];
    assert_eq!(*split, serde_json::json!([{ "layer": "doubled", "device": "gpu0", "parts": 2 }]));
    assert_eq!(json["recoveries"][0]["in_turn"], true);
}

#[test]
fn a_device_that_is_too_small_for_any_part_is_left_where_that_may_be() {
    let doubled = |device| annotate(wish(device), || (source() * 2.0).named("doubled"));
    let (small, _) = session("one-gpu", 40);
    let seen = run(&small, &[&doubled("prefer-gpu")]).unwrap();
    assert_eq!(seen.results, on_host(&[&doubled("prefer-gpu")]));
    assert_eq!(made(&seen.plan)[1..], [("doubled", "host", 1)], "{}", seen.report);
    assert_eq!(parts(&seen.report), LADDER.map(|parts| ("doubled", parts)), "{}", seen.report);
    assert_eq!(moved(&seen.report), [("doubled", "gpu0", "host")], "{}", seen.report);
    assert_eq!(seen.report.recoveries.len(), 6);

    let (small, gpus) = session("one-gpu", 40);
    let error = run(&small, &[&doubled("gpu")]).map(|_| ()).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Resource, "{error}");
    let text = error.to_string();
    assert!(text.contains("out of memory") && text.contains("needs device"), "{text}");
    assert_eq!(gpus[0].memory().used(), 0);
}

#[test]
fn layers_of_one_kernel_are_cut_alike_and_stay_one() {
    let (x, row) = (source(), Array::arange(0.0, 0.25, 8).astype(DType::F32).named("row"));
    let total = annotate(wish("gpu"), || {
        let scaled = (&x * &row).named("scaled");
        let roots = scaled.abs().sqrt().named("roots");
        (&roots + &x).sum(&Over::axis(1)).named("total")
    });
    let (session, _) = session("one-gpu", 400);
    let seen = run(&session, &[&total]).unwrap();
    assert_eq!(seen.results, on_host(&[&total]));
    let on_gpu: Vec<_> = seen.plan.layers.iter().filter(|layer| layer.device.0 == 1).collect();
    assert_eq!(on_gpu.len(), 1, "{}", seen.plan);
    let sources: Vec<_> = on_gpu[0].sources.iter().filter_map(|source| source.label.as_deref()).collect();
    assert_eq!(sources, ["scaled", "roots", "total"]);
    assert_eq!(on_gpu[0].parts.as_ref().unwrap().count, 2, "{}", seen.report);
    // The row is read by every part as it is, and goes there once.
    let rows = seen.plan.steps.iter().filter(|step| {
        step.kind == StepKind::Transfer && seen.plan.layers[step.layer as usize].name == "row"
    });
    assert_eq!(rows.count(), 1, "{}", seen.plan);
}

#[test]
fn what_is_read_otherwise_too_is_joined_for_it() {
    let x = source();
    let (doubled, shifted, column) = annotate(wish("gpu"), || {
        let doubled = (&x * 2.0).named("doubled");
        let shifted = (&doubled - 3.0).gradient(1.0, 0).named("shifted");
        let column = (&doubled.slice(&[Index::At(3)]) + &shifted).named("column");
        (doubled, shifted, column)
    });
    let outputs = [&column, &doubled, &shifted];
    let (session, _) = session("one-gpu", 1300);
    let seen = run(&session, &outputs).unwrap();
    assert_eq!(seen.results, on_host(&outputs));
    assert!(!parts(&seen.report).is_empty() && moved(&seen.report).is_empty(), "{}", seen.report);
}

#[test]
fn blocks_without_two_halves_go_elsewhere_as_they_are() {
    let ones = |shape: [usize; 2]| Array::ones(shape, DType::F32).rechunk(&[1, 1]);
    let (one, none) = (ones([3, 1]), ones([0, 4]));
    let outputs = annotate(wish("prefer-gpu"), || [(&one + 1.0).named("one"), (&none + 1.0).named("none")]);
    let (session, _) = session("one-gpu", 2);
    let seen = run(&session, &[&outputs[0], &outputs[1]]).unwrap();
    assert_eq!(seen.results, on_host(&[&outputs[0], &outputs[1]]));
    assert!(parts(&seen.report).is_empty(), "{}", seen.report);
    assert_eq!(moved(&seen.report)[0], ("one", "gpu0", "host"));
}

#[test]
fn another_device_comes_after_parts_on_the_first() {
    let doubled = annotate(wish("gpu"), || (source() * 2.0).named("doubled"));
    let (roomy, _) = session("two-unequal-gpus", 1 << 20);
    let first = run(&roomy, &[&doubled]).unwrap();
    let (_, first, _) = made(&first.plan)[1];
    let truth = |name: &str| if name == first { 40 } else { 384 };
    let (session, _) = struck("two-unequal-gpus", truth, &FaultPlan::none());
    let seen = run(&session, &[&doubled]).unwrap();
    assert_eq!(seen.results, on_host(&[&doubled]));
    let (_, second, count) = made(&seen.plan)[1];
    assert!(second != first && second != "host" && count == 4, "{}", seen.report);
    let told = [&LADDER[..], &[2, 4]].concat();
    let told: Vec<_> = told.iter().map(|&parts| ("doubled", parts)).collect();
    assert_eq!(parts(&seen.report), told, "{}", seen.report);
    assert_eq!(moved(&seen.report).len(), 1, "{}", seen.report);
}

/// A driver that counts for itself, pads what stencils read, and sums in another order than the host.
#[cfg(feature = "wgpu")]
#[test]
fn parts_on_wgpu_are_what_whole_blocks_are() {
    use outcrop::device::wgpu::{Selector, open_adapter};
    let numbers: Vec<f32> = (0..1 << 16).map(|i| (i as f32 * 0.37).sin()).collect();
    let x = Array::from_slice([256, 256], &numbers).rechunk(&[128, 256]).named("x");
    let outputs = annotate(wish("gpu"), || {
        let doubled = (&x * 2.0).named("doubled");
        let rough = doubled.gradient(0.5, 0).named("rough");
        let rows = (&x * &x).sum(&Over::axis(1)).named("rows");
        [rough, rows, x.std(0, &Over::axis(0)).named("columns"), doubled]
    });
    let outputs: Vec<&Array> = outputs.iter().collect();
    let on = |bytes: usize| {
        let device = open_adapter("gpu0", &Selector::Software, bytes).map_err(|error| error.to_string())?;
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/machines/one-gpu.toml");
        let machine = Machine::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap();
        let config = Config { threads: Some(2), ..Config::default() };
        let session = Session::on(machine, config).with_device(Arc::new(device));
        Ok::<_, String>(run(&session, &outputs).unwrap())
    };
    let roomy = match on(512 << 20) {
        Ok(roomy) => roomy,
        Err(why) => {
            let required = std::env::var("OUTCROP_REQUIRE").is_ok_and(|names| names.contains("wgpu"));
            assert!(!required, "OUTCROP_REQUIRE names wgpu: {why}");
            return println!("SKIPPED wgpu: no adapter ({why})");
        }
    };
    assert!(roomy.report.recoveries.is_empty());
    for bytes in [250 << 10, 120 << 10] {
        let tight = on(bytes).unwrap();
        assert!(parts(&tight.report).len() > 2 && moved(&tight.report).is_empty(), "{}", tight.report);
        assert!(tight.results == roomy.results, "{}", tight.report);
        assert!(!tight.report.to_string().contains("resume"), "{}", tight.report);
        let has_parts =
            |name: &str| made(&tight.plan).iter().any(|&(layer, _, parts)| layer == name && parts > 1);
        let sums = ["rows", "columns"].map(has_parts);
        assert_eq!(sums, [bytes < 128 << 10; 2], "{}", tight.report);
    }
}

/// Memory that gives out is none of a task's retries, and parts have those left that their block had.
#[test]
fn parts_go_on_with_the_retries_of_their_block() {
    use Fault::{Fails, OutOfMemory};
    let x = Array::from_slice([8], &[1f32; 8]).rechunk(&[8]).named("x");
    let run = |retries: i64, faults: &[Fault]| {
        let wish = wish("gpu").set("retries", retries).unwrap();
        let doubled = annotate(wish, || (&x * 2.0).named("doubled"));
        // Operation 0 copies the block there, and what follows strikes the kernel.
        let faults = faults.iter().zip([1, 2, 3, 5, 6, 8]);
        let faults = faults.fold(FaultPlan::none(), |plan, (&fault, at)| plan.with(at, fault));
        let (session, _) = struck("one-gpu", |_| 1 << 20, &faults);
        self::run(&session, &[&doubled]).map(|seen| parts(&seen.report).len())
    };
    let once = [Fails, OutOfMemory, OutOfMemory, OutOfMemory, OutOfMemory];
    let twice = [Fails, OutOfMemory, OutOfMemory, OutOfMemory, OutOfMemory, Fails];
    assert_eq!(run(1, &once).unwrap(), 1);
    assert_eq!(run(2, &twice).unwrap(), 1);
    let error = run(1, &twice).unwrap_err().to_string();
    assert!(error.contains("'doubled in parts'") && error.contains("attempt 2 of 2"), "{error}");
}

const DEVICES: &[&str] = &["prefer-gpu", "gpu", "any"];

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(0x5917),
        cases: 96,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Whatever a device holds in truth, a run on it is that on one with room, or ends in a typed error.
    #[test]
    fn random_programs_on_devices_of_any_size_give_what_they_give(seed: u64, sixteenths in 1u64..20) {
        let program = Program::random(seed);
        let arrays = program.build(Style { chunks: Some(seed), annotations: Some(seed), devices: DEVICES });
        let outputs: Vec<&Array> = program.outputs.iter().map(|&at| &arrays[at]).collect();
        prop_assume!(outputs.iter().all(|array| array.layer().is_ok()));
        let (roomy, _) = session("one-gpu", u64::MAX / 2);
        let want = run(&roomy, &outputs);
        prop_assume!(want.is_ok());
        let want = want.ok().unwrap();
        let bytes = (want.plan.memories[1].peak.0 * sixteenths / 16).max(1);
        let (session, gpus) = session("one-gpu", bytes);
        match run(&session, &outputs) {
            Ok(seen) => prop_assert_eq!(seen.results, want.results, "{}", seen.report),
            Err(error) => prop_assert_eq!(error.class(), ErrorClass::Resource, "{}", error),
        }
        // What was under way when a plan was broken off gives back what it held when it ends.
        while gpus[0].memory().used() > 0 {
            std::thread::yield_now();
        }
    }
}
