use super::adapters::{Adapter, AdapterKind};
use super::host::HostFacts;
use super::nvml::{Numbered, NvLink, NvmlGpu, Source, Unit, read_from};
use super::speed::Speed;
use super::*;
use crate::dtype::DType;
use crate::machine::{DeviceKind, Limits, MemoryKind};
use crate::units::Bytes;

const GIB: u64 = 1 << 30;

fn host() -> HostFacts {
    let memory = Some(Bytes(32 * GIB));
    let free = Some(Bytes(20 * GIB));
    HostFacts { cores: 8, model: "CPU".to_owned(), memory, free, ..HostFacts::default() }
}

fn adapter(api: &str, name: &str, kind: AdapterKind, pci: Option<&str>, memory: Option<u64>) -> Adapter {
    Adapter {
        name: name.to_owned(),
        api: api.to_owned(),
        driver: "driver 1".to_owned(),
        kind,
        pci: pci.map(str::to_owned),
        uuid: None,
        memory: memory.map(Bytes),
        free: None,
        dtypes: vec![DType::I32, DType::U32, DType::F32],
        limits: Limits::default(),
    }
}

fn card(name: &str, pci: &str, memory: Option<u64>) -> NvmlGpu {
    NvmlGpu {
        name: name.to_owned(),
        pci: Some(pci.to_owned()),
        uuid: Some(format!("GPU-{pci}")),
        driver: "570.1".to_owned(),
        memory: memory.map(Bytes),
        free: memory.map(Bytes),
        is_unified: memory.is_none(),
        ..NvmlGpu::default()
    }
}

const FIRST: &str = "0000:01:00.0";
const SECOND: &str = "0000:41:00.0";

/// `name kind memory-kind bytes/GiB apis state` of every device but the host.
fn shown(nvml: &[NvmlGpu], adapters: &[Adapter]) -> Vec<String> {
    let (nvml, adapters) = (nvml.to_vec(), adapters.to_vec());
    let machine = join(&Sources { host: host(), nvml, adapters, ..Sources::default() }).machine;
    machine.validate().expect("a valid machine");
    let rows = machine.devices().skip(1).map(|(id, device)| {
        let memory = machine.memory(machine.memory_of(id));
        let size = memory.bytes.map_or("?".to_owned(), |bytes| (bytes.0 / GIB).to_string());
        let apis = device.ways.iter().map(|way| way.api.as_str()).collect::<Vec<_>>().join("+");
        let state = if device.unusable.is_some() { "unusable" } else { "ready" };
        format!("{} {} {} {size} {apis} {state}", device.name, device.kind, memory.kind)
    });
    rows.collect()
}

