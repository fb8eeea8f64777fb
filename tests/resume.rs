//! `outcrop run --resume`: what a later run takes from an earlier one, also from one that was killed, and what not.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use outcrop::annotate::{Annotations, annotate};
use outcrop::collections::Array;
use outcrop::collections::array::Over;
use outcrop::exec::Control;
use outcrop::machine::Machine;
use outcrop::session::Session;
use outcrop::settings::Config;
use outcrop::store::resume::ResumeStore;
use serde_json::Value;

const PIPELINE: &str = r#"
[inputs.a]
path = "a.npy"
chunks = [8, 32]

[inputs.b]
full = 2.5
shape = [64, 32]
dtype = "f64"
chunks = [8, 32]

[[layer]]
name = "wave"
expr = "sin(a) * exp(cos(a)) + 1.5"
annotate = { checkpoint = true }

[[layer]]
name = "flat"
expr = "b * 3"
annotate = { checkpoint = true }

[[layer]]
name = "mixed"
expr = "wave - mean(wave) + flat"

[outputs]
mixed = ["mixed.npy", { path = "mixed.png", scale = [-4, 12] }]
"#;

/// A folder with a pipeline and its input, in which the command runs.
struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new(pipeline: &str, rows: usize) -> Self {
        let scratch = Scratch(tempfile::tempdir().unwrap());
        std::fs::write(scratch.file("p.toml"), pipeline).unwrap();
        scratch.input(rows, |at| at as f64 * 0.01);
        scratch
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn input(&self, rows: usize, element: impl Fn(usize) -> f64) {
        let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, 32), }}");
        let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        bytes.extend(format!("{header:<117}\n").as_bytes());
        bytes.extend((0..rows * 32).flat_map(|at| element(at).to_le_bytes()));
        std::fs::write(self.file("a.npy"), bytes).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_outcrop"));
        command
            .args(["run", "p.toml", "--cpu-only", "--threads", "2"])
            .args(arguments)
            .current_dir(self.0.path());
        command
    }

    /// The report of a run that goes well.
    fn run(&self, arguments: &[&str]) -> Report {
        let output = self.command(arguments).arg("--json").output().unwrap();
        let (out, error) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{error}");
        Report(serde_json::from_str(&out).unwrap())
    }

    fn resumed(&self) -> Report {
        self.run(&["--resume", "kept"])
    }

    fn outputs(&self) -> [Vec<u8>; 2] {
        ["mixed.npy", "mixed.png"].map(|name| std::fs::read(self.file(name)).unwrap_or_default())
    }
}

struct Report(Value);

impl Report {
    /// Blocks computed, recalled and kept of a layer: of the last of those that its expression makes.
    fn counts(&self, layer: &str) -> (u64, u64, u64) {
        let layers = self.0["layers"].as_array().unwrap();
        let layer = layers.iter().rfind(|one| one["name"] == layer).unwrap();
        let count = |key: &str| layer[key].as_u64().unwrap();
        (count("tasks"), count("recalled"), count("kept"))
    }

    fn of_all(&self) -> [(u64, u64, u64); 3] {
        ["wave", "flat", "mixed"].map(|layer| self.counts(layer))
    }

    fn notes(&self) -> usize {
        self.0["resume"]["notes"].as_array().unwrap().len()
    }
}

const ALL: (u64, u64, u64) = (8, 0, 8);
const NOT_NEEDED: (u64, u64, u64) = (0, 0, 0);

