//! Combining states.

use std::ops::Range;

use super::Dense;
use super::loops::{Ordered, Summary, extreme};
use crate::device::host::launch::Failure;
use crate::device::host::vm::convert::with_element;
use crate::dtype::DType;
use crate::graph::op::Reduction;
use crate::kernel::{Arguments, StateSpec};

/// States of a launch side by side: the first cell, and the bytes from plane to plane.
#[derive(Clone, Copy)]
pub(super) struct Planes {
    pub start: *mut u8,
    pub step: usize,
}

impl Planes {
    pub fn plane<T>(self, plane: usize) -> *mut T {
        self.start.wrapping_add(plane * self.step).cast()
    }
}

/// Combines some cells of the operands of a launch, in the operands' order, into its output. Blocks with gaps take all
/// cells at once.
pub(in crate::device::host) fn combine(
    reduction: Reduction,
    state: StateSpec,
    arguments: &Arguments,
    cells: Range<usize>,
) -> Result<(), Failure> {
    let output = &arguments.output;
    let target = Dense::output(output)?;
    let elements = output.shape().elements();
    if elements == 0 {
        return Ok(());
    }
    let size = state.dtype.size();
    let step = elements / state.planes * size;
    for (k, operand) in arguments.operands.iter().enumerate() {
        let block = &operand.block;
        let is_alike = block.dtype() == state.dtype && block.shape().elements() == elements;
        if !is_alike || output.dtype() != state.dtype || !elements.is_multiple_of(state.planes) {
            let (a, b) = (&block.layout, &output.layout);
            return Err(Failure(format!(
                "a state {} {} can't join {} {}",
                a.dtype, a.shape, b.dtype, b.shape
            )));
        }
        let source = Dense::input(block)?;
        let (to, from) = (Planes { start: target.start, step }, Planes { start: source.start, step });
        if k > 0 {
            // SAFETY: both have those cells, of the types that the state's form says.
            unsafe { join(reduction, state, cells.clone(), to, from) };
            continue;
        }
        for plane in 0..state.planes {
            let (to, from) = (to.plane::<u8>(plane), from.plane::<u8>(plane));
            let (first, bytes) = (cells.start * size, cells.len() * size);
            // SAFETY: both have those cells; an output overlaps no operand.
            unsafe { from.add(first).copy_to_nonoverlapping(to.add(first), bytes) };
        }
    }
    target.store()
}

/// Takes cells of a state into those of another.
///
/// # Safety
/// Both sides are states of that form with those cells. Nobody else touches those of `to`, or writes to those of `from`.
pub(super) unsafe fn join(
    reduction: Reduction,
    state: StateSpec,
    cells: Range<usize>,
    to: Planes,
    from: Planes,
) {
    // SAFETY: the caller's word.
    unsafe {
        match reduction {
            Reduction::Min => with_element!(state.dtype, extremes::<_, false>(cells, to, from)),
            Reduction::Max => with_element!(state.dtype, extremes::<_, true>(cells, to, from)),
            Reduction::Var { .. } | Reduction::Std { .. } => moments(cells, to, from),
            _ if state.dtype == DType::I64 => {
                let (to, from) = (to.plane::<i64>(0), from.plane::<i64>(0));
                for i in cells {
                    *to.add(i) = (*to.add(i)).wrapping_add(*from.add(i));
                }
            }
            _ => {
                for plane in 0..state.planes {
                    let (to, from) = (to.plane::<f64>(plane), from.plane::<f64>(plane));
                    for i in cells.clone() {
                        *to.add(i) += *from.add(i);
                    }
                }
            }
        }
    }
}

unsafe fn extremes<T: Ordered, const LARGER: bool>(cells: Range<usize>, to: Planes, from: Planes) {
    let (to, from) = (to.plane::<T>(0), from.plane::<T>(0));
    for i in cells {
        // SAFETY: the caller's word.
        unsafe { *to.add(i) = extreme::<T, LARGER>(*from.add(i), *to.add(i)) };
    }
}

unsafe fn moments(cells: Range<usize>, to: Planes, from: Planes) {
    for i in cells {
        // SAFETY: the caller's word: three planes.
        unsafe {
            let at = |planes: Planes, plane: usize| planes.plane::<f64>(plane).add(i);
            let summary = |planes: Planes| Summary {
                count: at(planes, 0).read(),
                mean: at(planes, 1).read(),
                m2: at(planes, 2).read(),
            };
            let joined = summary(to).join(summary(from));
            at(to, 0).write(joined.count);
            at(to, 1).write(joined.mean);
            at(to, 2).write(joined.m2);
        }
    }
}
