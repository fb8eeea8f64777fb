//! Elementwise functions.

use std::sync::Arc;

use crate::collections::array::build::{MapBuilder, fits};
use crate::collections::array::{Array, Operand};
use crate::dtype::{DType, Kind, Scalar};
use crate::graph::error::GraphError;
use crate::graph::expr::NodeOp;
use crate::graph::expr_ops::{BinaryOp, UnaryOp};
use crate::graph::layer::Layer;

impl Array {
    /// A function of every element.
    #[track_caller]
    pub fn unary(&self, op: UnaryOp) -> Array {
        Array::keep(unary(op, self))
    }

    /// A function of the elements of two operands, which broadcast and promote.
    #[track_caller]
    pub fn binary(op: BinaryOp, left: impl Into<Operand>, right: impl Into<Operand>) -> Array {
        Array::keep(binary(op, left.into(), right.into()))
    }

    /// Elements of `a` where `condition` (a `bool` array) holds, else of `b`.
    #[track_caller]
    pub fn select(condition: &Array, a: impl Into<Operand>, b: impl Into<Operand>) -> Array {
        Array::keep(select(condition, a.into(), b.into()))
    }

    /// The elements converted; floats out of an integer's range saturate, NaN becomes 0.
    #[track_caller]
    pub fn astype(&self, dtype: DType) -> Array {
        let built = || {
            let layer = self.layer()?;
            if layer.dtype() == dtype {
                return Ok(layer.clone());
            }
            let mut map = MapBuilder::default();
            let input = map.input(layer);
            let cast = map.cast(input, dtype);
            map.finish("astype", cast)
        };
        Array::keep(built())
    }

    /// `minimum(maximum(self, low), high)`; NaN stays NaN.
    #[track_caller]
    pub fn clip(&self, low: impl Into<Operand>, high: impl Into<Operand>) -> Array {
        let raised = Array::keep(binary(BinaryOp::Maximum, self.into(), low.into()));
        Array::keep(binary(BinaryOp::Minimum, raised.into(), high.into()))
    }

    /// `self ** exponent`. Integers raised to a negative constant are an error, as in NumPy.
    #[track_caller]
    pub fn power(&self, exponent: impl Into<Operand>) -> Array {
        Array::keep(power(self.into(), exponent.into()))
    }
}

