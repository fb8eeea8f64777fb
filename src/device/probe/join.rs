//! One device for one card, however many sources show it.

use crate::machine::{
    Backend, DeviceInfo, DeviceKind, Limits, Link, Machine, MemoryInfo, MemoryKind, Rates, Way, defaults,
};
use crate::units::Bytes;

use super::adapters::{Adapter, AdapterKind};
use super::host::HostFacts;
use super::nvml::{NvmlGpu, Speed};

/// The machine that the sources show together.
///
/// A card is known by its PCI address, else by its UUID. An adapter that tells neither (GL) belongs to the first
/// card of a fitting name that its API hasn't shown yet. Devices: the host, GPUs in the order of their PCI
/// addresses (`gpu0`, …), software adapters (`soft0`, …).
pub fn join(host: &HostFacts, nvml: &[NvmlGpu], adapters: &[Adapter]) -> Machine {
    let mut machine = Machine::host_only(host.cores, Bytes(0));
    machine.name = "this machine".to_owned();
    machine.host.model.clone_from(&host.model);
    machine.devices[0].model.clone_from(&host.model);
    machine.memories[0].bytes = host.memory;
    machine.memories[0].free = host.free;
    let (mut gpus, mut software) = (0, 0);
    // Ids are 16 bits wide.
    for card in cards(nvml, adapters).into_iter().take(usize::from(u16::MAX) - 1) {
        let (prefix, count) = if card.is_software() { ("soft", &mut software) } else { ("gpu", &mut gpus) };
        let name = format!("{prefix}{count}");
        *count += 1;
        machine.links.extend(card.link(&name));
        machine.memories.push(card.memory(&name, host));
        machine.devices.push(card.device(name, host));
    }
    machine
}

#[derive(Default)]
struct Card<'a> {
    nvml: Option<&'a NvmlGpu>,
    /// The ones that a backend can drive first.
    adapters: Vec<&'a Adapter>,
}

fn cards<'a>(nvml: &'a [NvmlGpu], adapters: &'a [Adapter]) -> Vec<Card<'a>> {
    let mut cards: Vec<Card> = nvml.iter().map(|gpu| Card { nvml: Some(gpu), ..Card::default() }).collect();
    cards.sort_by_key(|card| card.pci());
    let mut adapters: Vec<&Adapter> = adapters.iter().collect();
    // Those that tell who they are come first, so that the order of the list doesn't matter.
    adapters.sort_by_key(|adapter| {
        let known = (adapter.pci.is_none(), adapter.pci.clone(), adapter.uuid.is_none());
        (known, !adapter.is_usable(), adapter.api.clone())
    });
    for adapter in adapters {
        match cards.iter_mut().find(|card| card.is_shown_by(adapter)) {
            Some(card) => card.adapters.push(adapter),
            None => cards.push(Card { nvml: None, adapters: vec![adapter] }),
        }
    }
    for card in &mut cards {
        card.adapters.sort_by_key(|adapter| !adapter.is_usable());
    }
    cards.sort_by_key(|card| {
        let pci = card.pci();
        (card.is_software(), pci.is_none(), pci.map(str::to_owned), card.uuid(), card.model().to_owned())
    });
    cards
}

impl<'a> Card<'a> {
    fn is_shown_by(&self, adapter: &Adapter) -> bool {
        if let (Some(ours), Some(theirs)) = (self.pci(), &adapter.pci) {
            return ours == theirs;
        }
        if let (Some(ours), Some(theirs)) = (self.uuid(), &adapter.uuid) {
            return bare_uuid(&ours) == bare_uuid(theirs);
        }
        let (ours, theirs) = (self.model().to_lowercase(), adapter.name.to_lowercase());
        let nameless = adapter.pci.is_none() && adapter.uuid.is_none();
        let shown_already = self.adapters.iter().any(|other| other.api == adapter.api);
        nameless && !shown_already && (theirs.contains(&ours) || ours.contains(&theirs))
    }

