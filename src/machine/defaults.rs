//! What stands in for a figure that a machine file leaves out, or that no driver tells.
//!
//! They are meant to rank devices rightly, not to predict times: a measured or a datasheet figure always wins.
//!
//! | kind | f32 FLOP/s | f64 FLOP/s | memory bytes/s | launch |
//! |---|---|---|---|---|
//! | host, each core | 32e9: a third of 3 GHz × 8 lanes × 2 FMA ports | half | 10e9, at most 40e9 in all (dual-channel DDR4-3200 has 51.2e9) | 1 µs |
//! | GPU | 10e12: a mid-range card | 1/32 | 400e9 | 10 µs |
//! | integrated GPU | 1e12 | 1/32 | 40e9 | 20 µs |
//! | software GPU | a quarter of the host's | a quarter of the host's | 8e9 | 200 µs (lavapipe, measured 140-280) |
//!
//! A link that is not listed runs at 24e9 bytes/s and 10 µs for a card of its own memory (PCIe 4.0 x16, 31.5e9
//! by the standard, about three quarters of it in practice), and at 10e9 bytes/s and 5 µs (a memory copy) for
//! unified memory. Between two devices it goes through the host, one copy after the other.

use super::{Backend, DeviceKind, MemoryKind, Rates};
use crate::dtype::DType;

/// The rates of a device of this kind; `cores` are the host's.
pub fn rates(kind: DeviceKind, cores: usize) -> Rates {
    let cores = cores.max(1) as f64;
    let host_f32 = 32e9 * cores;
    match kind {
        DeviceKind::Host => Rates {
            flops_f32: host_f32,
            flops_f64: host_f32 / 2.0,
            memory_bytes_per_s: (10e9 * cores).min(40e9),
            launch_s: 1e-6,
        },
        DeviceKind::Gpu => {
            Rates { flops_f32: 10e12, flops_f64: 10e12 / 32.0, memory_bytes_per_s: 400e9, launch_s: 10e-6 }
        }
        DeviceKind::IntegratedGpu => {
            Rates { flops_f32: 1e12, flops_f64: 1e12 / 32.0, memory_bytes_per_s: 40e9, launch_s: 20e-6 }
        }
        DeviceKind::SoftwareGpu => Rates {
            flops_f32: host_f32 / 4.0,
            flops_f64: host_f32 / 8.0,
            memory_bytes_per_s: 8e9,
            launch_s: 200e-6,
        },
    }
}

/// Bytes a second and seconds of latency between the host and a memory of this kind.
pub fn host_link(kind: MemoryKind) -> (f64, f64) {
    match kind {
        MemoryKind::Host | MemoryKind::Unified => (10e9, 5e-6),
        MemoryKind::Dedicated | MemoryKind::Unknown => (24e9, 10e-6),
    }
}

/// Seconds that the disk takes to write or to read so many bytes: 1e9 bytes/s, an ordinary SSD under a file system,
/// and 100 µs before the first.
pub fn disk_seconds(bytes: u64) -> f64 {
    100e-6 + bytes as f64 / 1e9
}

/// The element types that a backend's kernels compute in when the file doesn't say: all, but for wgpu only
/// those that WGSL has everywhere.
pub fn dtypes(backend: Backend) -> Vec<DType> {
    match backend {
        Backend::Wgpu => vec![DType::I32, DType::U32, DType::F32],
        Backend::Host | Backend::Cuda | Backend::Sim => DType::ALL.to_vec(),
    }
}

/// The backend of a device whose file doesn't say.
pub fn backend(kind: DeviceKind) -> Backend {
    match kind {
        DeviceKind::Host => Backend::Host,
        _ => Backend::Wgpu,
    }
}

/// The kind of memory of a device whose file doesn't say.
pub fn memory_kind(kind: DeviceKind) -> MemoryKind {
    match kind {
        DeviceKind::Host => MemoryKind::Host,
        DeviceKind::Gpu => MemoryKind::Dedicated,
        DeviceKind::IntegratedGpu | DeviceKind::SoftwareGpu => MemoryKind::Unified,
    }
}
