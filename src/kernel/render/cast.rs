//! Conversions between element types.

use super::element::value_type;
use crate::dtype::{DType, Kind};

/// The expression that converts `x`, a name, as NumPy's `astype` does: integers wrap, floats out of an
/// integer's range saturate, NaN becomes 0. Of `f16` there is to and from `f32`, and from `f64`.
pub(super) fn cast(from: DType, to: DType, x: &str) -> String {
    match (from.kind(), to.kind()) {
        _ if from == to => x.to_owned(),
        _ if from == DType::F16 => format!("oc_half_value({x})"),
        _ if to == DType::F16 => format!("oc_half_of_{from}({x})"),
        (_, Kind::Bool) => truth(from, x),
        (Kind::Bool, Kind::Integer) if to == DType::I64 => format!("i64(u32({x}))"),
        (Kind::Bool, _) if to == DType::F64 => format!("f64(u32({x}))"),
        (Kind::Bool, _) => format!("{}({x})", value_type(to)),
        (Kind::Integer, Kind::Integer) => narrow(from, to, x),
        (Kind::Float, Kind::Integer) => saturate(from, to, x),
        (_, Kind::Float) => format!("{}({x})", value_type(to)),
    }
}

/// Whether `x` is non-zero; NaN is.
fn truth(from: DType, x: &str) -> String {
    format!("!({x} == {}(0))", value_type(from))
}

fn narrow(from: DType, to: DType, x: &str) -> String {
    match (from, to) {
        // naga extends the sign by the target's type.
        (DType::U8 | DType::U32, DType::I64) => format!("i64(u64({x}))"),
        (DType::I64, DType::U8) => format!("u32({x} & 255li)"),
        (DType::I64, DType::U32) => format!("u32({x} & 4294967295li)"),
        (DType::I64, DType::I32) => format!("bitcast<i32>(u32({x} & 4294967295li))"),
        (DType::I64, DType::I16) => format!("extractBits(i32({x} & 65535li), 0u, 16u)"),
        (_, DType::U8) => format!("(u32({x}) & 0xffu)"),
        (_, DType::I16) => format!("extractBits(i32({x}), 0u, 16u)"),
        _ => format!("{}({x})", value_type(to)),
    }
}

/// `low` and `past` are exact in both float types: the least value, and the least float that is too large.
fn saturate(from: DType, to: DType, x: &str) -> String {
    let (low, past, least, greatest) = match to {
        DType::U8 => ("0", "256", "0u", "255u"),
        DType::I16 => ("-32768", "32768", "-32768i", "32767i"),
        DType::U32 => ("0", "4294967296", "0u", "4294967295u"),
        DType::I32 => ("-2147483648", "2147483648", "(-2147483647i - 1i)", "2147483647i"),
        _ => (
            "-9223372036854775808",
            "9223372036854775808",
            "(-9223372036854775807li - 1li)",
            "9223372036854775807li",
        ),
    };
    let (float, integer) = (value_type(from), value_type(to));
    let suffix = if from == DType::F32 { "f" } else { "lf" };
    let bound = |text: &str| format!("({text}.0{suffix})");
    let (low, past) = (bound(low), bound(past));
    // Inside: a value that is safe to convert, whatever `x` is.
    let inside = format!("select({float}(0), {x}, {x} > {low} && {x} < {past})");
    let outside = format!(
        "select({integer}(0), select({least}, {greatest}, {x} >= {past}), {x} <= {low} || {x} >= {past})"
    );
    format!("select({outside}, {integer}({inside}), {x} > {low} && {x} < {past})")
}
