//! One card for each card, however many sources show it.

use super::Sources;
use super::adapters::{Adapter, AdapterKind};
use super::cuda::CudaGpu;
use super::nvml::{NvmlGpu, Slice};
use super::speed::Speed;
use crate::machine::DeviceKind;

/// A card, and every source's word on it.
#[derive(Default)]
pub(super) struct Card<'a> {
    pub(super) nvml: Option<&'a NvmlGpu>,
    pub(super) cuda: Option<ByCuda<'a>>,
    /// The ones that a backend can drive first.
    pub(super) adapters: Vec<&'a Adapter>,
    /// Where NVML says that it is divided.
    pub(super) slices: Option<Vec<CardSlice<'a>>>,
}

/// What the CUDA driver says, and its number for it.
#[derive(Clone, Copy)]
pub(super) struct ByCuda<'a> {
    pub(super) ordinal: u32,
    pub(super) gpu: &'a CudaGpu,
}

/// A slice of a card.
pub(super) struct CardSlice<'a> {
    pub(super) nvml: &'a Slice,
    pub(super) cuda: Option<ByCuda<'a>>,
}

/// The cards in PCI order, software last.
///
/// A card is known by its PCI address, else by its UUID; what the CUDA driver shows by the UUID first, since a slice has
/// its card's address. An adapter that tells neither (GL) belongs to the first card of a fitting name that its API hasn't
/// shown yet.
pub(super) fn cards(sources: &Sources) -> Vec<Card<'_>> {
    let mut cards: Vec<Card> = sources.nvml.iter().map(Card::of_nvml).collect();
    cards.sort_by_key(|card| card.pci());
    for (ordinal, gpu) in (0..).zip(sources.cuda.driver.gpus()) {
        // One that the driver couldn't tell of has no name.
        if !gpu.name.is_empty() {
            place_cuda(&mut cards, ByCuda { ordinal, gpu });
        }
    }
    let mut adapters: Vec<&Adapter> = sources.adapters.iter().collect();
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

fn place_cuda<'a>(cards: &mut Vec<Card<'a>>, seen: ByCuda<'a>) {
    let ours = seen.gpu.uuid.as_deref().map(bare_uuid);
    let is_ours = |uuid: Option<&str>| ours.is_some() && uuid.map(bare_uuid) == ours;
    let mut slices = cards.iter_mut().flat_map(|card| card.slices.iter_mut().flatten());
    if let Some(slice) = slices.find(|slice| is_ours(slice.nvml.uuid.as_deref())) {
        slice.cuda = Some(seen);
        return;
    }
    let by_uuid = cards.iter().position(|card| is_ours(card.uuid().as_deref()));
    let by_pci =
        || cards.iter().position(|card| card.pci().is_some() && card.pci() == seen.gpu.pci.as_deref());
    match by_uuid.or_else(by_pci).map(|at| &mut cards[at]) {
        // A driver that tells its card's UUID of a slice: the first slice of its size is it.
        Some(Card { slices: Some(slices), .. }) => {
            let free = || slices.iter().enumerate().filter(|(_, slice)| slice.cuda.is_none());
            let of_size = free().find(|(_, slice)| slice.nvml.memory == seen.gpu.memory);
            if let Some(at) = of_size.or_else(|| free().next()).map(|(at, _)| at) {
                slices[at].cuda = Some(seen);
            }
        }
        Some(card) if card.cuda.is_none() => card.cuda = Some(seen),
        _ => cards.push(Card { cuda: Some(seen), ..Card::default() }),
    }
}

impl<'a> Card<'a> {
    fn of_nvml(gpu: &'a NvmlGpu) -> Self {
        let slices = gpu.slices.as_ref();
        let slices = slices.map(|slices| slices.iter().map(|nvml| CardSlice { nvml, cuda: None }).collect());
        Card { nvml: Some(gpu), slices, ..Card::default() }
    }

    fn is_shown_by(&self, adapter: &Adapter) -> bool {
        if let (Some(ours), Some(theirs)) = (self.pci(), &adapter.pci) {
            return ours == theirs;
        }
        if let (Some(ours), Some(theirs)) = (self.uuid(), &adapter.uuid) {
            return bare_uuid(&ours) == bare_uuid(theirs);
        }
        let nameless = adapter.pci.is_none() && adapter.uuid.is_none();
        let shown_already = self.adapters.iter().any(|other| other.api == adapter.api);
        nameless && !shown_already && same_model(self.model(), &adapter.name)
    }

