//! Copying pieces: one dispatch for each operand, over a table of its pieces.

use super::arguments::{LaunchError, check_size};
use super::{Launch, Pass, Shader, Slot, WORKGROUP, bindings, fill, lanes};
use crate::block::Block;
use crate::dtype::{DType, Scalar};
use crate::graph::piece::{Piece, PieceSource};
use crate::kernel::Arguments;
use crate::shape::AXES_MAX;

/// Words of a piece in the table:
///
/// | word | what |
/// |---|---|
/// | 0 | first unit |
/// | 1, 2 | first element written, first element read |
/// | 3, 4 | elements in a row, and the distance of those read |
/// | 5 | whether it is a constant |
/// | 6 | invocations for a row |
/// | 7, 8 | the constant's bits |
/// | 9 | distance of a row's elements written |
/// | 11–17, 18–24, 25–31 | outer axes, innermost first: extents, distances written, distances read |
const PIECE: usize = 32;

/// Elements, or words, of a row that one invocation copies.
const ROW_ITEMS: usize = 16;

const OUTER: usize = AXES_MAX - 1;

pub(super) fn copy_shader(dtype: DType) -> Shader {
    let lanes = lanes(dtype);
    let (word, stored) = match (dtype.size(), lanes) {
        (8, _) => ("vec2u", "vec2u"),
        (_, 1) => ("u32", "u32"),
        _ => ("u32", "atomic<u32>"),
    };
    let width = (32 / lanes).to_string();
    let full = if lanes == 4 { "255" } else { "65535" };
    let read = match lanes {
        4 => "return extractBits(x0[at >> 2u], u32(at & 3) * 8u, 8u);",
        2 => "return extractBits(x0[at >> 1u], u32(at & 1) * 16u, 16u);",
        _ => "return x0[at];",
    };
    let constant = match dtype.size() {
        8 => "vec2u(params[piece + 7u], params[piece + 8u])",
        _ => "params[piece + 7u]",
    };
    let unit = match lanes {
        1 => fill(include_str!("../../../kernels/wgsl/copy_whole.wgsl"), &[("constant", constant)]),
        _ => fill(
            include_str!("../../../kernels/wgsl/copy_packed.wgsl"),
            &[("lanes", &lanes.to_string()), ("width", &width), ("full", full)],
        ),
    };
    // Bits are copied, so the types that a device lacks can be copied too.
    let bindings = bindings(&[DType::U32], &format!("array<{stored}>")).replacen(
        "array<u32>",
        &format!("array<{word}>"),
        1,
    );
    let source = fill(
        include_str!("../../../kernels/wgsl/copy.wgsl"),
        &[
            ("bindings", &bindings),
            ("type", word),
            ("read", read),
            ("unit", &unit),
            ("workgroup", &WORKGROUP.to_string()),
        ],
    );
    Shader { source, reads: 1 }
}

pub(super) fn copy_launch(dtype: DType, arguments: &Arguments) -> Result<Launch, LaunchError> {
    let output = &arguments.output;
    check_size(output)?;
    if lanes(dtype) > 1
        && output.layout.strides.last().is_some_and(|&s| s != 1 && output.shape().last() != Some(&1))
    {
        return Err(LaunchError::Strided(output.shape().clone()));
    }
    let source = |piece: &Piece| match piece.from {
        PieceSource::Operand { operand, .. } => Some(usize::from(operand)),
        PieceSource::Constant(_) => None,
    };
    let mut passes = Vec::new();
    for wanted in std::iter::once(None).chain((0..arguments.operands.len()).map(Some)) {
        let mut pieces = arguments.pieces.iter().filter(|piece| source(piece) == wanted).peekable();
        if pieces.peek().is_none() {
            continue;
        }
        let operand = wanted.map(|at| &arguments.operands[at].block);
        if let Some(block) = operand {
            check_size(block)?;
        }
        let (mut units, mut count, mut table) = (0, 0, Vec::new());
        for piece in pieces.filter(|piece| piece.shape.elements() > 0) {
            units += push_piece(dtype, piece, operand, output, units, &mut table);
            count += 1;
        }
        let outer = output.shape().len().saturating_sub(1);
        let mut params = vec![0, units as u32, count, outer as u32];
        params.append(&mut table);
        // A constant reads nothing; the binding needs some buffer other than the output.
        let reads = vec![wanted.map_or(Slot::Scratch(0), Slot::Operand)];
        passes.push(Pass { shader: 0, reads, write: Slot::Output, params, invocations: units });
    }
    let constants = passes.first().is_some_and(|pass| pass.reads == [Slot::Scratch(0)]);
    Ok(Launch { scratch_bytes: if constants { vec![16] } else { Vec::new() }, clears: false, passes })
}

/// Appends a piece's record and returns its units.
fn push_piece(
    dtype: DType,
    piece: &Piece,
    operand: Option<&Block>,
    output: &Block,
    first_unit: usize,
    table: &mut Vec<u32>,
) -> usize {
    let rank = piece.shape.len();
    let lanes = lanes(dtype);
    let to: isize =
        piece.at.iter().zip(&output.layout.strides).map(|(&at, &stride)| at as isize * stride).sum();
    let mut from = 0isize;
    let mut steps = vec![0isize; rank];
    let mut bits = 0;
    match (&piece.from, operand) {
        (PieceSource::Operand { start, axes, .. }, Some(block)) => {
            let strides = &block.layout.strides;
            from = block.layout.offset as isize;
            from += start.iter().zip(strides).map(|(&at, &stride)| at as isize * stride).sum::<isize>();
            for (axis, &(of, step)) in axes.iter().enumerate() {
                steps[axis] = strides[usize::from(of)] * step;
            }
        }
        (PieceSource::Constant(value), _) => bits = Scalar::Float(*value).element_bits(dtype),
        (PieceSource::Operand { .. }, None) => {}
    }
    let length = piece.shape.last().copied().unwrap_or(1);
    let units = length.div_ceil(lanes * ROW_ITEMS);
    let rows = piece.shape.elements() / length;
    let mut record = [0u32; PIECE];
    record[0] = first_unit as u32;
    record[1] = (output.layout.offset as isize + to) as i32 as u32;
    record[2] = from as i32 as u32;
    record[3] = length as u32;
    record[4] = steps.last().map_or(0, |&step| step as i32 as u32);
    record[5] = u32::from(operand.is_none());
    record[6] = units as u32;
    (record[7], record[8]) = (bits as u32, (bits >> 32) as u32);
    record[9] = output.layout.strides.last().map_or(1, |&stride| stride as i32 as u32);
    for nth in 0..rank.saturating_sub(1) {
        let axis = rank - 2 - nth;
        record[11 + nth] = piece.shape[axis] as u32;
        record[11 + OUTER + nth] = output.layout.strides[axis] as i32 as u32;
        record[11 + 2 * OUTER + nth] = steps[axis] as i32 as u32;
    }
    table.extend(record);
    units * rows
}
