//! Machines as their drivers show them, and the inventory that is made of it. Cases d01 to d05.

use outcrop::device::probe::adapters::{Adapter, AdapterKind};
use outcrop::device::probe::cuda::{Cuda, CudaGpu};
use outcrop::device::probe::host::HostFacts;
use outcrop::device::probe::nvml::{NvLink, NvmlGpu, NvmlSlice, Speed};
use outcrop::device::probe::{Inventory, Seen, join};
use outcrop::dtype::DType;
use outcrop::machine::{Limits, Machine, MemoryKind};
use outcrop::units::Bytes;

const GIB: u64 = 1 << 30;

fn gib(count: u64) -> Option<Bytes> {
    Some(Bytes(count * GIB))
}

/// A host and nothing else.
fn host(model: &str, cores: usize, memory: u64) -> Seen {
    Seen {
        host: HostFacts {
            cores,
            model: model.to_owned(),
            numa_nodes: Some(1),
            memory: gib(memory),
            free: gib(memory / 2),
        },
        nvml: Vec::new(),
        cuda: Cuda::default(),
        adapters: Vec::new(),
        visible_devices: None,
        device_order: None,
    }
}

fn adapter(api: &str, name: &str, kind: AdapterKind) -> Adapter {
    Adapter {
        name: name.to_owned(),
        api: api.to_owned(),
        driver: String::new(),
        kind,
        pci: None,
        uuid: None,
        memory: None,
        free: None,
        dtypes: vec![DType::Bool, DType::U8, DType::I16, DType::I32, DType::U32, DType::F32],
        limits: Limits::default(),
    }
}

fn vulkan(name: &str, kind: AdapterKind, pci: &str, memory: u64) -> Adapter {
    Adapter { pci: Some(pci.to_owned()), memory: gib(memory), ..adapter("vulkan", name, kind) }
}

fn lavapipe(api: &str) -> Adapter {
    let kind = if api == "gl" { AdapterKind::Other } else { AdapterKind::Software };
    Adapter { memory: gib(31), ..adapter(api, "llvmpipe (LLVM 15.0.6, 256 bits)", kind) }
}

fn uuid(number: usize) -> String {
    format!("GPU-{number:08x}-0000-0000-0000-00000000000{number}")
}

/// NVIDIA's cards: name, PCI address, GiB, compute capability, cores.
fn nvidia(cards: &[(&str, &str, u64, (i32, i32), u32)]) -> Vec<NvmlGpu> {
    let card = |(at, &(name, pci, memory, compute_capability, cores)): (
        usize,
        &(&str, &str, u64, (i32, i32), u32),
    )| NvmlGpu {
        name: name.to_owned(),
        pci: Some(pci.to_owned()),
        uuid: Some(uuid(at + 1)),
        driver: "570.86".to_owned(),
        memory: gib(memory).filter(|_| memory > 0),
        free: gib(memory).filter(|_| memory > 0),
        speed: Speed {
            cores: Some(cores),
            core_clock_mhz: Some(1500),
            memory_clock_mhz: Some(5000),
            memory_bus_bits: Some(384),
            compute_capability: Some(compute_capability),
            pcie: Some((4, 16)),
        },
        ..NvmlGpu::default()
    };
    cards.iter().enumerate().map(card).collect()
}

fn one(name: &str, pci: &str, memory: u64) -> Vec<NvmlGpu> {
    nvidia(&[(name, pci, memory, (8, 6), 6144)])
}

/// The driver shows these of NVML's cards, in this order, each reaching all others.
fn shown(nvml: &[NvmlGpu], positions: &[usize]) -> Cuda {
    let gpu = |&at: &usize| {
        let (major, minor) = nvml[at].speed.compute_capability.unwrap_or((8, 0));
        CudaGpu {
            name: nvml[at].name.clone(),
            pci: nvml[at].pci.clone(),
            uuid: nvml[at].uuid.clone(),
            memory: nvml[at].memory,
            capability: (major as u32, minor as u32),
            version: "12.8".to_owned(),
            peers: positions
                .iter()
                .filter(|&&other| other != at)
                .filter_map(|&other| nvml[other].uuid.clone())
                .collect(),
            ..CudaGpu::default()
        }
    };
    Cuda { gpus: positions.iter().map(gpu).collect(), answered: true, ..Cuda::default() }
}

fn laptop() -> Seen {
    let nvml = one("NVIDIA GeForce RTX 3060 Laptop GPU", "0000:01:00.0", 6);
    Seen {
        cuda: shown(&nvml, &[0]),
        adapters: vec![
            vulkan("Intel(R) UHD Graphics (TGL GT1)", AdapterKind::Integrated, "0000:00:02.0", 23),
            vulkan("NVIDIA GeForce RTX 3060 Laptop GPU", AdapterKind::Discrete, "0000:01:00.0", 6),
            adapter("gl", "NVIDIA GeForce RTX 3060 Laptop GPU/PCIe/SSE2", AdapterKind::Other),
            lavapipe("vulkan"),
        ],
        nvml,
        ..host("11th Gen Intel(R) Core(TM) i7-11800H", 16, 32)
    }
}

