//! Products of matrices: tiles in shared memory and registers, in the order that the kernel's definition says.
//!
//! cuBLAS isn't called, though it may be faster: its order of sums is its own and changes with version and card, and equal
//! bits on every device are the stronger promise.

use super::element::stored_type;
use super::words::value;
use super::{Form, Launch, Pass, Rendered, Slot, Word, blocks_for};
use crate::dtype::DType;
use crate::kernel::render::{LaunchError, fill};
use crate::kernel::{Arguments, MATMUL_PANEL, MatMulShape};

/// Columns of the left matrix, and rows of the right, in shared memory at a time; a panel is a multiple of it.
const DEPTH: usize = 16;

/// Elements along each side of a thread's part of a tile: as many sums as its registers hold.
fn each(dtype: DType) -> usize {
    if dtype.size() == 8 { 4 } else { 8 }
}

pub(super) fn render(dtype: DType) -> Rendered {
    let (wide, fused) = match dtype {
        DType::F32 => ("float", "__fmaf_rn(x[i], y[j], sums[i][j])"),
        DType::F64 => ("double", "__fma_rn(x[i], y[j], sums[i][j])"),
        DType::I64 => ("unsigned long long", "x[i] * y[j] + sums[i][j]"),
        _ => ("unsigned int", "x[i] * y[j] + sums[i][j]"),
    };
    let source = fill(
        include_str!("../../../kernels/cuda/matmul.cu"),
        &[
            ("element", stored_type(dtype)),
            ("wide", wide),
            ("fused", fused),
            ("each", &each(dtype).to_string()),
            ("depth", &DEPTH.to_string()),
            ("panel", &MATMUL_PANEL.to_string()),
        ],
    );
    Rendered { source, functions: vec!["oc_matmul"], words: 9, form: Form::MatMul(dtype) }
}

pub(super) fn launch(dtype: DType, arguments: &Arguments) -> Result<Launch, LaunchError> {
    let MatMulShape { m, k, n } = MatMulShape::of(arguments, dtype).map_err(LaunchError::Matrices)?;
    let operand = |input: u16| {
        let at = arguments.operands.iter().position(|operand| operand.input == input);
        at.map_or(Word::Value(0), |at| Word::Address(Slot::Operand(at), 0))
    };
    let tile = 16 * each(dtype);
    let across = n.div_ceil(tile);
    let mut words = vec![operand(0), operand(1), operand(2), Word::Address(Slot::Output, 0)];
    words.extend([m, k, n, across].map(value));
    let blocks = (blocks_for(m.div_ceil(tile) * across, 1)?, 1);
    let passes = if m * n == 0 { Vec::new() } else { vec![Pass { function: 0, words, blocks }] };
    Ok(Launch { passes, ..Launch::default() })
}
