//! The canonical text of annotations, the token made of it, and their JSON.

use std::fmt::{self, Write as _};
use std::time::Duration;

use serde_json::{Map, Value as Json};

use super::{Annotations, DeviceWish, GpuField, GpuShare};
use crate::units::Bytes;

impl fmt::Display for Annotations {
    /// `key=value` pairs in the order of their keys, a space between: equal annotations print alike, and
    /// different ones never do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.pairs().join(" "))
    }
}

impl fmt::Debug for Annotations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Annotations({self})")
    }
}

impl Annotations {
    /// Sixteen hexadecimal digits that differ where the annotations do: a 64-bit FNV-1a hash of the canonical
    /// text, the same on every platform. `None` when there are no annotations.
    pub fn token(&self) -> Option<String> {
        (!self.is_empty()).then(|| format!("{:016x}", fnv1a(self.to_string().as_bytes())))
    }

    /// An object for reports, keys sorted: `memory` in bytes, `timeout` as text, a function as `"by-row(key)"`.
    /// [`Annotations::from_pairs`] reads it back, save that it isn't [`fresh`](Annotations::fresh) and has
    /// no functions.
    pub fn to_json(&self) -> Json {
        let fields = self.fields();
        let mut pairs: Vec<(&str, Json)> =
            fields.custom.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
        let mut add = |key, value: Option<Json>| pairs.extend(value.map(|value| (key, value)));
        add("priority", fields.priority.map(Json::from));
        add("retries", fields.retries.map(Json::from));
        add("device", fields.device.map(|device| device.name().into()));
        add("gpu", self.gpu().map(gpu_json));
        add("memory", fields.memory.map(|memory| memory.0.into()));
        add("resources", (!fields.resources.is_empty()).then(|| resources_json(self)));
        add("workers", fields.workers.clone().map(Json::from));
        add("allow_other_workers", fields.allow_other_workers.map(Json::from));
        add("timeout", fields.timeout.map(|timeout| duration_text(timeout).into()));
        add("checkpoint", fields.checkpoint.map(Json::from));
        for (key, function) in &fields.functions {
            let over = plain_resources(self, key).map_or_else(String::new, |names| format!(" with {names}"));
            pairs.retain(|(other, _)| other != key);
            pairs.push((key, format!("{function}{over}").into()));
        }
        pairs.sort_by(|left, right| left.0.cmp(right.0));
        Json::Object(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    fn pairs(&self) -> Vec<String> {
        let fields = self.fields();
        let mut pairs: Vec<(&str, String)> =
            fields.custom.iter().map(|(key, value)| (key.as_str(), canonical(value))).collect();
        let mut add = |key, value: Option<String>| pairs.extend(value.map(|value| (key, value)));
        add("priority", fields.priority.map(|priority| priority.to_string()));
        add("retries", fields.retries.map(|retries| retries.to_string()));
        add("device", fields.device.map(|device| device.name().to_owned()));
        let shown = match fields.gpu {
            GpuField::Share(share) => Some(share.amount().to_string()),
            GpuField::Cleared if fields.device != Some(DeviceWish::Cpu) => Some("none".to_owned()),
            GpuField::Cleared | GpuField::Absent => None,
        };
        add("gpu", shown);
        add("memory", fields.memory.map(|memory| format!("\"{}\"", bytes_text(memory))));
        add("resources", (!fields.resources.is_empty()).then(|| canonical(&resources_json(self))));
        add("workers", fields.workers.clone().map(|workers| canonical(&workers.into())));
        add("allow_other_workers", fields.allow_other_workers.map(|allow| allow.to_string()));
        add("timeout", fields.timeout.map(|timeout| format!("\"{}\"", duration_text(timeout))));
        add("checkpoint", fields.checkpoint.map(|checkpoint| checkpoint.to_string()));
        for (key, function) in &fields.functions {
            let over = plain_resources(self, key).map_or_else(String::new, |names| format!("+{names}"));
            pairs.retain(|(other, _)| other != key);
            pairs.push((key, format!("{}(key){over}", key_text(function.name()))));
        }
        pairs.sort();
        let fresh = fields.fresh.then(|| "fresh".to_owned());
        fresh
            .into_iter()
            .chain(pairs.into_iter().map(|(key, value)| format!("{}={value}", key_text(key))))
            .collect()
    }
}

fn gpu_json(share: GpuShare) -> Json {
    match share {
        GpuShare::Fraction(share) => share.into(),
        GpuShare::Whole(count) => count.into(),
    }
}

fn resources_json(annotations: &Annotations) -> Json {
    let amounts = annotations.resources().iter().map(|(name, amount)| (name.clone(), Json::from(*amount)));
    Json::Object(amounts.collect::<Map<_, _>>())
}

/// The names that go over those of a function that gives `resources`.
fn plain_resources(annotations: &Annotations, key: &str) -> Option<String> {
    let has_both = key == "resources" && !annotations.resources().is_empty();
    has_both.then(|| canonical(&resources_json(annotations)))
}

/// JSON with sorted keys and no spaces but after `:` and `,`: serde_json keeps the order of insertion.
fn canonical(value: &Json) -> String {
    match value {
        Json::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(", ")),
        Json::Object(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_by(|left, right| left.0.cmp(right.0));
            let mut text = String::from("{");
            for (at, (key, value)) in entries.into_iter().enumerate() {
                let comma = if at > 0 { ", " } else { "" };
                let _ = write!(text, "{comma}{}: {}", Json::from(key.as_str()), canonical(value));
            }
            text + "}"
        }
        scalar => scalar.to_string(),
    }
}

fn key_text(key: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.:".contains(c);
    if key.chars().all(plain) { key.to_owned() } else { Json::from(key).to_string() }
}

/// The usual form where it tells the whole truth, else the exact count: 2 GiB + 1 isn't 2 GiB.
fn bytes_text(bytes: Bytes) -> String {
    let text = bytes.to_string();
    if text.parse() == Ok(bytes) { text } else { format!("{} B", bytes.0) }
}

fn duration_text(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    let (unit, size) = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)]
        .into_iter()
        .find(|(_, size)| nanos.is_multiple_of(*size))
        .unwrap_or(("ns", 1));
    format!("{} {unit}", nanos / size)
}

/// Fowler, Noll, Vo: <http://www.isthe.com/chongo/tech/comp/fnv/>, the 64-bit FNV-1a.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fnv_has_its_published_values() {
        assert_eq!(fnv1a(b""), 0xcbf29ce484222325);
        assert_eq!(fnv1a(b"a"), 0xaf63dc4c8601ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x85944171f73967e8);
    }

    #[test]
    fn sizes_and_durations_print_without_loss() {
        assert_eq!(bytes_text(Bytes(2 << 30)), "2.0 GiB");
        assert_eq!(bytes_text(Bytes((2 << 30) + 1)), "2147483649 B");
        assert_eq!(duration_text(Duration::from_millis(1500)), "1500 ms");
        assert_eq!(duration_text(Duration::from_secs(90)), "90 s");
    }
}
