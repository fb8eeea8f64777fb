//! `CUDA_VISIBLE_DEVICES` and `CUDA_DEVICE_ORDER`, read as the CUDA driver reads them.
//!
//! Where the driver can be asked, its own list says which cards a process has; this is for saying why a card isn't on it,
//! for naming what in the variable names nothing, and for cards that are reached without the driver.
//!
//! By the CUDA Programming Guide, "CUDA Environment Variables": without the variable all cards are shown, with an empty
//! one none; entries are numbers in the driver's order, or UUIDs, or beginnings of UUIDs that fit one card only; the first
//! entry that names no card ends the list; `PCI_BUS_ID` orders by address, else the fastest come first, by a measure that
//! isn't told (single-precision rate here). By NVIDIA's MIG User Guide, "CUDA Device Enumeration" (CUDA 12): a process
//! sees one slice, or whole cards; a divided card stands for its first slice, and comes after the whole ones. By
//! PyTorch's reading and its tests (`torch.cuda._parse_visible_devices`), where NVIDIA doesn't say: numbers are read as C's
//! `strtoul` does (`1st` is 1); a list is all numbers or all UUIDs of the first one's kind; naming a card twice shows none.

use std::env;

/// The two variables as the process has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables {
    /// `CUDA_VISIBLE_DEVICES`.
    pub visible: Option<String>,
    /// `CUDA_DEVICE_ORDER`.
    pub order: Option<String>,
}

impl Variables {
    /// Those of this process. What isn't UTF-8 is read with its odd bytes replaced.
    pub fn of_process() -> Self {
        let text = |name| env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        Variables { visible: text("CUDA_VISIBLE_DEVICES"), order: text("CUDA_DEVICE_ORDER") }
    }
}

/// An NVIDIA card, as far as the variables can tell it from others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidate {
    /// `GPU-…`.
    pub uuid: Option<String>,
    /// Its PCI address.
    pub pci: Option<String>,
    /// Single-precision operations a second; the fastest card comes first.
    pub flops: f64,
    /// The UUIDs of its slices, where it is divided (MIG).
    pub slices: Option<Vec<String>>,
}

/// What the driver shows to the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The card at this position of the list that was given.
    Card(usize),
    /// A slice of it, by its position.
    Slice(usize, usize),
}

/// What the driver shows, and what in the variables names nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visible {
    /// In the driver's order.
    pub shown: Vec<Shown>,
    /// One line for each entry that isn't as its author will have meant it.
    pub notes: Vec<String>,
}

/// What of `cards` the driver shows under these variables. O(entries × cards).
pub fn visible(cards: &[Candidate], variables: &Variables) -> Visible {
    let mut notes = Vec::new();
    let all = enumerated(cards, variables.order.as_deref(), &mut notes);
    let shown = match &variables.visible {
        None => all,
        Some(value) => chosen(cards, &all, value).unwrap_or_else(|(before, why)| {
            notes.extend(why.map(|why| format!("CUDA_VISIBLE_DEVICES={value}: {why}")));
            before
        }),
    };
    Visible { shown: one_kind(shown), notes }
}

/// All that numbers can name: whole cards, then the first slice of each divided one.
fn enumerated(cards: &[Candidate], order: Option<&str>, notes: &mut Vec<String>) -> Vec<Shown> {
    let mut positions: Vec<usize> = (0..cards.len()).collect();
    positions.sort_by_key(|&at| (cards[at].pci.is_none(), &cards[at].pci));
    match order {
        Some("PCI_BUS_ID") => {}
        None | Some("FASTEST_FIRST") => positions.sort_by(|&a, &b| cards[b].flops.total_cmp(&cards[a].flops)),
        Some(other) => {
            notes.push(format!(
                "CUDA_DEVICE_ORDER={other}: there are FASTEST_FIRST, which is taken, and PCI_BUS_ID"
            ));
            positions.sort_by(|&a, &b| cards[b].flops.total_cmp(&cards[a].flops));
        }
    }
    let whole = positions.iter().filter(|&&at| cards[at].slices.is_none()).map(|&at| Shown::Card(at));
    let divided =
        positions.iter().filter(|&&at| cards[at].slices.as_ref().is_some_and(|slices| !slices.is_empty()));
    whole.chain(divided.map(|&at| Shown::Slice(at, 0))).collect()
}

