//! From state to result.

use std::ops::Range;

use super::Dense;
use crate::device::host::isa::Isa;
use crate::device::host::launch::Failure;
use crate::device::host::scratch::Scratch;
use crate::device::host::vm::convert;
use crate::device::host::vm::tiles::TileArgs;
use crate::graph::op::Reduction;
use crate::kernel::{Arguments, StateSpec};

/// Writes some cells of the result of the launch's only operand, a state; blocks with gaps take all cells at once. The mean of nothing is NaN, and so is a variance
/// of as many elements as its delta degrees of freedom, or fewer, unless they differ: then it is infinite.
pub(in crate::device::host) fn finish(
    reduction: Reduction,
    state: StateSpec,
    arguments: &Arguments,
    isa: Isa,
    some: Range<usize>,
) -> Result<(), Failure> {
    let output = &arguments.output;
    let cells = output.shape().elements();
    let operand = arguments.operands.first().ok_or_else(|| Failure("there is no state".to_owned()))?;
    let block = &operand.block;
    if block.dtype() != state.dtype || block.shape().elements() != cells * state.planes {
        let (dtype, shape) = (block.dtype(), block.shape());
        return Err(Failure(format!("a state {dtype} {shape} has no {cells} cells")));
    }
    if some.is_empty() {
        return Ok(());
    }
    let (source, target) = (Dense::input(block)?, Dense::output(output)?);
    let (_scratch, areas) = Scratch::with_areas(&[if state.planes > 1 { some.len() * 8 } else { 0 }]);
    let first = source.start.wrapping_add(some.start * state.dtype.size());
    let values = if state.planes > 1 { areas[0].cast_const() } else { first.cast_const() };
    for cell in if state.planes > 1 { some.clone() } else { 0..0 } {
        // SAFETY: states of several planes hold doubles; each plane has `cells` of them.
        unsafe {
            let plane = |k: usize| source.start.cast::<f64>().add(k * cells + cell).read();
            let value = match reduction {
                Reduction::Var { ddof } => variance(plane(0), plane(2), ddof),
                Reduction::Std { ddof } => variance(plane(0), plane(2), ddof).sqrt(),
                _ => plane(0) / plane(1),
            };
            areas[0].cast::<f64>().add(cell - some.start).write(value);
        }
    }
    let run = convert::cast(isa, state.dtype, output.dtype());
    let to = target.start.wrapping_add(some.start * output.dtype().size());
    // SAFETY: as many values of the state's type, and room for as many of the output's.
    unsafe { run(TileArgs { to, operands: [values; 3], n: some.len() }) };
    target.store()
}

fn variance(count: f64, m2: f64, ddof: u32) -> f64 {
    m2 / (count - f64::from(ddof)).max(0.0)
}
