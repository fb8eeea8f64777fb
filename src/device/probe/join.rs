//! One device for one card, however many sources show it.

use super::adapters::{Adapter, AdapterKind};
use super::cuda::{Cuda, CudaGpu};
use super::host::HostFacts;
use super::nvml::{NvmlGpu, NvmlSlice, Speed};
use super::visible::{Shown, visible};
use super::{Inventory, links};
use crate::machine::{
    Backend, DeviceInfo, DeviceKind, Limits, Machine, MemoryInfo, MemoryKind, Rates, Way, defaults,
};
use crate::units::Bytes;

/// What the sources show.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The host.
    pub host: HostFacts,
    /// NVIDIA's management library.
    pub nvml: Vec<NvmlGpu>,
    /// The CUDA driver.
    pub cuda: Cuda,
    /// The graphics APIs.
    pub adapters: Vec<Adapter>,
    /// `CUDA_VISIBLE_DEVICES`, where it is set.
    pub visible_devices: Option<String>,
    /// `CUDA_DEVICE_ORDER`, where it is set.
    pub device_order: Option<String>,
}

/// The machine that the sources show together, and what its user should know of it.
///
/// A card is known by its PCI address, else by its UUID. An adapter that tells neither (GL) belongs to the first
/// card of a fitting name that its API hasn't shown yet. Devices: the host, GPUs in the order of their PCI
/// addresses (`gpu0`, …), each with its MIG slices behind it (`gpu0.mig0`, …), software adapters (`soft0`, …).
///
/// A card is driven through CUDA where the driver shows it and kernels can be compiled, else through Vulkan, Metal or
/// DX12. One that `CUDA_VISIBLE_DEVICES` hides isn't driven at all: whoever hid it meant it.
pub fn join(seen: &Seen) -> Inventory {
    let host = &seen.host;
    let mut machine = Machine::host_only(host.cores, Bytes(0));
    machine.name = "this machine".to_owned();
    machine.host.model.clone_from(&host.model);
    machine.host.numa_nodes = host.numa_nodes;
    machine.devices[0].model.clone_from(&host.model);
    machine.memories[0].bytes = host.memory;
    machine.memories[0].free = host.free;
    let hidden = Hidden::new(seen);
    let mut notes = hidden.notes.clone();
    let (mut gpus, mut software) = (0, 0);
    for card in cards(seen) {
        let (prefix, count) = if card.is_software() { ("soft", &mut software) } else { ("gpu", &mut gpus) };
        let name = format!("{prefix}{count}");
        *count += 1;
        let mut made = card.devices(&name, seen, &hidden);
        // Ids are 16 bits wide.
        made.truncate(Machine::DEVICES_MAX - machine.devices.len());
        notes.extend(card.note(&name, &made, &seen.cuda));
        machine.links.extend(links::to_host(card.nvml, &made));
        for (device, memory) in made {
            machine.memories.push(memory);
            machine.devices.push(device);
        }
    }
    machine.links.extend(links::between(seen, &machine));
    Inventory { machine, notes }
}

/// What `CUDA_VISIBLE_DEVICES` hides, by the positions in NVML's list.
struct Hidden {
    /// `None` where the variable isn't set.
    shown: Option<Vec<Shown>>,
    list: String,
    notes: Vec<String>,
}

impl Hidden {
    fn new(seen: &Seen) -> Hidden {
        let Some(list) = &seen.visible_devices else {
            return Hidden { shown: None, list: String::new(), notes: Vec::new() };
        };
        let visible = visible(list, &seen.nvml, seen.device_order.as_deref());
        // Without NVML nobody knows what there is to be named.
        let notes = if seen.nvml.is_empty() { Vec::new() } else { visible.notes };
        Hidden { shown: Some(visible.shown), list: list.clone(), notes }
    }

    /// Whether a card, or slice, is hidden: by the driver's word where it gave one.
    fn hides(&self, is_shown_by_cuda: bool, answered: bool, position: Shown) -> bool {
        let Some(shown) = &self.shown else { return false };
        if answered { !is_shown_by_cuda } else { !shown.contains(&position) }
    }

    fn why(&self) -> String {
        format!("hidden by CUDA_VISIBLE_DEVICES=\"{}\"", self.list)
    }
}

