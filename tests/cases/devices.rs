//! Devices that are not what they seem, or can't do all that they are asked. Cases d06, d07, d08, e02.

use outcrop::annotate::{Annotations, annotate};
use outcrop::collections::Array;
use outcrop::collections::array::Over;
use outcrop::dtype::DType;
use outcrop::machine::{DeviceKind, Machine};
use outcrop::session::{Prepared, Session};
use outcrop::settings::Config;

fn wish(device: &str) -> Annotations {
    Annotations::new().set("device", device).unwrap()
}

/// A card that computes with `i32`, `u32` and `f32`.
fn one_gpu() -> Machine {
    Machine::from_toml(include_str!("../../examples/machines/one-gpu.toml")).unwrap()
}

fn session(machine: Machine, allow_software_gpu: bool) -> Session {
    let allow_software_gpu = Some(allow_software_gpu);
    Session::on(machine, Config { threads: Some(2), allow_software_gpu, ..Config::default() })
}

fn prepare(session: &Session, array: &Array) -> Result<Prepared, String> {
    session.prepare(&[array.layer().unwrap().clone()]).map_err(|error| error.to_string())
}

/// Layers that compute, and their devices.
fn places(prepared: &Prepared) -> Vec<(&str, &str)> {
    let plan = &prepared.plan;
    let place = |layer: &outcrop::steps::PlanLayer| plan.device_names[usize::from(layer.device.0)].as_str();
    plan.layers.iter().map(|layer| (layer.name.as_str(), place(layer))).collect()
}

fn numbers(count: usize) -> Array {
    let numbers: Vec<f32> = (0..count).map(|i| (i % 1000) as f32).collect();
    Array::from_slice([count], &numbers).rechunk(&[count]).named("x")
}

#[test]
fn case_d06_a_software_adapter_is_used_only_when_allowed() {
    let mut machine = one_gpu();
    machine.devices[1].kind = DeviceKind::SoftwareGpu;
    let on = |device: &str| annotate(wish(device), || (numbers(8) * 2.0).named("y"));
    let error = prepare(&session(machine.clone(), false), &on("gpu")).map(|_| ()).unwrap_err();
    assert!(error.contains("software") && error.contains("allow"), "{error}");
    let cautious = session(machine.clone(), false);
    let prepared = prepare(&cautious, &on("prefer-gpu")).unwrap();
    assert_eq!(places(&prepared)[1], ("y", "host"));
    let fallback = prepared.plan.layers[1].fallback.as_deref().unwrap();
    assert!(fallback.contains("software"), "{fallback}");
    let prepared = prepare(&session(machine, true), &on("gpu")).unwrap();
    assert_eq!(places(&prepared)[1], ("y", "gpu0"));
}

#[test]
fn workers_that_match_nothing_list_what_there_is() {
    let machine = Machine::from_toml(include_str!("../../examples/machines/two-unequal-gpus.toml")).unwrap();
    let wish = Annotations::new().set("workers", vec!["gpu7".to_owned(), "*H100*".to_owned()]).unwrap();
    let layer = annotate(wish, || (numbers(8) * 2.0).named("y"));
    let error = prepare(&session(machine, false), &layer).map(|_| ()).unwrap_err();
    assert!(error.contains("'y'") && error.contains("gpu7") && error.contains("*H100*"), "{error}");
    assert!(error.contains("workers among host, gpu0, gpu1"), "{error}");
}

#[test]
fn case_e02_what_a_gpu_lacks_between_two_that_it_has() {
    let between = |device: &str| {
        let doubled = annotate(wish("gpu"), || (numbers(8) * 2.0).named("doubled"));
        let wide = annotate(wish(device), || (doubled.astype(DType::F64) / 3.0).named("wide"));
        let narrow = annotate(wish("prefer-gpu"), || wide.astype(DType::F32).named("narrow"));
        annotate(wish("gpu"), || (&narrow + 1.0).named("last"))
    };
    let session = session(one_gpu(), false);
    let prepared = prepare(&session, &between("prefer-gpu")).unwrap();
    let of = |name: &str| {
        let has = |layer: &&outcrop::steps::PlanLayer| {
            layer.sources.iter().any(|source| source.label.as_deref() == Some(name))
        };
        prepared.plan.layers.iter().find(has).unwrap()
    };
    let place = |name: &str| prepared.plan.device_names[usize::from(of(name).device.0)].as_str();
    assert_eq!(["doubled", "wide", "narrow", "last"].map(place), ["gpu0", "host", "host", "gpu0"]);
    let why = of("wide").fallback.as_deref();
    assert!(why.is_some_and(|why| why.contains("f64")), "{why:?}");
    let names = &prepared.plan.memory_names;
    let name = |memory: outcrop::machine::MemoryId| names[usize::from(memory.0)].as_str();
    let moves: Vec<_> =
        prepared.plan.transfers.iter().map(|edge| (name(edge.from), name(edge.to), edge.count)).collect();
    assert_eq!(
        moves,
        [("host", "gpu0", 2), ("gpu0", "host", 2)],
        "in, out, in again, and the result\n{}",
        prepared.plan
    );
    let error = prepare(&session, &between("gpu")).map(|_| ()).unwrap_err();
    assert!(error.contains("'wide'") && error.contains("f64"), "{error}");
}

