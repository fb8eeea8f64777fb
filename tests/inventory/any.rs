//! Whatever sources say, however little sense it makes, there is a valid machine in the end.

use proptest::prelude::*;

use outcrop::device::probe::adapters::{Adapter, AdapterKind};
use outcrop::device::probe::cuda::{CudaGpu, Driver};
use outcrop::device::probe::nvml::{NvmlGpu, Slice};
use outcrop::device::probe::speed::Speed;
use outcrop::device::probe::visible::Variables;
use outcrop::device::probe::{CudaFacts, Sources, join};
use outcrop::machine::{Backend, Machine, MemoryKind};
use outcrop::units::Bytes;

use crate::build;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn the_machine_is_valid(sources in sources()) {
        let inventory = join(&sources);
        let machine = &inventory.machine;
        machine.validate().map_err(|error| TestCaseError::fail(error.to_string()))?;
        let json = serde_json::to_string(machine).expect("plain data");
        prop_assert_eq!(&Machine::from_json(&json).expect("its own output"), machine);
        let slices: usize = sources.nvml.iter().flat_map(|gpu| &gpu.slices).map(Vec::len).sum();
        let by_nvml = machine.devices.iter().filter(|device| device.ways.iter().any(|way| way.api == "nvml"));
        prop_assert_eq!(by_nvml.count(), sources.nvml.len() + slices, "{}", inventory);
        let most = sources.nvml.len() + slices + sources.cuda.driver.gpus().len() + sources.adapters.len();
        prop_assert!(machine.devices.len() - 1 <= most, "{}", inventory);
        for (id, device) in machine.devices().skip(1) {
            let memory = machine.memory(machine.memory_of(id));
            prop_assert!(memory.bytes != Some(Bytes(0)), "{}", inventory);
            if memory.kind == MemoryKind::Unified {
                prop_assert!(memory.bytes.is_none_or(|bytes| Some(bytes) < sources.host.memory), "{}", inventory);
            }
            let ways = |api: &str| device.ways.iter().any(|way| way.api == api);
            if device.unusable.is_none() {
                let can = match device.backend {
                    Backend::Cuda => ways("cuda") && sources.cuda.compiler.is_ok(),
                    _ => ways("vulkan") || ways("dx12"),
                };
                prop_assert!(can, "{}: {}", device.name, inventory);
            }
            // Nothing that NVIDIA's library knows gets past a list that hides everything.
            if sources.cuda.variables.visible.as_deref() == Some("") && ways("nvml") && !ways("cuda") {
                prop_assert!(device.unusable.is_some(), "{}: {}", device.name, inventory);
            }
        }
    }
}

fn sources() -> impl Strategy<Value = Sources> {
    let cards = prop::collection::vec(nvml(), 0..4);
    let adapters = prop::collection::vec(adapter(), 0..5);
    (cards, cuda(), adapters).prop_map(|(nvml, cuda, adapters)| build::sources(nvml, cuda, adapters))
}

fn pci() -> impl Strategy<Value = Option<String>> {
    prop::option::of((1..4u8).prop_map(build::pci))
}

fn uuid() -> impl Strategy<Value = Option<String>> {
    prop::option::of((1..4u8, 0..3u8).prop_map(|(slot, slice)| build::uuid(slot, slice)))
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["NVIDIA A", "NVIDIA A/PCIe/SSE2", "Card", "Card (B)", "llvmpipe", ""])
        .prop_map(str::to_owned)
}

fn bytes() -> impl Strategy<Value = Option<Bytes>> {
    prop::option::of((1..100u64).prop_map(|gib| Bytes(gib << 30)))
}

fn speed() -> impl Strategy<Value = Speed> {
    let number = || prop::option::of(prop::sample::select(vec![0, 1, 16, 4096, u32::MAX]));
    (number(), number(), number(), number(), number(), number()).prop_map(|(a, b, c, d, e, f)| Speed {
        cores: a,
        core_clock_mhz: b,
        memory_clock_mhz: c,
        memory_bus_bits: d,
        compute_capability: None,
        pcie: e.zip(f),
    })
}

fn nvml() -> impl Strategy<Value = NvmlGpu> {
    let slice = (uuid(), bytes(), prop::option::of(0.1..1.0)).prop_map(|(uuid, memory, share)| Slice {
        name: "slice".to_owned(),
        uuid: uuid.map(|uuid| format!("MIG-{uuid}")),
        memory,
        free: memory,
        share,
    });
    let slices = prop::option::weighted(0.3, prop::collection::vec(slice, 0..3));
    (name(), pci(), uuid(), bytes(), speed(), slices, any::<bool>()).prop_map(
        |(name, pci, uuid, memory, speed, slices, is_unified)| NvmlGpu {
            name,
            pci,
            uuid: uuid.map(|uuid| format!("GPU-{uuid}")),
            driver: "1".to_owned(),
            memory,
            free: memory,
            is_unified: is_unified && memory.is_none(),
            speed,
            slices,
            nvlinks: build::to_card(1, 1),
        },
    )
}

fn cuda() -> impl Strategy<Value = CudaFacts> {
    let gpu = (name(), pci(), uuid(), bytes(), any::<bool>(), speed()).prop_map(
        |(name, pci, uuid, memory, is_integrated, speed)| CudaGpu {
            name,
            pci,
            uuid,
            memory,
            is_integrated,
            speed,
            peers: vec![0, 1, 2, 9],
        },
    );
    let driver = prop_oneof![
        Just(Driver::absent()),
        Just(Driver::Broken("it doesn't start".to_owned())),
        prop::collection::vec(gpu, 0..4).prop_map(|gpus| Driver::There { version: "12.4".to_owned(), gpus }),
    ];
    let visible = prop::option::of(prop_oneof![Just(String::new()), "[0-3,GPU-]{0,8}", ".{0,12}"]);
    (driver, any::<bool>(), visible).prop_map(|(driver, has_compiler, visible)| CudaFacts {
        driver,
        compiler: if has_compiler { Ok(()) } else { Err("there is none".to_owned()) },
        variables: Variables { visible, order: None },
    })
}

fn adapter() -> impl Strategy<Value = Adapter> {
    use AdapterKind::*;
    let kind = prop::sample::select(vec![Discrete, Integrated, Virtual, Software, Other]);
    let api = prop::sample::select(vec!["vulkan", "gl", "dx12"]);
    (api, name(), kind, pci(), uuid(), bytes()).prop_map(|(api, name, kind, pci, uuid, memory)| Adapter {
        pci,
        uuid,
        memory,
        ..build::adapter(api, &name, "driver", kind)
    })
}
