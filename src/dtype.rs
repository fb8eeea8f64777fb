//! Element types, their promotion, and the constants that expressions hold.
//!
//! Promotion follows the Python array API standard where it speaks, and NumPy where the standard leaves
//! mixed kinds open (`i32` with `f32` is `f64`).

pub(crate) mod half;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

/// The type of one element of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// One byte, 0 or 1.
    Bool,
    /// Unsigned 8-bit integer.
    U8,
    /// Signed 16-bit integer.
    I16,
    /// Signed 32-bit integer.
    I32,
    /// Unsigned 32-bit integer.
    U32,
    /// Signed 64-bit integer.
    I64,
    /// IEEE 754 binary16. Arithmetic is done in `f32` and rounded after each operation; sums are kept in more.
    F16,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
}

/// The kinds that promotion and weak constants distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `bool`.
    Bool,
    /// Any integer type.
    Integer,
    /// Any floating-point type.
    Float,
}

impl DType {
    /// Every element type, in promotion order within a kind.
    pub const ALL: [DType; 9] = [
        DType::Bool,
        DType::U8,
        DType::I16,
        DType::I32,
        DType::U32,
        DType::I64,
        DType::F16,
        DType::F32,
        DType::F64,
    ];

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            DType::Bool | DType::U8 => 1,
            DType::I16 | DType::F16 => 2,
            DType::I32 | DType::U32 | DType::F32 => 4,
            DType::I64 | DType::F64 => 8,
        }
    }

    /// The short name, as plans and pipeline files write it.
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::U8 => "u8",
            DType::I16 => "i16",
            DType::I32 => "i32",
            DType::U32 => "u32",
            DType::I64 => "i64",
            DType::F16 => "f16",
            DType::F32 => "f32",
            DType::F64 => "f64",
        }
    }

    /// Boolean, integer or floating point.
    pub const fn kind(self) -> Kind {
        match self {
            DType::Bool => Kind::Bool,
            DType::F16 | DType::F32 | DType::F64 => Kind::Float,
            _ => Kind::Integer,
        }
    }

    /// Whether this is `f16`, `f32` or `f64`.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F16 | DType::F32 | DType::F64)
    }

    /// The smallest type that holds both, by NumPy's table: `u8` with `i16` is `i16`, `u32` with `i32` is
    /// `i64`, an integer of more than 16 bits with a float is `f64`, `i16` with `f16` is `f32`.
    pub fn promote(self, other: DType) -> DType {
        use DType::*;
        let (low, high) = if self <= other { (self, other) } else { (other, self) };
        match (low, high) {
            (I16 | I32, U32) => I64,
            (I32 | U32 | I64, F16 | F32) => F64,
            (I16, F16) => F32,
            _ => high,
        }
    }

    /// The floating-point type in which `sqrt`, `/`, `mean` and the like compute for this type: itself for
    /// floats, `f32` up to 16 bits, `f64` beyond.
    pub fn to_float(self) -> DType {
        match self {
            DType::F16 | DType::F32 | DType::F64 => self,
            DType::Bool | DType::U8 | DType::I16 => DType::F32,
            DType::I32 | DType::U32 | DType::I64 => DType::F64,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The name is no element type of Outcrop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown element type '{0}'; known are bool, u8, i16, i32, u32, i64, f16, f32, f64 (or NumPy's names)"
)]
pub struct UnknownDType(pub String);

impl FromStr for DType {
    type Err = UnknownDType;

    /// Reads the short name or NumPy's (`float32`, `uint8`, …).
    fn from_str(name: &str) -> Result<Self, UnknownDType> {
        let long = match name {
            "uint8" => Some(DType::U8),
            "int16" => Some(DType::I16),
            "int32" => Some(DType::I32),
            "uint32" => Some(DType::U32),
            "int64" => Some(DType::I64),
            "float16" => Some(DType::F16),
            "float32" => Some(DType::F32),
            "float64" => Some(DType::F64),
            _ => DType::ALL.into_iter().find(|dtype| dtype.name() == name),
        };
        long.ok_or_else(|| UnknownDType(name.to_owned()))
    }
}

/// A constant in an expression. It is *weak*: `x * 2` keeps the type of `x`, and only a constant of a
/// higher kind changes it (`u8` array `* 0.5` computes in `f32`).
///
/// Constants are equal when they are of one kind and have the same bits: what is computed with 0.0 is not
/// what is computed with −0.0, and NaN is the same constant as itself.
#[derive(Clone, Copy, Debug)]
pub enum Scalar {
    /// `true` or `false`.
    Bool(bool),
    /// An integer literal.
    Int(i64),
    /// A floating-point literal.
    Float(f64),
}

impl Scalar {
    /// The kind that decides weak promotion.
    pub const fn kind(self) -> Kind {
        match self {
            Scalar::Bool(_) => Kind::Bool,
            Scalar::Int(_) => Kind::Integer,
            Scalar::Float(_) => Kind::Float,
        }
    }

    /// The type of the constant next to an array of type `dtype`.
    pub fn beside(self, dtype: DType) -> DType {
        match (self.kind(), dtype.kind()) {
            (Kind::Float, Kind::Integer | Kind::Bool) => dtype.to_float(),
            (Kind::Integer, Kind::Bool) => DType::I64,
            _ => dtype,
        }
    }

    /// The type of the constant on its own: `bool`, `i64` or `f64`.
    pub const fn dtype(self) -> DType {
        match self {
            Scalar::Bool(_) => DType::Bool,
            Scalar::Int(_) => DType::I64,
            Scalar::Float(_) => DType::F64,
        }
    }

    /// The value as `f64`; integers beyond 2^53 round.
    pub fn as_f64(self) -> f64 {
        match self {
            Scalar::Bool(b) => f64::from(u8::from(b)),
            Scalar::Int(i) => i as f64,
            Scalar::Float(x) => x,
        }
    }

    /// The value as `i64`; floats truncate and saturate.
    pub fn as_i64(self) -> i64 {
        match self {
            Scalar::Bool(b) => i64::from(b),
            Scalar::Int(i) => i,
            Scalar::Float(x) => x as i64,
        }
    }

    /// Whether the value is non-zero (NaN counts as true, as in NumPy).
    pub fn as_bool(self) -> bool {
        match self {
            Scalar::Bool(b) => b,
            Scalar::Int(i) => i != 0,
            Scalar::Float(x) => x != 0.0,
        }
    }
}

impl Scalar {
    /// The bits of the value as an element of `dtype`, in the low bytes; the others are 0. Integer constants keep all
    /// their bits, which wrap; floats out of an integer's range saturate, and NaN becomes 0.
    pub(crate) fn element_bits(self, dtype: DType) -> u64 {
        let bits = match (dtype, self) {
            (DType::Bool, _) => u64::from(self.as_bool()),
            (DType::F16, _) => u64::from(half::from_double(self.as_f64())),
            (DType::F32, Scalar::Int(i)) => u64::from((i as f32).to_bits()),
            (DType::F32, _) => u64::from((self.as_f64() as f32).to_bits()),
            (DType::F64, _) => self.as_f64().to_bits(),
            (DType::U8, Scalar::Float(x)) => u64::from(x as u8),
            (DType::I16, Scalar::Float(x)) => x as i16 as u64,
            (DType::I32, Scalar::Float(x)) => x as i32 as u64,
            (DType::U32, Scalar::Float(x)) => u64::from(x as u32),
            _ => self.as_i64() as u64,
        };
        bits & (u64::MAX >> (64 - 8 * dtype.size()))
    }

    fn bits(self) -> (Kind, u64) {
        let bits = match self {
            Scalar::Bool(b) => b.into(),
            Scalar::Int(i) => i as u64,
            Scalar::Float(x) => x.to_bits(),
        };
        (self.kind(), bits)
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.bits() == other.bits()
    }
}

impl Eq for Scalar {}

impl Hash for Scalar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bits().hash(state);
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Bool(b) => write!(f, "{b}"),
            Scalar::Int(i) => write!(f, "{i}"),
            Scalar::Float(x) => write!(f, "{x:?}"),
        }
    }
}