#[test]
fn a_later_run_computes_what_changed_and_nothing_else() {
    let scratch = Scratch::new(PIPELINE, 64);
    assert_eq!(scratch.resumed().of_all(), [ALL, ALL, ALL]);
    let first = scratch.outputs();
    let again = scratch.resumed();
    assert_eq!((again.of_all(), scratch.outputs()), ([NOT_NEEDED, NOT_NEEDED, (0, 8, 0)], first.clone()));

    // Annotations, names of files and their times say nothing of values.
    std::fs::rename(scratch.file("a.npy"), scratch.file("c.npy")).unwrap();
    let moved =
        PIPELINE.replace("a.npy", "c.npy").replace("checkpoint = true", "checkpoint = true, retries = 2");
    std::fs::write(scratch.file("p.toml"), moved).unwrap();
    assert_eq!(scratch.resumed().of_all(), [NOT_NEEDED, NOT_NEEDED, (0, 8, 0)]);

    // A constant, of which one layer and what comes after it is made. Its old blocks are removed then.
    let constant = PIPELINE.replace("b * 3", "b * 4");
    let set = |text: &str| std::fs::write(scratch.file("p.toml"), text).unwrap();
    std::fs::rename(scratch.file("c.npy"), scratch.file("a.npy")).unwrap();
    set(&constant);
    assert_eq!(scratch.resumed().of_all(), [(0, 8, 0), ALL, ALL]);
    set(PIPELINE);
    assert_eq!(scratch.resumed().of_all(), [(0, 8, 0), ALL, ALL]);

    // One byte of an input.
    scratch.input(64, |at| if at == 2000 { 7.5 } else { at as f64 * 0.01 });
    assert_eq!(scratch.resumed().of_all(), [ALL, (0, 8, 0), ALL]);
    let disturbed = scratch.outputs();
    scratch.run(&[]);
    assert!(scratch.outputs() == disturbed && disturbed != first);

    // The cuts.
    set(&PIPELINE.replacen("[8, 32]", "[16, 32]", 1));
    let cut = scratch.resumed();
    assert_eq!((cut.counts("wave"), cut.counts("flat")), ((4, 0, 4), (0, 8, 0)));
}

#[test]
fn people_read_what_was_resumed() {
    let scratch = Scratch::new(PIPELINE, 64);
    let text = || String::from_utf8(scratch.command(&["--resume", "kept"]).output().unwrap().stdout).unwrap();
    let (first, second) = (text(), text());
    assert!(first.contains("kept: 8 of 8 blocks of 'wave' in kept"), "{first}");
    assert!(
        second.contains("resumed: 8 of 8 blocks of 'mixed' from kept") && !second.contains("kept: "),
        "{second}"
    );
}

/// Some bytes of every chunk: of those that aren't needed at first, too.
fn damage(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().starts_with("chunks-") {
            let mut bytes = std::fs::read(&path).unwrap();
            bytes.iter_mut().step_by(20).for_each(|byte| *byte ^= 0x5a);
            std::fs::write(&path, bytes).unwrap();
        }
    }
}

/// The picture's rows come in order, and can't be written twice: the run that comes upon the damage begins it anew.
#[test]
fn damaged_blocks_are_computed_again_and_the_report_says_so() {
    let scratch = Scratch::new(PIPELINE, 64);
    scratch.resumed();
    let whole = scratch.outputs();
    damage(&scratch.file("kept"));
    let mended = scratch.resumed();
    assert_eq!(mended.of_all(), [ALL, ALL, ALL]);
    assert_eq!(mended.notes(), 9, "eight, and how many more: the picture's own blocks are kept too");
    assert_eq!(scratch.outputs(), whole);
    let after = scratch.resumed();
    assert_eq!((after.of_all(), after.notes()), ([NOT_NEEDED, NOT_NEEDED, (0, 8, 0)], 0));
}

#[test]
fn a_folder_that_is_none_of_ours_is_refused_and_left_alone() {
    let scratch = Scratch::new(PIPELINE, 64);
    std::fs::create_dir(scratch.file("kept")).unwrap();
    std::fs::write(scratch.file("kept/manifest"), "a diary").unwrap();
    std::fs::write(scratch.file("file"), "a letter").unwrap();
    for folder in ["kept", "file"] {
        let refused = scratch.command(&["--resume", folder]).output().unwrap();
        let error = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(1), "{error}");
        assert!(error.starts_with("error: ") && error.contains(folder), "{error}");
    }
    assert_eq!(std::fs::read(scratch.file("kept/manifest")).unwrap(), b"a diary");
    assert!(scratch.outputs().iter().all(Vec::is_empty), "nothing is written");
}

