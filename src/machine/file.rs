//! The written form of a machine, in which most fields may be left out.

use std::fmt;

use serde::de::{Deserializer, Error as _, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use super::{
    Backend, ComputeCapability, DeviceInfo, DeviceKind, Host, Limits, Link, Machine, MachineError,
    MemoryInfo, MemoryKind, Rates, RatesFrom, Way, defaults, normalise_pci,
};
use crate::dtype::DType;
use crate::units::Bytes;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MachineFile {
    name: String,
    host: Host,
    devices: Vec<DeviceFile>,
    memories: Vec<MemoryFile>,
    #[serde(default)]
    links: Vec<Link>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeviceFile {
    name: String,
    kind: DeviceKind,
    #[serde(default)]
    model: String,
    pci: Option<String>,
    uuid: Option<String>,
    slice_of: Option<String>,
    compute_capability: Option<ComputeCapability>,
    numa_node: Option<u32>,
    memory: Option<String>,
    backend: Option<Backend>,
    #[serde(default)]
    ways: Vec<Way>,
    dtypes: Option<Vec<String>>,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    rates: RatesFile,
    rates_from: Option<RatesFrom>,
    unusable: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct RatesFile {
    flops_f32: Option<f64>,
    flops_f64: Option<f64>,
    memory_bytes_per_s: Option<f64>,
    launch_s: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MemoryFile {
    name: String,
    kind: Option<MemoryKind>,
    #[serde(default)]
    bytes: Option<Size>,
    #[serde(default)]
    free: Option<Size>,
}

impl MachineFile {
    /// Fills in what was left out, and checks the whole.
    pub(super) fn resolve(self) -> Result<Machine, MachineError> {
        let memory_kind = |name: &str| {
            let owner = self.devices.iter().find(|device| device.memory_name() == name);
            owner.map_or(MemoryKind::Unknown, |device| defaults::memory_kind(device.kind))
        };
        let memories = self
            .memories
            .iter()
            .map(|memory| MemoryInfo {
                kind: memory.kind.unwrap_or_else(|| memory_kind(&memory.name)),
                name: memory.name.clone(),
                bytes: memory.bytes.map(|size| size.0),
                free: memory.free.map(|size| size.0),
            })
            .collect();
        let host = &self.host;
        let devices = self
            .devices
            .into_iter()
            .enumerate()
            .map(|(at, device)| device.resolve(at, host))
            .collect::<Result<_, _>>()?;
        let machine = Machine { name: self.name, host: self.host, devices, memories, links: self.links };
        machine.validate()?;
        Ok(machine)
    }
}

impl DeviceFile {
    fn memory_name(&self) -> &str {
        self.memory.as_deref().unwrap_or(&self.name)
    }

    fn resolve(self, at: usize, host: &Host) -> Result<DeviceInfo, MachineError> {
        let backend = self.backend.unwrap_or_else(|| defaults::backend(self.kind));
        let dtypes = match self.dtypes {
            None => defaults::dtypes(backend),
            Some(names) => {
                names.iter().map(|name| name.parse()).collect::<Result<_, _>>().map_err(|source| {
                    MachineError::DType { field: format!("devices[{at}].dtypes"), source }
                })?
            }
        };
        let pci = match self.pci {
            None => None,
            Some(text) => Some(normalise_pci(&text).ok_or_else(|| MachineError::Pci {
                field: format!("devices[{at}].pci"),
                value: text.clone(),
            })?),
        };
        let usual = defaults::rates(self.kind, host.cores);
        Ok(DeviceInfo {
            memory: self.memory.unwrap_or_else(|| self.name.clone()),
            name: self.name,
            kind: self.kind,
            model: match self.kind {
                DeviceKind::Host if self.model.is_empty() => host.model.clone(),
                _ => self.model,
            },
            pci,
            uuid: self.uuid,
            slice_of: self.slice_of,
            compute_capability: self.compute_capability,
            numa_node: self.numa_node,
            backend,
            ways: self.ways,
            dtypes,
            limits: self.limits,
            rates_from: self.rates_from.unwrap_or(match self.rates.is_empty() {
                true => RatesFrom::Assumed,
                false => RatesFrom::Datasheet,
            }),
            rates: self.rates.or(usual),
            unusable: self.unusable,
        })
    }
}

impl RatesFile {
    fn is_empty(&self) -> bool {
        let RatesFile { flops_f32, flops_f64, memory_bytes_per_s, launch_s } = self;
        [flops_f32, flops_f64, memory_bytes_per_s, launch_s].into_iter().all(Option::is_none)
    }

    fn or(self, usual: Rates) -> Rates {
        Rates {
            flops_f32: self.flops_f32.unwrap_or(usual.flops_f32),
            flops_f64: self.flops_f64.unwrap_or(usual.flops_f64),
            memory_bytes_per_s: self.memory_bytes_per_s.unwrap_or(usual.memory_bytes_per_s),
            launch_s: self.launch_s.unwrap_or(usual.launch_s),
        }
    }
}

impl TryFrom<MachineFile> for Machine {
    type Error = MachineError;

    fn try_from(file: MachineFile) -> Result<Machine, MachineError> {
        file.resolve()
    }
}

pub(super) fn dtype_names<S: Serializer>(dtypes: &[DType], serializer: S) -> Result<S::Ok, S::Error> {
    dtypes.iter().map(|dtype| dtype.name()).collect::<Vec<_>>().serialize(serializer)
}

/// Bytes, written as a number or as people do: `"24 GiB"`.
#[derive(Clone, Copy)]
struct Size(Bytes);

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SizeVisitor;
        impl Visitor<'_> for SizeVisitor {
            type Value = Size;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of bytes, or a size such as \"24 GiB\"")
            }

            fn visit_u64<E: serde::de::Error>(self, bytes: u64) -> Result<Size, E> {
                Ok(Size(Bytes(bytes)))
            }

            fn visit_i64<E: serde::de::Error>(self, bytes: i64) -> Result<Size, E> {
                let bytes =
                    u64::try_from(bytes).map_err(|_| E::custom(format!("{bytes} bytes is below 0")))?;
                Ok(Size(Bytes(bytes)))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Size, E> {
                text.parse().map(Size).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(SizeVisitor).map_err(D::Error::custom)
    }
}
