//! Pipelines on the emulated CUDA driver, as a user runs them: the command finds the driver where it looks for a real
//! one. Values are the host's, bit for bit, whatever order the streams take; every move of data is shown; what fails on
//! a card ends as it would on a real one.

#![cfg(all(feature = "cuda", target_os = "linux"))]

mod emulated;

use std::path::Path;
use std::process::Command;

use outcrop::pipeline::npy::NpyFile;
use serde_json::Value;

/// A folder in which the emulated driver is called what the system's is, and kernels are kept for the next command.
struct Card(tempfile::TempDir);

struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Card {
    /// `None`, and a line that says so, where there is no compiler.
    fn new() -> Option<Card> {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(emulated::driver(), folder.path().join("libcuda.so.1")).unwrap();
        emulated::has_nvrtc().then_some(Card(folder))
    }

    /// The command with the card, and no other GPU.
    fn outcrop(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_outcrop"));
        command.args(arguments).current_dir(self.0.path());
        command.env("LD_LIBRARY_PATH", self.0.path()).env("OUTCROP_NVRTC", emulated::nvrtc());
        command
            .env("XDG_CACHE_HOME", self.0.path().join("cache"))
            .env("XDG_RUNTIME_DIR", std::env::temp_dir());
        for name in ["CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "OUTCROP_CPU_ONLY", "OUTCROP_DENY_FALLBACK"]
        {
            command.env_remove(name);
        }
        let output = command.envs(variables.iter().copied()).output().unwrap();
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs an example, and gives what it printed with `--json`.
    fn run(&self, example: &str, out: &str, variables: &[(&str, &str)]) -> Value {
        let ran = self.outcrop(&["run", &example_file(example), "--json", "--out", out], variables);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        serde_json::from_str(&ran.stdout).unwrap()
    }

    fn bytes(&self, out: &str, array: &str) -> Vec<u8> {
        NpyFile::open(&self.0.path().join(out).join(array)).unwrap().data().to_vec()
    }

    /// The arrays of an example, made by the host alone.
    fn on_host(&self, example: &str) {
        let ran = self.outcrop(&["run", &example_file(example), "--cpu-only", "--out", "host"], &[]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
}

fn example_file(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name).to_str().unwrap().to_owned()
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
fn hillshade_has_the_hosts_bits_and_shows_its_transfers() {
    let Some(card) = Card::new() else { return };
    card.on_host("hillshade.toml");
    let report = card.run("hillshade.toml", "cuda", &[]);
    assert_eq!(card.bytes("cuda", "hillshade.npy"), card.bytes("host", "hillshade.npy"));
    let layers = report["layers"].as_array().unwrap();
    let shaded = layers.iter().find(|layer| layer["name"] == "hillshade").unwrap();
    assert_eq!((&shaded["backend"], &shaded["fallback"]), (&Value::from("cuda"), &Value::Null));
    let raster = 344 * 403 * 4;
    assert_eq!((moved(&report, true), moved(&report, false)), ((2, 2 * raster), (1, raster)));
}

#[test]
fn values_are_the_same_in_every_order_of_the_streams() {
    let Some(card) = Card::new() else { return };
    card.on_host("hillshade.toml");
    for seed in 1..=6 {
        card.run("hillshade.toml", "cuda", &[("OUTCROP_CUDA_SCHEDULE", &format!("lazy:{seed}"))]);
        assert_eq!(card.bytes("cuda", "hillshade.npy"), card.bytes("host", "hillshade.npy"), "seed {seed}");
    }
}

#[test]
fn two_cards_share_a_run_and_copy_to_each_other() {
    let Some(card) = Card::new() else { return };
    card.on_host("brain.toml");
    let two = [("OUTCROP_CUDA_DEVICES", "2"), ("OUTCROP_CUDA_SCHEDULE", "lazy:5")];
    let shown = card.outcrop(&["devices", "--json"], &two);
    let machine: Value = serde_json::from_str(&shown.stdout).unwrap();
    let link = machine["links"].as_array().unwrap().iter().find(|link| link["from"] == "gpu0");
    assert_eq!(link.map(|link| &link["to"]), Some(&Value::from("gpu1")), "{}", shown.stdout);
    let report = card.run("brain.toml", "cuda", &two);
    assert!(report["layers"].as_array().unwrap().iter().any(|layer| layer["backend"] == "cuda"));
    for array in ["smooth.npy", "edges.npy", "mean_intensity.npy", "std_intensity.npy"] {
        assert_eq!(card.bytes("cuda", array), card.bytes("host", array), "{array}");
    }
}

#[test]
fn what_fails_on_the_card_is_mended_and_told() {
    let Some(card) = Card::new() else { return };
    card.on_host("hillshade.toml");
    let total = |report: &Value, field: &str| {
        report["layers"].as_array().unwrap().iter().map(|layer| layer[field].as_u64().unwrap()).sum::<u64>()
    };
    // A run allocates, launches and copies a few times each; a lost card's work moves to the host.
    for (fault, is_lost) in
        [("0:oom=2", false), ("0:slow=20000", false), ("0:launch=1", true), ("0:lost=20", true)]
    {
        let report = card.run("hillshade.toml", "faulty", &[("OUTCROP_CUDA_FAULTS", fault)]);
        assert_eq!(card.bytes("faulty", "hillshade.npy"), card.bytes("host", "hillshade.npy"), "{fault}");
        let is_told = report["recoveries"].to_string().contains("lost");
        assert_eq!(is_told, is_lost, "{fault}: {report}");
        let tries = (total(&report, "attempts"), total(&report, "tasks"));
        assert!(is_lost || fault.contains("slow") || tries.0 > tries.1, "{fault}: {tries:?}");
    }
}

/// `device=gpu` and a card that is lost: an error that says so, in bounded time, and no output.
#[test]
fn a_lost_card_is_an_error_where_only_a_card_will_do() {
    let Some(card) = Card::new() else { return };
    let pipeline = "[inputs.x]\npath = \"x.npy\"\n[[layer]]\nname = \"y\"\nexpr = \"exp(x)\"\nannotate = { device = \"gpu\" }\n\
                    [outputs]\ny = [\"y.npy\"]\n";
    std::fs::write(card.0.path().join("p.toml"), pipeline).unwrap();
    let x = "\u{93}NUMPY";
    let mut file: Vec<u8> = x.chars().map(|c| c as u8).collect();
    let header = format!("{:<117}\n", "{'descr': '<f8', 'fortran_order': False, 'shape': (64,), }");
    file.extend([1, 0, 118, 0]);
    file.extend(header.bytes());
    file.extend((0..64).flat_map(|i| f64::from(i).to_le_bytes()));
    std::fs::write(card.0.path().join("x.npy"), file).unwrap();
    let sound = card.outcrop(&["run", "p.toml"], &[]);
    assert_eq!(sound.code, 0, "{}", sound.stderr);
    std::fs::remove_file(card.0.path().join("y.npy")).unwrap();
    let lost = card.outcrop(&["run", "p.toml"], &[("OUTCROP_CUDA_FAULTS", "0:launch=1")]);
    assert_eq!(lost.code, 1, "{}", lost.stderr);
    assert!(lost.stderr.contains("gpu0") && lost.stderr.contains("lost"), "{}", lost.stderr);
    assert!(!card.0.path().join("y.npy").exists());
    let refused = card.outcrop(&["run", "p.toml"], &[("OUTCROP_CUDA_FAULTS", "0:refuse=1")]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    let names = ["layer 'y'", "gpu0", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"];
    assert!(names.iter().all(|name| refused.stderr.contains(name)), "{}", refused.stderr);
}

#[test]
fn kernels_are_kept_for_the_next_process_and_a_spoilt_one_is_made_again() {
    let Some(card) = Card::new() else { return };
    card.run("hillshade.toml", "first", &[]);
    let folder = card.0.path().join("cache/outcrop/kernels");
    let kept = || {
        let entries = std::fs::read_dir(&folder).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
    };
    let first = kept();
    assert!(!first.is_empty());
    for path in &first {
        let mut bytes = std::fs::read(path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(path, bytes).unwrap();
    }
    card.run("hillshade.toml", "second", &[]);
    assert_eq!(kept().len(), first.len());
    assert_eq!(card.bytes("first", "hillshade.npy"), card.bytes("second", "hillshade.npy"));
}

/// What `outcrop devices` says of a card that can't be used.
#[test]
fn devices_say_why_a_card_is_not_usable() {
    let Some(card) = Card::new() else { return };
    let state = |shown: &str| {
        let mut lines = shown.lines().skip_while(|line| !line.starts_with("gpu0"));
        lines.find(|line| line.trim_start().starts_with("state")).map(str::to_owned)
    };
    let ready = card.outcrop(&["devices"], &[]);
    assert_eq!(state(&ready.stdout).as_deref(), Some("  state    ready, through cuda"), "{}", ready.stdout);
    let nothing = card.0.path().join("nothing.so");
    let blind = card.outcrop(&["devices"], &[("OUTCROP_NVRTC", nothing.to_str().unwrap())]);
    let why = state(&blind.stdout).unwrap();
    assert!(why.contains("not usable") && why.contains("nothing.so"), "{why}");
    // A library of the driver's name that has none of its functions.
    let old = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(emulated::nvrtc(), old.path().join("libcuda.so.1")).unwrap();
    let other = card.outcrop(&["devices"], &[("LD_LIBRARY_PATH", old.path().to_str().unwrap())]);
    let told = other.stdout + &other.stderr;
    assert!(other.code == 0 && told.contains("has no function cu"), "{told}");
    let hidden = card.outcrop(&["devices"], &[("CUDA_VISIBLE_DEVICES", "7")]);
    assert!(!hidden.stdout.contains("gpu0"), "{}", hidden.stdout);
}
