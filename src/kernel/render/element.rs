//! How element types look in WGSL: in a storage buffer and in an expression.
//!
//! WGSL has no types of 8 or 16 bits, and `bool` can't be stored. Their blocks keep the host's layout, packed
//! into 32-bit words: reading extracts an element, and whoever writes owns a whole word at a time.

use crate::dtype::{DType, Scalar};

/// Type of an element in an expression. Values of packed types stay within their range at every node; `f16` is its bits,
/// and only converted.
pub(super) const fn value_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "bool",
        DType::U8 | DType::U32 | DType::F16 => "u32",
        DType::I16 | DType::I32 => "i32",
        DType::I64 => "i64",
        DType::F32 => "f32",
        DType::F64 => "f64",
    }
}

/// Type of the storage buffer's items.
pub(super) const fn storage_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool | DType::U8 | DType::I16 | DType::U32 | DType::F16 => "u32",
        _ => value_type(dtype),
    }
}

/// Elements in one item of the storage buffer.
pub(crate) const fn lanes(dtype: DType) -> usize {
    match dtype {
        DType::Bool | DType::U8 => 4,
        DType::I16 | DType::F16 => 2,
        _ => 1,
    }
}

/// The expression that reads element `index` (a name, since it may stand twice) of `buffer`.
pub(super) fn load(dtype: DType, buffer: &str, index: &str) -> String {
    match dtype {
        DType::Bool => format!("(extractBits({buffer}[{index} >> 2u], ({index} & 3u) * 8u, 8u) != 0u)"),
        DType::U8 => format!("extractBits({buffer}[{index} >> 2u], ({index} & 3u) * 8u, 8u)"),
        DType::F16 => format!("extractBits({buffer}[{index} >> 1u], ({index} & 1u) * 16u, 16u)"),
        DType::I16 => {
            format!("extractBits(bitcast<i32>({buffer}[{index} >> 1u]), ({index} & 1u) * 16u, 16u)")
        }
        _ => format!("{buffer}[{index}]"),
    }
}

/// The expression of a packed value's bits, at the low end of a word.
pub(super) fn bits(dtype: DType, value: &str) -> String {
    match dtype {
        DType::Bool => format!("u32({value})"),
        DType::I16 => format!("(bitcast<u32>({value}) & 0xffffu)"),
        _ => value.to_owned(),
    }
}

/// Brings the result of integer arithmetic back into the range of a packed type, as wrapping does.
pub(super) fn wrapped(dtype: DType, value: String) -> String {
    match dtype {
        DType::U8 => format!("(({value}) & 0xffu)"),
        DType::I16 => format!("extractBits(({value}), 0u, 16u)"),
        _ => value,
    }
}

/// A constant of the type. What WGSL has no literal for comes from its bits, hidden from the constant
/// evaluator, which refuses it.
pub(super) fn literal(dtype: DType, value: Scalar) -> String {
    match dtype {
        DType::Bool => value.as_bool().to_string(),
        DType::U8 => format!("{}u", integer(value) as u8),
        DType::U32 => format!("{}u", integer(value) as u32),
        DType::I16 => signed(i64::from(integer(value) as i16), "i"),
        DType::I32 => signed(i64::from(integer(value) as i32), "i"),
        DType::I64 => signed(integer(value), "li"),
        DType::F16 => format!("{}u", value.element_bits(dtype)),
        DType::F32 => {
            let single = value.as_f64() as f32;
            let normal = single == 0.0 || single.is_normal();
            let bits = single.to_bits();
            if normal { format!("({single:?}f)") } else { format!("bitcast<f32>({bits}u ^ params[0])") }
        }
        DType::F64 => {
            let double = value.as_f64();
            let normal = double == 0.0 || double.is_normal();
            let bits = double.to_bits();
            if normal {
                format!("({double:?}lf)")
            } else {
                format!("bitcast<f64>({bits}lu ^ u64(params[0]))")
            }
        }
    }
}

fn integer(value: Scalar) -> i64 {
    value.as_i64()
}

/// The most negative value has no literal of its own: its magnitude is out of range.
fn signed(value: i64, suffix: &str) -> String {
    if value < 0 { format!("(-{}{suffix} - 1{suffix})", -(value + 1)) } else { format!("{value}{suffix}") }
}