/// Eight cards, each with 18 NVLinks to a switch, of which two lead to each other card.
fn server() -> Seen {
    let addresses: Vec<String> = (0..8).map(|at| format!("0000:{:02x}:00.0", 0x18 + 8 * at)).collect();
    let cards: Vec<_> =
        addresses.iter().map(|pci| ("NVIDIA H100 80GB HBM3", pci.as_str(), 80, (9, 0), 16896)).collect();
    let mut nvml = nvidia(&cards);
    for (at, gpu) in nvml.iter_mut().enumerate() {
        let others = addresses.iter().enumerate().filter(|(other, _)| *other != at);
        gpu.nvlinks = others.map(|(_, to)| NvLink { to: to.clone(), version: 4, count: 2 }).collect();
        gpu.speed.pcie = Some((5, 16));
    }
    let all: Vec<usize> = (0..8).collect();
    let host = host("Intel(R) Xeon(R) Platinum 8480C", 224, 2048);
    Seen { cuda: shown(&nvml, &all), nvml, host: HostFacts { numa_nodes: Some(2), ..host.host }, ..host }
}

/// A card in three slices. A process sees one of them: the driver's first, or the one that it names.
fn sliced(seen_by_cuda: Option<usize>) -> Seen {
    let mut nvml = nvidia(&[("NVIDIA A100-SXM4-40GB", "0000:07:00.0", 40, (8, 0), 6912)]);
    let slice = |number: usize, profile: &str, memory: u64| NvmlSlice {
        name: format!("NVIDIA A100-SXM4-40GB MIG {profile}"),
        uuid: Some(format!("MIG-0000000{number}-0000-0000-0000-000000000000")),
        memory: gib(memory),
        free: gib(memory),
    };
    nvml[0].slices = vec![slice(1, "3g.20gb", 20), slice(2, "2g.10gb", 10), slice(3, "1g.5gb", 5)];
    let mut cuda = Cuda { answered: seen_by_cuda.is_some(), ..Cuda::default() };
    cuda.gpus.extend(seen_by_cuda.map(|at| CudaGpu {
        name: nvml[0].slices[at].name.clone(),
        pci: nvml[0].pci.clone(),
        // The driver writes a slice's as it writes a card's.
        uuid: nvml[0].slices[at].uuid.as_ref().map(|uuid| uuid.replace("MIG-", "GPU-")),
        memory: nvml[0].slices[at].memory,
        capability: (8, 0),
        version: "12.8".to_owned(),
        ..CudaGpu::default()
    }));
    Seen { nvml, cuda, ..host("AMD EPYC 7742 64-Core Processor", 64, 512) }
}

/// The fast one is second by its address.
fn unequal() -> Seen {
    let nvml = nvidia(&[
        ("NVIDIA T400 4GB", "0000:21:00.0", 4, (7, 5), 384),
        ("NVIDIA RTX A6000", "0000:61:00.0", 48, (8, 6), 10752),
    ]);
    Seen { nvml, ..host("AMD Ryzen Threadripper PRO 3975WX 32-Cores", 64, 256) }
}

fn visible(list: &str, seen: Seen) -> Seen {
    Seen { visible_devices: Some(list.to_owned()), ..seen }
}

fn without_compiler(mut seen: Seen) -> Seen {
    seen.cuda.no_compiler = Some("the CUDA compiler NVRTC isn't found".to_owned());
    seen
}

