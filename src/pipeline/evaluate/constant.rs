//! Arithmetic of numbers alone, in `f64` and `i64`: as Python computes them, with NumPy's infinities and NaN
//! for floats.

use crate::dtype::Scalar;
use crate::graph::expr_ops::{BinaryOp, UnaryOp};

/// A function of one number, or why it has none.
pub(super) fn unary(op: UnaryOp, value: Scalar) -> Result<Scalar, String> {
    use UnaryOp::*;
    match (op, value) {
        (Not, Scalar::Bool(flag)) => Ok(Scalar::Bool(!flag)),
        (Not, Scalar::Int(number)) => Ok(Scalar::Int(!number)),
        (Not, Scalar::Float(_)) => Err("'~' takes booleans and integers, not floats".to_owned()),
        (Abs | Floor | Ceil | Round | Trunc, Scalar::Bool(_)) => Ok(value),
        (Floor | Ceil | Round | Trunc, Scalar::Int(_)) => Ok(value),
        (Negative, Scalar::Int(number)) => number.checked_neg().map(Scalar::Int).ok_or_else(too_large),
        (Abs, Scalar::Int(number)) => number.checked_abs().map(Scalar::Int).ok_or_else(too_large),
        (Sign, Scalar::Int(number)) => Ok(Scalar::Int(number.signum())),
        (Negative, Scalar::Bool(flag)) => Ok(Scalar::Int(-i64::from(flag))),
        (IsNan, _) => Ok(Scalar::Bool(value.as_f64().is_nan())),
        (IsInf, _) => Ok(Scalar::Bool(value.as_f64().is_infinite())),
        (IsFinite, _) => Ok(Scalar::Bool(value.as_f64().is_finite())),
        _ => Ok(Scalar::Float(float_unary(op, value.as_f64()))),
    }
}

/// A function of two numbers, or why it has none.
pub(super) fn binary(op: BinaryOp, left: Scalar, right: Scalar) -> Result<Scalar, String> {
    use BinaryOp::*;
    if op.is_comparison() {
        return Ok(Scalar::Bool(compare(op, left, right)));
    }
    match (op, left, right) {
        (And, Scalar::Bool(a), Scalar::Bool(b)) => Ok(Scalar::Bool(a & b)),
        (Or, Scalar::Bool(a), Scalar::Bool(b)) => Ok(Scalar::Bool(a | b)),
        (Xor, Scalar::Bool(a), Scalar::Bool(b)) => Ok(Scalar::Bool(a ^ b)),
        (And | Or | Xor, Scalar::Float(_), _) | (And | Or | Xor, _, Scalar::Float(_)) => {
            Err(format!("'{}' takes booleans and integers, not floats", op.symbol().unwrap_or(op.name())))
        }
        (Divide | Atan2 | Hypot, ..) | (_, Scalar::Float(_), _) | (_, _, Scalar::Float(_)) => {
            if op == Divide && !matches!((left, right), (Scalar::Float(_), _) | (_, Scalar::Float(_))) {
                no_zero(right.as_i64())?;
            }
            Ok(Scalar::Float(float_binary(op, left.as_f64(), right.as_f64())))
        }
        _ => integer_binary(op, left.as_i64(), right.as_i64()),
    }
}

fn float_unary(op: UnaryOp, x: f64) -> f64 {
    use UnaryOp::*;
    match op {
        Negative => -x,
        Abs => libm::fabs(x),
        Sign if x.is_nan() || x == 0.0 => x,
        Sign => libm::copysign(1.0, x),
        Sqrt => libm::sqrt(x),
        Exp => libm::exp(x),
        Exp2 => libm::exp2(x),
        Expm1 => libm::expm1(x),
        Log => libm::log(x),
        Log2 => libm::log2(x),
        Log10 => libm::log10(x),
        Log1p => libm::log1p(x),
        Sin => libm::sin(x),
        Cos => libm::cos(x),
        Tan => libm::tan(x),
        Asin => libm::asin(x),
        Acos => libm::acos(x),
        Atan => libm::atan(x),
        Sinh => libm::sinh(x),
        Cosh => libm::cosh(x),
        Tanh => libm::tanh(x),
        Floor => libm::floor(x),
        Ceil => libm::ceil(x),
        Round => libm::rint(x),
        Trunc => libm::trunc(x),
        // The tests and '~' don't come here.
        Not | IsNan | IsInf | IsFinite => f64::NAN,
    }
}

fn float_binary(op: BinaryOp, a: f64, b: f64) -> f64 {
    use BinaryOp::*;
    match op {
        Add => a + b,
        Subtract => a - b,
        Multiply => a * b,
        Divide => a / b,
        FloorDivide => libm::floor(a / b),
        Remainder => {
            let rest = libm::fmod(a, b);
            if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }
        }
        Power => libm::pow(a, b),
        Minimum if a.is_nan() || b.is_nan() => f64::NAN,
        Maximum if a.is_nan() || b.is_nan() => f64::NAN,
        Minimum => a.min(b),
        Maximum => a.max(b),
        Atan2 => libm::atan2(a, b),
        Hypot => libm::hypot(a, b),
        // Comparisons and bitwise operators don't come here.
        Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual | And | Or | Xor => f64::NAN,
    }
}

