//! The functions that expressions may call: names, costs, and which types they take.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::dtype::{DType, Kind};

/// A function of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the variants are NumPy's function names
pub enum UnaryOp {
    Negative,
    Abs,
    Sign,
    Sqrt,
    Exp,
    Exp2,
    Expm1,
    Log,
    Log2,
    Log10,
    Log1p,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Floor,
    Ceil,
    Round,
    Trunc,
    Not,
    IsNan,
    IsInf,
    IsFinite,
}

/// A function of two values of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the variants are NumPy's function names
pub enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Remainder,
    Power,
    Minimum,
    Maximum,
    Atan2,
    Hypot,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    And,
    Or,
    Xor,
}

impl UnaryOp {
    /// Every function, by its index.
    pub const ALL: [UnaryOp; 28] = {
        use UnaryOp::*;
        [
            Negative, Abs, Sign, Sqrt, Exp, Exp2, Expm1, Log, Log2, Log10, Log1p, Sin, Cos, Tan, Asin, Acos,
            Atan, Sinh, Cosh, Tanh, Floor, Ceil, Round, Trunc, Not, IsNan, IsInf, IsFinite,
        ]
    };

    /// NumPy's name.
    pub const fn name(self) -> &'static str {
        use UnaryOp::*;
        match self {
            Negative => "negative",
            Abs => "abs",
            Sign => "sign",
            Sqrt => "sqrt",
            Exp => "exp",
            Exp2 => "exp2",
            Expm1 => "expm1",
            Log => "log",
            Log2 => "log2",
            Log10 => "log10",
            Log1p => "log1p",
            Sin => "sin",
            Cos => "cos",
            Tan => "tan",
            Asin => "asin",
            Acos => "acos",
            Atan => "atan",
            Sinh => "sinh",
            Cosh => "cosh",
            Tanh => "tanh",
            Floor => "floor",
            Ceil => "ceil",
            Round => "round",
            Trunc => "trunc",
            Not => "not",
            IsNan => "isnan",
            IsInf => "isinf",
            IsFinite => "isfinite",
        }
    }

    /// The type in which an argument of type `dtype` is computed, or `None` when the function doesn't take
    /// it: integers become floats for `sqrt` and the like.
    pub fn operand(self, dtype: DType) -> Option<DType> {
        use UnaryOp::*;
        match self {
            Negative | Sign => (dtype != DType::Bool).then_some(dtype),
            Abs | Floor | Ceil | Round | Trunc => Some(dtype),
            Not => (!dtype.is_float()).then_some(dtype),
            IsNan | IsInf | IsFinite => Some(dtype),
            _ => Some(dtype.to_float()),
        }
    }

    /// The type of the result for an operand of type `dtype`.
    pub fn result(self, dtype: DType) -> DType {
        match self {
            UnaryOp::IsNan | UnaryOp::IsInf | UnaryOp::IsFinite => DType::Bool,
            _ => dtype,
        }
    }

    /// Arithmetic operations, roughly: the length of the polynomial.
    pub const fn flops(self) -> f64 {
        use UnaryOp::*;
        match self {
            Negative | Abs | Sign | Floor | Ceil | Round | Trunc | Not | IsNan | IsInf | IsFinite => 1.0,
            Sqrt => 4.0,
            Exp | Exp2 | Log | Log2 | Log10 => 18.0,
            _ => 28.0,
        }
    }
}

impl BinaryOp {
    /// Every function, by its index.
    pub const ALL: [BinaryOp; 20] = {
        use BinaryOp::*;
        [
            Add,
            Subtract,
            Multiply,
            Divide,
            FloorDivide,
            Remainder,
            Power,
            Minimum,
            Maximum,
            Atan2,
            Hypot,
            Equal,
            NotEqual,
            Less,
            LessEqual,
            Greater,
            GreaterEqual,
            And,
            Or,
            Xor,
        ]
    };

