//! The two example pipelines with their `prefer-gpu` layers on a wgpu device, lavapipe where there is no
//! card: values agree with the host's, and the report shows every move of data. Without an adapter each test
//! says SKIPPED and passes, unless the environment's `OUTCROP_REQUIRE` names `wgpu`.
//!
//! A value passes when it is within 2e-6 of the host's largest: wgpu computes functions to 3 units in the
//! last place (`kernels/wgsl/math.wgsl`), and sums and stencils in another order.
#![cfg(feature = "wgpu")]

use std::path::Path;
use std::process::Command;

use outcrop::device::probe;
use outcrop::machine::Backend;
use outcrop::pipeline::npy::NpyFile;
use serde_json::Value;

fn adapter_is_there() -> bool {
    let inventory = probe::inventory();
    let usable = |device: &outcrop::machine::DeviceInfo| {
        device.backend == Backend::Wgpu && device.unusable.is_none()
    };
    if inventory.machine.devices.iter().any(usable) {
        return true;
    }
    let required = std::env::var("OUTCROP_REQUIRE").is_ok_and(|names| names.contains("wgpu"));
    assert!(!required, "OUTCROP_REQUIRE names wgpu, and there is no adapter: {:?}", inventory.notes);
    println!("SKIPPED wgpu: no adapter ({:?})", inventory.notes);
    false
}

/// Runs an example, and returns the object that `--json` prints.
fn run(example: &str, flag: &str, out: &Path) -> Value {
    let ran = Command::new(env!("CARGO_BIN_EXE_outcrop"))
        .arg("run")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(example))
        .args(["--json", flag, "--out"])
        .arg(out)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    serde_json::from_slice(&ran.stdout).unwrap()
}

fn values(path: &Path) -> Vec<f32> {
    let file = NpyFile::open(path).unwrap();
    file.data().chunks_exact(4).map(|bytes| f32::from_ne_bytes(bytes.try_into().unwrap())).collect()
}

fn agree(example: &str, arrays: &[&str]) -> Value {
    let (host, gpu) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    run(example, "--cpu-only", host.path());
    let report = run(example, "--allow-software-gpu", gpu.path());
    for array in arrays {
        let [host, gpu] = [&host, &gpu].map(|out| values(&out.path().join(array)));
        assert_eq!(host.len(), gpu.len());
        let largest = host.iter().fold(0f32, |largest, value| largest.max(value.abs()));
        let worst = host.iter().zip(&gpu).map(|(a, b)| (a - b).abs()).fold(0f32, f32::max);
        assert!(worst <= 2e-6 * largest, "{array}: {worst} apart, of {largest}");
    }
    report
}

/// The copies and bytes from one kind of memory to the other.
fn moved(report: &Value, from_host: bool) -> (u64, u64) {
    let edges = report["transfers"]["edges"].as_array().unwrap().iter();
    let wanted = edges.filter(|edge| (edge["from"] == "host") == from_host);
    wanted.fold((0, 0), |(count, bytes), edge| {
        (count + edge["count"].as_u64().unwrap(), bytes + edge["bytes"].as_u64().unwrap())
    })
}

#[test]
fn hillshade_on_a_gpu() {
    if !adapter_is_there() {
        return;
    }
    let report = agree("hillshade.toml", &["hillshade.npy"]);
    let layers = report["layers"].as_array().unwrap();
    let shaded = layers.iter().find(|layer| layer["name"] == "hillshade").unwrap();
    assert_eq!((&shaded["backend"], &shaded["fallback"]), (&Value::from("wgpu"), &Value::Null));
    assert_eq!(shaded["annotations"]["device"], "prefer-gpu");
    let raster = 344 * 403 * 4;
    assert_eq!((moved(&report, true), moved(&report, false)), ((2, 2 * raster), (1, raster)));
}

#[test]
fn brain_on_a_gpu() {
    if !adapter_is_there() {
        return;
    }
    let report = agree("brain.toml", &["smooth.npy", "edges.npy", "mean_intensity.npy", "std_intensity.npy"]);
    let volume = 99 * 117 * 95 * 4;
    assert_eq!((moved(&report, true), moved(&report, false)), ((4, volume), (8, 2 * volume)));
    assert_eq!(report["transfers"]["count"], 12);
}
