//! `outcrop devices --calibrate`, as a user runs it: figures are measured, kept, and known to later commands.

#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Command, Output};

use outcrop::machine::{DeviceKind, Machine, MemoryId, RatesFrom};

fn outcrop(arguments: &[&str], cache: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_outcrop"));
    command.args(arguments).env("XDG_CACHE_HOME", cache).env("CUDA_VISIBLE_DEVICES", "");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn machine(cache: &Path) -> Machine {
    let output = outcrop(&["devices", "--json"], cache);
    Machine::from_json(&String::from_utf8(output.stdout).unwrap()).unwrap()
}

#[test]
fn what_is_measured_is_known_afterwards() {
    let cache = tempfile::tempdir().unwrap();
    let before = machine(cache.path());
    assert!(before.devices.iter().all(|device| device.rates_from != RatesFrom::Measured));
    let said = String::from_utf8(outcrop(&["devices", "--calibrate"], cache.path()).stdout).unwrap();
    let file = cache.path().join("outcrop/calibration.json");
    assert!(said.contains(&format!("are in {}", file.display())), "{said}");
    let after = machine(cache.path());
    for (id, device) in after.devices().filter(|(_, device)| device.unusable.is_none()) {
        assert_eq!(device.rates_from, RatesFrom::Measured, "{}: {said}", device.name);
        // Within what any processor can do; a figure of the wrong unit isn't.
        let rates = device.rates;
        assert!(
            (1e7..1e14).contains(&rates.flops_f32) && (1e7..1e14).contains(&rates.flops_f64),
            "{rates:?}"
        );
        assert!((1e7..1e13).contains(&rates.memory_bytes_per_s), "{rates:?}");
        assert!((1e-9..0.1).contains(&rates.launch_s), "{rates:?}");
        if device.kind != DeviceKind::Host {
            let memory = after.memory_of(id);
            for link in [after.link(MemoryId::HOST, memory), after.link(memory, MemoryId::HOST)] {
                assert!((1e7..1e13).contains(&link.bytes_per_s) && link.latency_s < 0.1, "{link:?}");
            }
        }
    }
    assert_eq!(after.devices.len(), before.devices.len());
}

#[test]
fn figures_that_cant_be_kept_are_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    std::fs::write(&cache, "a file where a folder should be").unwrap();
    let said = String::from_utf8(outcrop(&["devices", "--calibrate"], &cache).stdout).unwrap();
    assert!(said.contains("note: the figures can't be kept: "), "{said}");
    assert!(!said.contains("are in"), "{said}");
}
