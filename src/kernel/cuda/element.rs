//! How element types look in CUDA C++.

use crate::dtype::{DType, Scalar};

/// Type of an element in an expression.
pub(super) const fn value_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "bool",
        _ => stored_type(dtype),
    }
}

/// Type of an element in memory.
pub(super) const fn stored_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool | DType::U8 => "unsigned char",
        DType::I16 => "short",
        DType::I32 => "int",
        DType::U32 => "unsigned int",
        DType::I64 => "long long",
        DType::F16 => "unsigned short",
        DType::F32 => "float",
        DType::F64 => "double",
    }
}

/// A constant, by its bits: nothing is lost on the way through text.
pub(super) fn literal(dtype: DType, value: Scalar) -> String {
    of_bits(dtype, value.element_bits(dtype))
}

/// The value of these bits.
pub(super) fn of_bits(dtype: DType, bits: u64) -> String {
    match dtype {
        DType::Bool => (bits != 0).to_string(),
        DType::F32 => format!("__uint_as_float({bits:#x}u)"),
        DType::F64 => format!("__longlong_as_double((long long){bits:#x}ull)"),
        _ => format!("({}){bits:#x}ull", stored_type(dtype)),
    }
}

/// The expression that reads element `index` of `pointer`.
pub(super) fn load(dtype: DType, pointer: &str, index: &str) -> String {
    match dtype {
        DType::Bool => format!("({pointer}[{index}] != 0)"),
        _ => format!("{pointer}[{index}]"),
    }
}

/// `value`, converted; the identity costs nothing.
pub(super) fn cast(from: DType, to: DType, value: &str) -> String {
    if from == to { value.to_owned() } else { format!("oc_cast<{}>({value})", value_type(to)) }
}