#[cfg(feature = "wgpu")]
mod on_wgpu {
    use std::sync::Arc;

    use super::*;
    use outcrop::device::wgpu::{Selector, WgpuDevice, open_adapter};
    use outcrop::exec::Control;

    fn open() -> Option<Arc<WgpuDevice>> {
        match open_adapter("gpu0", &Selector::Software, 512 << 20) {
            Ok(device) => Some(Arc::new(device)),
            Err(error) => {
                let required = std::env::var("OUTCROP_REQUIRE").is_ok_and(|names| names.contains("wgpu"));
                assert!(!required, "OUTCROP_REQUIRE names wgpu: {error}");
                println!("SKIPPED wgpu: no adapter ({error})");
                None
            }
        }
    }

    fn doubled(session: &Session, count: usize) -> (Prepared, Vec<f32>) {
        let doubled = annotate(wish("gpu"), || (numbers(count) * 2.0).named("doubled"));
        let prepared = prepare(session, &doubled).unwrap();
        let results = session.run(&prepared, &Control::new()).unwrap().results;
        let values = results[0].array().unwrap().to_vec().unwrap();
        (prepared, values)
    }

    fn check(values: &[f32], count: usize) {
        assert_eq!(values.len(), count);
        assert!(values.iter().enumerate().all(|(i, &value)| value == 2.0 * (i % 1000) as f32));
    }

    #[test]
    fn case_d07_chunks_above_a_buffer_are_made_in_parts() {
        let Some(device) = open() else { return };
        // Real limits are asked for: 128 MiB is what wgpu gives to those who ask for nothing.
        assert!(
            device.wgpu_memory().buffer_bytes_max() >= 128 << 20,
            "{}",
            device.wgpu_memory().buffer_bytes_max()
        );
        let mut machine = one_gpu();
        machine.devices[1].limits.binding_bytes_max = Some(64 << 10);
        let session = session(machine, false).with_device(device);
        let count = 1 << 17;
        let (prepared, values) = doubled(&session, count);
        check(&values, count);
        let parts = prepared.plan.layers.iter().find_map(|layer| layer.parts.as_ref()).unwrap();
        assert_eq!(parts.count, 8, "512 KiB in buffers of 64 KiB");
    }

    /// Sums too: the device's are to no other device's last bit anyway.
    #[test]
    fn case_d07_reductions_of_chunks_above_a_buffer_are_made_in_parts() {
        let Some(device) = open() else { return };
        let mut machine = one_gpu();
        machine.devices[1].limits.binding_bytes_max = Some(64 << 10);
        let session = session(machine, false).with_device(device);
        let count = 1 << 17;
        let arrays = annotate(wish("gpu"), || {
            let x = numbers(count);
            [x.sum(&Over::all()), x.max(&Over::all()), x.std(0, &Over::all())]
        });
        let layers = arrays.map(|array| array.layer().unwrap().clone());
        let prepared = session.prepare(&layers).unwrap();
        let results = session.run(&prepared, &Control::new()).unwrap().results;
        let found = |at: usize| results[at].array().unwrap().to_scalar::<f32>().unwrap();
        let values = || (0..count).map(|i| (i % 1000) as f64);
        let mean = values().sum::<f64>() / count as f64;
        let wanted = (values().map(|x| (x - mean).powi(2)).sum::<f64>() / count as f64).sqrt();
        assert_eq!((f64::from(found(0)), found(1)), (f64::from(values().sum::<f64>() as f32), 999.0));
        assert!((f64::from(found(2)) / wanted - 1.0).abs() < 1e-6, "{} and {wanted}", found(2));
        assert!(
            prepared
                .plan
                .layers
                .iter()
                .any(|layer| layer.parts.as_ref().is_some_and(|parts| parts.count == 8))
        );
    }

    #[test]
    fn case_d08_more_workgroups_than_one_axis_has() {
        let Some(device) = open() else { return };
        let session = session(one_gpu(), false).with_device(device);
        // Above 65,535 workgroups of 256.
        let count = 65_536 * 256 + 77;
        check(&doubled(&session, count).1, count);
    }
}
