//! The paths between memories: PCI Express to the host, NVLink and PCI Express between cards.

use super::cards::Card;
use super::nvml::LinkEnd;
use super::speed::Speed;
use crate::machine::{Link, MemoryKind, defaults};

/// The part of a link's rate that arrives in large pinned copies.
const ARRIVES: f64 = 0.8;

/// The path from the host to a card, where the card tells of it.
pub(super) fn to_host(name: &str, speed: &Speed) -> Option<Link> {
    let (bytes_per_s, via) = pcie(speed)?;
    let (_, latency_s) = defaults::host_link(MemoryKind::Dedicated);
    Some(Link { from: "host".to_owned(), to: name.to_owned(), bytes_per_s, latency_s, via })
}

/// The direct path between two cards that reach each other's memory: all NVLinks between them, else the slower slot.
/// `None` where the CUDA driver says that there is none.
pub(super) fn between(names: [&str; 2], cards: [&Card<'_>; 2]) -> Option<Link> {
    let [one, other] = cards;
    let (seen, other_seen) = (one.cuda?, other.cuda?);
    if !seen.gpu.peers.contains(&other_seen.ordinal) || !other_seen.gpu.peers.contains(&seen.ordinal) {
        return None;
    }
    let (usual, latency_s) = defaults::host_link(MemoryKind::Dedicated);
    let slots = || {
        let both = pcie(&one.speed()).zip(pcie(&other.speed()));
        let slower = both.map(|(there, back)| if there.0 <= back.0 { there } else { back });
        slower.map_or((usual, "peers".to_owned()), |(rate, via)| (rate, format!("{via}, peers")))
    };
    let (bytes_per_s, via) = nvlink(one, other).unwrap_or_else(slots);
    Some(Link { from: names[0].to_owned(), to: names[1].to_owned(), bytes_per_s, latency_s, via })
}

/// Bytes a second a lane by PCI Express generation (PCI-SIG: the raw rate less its line code).
fn pcie(speed: &Speed) -> Option<(f64, String)> {
    let (generation, lanes) = speed.pcie.filter(|(generation, lanes)| *generation > 0 && *lanes > 0)?;
    let lane_bytes_per_s = match generation {
        1 => 0.25e9,
        2 => 0.5e9,
        3 => 0.985e9,
        4 => 1.969e9,
        5 => 3.938e9,
        _ => 7.563e9,
    };
    let via = format!("PCIe {generation}.0 x{lanes}");
    Some((ARRIVES * lane_bytes_per_s * f64::from(lanes), via))
}

/// Direct links, and those that both have to switches.
fn nvlink(one: &Card<'_>, other: &Card<'_>) -> Option<(f64, String)> {
    let (ours, theirs) = (one.nvml?, other.nvml?);
    let rates = |links: &[super::nvml::NvLink], end: &dyn Fn(&LinkEnd) -> bool| -> Vec<f64> {
        links.iter().filter(|link| end(&link.end)).map(|link| link.bytes_per_s).collect()
    };
    let pci = theirs.pci.as_deref();
    let direct = rates(&ours.nvlinks, &|end| matches!(end, LinkEnd::Card(at) if Some(at.as_str()) == pci));
    let switched = rates(&ours.nvlinks, &|end| *end == LinkEnd::Switch);
    let back = rates(&theirs.nvlinks, &|end| *end == LinkEnd::Switch);
    let narrower = if switched.len() <= back.len() { switched } else { back };
    let links = if direct.is_empty() { narrower } else { direct };
    (!links.is_empty()).then(|| (ARRIVES * links.iter().sum::<f64>(), format!("NVLink x{}", links.len())))
}
