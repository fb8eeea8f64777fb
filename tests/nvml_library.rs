//! The inventory through real libraries: nvml-wrapper on a made-up NVML (tests/nvml), beside the emulated CUDA driver
//! (tests/cuda-driver), by the command as a user runs it.

#![cfg(all(feature = "cuda", target_os = "linux"))]

mod emulated;

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// A folder on the library path.
struct Libraries(tempfile::TempDir);

struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Libraries {
    /// The emulated CUDA driver, which has no card unless it is told to: a real one stays out of it.
    fn none() -> Self {
        let libraries = Libraries(tempfile::tempdir().unwrap());
        libraries.with("libcuda.so", &emulated::driver()).with("libcuda.so.1", &emulated::driver())
    }

    /// The made-up NVML under the one name that every driver installs.
    fn nvml() -> Self {
        Self::none().with("libnvidia-ml.so.1", &emulated::driver().with_file_name("libnvml.so"))
    }

    fn with(self, name: &str, library: &Path) -> Self {
        assert!(library.exists(), "{}", library.display());
        symlink(library, self.0.path().join(name)).unwrap();
        self
    }

    fn outcrop(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_outcrop"));
        command.args(arguments).current_dir(self.0.path());
        command.env("LD_LIBRARY_PATH", self.0.path()).env("OUTCROP_NVRTC", emulated::nvrtc());
        command.env("XDG_CACHE_HOME", self.0.path().join("cache")).env("OUTCROP_CUDA_DEVICES", "0");
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

    /// What is found where NVML gives this description: the machine, and what `outcrop devices` prints.
    fn devices(&self, description: &Value, variables: &[(&str, &str)]) -> (Value, String) {
        let description = description.to_string();
        let variables = [&[("OUTCROP_NVML", description.as_str())], variables].concat();
        let [json, text] = [&["devices", "--json"][..], &["devices"]].map(|arguments| {
            let ran = self.outcrop(arguments, &variables);
            assert_eq!(ran.code, 0, "{}", ran.stderr);
            ran.stdout
        });
        (serde_json::from_str(&json).unwrap(), text)
    }
}

/// The devices of a machine that NVML or the CUDA driver shows.
fn nvidia(machine: &Value) -> Vec<&Value> {
    let is_ours = |way: &Value| way["api"] == "nvml" || way["api"] == "cuda";
    let devices = machine["devices"].as_array().unwrap().iter();
    devices.filter(|device| device["ways"].as_array().unwrap().iter().any(is_ours)).collect()
}

fn memory<'a>(machine: &'a Value, device: &Value) -> &'a Value {
    machine["memories"].as_array().unwrap().iter().find(|memory| memory["name"] == device["memory"]).unwrap()
}

/// The card that the emulated driver has at a bus, as NVML would tell of it.
fn card(bus: u8) -> Value {
    json!({
        "name": "Emulated GPU",
        "pci": format!("00000000:{bus:02X}:00.0"),
        "uuid": uuid(bus),
        "memory": [1_u64 << 30, (1_u64 << 30) - 4096],
        "cores": 1024, "core_clock": 1000, "memory_clock": 1000, "bus_bits": 256,
        "capability": [8, 0], "pcie": [4, 16],
    })
}

fn uuid(bus: u8) -> String {
    format!("GPU-6f757463-726f-702d-656d-756c617465{bus:02x}")
}

#[test]
fn case_d03_the_library_is_found_by_the_name_that_drivers_install() {
    let libraries = Libraries::nvml();
    assert!(!libraries.0.path().join("libnvidia-ml.so").exists());
    let mut other = card(2);
    other["memory"] = json!({ "error": 3 });
    let (machine, text) =
        libraries.devices(&json!({ "driver": "550.54.15", "cards": [card(1), other] }), &[]);
    let found = nvidia(&machine);
    assert_eq!(found.len(), 2, "{text}");
    assert_eq!(found[0]["pci"], "0000:01:00.0");
    assert_eq!(found[0]["uuid"], uuid(1));
    assert_eq!(found[0]["compute_capability"], "8.0");
    assert_eq!(found[0]["rates"]["flops_f32"], 2.048e12);
    assert_eq!(found[0]["ways"], json!([{ "api": "nvml", "driver": "550.54.15" }]));
    let [known, unknown] = [memory(&machine, found[0]), memory(&machine, found[1])];
    assert_eq!((&known["bytes"], &known["free"]), (&json!(1 << 30), &json!((1 << 30) - 4096)));
    assert_eq!((&unknown["bytes"], &unknown["kind"]), (&Value::Null, &json!("unknown")));
    assert!(text.contains("PCIe 4.0 x16") && text.contains("the CUDA driver doesn't show it"), "{text}");
}

