//! The table: machines as their sources describe them.

use outcrop::device::probe::adapters::{Adapter, AdapterKind};
use outcrop::device::probe::cuda::{CudaGpu, Driver};
use outcrop::device::probe::host::HostFacts;
use outcrop::device::probe::nvml::{NvmlGpu, Slice};
use outcrop::device::probe::{CudaFacts, Sources};
use outcrop::units::Bytes;

use crate::build::*;

pub struct Fixture {
    /// The snapshot that it is in.
    pub group: &'static str,
    pub name: &'static str,
    /// GPUs and software adapters that there truly are, slices counted as well as their cards.
    pub devices: usize,
    pub sources: Sources,
}

fn fixture(group: &'static str, name: &'static str, devices: usize, sources: Sources) -> Fixture {
    Fixture { group, name, devices, sources }
}

pub fn table() -> Vec<Fixture> {
    [
        desktops(),
        servers(),
        divided_cards(),
        unified_memory(),
        drivers(),
        trouble(),
        visible_devices(),
        ordered(),
        other_makers(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn desktops() -> Vec<Fixture> {
    let fixture = |name, devices, sources| fixture("desktops", name, devices, sources);
    let all = |model: &Model, slot| {
        sources(
            vec![nvml(model, slot)],
            there(vec![cuda(model, slot)]),
            vec![nvidia_gl(model), nvidia_vulkan(model, slot)],
        )
    };
    let laptop = all(&RTX_3060, 1);
    let laptop = Sources { adapters: [vec![intel(0)], laptop.adapters].concat(), ..laptop };
    let pair = |first: &Model, second: &Model| {
        sources(
            vec![nvml(first, 1), nvml(second, 2)],
            there(peers(vec![cuda(first, 1), cuda(second, 2)])),
            vec![nvidia_vulkan(first, 1), nvidia_vulkan(second, 2)],
        )
    };
    let equal = pair(&RTX_A4000, &RTX_A4000);
    let reversed = Sources {
        nvml: vec![nvml(&RTX_A4000, 2), nvml(&RTX_A4000, 1)],
        adapters: vec![nvidia_vulkan(&RTX_A4000, 2), nvidia_gl(&RTX_A4000), nvidia_vulkan(&RTX_A4000, 1)],
        ..equal
    };
    let unequal = pair(&GTX_1050, &RTX_4090);
    // The driver puts the fastest first; they don't reach each other.
    let cuda = there(vec![cuda(&RTX_4090, 2), cuda(&GTX_1050, 1)]);
    vec![
        fixture("no GPU at all", 0, sources(vec![], CudaFacts::default(), vec![])),
        fixture("one card, seen by everybody", 1, all(&RTX_4090, 1)),
        fixture("laptop with two GPUs", 2, laptop),
        fixture("two equal cards, the last first", 2, reversed),
        fixture("two unequal cards", 2, Sources { cuda, ..unequal }),
    ]
}

fn servers() -> Vec<Fixture> {
    let fixture = |name, devices, sources| fixture("servers", name, devices, sources);
    let slots = [0x1b, 0x43, 0x52, 0x61, 0x9d, 0xc3, 0xd1, 0xdf];
    let eight = Sources {
        host: server(112, 2048, &slots),
        nvml: slots.map(|slot| NvmlGpu { nvlinks: to_switch(18), ..nvml(&H100, slot) }).to_vec(),
        cuda: there(peers(slots.map(|slot| cuda(&H100, slot)).to_vec())),
        ..Sources::default()
    };
    // In a square: two links along each side, none across; the last card has no way to the others.
    let slots = [0x06, 0x07, 0x0a, 0x0b, 0x85];
    let sides = [[1, 3], [0, 2], [1, 3], [0, 2]];
    let mut nvml: Vec<_> = slots.iter().map(|slot| nvml(&V100, *slot)).collect();
    let mut cards = peers(slots[..4].iter().map(|slot| cuda(&V100, *slot)).collect());
    cards.push(cuda(&V100, slots[4]));
    for (card, sides) in nvml.iter_mut().zip(sides) {
        card.nvlinks = sides.iter().flat_map(|side| to_card(slots[*side], 2)).collect();
    }
    let square = Sources { host: server(40, 512, &slots), nvml, cuda: there(cards), ..Sources::default() };
    // Only one of the pair says that it reaches the other.
    let mut pair = vec![cuda(&A100, 0x07), cuda(&A100, 0x0b)];
    pair[0].peers = vec![1];
    let one_way = Sources {
        host: server(64, 256, &[0x07, 0x0b]),
        nvml: vec![crate::build::nvml(&A100, 0x07), crate::build::nvml(&A100, 0x0b)],
        cuda: there(pair),
        ..Sources::default()
    };
    let vgpu = Sources {
        nvml: vec![NvmlGpu { name: "NVIDIA A16-4Q".to_owned(), ..crate::build::nvml(&RTX_3060, 2) }],
        cuda: there(vec![CudaGpu { name: "NVIDIA A16-4Q".to_owned(), ..cuda(&RTX_3060, 2) }]),
        ..sources(vec![], CudaFacts::default(), vec![lavapipe()])
    };
    vec![
        fixture("eight cards on switches", 8, eight),
        fixture("four cards in a square and one apart", 5, square),
        fixture("cards that reach each other one way only", 2, one_way),
        fixture("a share of a card in a virtual machine, and lavapipe", 2, vgpu),
    ]
}

fn divided_cards() -> Vec<Fixture> {
    let fixture = |name, devices, sources| fixture("mig", name, devices, sources);
    let slices = || vec![slice(7, 0, "3g.20gb", 20, 3), slice(7, 1, "1g.5gb", 5, 1)];
    let card = || divided(nvml(&A100, 7), slices());
    let seen = |cuda| Sources { host: server(64, 256, &[7]), ..sources(vec![card()], cuda, vec![]) };
    let second =
        chosen(there(vec![cuda_slice(7, 1, "1g.5gb", 5)]), "MIG-07079f7c-d72c-4106-c12f-20bd9faed002");
    let unknown = chosen(there(vec![]), "MIG-07079f7c-d72c-4106-c12f-20bd9faed999");
    let whole = Sources { nvml: vec![card(), nvml(&A100, 8)], ..seen(there(vec![cuda(&A100, 8)])) };
    // Such a driver shows the card's UUID where it means a slice.
    let old = vec![
        Slice { uuid: Some(format!("MIG-GPU-{}/1/0", uuid(7, 0))), ..slice(7, 0, "3g.20gb", 20, 3) },
        Slice {
            uuid: Some(format!("MIG-GPU-{}/2/0", uuid(7, 0))),
            share: None,
            ..slice(7, 1, "1g.5gb", 5, 1)
        },
    ];
    let shown = CudaGpu { uuid: Some(uuid(7, 0)), ..cuda_slice(7, 1, "1g.5gb", 5) };
    let old = Sources {
        nvml: vec![divided(nvml(&A100, 7), old)],
        ..seen(chosen(there(vec![shown]), &format!("MIG-GPU-{}/2/0", uuid(7, 0))))
    };
    let untold = Slice { memory: None, free: None, share: None, ..slice(7, 0, "3g.20gb", 20, 3) };
    let untold = Sources { nvml: vec![divided(nvml(&A100, 7), vec![untold])], ..seen(CudaFacts::default()) };
    let container = Sources { nvml: vec![], ..seen(there(vec![cuda_slice(7, 1, "1g.5gb", 5)])) };
    vec![
        fixture("divided, nothing chosen", 3, seen(there(vec![cuda_slice(7, 0, "3g.20gb", 20)]))),
        fixture("divided, the second slice chosen", 3, seen(second)),
        fixture("divided, an unknown slice chosen", 3, seen(unknown)),
        fixture("divided, beside a whole card", 4, whole),
        fixture("divided, by an old driver", 3, old),
        fixture("a slice of unknown memory", 2, untold),
        fixture(
            "divided into nothing",
            1,
            Sources { nvml: vec![divided(nvml(&A100, 7), vec![])], ..seen(there(vec![])) },
        ),
        fixture("a slice in a container without NVML", 1, container),
    ]
}

fn unified_memory() -> Vec<Fixture> {
    let fixture = |name, devices, sources| fixture("unified", name, devices, sources);
    let big =
        |gib: u64| HostFacts { memory: Some(Bytes(gib * GIB)), free: Some(Bytes((gib - 8) * GIB)), ..host() };
    let gb10 = |cuda, adapters| Sources {
        host: HostFacts { model: "Cortex-X925".to_owned(), ..big(120) },
        ..sources(vec![without_memory(nvml(&GB10, 1))], cuda, adapters)
    };
    let integrated = |model: &Model, slot| CudaGpu { is_integrated: true, ..cuda(model, slot) };
    let orin = CudaGpu { pci: None, uuid: None, ..integrated(&ORIN, 0) };
    let orin = Sources { host: big(61), ..sources(vec![], there(vec![orin]), vec![]) };
    let gh200 =
        Sources { host: big(480), ..sources(vec![nvml(&GH200, 9)], there(vec![cuda(&GH200, 9)]), vec![]) };
    let apple = Adapter { memory: None, ..adapter("metal", "Apple M2 Max", "", AdapterKind::Integrated) };
    let limited = HostFacts { memory: Some(Bytes(4 * GIB)), free: Some(Bytes(3 * GIB)), ..host() };
    vec![
        fixture(
            "NVML knows no memory, CUDA shows the host's",
            1,
            gb10(there(vec![integrated(&GB10, 1)]), vec![]),
        ),
        fixture(
            "NVML knows no memory, Vulkan shows the host's",
            1,
            gb10(CudaFacts::default(), vec![nvidia_vulkan(&GB10, 1)]),
        ),
        fixture("NVML knows no memory, nor does anybody", 1, gb10(CudaFacts::default(), vec![])),
        fixture("a board without NVML and addresses", 1, orin),
        fixture("a card of its own memory beside the host's", 1, gh200),
        fixture("a Mac", 1, sources(vec![], CudaFacts::default(), vec![apple])),
        fixture(
            "a laptop under a control group's limit",
            2,
            Sources { host: limited, ..sources(vec![], CudaFacts::default(), vec![intel(0), lavapipe()]) },
        ),
    ]
}

fn drivers() -> Vec<Fixture> {
    let fixture = |name, devices, sources| fixture("drivers", name, devices, sources);
    let card = || vec![nvml(&RTX_4090, 1)];
    let shown = || there(vec![cuda(&RTX_4090, 1)]);
    let vulkan = || vec![nvidia_vulkan(&RTX_4090, 1)];
    let absent = CudaFacts::default;
    let old = broken("it is too old: it has no function cuDeviceGetUuid_v2");
    let wsl = "D3D12 (NVIDIA GeForce RTX 4090)";
    let wsl = adapter("gl", wsl, "Microsoft Corporation 4.2 Mesa 23.0.4", AdapterKind::Other);
    let neither = sources(card(), without_compiler(shown()), vec![]);
    vec![
        fixture("WSL", 2, sources(card(), shown(), vec![wsl, lavapipe()])),
        fixture("a container without NVML", 1, sources(vec![], shown(), vec![])),
        fixture("a container without the CUDA driver", 1, sources(card(), absent(), vec![])),
        fixture("Vulkan without the CUDA driver", 1, sources(card(), absent(), vulkan())),
        fixture("no NVRTC, but Vulkan", 1, sources(card(), without_compiler(shown()), vulkan())),
        fixture("neither NVRTC nor Vulkan", 1, neither),
        fixture("a CUDA driver that is too old", 1, sources(card(), old, vulkan())),
        fixture("a CUDA driver that shows nothing", 1, sources(card(), there(vec![]), vulkan())),
    ]
}

fn trouble() -> Vec<Fixture> {
    let fixture = |name, devices, sources| fixture("trouble", name, devices, sources);
    let card = || vec![nvml(&RTX_4090, 1)];
    let noted = |note: &str, sources| Sources { notes: vec![note.to_owned()], ..sources };
    let broken = broken("system has unsupported display driver / cuda driver combination (error 803)");
    let mismatch = noted(
        "NVML can't be used, so NVIDIA cards may be missing: driver/library version mismatch",
        sources(vec![], broken, vec![lavapipe()]),
    );
    let lost = noted(
        "NVML can't identify card 1, left out: device fell off the bus or has otherwise become inacessible",
        sources(card(), there(vec![cuda(&RTX_4090, 1)]), vec![]),
    );
    let failed = NvmlGpu { memory: None, free: None, ..nvml(&RTX_4090, 1) };
    let failed = sources(vec![failed], CudaFacts::default(), vec![nvidia_vulkan(&RTX_4090, 1)]);
    let no_uuid = sources(card(), there(vec![CudaGpu { uuid: None, ..cuda(&RTX_4090, 1) }]), vec![]);
    let nameless = sources(card(), there(vec![CudaGpu::default()]), vec![]);
    vec![
        fixture("driver and library of different versions", 1, mismatch),
        fixture("one card of two is lost", 1, lost),
        fixture("a card that the CUDA driver can't tell of", 1, nameless),
        fixture("a CUDA driver without UUIDs", 1, no_uuid),
        fixture("NVML fails to tell the memory, Vulkan tells", 1, failed),
    ]
}

fn visible_devices() -> Vec<Fixture> {
    let fixture = |name, cuda| {
        let cards = vec![nvml(&RTX_A4000, 1), nvml(&RTX_A4000, 2)];
        let adapters = vec![nvidia_vulkan(&RTX_A4000, 1), nvidia_vulkan(&RTX_A4000, 2)];
        fixture("visible", name, 2, sources(cards, cuda, adapters))
    };
    let shown = |slots: &[u8]| there(slots.iter().map(|slot| cuda(&RTX_A4000, *slot)).collect());
    let absent = || CudaFacts { driver: Driver::absent(), ..CudaFacts::default() };
    let uuids = format!("GPU-{},GPU-0101", uuid(2, 0));
    let elsewhere = sources(
        vec![],
        chosen(shown(&[1]), "3"),
        vec![nvidia_vulkan(&RTX_A4000, 1), nvidia_vulkan(&RTX_A4000, 2)],
    );
    vec![
        fixture("one by its number", chosen(shown(&[2]), "1")),
        fixture("both by UUIDs, the last first", chosen(shown(&[2, 1]), &uuids)),
        fixture("none", chosen(shown(&[]), "")),
        fixture("none by -1", chosen(shown(&[]), "-1")),
        fixture("one twice", chosen(shown(&[]), "0,0")),
        fixture("one and one that isn't there", chosen(shown(&[1]), "0,7,1")),
        fixture("a UUID that isn't there", chosen(shown(&[]), "GPU-deadbeef")),
        fixture("one by its number, without the CUDA driver", chosen(absent(), "1")),
        Fixture {
            group: "visible",
            name: "one of eight in a container without NVML",
            devices: 2,
            sources: elsewhere,
        },
    ]
}

/// Numbers mean other cards by the order; without the driver as with it.
fn ordered() -> Vec<Fixture> {
    let fixture = |name, order: &str, cuda: CudaFacts| {
        let mut cuda = chosen(cuda, "0");
        cuda.variables.order = Some(order.to_owned());
        let cards = vec![nvml(&GTX_1050, 1), nvml(&RTX_4090, 2)];
        let adapters = vec![nvidia_vulkan(&GTX_1050, 1), nvidia_vulkan(&RTX_4090, 2)];
        fixture("visible", name, 2, sources(cards, cuda, adapters))
    };
    let (slow, fast) = (there(vec![cuda(&GTX_1050, 1)]), there(vec![cuda(&RTX_4090, 2)]));
    vec![
        fixture("the first of two by address", "PCI_BUS_ID", slow),
        fixture("the first of two by speed", "FASTEST_FIRST", fast),
        fixture("the first of two by speed, without the CUDA driver", "FASTEST_FIRST", CudaFacts::default()),
        fixture("an order that there isn't, without the CUDA driver", "BY_NAME", CudaFacts::default()),
    ]
}

fn other_makers() -> Vec<Fixture> {
    let fixture = |name, devices, adapters| {
        fixture("others", name, devices, sources(vec![], CudaFacts::default(), adapters))
    };
    let radv = || vulkan("AMD Radeon RX 6600 (RADV NAVI23)", "radv Mesa 23.2.1", AdapterKind::Discrete, 3, 8);
    let radeon_gl = adapter(
        "gl",
        "AMD Radeon RX 6600 (navi23, LLVM 15.0.7, DRM 3.54)",
        "4.6 Mesa 23.2.1",
        AdapterKind::Other,
    );
    let arc = vulkan(
        "Intel(R) Arc(tm) A770 Graphics (DG2)",
        "Intel open-source Mesa driver",
        AdapterKind::Discrete,
        3,
        16,
    );
    let nvk = vulkan("NVIDIA GeForce RTX 4090 (NVK AD102)", "NVK Mesa 24.1.0", AdapterKind::Discrete, 1, 24);
    let dx12 =
        |adapter: Adapter| Adapter { api: "dx12".to_owned(), driver: String::new(), uuid: None, ..adapter };
    let warp = adapter("dx12", "Microsoft Basic Render Driver", "", AdapterKind::Other);
    let unnamed = |name| adapter("vulkan", name, "vendor 1.0", AdapterKind::Discrete);
    let both = Fixture {
        group: "others",
        name: "AMD and NVIDIA",
        devices: 2,
        sources: sources(
            vec![nvml(&RTX_4090, 1)],
            there(vec![cuda(&RTX_4090, 1)]),
            vec![radv(), nvidia_vulkan(&RTX_4090, 1), nvidia_gl(&RTX_4090)],
        ),
    };
    vec![
        fixture("AMD by Vulkan and GL", 1, vec![radeon_gl.clone(), radv()]),
        fixture("AMD by GL alone", 1, vec![radeon_gl]),
        both,
        fixture("Intel in the processor and as a card", 2, vec![arc, intel(0)]),
        fixture("NVIDIA by an open driver", 1, vec![nvk]),
        fixture("Windows: DX12 and Vulkan", 2, vec![warp, dx12(radv()), radv()]),
        fixture(
            "software by Vulkan and GL",
            1,
            vec![Adapter { api: "gl".to_owned(), kind: AdapterKind::Other, ..lavapipe() }, lavapipe()],
        ),
        fixture("two equal cards without addresses", 2, vec![unnamed("Card X"), unnamed("Card X")]),
        fixture(
            "a GPU in a virtual machine",
            1,
            vec![vulkan("Virtio-GPU Venus (AMD)", "venus", AdapterKind::Virtual, 4, 4)],
        ),
    ]
}
