//! The CUDA C++ functions that a kernel calls, each family included when something needs it.

use std::collections::BTreeSet;

use crate::dtype::DType;
use crate::graph::expr_ops::{BinaryOp, UnaryOp};

/// Texts of functions, in the order in which they are written out: each may call those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Family {
    Division,
    Bits,
    Single,
    Double,
    Functions,
    ExpSingle,
    ExpDouble,
    Power,
    PowerSingle,
    PowerDouble,
    Scalbn,
    Angle,
    AngleSingle,
    AngleDouble,
    LibmSingle,
    LibmDouble,
    Random,
}

/// The families that a kernel needs, besides arithmetic and conversions.
#[derive(Clone, Debug, Default)]
pub(super) struct Library(BTreeSet<Family>);

impl Library {
    /// `oc_…` of one value.
    pub(super) fn need_unary(&mut self, op: UnaryOp, dtype: DType) {
        use UnaryOp::*;
        let of = |single: Family, double: Family| if dtype == DType::F32 { single } else { double };
        match op {
            Negative | Abs | Sign | Sqrt | Floor | Ceil | Round | Trunc | Not | IsNan | IsInf | IsFinite => {}
            Atan => self.add(of(Family::Single, Family::Double)),
            Log | Asin | Acos | Tanh => {
                self.add(of(Family::Single, Family::Double));
                self.add(Family::Functions);
            }
            Exp => self.add(of(Family::ExpSingle, Family::ExpDouble)),
            Sin | Cos | Tan => self.add(of(Family::AngleSingle, Family::AngleDouble)),
            Exp2 | Expm1 | Log2 | Log10 | Log1p | Sinh | Cosh => {
                self.add(of(Family::LibmSingle, Family::LibmDouble));
            }
        }
    }

    /// `oc_…` of two values.
    pub(super) fn need_binary(&mut self, op: BinaryOp, dtype: DType) {
        use BinaryOp::*;
        let of = |single: Family, double: Family| if dtype == DType::F32 { single } else { double };
        match op {
            FloorDivide | Remainder => self.add(Family::Division),
            Power if !dtype.is_float() => self.add(Family::Division),
            Power | Hypot => self.add(of(Family::PowerSingle, Family::PowerDouble)),
            Atan2 => self.add(of(Family::Single, Family::Double)),
            _ => {}
        }
    }

    /// `oc_uniform` and `oc_normal`.
    pub(super) fn need_random(&mut self) {
        self.add(Family::Random);
    }

    fn add(&mut self, family: Family) {
        use Family::*;
        let needs: &[Family] = match family {
            Division | Bits => &[],
            Single | Double | Functions | Power | Scalbn => &[Bits],
            ExpSingle => &[Single, Functions],
            ExpDouble => &[Double, Functions],
            PowerSingle => &[Single, Power],
            PowerDouble => &[ExpDouble, Power],
            Angle => &[Scalbn],
            AngleSingle => &[Single, Functions, Angle],
            AngleDouble => &[Double, Functions, Angle],
            LibmSingle => &[Bits],
            LibmDouble => &[Scalbn],
            Random => &[Single, Double, Functions],
        };
        if self.0.insert(family) {
            needs.iter().for_each(|&need| self.add(need));
        }
    }

    /// The text of all of them.
    pub(super) fn source(&self) -> String {
        let scalar = include_str!("../../../kernels/cuda/scalar.cu");
        std::iter::once(scalar).chain(self.0.iter().map(|family| family.source())).collect()
    }
}

impl Family {
    fn source(self) -> &'static str {
        macro_rules! text {
            ($name:literal) => {
                include_str!(concat!("../../../kernels/cuda/", $name, ".cu"))
            };
        }
        match self {
            Family::Division => text!("division"),
            Family::Bits => text!("math"),
            Family::Single => text!("single"),
            Family::Double => text!("double"),
            Family::Functions => text!("functions"),
            Family::ExpSingle => text!("exp_single"),
            Family::ExpDouble => text!("exp_double"),
            Family::Power => text!("power"),
            Family::PowerSingle => text!("power_single"),
            Family::PowerDouble => text!("power_double"),
            Family::Scalbn => text!("scalbn"),
            Family::Angle => text!("angle"),
            Family::AngleSingle => text!("angle_single"),
            Family::AngleDouble => text!("angle_double"),
            Family::LibmSingle => text!("libm_single"),
            Family::LibmDouble => text!("libm_double"),
            Family::Random => text!("random"),
        }
    }
}