#[test]
fn case_d03_trouble_with_the_library_is_told_and_survived() {
    let garbage = Libraries::none();
    std::fs::write(garbage.0.path().join("libnvidia-ml.so.1"), "no library").unwrap();
    let other = Libraries::none().with("libnvidia-ml.so.1", &emulated::driver());
    // SAFETY: what such a library does when it is loaded is none of this test's business.
    let real = unsafe { libloading::os::unix::Library::new("libnvidia-ml.so.1") };
    let missing = [(Libraries::none(), json!(null), None)].into_iter().filter(|_| real.is_err());
    let table = [
        (garbage, json!(null), Some("libnvidia-ml.so.1: ")),
        (other, json!(null), Some("nvmlInit_v2")),
        (Libraries::nvml(), json!({ "init": 9 }), Some("NVIDIA driver is not loaded")),
        (
            Libraries::nvml(),
            json!({ "init": 18 }),
            Some("version mismatch: the NVIDIA kernel module that is loaded"),
        ),
        (Libraries::nvml(), json!({ "cards": { "error": 999 } }), Some("can't list the NVIDIA cards")),
        (
            Libraries::nvml(),
            json!({ "cards": [{ "name": { "error": 15 } }] }),
            Some("can't identify card 0, left out"),
        ),
    ];
    for (libraries, description, note) in missing.chain(table) {
        let (machine, text) = libraries.devices(&description, &[]);
        assert_eq!(nvidia(&machine).len(), 0, "{text}");
        let notes: Vec<&str> = text.lines().filter(|line| line.starts_with("note: NVML")).collect();
        match note {
            Some(note) => assert!(notes.iter().any(|line| line.contains(note)), "{note}: {text}"),
            None => assert!(notes.is_empty(), "{text}"),
        }
    }
}

