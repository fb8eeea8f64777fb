//! Where blocks are cut into parts: so that every element is computed as it is in a whole block, bit for bit, or where the
//! order of sums is free, so that it is one of the sums that the device might make.

use crate::graph::chunking::{AxisChunks, Chunking};
use crate::graph::layer::Layer;
use crate::graph::op::{CopyRule, Op, Reduce, Reduction};
use crate::kernel::StateClass;
use crate::machine::DeviceInfo;
use crate::plan::capability::state_class;

/// Parts of a layer's blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// Over which the operation is computed.
    pub(super) domain: Chunking,
    /// Of the result: the same, save for reductions.
    pub(super) chunks: Chunking,
}

/// The cut of a layer's largest blocks into `count` parts, a power of two; smaller blocks may have fewer. `None` where
/// there is none.
///
/// Maps and copies make each element for itself, and are cut anywhere. Reductions are cut along the axes that stay, so
/// that each result is folded from the same elements in the same order; two elements are left along such an axis, since
/// the order is another one where there is nothing beside the elements of one result. Where the order is free, or doesn't
/// show, they are cut along all axes: then a part is folded into a state of its own, and the states are combined.
pub(super) fn cut(layer: &Layer, count: usize, order: Order) -> Option<Cut> {
    match layer.op() {
        Op::Map(_) | Op::Copy(_) => {
            let chunks = halved(layer.chunks(), count, |_| Some(1))?;
            Some(Cut { domain: chunks.clone(), chunks })
        }
        Op::Reduce(reduce) => {
            let stays = |axis: usize| (!reduce.axes.contains(&axis)).then_some(2);
            let kept = match reduce.reduction {
                Reduction::Count { .. } => None,
                _ => halved(&reduce.domain, count, stays),
            };
            let any = || halved(&reduce.domain, count, |_| Some(1));
            let is_free = order == Order::Free || is_exact(reduce);
            let domain = kept.or_else(|| is_free.then(any).flatten())?;
            Some(Cut { chunks: result(reduce, &domain, layer.chunks()), domain })
        }
        _ => None,
    }
}

/// Whether sums must be made in the order of a whole block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// All devices of the numeric class give equal bits.
    Kept,
    /// The device has bits of its own.
    Free,
}

impl Order {
    /// That of a device.
    pub fn on(device: &DeviceInfo) -> Order {
        match state_class(device.backend) {
            StateClass::Double => Order::Kept,
            StateClass::Pair => Order::Free,
        }
    }
}

/// Whether a result is the same in whichever order the elements are folded: integers' sums are.
fn is_exact(reduce: &Reduce) -> bool {
    match reduce.reduction {
        Reduction::Count { .. } => true,
        Reduction::Sum => !reduce.expr.output_dtype(0).is_float(),
        _ => false,
    }
}

/// The blocks in which a layer, cut like this into `count` parts, reads one of its inputs.
pub(super) fn of_input(op: &Op, cut: &Cut, input: &Chunking, count: usize) -> Chunking {
    let Op::Copy(rule) = op else {
        let lead = cut.domain.axes().len() - input.axes().len();
        let beside = input.axes().iter().zip(&cut.domain.axes()[lead..]);
        let same = |(own, axis): (&AxisChunks, &AxisChunks)| own.extent() == axis.extent();
        return Chunking::new(beside.map(|both| if same(both) { both.1.clone() } else { both.0.clone() }));
    };
    match rule {
        CopyRule::Rechunk => cut.chunks.clone(),
        CopyRule::Slice(_) => halved(input, count, |_| Some(1)).unwrap_or_else(|| input.clone()),
    }
}

fn result(reduce: &Reduce, domain: &Chunking, whole: &Chunking) -> Chunking {
    let goes = |axis: &usize| reduce.axes.contains(axis);
    let axes = 0..domain.axes().len();
    if reduce.keep_dims {
        let axis = |axis| if goes(&axis) { &whole.axes()[axis] } else { &domain.axes()[axis] };
        Chunking::new(axes.map(|at| axis(at).clone()))
    } else {
        Chunking::new(axes.filter(|axis| !goes(axis)).map(|axis| domain.axes()[axis].clone()))
    }
}

/// Halves blocks until the largest is `count` parts, each time along the outermost axis that can be: parts are in C
/// order then. `least` says for each axis how many elements a part keeps along it, where it may be cut.
fn halved(chunks: &Chunking, count: usize, least: impl Fn(usize) -> Option<usize>) -> Option<Chunking> {
    let mut axes = chunks.axes().to_vec();
    for _ in 0..count.ilog2() {
        let can =
            |&(at, axis): &(usize, &AxisChunks)| least(at).is_some_and(|least| axis.longest() >= 2 * least);
        let (at, least) = axes.iter().enumerate().find(can).and_then(|(at, _)| Some((at, least(at)?)))?;
        axes[at] = half(&axes[at], least);
    }
    Some(Chunking::new(axes))
}

/// Every block along an axis in two, save those that would leave less than `least`.
fn half(axis: &AxisChunks, least: usize) -> AxisChunks {
    let in_two = |length: usize| {
        let first = if length < 2 * least { length } else { length.div_ceil(2) };
        [Some(first), Some(length - first).filter(|&rest| rest > 0)]
    };
    let lengths = (0..axis.count()).flat_map(|at| in_two(axis.length(at)).into_iter().flatten());
    AxisChunks::from_lengths(&lengths.collect::<Vec<_>>())
}
