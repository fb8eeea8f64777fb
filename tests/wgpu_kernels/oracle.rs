//! A naive interpreter of expressions and reductions, in i64 and f64 with std's functions.

use outcrop::block::Block;
use outcrop::dtype::{DType, Kind, f16};
use outcrop::graph::expr::{Expr, NodeOp};
use outcrop::graph::expr_ops::{BinaryOp, EdgeMode, Stencil, UnaryOp};
use outcrop::kernel::MapKernel;
use outcrop::shape::Shape;

/// One element: integers and booleans exactly, floats as f64.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    Int(i64),
    Float(f64),
}

/// A whole array.
#[derive(Clone, Debug)]
pub struct Array {
    pub dtype: DType,
    pub shape: Shape,
    pub values: Vec<Value>,
}

impl Value {
    pub fn float(self) -> f64 {
        match self {
            Value::Int(i) => i as f64,
            Value::Float(x) => x,
        }
    }

    pub fn int(self) -> i64 {
        match self {
            Value::Int(i) => i,
            Value::Float(x) => x as i64,
        }
    }

    pub fn truth(self) -> bool {
        match self {
            Value::Int(i) => i != 0,
            Value::Float(x) => x != 0.0,
        }
    }

    /// The value as an element of the type: rounded, wrapped, or saturated.
    pub fn cast(self, to: DType) -> Value {
        match (self, to) {
            (value, DType::Bool) => Value::Int(value.truth().into()),
            (value, DType::F32) => Value::Float(match value {
                Value::Int(i) => (i as f32).into(),
                Value::Float(x) => (x as f32).into(),
            }),
            (value, DType::F16) => Value::Float(f16::from_f64(value.float()).into()),
            (value, DType::F64) => Value::Float(value.float()),
            (Value::Int(i), _) => Value::Int(match to {
                DType::U8 => i as u8 as i64,
                DType::I16 => i as i16 as i64,
                DType::I32 => i as i32 as i64,
                DType::U32 => i as u32 as i64,
                _ => i,
            }),
            (Value::Float(x), _) => Value::Int(match to {
                DType::U8 => x as u8 as i64,
                DType::I16 => x as i16 as i64,
                DType::I32 => x as i32 as i64,
                DType::U32 => x as u32 as i64,
                _ => x as i64,
            }),
        }
    }
}

impl Array {
    pub fn new(dtype: DType, shape: impl Into<Shape>, value: impl Fn(usize) -> Value) -> Array {
        let shape = shape.into();
        let values = (0..shape.elements()).map(|e| value(e).cast(dtype)).collect();
        Array { dtype, shape, values }
    }

    pub fn at(&self, index: &[usize]) -> Value {
        self.values[self.shape.ravel(index)]
    }

    /// A host block of the same elements.
    pub fn block(&self) -> Block {
        let shape = self.shape.clone();
        let ints = || self.values.iter().map(|v| v.int());
        let floats = || self.values.iter().map(|v| v.float());
        match self.dtype {
            DType::Bool => Block::from_slice(shape, &ints().map(|i| i != 0).collect::<Vec<_>>()),
            DType::U8 => Block::from_slice(shape, &ints().map(|i| i as u8).collect::<Vec<_>>()),
            DType::I16 => Block::from_slice(shape, &ints().map(|i| i as i16).collect::<Vec<_>>()),
            DType::I32 => Block::from_slice(shape, &ints().map(|i| i as i32).collect::<Vec<_>>()),
            DType::U32 => Block::from_slice(shape, &ints().map(|i| i as u32).collect::<Vec<_>>()),
            DType::I64 => Block::from_slice(shape, &ints().collect::<Vec<_>>()),
            DType::F16 => Block::from_slice(shape, &floats().map(f16::from_f64).collect::<Vec<_>>()),
            DType::F32 => Block::from_slice(shape, &floats().map(|x| x as f32).collect::<Vec<_>>()),
            DType::F64 => Block::from_slice(shape, &floats().collect::<Vec<_>>()),
        }
        .unwrap()
    }
}

