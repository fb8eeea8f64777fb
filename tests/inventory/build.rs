//! What sources say of cards that are real ones, by the slot that a card is in.

use outcrop::device::probe::adapters::{Adapter, AdapterKind};
use outcrop::device::probe::cuda::{CudaGpu, Driver};
use outcrop::device::probe::host::HostFacts;
use outcrop::device::probe::nvml::{LinkEnd, NvLink, NvmlGpu, Slice};
use outcrop::device::probe::speed::Speed;
use outcrop::device::probe::visible::Variables;
use outcrop::device::probe::{CudaFacts, Sources};
use outcrop::dtype::DType;
use outcrop::machine::{ComputeCapability, Limits, NumaNode};
use outcrop::units::Bytes;

pub const GIB: u64 = 1 << 30;

/// An NVIDIA model: name, cores, their clock, the memory's clock and wires, compute capability, GiB, PCIe.
pub struct Model(&'static str, [u32; 4], (u32, u32), u64, Option<(u32, u32)>);

pub const RTX_4090: Model =
    Model("NVIDIA GeForce RTX 4090", [16384, 2520, 10501, 384], (8, 9), 24, Some((4, 16)));
pub const RTX_3060: Model =
    Model("NVIDIA GeForce RTX 3060 Laptop GPU", [3840, 2100, 7001, 192], (8, 6), 6, Some((4, 8)));
pub const RTX_A4000: Model = Model("NVIDIA RTX A4000", [6144, 2100, 7001, 256], (8, 6), 16, Some((4, 16)));
pub const GTX_1050: Model =
    Model("NVIDIA GeForce GTX 1050 Ti", [768, 1911, 3504, 128], (6, 1), 4, Some((3, 16)));
pub const V100: Model = Model("Tesla V100-SXM2-16GB", [5120, 1530, 877, 4096], (7, 0), 16, Some((3, 16)));
pub const A100: Model = Model("NVIDIA A100-SXM4-40GB", [6912, 1410, 1215, 5120], (8, 0), 40, Some((4, 16)));
pub const H100: Model = Model("NVIDIA H100 80GB HBM3", [16896, 1980, 2619, 5120], (9, 0), 80, Some((5, 16)));
pub const GH200: Model = Model("NVIDIA GH200 480GB", [16896, 1980, 2619, 6144], (9, 0), 96, Some((5, 16)));
pub const GB10: Model = Model("NVIDIA GB10", [6144, 3003, 0, 0], (12, 1), 119, None);
pub const ORIN: Model = Model("Orin", [2048, 1300, 3200, 256], (8, 7), 61, None);

impl Model {
    fn speed(&self) -> Speed {
        let Model(_, [cores, clock, memory, bits], (major, minor), _, pcie) = *self;
        Speed {
            cores: Some(cores),
            core_clock_mhz: Some(clock),
            memory_clock_mhz: Some(memory).filter(|clock| *clock > 0),
            memory_bus_bits: Some(bits).filter(|bits| *bits > 0),
            compute_capability: Some(ComputeCapability { major, minor }),
            pcie,
        }
    }
}

pub fn pci(slot: u8) -> String {
    format!("0000:{slot:02x}:00.0")
}

/// The digits of the UUID of the card in a slot; a slice of it has another last field.
pub fn uuid(slot: u8, slice: u8) -> String {
    format!("{slot:02x}{slot:02x}9f7c-d72c-4106-c12f-20bd9faed{slice:03}")
}

pub fn nvml(model: &Model, slot: u8) -> NvmlGpu {
    NvmlGpu {
        name: model.0.to_owned(),
        pci: Some(pci(slot)),
        uuid: Some(format!("GPU-{}", uuid(slot, 0))),
        driver: "550.54.15".to_owned(),
        memory: Some(Bytes(model.3 * GIB)),
        free: Some(Bytes(model.3 * GIB - GIB / 2)),
        speed: model.speed(),
        ..NvmlGpu::default()
    }
}

/// NVML says that there is no memory to tell of.
pub fn without_memory(gpu: NvmlGpu) -> NvmlGpu {
    NvmlGpu { memory: None, free: None, is_unified: true, ..gpu }
}

pub fn divided(gpu: NvmlGpu, slices: Vec<Slice>) -> NvmlGpu {
    NvmlGpu { slices: Some(slices), ..gpu }
}

/// A slice of the A100: its profile, GiB, and compute slices of seven.
pub fn slice(slot: u8, number: u8, profile: &str, gib: u64, sevenths: u8) -> Slice {
    Slice {
        name: format!("{} MIG {profile}", A100.0),
        uuid: Some(format!("MIG-{}", uuid(slot, number + 1))),
        memory: Some(Bytes(gib * GIB)),
        free: Some(Bytes(gib * GIB - GIB / 16)),
        share: Some(f64::from(sevenths) / 7.0),
    }
}

pub fn cuda(model: &Model, slot: u8) -> CudaGpu {
    CudaGpu {
        name: model.0.to_owned(),
        pci: Some(pci(slot)),
        uuid: Some(uuid(slot, 0)),
        memory: Some(Bytes(model.3 * GIB - GIB / 4)),
        is_integrated: false,
        speed: Speed { pcie: None, ..model.speed() },
        peers: Vec::new(),
    }
}

/// A slice of the A100 as the driver shows it.
pub fn cuda_slice(slot: u8, number: u8, profile: &str, gib: u64) -> CudaGpu {
    CudaGpu {
        name: format!("{} MIG {profile}", A100.0),
        uuid: Some(uuid(slot, number + 1)),
        memory: Some(Bytes(gib * GIB)),
        ..cuda(&A100, slot)
    }
}

/// Cards that all reach each other.
pub fn peers(mut gpus: Vec<CudaGpu>) -> Vec<CudaGpu> {
    let count = gpus.len() as u32;
    for (at, gpu) in gpus.iter_mut().enumerate() {
        gpu.peers = (0..count).filter(|other| *other != at as u32).collect();
    }
    gpus
}

pub fn there(gpus: Vec<CudaGpu>) -> CudaFacts {
    let driver = Driver::There { version: "12.4".to_owned(), gpus };
    CudaFacts { driver, ..CudaFacts::default() }
}

pub fn broken(why: &str) -> CudaFacts {
    CudaFacts { driver: Driver::Broken(why.to_owned()), ..CudaFacts::default() }
}

pub fn without_compiler(facts: CudaFacts) -> CudaFacts {
    CudaFacts { compiler: Err("the CUDA compiler NVRTC isn't found".to_owned()), ..facts }
}

pub fn chosen(facts: CudaFacts, visible: &str) -> CudaFacts {
    CudaFacts { variables: Variables { visible: Some(visible.to_owned()), order: None }, ..facts }
}

pub fn to_switch(count: usize) -> Vec<NvLink> {
    vec![NvLink { bytes_per_s: 25e9, end: LinkEnd::Switch }; count]
}

pub fn to_card(slot: u8, count: usize) -> Vec<NvLink> {
    vec![NvLink { bytes_per_s: 25e9, end: LinkEnd::Card(pci(slot)) }; count]
}

/// An adapter as one API shows it, without address, UUID and memory.
pub fn adapter(api: &str, name: &str, driver: &str, kind: AdapterKind) -> Adapter {
    let limits = Limits {
        buffer_bytes_max: Some(4 * GIB),
        binding_bytes_max: Some(4 * GIB - 4),
        workgroups_per_axis_max: Some(65_535),
    };
    Adapter {
        name: name.to_owned(),
        api: api.to_owned(),
        driver: driver.to_owned(),
        kind,
        pci: None,
        uuid: None,
        memory: None,
        free: None,
        dtypes: vec![DType::Bool, DType::I32, DType::U32, DType::F32],
        limits,
    }
}

/// A card by Vulkan: all that identifies it, and its memory.
pub fn vulkan(name: &str, driver: &str, kind: AdapterKind, slot: u8, gib: u64) -> Adapter {
    let memory = Some(Bytes(gib * GIB));
    Adapter {
        pci: Some(pci(slot)),
        uuid: Some(uuid(slot, 0)),
        memory,
        ..adapter("vulkan", name, driver, kind)
    }
}

/// An NVIDIA card by NVIDIA's Vulkan driver.
pub fn nvidia_vulkan(model: &Model, slot: u8) -> Adapter {
    vulkan(model.0, "NVIDIA 550.54.15", AdapterKind::Discrete, slot, model.3)
}

pub fn nvidia_gl(model: &Model) -> Adapter {
    adapter("gl", &format!("{}/PCIe/SSE2", model.0), "4.6.0 NVIDIA 550.54.15", AdapterKind::Other)
}

pub fn intel(slot: u8) -> Adapter {
    let name = "Intel(R) Iris(R) Xe Graphics (ADL GT2)";
    vulkan(name, "Intel open-source Mesa driver Mesa 23.2.1", AdapterKind::Integrated, slot, 46)
}

pub fn lavapipe() -> Adapter {
    let name = "llvmpipe (LLVM 15.0.6, 256 bits)";
    let driver = "llvmpipe Mesa 22.3.6 (LLVM 15.0.6)";
    Adapter { memory: Some(Bytes(60 * GIB)), ..adapter("vulkan", name, driver, AdapterKind::Software) }
}

/// 16 cores, 64 GiB.
pub fn host() -> HostFacts {
    HostFacts {
        cores: 16,
        model: "AMD Ryzen 9 7950X".to_owned(),
        memory: Some(Bytes(64 * GIB)),
        free: Some(Bytes(48 * GIB)),
        ..HostFacts::default()
    }
}

/// Two sockets; slots below 0x80 are at the first.
pub fn server(cores: usize, gib: u64, slots: &[u8]) -> HostFacts {
    let node = |node| NumaNode { node, cores: cores / 2 };
    HostFacts {
        cores,
        model: "AMD EPYC 7742".to_owned(),
        memory: Some(Bytes(gib * GIB)),
        free: Some(Bytes(gib * GIB / 10 * 9)),
        numa: vec![node(0), node(1)],
        attached: slots.iter().map(|slot| (pci(*slot), u32::from(*slot >= 0x80))).collect(),
    }
}

pub fn sources(nvml: Vec<NvmlGpu>, cuda: CudaFacts, adapters: Vec<Adapter>) -> Sources {
    Sources { host: host(), nvml, cuda, adapters, notes: Vec::new() }
}