macro_rules! scalar_from {
    ($($from:ty => $variant:ident),*) => {
        $(impl From<$from> for Scalar {
            fn from(value: $from) -> Self {
                Scalar::$variant(value.into())
            }
        })*
    };
}
scalar_from!(bool => Bool, i32 => Int, i64 => Int, f32 => Float, f64 => Float);

/// A Rust type that is stored as elements of a [`DType`].
///
/// Sealed: the element types are those of [`DType`], and every bit pattern of them is valid, save for `bool`,
/// which arrays hold as bytes 0 and 1.
pub trait Element: Copy + Send + Sync + 'static + private::Sealed {
    /// The element type.
    const DTYPE: DType;
}

/// Rust's own is not stable yet.
pub use ::half::f16;

mod private {
    pub trait Sealed {}
}

macro_rules! element {
    ($($rust:ty => $dtype:ident),*) => {
        $(impl private::Sealed for $rust {}
        impl Element for $rust {
            const DTYPE: DType = DType::$dtype;
        })*
    };
}
element!(bool => Bool, u8 => U8, i16 => I16, i32 => I32, u32 => U32, i64 => I64, f16 => F16, f32 => F32, f64 => F64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_convert_as_casts_do() {
        let table = [
            (Scalar::Float(300.0), DType::U8, 255),
            (Scalar::Int(300), DType::U8, 44),
            (Scalar::Float(f64::NAN), DType::I64, 0),
            (Scalar::Int(-1), DType::I16, 0xffff),
            (Scalar::Float(0.1), DType::F32, 0x3dcc_cccd),
            (Scalar::Float(f64::NAN), DType::Bool, 1),
            (Scalar::Float(0.1), DType::F16, 0x2e66),
            (Scalar::Int(70_000), DType::F16, 0x7c00),
        ];
        for (value, dtype, bits) in table {
            assert_eq!(value.element_bits(dtype), bits, "{value} as {dtype}");
        }
    }

    #[test]
    fn promotion_follows_numpy() {
        use DType::*;
        let table = [
            (U8, I16, I16),
            (U8, U32, U32),
            (I16, U32, I64),
            (I32, U32, I64),
            (U32, I64, I64),
            (I16, F32, F32),
            (I32, F32, F64),
            (I64, F64, F64),
            (Bool, U8, U8),
            (Bool, F32, F32),
            (Bool, F16, F16),
            (U8, F16, F16),
            (I16, F16, F32),
            (I32, F16, F64),
            (F16, F32, F32),
            (F16, F64, F64),
        ];
        for (a, b, want) in table {
            assert_eq!(a.promote(b), want, "{a} with {b}");
            assert_eq!(b.promote(a), want, "{b} with {a}");
        }
    }

    #[test]
    fn weak_constants_change_only_the_kind() {
        assert_eq!(Scalar::Float(0.5).beside(DType::U8), DType::F32);
        assert_eq!(Scalar::Int(2).beside(DType::F32), DType::F32);
        assert_eq!(Scalar::Float(2.0).beside(DType::F32), DType::F32);
        assert_eq!(Scalar::Int(2).beside(DType::U8), DType::U8);
    }

    #[test]
    fn names_round_trip() {
        for dtype in DType::ALL {
            assert_eq!(dtype.name().parse(), Ok(dtype));
        }
        assert_eq!("float32".parse(), Ok(DType::F32));
        assert!("complex64".parse::<DType>().unwrap_err().to_string().contains("complex64"));
    }
}
