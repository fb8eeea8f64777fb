//! A naive interpreter: one element at a time, in scalar Rust, from whole arrays.

use std::ops::Rem;

use outcrop::dtype::{DType, Scalar, f16};
use outcrop::graph::expr::{Expr, NodeId, NodeOp};
use outcrop::graph::expr_ops::{BinaryOp as B, EdgeMode, Stencil, UnaryOp as U};
use outcrop::kernel::math::Float;
use outcrop::shape::Shape;

/// An element.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    Int(i64),
    F16(f16),
    F32(f32),
    F64(f64),
}

/// A whole array, element by element.
#[derive(Clone, Debug)]
pub struct Whole {
    pub dtype: DType,
    pub shape: Shape,
    pub values: Vec<Value>,
}

impl Value {
    pub fn from_f64(x: f64, dtype: DType) -> Value {
        Value::F64(x).cast(dtype)
    }

    pub fn as_f64(self) -> f64 {
        match self {
            Value::Int(i) => i as f64,
            Value::F16(x) => x.into(),
            Value::F32(x) => x.into(),
            Value::F64(x) => x,
        }
    }

    fn as_i64(self) -> i64 {
        match self {
            Value::Int(i) => i,
            Value::F16(x) => f64::from(x) as i64,
            Value::F32(x) => x as i64,
            Value::F64(x) => x as i64,
        }
    }

    pub fn is_true(self) -> bool {
        self.as_f64() != 0.0
    }

    /// NumPy's `astype`, saturating.
    pub fn cast(self, dtype: DType) -> Value {
        let clamp = |low: i64, high: i64, wrapped: i64| match self {
            Value::Int(_) => Value::Int(wrapped),
            Value::F16(_) | Value::F32(_) | Value::F64(_) => Value::Int(self.as_i64().clamp(low, high)),
        };
        let i = self.as_i64();
        match dtype {
            DType::Bool => Value::Int((self.as_f64() != 0.0).into()),
            DType::U8 => clamp(0, 255, (i as u8).into()),
            DType::I16 => clamp(i16::MIN.into(), i16::MAX.into(), (i as i16).into()),
            DType::I32 => clamp(i32::MIN.into(), i32::MAX.into(), (i as i32).into()),
            DType::U32 => clamp(0, u32::MAX.into(), (i as u32).into()),
            DType::I64 => Value::Int(i),
            DType::F16 => Value::F16(half_of(self.as_f64())),
            DType::F32 => Value::F32(match self {
                Value::Int(i) => i as f32,
                Value::F16(x) => x.into(),
                Value::F32(x) => x,
                Value::F64(x) => x as f32,
            }),
            DType::F64 => Value::F64(self.as_f64()),
        }
    }

