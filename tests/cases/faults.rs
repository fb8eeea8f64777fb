//! Devices and tasks that fail: b08, d09, d10, d11, e04.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use outcrop::annotate::{Overrides, annotate};
use outcrop::block::Block;
use outcrop::collections::array::Over;
use outcrop::collections::{Array, Delayed};
use outcrop::device::contract::Device;
use outcrop::device::sim::{Fault, FaultPlan, SimDevice};
use outcrop::error::{Error, ErrorClass};
use outcrop::exec::{Control, StepEvent};
use outcrop::graph::layer::Layer;
use outcrop::graph::op::{Op, Sink, TransferError};
use outcrop::machine::{Backend, MemoryId};
use outcrop::report::Report;
use outcrop::session::Session;
use outcrop::settings::Config;
use outcrop::shape::Region;
use outcrop::units::Bytes;

use crate::annotations::{config, machine, source, with};

/// A session on a described machine whose GPUs are simulated, and these.
fn simulated(name: &str, config: Config, faults: &[FaultPlan]) -> (Session, Vec<Arc<SimDevice>>) {
    let mut machine = machine(name);
    machine.devices[1..].iter_mut().for_each(|device| device.backend = Backend::Sim);
    let gpus: Vec<Arc<SimDevice>> = machine
        .devices()
        .skip(1)
        .zip(faults)
        .map(|((id, info), faults)| {
            let link = machine.link(MemoryId::HOST, machine.memory_of(id));
            Arc::new(SimDevice::new(info, Some(1 << 30), link, faults.clone()))
        })
        .collect();
    let session = Session::on(machine, config);
    (gpus.iter().fold(session, |session, gpu| session.with_device(gpu.clone())), gpus)
}

fn one_gpu(faults: FaultPlan) -> (Session, Arc<SimDevice>) {
    let (session, gpus) = simulated("one-gpu", config(), &[faults]);
    (session, gpus[0].clone())
}

/// A chain on a device whose sum is 4 · Σ (2 + 1).
fn chain(device: &str) -> Array {
    let doubled = annotate(with("device", device), || (source() * 2.0).named("doubled"));
    annotate(with("device", device), || (&doubled + 1.0).sum(&Over::all()).named("total"))
}

const TOTAL: f64 = 64.0 * 3.0;

fn run(session: &Session, array: &Array) -> Result<(f64, Report), Error> {
    let prepared = session.prepare(&[array.layer()?.clone()])?;
    let completed = session.run(&prepared, &Control::new())?;
    let total = completed.results[0].array().unwrap().to_f64_vec().unwrap()[0];
    Ok((total, completed.report))
}

#[test]
fn case_b08_no_retries_is_one_attempt_and_a_lost_device_charges_only_what_ran_on_it() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let fails = Delayed::<u64>::try_call("fails", (), move || {
        counted.fetch_add(1, Ordering::SeqCst);
        Err::<u64, _>("trouble".to_owned())
    });
    let none = Overrides::new().with("*", with("retries", 0)).unwrap();
    let session = Session::new(config());
    assert!(session.overriding(none.clone()).compute(&fails).is_err());
    assert_eq!(calls.load(Ordering::SeqCst), 1);

    let (session, gpu) = one_gpu(FaultPlan::none().with(2, Fault::Lost));
    let called = Arc::new(AtomicUsize::new(0));
    let counted = called.clone();
    let on_host = source().map_blocks(("counted", 1), move |block| {
        counted.fetch_add(1, Ordering::SeqCst);
        block.to_vec::<f32>().unwrap()
    });
    let moved = annotate(with("device", "prefer-gpu"), || (&on_host * 2.0).named("moved"));
    let prepared = session.prepare_with(&[moved.layer().unwrap().clone()], &none).unwrap();
    let attempts = Arc::new(Mutex::new(Vec::new()));
    let told = attempts.clone();
    let control = Control::new().observed(move |event: &StepEvent<'_>| {
        told.lock().unwrap().push((event.device.to_owned(), event.attempt, event.outcome.is_ok()));
    });
    let completed = session.run(&prepared, &control).unwrap();
    assert_eq!(completed.results[0].array().unwrap().to_vec::<f32>().unwrap(), [2.0; 64]);
    assert_eq!(completed.report.recoveries.len(), 1);
    let attempts = attempts.lock().unwrap();
    let on_gpu_failed = attempts.iter().any(|(device, _, ok)| device == "gpu0" && !ok);
    assert!(on_gpu_failed && gpu.operations() > 0);
    // With no retries at all, each block of the host's function was made by a first attempt.
    let blocks = called.load(Ordering::SeqCst);
    assert!((4..=8).contains(&blocks), "{blocks}");
    let charged = attempts.iter().filter(|(_, attempt, _)| *attempt > 1).count();
    let failed = attempts.iter().filter(|(_, _, ok)| !ok).count();
    assert!(charged <= failed, "{charged} of {failed}: {attempts:?}");
}

