//! What a device's backend can't do, as a reason.

use crate::graph::layer::Layer;
use crate::graph::op::Op;
use crate::kernel::capability::{cuda_source_lack, wgpu_lack, wgpu_reduction_lack, wgpu_source_lack};
use crate::kernel::state::StateClass;
use crate::kernel::{Kernel, cuda, render};
use crate::machine::{Backend, DeviceInfo};
use crate::shape::Region;

/// What the device lacks to run this layer, or `None` when it can.
pub fn lack(device: &DeviceInfo, layer: &Layer) -> Option<String> {
    if let Op::Custom(op) = layer.op() {
        let source = op.device_source();
        match (device.backend, &source) {
            (Backend::Host, _) if op.runs_on_host() => return None,
            (Backend::Host, _) => return Some(format!("a function of '{}' for the host", op.name())),
            (Backend::Wgpu, Some(source)) => return wgpu_source_lack(source),
            (Backend::Cuda, Some(source)) => return cuda_source_lack(source),
            _ => {}
        }
    }
    if device.backend != Backend::Host && matches!(layer.op(), Op::Custom(_) | Op::Tasks(_) | Op::Wait(_)) {
        return Some(format!("a kernel for '{}', which is a function on the host", layer.op().name()));
    }
    match device.backend {
        Backend::Host | Backend::Sim => None,
        Backend::Cuda => match layer.op() {
            Op::Load(_) | Op::Store(_) => Some("files".to_owned()),
            _ => None,
        },
        Backend::Wgpu => match layer.op() {
            Op::Map(expr) => wgpu_lack(expr, &device.dtypes),
            Op::Reduce(reduce) => wgpu_lack(&reduce.expr, &device.dtypes).or_else(|| {
                wgpu_reduction_lack(reduce.reduction, reduce.expr.output_dtype(0), &device.dtypes)
            }),
            Op::Copy(_) => None,
            Op::Load(_) | Op::Store(_) => Some("files".to_owned()),
            Op::Custom(_) | Op::Tasks(_) | Op::Wait(_) => None,
        },
    }
}

/// The arithmetic in which a backend keeps the states of reductions.
pub fn state_class(backend: Backend) -> StateClass {
    match backend {
        Backend::Host | Backend::Sim | Backend::Cuda => StateClass::Double,
        Backend::Wgpu => StateClass::Pair,
    }
}

/// Bytes that a launch on a block of this size takes beside its value.
pub fn scratch_bytes(backend: Backend, kernel: &Kernel, region: &Region) -> u64 {
    match backend {
        Backend::Wgpu => render::scratch_bytes(kernel, region) as u64,
        Backend::Cuda => cuda::scratch_bytes(kernel, region) as u64,
        Backend::Host | Backend::Sim => 0,
    }
}

/// Whether a backend's stencils read neighbouring blocks where they are; others get padded copies.
pub fn reads_neighbours_in_place(backend: Backend) -> bool {
    matches!(backend, Backend::Host | Backend::Sim)
}
