//! What the sources told, as one machine.

use super::cards::{Card, CardSlice, cards};
use super::cuda::Driver;
use super::visible::{Candidate, Shown, Visible, visible};
use super::{CudaFacts, Inventory, Sources, links};
use crate::machine::{
    Backend, DeviceInfo, DeviceKind, Limits, Link, Machine, MemoryInfo, MemoryKind, Rates, RatesFrom, Way,
    defaults,
};
use crate::units::Bytes;

/// The machine that the sources show together.
///
/// Devices: the host, GPUs in the order of their PCI addresses (`gpu0`, …), each followed by its slices (`gpu0.mig0`, …),
/// software adapters (`soft0`, …). A card is driven through CUDA where the driver shows it and the compiler is there, else
/// through wgpu. One that the user hid from CUDA isn't driven at all: it stays listed, with the reason.
pub fn join(sources: &Sources) -> Inventory {
    let cards = cards(sources);
    let mut visible = what_is_visible(&cards, &sources.cuda);
    if sources.nvml.is_empty() && matches!(sources.cuda.driver, Driver::There { .. }) {
        // Without NVML nobody tells of the cards that the driver hides: what names one of them is right.
        visible.notes.clear();
    }
    let mut joined = Joined { sources, visible, machine: of_host(sources), notes: sources.notes.clone() };
    joined.notes.extend(joined.visible.notes.clone());
    if let Driver::Broken(why) = &sources.cuda.driver {
        joined.notes.push(format!("the CUDA driver can't be used: {why}"));
    }
    let (mut gpus, mut software) = (0, 0);
    let mut names = Vec::new();
    for (at, card) in cards.iter().enumerate() {
        let devices = 1 + card.slices.as_ref().map_or(0, Vec::len);
        if joined.machine.devices.len() + devices > Machine::DEVICES_MAX {
            break;
        }
        let (prefix, count) = if card.is_software() { ("soft", &mut software) } else { ("gpu", &mut gpus) };
        let name = format!("{prefix}{count}");
        *count += 1;
        joined.add_card(at, card, &name);
        names.push(name);
    }
    joined.add_peers(&cards, &names);
    Inventory { machine: joined.machine, notes: joined.notes }
}

fn of_host(sources: &Sources) -> Machine {
    let host = &sources.host;
    let mut machine = Machine::host_only(host.cores, Bytes(0));
    machine.name = "this machine".to_owned();
    machine.host.model.clone_from(&host.model);
    machine.host.numa.clone_from(&host.numa);
    machine.devices[0].model.clone_from(&host.model);
    machine.memories[0].bytes = host.memory;
    machine.memories[0].free = host.free;
    machine
}

fn what_is_visible(cards: &[Card<'_>], cuda: &CudaFacts) -> Visible {
    let nvidia: Vec<usize> = (0..cards.len()).filter(|&at| cards[at].is_nvidia()).collect();
    if nvidia.is_empty() {
        return Visible::default();
    }
    let candidate = |&at: &usize| {
        let card = &cards[at];
        let usual = defaults::rates(card.kind(), 1);
        let uuids = |slices: &Vec<CardSlice>| {
            slices.iter().map(|slice| slice.nvml.uuid.clone().unwrap_or_default()).collect()
        };
        Candidate {
            uuid: card.uuid().map(|uuid| format!("GPU-{}", uuid.trim_start_matches("GPU-"))),
            pci: card.pci().map(str::to_owned),
            flops: card.speed().rates(usual).unwrap_or(usual).flops_f32,
            slices: card.slices.as_ref().map(uuids),
        }
    };
    let Visible { shown, notes } =
        visible(&nvidia.iter().map(candidate).collect::<Vec<_>>(), &cuda.variables);
    let back = |shown| match shown {
        Shown::Card(at) => Shown::Card(nvidia[at]),
        Shown::Slice(at, slice) => Shown::Slice(nvidia[at], slice),
    };
    Visible { shown: shown.into_iter().map(back).collect(), notes }
}

struct Joined<'a> {
    sources: &'a Sources,
    /// By position among the cards.
    visible: Visible,
    machine: Machine,
    notes: Vec<String>,
}

/// How a device is driven.
struct Driven {
    backend: Backend,
    unusable: Option<String>,
}