    /// NumPy's name.
    pub const fn name(self) -> &'static str {
        use BinaryOp::*;
        match self {
            Add => "add",
            Subtract => "subtract",
            Multiply => "multiply",
            Divide => "divide",
            FloorDivide => "floor_divide",
            Remainder => "remainder",
            Power => "power",
            Minimum => "minimum",
            Maximum => "maximum",
            Atan2 => "atan2",
            Hypot => "hypot",
            Equal => "equal",
            NotEqual => "not_equal",
            Less => "less",
            LessEqual => "less_equal",
            Greater => "greater",
            GreaterEqual => "greater_equal",
            And => "bitwise_and",
            Or => "bitwise_or",
            Xor => "bitwise_xor",
        }
    }

    /// The operator that Python writes, if there is one.
    pub const fn symbol(self) -> Option<&'static str> {
        use BinaryOp::*;
        Some(match self {
            Add => "+",
            Subtract => "-",
            Multiply => "*",
            Divide => "/",
            FloorDivide => "//",
            Remainder => "%",
            Power => "**",
            Equal => "==",
            NotEqual => "!=",
            Less => "<",
            LessEqual => "<=",
            Greater => ">",
            GreaterEqual => ">=",
            And => "&",
            Or => "|",
            Xor => "^",
            Minimum | Maximum | Atan2 | Hypot => return None,
        })
    }

    /// Whether the result is `bool` whatever the operands.
    pub const fn is_comparison(self) -> bool {
        use BinaryOp::*;
        matches!(self, Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual)
    }

    /// The type in which operands that promote to `dtype` are computed, or `None` when the function doesn't
    /// take it.
    pub fn operand(self, dtype: DType) -> Option<DType> {
        use BinaryOp::*;
        match self {
            Divide | Atan2 | Hypot => Some(dtype.to_float()),
            And | Or | Xor => (!dtype.is_float()).then_some(dtype),
            Subtract | FloorDivide | Remainder | Power => (dtype.kind() != Kind::Bool).then_some(dtype),
            _ => Some(dtype),
        }
    }

    /// The type of the result for operands of type `dtype`.
    pub fn result(self, dtype: DType) -> DType {
        if self.is_comparison() { DType::Bool } else { dtype }
    }

    /// Arithmetic operations, roughly: the length of the polynomial.
    pub const fn flops(self) -> f64 {
        match self {
            BinaryOp::Divide | BinaryOp::FloorDivide | BinaryOp::Remainder => 4.0,
            BinaryOp::Power => 60.0,
            BinaryOp::Atan2 => 30.0,
            BinaryOp::Hypot => 10.0,
            _ => 1.0,
        }
    }
}

/// What a stencil finds beyond the edge of the array, by SciPy's names. Constants are equal when their bits are.
#[derive(Clone, Copy, Debug)]
pub enum EdgeMode {
    /// The edge element, again and again: `a a a | a b c d | d d d`.
    Nearest,
    /// Mirrored about the edge: `c b a | a b c d | d c b`.
    Reflect,
    /// A fixed value.
    Constant(f64),
}

impl EdgeMode {
    /// The element that index `at` (perhaps outside `0..extent`) stands for, or `None` for the constant.
    pub fn resolve(self, at: isize, extent: usize) -> Option<usize> {
        let n = extent as isize;
        if (0..n).contains(&at) {
            return Some(at as usize);
        }
        match self {
            EdgeMode::Nearest => Some(at.clamp(0, n - 1) as usize),
            EdgeMode::Reflect => {
                let folded = at.rem_euclid(2 * n);
                Some(folded.min(2 * n - 1 - folded) as usize)
            }
            EdgeMode::Constant(_) => None,
        }
    }
}

impl EdgeMode {
    fn bits(self) -> (u8, u64) {
        match self {
            EdgeMode::Nearest => (0, 0),
            EdgeMode::Reflect => (1, 0),
            EdgeMode::Constant(value) => (2, value.to_bits()),
        }
    }
}

impl PartialEq for EdgeMode {
    fn eq(&self, other: &Self) -> bool {
        self.bits() == other.bits()
    }
}

impl Eq for EdgeMode {}

/// A neighbourhood operation along one axis. Computed in the node's own type. Numbers are equal when their
/// bits are.
#[derive(Clone, Debug)]
pub enum Stencil {
    /// NumPy's `gradient` with `edge_order=1`: `(x[i+1] − x[i−1]) / (2·spacing)` inside, one-sided
    /// differences over `spacing` at both ends. The axis has at least two elements.
    Gradient {
        /// The axis.
        axis: u8,
        /// Distance between neighbours.
        spacing: f64,
    },
    /// SciPy's `convolve1d`: `y[i] = Σₖ weights[k] · x[i + radius − k]`, for an odd number of weights.
    Convolve {
        /// The axis.
        axis: u8,
        /// The kernel; its middle element weighs the element itself.
        weights: Arc<[f64]>,
        /// What lies beyond the edges.
        mode: EdgeMode,
    },
}

