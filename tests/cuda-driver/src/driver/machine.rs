//! Which devices there are, in which order, and which of them the process sees.

use super::variables::variable;

/// A device as `OUTCROP_CUDA_DEVICES` describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    pub name: String,
    /// Bytes of memory.
    pub memory: usize,
    /// Compute capability, major and minor.
    pub capability: (i32, i32),
    pub multiprocessors: i32,
    /// Its number on the PCI bus, from 1; the UUID is made of it.
    pub bus: u8,
}

impl Spec {
    /// The sixteen bytes of its UUID.
    pub fn uuid(&self) -> [u8; 16] {
        let mut uuid = *b"outcrop-emulated";
        uuid[15] = self.bus;
        uuid
    }

    /// The UUID as `nvidia-smi -L` writes it.
    pub fn uuid_text(&self) -> String {
        let hex: String = self.uuid().iter().map(|byte| format!("{byte:02x}")).collect();
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        format!("GPU-{}", parts.join("-"))
    }
}

/// The devices that the process sees, in the driver's order.
///
/// # Errors
/// What in the description isn't understood.
pub fn visible() -> Result<Vec<Spec>, String> {
    let mut devices = described(&variable("OUTCROP_CUDA_DEVICES").unwrap_or_default())?;
    if variable("CUDA_DEVICE_ORDER").as_deref() != Some("PCI_BUS_ID") {
        // The fastest first; the driver's own measure isn't known, so capability and size.
        devices.sort_by_key(|spec| std::cmp::Reverse((spec.capability, spec.multiprocessors)));
    }
    Ok(match variable("CUDA_VISIBLE_DEVICES") {
        Some(list) => chosen(&devices, &list),
        None => devices,
    })
}

/// `name=A,memory=2GiB,capability=8.6,multiprocessors=20;…`, or a count of devices that differ in nothing.
fn described(text: &str) -> Result<Vec<Spec>, String> {
    let text = text.trim();
    let plain = |bus: usize| Spec {
        name: "Emulated GPU".to_owned(),
        memory: 1 << 30,
        capability: (8, 0),
        multiprocessors: 16,
        bus: bus as u8 + 1,
    };
    if text.is_empty() {
        return Ok(vec![plain(0)]);
    }
    if let Ok(count) = text.parse::<u8>() {
        return Ok((0..usize::from(count)).map(plain).collect());
    }
    let mut specs = Vec::new();
    for entry in text.split(';') {
        let mut spec = plain(specs.len());
        for field in entry.split(',').map(str::trim).filter(|field| !field.is_empty()) {
            let wrong = || format!("OUTCROP_CUDA_DEVICES: '{field}' isn't understood");
            let (key, value) = field.split_once('=').ok_or_else(wrong)?;
            match key.trim() {
                "name" => spec.name = value.trim().to_owned(),
                "memory" => spec.memory = bytes(value.trim()).ok_or_else(wrong)?,
                "capability" => {
                    let (major, minor) = value.trim().split_once('.').ok_or_else(wrong)?;
                    let numbers = (major.parse(), minor.parse());
                    let (Ok(major), Ok(minor)) = numbers else { return Err(wrong()) };
                    spec.capability = (major, minor);
                }
                "multiprocessors" => spec.multiprocessors = value.trim().parse().map_err(|_| wrong())?,
                _ => return Err(wrong()),
            }
        }
        specs.push(spec);
    }
    Ok(specs)
}

fn bytes(text: &str) -> Option<usize> {
    let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let shift = match &text[at..] {
        "" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        _ => return None,
    };
    text[..at].parse::<usize>().ok()?.checked_shl(shift)
}

/// As the driver treats `CUDA_VISIBLE_DEVICES`: numbers or beginnings of UUIDs, up to the first that names none.
fn chosen(devices: &[Spec], list: &str) -> Vec<Spec> {
    let mut seen: Vec<Spec> = Vec::new();
    for entry in list.split(',').map(str::trim) {
        let by_uuid = || {
            let mut fitting = devices.iter().filter(|spec| spec.uuid_text().starts_with(entry));
            fitting.next().filter(|_| fitting.next().is_none())
        };
        let found = match entry.parse::<usize>() {
            Ok(index) => devices.get(index),
            Err(_) if entry.starts_with("GPU-") => by_uuid(),
            Err(_) => None,
        };
        match found {
            Some(spec) if !seen.contains(spec) => seen.push(spec.clone()),
            // A device named twice makes the whole list void.
            Some(_) => return Vec::new(),
            None => break,
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions() {
        assert_eq!(described("").expect("one").len(), 1);
        assert_eq!(described("3").expect("three")[2].bus, 3);
        let two = described("name=A, memory=2MiB; capability=9.0,multiprocessors=4").expect("two");
        assert_eq!((two[0].name.as_str(), two[0].memory), ("A", 2 << 20));
        assert_eq!((two[1].capability, two[1].multiprocessors), ((9, 0), 4));
        for wrong in ["memory", "memory=1kB", "capability=9", "color=red"] {
            assert!(described(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn visible_devices_as_the_driver_reads_them() {
        let devices = described("3").expect("three");
        let buses = |list: &str| chosen(&devices, list).iter().map(|spec| spec.bus).collect::<Vec<_>>();
        let uuid = devices[1].uuid_text();
        assert_eq!(uuid, "GPU-6f757463-726f-702d-656d-756c61746502");
        assert_eq!(buses("2,0"), [3, 1]);
        assert_eq!(buses("1,9,0"), [2]);
        assert_eq!(buses("-1"), [0u8; 0]);
        assert_eq!(buses(""), [0u8; 0]);
        assert_eq!(buses(&format!("{uuid},0")), [2, 1]);
        assert_eq!(buses("GPU-6f"), [0u8; 0]);
        assert_eq!(buses("0,0"), [0u8; 0]);
    }
}