#[test]
fn a_folder_serves_one_run_at_a_time() {
    let scratch = Scratch::new(PIPELINE, 64);
    let store = ResumeStore::open(&scratch.file("kept")).unwrap();
    let refused = scratch.command(&["--resume", "kept"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("another run uses"));
    drop(store);
    assert_eq!(scratch.resumed().of_all(), [ALL, ALL, ALL]);
}

/// From Rust: arrays in memory are known by their elements, and blocks of other pipelines stay until they are removed.
#[test]
fn sessions_resume_what_is_made_of_arrays_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let machine = format!("{}/examples/machines/cpu-only.toml", env!("CARGO_MANIFEST_DIR"));
    let machine = Machine::from_toml(&std::fs::read_to_string(machine).unwrap()).unwrap();
    let session = || {
        let resume = Some(folder.path().join("kept"));
        Session::on(machine.clone(), Config { threads: Some(2), resume, ..Config::default() })
    };
    let sum = |last: f32| {
        let x = Array::from_slice([4], &[1., 2., 3., last]).rechunk(&[2]);
        let y = annotate(Annotations::new().with_checkpoint(true).unwrap(), || (x * 2.0).named("y"));
        y.sum(&Over::all()).named("sum")
    };
    let counts = |session: &Session, array: &Array| {
        let report =
            session.run(&session.prepare(&[array.layer().unwrap().clone()]).unwrap(), &Control::new());
        let layers = report.unwrap().report.layers;
        layers
            .into_iter()
            .filter(|layer| layer.op != "load")
            .map(|layer| (layer.recalled, layer.kept))
            .collect::<Vec<_>>()
    };
    assert_eq!(counts(&session(), &sum(4.)), [(0, 2), (0, 1)]);
    let second = session();
    assert_eq!(counts(&second, &sum(4.)), [(0, 0), (1, 0)]);
    assert_eq!(counts(&second, &sum(5.)), [(0, 2), (0, 1)]);
    assert_eq!(second.compute(&sum(4.)).unwrap().to_scalar::<f32>(), Some(20.));
    assert_eq!(second.remove_unused().unwrap(), 0, "this session used all of it");
    drop(second);
    let third = session();
    assert_eq!(counts(&third, &sum(5.)), [(0, 0), (1, 0)]);
    assert_eq!(third.remove_unused().unwrap(), 3, "the blocks of the first sum");
}

/// So many blocks that the store makes them safe a dozen times in a run.
const ROWS: usize = 1 << 15;

const LONG: &str = r#"
[inputs.a]
path = "a.npy"
chunks = [8, 32]

[[layer]]
name = "wave"
expr = "sin(a) * exp(cos(a)) + 1.5"
annotate = { checkpoint = true }

[[layer]]
name = "mixed"
expr = "tanh(wave) ** 1.5 - mean(wave)"

[outputs]
mixed = "mixed.npy"
"#;

/// Bytes in the files of chunks.
fn bytes_kept(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let size = |entry: std::fs::DirEntry| entry.metadata().map_or(0, |metadata| metadata.len());
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("chunks-"))
        .map(size)
        .sum()
}

/// Numbers as SplitMix64 makes them.
fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (*seed ^ (*seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// A run is killed when so many bytes are on disk as chance says; what the manifest names then is recalled by the next
/// one, all else is computed, and the result is the same to the byte.
#[test]
fn a_run_that_is_killed_is_resumed_wherever_it_was() {
    let scratch = Scratch::new(LONG, ROWS);
    scratch.run(&["--resume", "whole"]);
    let (whole, bytes) = (scratch.outputs(), bytes_kept(&scratch.file("whole")));
    let blocks = ROWS as u64 / 8;
    let instants = if std::env::var_os("OUTCROP_SOAK").is_some() { 50 } else { 6 };
    let (mut seed, mut resumed) = (20, 0);
    for instant in 0..instants {
        let (name, limit) = (format!("kept{instant}"), random(&mut seed) % bytes);
        let folder = scratch.file(&name);
        std::fs::remove_file(scratch.file("mixed.npy")).unwrap();
        let mut killed =
            scratch.command(&["--resume", &name, "--quiet"]).stdout(Stdio::null()).spawn().unwrap();
        while bytes_kept(&folder) < limit && killed.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        killed.kill().unwrap();
        killed.wait().unwrap();
        let safe = ResumeStore::open(&folder).unwrap().chunks() as u64;
        let report = scratch.run(&["--resume", &name]);
        let (wave, mixed) = (report.counts("wave"), report.counts("mixed"));
        assert_eq!(mixed.1 + mixed.2, blocks, "instant {instant}: {safe} were safe");
        assert_eq!(mixed.0, mixed.2, "what isn't recalled is computed and kept");
        // Without a block of 'mixed' to compute, 'wave' isn't needed.
        if mixed.0 > 0 {
            assert_eq!((wave.1 + wave.2, wave.0), (blocks, wave.2));
            assert_eq!(wave.1 + mixed.1, safe, "instant {instant}");
        }
        assert!(scratch.outputs() == whole, "instant {instant}: another result");
        resumed += u64::from(wave.1 + mixed.1 > 0);
        std::fs::remove_dir_all(folder).unwrap();
    }
    assert!(resumed > 0, "no instant left anything to resume from");
}
