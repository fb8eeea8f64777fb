//! Devices with less memory than the inventory says: blocks are made in parts before their layers go elsewhere, and what
//! comes out is the same, bit for bit.

use std::sync::Arc;

use outcrop::annotate::{Annotations, annotate};
use outcrop::collections::Array;
use outcrop::collections::array::{Index, Over};
use outcrop::device::contract::Device;
use outcrop::device::sim::{FaultPlan, SimDevice};
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

/// A machine whose GPUs are simulated, and have so many bytes in truth.
fn session(name: &str, bytes: u64) -> (Session, Vec<Arc<SimDevice>>) {
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
            Arc::new(SimDevice::new(info, Some(bytes), link, FaultPlan::none()))
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
    let bits = |result: &ResultValue| result.array().unwrap().contiguous_bytes().unwrap().to_vec();
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

#[test]
fn a_block_that_does_not_fit_is_made_in_parts_where_it_was_to_be() {
    let doubled = annotate(wish("gpu"), || (source() * 2.0).named("doubled"));
    for (bytes, count) in [(1024, 1), (700, 2), (512, 2), (256, 4), (130, 8), (64, 16)] {
        let (session, gpus) = session("one-gpu", bytes);
        let seen = run(&session, &[&doubled]).unwrap();
        assert_eq!(seen.results, on_host(&[&doubled]));
        assert_eq!(made(&seen.plan)[1..], [("doubled", "gpu0", count)], "{bytes}: {}", seen.report);
        let told: Vec<_> = (1..=count.ilog2()).map(|at| ("doubled", 1 << at)).collect();
        assert_eq!(parts(&seen.report), told, "{}", seen.report);
        assert_eq!(gpus[0].memory().used(), 0);
        let text = seen.report.to_string();
        println!("{text}");
        println!("{}", seen.plan);
    }
}