    fn pci(&self) -> Option<&'a str> {
        let nvml = self.nvml.and_then(|gpu| gpu.pci.as_deref());
        nvml.or_else(|| self.adapters.iter().find_map(|adapter| adapter.pci.as_deref()))
    }

    /// NVML's, which `CUDA_VISIBLE_DEVICES` uses too, else the adapter's.
    fn uuid(&self) -> Option<String> {
        let nvml = self.nvml.and_then(|gpu| gpu.uuid.clone());
        nvml.or_else(|| self.adapters.iter().find_map(|adapter| adapter.uuid.clone()))
    }

    fn model(&self) -> &'a str {
        let nvml = self.nvml.map(|gpu| gpu.name.as_str());
        nvml.or_else(|| self.adapters.first().map(|adapter| adapter.name.as_str())).unwrap_or_default()
    }

    fn is_software(&self) -> bool {
        self.nvml.is_none() && self.adapters.iter().any(|adapter| adapter.is_software())
    }

    fn usable(&self) -> Option<&'a Adapter> {
        self.adapters.iter().copied().find(|adapter| adapter.is_usable())
    }

    fn kind(&self) -> DeviceKind {
        let integrated = self.adapters.iter().any(|adapter| adapter.kind == AdapterKind::Integrated);
        match (self.is_software(), integrated) {
            (true, _) => DeviceKind::SoftwareGpu,
            (false, true) => DeviceKind::IntegratedGpu,
            (false, false) => DeviceKind::Gpu,
        }
    }

    fn device(&self, name: String, host: &HostFacts) -> DeviceInfo {
        let usable = self.usable();
        let backend = if usable.is_some() { Backend::Wgpu } else { Backend::Cuda };
        let mut ways: Vec<Way> = self
            .adapters
            .iter()
            .map(|adapter| Way { api: adapter.api.clone(), driver: adapter.driver.clone() })
            .collect();
        ways.extend(self.nvml.map(|gpu| Way { api: "nvml".to_owned(), driver: gpu.driver.clone() }));
        let unusable = usable.is_none().then(|| {
            let seen = ways.iter().map(|way| way.api.as_str()).collect::<Vec<_>>().join(", ");
            format!("no usable API: seen by {seen} only; a Vulkan driver for the card is needed")
        });
        let rates = defaults::rates(self.kind(), host.cores);
        DeviceInfo {
            memory: name.clone(),
            name,
            kind: self.kind(),
            model: self.model().to_owned(),
            pci: self.pci().map(str::to_owned),
            uuid: self.uuid(),
            backend,
            ways,
            dtypes: usable.map_or_else(|| defaults::dtypes(backend), |adapter| adapter.dtypes.clone()),
            limits: usable.map_or_else(Limits::default, |adapter| adapter.limits),
            rates: self.nvml.map_or(rates, |gpu| datasheet_rates(&gpu.speed, rates)),
            unusable,
        }
    }

    fn memory(&self, name: &str, host: &HostFacts) -> MemoryInfo {
        let adapter = || self.adapters.iter().find(|adapter| adapter.memory.is_some());
        let (bytes, free) = match self.nvml.filter(|gpu| gpu.memory.is_some()) {
            Some(gpu) => (gpu.memory, gpu.free),
            None => adapter().map_or((None, None), |adapter| (adapter.memory, adapter.free)),
        };
        let kind = match self.kind() {
            DeviceKind::SoftwareGpu | DeviceKind::IntegratedGpu => MemoryKind::Unified,
            _ if bytes.is_some() => MemoryKind::Dedicated,
            _ => MemoryKind::Unknown,
        };
        // Drivers show all of the host's memory as their own. It can't be given out twice, so the device gets
        // at most half of what this process may use.
        let half = host.memory.map(|memory| Bytes(memory.0 / 2)).filter(|_| kind == MemoryKind::Unified);
        let within = |bytes: Option<Bytes>| bytes.map(|bytes| half.map_or(bytes, |half| bytes.min(half)));
        MemoryInfo { name: name.to_owned(), kind, bytes: within(bytes), free: within(free) }
    }

    /// Bytes a second a lane by PCI Express generation (PCI-SIG: the raw rate less its line code), of which about
    /// 0.8 arrives in large pinned copies.
    fn link(&self, name: &str) -> Option<Link> {
        let (generation, lanes) = self.nvml?.speed.pcie?;
        let lane_bytes_per_s = match generation {
            0 => return None,
            1 => 0.25e9,
            2 => 0.5e9,
            3 => 0.985e9,
            4 => 1.969e9,
            5 => 3.938e9,
            _ => 7.563e9,
        };
        let (_, latency_s) = defaults::host_link(MemoryKind::Dedicated);
        let bytes_per_s = 0.8 * lane_bytes_per_s * f64::from(lanes);
        let (from, to) = ("host".to_owned(), name.to_owned());
        (lanes > 0).then_some(Link { from, to, bytes_per_s, latency_s })
    }
}

/// What a datasheet would say: two operations a core and cycle; two transfers a cycle of the memory's bus.
///
/// Double precision runs at half the speed on the data-centre parts, at 1/32 (compute capability 6.1 to 7.5) or
/// 1/64 on the others (CUDA C++ Programming Guide, "Arithmetic Instructions").
fn datasheet_rates(speed: &Speed, usual: Rates) -> Rates {
    let known = |a: Option<u32>, b: Option<u32>| {
        Some(f64::from(a.filter(|a| *a > 0)?) * f64::from(b.filter(|b| *b > 0)?))
    };
    let flops_f32 = known(speed.cores, speed.core_clock_mhz).map_or(usual.flops_f32, |mega| 2.0 * 1e6 * mega);
    let double = match speed.compute_capability {
        Some((6..=10, 0)) => 1.0 / 2.0,
        Some((6 | 7, _)) => 1.0 / 32.0,
        _ => 1.0 / 64.0,
    };
    let memory = known(speed.memory_bus_bits, speed.memory_clock_mhz);
    Rates {
        flops_f32,
        flops_f64: flops_f32 * double,
        memory_bytes_per_s: memory.map_or(usual.memory_bytes_per_s, |mega| 2.0 * 1e6 * mega / 8.0),
        launch_s: usual.launch_s,
    }
}

fn bare_uuid(uuid: &str) -> String {
    uuid.to_lowercase().trim_start_matches("gpu-").replace('-', "")
}