/// The elements of a host block.
pub fn values(block: &Block) -> Vec<Value> {
    macro_rules! ints {
        ($($dtype:ident: $rust:ty),*) => {
            match block.dtype() {
                $(DType::$dtype => {
                    let values = block.to_vec::<$rust>().unwrap();
                    values.into_iter().map(|v| Value::Int(v as i64)).collect()
                })*
                DType::F16 | DType::F32 | DType::F64 => {
                    block.to_f64_vec().unwrap().into_iter().map(Value::Float).collect()
                }
            }
        };
    }
    ints!(Bool: bool, U8: u8, I16: i16, I32: i32, U32: u32, I64: i64)
}

/// Output `which` of the map at one index of its domain, over whole input arrays.
pub fn evaluate(map: &MapKernel, inputs: &[Array], index: &[usize], which: usize) -> Value {
    let expr: &Expr = &map.expr;
    let mut found: Vec<Value> = Vec::new();
    for node in expr.nodes() {
        let value = |id: &outcrop::graph::expr::NodeId| found[id.0 as usize];
        let kind_of = |id: &outcrop::graph::expr::NodeId| expr.node(*id).dtype;
        let result = match &node.op {
            NodeOp::Input(i) => {
                let array = &inputs[usize::from(*i)];
                let lead = index.len() - array.shape.len();
                let own: Vec<usize> = (0..array.shape.len())
                    .map(|a| if array.shape[a] == 1 { 0 } else { index[lead + a] })
                    .collect();
                array.at(&own)
            }
            NodeOp::Stencil(i, stencil) => {
                Value::Float(neighbourhood(stencil, &inputs[usize::from(*i)], index))
            }
            NodeOp::Const(scalar) => match scalar.kind() {
                Kind::Float => Value::Float(scalar.as_f64()),
                _ => Value::Int(scalar.as_i64()),
            },
            NodeOp::Index(axis) => Value::Int(index[usize::from(*axis)] as i64),
            NodeOp::Random { .. } => panic!("random numbers have a test of their own"),
            NodeOp::Unary(op, a) => unary(*op, kind_of(a), value(a)),
            NodeOp::Binary(op, a, b) => binary(*op, kind_of(a), value(a), value(b)),
            NodeOp::Select(c, a, b) => {
                if value(c).truth() {
                    value(a)
                } else {
                    value(b)
                }
            }
            NodeOp::Cast(a) => value(a),
        };
        found.push(result.cast(node.dtype));
    }
    found[expr.outputs()[which].0 as usize]
}

fn neighbourhood(stencil: &Stencil, array: &Array, index: &[usize]) -> f64 {
    let axis = stencil.axis();
    let extent = array.shape[axis];
    let read = |offset: isize| -> f64 {
        let at = index[axis] as isize + offset;
        match stencil.mode().resolve(at, extent) {
            Some(at) => {
                let mut index = index.to_vec();
                index[axis] = at;
                array.at(&index).float()
            }
            None => match stencil.mode() {
                EdgeMode::Constant(value) => value,
                _ => unreachable!(),
            },
        }
    };
    match stencil {
        Stencil::Gradient { spacing, .. } => {
            let ends = index[axis] == 0 || index[axis] + 1 == extent;
            (read(1) - read(-1)) / if ends { *spacing } else { 2.0 * spacing }
        }
        Stencil::Convolve { weights, .. } => {
            let radius = (weights.len() / 2) as isize;
            weights.iter().enumerate().map(|(k, w)| w * read(radius - k as isize)).sum()
        }
    }
}