#[test]
fn case_d09_out_of_memory_on_a_gpu_is_its_tasks_error_and_everything_comes_back() {
    // Just then: the attempt is given back and tried alone, and that is no retry.
    let (session, gpu) = one_gpu(FaultPlan::none().with(1, Fault::OutOfMemory).with(5, Fault::OutOfMemory));
    let (total, report) = run(&session, &chain("gpu")).unwrap();
    assert_eq!((total, report.recoveries.len(), gpu.memory().used()), (TOTAL, 0, 0));

    // For good: a typed error with the figures, or the host where that may be.
    let (session, gpu) = one_gpu(FaultPlan::none().with(6, Fault::Exhausted));
    let error = run(&session, &chain("gpu")).map(|_| ()).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Resource, "{error}");
    let text = error.to_string();
    assert!(text.contains("gpu0: out of memory") && text.contains("needs device"), "{text}");
    assert_eq!(gpu.memory().used(), 0);
    assert_eq!(session.compute(&source().sum(&Over::all())).unwrap().to_f64_vec(), Some(vec![64.0]));

    let (session, gpu) = one_gpu(FaultPlan::none().with(6, Fault::Exhausted));
    let (total, report) = run(&session, &chain("prefer-gpu")).unwrap();
    assert_eq!((total, gpu.memory().used()), (TOTAL, 0));
    let last = report.recoveries.last().unwrap();
    assert_eq!((&*last.device, &*last.trouble), ("gpu0", "too small"));
    assert!(report.to_string().contains("device gpu0: too small at"), "{report}");
}

#[test]
fn case_d10_a_lost_device_ends_in_recovery_or_a_clear_error() {
    let lost = || FaultPlan::none().with(5, Fault::Lost);
    let (session, gpu) = one_gpu(lost());
    let (total, report) = run(&session, &chain("prefer-gpu")).unwrap();
    assert_eq!((total, gpu.memory().used(), report.recoveries.len()), (TOTAL, 0, 1));
    let recovery = &report.recoveries[0];
    assert!(!recovery.crosses_classes);
    assert!(recovery.moved.iter().all(|moved| (&*moved.from, &*moved.to) == ("gpu0", "host")), "{report}");
    assert!(report.to_string().contains("device gpu0: lost at '"), "{report}");
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["recoveries"][0]["trouble"], "lost");
    // It stays gone, and nobody asks it again.
    let asked = gpu.operations();
    let (total, report) = run(&session, &chain("prefer-gpu")).unwrap();
    assert_eq!((total, gpu.operations(), report.recoveries.len()), (TOTAL, asked, 0));
    assert!(report.to_string().contains("lost earlier in this session"), "{report}");

    let (session, _) = one_gpu(lost());
    let error = run(&session, &chain("gpu")).map(|_| ()).unwrap_err();
    assert_eq!(error.class(), ErrorClass::DeviceLost, "{error}");
    let text = error.to_string();
    assert!(text.contains("gpu0: device lost") && text.contains("layer 'total' needs device"), "{text}");

    // Two that are lost one after the other, and then the host: no more plans than devices.
    let (session, gpus) = simulated("two-unequal-gpus", config(), &[lost(), lost()]);
    let (total, report) = run(&session, &chain("prefer-gpu")).unwrap();
    assert_eq!(total, TOTAL);
    assert!((1..=2).contains(&report.recoveries.len()), "{report}");
    assert!(gpus.iter().all(|gpu| gpu.memory().used() == 0));
}

/// Notes the blocks that it gets, and how often it has to begin anew.
#[derive(Debug)]
struct Notes {
    is_ordered: bool,
    blocks: Mutex<Vec<usize>>,
    restarts: AtomicUsize,
}

impl Sink for Notes {
    fn describe(&self) -> String {
        "notes".to_owned()
    }
    fn ordered(&self) -> bool {
        self.is_ordered
    }
    fn write(&self, region: &Region, block: &Block) -> Result<(), TransferError> {
        assert_eq!(block.to_f64_vec().unwrap(), [3.0; 16]);
        self.blocks.lock().unwrap().push(region.origin[0] / 16);
        Ok(())
    }
    fn restart(&self) -> Result<(), TransferError> {
        self.restarts.fetch_add(1, Ordering::SeqCst);
        self.blocks.lock().unwrap().clear();
        Ok(())
    }
    fn finish(&self) -> Result<(), TransferError> {
        Ok(())
    }
}

