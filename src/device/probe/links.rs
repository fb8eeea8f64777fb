//! How fast bytes go between a card and the host, and between cards.

use super::join::Seen;
use super::nvml::NvmlGpu;
use crate::machine::{Backend, DeviceInfo, Link, Machine, MemoryInfo, MemoryKind, defaults};

/// Of a link's raw rate so much arrives in large copies.
const IN_PRACTICE: f64 = 0.8;

/// The paths between the host and a card, or the slices that share its slot.
pub(super) fn to_host(nvml: Option<&NvmlGpu>, made: &[(DeviceInfo, MemoryInfo)]) -> Vec<Link> {
    let Some(bytes_per_s) = nvml.and_then(pcie) else { return Vec::new() };
    let (_, latency_s) = defaults::host_link(MemoryKind::Dedicated);
    let link = |(device, _): &(DeviceInfo, MemoryInfo)| {
        let (from, to) = ("host".to_owned(), device.name.clone());
        Link { from, to, bytes_per_s, latency_s }
    };
    made.iter().map(link).collect()
}

/// The paths between cards that copy to each other without the host: both driven through CUDA, which says so.
pub(super) fn between(seen: &Seen, machine: &Machine) -> Vec<Link> {
    let of = |device: &DeviceInfo| seen.nvml.iter().find(|gpu| gpu.pci.is_some() && gpu.pci == device.pci);
    let gpus = machine.devices.iter().filter(|device| {
        device.backend == Backend::Cuda && device.unusable.is_none() && device.slice_of.is_none()
    });
    let gpus: Vec<&DeviceInfo> = gpus.filter(|device| device.name != "host").collect();
    let mut links = Vec::new();
    for (at, a) in gpus.iter().enumerate() {
        for b in &gpus[at + 1..] {
            let reaches = seen.cuda.gpus.iter().any(|gpu| {
                gpu.uuid == a.uuid && b.uuid.as_ref().is_some_and(|uuid| gpu.peers.contains(uuid))
            });
            if !reaches {
                continue;
            }
            let nvlink = of(a).zip(b.pci.as_deref()).map_or(0.0, |(gpu, to)| nvlink(gpu, to));
            let slots = of(a).and_then(pcie).zip(of(b).and_then(pcie)).map(|(a, b)| a.min(b));
            let slots = slots.unwrap_or_else(|| defaults::host_link(MemoryKind::Dedicated).0);
            let (from, to) = (a.name.clone(), b.name.clone());
            let (_, latency_s) = defaults::host_link(MemoryKind::Dedicated);
            links.push(Link { from, to, bytes_per_s: nvlink.max(slots), latency_s });
        }
    }
    links
}

/// Bytes a second through a card's slot, by PCI Express generation (PCI-SIG: the raw rate less its line code).
fn pcie(gpu: &NvmlGpu) -> Option<f64> {
    let (generation, lanes) = gpu.speed.pcie?;
    let lane_bytes_per_s = match generation {
        0 => return None,
        1 => 0.25e9,
        2 => 0.5e9,
        3 => 0.985e9,
        4 => 1.969e9,
        5 => 3.938e9,
        _ => 7.563e9,
    };
    (lanes > 0).then_some(IN_PRACTICE * lane_bytes_per_s * f64::from(lanes))
}

/// Bytes a second each way over a card's NVLinks to another, by generation (NVIDIA's whitepapers on Pascal to Blackwell).
fn nvlink(gpu: &NvmlGpu, to: &str) -> f64 {
    let links = gpu.nvlinks.iter().filter(|link| link.to == to);
    let rate = |version: u32| match version {
        0 | 1 => 20e9,
        2..=4 => 25e9,
        _ => 50e9,
    };
    links.map(|link| IN_PRACTICE * rate(link.version) * f64::from(link.count)).sum()
}