impl Joined<'_> {
    fn add_card(&mut self, at: usize, card: &Card<'_>, name: &str) {
        let driven = self.driven(at, card, name);
        let device = self.device(card, name, driven);
        let rates = device.rates;
        self.machine.links.extend(links::to_host(name, &card.speed()));
        self.machine.memories.push(memory(card, name, self.sources.host.memory));
        self.machine.devices.push(device);
        for (number, slice) in card.slices.iter().flatten().enumerate() {
            self.add_slice(card, name, (number, slice), rates);
        }
    }

    fn add_slice(&mut self, card: &Card<'_>, card_name: &str, slice: (usize, &CardSlice<'_>), rates: Rates) {
        let (number, CardSlice { nvml, cuda }) = slice;
        let name = format!("{card_name}.mig{number}");
        let bytes = nvml.memory.or_else(|| cuda.and_then(|seen| seen.gpu.memory));
        let of_card = card.nvml.and_then(|gpu| Some(bytes?.0 as f64 / gpu.memory?.0 as f64));
        let share = nvml.share.or(of_card).unwrap_or(1.0);
        let kind = if bytes.is_some() { MemoryKind::Dedicated } else { MemoryKind::Unknown };
        let link = links::to_host(&name, &card.speed());
        let device = DeviceInfo {
            model: nvml.name.clone(),
            uuid: nvml.uuid.clone(),
            slice_of: Some(card_name.to_owned()),
            ways: [self.cuda_way(cuda.is_some()), nvml_way(card)].into_iter().flatten().collect(),
            rates: Rates {
                flops_f32: rates.flops_f32 * share,
                flops_f64: rates.flops_f64 * share,
                memory_bytes_per_s: rates.memory_bytes_per_s * of_card.unwrap_or(share).min(1.0),
                launch_s: rates.launch_s,
            },
            ..self.device(
                card,
                &name,
                Driven { backend: Backend::Cuda, unusable: self.without_slice(cuda.is_some()) },
            )
        };
        self.machine.links.extend(link.map(|link| Link { via: format!("{}, the card's", link.via), ..link }));
        self.machine.memories.push(MemoryInfo { name, kind, bytes, free: nvml.free });
        self.machine.devices.push(device);
    }

    fn add_peers(&mut self, cards: &[Card<'_>], names: &[String]) {
        let is_driven = |name: &String| {
            let device = self.machine.devices.iter().find(|device| device.name == *name);
            device.is_some_and(|device| device.backend == Backend::Cuda && device.unusable.is_none())
        };
        let driven: Vec<_> = names.iter().zip(cards).filter(|(name, _)| is_driven(name)).collect();
        for (at, (name, card)) in driven.iter().enumerate() {
            let others = driven[at + 1..].iter();
            let links = others.filter_map(|(other, peer)| links::between([name, other], [card, peer]));
            self.machine.links.extend(links);
        }
    }

    fn driven(&mut self, at: usize, card: &Card<'_>, name: &str) -> Driven {
        let unusable = |why: String| Driven { backend: Backend::Cuda, unusable: Some(why) };
        if !card.is_nvidia() {
            let unusable = card.usable().is_none().then(|| {
                let seen =
                    card.adapters.iter().map(|adapter| adapter.api.as_str()).collect::<Vec<_>>().join(", ");
                format!("no usable API: seen by {seen} only; a Vulkan driver for the card is needed")
            });
            return Driven { backend: Backend::Wgpu, unusable };
        }
        if let Some(slices) = &card.slices {
            let slices: Vec<_> = (0..slices.len()).map(|number| format!("{name}.mig{number}")).collect();
            return unusable(match slices.as_slice() {
                [] => "it is in MIG mode and has no slices: make some, or leave the mode".to_owned(),
                slices => format!("it is divided (MIG); use {}", slices.join(", ")),
            });
        }
        let is_shown = match self.sources.cuda.driver {
            Driver::There { .. } => card.cuda.is_some(),
            _ => self.visible.shown.contains(&Shown::Card(at)),
        };
        if let Some(why) = self.hidden().filter(|_| !is_shown) {
            return unusable(why);
        }
        let Some(why) = self.without_cuda(card.cuda.is_some()) else {
            return Driven { backend: Backend::Cuda, unusable: None };
        };
        match card.usable() {
            Some(adapter) => {
                if !matches!(self.sources.cuda.driver, Driver::Absent(_)) {
                    self.notes.push(format!("{name} is driven through {}, not CUDA: {why}", adapter.api));
                }
                Driven { backend: Backend::Wgpu, unusable: None }
            }
            None => unusable(format!("{why}, and no Vulkan, Metal or DX12 driver shows it")),
        }
    }

    /// Why a card or slice that the driver shows, or doesn't, can't be driven through CUDA.
    fn without_cuda(&self, is_shown: bool) -> Option<String> {
        match (&self.sources.cuda.driver, &self.sources.cuda.compiler) {
            (Driver::Absent(why), _) => Some(why.clone()),
            (Driver::Broken(_), _) => Some("the CUDA driver can't be used".to_owned()),
            (Driver::There { .. }, _) if !is_shown => Some("the CUDA driver doesn't show it".to_owned()),
            (Driver::There { .. }, compiler) => compiler.clone().err(),
        }
    }

    fn without_slice(&self, is_shown: bool) -> Option<String> {
        let is_there = matches!(self.sources.cuda.driver, Driver::There { .. });
        match self.hidden() {
            Some(why) if is_there && !is_shown => Some(why),
            None if is_there && !is_shown => Some(
                "the CUDA driver doesn't show it; name it in CUDA_VISIBLE_DEVICES to choose it".to_owned(),
            ),
            _ => self.without_cuda(is_shown),
        }
    }

    /// What is said of a device that the user's variable hides.
    fn hidden(&self) -> Option<String> {
        let value = self.sources.cuda.variables.visible.as_deref()?;
        Some(match value {
            "" => "hidden by CUDA_VISIBLE_DEVICES, which is empty".to_owned(),
            value => format!("hidden by CUDA_VISIBLE_DEVICES={value}"),
        })
    }

    fn device(&self, card: &Card<'_>, name: &str, driven: Driven) -> DeviceInfo {
        let Driven { backend, unusable } = driven;
        let host = &self.sources.host;
        let adapter = card.usable().filter(|_| backend == Backend::Wgpu);
        let usual = defaults::rates(card.kind(), host.cores);
        let datasheet = card.speed().rates(usual);
        let of_adapter = |adapter: &&super::adapters::Adapter| {
            let (api, driver) = (adapter.api.clone(), adapter.driver.clone());
            Way { api, driver }
        };
        let ways = self.cuda_way(card.cuda.is_some()).into_iter().chain(card.adapters.iter().map(of_adapter));
        DeviceInfo {
            memory: name.to_owned(),
            name: name.to_owned(),
            kind: card.kind(),
            model: card.model().to_owned(),
            pci: card.pci().map(str::to_owned),
            uuid: card.uuid(),
            slice_of: None,
            compute_capability: card.speed().compute_capability,
            numa_node: card.pci().and_then(|pci| host.attached.get(pci)).copied(),
            backend,
            ways: ways.chain(nvml_way(card)).collect(),
            dtypes: adapter.map_or_else(|| defaults::dtypes(backend), |adapter| adapter.dtypes.clone()),
            limits: adapter.map_or_else(Limits::default, |adapter| adapter.limits),
            rates: datasheet.unwrap_or(usual),
            rates_from: if datasheet.is_some() { RatesFrom::Datasheet } else { RatesFrom::Assumed },
            unusable,
        }
    }

    fn cuda_way(&self, is_shown: bool) -> Option<Way> {
        let Driver::There { version, .. } = &self.sources.cuda.driver else { return None };
        is_shown.then(|| Way { api: "cuda".to_owned(), driver: version.clone() })
    }
}

