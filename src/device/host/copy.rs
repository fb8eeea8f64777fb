//! Strided copies: slices, rechunking, uploads and downloads.

use std::ops::Range;

use smallvec::SmallVec;

use super::launch::{Failure, byte_strides, pointer};
use super::vm::walk::Walk;
use crate::block::Block;
use crate::dtype::Scalar;
use crate::graph::piece::{Piece, PieceSource};
use crate::kernel::Arguments;
use crate::shape::{Region, Strides};

/// Copies a span of the elements of a launch's pieces, counted in C order, piece after piece.
pub(super) fn copy_pieces(arguments: &Arguments, span: Range<usize>) -> Result<(), Failure> {
    let mut first = 0;
    for piece in &arguments.pieces {
        let elements = piece.shape.elements();
        let own = span.start.max(first)..span.end.min(first + elements);
        if own.start < own.end {
            copy_piece(arguments, piece, own.start - first..own.end - first)?;
        }
        first += elements;
    }
    Ok(())
}

fn copy_piece(arguments: &Arguments, piece: &Piece, span: Range<usize>) -> Result<(), Failure> {
    let output = &arguments.output;
    let target = output.part(&Region { origin: piece.at.clone(), shape: piece.shape.clone() });
    let (to, to_strides) = (pointer(&target)?, byte_strides(&target));
    let size = output.dtype().size();
    match &piece.from {
        PieceSource::Operand { operand, start, axes } => {
            let operand = arguments.operands.get(usize::from(*operand));
            let block = &operand.ok_or_else(|| Failure("a piece names no operand".to_owned()))?.block;
            if block.dtype() != output.dtype() {
                return Err(Failure(format!("a copy from {} to {}", block.dtype(), output.dtype())));
            }
            let own = byte_strides(block);
            let offset: isize = start.iter().zip(&own).map(|(&at, &stride)| at as isize * stride).sum();
            let strides = axes.iter().map(|&(axis, step)| own[usize::from(axis)] * step).collect();
            let from = pointer(block)?.wrapping_offset(offset);
            copy_strided(&piece.shape, to, to_strides, from, strides, size, span);
        }
        PieceSource::Constant(value) => {
            let bits = Scalar::Float(*value).element_bits(output.dtype()).to_le_bytes();
            let still = Strides::from_elem(0, piece.shape.len());
            copy_strided(&piece.shape, to, to_strides, bits.as_ptr(), still, size, span);
        }
    }
    Ok(())
}

/// Copies a span of a block's elements, counted in C order, to another block of its shape and type.
pub(super) fn copy_block(from: &Block, to: &Block, span: Range<usize>) -> Result<(), Failure> {
    if from.dtype() != to.dtype() || from.shape() != to.shape() {
        let (a, b) = (&from.layout, &to.layout);
        return Err(Failure(format!("{} {} can't be copied to {} {}", a.dtype, a.shape, b.dtype, b.shape)));
    }
    let (source, strides) = (pointer(from)?, byte_strides(from));
    copy_strided(to.shape(), pointer(to)?, byte_strides(to), source, strides, to.dtype().size(), span);
    Ok(())
}

/// Copies a span of the elements of a shape, counted in C order. Both sides lie inside live blocks, and nobody else
/// touches that part of the target: see [`Arguments::output`].
pub(super) fn copy_strided(
    shape: &[usize],
    to: *mut u8,
    to_strides: Strides,
    from: *const u8,
    from_strides: Strides,
    size: usize,
    span: Range<usize>,
) {
    let mut walk = Walk::new(shape, SmallVec::from_iter([to_strides, from_strides]), true);
    walk.keep_to(span);
    let (to_stride, from_stride) = (walk.row_stride(0), walk.row_stride(1));
    while walk.has_row() {
        let row = walk.row();
        let to = to.wrapping_offset(walk.offset(0) + row.start as isize * to_stride);
        let from = from.wrapping_offset(walk.offset(1) + row.start as isize * from_stride);
        // SAFETY: the walk stays inside the shape, for which both sides have elements.
        unsafe { strided_run(to, to_stride, from, from_stride, row.len(), size) };
        walk.advance();
    }
}

/// Copies `n` elements of `size` bytes (1, 2, 4 or 8), each side with its own step in bytes.
///
/// # Safety
/// Both sides have `n` elements at those steps; they don't overlap.
pub(super) unsafe fn strided_run(
    to: *mut u8,
    to_stride: isize,
    from: *const u8,
    from_stride: isize,
    n: usize,
    size: usize,
) {
    let dense = size as isize;
    // SAFETY: the caller's word.
    unsafe {
        if to_stride == dense && from_stride == dense {
            from.copy_to_nonoverlapping(to, n * size);
            return;
        }
        match size {
            1 => typed_run::<u8>(to, to_stride, from, from_stride, n),
            2 => typed_run::<u16>(to, to_stride, from, from_stride, n),
            4 => typed_run::<u32>(to, to_stride, from, from_stride, n),
            _ => typed_run::<u64>(to, to_stride, from, from_stride, n),
        }
    }
}

/// # Safety
/// As for [`strided_run`].
unsafe fn typed_run<T: Copy>(to: *mut u8, to_stride: isize, from: *const u8, from_stride: isize, n: usize) {
    let is_dense = to_stride == size_of::<T>() as isize;
    // SAFETY: the caller's word; a constant's bytes may lie unaligned.
    unsafe {
        if is_dense && from_stride == 0 {
            let value = from.cast::<T>().read_unaligned();
            for i in 0..n {
                to.cast::<T>().add(i).write(value);
            }
        } else if is_dense {
            for i in 0..n {
                let value = from.offset(i as isize * from_stride).cast::<T>().read_unaligned();
                to.cast::<T>().add(i).write(value);
            }
        } else {
            for i in 0..n as isize {
                let value = from.offset(i * from_stride).cast::<T>().read_unaligned();
                to.offset(i * to_stride).cast::<T>().write(value);
            }
        }
    }
}
