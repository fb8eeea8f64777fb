//! Launches in parts, for several threads.
//!
//! The cut depends on the launch alone, and every part computes what the launch as a whole would, bit for bit: maps,
//! copies, and what is done cell by cell are cut anywhere; folds only along the borders of their own order of
//! summation (see [`reduce`](super::reduce)).

use std::ops::Range;
use std::sync::Arc;

use super::compiler::HostProgram;
use super::copy::copy_block;
use super::launch::Failure;
use super::reduce::FoldCut;
use crate::block::Block;
use crate::device::contract::{DeviceError, Program};
use crate::kernel::Arguments;
use crate::parts;

/// How long a part should take, in picoseconds.
const PART: usize = 150_000_000;
/// Elements from one possible border of spans to the next: none runs through a vector or a line of the cache.
const STEP: usize = 4096;
/// What it takes to move a byte, in picoseconds: what is large enough to be cut comes from memory.
pub(super) const BYTE: usize = 50;

/// Does a launch, in parts where it is large and others may help.
pub(super) fn launch(program: &Program, arguments: &Arguments) -> Result<(), DeviceError> {
    let failed = super::failed("a launch");
    let host = host_program(program).map_err(&failed)?;
    let (elements, picoseconds) = host.work(arguments);
    let count = count(elements, elements.saturating_mul(picoseconds));
    let cut = if count < 2 || !parts::has_crew() { None } else { Cut::of(host, arguments, elements, count) };
    let Some(cut) = cut else { return host.launch(arguments).map_err(failed) };
    let count = cut.count();
    let launch = Arc::new((program.clone(), arguments.clone(), cut));
    let shared = launch.clone();
    let part = move |at| {
        let (program, arguments, cut) = &*shared;
        let done = host_program(program).and_then(|host| cut.part(host, arguments, at));
        done.map_err(super::failed("a launch"))
    };
    parts::share::<DeviceError>(count, part)?;
    launch.2.finish(host, arguments).map_err(failed)
}

/// Copies a block, in parts where it is large and others may help.
pub(super) fn copy(operation: &'static str, from: &Block, to: &Block) -> Result<(), DeviceError> {
    let elements = to.shape().elements();
    let count = count(elements, elements.saturating_mul(2 * BYTE * to.dtype().size()));
    if count < 2 || !parts::has_crew() {
        return copy_block(from, to, 0..elements).map_err(super::failed(operation));
    }
    let (from, to) = (from.clone(), to.clone());
    parts::share(count, move |at| {
        copy_block(&from, &to, span(elements, count, at)).map_err(super::failed(operation))
    })
}

fn host_program(program: &Program) -> Result<&HostProgram, Failure> {
    let foreign = || Failure("another device's compiler made this program".to_owned());
    program.downcast::<HostProgram>().ok_or_else(foreign)
}

/// Where a launch is cut.
enum Cut {
    /// Into even spans of so many elements.
    Spans {
        elements: usize,
        count: usize,
    },
    Fold(FoldCut),
}

impl Cut {
    fn of(host: &HostProgram, arguments: &Arguments, elements: usize, count: usize) -> Option<Cut> {
        match host {
            HostProgram::Fold(fold) => fold.cut(arguments, count).map(Cut::Fold),
            // Blocks with gaps go through memory of their own, as a whole.
            HostProgram::Combine { .. } | HostProgram::Finish { .. } if !is_dense(arguments) => None,
            _ => Some(Cut::Spans { elements, count }),
        }
    }

    fn count(&self) -> usize {
        match self {
            Cut::Spans { count, .. } => *count,
            Cut::Fold(cut) => cut.count(),
        }
    }

    fn part(&self, host: &HostProgram, arguments: &Arguments, at: usize) -> Result<(), Failure> {
        match (self, host) {
            (Cut::Fold(cut), HostProgram::Fold(fold)) => fold.part(arguments, cut, at),
            (Cut::Spans { elements, count }, _) => host.span(arguments, span(*elements, *count, at)),
            (Cut::Fold(_), _) => Err(Failure("a fold's cut for another kernel".to_owned())),
        }
    }

    /// When all parts are done.
    fn finish(&self, host: &HostProgram, arguments: &Arguments) -> Result<(), Failure> {
        match (self, host) {
            (Cut::Fold(cut), HostProgram::Fold(fold)) => fold.finish(arguments, cut),
            _ => Ok(()),
        }
    }
}

/// How many parts are worth it.
fn count(elements: usize, picoseconds: usize) -> usize {
    (picoseconds / PART).min(elements / STEP).max(1)
}

fn span(elements: usize, count: usize, at: usize) -> Range<usize> {
    border(elements, count, at, STEP)..border(elements, count, at + 1, STEP)
}

/// Where part `at` of `count` begins: a multiple of `step`, which goes into `extent` at least `count` times; and where
/// the last one ends.
pub(super) fn border(extent: usize, count: usize, at: usize, step: usize) -> usize {
    if at == count { extent } else { (extent as u128 * at as u128 / count as u128) as usize / step * step }
}

fn is_dense(arguments: &Arguments) -> bool {
    let operands = arguments.operands.iter().map(|operand| &operand.block);
    operands.chain([&arguments.output]).all(|block| block.layout.is_contiguous())
}

#[cfg(test)]
#[path = "split_tests.rs"]
mod tests;