#[derive(Default)]
struct Card<'a> {
    nvml: Option<&'a NvmlGpu>,
    /// The position in NVML's list.
    position: usize,
    cuda: Option<&'a CudaGpu>,
    /// What CUDA shows of its slices, by their positions.
    cuda_slices: Vec<(usize, &'a CudaGpu)>,
    /// The ones that a backend can drive first.
    adapters: Vec<&'a Adapter>,
}

fn cards(seen: &Seen) -> Vec<Card<'_>> {
    let of_nvml = |(position, gpu)| Card { nvml: Some(gpu), position, ..Card::default() };
    let mut cards: Vec<Card> = seen.nvml.iter().enumerate().map(of_nvml).collect();
    cards.sort_by_key(|card| card.pci());
    for gpu in &seen.cuda.gpus {
        let slice = cards.iter().enumerate().find_map(|(at, card)| Some((at, card.slice_of(gpu)?)));
        if let Some((at, slice)) = slice {
            cards[at].cuda_slices.push((slice, gpu));
            continue;
        }
        match cards.iter_mut().find(|card| card.is(gpu.pci.as_deref(), gpu.uuid.as_deref())) {
            Some(card) => card.cuda = Some(gpu),
            None => cards.push(Card { cuda: Some(gpu), ..Card::default() }),
        }
    }
    let mut adapters: Vec<&Adapter> = seen.adapters.iter().collect();
    // Those that tell who they are come first, so that the order of the list doesn't matter.
    adapters.sort_by_key(|adapter| {
        let known = (adapter.pci.is_none(), adapter.pci.clone(), adapter.uuid.is_none());
        (known, !adapter.is_usable(), adapter.api.clone())
    });
    for adapter in adapters {
        match cards.iter_mut().find(|card| card.is_shown_by(adapter)) {
            Some(card) => card.adapters.push(adapter),
            None => cards.push(Card { adapters: vec![adapter], ..Card::default() }),
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
    /// Whether this is the card with such an address, or where one of both doesn't tell it, such a UUID.
    fn is(&self, pci: Option<&str>, uuid: Option<&str>) -> bool {
        if let (Some(ours), Some(theirs)) = (self.pci(), pci) {
            return ours == theirs;
        }
        self.uuid().zip(uuid).is_some_and(|(ours, theirs)| bare_uuid(&ours) == bare_uuid(theirs))
    }

    /// Which of the card's slices CUDA shows there.
    fn slice_of(&self, gpu: &CudaGpu) -> Option<usize> {
        let wanted = bare_uuid(gpu.uuid.as_deref()?);
        let is_it = |slice: &NvmlSlice| slice.uuid.as_deref().is_some_and(|uuid| bare_uuid(uuid) == wanted);
        self.nvml?.slices.iter().position(is_it)
    }

    fn is_shown_by(&self, adapter: &Adapter) -> bool {
        if self.pci().is_some() && adapter.pci.is_some() || self.uuid().is_some() && adapter.uuid.is_some() {
            return self.is(adapter.pci.as_deref(), adapter.uuid.as_deref());
        }
        let (ours, theirs) = (self.model().to_lowercase(), adapter.name.to_lowercase());
        let nameless = adapter.pci.is_none() && adapter.uuid.is_none();
        let shown_already = self.adapters.iter().any(|other| other.api == adapter.api);
        nameless && !shown_already && (theirs.contains(&ours) || ours.contains(&theirs))
    }

    fn pci(&self) -> Option<&'a str> {
        let nvml = self.nvml.and_then(|gpu| gpu.pci.as_deref());
        let cuda = || self.cuda.and_then(|gpu| gpu.pci.as_deref());
        nvml.or_else(cuda).or_else(|| self.adapters.iter().find_map(|adapter| adapter.pci.as_deref()))
    }

    /// NVIDIA's, which `CUDA_VISIBLE_DEVICES` uses too, else the adapter's.
    fn uuid(&self) -> Option<String> {
        let nvml = self.nvml.and_then(|gpu| gpu.uuid.clone());
        let cuda = || self.cuda.and_then(|gpu| gpu.uuid.clone());
        nvml.or_else(cuda).or_else(|| self.adapters.iter().find_map(|adapter| adapter.uuid.clone()))
    }

    fn model(&self) -> &'a str {
        let nvml = self.nvml.map(|gpu| gpu.name.as_str());
        let cuda = || self.cuda.map(|gpu| gpu.name.as_str());
        let adapter = || self.adapters.first().map(|adapter| adapter.name.as_str());
        nvml.or_else(cuda).or_else(adapter).unwrap_or_default()
    }

    fn is_software(&self) -> bool {
        let is_nvidia = self.nvml.is_some() || self.cuda.is_some();
        !is_nvidia && self.adapters.iter().any(|adapter| adapter.is_software())
    }

    fn usable(&self) -> Option<&'a Adapter> {
        self.adapters.iter().copied().find(|adapter| adapter.is_usable())
    }

    fn kind(&self) -> DeviceKind {
        let integrated = self.adapters.iter().any(|adapter| adapter.kind == AdapterKind::Integrated)
            || self.cuda.is_some_and(|gpu| gpu.is_integrated);
        match (self.is_software(), integrated) {
            (true, _) => DeviceKind::SoftwareGpu,
            (false, true) => DeviceKind::IntegratedGpu,
            (false, false) => DeviceKind::Gpu,
        }
    }

    /// The card, and its slices behind it.
    fn devices(&self, name: &str, seen: &Seen, hidden: &Hidden) -> Vec<(DeviceInfo, MemoryInfo)> {
        let card = self.device(name, seen, hidden);
        let slices = self.nvml.map_or(&[][..], |gpu| &gpu.slices[..]);
        let slices = slices.iter().enumerate().map(|(at, slice)| self.slice(&card, at, slice, seen, hidden));
        let slices: Vec<_> = slices.collect();
        std::iter::once((card, self.memory(name, &seen.host))).chain(slices).collect()
    }

    fn device(&self, name: &str, seen: &Seen, hidden: &Hidden) -> DeviceInfo {
        let usable = self.usable();
        let through_cuda = self.cuda.is_some() && seen.cuda.no_compiler.is_none();
        let backend = if through_cuda || usable.is_none() { Backend::Cuda } else { Backend::Wgpu };
        let adapter = usable.filter(|_| backend == Backend::Wgpu);
        let rates = defaults::rates(self.kind(), seen.host.cores);
        DeviceInfo {
            memory: name.to_owned(),
            name: name.to_owned(),
            kind: self.kind(),
            model: self.model().to_owned(),
            pci: self.pci().map(str::to_owned),
            uuid: self.uuid(),
            backend,
            ways: self.ways(),
            compute_capability: self.capability(),
            slice_of: None,
            dtypes: adapter.map_or_else(|| defaults::dtypes(backend), |adapter| adapter.dtypes.clone()),
            limits: adapter.map_or_else(Limits::default, |adapter| adapter.limits),
            rates: self.nvml.map_or(rates, |gpu| datasheet_rates(&gpu.speed, rates)),
            unusable: self.unusable(name, seen, hidden),
        }
    }

    fn capability(&self) -> Option<(u32, u32)> {
        let nvml = self.nvml.and_then(|gpu| gpu.speed.compute_capability);
        let nvml = nvml.and_then(|(major, minor)| Some((major.try_into().ok()?, minor.try_into().ok()?)));
        self.cuda.map(|gpu| gpu.capability).or(nvml)
    }

    fn ways(&self) -> Vec<Way> {
        let way = |api: &str, driver: &str| Way { api: api.to_owned(), driver: driver.to_owned() };
        let cuda = self.cuda.map(|gpu| way("cuda", &gpu.version));
        let adapters = self.adapters.iter().map(|adapter| way(&adapter.api, &adapter.driver));
        cuda.into_iter().chain(adapters).chain(self.nvml.map(|gpu| way("nvml", &gpu.driver))).collect()
    }

    /// Why nothing can be placed on the card, if so.
    fn unusable(&self, name: &str, seen: &Seen, hidden: &Hidden) -> Option<String> {
        let slices = self.nvml.map_or(0, |gpu| gpu.slices.len());
        if slices > 0 {
            let last = if slices > 1 { format!(" to {name}.mig{}", slices - 1) } else { String::new() };
            return Some(format!("it is cut into MIG slices: {name}.mig0{last}"));
        }
        let position = Shown::Card(self.position);
        if self.nvml.is_some() && hidden.hides(self.cuda.is_some(), seen.cuda.answered, position) {
            return Some(hidden.why());
        }
        if self.usable().is_some() {
            return None;
        }
        if self.cuda.is_some() {
            return seen.cuda.no_compiler.as_ref().map(|why| format!("no kernels can be compiled: {why}"));
        }
        let ways = self.ways();
        let shown = ways.iter().map(|way| way.api.as_str()).collect::<Vec<_>>().join(", ");
        let needed = match (&seen.cuda.trouble, self.nvml) {
            (Some(trouble), Some(_)) => trouble.clone(),
            (None, Some(_)) => {
                "the CUDA driver (libcuda.so.1), or a Vulkan driver for the card, is needed".to_owned()
            }
            (_, None) => "a Vulkan driver for the card is needed".to_owned(),
        };
        Some(format!("no usable API: seen by {shown} only; {needed}"))
    }

    /// A slice with its own memory. Of the card's rates it has the share that it has of the memory.
    fn slice(
        &self,
        card: &DeviceInfo,
        at: usize,
        slice: &NvmlSlice,
        seen: &Seen,
        hidden: &Hidden,
    ) -> (DeviceInfo, MemoryInfo) {
        let name = format!("{}.mig{at}", card.name);
        let cuda = self.cuda_slices.iter().find(|(of, _)| *of == at).map(|(_, gpu)| *gpu);
        let whole = self.nvml.and_then(|gpu| gpu.memory).zip(slice.memory);
        let share =
            whole.map_or(1.0, |(card, slice)| (slice.0 as f64 / card.0.max(1) as f64).clamp(0.01, 1.0));
        let unusable = if hidden.hides(cuda.is_some(), seen.cuda.answered, Shown::Slice(self.position, at)) {
            Some(hidden.why())
        } else if cuda.is_none() {
            let uuid = slice.uuid.as_deref().unwrap_or("its UUID");
            Some(match &seen.cuda.trouble {
                Some(trouble) => trouble.clone(),
                None if !seen.cuda.answered => "the CUDA driver (libcuda.so.1) is needed".to_owned(),
                None => format!(
                    "the CUDA driver shows a process one slice: CUDA_VISIBLE_DEVICES={uuid} shows this one"
                ),
            })
        } else {
            seen.cuda.no_compiler.as_ref().map(|why| format!("no kernels can be compiled: {why}"))
        };
        let mut ways: Vec<Way> =
            cuda.map(|gpu| Way { api: "cuda".to_owned(), driver: gpu.version.clone() }).into_iter().collect();
        ways.extend(self.nvml.map(|gpu| Way { api: "nvml".to_owned(), driver: gpu.driver.clone() }));
        let device = DeviceInfo {
            memory: name.clone(),
            name: name.clone(),
            kind: DeviceKind::Gpu,
            model: slice.name.clone(),
            uuid: slice.uuid.clone(),
            backend: Backend::Cuda,
            ways,
            slice_of: Some(card.name.clone()),
            dtypes: defaults::dtypes(Backend::Cuda),
            limits: Limits::default(),
            rates: Rates {
                flops_f32: card.rates.flops_f32 * share,
                flops_f64: card.rates.flops_f64 * share,
                memory_bytes_per_s: card.rates.memory_bytes_per_s * share,
                launch_s: card.rates.launch_s,
            },
            unusable,
            ..card.clone()
        };
        let bytes = slice.memory.or(cuda.and_then(|gpu| gpu.memory));
        let kind = if bytes.is_some() { MemoryKind::Dedicated } else { MemoryKind::Unknown };
        (device, MemoryInfo { name, kind, bytes, free: slice.free })
    }

    fn memory(&self, name: &str, host: &HostFacts) -> MemoryInfo {
        let adapter = || self.adapters.iter().find(|adapter| adapter.memory.is_some());
        let cuda = || self.cuda.and_then(|gpu| gpu.memory);
        let (bytes, free) = match self.nvml.filter(|gpu| gpu.memory.is_some()) {
            Some(gpu) => (gpu.memory, gpu.free),
            None => match (cuda(), adapter()) {
                (None, None) => (None, None),
                (Some(bytes), adapter) => (Some(bytes), adapter.and_then(|adapter| adapter.free)),
                (None, Some(adapter)) => (adapter.memory, adapter.free),
            },
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

    /// Why a card that CUDA shows is driven another way.
    fn note(&self, name: &str, made: &[(DeviceInfo, MemoryInfo)], cuda: &Cuda) -> Option<String> {
        let device = &made.first()?.0;
        let is_other = self.cuda.is_some() && device.backend == Backend::Wgpu && device.unusable.is_none();
        let why = cuda.no_compiler.as_ref().filter(|_| is_other)?;
        let api = &self.usable()?.api;
        Some(format!(
            "{name} is driven through {api} rather than CUDA, since no kernels can be compiled: {why}"
        ))
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
    uuid.to_lowercase().trim_start_matches("gpu-").trim_start_matches("mig-").replace('-', "")
}
