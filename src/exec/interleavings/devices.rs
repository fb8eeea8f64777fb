//! Lanes of devices and of the disk.

use super::stage::{Stage, array, asking, machine};
use super::{NEVER, explore};
use crate::annotate::annotate;
use crate::collections::Array;
use crate::collections::array::Over;
use crate::device::sim::{Fault, FaultPlan};
use crate::exec::{Control, ExecError};
use crate::machine::DeviceId;
use crate::steps::{LaneOf, StepKind};

const GPU: &str = "gpu";

fn on_gpu(threads: usize, faults: FaultPlan) -> Stage {
    Stage::on(machine("one-gpu"), threads, None, faults)
}

/// To the device and back.
fn there_and_back() -> Array {
    let x = Array::arange(0.0, 1.0, 8).rechunk(&[2]);
    let there = annotate(asking("device", GPU), || &x * 2.0);
    annotate(asking("device", "cpu"), || (&there + 1.0).sum(&Over::all()))
}

#[test]
fn transfers() {
    explore(NEVER, || {
        let stage = on_gpu(2, FaultPlan::none());
        let plan = stage.plan(&[array(&there_and_back())]);
        assert!(plan.steps.iter().any(|step| step.kind == StepKind::Transfer));
        let outcome = stage.run(&plan, &Control::new()).unwrap();
        assert_eq!(outcome.results[0].array().unwrap().to_vec::<f64>().unwrap(), [64.0]);
        drop((outcome, plan));
        stage.end();
    });
}

/// So large that the ways to the device and from it have workers of their own.
#[test]
fn large_transfers() {
    const ELEMENTS: usize = 1 << 17;
    explore(NEVER, || {
        let stage = on_gpu(1, FaultPlan::none());
        let x = Array::arange(0.0, 1.0, 2 * ELEMENTS).rechunk(&[ELEMENTS]);
        let there = annotate(asking("device", GPU), || &x * 2.0);
        let back = annotate(asking("device", "cpu"), || (&there + 1.0).max(&Over::all()));
        let plan = stage.plan(&[array(&back)]);
        let lanes = plan.lanes();
        let way = |kind: fn(DeviceId) -> LaneOf| {
            plan.steps.iter().filter(|step| lanes.of(lanes.of_step(step)) == kind(DeviceId(1))).count()
        };
        assert_eq!((way(LaneOf::In), way(LaneOf::Out)), (2, 2), "{plan}");
        let outcome = stage.run(&plan, &Control::new()).unwrap();
        let largest = 2.0 * (2 * ELEMENTS - 1) as f64 + 1.0;
        assert_eq!(outcome.results[0].array().unwrap().to_vec::<f64>().unwrap(), [largest]);
        drop((outcome, plan));
        stage.end();
    });
}

#[test]
fn a_device_is_lost() {
    explore(NEVER, || {
        let stage = on_gpu(2, FaultPlan::none().with(3, Fault::Lost));
        let plan = stage.plan(&[array(&there_and_back())]);
        let error = stage.run(&plan, &Control::new()).map(|_| ()).unwrap_err();
        assert!(matches!(error, ExecError::Unable { .. }), "{error}");
        drop((error, plan));
        stage.end();
    });
}

#[test]
fn a_device_has_no_memory_just_then() {
    explore(NEVER, || {
        let stage = on_gpu(2, FaultPlan::none().with(2, Fault::OutOfMemory));
        let plan = stage.plan(&[array(&there_and_back())]);
        let outcome = stage.run(&plan, &Control::new()).unwrap();
        assert_eq!(outcome.results[0].array().unwrap().to_vec::<f64>().unwrap(), [64.0]);
        drop((outcome, plan));
        stage.end();
    });
}

#[test]
fn values_are_spilled() {
    explore(NEVER, || {
        let stage = Stage::on(machine("cpu-only"), 2, Some(26 << 10), FaultPlan::none());
        let x = (Array::arange(0.0, 1.0, 4 << 10).rechunk(&[512]) * 2.0).named("x");
        let centred = (&x - &x.sum(&Over::all())).sum(&Over::all());
        let plan = stage.plan(&[array(&centred)]);
        assert!(plan.steps.iter().any(|step| step.kind == StepKind::Spill), "{plan}");
        let outcome = stage.run(&plan, &Control::new()).unwrap();
        let sum = (4095.0 * 4096.0) * (1.0 - 4096.0);
        assert_eq!(outcome.results[0].array().unwrap().to_vec::<f64>().unwrap(), [sum]);
        drop((outcome, plan));
        stage.end();
    });
}
