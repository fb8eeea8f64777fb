//! The expressions of unary and binary functions.

use super::element::{value_type, wrapped};
use super::library::Library;
use crate::dtype::{DType, Kind};
use crate::graph::expr_ops::{BinaryOp, UnaryOp};

/// `op` of `x`, a name of a value of type `dtype`.
pub(super) fn unary(op: UnaryOp, dtype: DType, x: &str, library: &mut Library) -> String {
    use UnaryOp::*;
    let kind = dtype.kind();
    let ty = value_type(dtype);
    match op {
        Negative if kind == Kind::Float => format!("-{x}"),
        Negative => wrapped(dtype, format!("{ty}(0) - {x}")),
        Abs if kind == Kind::Float => format!("abs({x})"),
        Abs if is_signed(dtype) => wrapped(dtype, format!("select({x}, {ty}(0) - {x}, {x} < {ty}(0))")),
        Sign if is_signed(dtype) => {
            format!("select(select({x}, {ty}(1), {x} > {ty}(0)), {ty}(-1), {x} < {ty}(0))")
        }
        Sign => format!("select({ty}(0), {ty}(1), {x} > {ty}(0))"),
        Round if dtype == DType::F64 => {
            library.add_bits(dtype);
            format!("oc_round_f64({x})")
        }
        Floor | Ceil | Round | Trunc if kind == Kind::Float => format!("{}({x})", op.name()),
        Not if kind == Kind::Bool => format!("!{x}"),
        Not => wrapped(dtype, format!("~{x}")),
        IsNan | IsInf | IsFinite if kind == Kind::Float => {
            library.add_bits(dtype);
            format!("oc_{}_{dtype}({x})", op.name())
        }
        IsNan | IsInf => "false".to_owned(),
        IsFinite => "true".to_owned(),
        Sqrt => format!("sqrt({x})"),
        Abs | Floor | Ceil | Round | Trunc => x.to_owned(),
        _ => {
            library.add_unary(op, dtype);
            format!("oc_{}{}({x})", op.name(), suffix(dtype))
        }
    }
}

/// `op` of `a` and `b`, names of values of type `dtype`.
pub(super) fn binary(op: BinaryOp, dtype: DType, a: &str, b: &str, library: &mut Library) -> String {
    use BinaryOp::*;
    match (op, dtype.kind()) {
        (Equal, _) => format!("({a} == {b})"),
        // `!=` on floats is the ordered comparison in SPIR-V, false for NaN.
        (NotEqual, _) => format!("!({a} == {b})"),
        (Less | LessEqual | Greater | GreaterEqual, Kind::Bool) => {
            format!("(u32({a}) {} u32({b}))", symbol(op))
        }
        (Less | LessEqual | Greater | GreaterEqual, _) => format!("({a} {} {b})", symbol(op)),
        (Add | Maximum | Or, Kind::Bool) => format!("({a} || {b})"),
        (Multiply | Minimum | And, Kind::Bool) => format!("({a} && {b})"),
        (Xor, Kind::Bool) => format!("({a} != {b})"),
        (Minimum | Maximum, Kind::Float) => {
            library.add_bits(dtype);
            let less = if op == Minimum { "<" } else { ">" };
            format!(
                "select(select({b}, {a}, {a} {less} {b} || oc_isnan_{dtype}({a})), {b}, oc_isnan_{dtype}({b}))"
            )
        }
        (Minimum, _) => format!("select({b}, {a}, {a} < {b})"),
        (Maximum, _) => format!("select({b}, {a}, {a} > {b})"),
        (FloorDivide | Remainder | Power, Kind::Integer) => {
            library.add_integer(dtype);
            wrapped(dtype, format!("oc_{}_{}({a}, {b})", op.name(), value_type(dtype)))
        }
        (FloorDivide | Remainder, _) => {
            library.add_binary(op, dtype);
            format!("oc_{}_{dtype}({a}, {b})", op.name())
        }
        (Power | Atan2 | Hypot, _) => {
            library.add_binary(op, dtype);
            let name = if op == Power { "pow" } else { op.name() };
            format!("oc_{name}{}({a}, {b})", suffix(dtype))
        }
        (Add | Subtract | Multiply | Divide | And | Or | Xor, _) => {
            wrapped(dtype, format!("({a} {} {b})", symbol(op)))
        }
    }
}

/// What the names of a float type's functions end with.
pub(super) fn suffix(dtype: DType) -> &'static str {
    if dtype == DType::F64 { "_f64" } else { "" }
}

fn symbol(op: BinaryOp) -> &'static str {
    op.symbol().unwrap_or_default()
}

fn is_signed(dtype: DType) -> bool {
    matches!(dtype, DType::I16 | DType::I32 | DType::I64 | DType::F32 | DType::F64)
}
