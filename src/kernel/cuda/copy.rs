//! Copying pieces: several in one launch, the widest elements that fit.

use super::element::stored_type;
use super::words::value;
use super::{BLOCK, Form, Launch, PARAMETER_BYTES_MAX, Pass, Rendered, Slot, Word};
use crate::dtype::{DType, Scalar};
use crate::graph::piece::{Piece, PieceSource};
use crate::kernel::Arguments;
use crate::kernel::render::{LaunchError, fill};
use crate::shape::AXES_MAX;

/// Words of a piece: elements, axes, the addresses written and read (0 for a constant), the constant's bits, then from
/// the innermost axis extents and steps on both sides.
const RECORD: usize = 5 + 3 * AXES_MAX;

/// Pieces in one launch.
const PIECES: usize = PARAMETER_BYTES_MAX / 8 / RECORD;

/// Bytes of the elements that rows are copied in where they can be.
const WIDE: usize = 16;

/// Blocks along a piece at most; each does every so many of its elements.
const BLOCKS_MAX: usize = 1 << 16;

/// The functions.
const PLAIN: usize = 0;
const WIDENED: usize = 1;

pub(super) fn render(dtype: DType) -> Rendered {
    let source = fill(
        include_str!("../../../kernels/cuda/copy.cu"),
        &[
            ("words", &(PIECES * RECORD).to_string()),
            ("record", &RECORD.to_string()),
            ("element", stored_type(dtype)),
        ],
    );
    Rendered {
        source,
        functions: vec!["oc_copy", "oc_copy_wide"],
        words: PIECES * RECORD,
        form: Form::Copy(dtype),
    }
}

pub(super) fn launch(dtype: DType, arguments: &Arguments) -> Result<Launch, LaunchError> {
    let mut passes = Vec::new();
    let boxes: Vec<Box> = arguments
        .pieces
        .iter()
        .filter(|piece| piece.shape.elements() > 0)
        .map(|piece| Box::new(dtype, piece, arguments))
        .collect();
    for function in [PLAIN, WIDENED] {
        let own: Vec<&Box> = boxes.iter().filter(|one| one.function == function).collect();
        for some in own.chunks(PIECES) {
            let most = some.iter().map(|one| one.elements()).max().unwrap_or_default();
            let x = most.div_ceil(BLOCK as usize).clamp(1, BLOCKS_MAX) as u32;
            let words = some.iter().flat_map(|one| one.words()).collect();
            passes.push(Pass { function, words, blocks: (x, some.len() as u32) });
        }
    }
    Ok(Launch { passes, ..Launch::default() })
}

/// A piece, as few axes as it takes.
struct Box {
    function: usize,
    to: isize,
    /// The operand and the byte in it, or a constant's bits.
    from: Result<(usize, isize), u64>,
    /// From the innermost: extent, step written, step read, in elements.
    axes: Vec<(usize, isize, isize)>,
}

impl Box {
    fn new(dtype: DType, piece: &Piece, arguments: &Arguments) -> Box {
        let size = dtype.size() as isize;
        let dot = |index: &[usize], steps: &[isize]| -> isize {
            index.iter().zip(steps).map(|(&at, &step)| at as isize * step).sum()
        };
        let written = &arguments.output.layout.strides;
        let rank = piece.shape.len();
        let mut read = vec![0isize; rank];
        let from = match &piece.from {
            PieceSource::Constant(constant) => Err(Scalar::Float(*constant).element_bits(dtype)),
            PieceSource::Operand { operand, start, axes } => {
                let strides = &arguments.operands[usize::from(*operand)].block.layout.strides;
                for (axis, &(of, step)) in axes.iter().enumerate() {
                    read[axis] = strides[usize::from(of)] * step;
                }
                Ok((usize::from(*operand), dot(start, strides) * size))
            }
        };
        let axes = (0..rank).rev().map(|axis| (piece.shape[axis], written[axis], read[axis]));
        let mut made = Box { function: PLAIN, to: dot(&piece.at, written) * size, from, axes: merged(axes) };
        made.widen(dtype, arguments);
        made
    }

    /// Takes several elements of dense rows for one, where all of it is aligned. Buffers are, at least to [`WIDE`].
    fn widen(&mut self, dtype: DType, arguments: &Arguments) {
        let size = dtype.size() as isize;
        let many = WIDE as isize / size;
        let Ok((operand, from)) = self.from else { return };
        let Some((&mut (ref mut extent, 1, 1), outer)) = self.axes.split_first_mut() else { return };
        let offset = |block: &crate::block::Block| block.layout.offset as isize * size;
        let starts = [self.to + offset(&arguments.output), from + offset(&arguments.operands[operand].block)];
        let is_aligned = starts.iter().all(|start| start % WIDE as isize == 0)
            && outer.iter().all(|(_, to, from)| to % many == 0 && from % many == 0);
        if !is_aligned || !extent.is_multiple_of(many as usize) {
            return;
        }
        *extent /= many as usize;
        outer.iter_mut().for_each(|(_, to, from)| (*to, *from) = (*to / many, *from / many));
        self.function = WIDENED;
    }

    fn elements(&self) -> usize {
        self.axes.iter().map(|(extent, _, _)| extent).product()
    }

    fn words(&self) -> Vec<Word> {
        let (address, bits) = match self.from {
            Ok((operand, from)) => (Word::Address(Slot::Operand(operand), from), 0),
            Err(bits) => (Word::Value(0), bits),
        };
        let mut words = vec![value(self.elements()), value(self.axes.len())];
        words.extend([Word::Address(Slot::Output, self.to), address, Word::Value(bits)]);
        for &(extent, to, from) in &self.axes {
            words.extend([value(extent), Word::Value(to as u64), Word::Value(from as u64)]);
        }
        words.resize(RECORD, value(0));
        words
    }
}

/// Axes without those of one element, and neighbours as one where both sides go on as they went.
fn merged(axes: impl Iterator<Item = (usize, isize, isize)>) -> Vec<(usize, isize, isize)> {
    let mut merged: Vec<(usize, isize, isize)> = Vec::new();
    for (extent, to, from) in axes.filter(|&(extent, _, _)| extent != 1) {
        match merged.last_mut() {
            Some((inner, a, b)) if to == *a * *inner as isize && from == *b * *inner as isize => {
                *inner *= extent
            }
            _ => merged.push((extent, to, from)),
        }
    }
    merged
}