/// The entries' cards; or those before the entry that ends the list, and why it does, where that is worth a line.
fn chosen(
    cards: &[Candidate],
    all: &[Shown],
    value: &str,
) -> Result<Vec<Shown>, (Vec<Shown>, Option<String>)> {
    let prefix = ["GPU-", "MIG-"].into_iter().find(|prefix| value.starts_with(prefix));
    let mut shown = Vec::new();
    for entry in value.split(',') {
        let found = match prefix {
            Some(prefix) => by_uuid(cards, prefix, entry),
            None => by_number(all, entry),
        };
        match found {
            Ok(card) if shown.contains(&card) => {
                let why = format!("'{entry}' names a card for the second time, so the driver shows none");
                return Err((Vec::new(), Some(why)));
            }
            Ok(card) => shown.push(card),
            Err(why) => {
                let ends = "the driver shows nothing of it and of what comes after";
                return Err((shown, why.map(|why| format!("'{entry}' {why}; {ends}"))));
            }
        }
    }
    Ok(shown)
}

fn by_number(all: &[Shown], entry: &str) -> Result<Shown, Option<String>> {
    let text = entry.trim_start();
    let (negative, digits) = match text.strip_prefix(['+', '-']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    let digits = &digits[..digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len())];
    if digits.is_empty() {
        // An empty list, or entry, is how people say "none".
        return Err((!text.is_empty()).then(|| "is neither a number nor a UUID".to_owned()));
    }
    let number = digits.parse::<usize>().unwrap_or(usize::MAX);
    if negative && number > 0 {
        return Err(None);
    }
    let count = all.len();
    all.get(number).copied().ok_or_else(|| Some(format!("names no card: there are {count}, counted from 0")))
}

fn by_uuid(cards: &[Candidate], prefix: &str, entry: &str) -> Result<Shown, Option<String>> {
    if !entry.starts_with(prefix) {
        return Err(Some(format!("doesn't start with {prefix} as the first entry does")));
    }
    let begins = |uuid: &String| uuid.starts_with(entry);
    let mut fitting = Vec::new();
    for (at, card) in cards.iter().enumerate() {
        let slices = card.slices.as_deref().unwrap_or_default();
        match prefix {
            "GPU-" if card.uuid.as_ref().is_some_and(begins) => fitting.push(match card.slices {
                Some(_) => Shown::Slice(at, 0),
                None => Shown::Card(at),
            }),
            "MIG-" => {
                let found = slices.iter().enumerate().filter(|(_, uuid)| begins(uuid));
                fitting.extend(found.map(|(slice, _)| Shown::Slice(at, slice)));
            }
            _ => {}
        }
    }
    let what = if prefix == "MIG-" { "slice" } else { "card" };
    match fitting[..] {
        [] => Err(Some(format!("names no {what}"))),
        [Shown::Slice(at, 0)] if cards[at].slices.as_ref().is_some_and(Vec::is_empty) => {
            Err(Some("names a card in MIG mode that has no slices".to_owned()))
        }
        [one] => Ok(one),
        _ => Err(Some(format!("fits {} {what}s", fitting.len()))),
    }
}