#[test]
fn case_d10_a_sink_gets_every_block_once_though_a_device_is_lost() {
    for (is_ordered, operation) in [(false, 3), (false, 7), (true, 3), (true, 7)] {
        let config = Config { threads: Some(1), ..config() };
        let lost = FaultPlan::none().with(operation, Fault::Lost);
        let (session, _) = simulated("one-gpu", config, &[lost]);
        let sink = Arc::new(Notes { is_ordered, blocks: Mutex::default(), restarts: AtomicUsize::new(0) });
        let wish = with("device", "prefer-gpu");
        let computed = annotate(wish, || (source() * 2.0 + 1.0).named("computed"));
        let layer = computed.layer().unwrap();
        let op = Op::Store(sink.clone());
        let stored = Layer::new(op, vec![layer.clone()], layer.chunks().clone(), layer.dtype());
        let prepared = session.prepare(&[stored]).unwrap();
        let report = session.run(&prepared, &Control::new()).unwrap().report;
        assert_eq!(report.recoveries.len(), 1, "{report}");
        let mut blocks = sink.blocks.lock().unwrap().clone();
        blocks.sort_unstable();
        assert_eq!(blocks, [0, 1, 2, 3]);
        assert_eq!(sink.restarts.load(Ordering::SeqCst), usize::from(is_ordered));
    }
}

#[test]
fn case_d11_a_driver_that_says_nothing_is_given_up() {
    let quick = || Config { device_timeout: Some(Duration::from_millis(50)), ..config() };
    for device in ["prefer-gpu", "gpu"] {
        let hangs = FaultPlan::none().with(3, Fault::Hangs);
        let (session, gpus) = simulated("one-gpu", quick(), &[hangs]);
        match run(&session, &chain(device)) {
            Ok((total, report)) => {
                assert_eq!((total, device), (TOTAL, "prefer-gpu"));
                assert!(report.recoveries[0].message.contains("hasn't answered"), "{report}");
            }
            Err(error) => {
                assert_eq!((error.class(), device), (ErrorClass::DeviceLost, "gpu"), "{error}");
                assert!(error.to_string().contains("hasn't answered"), "{error}");
            }
        }
        // The session works on while the call still hangs; when it returns it gives back what it held.
        assert_eq!(session.compute(&source().sum(&Over::all())).unwrap().to_f64_vec(), Some(vec![64.0]));
        gpus[0].release();
        while gpus[0].memory().used() > 0 {
            std::thread::yield_now();
        }
    }
}

#[test]
fn case_e04_two_buffers_that_evict_each_other_make_progress() {
    // Two arrays of four blocks, read in turns, with room for one and a half of them.
    let first = source().map_blocks(("first", 1), |block| block.to_vec::<f32>().unwrap());
    let second = source().map_blocks(("second", 1), |block| block.to_vec::<f32>().unwrap());
    let mut sum = (&first.rechunk(&[64]) + 0.0).sum(&Over::all());
    for _ in 0..3 {
        sum = (&second.rechunk(&[64]) * &sum).max(&Over::all());
        sum = (&first.rechunk(&[64]) + &sum).min(&Over::all());
    }
    let layers = [sum.layer().unwrap().clone()];
    let free = Session::new(config());
    let peak = free.prepare(&layers).unwrap().plan.memories[0].peak.0;
    let want = free.compute(&sum).unwrap().to_f64_vec();
    let mut tight = 0;
    for part in [9, 8, 7, 6, 5] {
        let session = Session::new(Config { memory: Some(Bytes(peak * part / 10)), ..config() });
        let prepared = match session.prepare(&layers) {
            Ok(prepared) => prepared,
            Err(error) => {
                assert_eq!(error.class(), ErrorClass::Unsatisfiable, "{error}");
                continue;
            }
        };
        tight += 1;
        let completed = session.run(&prepared, &Control::new().traced()).unwrap();
        assert_eq!(completed.results[0].array().unwrap().to_f64_vec(), want);
        // Every move is a step of the plan, done once: there is no evicting for ever.
        assert_eq!(completed.trace.unwrap().iter().count(), prepared.plan.steps.len());
        assert!(completed.report.peak_bytes["host"] <= peak * part / 10);
    }
    assert!(tight > 0);
}
