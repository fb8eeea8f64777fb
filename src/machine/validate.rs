//! What makes a description of a machine a valid one.

use std::collections::HashSet;

use super::{DeviceInfo, DeviceKind, Machine, MemoryKind};
use crate::dtype::UnknownDType;

/// A description of a machine can't be used. Fields are named by their path in the file.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// The text is no TOML, or a field is missing, unknown or of the wrong type.
    #[error("the machine file can't be read: {0}")]
    Toml(#[from] Box<toml::de::Error>),
    /// The text is no JSON, or a field is missing, unknown or of the wrong type.
    #[error("the machine description can't be read: {0}")]
    Json(#[from] serde_json::Error),
    /// Device 0 or memory 0 isn't the host's, or another one is.
    #[error("{field} is \"{value}\": {rule}")]
    Host {
        /// The field at fault.
        field: String,
        /// What it holds.
        value: String,
        /// What it must hold.
        rule: &'static str,
    },
    /// Nothing is listed, or more than ids can count.
    #[error("{field} lists {count}: it must list 1 to {}, the host's first", Machine::DEVICES_MAX)]
    Count {
        /// The field at fault.
        field: &'static str,
        /// How many it lists.
        count: usize,
    },
    /// A name is empty or used twice.
    #[error("{field} is \"{name}\": names must be unique and not empty")]
    Name {
        /// The field at fault.
        field: String,
        /// The name.
        name: String,
    },
    /// A field names a memory that isn't listed.
    #[error("{field} is \"{name}\", which names no memory: known are {}", known.join(", "))]
    UnknownMemory {
        /// The field at fault.
        field: String,
        /// The name it holds.
        name: String,
        /// The memories that are listed.
        known: Vec<String>,
    },
    /// A field names a device that isn't listed, or itself.
    #[error("{field} is \"{name}\", which is no other device: known are {}", known.join(", "))]
    UnknownDevice {
        /// The field at fault.
        field: String,
        /// The name it holds.
        name: String,
        /// The devices that are listed.
        known: Vec<String>,
    },
    /// A rate, size or count that no machine can have.
    #[error("{field} is {value}: it must be {rule}")]
    Figure {
        /// The field at fault.
        field: String,
        /// What it holds.
        value: f64,
        /// What it must be.
        rule: &'static str,
    },
    /// A link from a memory to itself.
    #[error("{field} goes from \"{name}\" to itself")]
    SelfLink {
        /// The field at fault.
        field: String,
        /// The memory.
        name: String,
    },
    /// Not a PCI address.
    #[error("{field} is \"{value}\": it must be a PCI address such as 0000:01:00.0")]
    Pci {
        /// The field at fault.
        field: String,
        /// What it holds.
        value: String,
    },
    /// Not an element type.
    #[error("{field}: {source}")]
    DType {
        /// The field at fault.
        field: String,
        /// The name it holds.
        source: UnknownDType,
    },
}

impl Machine {
    /// Checks what every other stage relies on: the host is device 0 on memory 0 and nothing else is a host,
    /// names are unique, devices and links name listed memories, figures are positive and finite.
    pub fn validate(&self) -> Result<(), MachineError> {
        self.check_counts()?;
        self.check_host()?;
        unique("devices", self.devices.iter().map(|device| &device.name))?;
        unique("memories", self.memories.iter().map(|memory| &memory.name))?;
        for (at, device) in self.devices.iter().enumerate() {
            self.known(|| format!("devices[{at}].memory"), &device.memory)?;
            self.check_slice(at, device)?;
            let rates = &device.rates;
            let figures = [
                ("flops_f32", rates.flops_f32),
                ("flops_f64", rates.flops_f64),
                ("memory_bytes_per_s", rates.memory_bytes_per_s),
                ("launch_s", rates.launch_s),
            ];
            for (name, value) in figures {
                positive(|| format!("devices[{at}].rates.{name}"), value)?;
            }
        }
        for (at, memory) in self.memories.iter().enumerate() {
            if memory.bytes.is_some_and(|bytes| bytes.0 == 0) {
                let rule = "left out where the size is unknown";
                return Err(MachineError::Figure {
                    field: format!("memories[{at}].bytes"),
                    value: 0.0,
                    rule,
                });
            }
        }
        self.check_links()
    }

    fn check_counts(&self) -> Result<(), MachineError> {
        for (field, count) in [("devices", self.devices.len()), ("memories", self.memories.len())] {
            if count == 0 || count > Machine::DEVICES_MAX {
                return Err(MachineError::Count { field, count });
            }
        }
        if self.host.cores == 0 {
            let (field, rule) = ("host.cores".to_owned(), "at least 1");
            return Err(MachineError::Figure { field, value: 0.0, rule });
        }
        Ok(())
    }

    fn check_host(&self) -> Result<(), MachineError> {
        let wrong = |field: String, value: &str, rule: &'static str| {
            Err(MachineError::Host { field, value: value.to_owned(), rule })
        };
        let (device, memory) = (&self.devices[0], &self.memories[0]);
        if device.name != "host" {
            return wrong("devices[0].name".to_owned(), &device.name, "the first device must be \"host\"");
        }
        if memory.name != "host" {
            return wrong("memories[0].name".to_owned(), &memory.name, "the first memory must be \"host\"");
        }
        if device.memory != "host" {
            return wrong(
                "devices[0].memory".to_owned(),
                &device.memory,
                "the host's memory must be \"host\"",
            );
        }
        for (at, device) in self.devices.iter().enumerate() {
            if (at == 0) != (device.kind == DeviceKind::Host) {
                let rule = "the first device, and only it, must be of kind \"host\"";
                return wrong(format!("devices[{at}].kind"), kind_name(device.kind), rule);
            }
        }
        for (at, memory) in self.memories.iter().enumerate() {
            if (at == 0) != (memory.kind == MemoryKind::Host) {
                let rule = "the first memory, and only it, must be of kind \"host\"";
                return wrong(format!("memories[{at}].kind"), memory_kind_name(memory.kind), rule);
            }
        }
        Ok(())
    }

    fn check_slice(&self, at: usize, device: &DeviceInfo) -> Result<(), MachineError> {
        let Some(card) = &device.slice_of else { return Ok(()) };
        if *card != device.name && self.device_by_name(card).is_some() {
            return Ok(());
        }
        Err(MachineError::UnknownDevice {
            field: format!("devices[{at}].slice_of"),
            name: card.clone(),
            known: self.devices.iter().map(|device| device.name.clone()).collect(),
        })
    }

    fn check_links(&self) -> Result<(), MachineError> {
        for (at, link) in self.links.iter().enumerate() {
            self.known(|| format!("links[{at}].from"), &link.from)?;
            self.known(|| format!("links[{at}].to"), &link.to)?;
            if link.from == link.to {
                return Err(MachineError::SelfLink {
                    field: format!("links[{at}]"),
                    name: link.from.clone(),
                });
            }
            positive(|| format!("links[{at}].bytes_per_s"), link.bytes_per_s)?;
            if !(link.latency_s.is_finite() && link.latency_s >= 0.0) {
                let (field, rule) = (format!("links[{at}].latency_s"), "finite and at least 0");
                return Err(MachineError::Figure { field, value: link.latency_s, rule });
            }
        }
        let pairs = self.links.iter().map(|link| format!("{} -> {}", link.from, link.to)).collect::<Vec<_>>();
        unique("links", pairs.iter())
    }

    fn known(&self, field: impl Fn() -> String, name: &str) -> Result<(), MachineError> {
        if self.memory_by_name(name).is_some() {
            return Ok(());
        }
        let known = self.memories.iter().map(|memory| memory.name.clone()).collect();
        Err(MachineError::UnknownMemory { field: field(), name: name.to_owned(), known })
    }
}

pub(super) fn kind_name(kind: DeviceKind) -> &'static str {
    match kind {
        DeviceKind::Host => "host",
        DeviceKind::Gpu => "gpu",
        DeviceKind::IntegratedGpu => "integrated-gpu",
        DeviceKind::SoftwareGpu => "software-gpu",
    }
}

pub(super) fn memory_kind_name(kind: MemoryKind) -> &'static str {
    match kind {
        MemoryKind::Host => "host",
        MemoryKind::Dedicated => "dedicated",
        MemoryKind::Unified => "unified",
        MemoryKind::Unknown => "unknown",
    }
}

fn unique<'a>(field: &str, names: impl Iterator<Item = &'a String>) -> Result<(), MachineError> {
    let mut seen = HashSet::new();
    for (at, name) in names.enumerate() {
        if name.is_empty() || !seen.insert(name) {
            let field = if field == "links" { format!("links[{at}]") } else { format!("{field}[{at}].name") };
            return Err(MachineError::Name { field, name: name.clone() });
        }
    }
    Ok(())
}

fn positive(field: impl Fn() -> String, value: f64) -> Result<(), MachineError> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(MachineError::Figure { field: field(), value, rule: "positive and finite" })
}