fn integer_binary(op: BinaryOp, a: i64, b: i64) -> Result<Scalar, String> {
    use BinaryOp::*;
    let whole = |result: Option<i64>| result.map(Scalar::Int).ok_or_else(too_large);
    match op {
        Add => whole(a.checked_add(b)),
        Subtract => whole(a.checked_sub(b)),
        Multiply => whole(a.checked_mul(b)),
        FloorDivide => {
            no_zero(b)?;
            let quotient = a.checked_div(b).ok_or_else(too_large)?;
            Ok(Scalar::Int(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient }))
        }
        Remainder => {
            no_zero(b)?;
            let rest = a.wrapping_rem(b);
            Ok(Scalar::Int(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }))
        }
        Power if b < 0 => Ok(Scalar::Float(libm::pow(a as f64, b as f64))),
        Power => whole(u32::try_from(b).ok().and_then(|b| a.checked_pow(b)).or(match a {
            0 | 1 => Some(a),
            -1 => Some(if b % 2 == 0 { 1 } else { -1 }),
            _ => None,
        })),
        Minimum => Ok(Scalar::Int(a.min(b))),
        Maximum => Ok(Scalar::Int(a.max(b))),
        And => Ok(Scalar::Int(a & b)),
        Or => Ok(Scalar::Int(a | b)),
        Xor => Ok(Scalar::Int(a ^ b)),
        _ => Ok(Scalar::Float(float_binary(op, a as f64, b as f64))),
    }
}

fn compare(op: BinaryOp, left: Scalar, right: Scalar) -> bool {
    let order = match (left, right) {
        (Scalar::Float(_), _) | (_, Scalar::Float(_)) => left.as_f64().partial_cmp(&right.as_f64()),
        _ => Some(left.as_i64().cmp(&right.as_i64())),
    };
    match op {
        BinaryOp::Equal => order.is_some_and(|order| order.is_eq()),
        BinaryOp::NotEqual => order.is_none_or(|order| order.is_ne()),
        BinaryOp::Less => order.is_some_and(|order| order.is_lt()),
        BinaryOp::LessEqual => order.is_some_and(|order| order.is_le()),
        BinaryOp::Greater => order.is_some_and(|order| order.is_gt()),
        _ => order.is_some_and(|order| order.is_ge()),
    }
}

fn no_zero(divisor: i64) -> Result<(), String> {
    if divisor == 0 { Err("division by zero".to_owned()) } else { Ok(()) }
}

fn too_large() -> String {
    "the result doesn't fit a 64-bit integer; write one of the numbers as a float".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_divide_as_python_does() {
        let table = [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1), (6, -2, -3, 0)];
        for (a, b, quotient, rest) in table {
            let of = |op| binary(op, Scalar::Int(a), Scalar::Int(b)).unwrap();
            assert_eq!(of(BinaryOp::FloorDivide), Scalar::Int(quotient), "{a} // {b}");
            assert_eq!(of(BinaryOp::Remainder), Scalar::Int(rest), "{a} % {b}");
        }
        assert!(binary(BinaryOp::Remainder, Scalar::Int(1), Scalar::Int(0)).is_err());
        assert!(binary(BinaryOp::Divide, Scalar::Int(1), Scalar::Int(0)).is_err());
        assert!(binary(BinaryOp::FloorDivide, Scalar::Int(i64::MIN), Scalar::Int(-1)).is_err());
    }

    #[test]
    fn powers_and_floats() {
        let of = |op, a: Scalar, b: Scalar| binary(op, a, b).unwrap();
        assert_eq!(of(BinaryOp::Power, 2.into(), 10.into()), Scalar::Int(1024));
        assert_eq!(of(BinaryOp::Power, 2.into(), (-1).into()), Scalar::Float(0.5));
        assert!(binary(BinaryOp::Power, Scalar::Int(10), Scalar::Int(99)).is_err());
        assert_eq!(of(BinaryOp::Remainder, (-1.5).into(), 1.0.into()), Scalar::Float(0.5));
        assert_eq!(of(BinaryOp::Divide, 1.0.into(), 0.into()), Scalar::Float(f64::INFINITY));
        assert_eq!(of(BinaryOp::NotEqual, f64::NAN.into(), f64::NAN.into()), Scalar::Bool(true));
        assert_eq!(unary(UnaryOp::Round, 2.5.into()), Ok(Scalar::Float(2.0)));
        assert_eq!(unary(UnaryOp::Cos, 0.into()), Ok(Scalar::Float(1.0)));
    }
}