fn nvml_way(card: &Card<'_>) -> Option<Way> {
    card.nvml.map(|gpu| Way { api: "nvml".to_owned(), driver: gpu.driver.clone() })
}

fn memory(card: &Card<'_>, name: &str, host: Option<Bytes>) -> MemoryInfo {
    let adapter = card.adapters.iter().find(|adapter| adapter.memory.is_some());
    let of_adapter = || adapter.map(|adapter| (adapter.memory, adapter.free));
    let of_cuda = || card.cuda.filter(|seen| seen.gpu.memory.is_some()).map(|seen| (seen.gpu.memory, None));
    let of_nvml = card.nvml.filter(|gpu| gpu.memory.is_some()).map(|gpu| (gpu.memory, gpu.free));
    let (bytes, free) = of_nvml.or_else(of_cuda).or_else(of_adapter).unwrap_or((None, None));
    let is_unified = card.nvml.is_some_and(|gpu| gpu.is_unified);
    let kind = match card.kind() {
        DeviceKind::SoftwareGpu | DeviceKind::IntegratedGpu => MemoryKind::Unified,
        _ if bytes.is_none() => MemoryKind::Unknown,
        _ if is_unified => MemoryKind::Unified,
        _ => MemoryKind::Dedicated,
    };
    // Drivers show all of the host's memory as their own. It can't be given out twice, so the device gets at most half
    // of what this process may use.
    let half = host.map(|memory| Bytes(memory.0 / 2)).filter(|_| kind == MemoryKind::Unified);
    let within = |bytes: Option<Bytes>| bytes.map(|bytes| half.map_or(bytes, |half| bytes.min(half)));
    MemoryInfo { name: name.to_owned(), kind, bytes: within(bytes), free: within(free) }
}
