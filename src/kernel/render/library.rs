//! The WGSL functions that a kernel calls, each family included when something needs it.

use std::collections::BTreeSet;

use super::element::value_type;
use super::fill;
use crate::dtype::DType;
use crate::graph::expr_ops::{BinaryOp, UnaryOp};

/// Families of functions, in the order in which they are written out. All of `f32` are one; those of `f64` are
/// longer, and apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Family {
    Bits(DType),
    Integer(DType),
    Half(DType),
    Pair(DType),
    Product,
    Single,
    ExpDouble,
    LogDouble,
    AngleDouble,
    ArcDouble,
    PowerDouble,
    Division(DType),
    Philox,
    Random(DType),
}

/// The families that a kernel needs.
#[derive(Default)]
pub(super) struct Library(BTreeSet<Family>);

impl Library {
    /// `oc_isnan_…`, `oc_isinf_…`, `oc_isfinite_…`, by the bits: WGSL lets compilers assume that there are
    /// neither NaNs nor infinities. And what else needs a function of its own in a float type.
    pub(super) fn add_bits(&mut self, dtype: DType) {
        self.add(Family::Bits(dtype));
    }

    /// `oc_floor_divide_…`, `oc_remainder_…`, `oc_power_…` of integers.
    pub(super) fn add_integer(&mut self, dtype: DType) {
        let wide = match dtype {
            DType::U8 => DType::U32,
            DType::I16 => DType::I32,
            other => other,
        };
        self.add(Family::Integer(wide));
    }

    /// What converting from one type to the other calls.
    pub(super) fn add_cast(&mut self, from: DType, to: DType) {
        if from != to && (from == DType::F16 || to == DType::F16) {
            self.add(Family::Half(if from == DType::F64 { from } else { DType::F32 }));
        }
    }

    /// A function of a float that WGSL lacks, or has inexactly.
    pub(super) fn add_unary(&mut self, op: UnaryOp, dtype: DType) {
        use UnaryOp::*;
        self.add(match op {
            _ if dtype == DType::F32 => Family::Single,
            Sin | Cos | Tan => Family::AngleDouble,
            Asin | Acos | Atan => Family::ArcDouble,
            Log | Log1p | Log2 | Log10 => Family::LogDouble,
            _ => Family::ExpDouble,
        });
    }

    /// As [`Library::add_unary`], of two floats.
    pub(super) fn add_binary(&mut self, op: BinaryOp, dtype: DType) {
        self.add(match op {
            BinaryOp::FloorDivide | BinaryOp::Remainder => Family::Division(dtype),
            _ if dtype == DType::F32 => Family::Single,
            BinaryOp::Atan2 => Family::ArcDouble,
            _ => Family::PowerDouble,
        });
    }

    /// `oc_position`, `oc_uniform…` and `oc_normal…`.
    pub(super) fn add_random(&mut self, dtype: DType) {
        self.add(Family::Random(dtype));
    }

    /// Arithmetic on sums of two floats.
    pub(super) fn add_pair(&mut self, dtype: DType) {
        self.add(Family::Pair(dtype));
    }

    fn add(&mut self, family: Family) {
        use Family::*;
        if !self.0.insert(family) {
            return;
        }
        let needs: &[Family] = match family {
            Half(DType::F64) => &[Half(DType::F32)],
            Bits(_) | Integer(_) | Half(_) | Product => &[],
            Pair(dtype) | Division(dtype) => &[Bits(dtype)],
            Single => &[Bits(DType::F32), Product],
            ExpDouble | LogDouble | AngleDouble | ArcDouble => &[Pair(DType::F64)],
            PowerDouble => &[ExpDouble, LogDouble],
            Philox => &[Product],
            Random(DType::F64) => &[Philox, LogDouble, AngleDouble],
            Random(_) => &[Philox, Single],
        };
        needs.iter().for_each(|&need| self.add(need));
    }

    /// The text of all of them.
    pub(super) fn source(&self) -> String {
        self.0.iter().map(|family| family.source()).collect()
    }
}

impl Family {
    fn source(self) -> String {
        macro_rules! text {
            ($name:literal) => {
                include_str!(concat!("../../../kernels/wgsl/", $name, ".wgsl"))
            };
        }
        let text = match self {
            Family::Bits(DType::F64) => text!("bits_f64"),
            Family::Bits(_) => text!("bits_f32"),
            Family::Integer(DType::U32) => return fill(text!("integer_unsigned"), &[("T", "u32")]),
            Family::Integer(dtype) => return fill(text!("integer_signed"), &[("T", value_type(dtype))]),
            Family::Half(DType::F64) => text!("half_f64"),
            Family::Half(_) => text!("half"),
            Family::Pair(dtype) => return fill(text!("pair"), words(dtype)),
            Family::Product => text!("product"),
            Family::Single => return [text!("math"), text!("composed")].concat(),
            Family::ExpDouble => text!("exp_f64"),
            Family::LogDouble => text!("log_f64"),
            Family::AngleDouble => text!("angle_f64"),
            Family::ArcDouble => text!("arc_f64"),
            Family::PowerDouble => text!("power_f64"),
            Family::Division(dtype) => return fill(text!("division"), words(dtype)),
            Family::Philox => text!("philox"),
            Family::Random(DType::F64) => text!("random_f64"),
            Family::Random(_) => text!("random"),
        };
        text.to_owned()
    }
}

/// A float type and its bits, as the templates name them.
fn words(dtype: DType) -> &'static [(&'static str, &'static str)] {
    match dtype {
        DType::F64 => &[
            ("T", "f64"),
            ("U", "u64"),
            ("sign", "0x8000000000000000lu"),
            ("magnitude", "0x7ffffffffffffffflu"),
            ("infinity", "0x7ff0000000000000lu"),
            ("nan", "0x7ff8000000000000lu"),
            ("upper", "0xfffffffff8000000lu"),
            ("one", "0x10000000000000lu"),
            ("digits", "52"),
        ],
        _ => &[
            ("T", "f32"),
            ("U", "u32"),
            ("sign", "0x80000000u"),
            ("magnitude", "0x7fffffffu"),
            ("infinity", "0x7f800000u"),
            ("nan", "0x7fc00000u"),
            ("upper", "0xfffff000u"),
            ("one", "0x800000u"),
            ("digits", "23"),
        ],
    }
}
