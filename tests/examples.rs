//! The two example pipelines, against what NumPy and SciPy give in f64 (`examples/expected/make.py`).
//!
//! A value passes when it is within 1e-5 of the expected one, relative to the larger of that and a floor:
//! - hillshade: 0.1 of its range [0, 1], since values near 0 are differences of two products near 1/2;
//! - smooth: 0.001, since what surrounds the head is 0;
//! - edges: 5 per mm, since they are differences of neighbours of up to 234 over 4 mm. NumPy's own gradient in
//!   f32 is off by as much: at most 2.0e-5 both, as the rounding of `smooth` to f32 decides it;
//! - counts must be equal.

use std::path::{Path, PathBuf};
use std::process::Command;

use outcrop::exec::Control;
use outcrop::machine::Machine;
use outcrop::pipeline::Pipeline;
use outcrop::pipeline::npy::NpyFile;
use outcrop::session::Session;
use outcrop::settings::Config;
use outcrop::units::Bytes;

#[test]
fn hillshade_through_the_library() {
    let out = run_here("hillshade.toml", Config { cpu_only: Some(true), ..Config::default() });
    check_hillshade(out.path());
}

#[test]
fn hillshade_through_the_binary() {
    let out = tempfile::tempdir().unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_outcrop"))
        .args(["run", "--cpu-only", "--quiet"])
        .arg(example("hillshade.toml"))
        .arg("--out")
        .arg(out.path())
        .status()
        .unwrap();
    assert!(status.success());
    check_hillshade(out.path());
}

#[test]
fn brain_through_the_library() {
    let out = run_here("brain.toml", Config { threads: Some(3), ..Config::default() });
    let out = out.path();
    compare(&sampled(&out.join("smooth.npy"), &[7, 4, 2]), &expected("smooth"), 1e-3);
    compare(&sampled(&out.join("edges.npy"), &[7, 4, 2]), &expected("edges"), 5.0);
    for name in ["mean_intensity", "std_intensity"] {
        compare(&sampled(&out.join(format!("{name}.npy")), &[]), &expected(name), 1.0);
    }
    assert_eq!(sampled(&out.join("intensities.npy"), &[1]), expected("intensities"));
    for picture in ["middle.png", "middle_edges.png"] {
        let bytes = std::fs::read(out.join(picture)).unwrap();
        assert!(bytes.starts_with(b"\x89PNG"), "{picture}");
        assert_eq!(bytes[16..24], [0, 0, 0, 117, 0, 0, 0, 99], "{picture}: width and height");
    }
}

#[test]
fn results_depend_neither_on_threads_nor_on_memory() {
    let small = Config { threads: Some(1), memory: Some(Bytes(64 << 20)), ..Config::default() };
    let (one, many) = (run_here("brain.toml", small), run_here("brain.toml", Config::default()));
    for name in ["smooth.npy", "edges.npy", "mean_intensity.npy", "std_intensity.npy", "middle.png"] {
        let [one, many] = [&one, &many].map(|out| std::fs::read(out.path().join(name)).unwrap());
        assert!(one == many, "{name} differs");
    }
}

fn check_hillshade(out: &Path) {
    compare(&sampled(&out.join("hillshade.npy"), &[7, 6]), &expected("hillshade"), 0.1);
    let picture = std::fs::read(out.join("hillshade.png")).unwrap();
    assert_eq!(picture[16..24], [0, 0, 1, 147, 0, 0, 1, 88], "width and height");
}

/// Runs an example on a described machine, so that nothing depends on the one that tests run on.
fn run_here(file: &str, config: Config) -> tempfile::TempDir {
    let out = tempfile::tempdir().unwrap();
    let pipeline = Pipeline::open(&example(file), &[], out.path()).unwrap();
    let machine = Machine::host_only(2, Bytes(4 << 30));
    let session = Session::on(machine, config.or(pipeline.config()));
    let prepared = session.prepare(&pipeline.outputs()).unwrap();
    pipeline.create_outputs().unwrap();
    session.run(&prepared, &Control::new()).unwrap();
    out
}

fn example(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(file)
}

fn expected(name: &str) -> Vec<f64> {
    values(&example("expected").join(format!("{name}.npy"))).1
}

/// Every so many elements along each axis, as the script takes them.
fn sampled(path: &Path, steps: &[usize]) -> Vec<f64> {
    let (shape, values) = values(path);
    assert_eq!(shape.len(), steps.len(), "{}", path.display());
    let is_sample = |at: &usize| {
        let mut rest = *at;
        shape.iter().zip(steps).rev().all(|(extent, step)| {
            let index = rest % extent;
            rest /= extent;
            index.is_multiple_of(*step)
        })
    };
    (0..values.len()).filter(is_sample).map(|at| values[at]).collect()
}

fn values(path: &Path) -> (Vec<usize>, Vec<f64>) {
    use outcrop::dtype::DType;
    let file = NpyFile::open(path).unwrap();
    let data = file.data();
    let values = match file.dtype {
        DType::F32 => {
            data.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()).into()).collect()
        }
        DType::F64 => data.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect(),
        DType::I64 => {
            data.chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().unwrap()) as f64).collect()
        }
        other => panic!("{} holds {other}", path.display()),
    };
    (file.shape.to_vec(), values)
}

fn compare(got: &[f64], want: &[f64], floor: f64) {
    assert_eq!(got.len(), want.len());
    let worst = got.iter().zip(want).map(|(got, want)| (got - want).abs() / want.abs().max(floor));
    let worst =
        worst.fold(0.0, |worst: f64, error| if error > worst || error.is_nan() { error } else { worst });
    assert!(worst <= 1e-5, "off by {worst:e}");
}
