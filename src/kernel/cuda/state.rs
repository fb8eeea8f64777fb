//! States: what they are made of, combining them, and the result.

use super::element::{of_bits, stored_type, value_type};
use super::library::Library;
use super::words::value;
use super::{BLOCK, Form, Launch, Pass, Rendered, Slot, Word, blocks_for};
use crate::dtype::{DType, Kind};
use crate::graph::op::Reduction;
use crate::kernel::render::{LaunchError, fill};
use crate::kernel::{Arguments, StateSpec};

/// States that one launch combines.
const STATES_MAX: usize = 256;

/// The struct `State` and its functions.
pub(super) fn state_source(reduction: Reduction, state: StateSpec) -> String {
    match reduction {
        Reduction::Min | Reduction::Max => fill(
            include_str!("../../../kernels/cuda/state_extreme.cu"),
            &[
                ("stored", stored_type(state.dtype)),
                ("identity", &identity(reduction, state.dtype)),
                ("better", if reduction == Reduction::Min { "<" } else { ">" }),
            ],
        ),
        Reduction::Var { .. } | Reduction::Std { .. } => {
            include_str!("../../../kernels/cuda/state_moments.cu").to_owned()
        }
        Reduction::Mean => include_str!("../../../kernels/cuda/state_mean.cu").to_owned(),
        _ if state.dtype == DType::I64 => include_str!("../../../kernels/cuda/state_integer.cu").to_owned(),
        _ => include_str!("../../../kernels/cuda/state_sum.cu").to_owned(),
    }
}

/// How values come into it.
pub(super) fn fold_source(reduction: Reduction, state: StateSpec) -> String {
    let lanes = include_str!("../../../kernels/cuda/lanes.cu");
    match reduction {
        Reduction::Min | Reduction::Max => {
            let wide = if state.dtype.size() < 4 { "(int)" } else { "" };
            fill(include_str!("../../../kernels/cuda/fold_extreme.cu"), &[("wide", wide)])
        }
        Reduction::Var { .. } | Reduction::Std { .. } => {
            [lanes, include_str!("../../../kernels/cuda/fold_moments.cu")].concat()
        }
        Reduction::Mean => [lanes, include_str!("../../../kernels/cuda/fold_mean.cu")].concat(),
        _ if state.dtype == DType::I64 => include_str!("../../../kernels/cuda/fold_integer.cu").to_owned(),
        _ => [lanes, include_str!("../../../kernels/cuda/fold_sum.cu")].concat(),
    }
}

/// What the smallest, or largest, of nothing is.
fn identity(reduction: Reduction, dtype: DType) -> String {
    let is_min = reduction == Reduction::Min;
    let bits = match (dtype, is_min) {
        (DType::Bool, _) => u64::from(is_min),
        (DType::U8 | DType::U32, false) => 0,
        (DType::U8, true) => u64::from(u8::MAX),
        (DType::U32, true) => u64::from(u32::MAX),
        (DType::I16, true) => i16::MAX as u64,
        (DType::I16, false) => u64::from(i16::MIN as u16),
        (DType::I32, true) => i32::MAX as u64,
        (DType::I32, false) => u64::from(i32::MIN as u32),
        (DType::I64, true) => i64::MAX as u64,
        (DType::I64, false) => i64::MIN as u64,
        (DType::F16, true) => 0x7c00,
        (DType::F16, false) => 0xfc00,
        (DType::F32, true) => u64::from(f32::INFINITY.to_bits()),
        (DType::F32, false) => u64::from(f32::NEG_INFINITY.to_bits()),
        (DType::F64, true) => f64::INFINITY.to_bits(),
        (DType::F64, false) => f64::NEG_INFINITY.to_bits(),
    };
    if dtype.kind() == Kind::Bool { bits.to_string() } else { of_bits(dtype, bits) }
}

pub(super) fn combine(reduction: Reduction, state: StateSpec) -> Rendered {
    let words = 3 + STATES_MAX;
    let source = fill(
        include_str!("../../../kernels/cuda/combine.cu"),
        &[("words", &words.to_string()), ("state", &state_source(reduction, state))],
    );
    Rendered { source, functions: vec!["oc_combine"], words, form: Form::Combine(state) }
}

pub(super) fn combine_launch(state: StateSpec, arguments: &Arguments) -> Result<Launch, LaunchError> {
    let states = arguments.operands.len();
    if !(1..=STATES_MAX).contains(&states) {
        return Err(LaunchError::States { found: states, most: STATES_MAX });
    }
    let cells = arguments.output.shape().elements() / state.planes;
    let mut words = vec![Word::Address(Slot::Output, 0), value(cells), value(states)];
    words.extend((0..states).map(|at| Word::Address(Slot::Operand(at), 0)));
    launch(words, cells)
}

pub(super) fn finish(reduction: Reduction, state: StateSpec, output: DType) -> Rendered {
    let variance = |ddof: u32| format!("at[2 * cells] / fmax(at[0] - {ddof}.0, 0.0)");
    let value = match reduction {
        Reduction::Var { ddof } => variance(ddof),
        Reduction::Std { ddof } => format!("__dsqrt_rn({})", variance(ddof)),
        Reduction::Mean => "at[0] / at[cells]".to_owned(),
        _ if state.dtype == DType::Bool => "at[0] != 0".to_owned(),
        _ => "at[0]".to_owned(),
    };
    let source = fill(
        include_str!("../../../kernels/cuda/finish.cu"),
        &[
            ("library", &Library::default().source()),
            ("state", stored_type(state.dtype)),
            ("stored", stored_type(output)),
            ("result", value_type(output)),
            ("value", &value),
        ],
    );
    Rendered { source, functions: vec!["oc_finish"], words: 3, form: Form::Finish }
}

pub(super) fn finish_launch(arguments: &Arguments) -> Result<Launch, LaunchError> {
    let cells = arguments.output.shape().elements();
    if arguments.operands.len() != 1 {
        return Err(LaunchError::States { found: arguments.operands.len(), most: 1 });
    }
    launch(vec![Word::Address(Slot::Output, 0), value(cells), Word::Address(Slot::Operand(0), 0)], cells)
}

fn launch(words: Vec<Word>, cells: usize) -> Result<Launch, LaunchError> {
    let blocks = (blocks_for(cells, BLOCK as usize)?, 1);
    let passes = if cells == 0 { Vec::new() } else { vec![Pass { function: 0, words, blocks }] };
    Ok(Launch { passes, ..Launch::default() })
}
