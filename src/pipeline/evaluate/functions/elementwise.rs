//! Functions of every element.

use super::super::call::Call;
use super::super::operators::{apply_binary, apply_unary};
use super::super::value::Value;
use super::{Build, Function, Outcome, Parameter, needed, optional};
use crate::collections::Array;
use crate::collections::array::Operand;
use crate::dtype::{DType, Scalar};
use crate::graph::expr_ops::{BinaryOp, UnaryOp};

const X: &[Parameter] = &[needed("x")];
const XY: &[Parameter] = &[needed("x"), needed("y")];

const fn unary(
    name: &'static str,
    aliases: &'static [&'static str],
    op: UnaryOp,
    summary: &'static str,
) -> Function {
    Function { name, aliases, parameters: X, summary, build: Build::Unary(op) }
}

const fn binary(
    name: &'static str,
    aliases: &'static [&'static str],
    op: BinaryOp,
    summary: &'static str,
) -> Function {
    Function { name, aliases, parameters: XY, summary, build: Build::Binary(op) }
}

const fn of_x(
    name: &'static str,
    aliases: &'static [&'static str],
    build: fn(&Call) -> Outcome<Value>,
    summary: &'static str,
) -> Function {
    Function { name, aliases, parameters: X, summary, build: Build::With(build) }
}

pub(super) const TABLE: &[Function] = &[
    unary("sqrt", &[], UnaryOp::Sqrt, "square root; NaN below 0"),
    unary("exp", &[], UnaryOp::Exp, "e to the power x"),
    unary("exp2", &[], UnaryOp::Exp2, "2 to the power x"),
    unary("expm1", &[], UnaryOp::Expm1, "exp(x) - 1, exact near 0"),
    unary("log", &[], UnaryOp::Log, "natural logarithm"),
    unary("log2", &[], UnaryOp::Log2, "logarithm to base 2"),
    unary("log10", &[], UnaryOp::Log10, "logarithm to base 10"),
    unary("log1p", &[], UnaryOp::Log1p, "log(1 + x), exact near 0"),
    unary("sin", &[], UnaryOp::Sin, "sine of radians"),
    unary("cos", &[], UnaryOp::Cos, "cosine of radians"),
    unary("tan", &[], UnaryOp::Tan, "tangent of radians"),
    unary("arcsin", &["asin"], UnaryOp::Asin, "inverse sine, in radians"),
    unary("arccos", &["acos"], UnaryOp::Acos, "inverse cosine, in radians"),
    unary("arctan", &["atan"], UnaryOp::Atan, "inverse tangent, in radians"),
    binary("arctan2", &["atan2"], BinaryOp::Atan2, "angle of the point (y, x) given as (x, y), in radians"),
    unary("sinh", &[], UnaryOp::Sinh, "hyperbolic sine"),
    unary("cosh", &[], UnaryOp::Cosh, "hyperbolic cosine"),
    unary("tanh", &[], UnaryOp::Tanh, "hyperbolic tangent"),
    binary("hypot", &[], BinaryOp::Hypot, "sqrt(x**2 + y**2) without overflow"),
    of_x("radians", &["deg2rad"], radians, "degrees to radians"),
    of_x("degrees", &["rad2deg"], degrees, "radians to degrees"),
    unary("abs", &["absolute", "fabs"], UnaryOp::Abs, "absolute value"),
    unary("sign", &[], UnaryOp::Sign, "-1, 0 or 1"),
    unary("negative", &[], UnaryOp::Negative, "-x"),
    of_x("square", &[], square, "x * x"),
    of_x("reciprocal", &[], reciprocal, "1 / x"),
    unary("floor", &[], UnaryOp::Floor, "largest integer not above x"),
    unary("ceil", &[], UnaryOp::Ceil, "smallest integer not below x"),
    unary("trunc", &["fix"], UnaryOp::Trunc, "x without its fraction"),
    Function {
        name: "round",
        aliases: &["around", "rint"],
        parameters: &[needed("x"), optional("decimals", "0")],
        summary: "nearest integer, or multiple of 10**-decimals; ties to even",
        build: Build::With(round),
    },
    binary("add", &[], BinaryOp::Add, "x + y"),
    binary("subtract", &[], BinaryOp::Subtract, "x - y"),
    binary("multiply", &[], BinaryOp::Multiply, "x * y"),
    binary("divide", &["true_divide"], BinaryOp::Divide, "x / y"),
    binary("floor_divide", &[], BinaryOp::FloorDivide, "x // y"),
    binary("mod", &["remainder"], BinaryOp::Remainder, "x % y, with the sign of y"),
    binary("power", &["pow"], BinaryOp::Power, "x ** y"),
    binary("minimum", &[], BinaryOp::Minimum, "the smaller of both; NaN when either is"),
    binary("maximum", &[], BinaryOp::Maximum, "the larger of both; NaN when either is"),
    Function {
        name: "clip",
        aliases: &[],
        parameters: &[needed("x"), optional("min", "None"), optional("max", "None")],
        summary: "minimum(maximum(x, min), max)",
        build: Build::With(clip),
    },
    Function {
        name: "where",
        aliases: &[],
        parameters: &[needed("condition"), needed("x"), needed("y")],
        summary: "x where the condition (a bool array) holds, else y",
        build: Build::With(select),
    },
    unary("isnan", &[], UnaryOp::IsNan, "whether x is NaN"),
    unary("isinf", &[], UnaryOp::IsInf, "whether x is infinite"),
    unary("isfinite", &[], UnaryOp::IsFinite, "whether x is neither NaN nor infinite"),
    binary("equal", &[], BinaryOp::Equal, "x == y"),
    binary("not_equal", &[], BinaryOp::NotEqual, "x != y"),
    binary("less", &[], BinaryOp::Less, "x < y"),
    binary("less_equal", &[], BinaryOp::LessEqual, "x <= y"),
    binary("greater", &[], BinaryOp::Greater, "x > y"),
    binary("greater_equal", &[], BinaryOp::GreaterEqual, "x >= y"),
    binary("bitwise_and", &[], BinaryOp::And, "x & y"),
    binary("bitwise_or", &[], BinaryOp::Or, "x | y"),
    binary("bitwise_xor", &[], BinaryOp::Xor, "x ^ y"),
    unary("bitwise_not", &["invert"], UnaryOp::Not, "~x"),
    Function {
        name: "logical_and",
        aliases: &[],
        parameters: XY,
        summary: "whether both are non-zero",
        build: Build::With(|call| logical(call, BinaryOp::And)),
    },
    Function {
        name: "logical_or",
        aliases: &[],
        parameters: XY,
        summary: "whether at least one is non-zero",
        build: Build::With(|call| logical(call, BinaryOp::Or)),
    },
    Function {
        name: "logical_xor",
        aliases: &[],
        parameters: XY,
        summary: "whether exactly one is non-zero",
        build: Build::With(|call| logical(call, BinaryOp::Xor)),
    },
    of_x(
        "logical_not",
        &[],
        |call| call.apply(BinaryOp::Equal, call.operand(0)?, false),
        "whether x is zero",
    ),
];

