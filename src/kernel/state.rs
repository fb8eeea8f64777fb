//! The form of a reduction's intermediate states.

use crate::dtype::DType;
use crate::graph::op::{Reduce, Reduction};
use crate::shape::Shape;

/// The arithmetic that a device keeps states in. All tasks of one reduction use one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StateClass {
    /// 64-bit floats: host, simulated devices, CUDA.
    Double,
    /// Unevaluated sums of two floats (a high and a low part), for devices whose `f64` is absent, slow, or not
    /// held to IEEE 754: wgpu. Of two `f32`, and of two `f64` where the values are.
    Pair,
}

/// Planes and type of a state. The planes are its first axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StateSpec {
    /// The arithmetic.
    pub class: StateClass,
    /// Number of planes.
    pub planes: usize,
    /// Element type.
    pub dtype: DType,
}

impl StateSpec {
    /// The state of folding values of type `value`.
    ///
    /// | reduction | `Double` | `Pair` |
    /// |---|---|---|
    /// | sum of floats | sum | sum (2) |
    /// | sum of integers | sum, `i64` | sum, `i64` |
    /// | mean | sum, count | sum (2), count (2) |
    /// | var, std | count, mean, M2 | count (2), mean (2), M2 (2) |
    /// | min, max | value | value |
    /// | count of bins | one plane of `bins` counts, `i64` | the same in `u32` |
    pub fn new(class: StateClass, reduction: Reduction, value: DType) -> Self {
        let (float, width) = match class {
            StateClass::Double => (DType::F64, 1),
            StateClass::Pair if value == DType::F64 => (DType::F64, 2),
            StateClass::Pair => (DType::F32, 2),
        };
        // Values of `f16` are folded as `f32`.
        let value = if value == DType::F16 { DType::F32 } else { value };
        let (planes, dtype) = match reduction {
            Reduction::Sum if value.is_float() => (width, float),
            Reduction::Sum => (1, DType::I64),
            Reduction::Mean => (2 * width, float),
            Reduction::Var { .. } | Reduction::Std { .. } => (3 * width, float),
            Reduction::Min | Reduction::Max => (1, value),
            Reduction::Count { .. } if class == StateClass::Pair => (1, DType::U32),
            Reduction::Count { .. } => (1, DType::I64),
        };
        StateSpec { class, planes, dtype }
    }
}

/// The shape of the state of folding a block of the domain.
pub fn state_shape(reduce: &Reduce, state: StateSpec, block: &Shape) -> Shape {
    match reduce.reduction {
        Reduction::Count { bins } => [bins as usize].into(),
        _ => std::iter::once(state.planes).chain(reduce.kept_shape(block).iter().copied()).collect(),
    }
}
