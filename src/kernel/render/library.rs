//! The WGSL functions that a kernel calls, each family included when something needs it.

use std::collections::BTreeSet;

use super::element::value_type;
use super::fill;
use crate::dtype::DType;

/// Families of functions, in the order in which they are written out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Family {
    Bits(DType),
    Integer(DType),
    Math,
    FloatDivision,
    Random,
    Pair,
}

/// The families that a kernel needs.
#[derive(Default)]
pub(super) struct Library(BTreeSet<Family>);

impl Library {
    /// `oc_isnan_…`, `oc_isinf_…`, `oc_isfinite_…`, by the bits: WGSL lets compilers assume that there are
    /// neither NaNs nor infinities. And what else needs a function of its own in a float type.
    pub(super) fn add_bits(&mut self, dtype: DType) {
        self.0.insert(Family::Bits(dtype));
    }

    /// `oc_floor_divide_…`, `oc_remainder_…`, `oc_power_…` of integers.
    pub(super) fn add_integer(&mut self, dtype: DType) {
        let wide = match dtype {
            DType::U8 => DType::U32,
            DType::I16 => DType::I32,
            other => other,
        };
        self.0.insert(Family::Integer(wide));
    }

    /// The functions of `f32`.
    pub(super) fn add_math(&mut self) {
        self.0.insert(Family::Math);
        self.add_bits(DType::F32);
    }

    /// `oc_floor_divide` and `oc_remainder` of `f32`.
    pub(super) fn add_float_division(&mut self) {
        self.0.insert(Family::FloatDivision);
    }

    /// `oc_uniform` and `oc_normal`.
    pub(super) fn add_random(&mut self) {
        self.0.insert(Family::Random);
        self.add_math();
    }

    /// Arithmetic on pairs of `f32`.
    pub(super) fn add_pair(&mut self) {
        self.0.insert(Family::Pair);
        self.add_bits(DType::F32);
    }

    /// The text of all of them.
    pub(super) fn source(&self) -> String {
        self.0.iter().map(|family| family.source()).collect()
    }
}

impl Family {
    fn source(self) -> String {
        match self {
            Family::Bits(DType::F64) => include_str!("../../../kernels/wgsl/bits_f64.wgsl").to_owned(),
            Family::Bits(_) => include_str!("../../../kernels/wgsl/bits_f32.wgsl").to_owned(),
            Family::Integer(dtype) => {
                let text = match dtype {
                    DType::U32 => include_str!("../../../kernels/wgsl/integer_unsigned.wgsl"),
                    _ => include_str!("../../../kernels/wgsl/integer_signed.wgsl"),
                };
                fill(text, &[("T", value_type(dtype))])
            }
            Family::Math => {
                let polynomials = include_str!("../../../kernels/wgsl/math.wgsl");
                let composed = include_str!("../../../kernels/wgsl/composed.wgsl");
                [polynomials, composed].concat()
            }
            Family::FloatDivision => include_str!("../../../kernels/wgsl/float_division.wgsl").to_owned(),
            Family::Random => include_str!("../../../kernels/wgsl/random.wgsl").to_owned(),
            Family::Pair => include_str!("../../../kernels/wgsl/pair.wgsl").to_owned(),
        }
    }
}