    pub(super) fn pci(&self) -> Option<&'a str> {
        let nvml = self.nvml.and_then(|gpu| gpu.pci.as_deref());
        let cuda = || self.cuda.and_then(|seen| seen.gpu.pci.as_deref());
        nvml.or_else(cuda).or_else(|| self.adapters.iter().find_map(|adapter| adapter.pci.as_deref()))
    }

    /// NVIDIA's, which `CUDA_VISIBLE_DEVICES` uses too, else the adapter's.
    pub(super) fn uuid(&self) -> Option<String> {
        let nvml = self.nvml.and_then(|gpu| gpu.uuid.clone());
        // Without NVML only the name tells that it is a slice.
        let kind = |gpu: &CudaGpu| if gpu.name.contains(" MIG ") { "MIG" } else { "GPU" };
        let of = |gpu: &CudaGpu| gpu.uuid.as_ref().map(|uuid| format!("{}-{uuid}", kind(gpu)));
        let cuda = || self.cuda.and_then(|seen| of(seen.gpu));
        nvml.or_else(cuda).or_else(|| self.adapters.iter().find_map(|adapter| adapter.uuid.clone()))
    }

    pub(super) fn model(&self) -> &'a str {
        let nvml = self.nvml.map(|gpu| gpu.name.as_str());
        let cuda = || self.cuda.map(|seen| seen.gpu.name.as_str());
        let adapter = || self.adapters.first().map(|adapter| adapter.name.as_str());
        nvml.or_else(cuda).or_else(adapter).unwrap_or_default()
    }

    pub(super) fn is_nvidia(&self) -> bool {
        let says = |adapter: &Adapter| {
            adapter.name.to_lowercase().contains("nvidia")
                || adapter.driver.to_lowercase().starts_with("nvidia")
        };
        self.nvml.is_some() || self.cuda.is_some() || self.adapters.iter().any(|adapter| says(adapter))
    }

    pub(super) fn is_software(&self) -> bool {
        let is_card = self.nvml.is_some() || self.cuda.is_some();
        !is_card && self.adapters.iter().any(|adapter| adapter.is_software())
    }

    /// The adapter by which a backend can drive it.
    pub(super) fn usable(&self) -> Option<&'a Adapter> {
        self.adapters.iter().copied().find(|adapter| adapter.is_usable())
    }

    pub(super) fn kind(&self) -> DeviceKind {
        let integrated = self.adapters.iter().any(|adapter| adapter.kind == AdapterKind::Integrated)
            || self.cuda.is_some_and(|seen| seen.gpu.is_integrated);
        match (self.is_software(), integrated) {
            (true, _) => DeviceKind::SoftwareGpu,
            (false, true) => DeviceKind::IntegratedGpu,
            (false, false) => DeviceKind::Gpu,
        }
    }

    pub(super) fn speed(&self) -> Speed {
        let nvml = self.nvml.map_or_else(Speed::default, |gpu| gpu.speed);
        nvml.or(self.cuda.map_or_else(Speed::default, |seen| seen.gpu.speed))
    }
}

/// Whether two drivers mean the same model. Each puts its own words around it: `NVIDIA RTX A4000/PCIe/SSE2`,
/// `D3D12 (NVIDIA RTX A4000)`, `AMD Radeon RX 6600 (RADV NAVI23)`, `Mesa Intel(R) UHD Graphics 620 (KBL GT2)`.
fn same_model(ours: &str, theirs: &str) -> bool {
    let plain = |name: &str| {
        let name = name.to_lowercase();
        let end = [" (", "/"].iter().filter_map(|mark| name.find(mark)).min().unwrap_or(name.len());
        name[..end].trim_start_matches("mesa ").to_owned()
    };
    let (ours, theirs) = (ours.to_lowercase(), theirs.to_lowercase());
    let alike = theirs.contains(&ours) || ours.contains(&theirs) || plain(&ours) == plain(&theirs);
    alike && !ours.is_empty() && !theirs.is_empty()
}

fn bare_uuid(uuid: &str) -> String {
    let uuid = uuid.to_lowercase();
    uuid.trim_start_matches("mig-").trim_start_matches("gpu-").replace('-', "")
}