#[test]
fn case_d03_a_run_goes_on_where_it_may() {
    let libraries = Libraries::nvml();
    let mismatch = [("OUTCROP_NVML", r#"{"init": 18}"#)];
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let hillshade = std::fs::read_to_string(examples.join("hillshade.toml")).unwrap();
    let hillshade = hillshade.replace("data/", &format!("{}/data/", examples.display()));
    let cards = json!({ "driver": "1", "cards": [card(1)] }).to_string();
    let hidden = [("OUTCROP_NVML", cards.as_str()), ("CUDA_VISIBLE_DEVICES", "-1")];
    let table: [(&str, i32, &[_], &str); 4] = [
        ("prefer-gpu", 0, &mismatch, "driver/library version mismatch"),
        ("gpu", 3, &mismatch, "driver/library version mismatch"),
        (
            "prefer-gpu",
            0,
            &hidden,
            "gpu0 (Emulated GPU, 1.0 GiB): can't be used: hidden by CUDA_VISIBLE_DEVICES=-1",
        ),
        ("gpu", 3, &hidden, "gpu0 (Emulated GPU, 1.0 GiB): can't be used: hidden by CUDA_VISIBLE_DEVICES=-1"),
    ];
    for (device, code, variables, why) in table {
        std::fs::write(libraries.0.path().join("p.toml"), hillshade.replace("prefer-gpu", device)).unwrap();
        let ran = libraries.outcrop(&["run", "p.toml", "--out", "out"], variables);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert_eq!(ran.code, code, "{device}: {said}");
        assert!(said.contains(why), "{device}: {said}");
    }
}

#[test]
fn case_d05_slices_are_told_with_their_own_memory() {
    let mut divided = card(1);
    divided["mig"] = json!([
        null,
        { "name": "Emulated GPU MIG 1g.256mb", "uuid": "MIG-1", "memory": [1 << 28, 1 << 27], "slices": 1 },
        { "name": "Emulated GPU MIG 2g.512mb", "uuid": "MIG-2", "memory": [1 << 29, 1 << 28] },
        { "name": { "error": 4 } },
    ]);
    let (machine, text) = Libraries::nvml().devices(&json!({ "driver": "1", "cards": [divided] }), &[]);
    let found = nvidia(&machine);
    let names: Vec<_> = found.iter().map(|device| device["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["gpu0", "gpu0.mig0", "gpu0.mig1"], "{text}");
    let bytes: Vec<_> =
        found.iter().map(|device| memory(&machine, device)["bytes"].as_u64().unwrap()).collect();
    assert_eq!(bytes, [1 << 30, 1 << 28, 1 << 29]);
    let flops = |at: usize| found[at]["rates"]["flops_f32"].as_f64().unwrap();
    let sevenths = [1, 2].map(|at| (7.0 * flops(at) / flops(0)).round());
    assert_eq!(sevenths, [1.0, 2.0], "as NVML tells, and by the name");
    assert_eq!(found[1]["slice_of"], "gpu0");
    assert!(text.contains("slice 3 of card 0, left out"), "{text}");
    assert!(text.contains("it is divided (MIG); use gpu0.mig0, gpu0.mig1"), "{text}");
}

#[test]
fn one_card_by_nvml_and_cuda_is_one_device() {
    if !emulated::has_nvrtc() {
        return;
    }
    let libraries = Libraries::nvml();
    let mut cards = [card(1), card(2)];
    cards[0]["nvlinks"] = json!([{ "version": 5, "card": "00000000:02:00.0" }, null, { "version": 5, "card": "00000000:02:00.0" }]);
    cards[1]["nvlinks"] =
        json!([{ "version": 5, "card": "00000000:01:00.0" }, { "version": 5, "card": "00000000:01:00.0" }]);
    let description = json!({ "driver": "550.54.15", "cards": cards });
    let (machine, text) = libraries.devices(&description, &[("OUTCROP_CUDA_DEVICES", "2")]);
    let found = nvidia(&machine);
    assert_eq!(found.len(), 2, "{text}");
    for device in found {
        assert_eq!(device["backend"], "cuda");
        assert_eq!(device["unusable"], Value::Null);
        assert_eq!(device["ways"].as_array().unwrap().len(), 2, "{text}");
        // NVML's, which knows what is free.
        assert_eq!(memory(&machine, device)["free"], (1 << 30) - 4096);
    }
    assert!(text.contains("reaches  gpu1 (NVLink x2, 40.0 GB/s)"), "{text}");
}

#[test]
fn case_d02_what_cuda_hides_is_shown_with_the_reason() {
    let libraries = Libraries::nvml();
    let description = json!({ "driver": "550.54.15", "cards": [card(1), card(2), card(3)] });
    let of_third = uuid(3);
    let table: [(&str, &[usize], &str); 9] = [
        ("1", &[1], ""),
        ("2,0", &[0, 2], ""),
        ("", &[], ""),
        ("-1", &[], ""),
        ("0,7,1", &[0], "'7' names no card"),
        ("1,1", &[], "'1' names a card for the second time"),
        (&of_third, &[2], ""),
        (&of_third[..30], &[], "fits 3 cards"),
        ("GPU-00", &[], "'GPU-00' names no card"),
    ];
    for (value, shown, note) in table {
        let variables = [("OUTCROP_CUDA_DEVICES", "3"), ("CUDA_VISIBLE_DEVICES", value)];
        let (machine, text) = libraries.devices(&description, &variables);
        let found = nvidia(&machine);
        let is_shown =
            |device: &Value| device["ways"].as_array().unwrap().iter().any(|way| way["api"] == "cuda");
        let by_cuda: Vec<usize> = (0..found.len()).filter(|&at| is_shown(found[at])).collect();
        assert_eq!(by_cuda, shown, "{value}: {text}");
        for device in found.iter().filter(|device| !is_shown(device)) {
            let why = device["unusable"].as_str().unwrap_or_default();
            assert!(why.starts_with("hidden by CUDA_VISIBLE_DEVICES"), "{value}: {text}");
        }
        let noted = text.contains("note: CUDA_VISIBLE_DEVICES");
        assert!(noted != note.is_empty() && text.contains(note), "{value}: {text}");
    }
}