/// One slice, or whole cards.
fn one_kind(mut shown: Vec<Shown>) -> Vec<Shown> {
    match shown.first() {
        Some(Shown::Slice(..)) => shown.truncate(1),
        _ => shown.retain(|shown| matches!(shown, Shown::Card(_))),
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(pci: &str, uuid: &str, flops: f64) -> Candidate {
        Candidate { uuid: Some(uuid.to_owned()), pci: Some(pci.to_owned()), flops, slices: None }
    }

    fn divided(pci: &str, uuid: &str, slices: &[&str]) -> Candidate {
        let slices = slices.iter().map(|uuid| (*uuid).to_owned()).collect();
        Candidate { slices: Some(slices), ..card(pci, uuid, 9.0) }
    }

    fn see(cards: &[Candidate], value: Option<&str>, order: Option<&str>) -> (String, String) {
        let variables = Variables { visible: value.map(str::to_owned), order: order.map(str::to_owned) };
        let Visible { shown, notes } = visible(cards, &variables);
        let shown = shown.iter().map(|shown| match shown {
            Shown::Card(at) => at.to_string(),
            Shown::Slice(at, slice) => format!("{at}.{slice}"),
        });
        (shown.collect::<Vec<_>>().join(" "), notes.join("\n"))
    }

    #[test]
    fn case_d02_visible_devices_as_the_driver_reads_them() {
        // By address 0, 1, 2; by speed 1, 0, 2.
        let cards = [
            card("0000:01:00.0", "GPU-9942190a-aa31", 2.0),
            card("0000:02:00.0", "GPU-9e8d35e3-a134", 3.0),
            card("0000:03:00.0", "GPU-e429a63e-c61c", 1.0),
        ];
        let table: [(Option<&str>, &str, &str); 21] = [
            (None, "0 1 2", ""),
            (Some(""), "", ""),
            (Some("-1"), "", ""),
            (Some("2,0"), "2 0", ""),
            (Some(" 2, +1, -0"), "2 1 0", ""),
            (Some("1gpu2,2ampere"), "1 2", ""),
            (Some("0,2,-1,1"), "0 2", ""),
            (Some("0,,1"), "0", ""),
            (Some("1,7,0"), "1", "'7' names no card: there are 3, counted from 0"),
            (Some("99999999999999999999"), "", "names no card"),
            (Some("0,0"), "", "'0' names a card for the second time, so the driver shows none"),
            (Some("NoDevFiles"), "", "'NoDevFiles' is neither a number nor a UUID"),
            (Some("2,two,1"), "2", "'two' is neither"),
            (Some("GPU-9e8d35e3-a134"), "1", ""),
            (Some("GPU-e4,GPU-9e8"), "2 1", ""),
            (Some("GPU-e,GPU-9,GPU-99"), "2", "'GPU-9' fits 2 cards"),
            (Some("GPU-e,GPU-77,GPU-99"), "2", "'GPU-77' names no card"),
            (Some("GPU-e,GPU-99,GPU-e429"), "", "'GPU-e429' names a card for the second time"),
            (Some("GPU-e,0"), "2", "'0' doesn't start with GPU-"),
            (Some("0,GPU-e"), "0", "'GPU-e' is neither a number nor a UUID"),
            (Some("MIG-9942190a"), "", "'MIG-9942190a' names no slice"),
        ];
        for (value, shown, note) in table {
            let (got, notes) = see(&cards, value, Some("PCI_BUS_ID"));
            assert_eq!(got, shown, "{value:?}: {notes}");
            assert!(notes.contains(note) && notes.is_empty() == note.is_empty(), "{value:?}: {notes}");
        }
        assert_eq!(see(&cards, None, None).0, "1 0 2", "the fastest first");
        assert_eq!(see(&cards, Some("0"), Some("FASTEST_FIRST")).0, "1");
        let (shown, notes) = see(&cards, Some("0"), Some("PCI"));
        assert_eq!(shown, "1");
        assert_eq!(notes, "CUDA_DEVICE_ORDER=PCI: there are FASTEST_FIRST, which is taken, and PCI_BUS_ID");
    }

    #[test]
    fn case_d02_a_process_sees_one_slice_or_whole_cards() {
        let cards = [
            divided("0000:01:00.0", "GPU-aa", &["MIG-c6d4", "MIG-cba6"]),
            card("0000:02:00.0", "GPU-bb", 9.0),
            divided("0000:03:00.0", "GPU-cc", &["MIG-GPU-cc/1/0", "MIG-GPU-cc/2/0"]),
            divided("0000:04:00.0", "GPU-dd", &[]),
        ];
        let table: [(Option<&str>, &str, &str); 9] = [
            (None, "1", ""),
            (Some("1"), "0.0", ""),
            (Some("0,1"), "1", ""),
            (Some("GPU-aa"), "0.0", ""),
            (Some("GPU-dd"), "", "'GPU-dd' names a card in MIG mode that has no slices"),
            (Some("MIG-cba6"), "0.1", ""),
            (Some("MIG-cba6,MIG-c6d4"), "0.1", ""),
            (Some("MIG-GPU-cc/2/0"), "2.1", ""),
            (Some("MIG-c"), "", "'MIG-c' fits 2 slices"),
        ];
        for (value, shown, note) in table {
            let (got, notes) = see(&cards, value, None);
            assert_eq!(got, shown, "{value:?}: {notes}");
            assert!(notes.contains(note) && notes.is_empty() == note.is_empty(), "{value:?}: {notes}");
        }
        assert_eq!(see(&cards[..1], None, None).0, "0.0", "the first slice where there is nothing else");
    }
}
