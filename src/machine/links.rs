//! How long bytes take from one memory to another.

use super::{Machine, MemoryId, defaults};

/// The speed of a path between two memories.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkRate {
    /// Bytes a second of a large copy.
    pub bytes_per_s: f64,
    /// Seconds before the first byte.
    pub latency_s: f64,
    /// Whether the bytes pass through the host's memory on the way.
    pub via_host: bool,
}

impl LinkRate {
    /// Seconds that a copy of `bytes` takes on an idle link.
    pub fn seconds(&self, bytes: u64) -> f64 {
        self.latency_s + bytes as f64 / self.bytes_per_s
    }
}

impl Machine {
    /// The path from one memory to another: the listed link, else the listed link the other way, else
    /// [`defaults::host_link`] when one end is the host, else one copy to the host and one from it. From a
    /// memory to itself it takes no time.
    pub fn link(&self, from: MemoryId, to: MemoryId) -> LinkRate {
        if from == to {
            return LinkRate { bytes_per_s: f64::INFINITY, latency_s: 0.0, via_host: false };
        }
        if let Some(listed) = self.listed(from, to).or_else(|| self.listed(to, from)) {
            return listed;
        }
        if from == MemoryId::HOST || to == MemoryId::HOST {
            let device_side = if from == MemoryId::HOST { to } else { from };
            let (bytes_per_s, latency_s) = defaults::host_link(self.memory(device_side).kind);
            return LinkRate { bytes_per_s, latency_s, via_host: false };
        }
        let up = self.link(from, MemoryId::HOST);
        let down = self.link(MemoryId::HOST, to);
        LinkRate {
            bytes_per_s: 1.0 / (1.0 / up.bytes_per_s + 1.0 / down.bytes_per_s),
            latency_s: up.latency_s + down.latency_s,
            via_host: true,
        }
    }

    fn listed(&self, from: MemoryId, to: MemoryId) -> Option<LinkRate> {
        let (from, to) = (&self.memory(from).name, &self.memory(to).name);
        let link = self.links.iter().find(|link| link.from == *from && link.to == *to)?;
        Some(LinkRate { bytes_per_s: link.bytes_per_s, latency_s: link.latency_s, via_host: false })
    }
}
