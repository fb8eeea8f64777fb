//! The text form of a machine: what `outcrop devices` prints.

use std::fmt;

use super::validate::{kind_name, memory_kind_name};
use super::{Backend, DeviceInfo, DeviceKind, Machine, MemoryId, MemoryInfo, MemoryKind};
use crate::units::format_seconds;

impl fmt::Display for Machine {
    /// Three stable tables: devices, memories, and every path between the host and another memory as well as
    /// the listed ones.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let model = if self.host.model.is_empty() { "host" } else { &self.host.model };
        let nodes = match self.host.numa.len() {
            0 | 1 => String::new(),
            nodes => format!(" on {nodes} NUMA nodes"),
        };
        writeln!(f, "{}: {model}, {} cores{nodes}", self.name, self.host.cores)?;
        let mut devices = vec![
            ["DEVICE", "KIND", "MODEL", "BACKEND", "MEMORY", "F32", "TYPES", "PCI", "STATE"]
                .map(str::to_owned),
        ];
        devices.extend(self.devices.iter().map(device_row));
        table(f, &devices)?;
        let mut memories = vec![["MEMORY", "KIND", "SIZE", "FREE"].map(str::to_owned)];
        memories.extend(self.memories.iter().map(memory_row));
        table(f, &memories)?;
        let links = self.link_rows();
        if links.len() > 1 { table(f, &links) } else { Ok(()) }
    }
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(kind_name(*self))
    }
}

impl fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(memory_kind_name(*self))
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Backend::Host => "host",
            Backend::Cuda => "cuda",
            Backend::Wgpu => "wgpu",
            Backend::Sim => "sim",
        })
    }
}

fn device_row(device: &DeviceInfo) -> [String; 9] {
    let dtypes = device.dtypes.iter().map(|dtype| dtype.name()).collect::<Vec<_>>().join(",");
    let state = match (&device.unusable, device.kind) {
        (Some(why), _) => format!("unusable: {why}"),
        (None, DeviceKind::SoftwareGpu) => "only when allowed".to_owned(),
        (None, _) => "ready".to_owned(),
    };
    [
        device.name.clone(),
        device.kind.to_string(),
        or_dash(&device.model),
        device.backend.to_string(),
        device.memory.clone(),
        scaled(device.rates.flops_f32, "FLOP/s"),
        dtypes,
        or_dash(device.pci.as_deref().unwrap_or_default()),
        state,
    ]
}

fn memory_row(memory: &MemoryInfo) -> [String; 4] {
    let size =
        |bytes: Option<crate::units::Bytes>| bytes.map_or("unknown".to_owned(), |bytes| bytes.to_string());
    [memory.name.clone(), memory.kind.to_string(), size(memory.bytes), size(memory.free)]
}

impl Machine {
    fn link_rows(&self) -> Vec<[String; 4]> {
        let mut rows = vec![["FROM", "TO", "BANDWIDTH", "LATENCY"].map(str::to_owned)];
        let ids = || (0..self.memories.len()).map(|at| MemoryId(at as u16));
        for (from, to) in ids().flat_map(|from| ids().map(move |to| (from, to))) {
            let rate = self.link(from, to);
            if from == to || rate.via_host {
                continue;
            }
            rows.push([
                self.memory(from).name.clone(),
                self.memory(to).name.clone(),
                scaled(rate.bytes_per_s, "B/s"),
                format_seconds(rate.latency_s),
            ]);
        }
        rows
    }
}

fn or_dash(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { text.to_owned() }
}

/// A rate with a decimal prefix, as datasheets use: `82.6 TFLOP/s`.
pub fn scaled(value: f64, unit: &str) -> String {
    const PREFIXES: [(f64, &str); 5] = [(1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    let (factor, prefix) =
        PREFIXES.into_iter().find(|(factor, _)| value >= factor * 0.9995).unwrap_or((1.0, ""));
    format!("{:.1} {prefix}{unit}", value / factor)
}

fn table<const N: usize>(f: &mut fmt::Formatter<'_>, rows: &[[String; N]]) -> fmt::Result {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    for row in rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect::<Vec<_>>();
        writeln!(f, "  {}", cells.join("  ").trim_end())?;
    }
    Ok(())
}