fn fixtures() -> Vec<(&'static str, Seen)> {
    use AdapterKind::{Discrete, Integrated, Other, Software, Virtual};
    let plain = || host("Intel(R) Xeon(R) CPU @ 2.20GHz", 4, 16);
    let numa = host("AMD EPYC 9654 96-Core Processor", 192, 24);
    let server_shown = |positions: &[usize]| Seen { cuda: shown(&server().nvml, positions), ..server() };
    let unequal_shown = |positions: &[usize]| Seen { cuda: shown(&unequal().nvml, positions), ..unequal() };
    let l40s = nvidia(&[
        ("NVIDIA L40S", "0000:41:00.0", 48, (8, 9), 18176),
        ("NVIDIA L40S", "0000:81:00.0", 48, (8, 9), 18176),
    ]);
    let gh200 = nvidia(&[("NVIDIA GH200 480GB", "0009:01:00.0", 0, (9, 0), 16896)]);
    let spark = nvidia(&[("NVIDIA GB10", "000f:01:00.0", 0, (12, 1), 6144)]);
    let integrated = |nvml: &[NvmlGpu], name: &str, memory: u64| {
        let mut cuda = shown(nvml, &(0..nvml.len()).collect::<Vec<_>>());
        if cuda.gpus.is_empty() {
            cuda.gpus.push(CudaGpu {
                name: name.to_owned(),
                capability: (8, 7),
                version: "12.2".to_owned(),
                ..CudaGpu::default()
            });
        }
        (cuda.gpus[0].memory, cuda.gpus[0].is_integrated) = (gib(memory), true);
        cuda
    };
    let mismatch = Cuda {
        trouble: Some(
            "the CUDA driver doesn't start: system has unsupported display driver / cuda driver combination"
                .to_owned(),
        ),
        ..Cuda::default()
    };
    let wsl = one("NVIDIA GeForce RTX 4070", "0000:01:00.0", 12);
    let a4000 = one("NVIDIA RTX A4000", "0000:65:00.0", 16);
    let twins = adapter("vulkan", "Radeon RX 6800", Discrete);
    vec![
        ("no_gpu", plain()),
        (
            "two_sockets_in_a_small_group",
            Seen { host: HostFacts { numa_nodes: Some(8), ..numa.host.clone() }, ..numa },
        ),
        ("lavapipe", Seen { adapters: vec![lavapipe("vulkan")], ..plain() }),
        ("llvmpipe_twice", Seen { adapters: vec![lavapipe("gl"), lavapipe("vulkan")], ..plain() }),
        ("laptop_with_two_gpus", laptop()),
        ("laptop_without_nvrtc", without_compiler(laptop())),
        ("laptop_without_vulkan_drivers", Seen { adapters: Vec::new(), ..laptop() }),
        ("laptop_with_nothing_but_nvml", Seen { adapters: Vec::new(), cuda: Cuda::default(), ..laptop() }),
        ("cuda_without_nvrtc_or_vulkan", without_compiler(Seen { adapters: Vec::new(), ..laptop() })),
        ("server_of_eight", server()),
        ("server_two_by_index", visible("5,1", server_shown(&[5, 1]))),
        (
            "server_by_uuid_with_an_unknown",
            visible(&format!("{},GPU-ffff,{}", uuid(3), uuid(4)), server_shown(&[2])),
        ),
        (
            "server_hidden",
            visible(
                "",
                Seen {
                    adapters: vec![vulkan("NVIDIA H100 80GB HBM3", Discrete, "0000:18:00.0", 80)],
                    ..server_shown(&[])
                },
            ),
        ),
        ("server_named_twice", visible("0,0", server_shown(&[]))),
        (
            "two_cards_on_pcie",
            Seen { cuda: shown(&l40s, &[0, 1]), nvml: l40s, ..host("AMD EPYC 9354", 64, 384) },
        ),
        ("slices", sliced(Some(0))),
        ("slices_second_named", visible("MIG-00000002", sliced(Some(1)))),
        ("slices_without_cuda", sliced(None)),
        ("unequal_fastest_first", visible("0", unequal_shown(&[1]))),
        (
            "unequal_by_address",
            Seen { device_order: Some("PCI_BUS_ID".to_owned()), ..visible("0", unequal_shown(&[0])) },
        ),
        ("unequal_without_cuda", visible("1,2", unequal())),
        ("grace_hopper", Seen { cuda: shown(&gh200, &[0]), nvml: gh200, ..host("Neoverse-V2", 72, 480) }),
        (
            "spark_unified",
            Seen { cuda: integrated(&spark, "", 120), nvml: spark, ..host("Cortex-X925", 20, 120) },
        ),
        ("jetson_without_nvml", Seen { cuda: integrated(&[], "Orin", 61), ..host("Cortex-A78AE", 12, 61) }),
        (
            "wsl",
            Seen {
                cuda: shown(&wsl, &[0]),
                nvml: wsl,
                adapters: vec![lavapipe("vulkan"), adapter("gl", "D3D12 (NVIDIA GeForce RTX 4070)", Other)],
                ..host("AMD Ryzen 9 7900X", 24, 32)
            },
        ),
        ("container_without_nvml", Seen { cuda: shown(&a4000, &[0]), ..plain() }),
        (
            "driver_mismatch",
            Seen {
                cuda: mismatch.clone(),
                adapters: vec![vulkan("NVIDIA RTX A4000", Discrete, "0000:65:00.0", 16)],
                ..plain()
            },
        ),
        ("driver_mismatch_but_nvml", Seen { cuda: mismatch, nvml: a4000.clone(), ..plain() }),
        (
            "gl_before_its_vulkan_twin",
            Seen {
                adapters: vec![
                    adapter("gl", "NVIDIA RTX A4000/PCIe/SSE2", Other),
                    vulkan("NVIDIA RTX A4000", Discrete, "0000:65:00.0", 16),
                ],
                nvml: a4000.clone(),
                ..plain()
            },
        ),
        (
            "amd_and_nvidia",
            Seen {
                cuda: shown(&a4000, &[0]),
                nvml: a4000,
                adapters: vec![
                    vulkan("AMD Radeon RX 7900 XTX (RADV NAVI31)", Discrete, "0000:0c:00.0", 24),
                    vulkan("NVIDIA RTX A4000", Discrete, "0000:65:00.0", 16),
                    vulkan("AMD Radeon Graphics (RADV RAPHAEL)", Integrated, "0000:0d:00.0", 30),
                ],
                ..host("AMD Ryzen 9 7950X", 32, 64)
            },
        ),
        ("equal_cards_without_addresses", Seen { adapters: vec![twins.clone(), twins], ..plain() }),
        (
            "arc_on_two_apis",
            Seen {
                adapters: vec![
                    vulkan("Intel(R) Arc(TM) A770 Graphics (DG2)", Discrete, "0000:03:00.0", 16),
                    adapter("gl", "Mesa Intel(R) Arc(TM) A770 Graphics (DG2)", Other),
                ],
                ..plain()
            },
        ),
        (
            "apple",
            Seen {
                adapters: vec![adapter("metal", "Apple M2 Max", Integrated)],
                ..host("Apple M2 Max", 12, 64)
            },
        ),
        (
            "windows",
            Seen {
                adapters: vec![
                    adapter("dx12", "NVIDIA GeForce GTX 1650", Discrete),
                    adapter("vulkan", "NVIDIA GeForce GTX 1650", Discrete),
                    adapter("dx12", "Microsoft Basic Render Driver", Software),
                ],
                ..plain()
            },
        ),
        ("virtual_gpu", Seen { adapters: vec![vulkan("GRID T4-8Q", Virtual, "0000:02:02.0", 8)], ..plain() }),
    ]
}

