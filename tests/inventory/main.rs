//! Machines as NVML, the CUDA driver, Vulkan and others describe them, and what Outcrop makes of each.

mod any;
mod build;
mod fixtures;

use outcrop::device::probe::{Sources, join};
use outcrop::machine::{Machine, MemoryKind};

use fixtures::{Fixture, table};

#[test]
fn every_machine_is_as_its_snapshot_has_it() {
    let mut groups: Vec<(&str, String)> = Vec::new();
    for Fixture { group, name, sources, .. } in table() {
        if groups.last().is_none_or(|(last, _)| *last != group) {
            groups.push((group, String::new()));
        }
        let text = &mut groups.last_mut().expect("just pushed").1;
        let inventory = join(&sources).to_string();
        // The host is the same in most, and shown where it isn't.
        let gpus = match sources.host == build::host() {
            true => inventory.split_inclusive('\n').skip(6).collect(),
            false => inventory,
        };
        text.push_str(&format!("=== {name}\n{gpus}\n"));
    }
    assert!(table().len() >= 25);
    for (group, text) in groups {
        insta::assert_snapshot!(group, text);
    }
}

#[test]
fn case_d01_a_card_is_listed_once_by_however_many() {
    for Fixture { name, devices, sources, .. } in table() {
        let machine = join(&sources).machine;
        assert_eq!(machine.devices.len() - 1, devices, "{name}\n{machine}");
    }
}

#[test]
fn case_d04_no_memory_is_empty_nor_the_hosts() {
    for Fixture { name, sources, .. } in table() {
        let machine = join(&sources).machine;
        for memory in &machine.memories[1..] {
            let whole = memory.bytes >= sources.host.memory;
            assert!(memory.bytes.is_none_or(|bytes| bytes.0 > 0), "{name}: {memory:?}");
            assert!(
                memory.kind != MemoryKind::Unified || !whole || memory.bytes.is_none(),
                "{name}: {memory:?}"
            );
            assert!(memory.kind != MemoryKind::Unknown || memory.bytes.is_none(), "{name}: {memory:?}");
        }
    }
}

#[test]
fn case_d05_a_slice_has_its_own_memory() {
    let mut slices = 0;
    for Fixture { name, sources, .. } in table() {
        let machine = join(&sources).machine;
        for device in machine.devices.iter().filter(|device| device.slice_of.is_some()) {
            let of = |name: &str| machine.memory_by_name(name).map(|id| machine.memory(id).bytes);
            let card = device.slice_of.as_deref().expect("a slice");
            let parent = machine.device(machine.device_by_name(card).expect("listed"));
            assert_ne!(of(&device.memory), of(&parent.memory), "{name}: {}", device.name);
            assert!(parent.unusable.is_some(), "{name}: work would be put on the card and on its slices");
            assert!(device.rates.flops_f32 <= parent.rates.flops_f32, "{name}");
            slices += 1;
        }
    }
    assert!(slices >= 10);
}

#[test]
fn what_is_found_is_valid_and_survives_json() {
    for Fixture { name, sources, .. } in table() {
        let machine = join(&sources).machine;
        machine.validate().unwrap_or_else(|error| panic!("{name}: {error}"));
        let json = serde_json::to_string(&machine).expect("plain data");
        assert_eq!(Machine::from_json(&json).expect("its own output"), machine, "{name}");
    }
}

#[test]
fn the_order_of_nvml_and_adapters_does_not_matter() {
    for Fixture { name, sources, .. } in table() {
        let mut reversed = Sources { ..sources.clone() };
        reversed.nvml.reverse();
        reversed.adapters.reverse();
        assert_eq!(join(&reversed).machine, join(&sources).machine, "{name}");
    }
}

#[test]
fn case_d02_what_is_hidden_comes_in_by_no_other_door() {
    let mut hidden = 0;
    for Fixture { name, sources, .. } in table().into_iter().filter(|fixture| fixture.group == "visible") {
        let inventory = join(&sources);
        let shown = sources.cuda.driver.gpus().len();
        let usable = inventory.machine.devices[1..].iter().filter(|device| device.unusable.is_none()).count();
        // Without the driver the variable is read all the same.
        let expected = if name.contains("without the CUDA driver") { 1 } else { shown };
        assert_eq!(usable, expected, "{name}: {inventory}");
        hidden += inventory.machine.devices.len() - 1 - usable;
    }
    assert!(hidden >= 10);
}
