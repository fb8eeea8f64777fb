//! The inventory as a person wants to read it: each device with what it is, what it has, and why it isn't used.

use std::fmt;

use super::Inventory;
use crate::machine::{
    Backend, DeviceId, DeviceInfo, DeviceKind, Machine, MemoryId, MemoryInfo, MemoryKind, RatesFrom, scaled,
};
use crate::units::{Bytes, format_seconds};

impl fmt::Display for Inventory {
    /// Stable: the order is the machine's, and nothing is shown that isn't in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (id, device) in self.machine.devices() {
            write_device(f, &self.machine, id, device)?;
        }
        if self.machine.devices.len() == 1 {
            writeln!(f, "no GPU is there")?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "note: {note}"))
    }
}

fn write_device(
    f: &mut fmt::Formatter<'_>,
    machine: &Machine,
    id: DeviceId,
    device: &DeviceInfo,
) -> fmt::Result {
    let model = if device.model.is_empty() { "unknown model" } else { &device.model };
    writeln!(f, "{}: {model}", device.name)?;
    let mut line = |head: &str, text: String| match text.is_empty() {
        true => Ok(()),
        false => writeln!(f, "  {head:8} {text}"),
    };
    line("state", state(device))?;
    line("memory", memory(machine.memory(machine.memory_of(id))))?;
    line("speed", speed(device))?;
    line("cores", cores(machine, id))?;
    line("link", link(machine, id))?;
    line("reaches", peers(machine, id))?;
    let dtypes: Vec<_> = device.dtypes.iter().map(|dtype| dtype.name()).collect();
    line("types", if device.unusable.is_none() { dtypes.join(", ") } else { String::new() })?;
    let ways = device.ways.iter().map(|way| match way.driver.as_str() {
        "" => way.api.clone(),
        driver => format!("{} ({driver})", way.api),
    });
    line("seen by", ways.collect::<Vec<_>>().join(", "))?;
    line("id", identity(device))
}

fn state(device: &DeviceInfo) -> String {
    let by = match device.backend {
        Backend::Host => return "ready".to_owned(),
        Backend::Wgpu => {
            let apis = ["vulkan", "metal", "dx12"];
            let way = device.ways.iter().find(|way| apis.contains(&way.api.as_str()));
            way.map_or("wgpu", |way| way.api.as_str())
        }
        Backend::Cuda => "cuda",
        Backend::Sim => "simulation",
    };
    match (&device.unusable, device.kind) {
        (Some(why), _) => format!("not usable: {why}"),
        (None, DeviceKind::SoftwareGpu) => {
            format!("no GPU but the processor, used only with --allow-software-gpu, through {by}")
        }
        (None, _) => format!("ready, through {by}"),
    }
}

fn memory(memory: &MemoryInfo) -> String {
    let size = memory.bytes.map_or("of unknown size".to_owned(), |bytes: Bytes| bytes.to_string());
    let free = memory.free.map(|bytes| format!("{bytes} free")).unwrap_or_default();
    let whose = match memory.kind {
        MemoryKind::Unified => "a share of the host's",
        MemoryKind::Host | MemoryKind::Dedicated | MemoryKind::Unknown => "",
    };
    joined(&[&size, &free, whose])
}

fn speed(device: &DeviceInfo) -> String {
    let rates = &device.rates;
    let from = match device.rates_from {
        RatesFrom::Assumed => "assumed",
        RatesFrom::Datasheet => "by datasheet",
        RatesFrom::Measured => "measured",
    };
    let (f32, f64) = (scaled(rates.flops_f32, "FLOP/s f32"), scaled(rates.flops_f64, "FLOP/s f64"));
    let memory = format!("memory {}", scaled(rates.memory_bytes_per_s, "B/s"));
    joined(&[&f32, &f64, &memory, &format!("launch {}", format_seconds(rates.launch_s)), from])
}

fn cores(machine: &Machine, id: DeviceId) -> String {
    if id != DeviceId::HOST {
        return String::new();
    }
    let nodes = machine.host.numa.iter().map(|node| format!("{} of node {}", node.cores, node.node));
    let nodes = nodes.collect::<Vec<_>>().join(", ");
    let cores = machine.host.cores.to_string();
    // One node holds them all.
    if machine.host.numa.len() > 1 { format!("{cores}: {nodes}") } else { cores }
}

fn link(machine: &Machine, id: DeviceId) -> String {
    let memory = machine.memory_of(id);
    if memory == MemoryId::HOST {
        return String::new();
    }
    let name = &machine.memory(memory).name;
    let listed = machine.links.iter().find(|link| link.from == "host" && link.to == *name);
    let [to, back] = [machine.link(MemoryId::HOST, memory), machine.link(memory, MemoryId::HOST)]
        .map(|rate| scaled(rate.bytes_per_s, "B/s"));
    let rate = if to == back { to } else { format!("{to} to it, {back} from it") };
    let from = if listed.is_none() { "assumed" } else { "" };
    joined(&[listed.map_or("", |link| link.via.as_str()), &rate, from])
}

/// The devices whose memory is reached without the host, by the kind of path.
fn peers(machine: &Machine, id: DeviceId) -> String {
    let memory = machine.memory_of(id);
    let mut paths: Vec<(String, Vec<&str>)> = Vec::new();
    for (other, device) in machine.devices().skip(1) {
        let to = machine.memory_of(other);
        let rate = machine.link(memory, to);
        if id == DeviceId::HOST || to == memory || rate.via_host {
            continue;
        }
        let names = [&machine.memory(memory).name, &machine.memory(to).name];
        let listed =
            machine.links.iter().find(|link| names.contains(&&link.from) && names.contains(&&link.to));
        let via = listed.map_or("", |link| link.via.as_str());
        let path = joined(&[via, &scaled(rate.bytes_per_s, "B/s")]);
        match paths.iter_mut().find(|(other, _)| *other == path) {
            Some((_, names)) => names.push(&device.name),
            None => paths.push((path, vec![&device.name])),
        }
    }
    let paths = paths.iter().map(|(path, names)| format!("{} ({path})", names.join(", ")));
    paths.collect::<Vec<_>>().join(", ")
}

fn identity(device: &DeviceInfo) -> String {
    let capability =
        device.compute_capability.map(|cc| format!("compute capability {cc}")).unwrap_or_default();
    let node = device.numa_node.map(|node| format!("at NUMA node {node}")).unwrap_or_default();
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    joined(&[&text(&device.pci), &text(&device.uuid), &capability, &node])
}

fn joined(parts: &[&str]) -> String {
    parts.iter().copied().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}