pub fn unary(op: UnaryOp, dtype: DType, a: Value) -> Value {
    use UnaryOp::*;
    if let Value::Int(i) = a {
        return Value::Int(match op {
            Negative => i.wrapping_neg(),
            Abs => i.wrapping_abs(),
            Sign => i.signum(),
            Not if dtype == DType::Bool => 1 - i,
            Not => !i,
            IsNan | IsInf => 0,
            IsFinite => 1,
            _ => i,
        });
    }
    let x = a.float();
    let flag = |b: bool| Value::Int(b.into());
    Value::Float(match op {
        Negative => -x,
        Abs => x.abs(),
        Sign => {
            if x == 0.0 || x.is_nan() {
                x
            } else {
                x.signum()
            }
        }
        Sqrt => x.sqrt(),
        Exp => x.exp(),
        Exp2 => x.exp2(),
        Expm1 => x.exp_m1(),
        Log => x.ln(),
        Log2 => x.log2(),
        Log10 => x.log10(),
        Log1p => x.ln_1p(),
        Sin => x.sin(),
        Cos => x.cos(),
        Tan => x.tan(),
        Asin => x.asin(),
        Acos => x.acos(),
        Atan => x.atan(),
        Sinh => x.sinh(),
        Cosh => x.cosh(),
        Tanh => x.tanh(),
        Floor => x.floor(),
        Ceil => x.ceil(),
        Round => x.round_ties_even(),
        Trunc => x.trunc(),
        IsNan => return flag(x.is_nan()),
        IsInf => return flag(x.is_infinite()),
        IsFinite => return flag(x.is_finite()),
        Not => panic!("not of a float"),
    })
}

pub fn binary(op: BinaryOp, dtype: DType, a: Value, b: Value) -> Value {
    use BinaryOp::*;
    let flag = |b: bool| Value::Int(b.into());
    let (x, y) = (a.float(), b.float());
    match (op, a, b) {
        (Equal, Value::Int(a), Value::Int(b)) => flag(a == b),
        (NotEqual, Value::Int(a), Value::Int(b)) => flag(a != b),
        (Less, Value::Int(a), Value::Int(b)) => flag(a < b),
        (LessEqual, Value::Int(a), Value::Int(b)) => flag(a <= b),
        (Greater, Value::Int(a), Value::Int(b)) => flag(a > b),
        (GreaterEqual, Value::Int(a), Value::Int(b)) => flag(a >= b),
        (Equal, ..) => flag(x == y),
        (NotEqual, ..) => flag(x != y),
        (Less, ..) => flag(x < y),
        (LessEqual, ..) => flag(x <= y),
        (Greater, ..) => flag(x > y),
        (GreaterEqual, ..) => flag(x >= y),
        (_, Value::Int(a), Value::Int(b)) => Value::Int(integer(op, dtype, a, b)),
        _ => Value::Float(match op {
            Add => x + y,
            Subtract => x - y,
            Multiply => x * y,
            Divide => x / y,
            Power => x.powf(y),
            Minimum if x.is_nan() || y.is_nan() => f64::NAN,
            Maximum if x.is_nan() || y.is_nan() => f64::NAN,
            Minimum => x.min(y),
            Maximum => x.max(y),
            Atan2 => x.atan2(y),
            Hypot => x.hypot(y),
            FloorDivide if y == 0.0 => x / y,
            FloorDivide if y.is_infinite() && x.is_finite() => {
                if x * y < 0.0 {
                    -1.0
                } else {
                    0.0
                }
            }
            FloorDivide => ((x - python_remainder(x, y)) / y).round(),
            Remainder => python_remainder(x, y),
            _ => panic!("{} of floats", op.name()),
        }),
    }
}

fn python_remainder(x: f64, y: f64) -> f64 {
    let rest = x % y;
    if rest != 0.0 && (rest < 0.0) != (y < 0.0) { rest + y } else { rest }
}

fn integer(op: BinaryOp, dtype: DType, a: i64, b: i64) -> i64 {
    use BinaryOp::*;
    let bool = dtype == DType::Bool;
    match op {
        Add if bool => a | b,
        Add => a.wrapping_add(b),
        Subtract => a.wrapping_sub(b),
        Multiply => a.wrapping_mul(b),
        Minimum => a.min(b),
        Maximum => a.max(b),
        And => a & b,
        Or => a | b,
        Xor => a ^ b,
        FloorDivide | Remainder if b == 0 => 0,
        FloorDivide => {
            let q = a.wrapping_div(b);
            if a.wrapping_rem(b) != 0 && (a.wrapping_rem(b) < 0) != (b < 0) { q - 1 } else { q }
        }
        Remainder => {
            let rest = a.wrapping_rem(b);
            if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }
        }
        Power if b < 0 => 0,
        Power => {
            (0..b.min(70)).fold(1i64, |product, _| Value::Int(product.wrapping_mul(a)).cast(dtype).int())
        }
        _ => panic!("{} of integers", op.name()),
    }
}
