//! `CUDA_VISIBLE_DEVICES` and `CUDA_DEVICE_ORDER`, as the CUDA driver treats them.
//!
//! A list of numbers, or of UUIDs (`GPU-…`, or beginnings that fit one card), or of MIG slices (`MIG-…`). The first entry
//! that names nothing ends the list; a card named twice makes the whole list void; an empty list and `-1` hide all. Of
//! slices a process sees one. Numbers count in the driver's order: by PCI address where `CUDA_DEVICE_ORDER` is
//! `PCI_BUS_ID`, else the fastest first. Source: CUDA C++ Programming Guide, "CUDA Environment Variables", and what
//! PyTorch's `torch.cuda` found the driver to do beyond it (`_parse_visible_devices`).

use super::nvml::NvmlGpu;

/// A card, or a slice of one, by their positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// A whole card.
    Card(usize),
    /// A MIG slice of a card.
    Slice(usize, usize),
}

/// What a list of visible devices names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visible {
    /// What the process sees, in its order.
    pub shown: Vec<Shown>,
    /// One line for each entry that isn't what its writer meant.
    pub notes: Vec<String>,
}

/// The positions of the cards in the driver's order.
pub fn enumerated(cards: &[NvmlGpu], order: Option<&str>) -> Vec<usize> {
    let mut positions: Vec<usize> = (0..cards.len()).collect();
    positions.sort_by(|&a, &b| cards[a].pci.cmp(&cards[b].pci));
    if order != Some("PCI_BUS_ID") {
        // The driver's own measure isn't told: what the cores could do, which is right wherever cards differ much.
        let speed = |at: &usize| {
            let speed = &cards[*at].speed;
            u64::from(speed.cores.unwrap_or(0)) * u64::from(speed.core_clock_mhz.unwrap_or(0))
        };
        positions.sort_by_key(|at| std::cmp::Reverse(speed(at)));
    }
    positions
}

/// What the value of `CUDA_VISIBLE_DEVICES` names of the cards.
pub fn visible(list: &str, cards: &[NvmlGpu], order: Option<&str>) -> Visible {
    let mut visible = Visible::default();
    if list.trim().is_empty() {
        return visible;
    }
    let positions = enumerated(cards, order);
    for entry in list.split(',').map(str::trim) {
        let found = match find(entry, cards, &positions) {
            Ok(Some(found)) => found,
            Ok(None) => break,
            Err(why) => {
                visible.notes.push(format!(
                    "CUDA_VISIBLE_DEVICES names '{entry}', {why}; the driver shows neither it nor what follows it"
                ));
                break;
            }
        };
        if visible.shown.contains(&found) {
            visible.notes.push(format!(
                "CUDA_VISIBLE_DEVICES names '{entry}', which it named before; the driver shows no card at all then"
            ));
            visible.shown.clear();
            break;
        }
        visible.shown.push(found);
    }
    if let Some(&slice) = visible.shown.iter().find(|shown| matches!(shown, Shown::Slice(..)))
        && visible.shown.len() > 1
    {
        visible.shown = vec![slice];
        visible.notes.push(
            "CUDA_VISIBLE_DEVICES names several devices, one of them a MIG slice; the driver shows the first slice alone"
                .to_owned(),
        );
    }
    visible
}

/// What an entry names; `None` for a number below 0, which ends the list on purpose.
fn find(entry: &str, cards: &[NvmlGpu], positions: &[usize]) -> Result<Option<Shown>, String> {
    if entry.starts_with("GPU-") {
        let fitting =
            (0..cards.len()).filter(|&at| begins(cards[at].uuid.as_deref(), entry)).collect::<Vec<_>>();
        return one(&fitting, "card").map(|at| Some(Shown::Card(at)));
    }
    if entry.starts_with("MIG-") {
        let slices = cards
            .iter()
            .enumerate()
            .flat_map(|(card, gpu)| gpu.slices.iter().enumerate().map(move |(at, slice)| (card, at, slice)));
        let fitting: Vec<(usize, usize)> = slices
            .filter(|(_, _, slice)| begins(slice.uuid.as_deref(), entry))
            .map(|(card, at, _)| (card, at))
            .collect();
        return one(&fitting, "MIG slice").map(|(card, at)| Some(Shown::Slice(card, at)));
    }
    match leading_number(entry) {
        Some(number) if number < 0 => Ok(None),
        Some(number) => {
            let at = usize::try_from(number).ok().and_then(|number| positions.get(number));
            let count = cards.len();
            let there =
                if count == 1 { "there is 1 card".to_owned() } else { format!("there are {count} cards") };
            at.map(|&at| Some(Shown::Card(at))).ok_or_else(|| format!("and {there}"))
        }
        None => Err("which is neither a number nor the beginning of a UUID".to_owned()),
    }
}

