//! Reductions: folding blocks into states, combining states, and the result.
//!
//! **Order.** Results depend on the kernel and the shape of its logical block only. Where the innermost axis
//! (of those longer than 1) is folded, the elements of the block that belong to one cell and lie in one run of
//! folded innermost axes are taken in C order in groups of [`fold::GROUP`]; a group is summed in 16 lanes
//! (element i in lane i mod 16), the lanes by a balanced tree. Where it is kept, every cell takes its elements in C order,
//! [`fold::COLUMN`] of them one by one into a state. Groups, or these states, are combined by a [`tree`]. Floats sum as
//! `f64`.
//!
//! **Variance.** Each group takes two passes about its own mean, with the correction of the second pass's
//! rounding; groups and states combine by Chan, Golub and LeVeque's update. Cells that take elements one by
//! one use Welford's.
//!
//! **Empty.** The smallest of nothing is infinity (or the type's largest value), the largest the opposite.

mod columns;
mod combine;
mod finish;
mod fold;
mod groups;
mod loops;
mod split;
mod tree;

pub(super) use combine::combine;
pub(super) use finish::finish;
pub(super) use fold::Fold;
pub(super) use split::FoldCut;

use super::launch::{Failure, byte_strides, pointer};
use super::{copy, scratch::Scratch};
use crate::block::Block;

/// Elements of a block side by side: in the block itself, or in scratch memory when the block has gaps.
struct Dense<'a> {
    start: *mut u8,
    block: &'a Block,
    scratch: Option<Scratch>,
}

impl<'a> Dense<'a> {
    /// For writing; the elements are undefined. [`Dense::store`] brings them home.
    fn output(block: &'a Block) -> Result<Self, Failure> {
        let start = pointer(block)?;
        if block.layout.is_contiguous() {
            return Ok(Dense { start, block, scratch: None });
        }
        let (scratch, areas) = Scratch::with_areas(&[block.layout.bytes()]);
        Ok(Dense { start: areas[0], block, scratch: Some(scratch) })
    }

    /// For reading.
    fn input(block: &'a Block) -> Result<Self, Failure> {
        let dense = Dense::output(block)?;
        if dense.scratch.is_some() {
            let (from, strides) = (pointer(block)?, byte_strides(block));
            copy::copy_strided(
                block.shape(),
                dense.start,
                dense.strides(),
                from,
                strides,
                block.dtype().size(),
                0..block.shape().elements(),
            );
        }
        Ok(dense)
    }

    fn store(self) -> Result<(), Failure> {
        if self.scratch.is_some() {
            let (to, strides) = (pointer(self.block)?, byte_strides(self.block));
            let size = self.block.dtype().size();
            let shape = self.block.shape();
            copy::copy_strided(shape, to, strides, self.start, self.strides(), size, 0..shape.elements());
        }
        Ok(())
    }

    fn strides(&self) -> crate::shape::Strides {
        let size = self.block.dtype().size() as isize;
        self.block.shape().strides().iter().map(|stride| stride * size).collect()
    }
}