fn text(inventory: &Inventory) -> String {
    let slices = inventory.machine.devices.iter().filter_map(|device| {
        device.slice_of.as_ref().map(|card| format!("{} is a slice of {card}\n", device.name))
    });
    inventory.to_string() + &slices.collect::<String>()
}

#[test]
fn every_machine_is_as_its_snapshot_says() {
    let fixtures = fixtures();
    assert!(fixtures.len() >= 25, "{} machines", fixtures.len());
    for (name, seen) in fixtures {
        let inventory = join(&seen);
        inventory.machine.validate().unwrap_or_else(|error| panic!("{name}: {error}"));
        let json = serde_json::to_string(&inventory.machine).unwrap();
        assert_eq!(Machine::from_json(&json).unwrap(), inventory.machine, "{name} survives JSON");
        insta::assert_snapshot!(format!("inventory_{name}"), text(&inventory));
    }
}

/// Whatever the order in which the sources list them.
#[test]
fn case_d01_the_order_of_the_lists_does_not_matter() {
    for (name, seen) in fixtures() {
        let mut turned = seen.clone();
        turned.adapters.reverse();
        turned.nvml.reverse();
        // Positions in these lists mean something where a variable counts by them, or nothing else tells equal cards apart.
        if seen.visible_devices.is_none() && name != "equal_cards_without_addresses" {
            assert_eq!(text(&join(&turned)), text(&join(&seen)), "{name}");
        }
    }
}

#[test]
fn case_d04_memory_that_nobody_tells_is_neither_none_nor_the_hosts() {
    for (name, seen) in fixtures() {
        let inventory = join(&seen);
        let host = inventory.machine.memories[0].bytes.unwrap();
        for memory in &inventory.machine.memories[1..] {
            assert_ne!(memory.bytes, Some(Bytes(0)), "{name}");
            let is_shared = memory.kind == MemoryKind::Unified;
            assert!(
                !is_shared || memory.bytes.is_none_or(|bytes| bytes.0 <= host.0 / 2),
                "{name}: {memory:?}"
            );
        }
    }
}

#[test]
fn case_d05_a_slice_has_a_memory_of_its_own() {
    let machine = join(&sliced(Some(0))).machine;
    let bytes = |name: &str| machine.memory(machine.memory_by_name(name).unwrap()).bytes;
    assert_eq!([bytes("gpu0.mig0"), bytes("gpu0.mig1"), bytes("gpu0.mig2")], [gib(20), gib(10), gib(5)]);
    let usable: Vec<&str> = machine
        .devices
        .iter()
        .filter(|device| device.unusable.is_none())
        .map(|device| &device.name[..])
        .collect();
    assert_eq!(
        usable,
        ["host", "gpu0.mig0"],
        "the card itself can't be used, nor what the driver doesn't show"
    );
    let card = machine.device(machine.device_by_name("gpu0").unwrap());
    assert!(card.unusable.as_ref().unwrap().contains("gpu0.mig0 to gpu0.mig2"), "{:?}", card.unusable);
}