    /// The same bits, save that all NaN are alike.
    pub fn is_same(self, other: Value) -> bool {
        match (self, other) {
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::F16(a), Value::F16(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
            (Value::F32(a), Value::F32(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
            (Value::F64(a), Value::F64(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
            _ => false,
        }
    }
}

/// The value of a node at a place of the domain.
pub fn evaluate(expr: &Expr, id: NodeId, inputs: &[Whole], shape: &Shape, at: &[usize]) -> Value {
    let node = expr.node(id);
    let of = |id: NodeId| evaluate(expr, id, inputs, shape, at);
    match &node.op {
        NodeOp::Input(i) => {
            let input = &inputs[usize::from(*i)];
            let missing = shape.len() - input.shape.len();
            let place: Vec<usize> = input
                .shape
                .iter()
                .enumerate()
                .map(|(k, &n)| if n == 1 { 0 } else { at[k + missing] })
                .collect();
            input.values[input.shape.ravel(&place)]
        }
        NodeOp::Stencil(i, stencil) => neighbourhood(stencil, &inputs[usize::from(*i)], at),
        NodeOp::Const(Scalar::Float(x)) => Value::from_f64(*x, node.dtype),
        NodeOp::Const(value) => Value::Int(value.as_i64()).cast(node.dtype),
        NodeOp::Index(axis) => Value::Int(at[usize::from(*axis)] as i64),
        NodeOp::Random { .. } => unreachable!("random numbers have their own test"),
        NodeOp::Unary(op, a) => unary(*op, of(*a), expr.node(*a).dtype),
        NodeOp::Binary(op, a, b) => binary(*op, of(*a), of(*b), expr.node(*a).dtype),
        NodeOp::Select(c, a, b) => of(if of(*c).is_true() { *a } else { *b }),
        NodeOp::Cast(a) => of(*a).cast(node.dtype),
    }
}

fn neighbourhood(stencil: &Stencil, input: &Whole, at: &[usize]) -> Value {
    let (axis, extent) = (stencil.axis(), input.shape[stencil.axis()]);
    let element = |index: usize| {
        let mut place = at.to_vec();
        place[axis] = index;
        input.values[input.shape.ravel(&place)]
    };
    let i = at[axis] as isize;
    match stencil {
        Stencil::Gradient { spacing, .. } => {
            let (left, right) =
                (element(at[axis].saturating_sub(1)), element((at[axis] + 1).min(extent - 1)));
            let is_end = at[axis] == 0 || at[axis] + 1 == extent;
            let divisor = Value::from_f64(if is_end { *spacing } else { 2.0 * spacing }, input.dtype);
            let difference = binary(B::Subtract, right, left, input.dtype);
            binary(B::Divide, difference, divisor, input.dtype)
        }
        Stencil::Convolve { weights, mode, .. } => {
            let radius = stencil.radius() as isize;
            let taps = weights.iter().enumerate().map(|(k, &weight)| {
                let value = match mode.resolve(i + radius - k as isize, extent) {
                    Some(index) => element(index),
                    None => {
                        let EdgeMode::Constant(value) = mode else { unreachable!() };
                        Value::from_f64(*value, input.dtype)
                    }
                };
                (weight, value)
            });
            match input.dtype {
                DType::F32 => Value::F32(
                    taps.fold(0.0f32, |sum, (weight, x)| (weight as f32).mul_add(x.as_f64() as f32, sum)),
                ),
                _ => Value::F64(taps.fold(0.0f64, |sum, (weight, x)| weight.mul_add(x.as_f64(), sum))),
            }
        }
    }
}

fn unary(op: U, x: Value, dtype: DType) -> Value {
    match x {
        Value::F16(x) => rounded(unary(op, Value::F32(x.into()), DType::F32)),
        Value::F32(x) => float_unary(op, x, Value::F32),
        Value::F64(x) => float_unary(op, x, Value::F64),
        Value::Int(i) => match op {
            U::Negative => Value::Int(i.wrapping_neg()).cast(dtype),
            U::Abs => Value::Int(i.wrapping_abs()).cast(dtype),
            U::Sign => Value::Int(i.signum()),
            U::Not if dtype == DType::Bool => Value::Int(1 - i),
            U::Not => Value::Int(!i).cast(dtype),
            U::IsNan | U::IsInf => Value::Int(0),
            U::IsFinite => Value::Int(1),
            _ => Value::Int(i),
        },
    }
}

/// The nearest, ties to even. The crate's own conversion of doubles looks at their upper 32 bits alone.
fn half_of(x: f64) -> f16 {
    let about = f16::from_f64(x);
    let near = [-1, 0, 1].map(|step| f16::from_bits(about.to_bits().saturating_add_signed(step)));
    let is_odd = |half: f16| half.to_bits() & 1;
    let distance = |half: f16| (f64::from(half) - x).abs();
    let finite = near.into_iter().filter(|half| half.is_finite() && about.is_finite());
    let nearest = finite.min_by(|&a, &b| distance(a).total_cmp(&distance(b)).then(is_odd(a).cmp(&is_odd(b))));
    nearest.unwrap_or(about)
}

/// A float's result, as `f16`.
fn rounded(value: Value) -> Value {
    if let Value::F32(x) = value { Value::F16(f16::from_f32(x)) } else { value }
}

fn float_unary<T: Float>(op: U, x: T, wrap: fn(T) -> Value) -> Value {
    let number = x.to_f64();
    wrap(match op {
        U::Negative => -x,
        U::Abs => x.abs(),
        U::Sign if number.is_nan() => x,
        U::Sign if number == 0.0 => T::from_f64(0.0),
        U::Sign => T::from_f64(number.signum()),
        U::Sqrt => x.sqrt(),
        U::Exp => x.exp(),
        U::Exp2 => x.exp2(),
        U::Expm1 => x.expm1(),
        U::Log => x.log(),
        U::Log2 => x.log2(),
        U::Log10 => x.log10(),
        U::Log1p => x.log1p(),
        U::Sin => x.sin_any(),
        U::Cos => x.cos_any(),
        U::Tan => x.tan_any(),
        U::Asin => x.asin(),
        U::Acos => x.acos(),
        U::Atan => x.atan(),
        U::Sinh => x.sinh(),
        U::Cosh => x.cosh(),
        U::Tanh => x.tanh(),
        U::Floor => x.floor(),
        U::Ceil => x.ceil(),
        U::Round => x.round(),
        U::Trunc => x.trunc(),
        U::IsNan => return Value::Int(number.is_nan().into()),
        U::IsInf => return Value::Int(number.is_infinite().into()),
        U::IsFinite => return Value::Int(number.is_finite().into()),
        U::Not => unreachable!("floats have no bitwise not"),
    })
}

fn binary(op: B, x: Value, y: Value, dtype: DType) -> Value {
    let order = x.as_f64().partial_cmp(&y.as_f64());
    let order = if let (Value::Int(a), Value::Int(b)) = (x, y) { Some(a.cmp(&b)) } else { order };
    let truth = |holds: bool| Value::Int(holds.into());
    match op {
        B::Equal => return truth(order.is_some_and(|o| o.is_eq())),
        B::NotEqual => return truth(!order.is_some_and(|o| o.is_eq())),
        B::Less => return truth(order.is_some_and(|o| o.is_lt())),
        B::LessEqual => return truth(order.is_some_and(|o| o.is_le())),
        B::Greater => return truth(order.is_some_and(|o| o.is_gt())),
        B::GreaterEqual => return truth(order.is_some_and(|o| o.is_ge())),
        _ => {}
    }
    match (x, y) {
        (Value::F16(x), Value::F16(y)) => {
            rounded(binary(op, Value::F32(x.into()), Value::F32(y.into()), DType::F32))
        }
        (Value::F32(x), Value::F32(y)) => Value::F32(float_binary(op, x, y)),
        (Value::F64(x), Value::F64(y)) => Value::F64(float_binary(op, x, y)),
        _ => int_binary(op, x.as_i64(), y.as_i64(), dtype),
    }
}

fn float_binary<T: Float + Rem<Output = T>>(op: B, x: T, y: T) -> T {
    match op {
        B::FloorDivide | B::Remainder => python_division(op, x, y),
        B::Add => x + y,
        B::Subtract => x - y,
        B::Multiply => x * y,
        B::Divide => x / y,
        B::Power => x.pow(y),
        B::Minimum => x.minimum(y),
        B::Maximum => x.maximum(y),
        B::Atan2 => x.atan2(y),
        B::Hypot => x.hypot(y),
        _ => unreachable!("{op:?} of floats"),
    }
}

/// CPython's `float_divmod`.
fn python_division<T: Float + Rem<Output = T>>(op: B, x: T, y: T) -> T {
    let number = T::from_f64;
    let is_negative = |x: T| x < number(0.0);
    let mut left = x % y;
    let is_off = left.to_f64() != 0.0 && !left.to_f64().is_nan() && is_negative(left) != is_negative(y);
    if op == B::Remainder {
        if left == number(0.0) {
            left = number(if is_negative(y) { -0.0 } else { 0.0 });
        }
        return if is_off { left + y } else { left };
    }
    if y == number(0.0) {
        return x / y;
    }
    let quotient = (x - left) / y - number(if is_off { 1.0 } else { 0.0 });
    if quotient == number(0.0) {
        return number(if is_negative(x / y) { -0.0 } else { 0.0 });
    }
    let floor = quotient.floor();
    if quotient - floor > number(0.5) { floor + number(1.0) } else { floor }
}

fn int_binary(op: B, x: i64, y: i64, dtype: DType) -> Value {
    let is_bool = dtype == DType::Bool;
    let result = match op {
        B::Add if is_bool => x | y,
        B::Add => x.wrapping_add(y),
        B::Subtract => x.wrapping_sub(y),
        B::Multiply => x.wrapping_mul(y),
        B::FloorDivide if y == 0 => 0,
        B::FloorDivide => {
            let (x, y) = (i128::from(x), i128::from(y));
            let rest = x.rem_euclid(y);
            let rest = if rest != 0 && y < 0 { rest + y } else { rest };
            ((x - rest) / y) as i64
        }
        B::Remainder if y == 0 => 0,
        B::Remainder => {
            let (x, y) = (i128::from(x), i128::from(y));
            let rest = x.rem_euclid(y);
            (if rest != 0 && y < 0 { rest + y } else { rest }) as i64
        }
        B::Power if y < 0 => 0,
        B::Power => {
            (0..y.min(200))
                .fold((1i64, x, y), |(r, b, e), _| {
                    (if e & 1 != 0 { r.wrapping_mul(b) } else { r }, b.wrapping_mul(b), e >> 1)
                })
                .0
        }
        B::Minimum => x.min(y),
        B::Maximum => x.max(y),
        B::And => x & y,
        B::Or => x | y,
        B::Xor => x ^ y,
        _ => unreachable!("{op:?} of integers"),
    };
    Value::Int(result).cast(dtype)
}