impl Call {
    /// A function of two operands, at this call's place.
    fn apply(&self, op: BinaryOp, left: Operand, right: impl Into<Operand>) -> Outcome<Value> {
        apply_binary(op, left, right.into(), &self.span)
    }

    fn again(&self, value: &Value) -> Outcome<Operand> {
        value.operand("the operand", &self.span)
    }
}

fn radians(call: &Call) -> Outcome<Value> {
    call.apply(BinaryOp::Multiply, call.operand(0)?, std::f64::consts::PI / 180.0)
}

fn degrees(call: &Call) -> Outcome<Value> {
    call.apply(BinaryOp::Multiply, call.operand(0)?, 180.0 / std::f64::consts::PI)
}

fn square(call: &Call) -> Outcome<Value> {
    let x = call.operand(0)?;
    call.apply(BinaryOp::Multiply, x.clone(), x)
}

fn reciprocal(call: &Call) -> Outcome<Value> {
    call.apply(BinaryOp::Divide, Operand::Scalar(1.0.into()), call.operand(0)?)
}

/// NumPy's way for decimals: multiply, round, divide.
fn round(call: &Call) -> Outcome<Value> {
    let x = call.operand(0)?;
    let decimals = call.integer(1)?.unwrap_or(0);
    if !(-300..=300).contains(&decimals) {
        return Err(call.problem(1, "'decimals' of round must lie between -300 and 300"));
    }
    if decimals == 0 {
        return apply_unary(UnaryOp::Round, x, &call.span);
    }
    let unit = libm::pow(10.0, decimals.unsigned_abs() as f64);
    let (there, back) = if decimals > 0 {
        (BinaryOp::Multiply, BinaryOp::Divide)
    } else {
        (BinaryOp::Divide, BinaryOp::Multiply)
    };
    let scaled = call.apply(there, x, unit)?;
    let rounded = apply_unary(UnaryOp::Round, call.again(&scaled)?, &call.span)?;
    call.apply(back, call.again(&rounded)?, unit)
}

fn clip(call: &Call) -> Outcome<Value> {
    let mut value = call.operand(0)?;
    if call.given(1).is_none() && call.given(2).is_none() {
        return Err(call.problem(0, "clip needs 'min' or 'max'"));
    }
    for (at, op) in [(1, BinaryOp::Maximum), (2, BinaryOp::Minimum)] {
        if call.given(at).is_some() {
            value = call.again(&call.apply(op, value, call.operand(at)?)?)?;
        }
    }
    Ok(match value {
        Operand::Array(array) => Value::Array(array),
        Operand::Scalar(scalar) => Value::Scalar(scalar),
    })
}

fn select(call: &Call) -> Outcome<Value> {
    let (x, y) = (call.operand(1)?, call.operand(2)?);
    match call.operand(0)? {
        Operand::Array(condition) => call.built(Array::select(&condition, x, y)),
        Operand::Scalar(condition) => match (x, y) {
            (Operand::Scalar(x), Operand::Scalar(y)) => {
                Ok(Value::Scalar(if condition.as_bool() { x } else { y }))
            }
            // Both take part in the shape and the type of the result.
            (x, y) => {
                let condition = Array::full([1; 0], Scalar::Bool(condition.as_bool()), DType::Bool);
                call.built(Array::select(&condition, x, y))
            }
        },
    }
}

fn logical(call: &Call, op: BinaryOp) -> Outcome<Value> {
    let x = call.apply(BinaryOp::NotEqual, call.operand(0)?, false)?;
    let y = call.apply(BinaryOp::NotEqual, call.operand(1)?, false)?;
    call.apply(op, call.again(&x)?, call.again(&y)?)
}
