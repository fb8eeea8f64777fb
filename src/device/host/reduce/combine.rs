//! Combining states.

use super::Dense;
use super::loops::{Ordered, Summary, extreme};
use crate::device::host::launch::Failure;
use crate::device::host::vm::convert::with_element;
use crate::dtype::DType;
use crate::graph::op::Reduction;
use crate::kernel::{Arguments, StateSpec};

/// Combines the operands of a launch, in their order, into its output.
pub(in crate::device::host) fn combine(
    reduction: Reduction,
    state: StateSpec,
    arguments: &Arguments,
) -> Result<(), Failure> {
    let output = &arguments.output;
    let target = Dense::output(output)?;
    let elements = output.shape().elements();
    if elements == 0 {
        return Ok(());
    }
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
        if k == 0 {
            // SAFETY: both have that many elements of that size; an output overlaps no operand.
            unsafe { source.start.copy_to_nonoverlapping(target.start, elements * state.dtype.size()) };
            continue;
        }
        // SAFETY: both have that many elements, of the types that the state's form says.
        unsafe { join(reduction, state, elements, target.start, source.start) };
    }
    target.store()
}

/// # Safety
/// Both sides are states of that form with that many elements.
unsafe fn join(reduction: Reduction, state: StateSpec, elements: usize, to: *mut u8, from: *const u8) {
    // SAFETY: the caller's word.
    unsafe {
        match reduction {
            Reduction::Min => with_element!(state.dtype, extremes::<_, false>(elements, to, from)),
            Reduction::Max => with_element!(state.dtype, extremes::<_, true>(elements, to, from)),
            Reduction::Var { .. } | Reduction::Std { .. } => moments(elements / 3, to.cast(), from.cast()),
            _ if state.dtype == DType::I64 => {
                let (to, from) = (to.cast::<i64>(), from.cast::<i64>());
                for i in 0..elements {
                    *to.add(i) = (*to.add(i)).wrapping_add(*from.add(i));
                }
            }
            _ => {
                let (to, from) = (to.cast::<f64>(), from.cast::<f64>());
                for i in 0..elements {
                    *to.add(i) += *from.add(i);
                }
            }
        }
    }
}

unsafe fn extremes<T: Ordered, const LARGER: bool>(elements: usize, to: *mut u8, from: *const u8) {
    let (to, from) = (to.cast::<T>(), from.cast::<T>());
    for i in 0..elements {
        // SAFETY: the caller's word.
        unsafe { *to.add(i) = extreme::<T, LARGER>(*from.add(i), *to.add(i)) };
    }
}

unsafe fn moments(cells: usize, to: *mut f64, from: *const f64) {
    for i in 0..cells {
        // SAFETY: the caller's word: three planes of `cells` elements.
        unsafe {
            let summary = |at: *const f64| Summary {
                count: at.add(i).read(),
                mean: at.add(cells + i).read(),
                m2: at.add(2 * cells + i).read(),
            };
            let joined = summary(to).join(summary(from));
            to.add(i).write(joined.count);
            to.add(cells + i).write(joined.mean);
            to.add(2 * cells + i).write(joined.m2);
        }
    }
}