#[test]
fn case_d01_one_card_is_one_device() {
    use AdapterKind::*;
    let rtx = "NVIDIA RTX A4000";
    let vulkan = |pci| adapter("vulkan", rtx, Discrete, Some(pci), Some(16 * GIB));
    let gl = || adapter("gl", "NVIDIA RTX A4000/PCIe/SSE2", Other, None, None);
    let intel = || adapter("vulkan", "Intel UHD", Integrated, Some("0000:00:02.0"), Some(31 * GIB));
    let llvmpipe = |api| {
        adapter(
            api,
            "llvmpipe (LLVM 15.0.6, 256 bits)",
            if api == "gl" { Other } else { Software },
            None,
            Some(32 * GIB),
        )
    };
    type Case = (&'static str, Vec<NvmlGpu>, Vec<Adapter>, &'static [&'static str]);
    let table: [Case; 8] = [
        ("nothing", vec![], vec![], &[]),
        (
            "laptop",
            vec![card(rtx, FIRST, Some(16 * GIB))],
            vec![vulkan(FIRST), intel()],
            &["gpu0 integrated-gpu unified 16 vulkan ready", "gpu1 gpu dedicated 16 vulkan+nvml ready"],
        ),
        (
            "GL before its Vulkan twin",
            vec![card(rtx, FIRST, Some(16 * GIB))],
            vec![gl(), vulkan(FIRST)],
            &["gpu0 gpu dedicated 16 vulkan+gl+nvml ready"],
        ),
        (
            "two equal cards, last first",
            vec![card(rtx, SECOND, Some(16 * GIB)), card(rtx, FIRST, Some(16 * GIB))],
            vec![vulkan(SECOND), vulkan(FIRST), gl()],
            &["gpu0 gpu dedicated 16 vulkan+gl+nvml ready", "gpu1 gpu dedicated 16 vulkan+nvml ready"],
        ),
        (
            "two equal cards without addresses",
            vec![],
            vec![adapter("vulkan", rtx, Discrete, None, None), adapter("vulkan", rtx, Discrete, None, None)],
            &["gpu0 gpu unknown ? vulkan ready", "gpu1 gpu unknown ? vulkan ready"],
        ),
        (
            "software only, shown twice",
            vec![],
            vec![llvmpipe("gl"), llvmpipe("vulkan")],
            &["soft0 software-gpu unified 16 vulkan+gl ready"],
        ),
        (
            "a card and software",
            vec![],
            vec![llvmpipe("vulkan"), vulkan(FIRST)],
            &["gpu0 gpu dedicated 16 vulkan ready", "soft0 software-gpu unified 16 vulkan ready"],
        ),
        (
            "NVML without Vulkan",
            vec![card(rtx, FIRST, Some(16 * GIB))],
            vec![llvmpipe("vulkan")],
            &["gpu0 gpu dedicated 16 nvml unusable", "soft0 software-gpu unified 16 vulkan ready"],
        ),
    ];
    for (what, nvml, adapters, want) in table {
        let got = shown(&nvml, &adapters);
        assert_eq!(got, want, "{what}");
    }
}

#[test]
fn memory_that_no_source_knows_is_unknown() {
    let seen = adapter("vulkan", "GH200", AdapterKind::Discrete, Some(FIRST), None);
    assert_eq!(shown(&[card("GH200", FIRST, None)], &[seen]), ["gpu0 gpu unknown ? vulkan+nvml ready"]);
}

#[test]
fn uuids_join_where_addresses_are_missing() {
    let mut gpu = card("Card", FIRST, Some(GIB));
    gpu.uuid = Some("GPU-00010203-0405-0607-0809-0A0B0C0D0E0F".to_owned());
    let mut seen = adapter("vulkan", "Another name", AdapterKind::Discrete, None, None);
    seen.uuid = Some("00010203-0405-0607-0809-0a0b0c0d0e0f".to_owned());
    assert_eq!(shown(&[gpu], &[seen]), ["gpu0 gpu dedicated 1 vulkan+nvml ready"]);
}

/// Answers of each question for each card.
struct Script {
    count: Result<u32, Trouble>,
    identities: Vec<Result<(String, String, String), Trouble>>,
    memories: Vec<Result<(u64, u64), Trouble>>,
}

impl Source for Script {
    fn driver(&self) -> Result<String, Trouble> {
        Ok("570.1".to_owned())
    }
    fn count(&self) -> Result<u32, Trouble> {
        self.count.clone()
    }
    fn identity(&self, unit: Unit) -> Result<(String, String, String), Trouble> {
        match unit.slice {
            Some(2) => Err(Trouble::Failed("no permission".to_owned())),
            Some(slice) => Ok((format!("A MIG {slice}g"), String::new(), format!("MIG-{slice}"))),
            None => self.identities[unit.card as usize].clone(),
        }
    }
    fn memory(&self, unit: Unit) -> Result<(u64, u64), Trouble> {
        match unit.slice {
            Some(1) => Err(Trouble::Failed("timeout".to_owned())),
            Some(_) => Ok((GIB / 8, GIB / 16)),
            None => self.memories[unit.card as usize].clone(),
        }
    }
    fn speed(&self, _: u32) -> Speed {
        Speed::default()
    }
    fn slices(&self, card: u32) -> Result<Option<Vec<Numbered>>, Trouble> {
        match card {
            0 => Ok(Some((0..3).map(|slice| Numbered { slice, share: None }).collect())),
            2 => Err(Trouble::NotSupported),
            3 => Err(Trouble::Failed("GPU lost".to_owned())),
            _ => Ok(None),
        }
    }
    fn nvlinks(&self, _: u32) -> Vec<NvLink> {
        Vec::new()
    }
}

#[test]
fn case_d04_nvml_trouble_is_noted_and_survived() {
    let failed = |text: &str| Trouble::Failed(text.to_owned());
    let identity = |name: &str| Ok((name.to_owned(), "00000000:01:00.0".to_owned(), "GPU-1".to_owned()));
    let script = Script {
        count: Ok(5),
        identities: vec![identity("A"), Err(failed("GPU lost")), identity("C"), identity("D"), identity("E")],
        memories: vec![
            Ok((GIB, GIB / 2)),
            Ok((GIB, GIB)),
            Err(Trouble::NotSupported),
            Err(failed("timeout")),
            Ok((0, 0)),
        ],
    };
    let mut notes = Vec::new();
    let gpus = read_from(&script, &mut notes);
    let memories: Vec<_> = gpus.iter().map(|gpu| (gpu.name.as_str(), gpu.memory, gpu.is_unified)).collect();
    let known = Some(Bytes(GIB));
    assert_eq!(
        memories,
        [("A", known, false), ("C", None, true), ("D", None, false), ("E", None, true)],
        "not supported, failed, and nothing at all"
    );
    let slices = gpus[0].slices.iter().flatten().map(|slice| (slice.uuid.as_deref(), slice.memory));
    let slices: Vec<_> = slices.collect();
    assert_eq!(slices, [(Some("MIG-0"), Some(Bytes(GIB / 8))), (Some("MIG-1"), None)]);
    assert!(gpus[1..].iter().all(|gpu| gpu.slices.is_none()));
    assert_eq!(gpus[0].pci.as_deref(), Some(FIRST));
    assert_eq!(
        notes,
        [
            "NVML can't tell the memory of slice 1 of card 0 (A MIG 1g): timeout",
            "NVML can't identify slice 2 of card 0, left out: no permission",
            "NVML can't identify card 1, left out: GPU lost",
            "NVML can't tell the memory of card 3 (D): timeout",
            "NVML can't tell whether card 3 is divided (MIG): GPU lost",
        ]
    );
    let broken = Script {
        count: Err(failed("driver/library version mismatch")),
        identities: vec![],
        memories: vec![],
    };
    let mut notes = Vec::new();
    assert!(read_from(&broken, &mut notes).is_empty());
    assert_eq!(notes, ["NVML can't list the NVIDIA cards: driver/library version mismatch"]);
}

#[test]
fn this_machine_has_a_valid_inventory() {
    let inventory = inventory();
    inventory.machine.validate().expect("a valid machine");
    for (id, device) in inventory.machine.devices() {
        let memory = inventory.machine.memory(inventory.machine.memory_of(id));
        assert_ne!(memory.bytes, Some(Bytes(0)), "{}", device.name);
        if device.kind == DeviceKind::SoftwareGpu {
            assert!(memory.kind == MemoryKind::Unified && !device.is_gpu());
            assert!(memory.bytes < inventory.machine.memories[0].bytes, "never the host's whole memory");
        }
    }
    println!("{}{}", inventory.machine, inventory.notes.join("\n"));
}