impl Stencil {
    /// The axis along which it reads.
    pub fn axis(&self) -> usize {
        match self {
            Stencil::Gradient { axis, .. } | Stencil::Convolve { axis, .. } => usize::from(*axis),
        }
    }

    /// Elements that it reads on either side.
    pub fn radius(&self) -> usize {
        match self {
            Stencil::Gradient { .. } => 1,
            Stencil::Convolve { weights, .. } => weights.len() / 2,
        }
    }

    /// Elements that it reads in all.
    pub fn taps(&self) -> usize {
        match self {
            Stencil::Gradient { .. } => 2,
            Stencil::Convolve { weights, .. } => weights.len(),
        }
    }

    /// What it finds beyond the edges. A gradient's one-sided ends are its central difference with the
    /// nearest element repeated, over a single spacing.
    pub fn mode(&self) -> EdgeMode {
        match self {
            Stencil::Gradient { .. } => EdgeMode::Nearest,
            Stencil::Convolve { mode, .. } => *mode,
        }
    }

    /// The function's name.
    pub fn name(&self) -> &'static str {
        match self {
            Stencil::Gradient { .. } => "gradient",
            Stencil::Convolve { .. } => "convolve1d",
        }
    }

    pub(crate) fn write(&self, f: &mut fmt::Formatter<'_>, input: u16) -> fmt::Result {
        match self {
            Stencil::Gradient { axis, spacing } => {
                write!(f, "gradient(x{input}, axis={axis}, spacing={spacing:?})")
            }
            Stencil::Convolve { axis, weights, mode } => {
                write!(f, "convolve1d(x{input}, axis={axis}, weights={weights:?}, mode={mode:?})")
            }
        }
    }
}

impl Stencil {
    fn bits(&self) -> (&'static str, usize, (u8, u64), impl Iterator<Item = u64>) {
        let numbers = match self {
            Stencil::Gradient { spacing, .. } => std::slice::from_ref(spacing),
            Stencil::Convolve { weights, .. } => weights,
        };
        (self.name(), self.axis(), self.mode().bits(), numbers.iter().map(|number| number.to_bits()))
    }
}

impl PartialEq for Stencil {
    fn eq(&self, other: &Self) -> bool {
        let (name, axis, mode, numbers) = self.bits();
        let (other_name, other_axis, other_mode, other_numbers) = other.bits();
        (name, axis, mode) == (other_name, other_axis, other_mode) && numbers.eq(other_numbers)
    }
}

impl Eq for Stencil {}

impl Hash for Stencil {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (name, axis, mode, numbers) = self.bits();
        (name, axis, mode).hash(state);
        numbers.for_each(|number| number.hash(state));
    }
}

/// What random numbers look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Distribution {
    /// Uniform over [0, 1).
    Uniform,
    /// Normal, mean 0 and variance 1.
    Normal,
}

impl Distribution {
    /// The name in a pipeline file.
    pub const fn name(self) -> &'static str {
        match self {
            Distribution::Uniform => "uniform",
            Distribution::Normal => "normal",
        }
    }

    pub(crate) const fn flops(self) -> f64 {
        match self {
            Distribution::Uniform => 60.0,
            Distribution::Normal => 110.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_resolve_as_in_scipy() {
        let resolved = |mode: EdgeMode| (-5..9).map(|at| mode.resolve(at, 4)).collect::<Vec<_>>();
        let some = |list: [usize; 14]| list.map(Some).to_vec();
        assert_eq!(resolved(EdgeMode::Nearest), some([0, 0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 3, 3]));
        assert_eq!(resolved(EdgeMode::Reflect), some([3, 3, 2, 1, 0, 0, 1, 2, 3, 3, 2, 1, 0, 0]));
        assert_eq!(EdgeMode::Constant(1.0).resolve(-1, 4), None);
    }

    #[test]
    fn integers_become_floats_only_where_needed() {
        assert_eq!(UnaryOp::Sqrt.operand(DType::U8), Some(DType::F32));
        assert_eq!(UnaryOp::Abs.operand(DType::I64), Some(DType::I64));
        assert_eq!(BinaryOp::Divide.operand(DType::I32), Some(DType::F64));
        assert_eq!(BinaryOp::And.operand(DType::F32), None);
        assert_eq!(BinaryOp::Less.result(DType::F64), DType::Bool);
        assert_eq!(UnaryOp::ALL.len(), UnaryOp::IsFinite as usize + 1);
        assert_eq!(BinaryOp::ALL.len(), BinaryOp::Xor as usize + 1);
    }
}