fn begins(uuid: Option<&str>, entry: &str) -> bool {
    uuid.is_some_and(|uuid| uuid.to_ascii_lowercase().starts_with(&entry.to_ascii_lowercase()))
}

fn one<T: Copy>(fitting: &[T], what: &str) -> Result<T, String> {
    match fitting {
        [found] => Ok(*found),
        [] => Err(format!("which is no {what} here")),
        _ => Err(format!("which fits {} {what}s", fitting.len())),
    }
}

/// As C's `strtol`: what the entry begins with counts.
fn leading_number(entry: &str) -> Option<i64> {
    let sign = usize::from(entry.starts_with(['-', '+']));
    let digits = entry[sign..].bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 { None } else { entry[..sign + digits].parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::super::nvml::{NvmlSlice, Speed};
    use super::*;

    /// Three cards: a slow one, a fast one with two slices, and the slow one's twin.
    fn cards() -> Vec<NvmlGpu> {
        let card = |pci: &str, uuid: &str, cores: u32| NvmlGpu {
            pci: Some(pci.to_owned()),
            uuid: Some(uuid.to_owned()),
            speed: Speed { cores: Some(cores), core_clock_mhz: Some(1000), ..Speed::default() },
            ..NvmlGpu::default()
        };
        let slice = |uuid: &str| NvmlSlice { uuid: Some(uuid.to_owned()), ..NvmlSlice::default() };
        let mut cards = vec![
            card("0000:41:00.0", "GPU-aaaa1111-0000-0000-0000-000000000001", 100),
            card("0000:81:00.0", "GPU-aaaa2222-0000-0000-0000-000000000002", 900),
            card("0000:01:00.0", "GPU-bbbb3333-0000-0000-0000-000000000003", 100),
        ];
        cards[1].slices = vec![slice("MIG-11110000"), slice("MIG-22220000")];
        cards
    }

    #[test]
    fn case_d02_visible_devices_are_those_that_the_driver_shows() {
        use Shown::{Card, Slice};
        // Fastest first, then by address: 1, 2, 0. By address alone: 2, 0, 1.
        type Row = (&'static str, Option<&'static str>, &'static [Shown], &'static str);
        let table: [Row; 22] = [
            ("0", None, &[Card(1)], ""),
            ("0", Some("PCI_BUS_ID"), &[Card(2)], ""),
            ("0", Some("FASTEST_FIRST"), &[Card(1)], ""),
            ("2,0", None, &[Card(0), Card(1)], ""),
            (" 1 , 2 ", Some("PCI_BUS_ID"), &[Card(0), Card(1)], ""),
            ("", None, &[], ""),
            ("  ", None, &[], ""),
            ("-1", None, &[], ""),
            ("0,-1,1", None, &[Card(1)], ""),
            ("1gpu2", None, &[Card(2)], ""),
            ("0,7,1", None, &[Card(1)], "'7', and there are 3 cards"),
            ("all", None, &[], "'all', which is neither a number nor"),
            ("0,,1", None, &[Card(1)], "'', which is neither"),
            ("0,0", None, &[], "'0', which it named before; the driver shows no card at all"),
            ("GPU-bbbb3333-0000-0000-0000-000000000003", None, &[Card(2)], ""),
            ("GPU-bbbb", None, &[Card(2)], ""),
            ("GPU-AAAA2", None, &[Card(1)], ""),
            ("GPU-aaaa", None, &[], "'GPU-aaaa', which fits 2 cards"),
            ("GPU-bbbb,GPU-cccc,GPU-aaaa1", None, &[Card(2)], "'GPU-cccc', which is no card here"),
            ("GPU-bbbb,GPU-bbbb3333", None, &[], "which it named before"),
            ("MIG-2222", None, &[Slice(1, 1)], ""),
            ("MIG-1111,MIG-2222", None, &[Slice(1, 0)], "the first slice alone"),
        ];
        for (list, order, shown, note) in table {
            let visible = visible(list, &cards(), order);
            assert_eq!(visible.shown, shown, "{list:?} by {order:?}");
            assert_eq!(visible.notes.is_empty(), note.is_empty(), "{list:?}: {:?}", visible.notes);
            assert!(visible.notes.iter().all(|line| line.contains(note)), "{list:?}: {:?}", visible.notes);
        }
    }
}