macro_rules! unary_methods {
    ($($(#[$doc:meta])* $name:ident = $op:ident;)*) => {
        impl Array {
            $($(#[$doc])*
            #[track_caller]
            pub fn $name(&self) -> Array {
                Array::keep(unary(UnaryOp::$op, self))
            })*
        }
    };
}

unary_methods! {
    /// Absolute value.
    abs = Abs;
    /// Square root; NaN below 0.
    sqrt = Sqrt;
    /// e^x.
    exp = Exp;
    /// Natural logarithm.
    log = Log;
    /// Sine of radians.
    sin = Sin;
    /// Cosine of radians.
    cos = Cos;
    /// Tangent of radians.
    tan = Tan;
    /// Inverse tangent, in radians.
    atan = Atan;
    /// Hyperbolic tangent.
    tanh = Tanh;
    /// Largest integer not above.
    floor = Floor;
    /// Smallest integer not below.
    ceil = Ceil;
    /// Nearest integer, ties to even.
    round = Round;
    /// Where elements are NaN.
    isnan = IsNan;
}

macro_rules! binary_methods {
    ($($(#[$doc:meta])* $name:ident = $op:ident;)*) => {
        impl Array {
            $($(#[$doc])*
            #[track_caller]
            pub fn $name(&self, other: impl Into<Operand>) -> Array {
                Array::keep(binary(BinaryOp::$op, self.into(), other.into()))
            })*
        }
    };
}

binary_methods! {
    /// Smaller element; NaN when either is.
    minimum = Minimum;
    /// Larger element; NaN when either is.
    maximum = Maximum;
    /// Angle of the point (other, self), in radians.
    atan2 = Atan2;
    /// √(self² + other²) without overflow.
    hypot = Hypot;
    /// Where elements are equal.
    equal = Equal;
    /// Where elements differ.
    not_equal = NotEqual;
    /// Where elements are smaller.
    less = Less;
    /// Where elements are smaller or equal.
    less_equal = LessEqual;
    /// Where elements are larger.
    greater = Greater;
    /// Where elements are larger or equal.
    greater_equal = GreaterEqual;
}

fn unary(op: UnaryOp, array: &Array) -> Result<Arc<Layer>, GraphError> {
    let layer = array.layer()?;
    let dtype = op.operand(layer.dtype()).ok_or(GraphError::DType {
        op: op.name(),
        dtype: layer.dtype(),
        hint: if op == UnaryOp::Not { "compare first" } else { "convert it first, with astype" },
    })?;
    let mut map = MapBuilder::default();
    let input = map.input(layer);
    let operand = map.cast(input, dtype);
    let node = map.expr.push(NodeOp::Unary(op, operand), op.result(dtype));
    map.finish(op.name(), node)
}

pub(super) fn binary(op: BinaryOp, left: Operand, right: Operand) -> Result<Arc<Layer>, GraphError> {
    if op == BinaryOp::Power {
        return power(left, right);
    }
    let common = common_dtype(op, &left, &right)?;
    let dtype = op.operand(common).ok_or(GraphError::DType {
        op: op.name(),
        dtype: common,
        hint: match op {
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => "bitwise operators take bool and integers",
            _ => "convert it first, with astype",
        },
    })?;
    let mut map = MapBuilder::default();
    let a = map.operand(op.name(), &left, dtype)?;
    let b = map.operand(op.name(), &right, dtype)?;
    let node = map.expr.push(NodeOp::Binary(op, a, b), op.result(dtype));
    map.finish(op.name(), node)
}

/// NumPy's fast paths included: `x**2` is `x*x`, `x**0.5` is `sqrt(x)`.
fn power(base: Operand, exponent: Operand) -> Result<Arc<Layer>, GraphError> {
    let name = BinaryOp::Power.name();
    let common = common_dtype(BinaryOp::Power, &base, &exponent)?;
    let hint = "convert it first, with astype";
    let dtype = BinaryOp::Power.operand(common).ok_or(GraphError::DType { op: name, dtype: common, hint })?;
    let mut map = MapBuilder::default();
    let a = map.operand(name, &base, dtype)?;
    let node = match &exponent {
        Operand::Scalar(value) if value.as_f64() == 2.0 => {
            map.expr.push(NodeOp::Binary(BinaryOp::Multiply, a, a), dtype)
        }
        Operand::Scalar(value) if value.as_f64() == 1.0 => a,
        Operand::Scalar(value) if value.as_f64() == 0.5 && dtype.is_float() => {
            map.expr.push(NodeOp::Unary(UnaryOp::Sqrt, a), dtype)
        }
        Operand::Scalar(Scalar::Int(value)) if *value < 0 && dtype.kind() == Kind::Integer => {
            let problem = "integers have no negative powers; convert the base to a float first";
            return Err(GraphError::Argument {
                op: name,
                argument: "exponent",
                value: value.to_string(),
                problem,
            });
        }
        other => {
            let b = map.operand(name, other, dtype)?;
            map.expr.push(NodeOp::Binary(BinaryOp::Power, a, b), dtype)
        }
    };
    map.finish(name, node)
}

fn select(condition: &Array, a: Operand, b: Operand) -> Result<Arc<Layer>, GraphError> {
    let (name, mask) = ("where", condition.layer()?);
    if mask.dtype() != DType::Bool {
        let hint = "the condition must be bool: compare, for example x != 0";
        return Err(GraphError::DType { op: name, dtype: mask.dtype(), hint });
    }
    let dtype = common_dtype(BinaryOp::Add, &a, &b)?;
    let mut map = MapBuilder::default();
    let c = map.input(mask);
    let a = map.operand(name, &a, dtype)?;
    let b = map.operand(name, &b, dtype)?;
    let node = map.expr.push(NodeOp::Select(c, a, b), dtype);
    map.finish(name, node)
}

/// The type that both operands promote to. A comparison with an integer that the array's type can't hold
/// is made in `i64`, so that it is true or false as in mathematics.
fn common_dtype(op: BinaryOp, left: &Operand, right: &Operand) -> Result<DType, GraphError> {
    let weak = |array: &Array, scalar: Scalar| -> Result<DType, GraphError> {
        let dtype = array.dtype()?;
        let beside = scalar.beside(dtype);
        let too_large = beside.kind() == Kind::Integer && !fits(scalar.as_i64(), beside);
        Ok(if op.is_comparison() && too_large { DType::I64 } else { beside })
    };
    match (left, right) {
        (Operand::Array(a), Operand::Array(b)) => Ok(a.dtype()?.promote(b.dtype()?)),
        (Operand::Array(a), Operand::Scalar(s)) | (Operand::Scalar(s), Operand::Array(a)) => weak(a, *s),
        (Operand::Scalar(a), Operand::Scalar(b)) => Ok(a.dtype().promote(b.dtype())),
    }
}
