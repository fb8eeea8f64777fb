//! How long things take: a roofline over the machine's rates.

use crate::graph::layer_graph::LayerGraph;
use crate::graph::op::Op;
use crate::machine::{DeviceId, DeviceKind, Machine};
use crate::plan::fuse::Group;

/// What a group does, in numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Arithmetic operations.
    pub flops: f64,
    /// Bytes read from and written to memory.
    pub bytes: f64,
    /// Launches.
    pub tasks: f64,
    /// Whether the arithmetic is in 64 bits.
    pub double: bool,
}

impl Work {
    /// The work of all blocks of a group.
    pub fn of(graph: &LayerGraph, group: &Group) -> Work {
        let root = graph.layer(group.root());
        let size = |layer: crate::ids::LayerId| {
            let layer = graph.layer(layer);
            layer.shape().elements() as f64 * layer.dtype().size() as f64
        };
        let reads = !matches!(group.op, Op::Wait(_));
        let read: f64 = group.inputs.iter().filter(|_| reads).map(|&input| size(input)).sum();
        let (elements, flops, tasks) = match &group.op {
            Op::Map(expr) => (root.shape().elements() as f64, expr.flops(), root.chunks().blocks()),
            Op::Reduce(reduce) => {
                let domain = &reduce.domain;
                (domain.shape().elements() as f64, reduce.expr.flops() + 2.0, domain.blocks())
            }
            Op::Custom(op) => (root.shape().elements() as f64, op.flops(), root.chunks().blocks()),
            Op::Load(_) | Op::Store(_) | Op::Copy(_) | Op::Tasks(_) | Op::Wait(_) => {
                (0.0, 0.0, root.chunks().blocks())
            }
        };
        let written = match &group.op {
            Op::Load(source) if source.in_place() => 0.0,
            Op::Store(_) | Op::Wait(_) => 0.0,
            _ => size(group.root()),
        };
        let double = root.dtype().size() == 8;
        Work { flops: elements * flops, bytes: read + written, tasks: tasks as f64, double }
    }

    /// Seconds on a device that does nothing else: the slower of arithmetic and memory, and the launches.
    pub fn seconds(&self, machine: &Machine, device: DeviceId, threads: usize) -> f64 {
        let info = machine.device(device);
        let flops = if self.double { info.rates.flops_f64 } else { info.rates.flops_f32 };
        let share = match info.kind {
            DeviceKind::Host => (threads as f64 / machine.host.cores.max(1) as f64).min(1.0),
            _ => 1.0,
        };
        let busy = (self.flops / (flops * share)).max(self.bytes / info.rates.memory_bytes_per_s);
        let lanes = if info.kind == DeviceKind::Host { threads as f64 } else { 1.0 };
        busy + self.tasks * info.rates.launch_s / lanes
    }
}
