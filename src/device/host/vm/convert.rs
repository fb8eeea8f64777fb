//! Casts, copies and selections of tiles of any type.

use super::tiles::{self, Binary, Sides, TileFn, Unary};
use crate::device::host::isa::Isa;
use crate::dtype::{DType, half};

/// An element type as tiles hold it, and its conversions: those of Rust's `as`, which saturate, send NaN to 0
/// and wrap between integers. `bool` is a byte and its own case.
pub(in crate::device::host) trait Number: Copy + PartialEq {
    const ZERO: Self;
    fn to_u8(self) -> u8;
    fn to_i16(self) -> i16;
    fn to_i32(self) -> i32;
    fn to_u32(self) -> u32;
    fn to_i64(self) -> i64;
    fn to_f16(self) -> Half;
    fn to_f32(self) -> f32;
    fn to_f64(self) -> f64;
}

macro_rules! number {
    ($($rust:ident: $zero:literal, $wide:ident $to_half:path;)*) => {
        $(impl Number for $rust {
            const ZERO: Self = $zero;
            #[inline(always)]
            fn to_u8(self) -> u8 {
                self as u8
            }
            #[inline(always)]
            fn to_i16(self) -> i16 {
                self as i16
            }
            #[inline(always)]
            fn to_i32(self) -> i32 {
                self as i32
            }
            #[inline(always)]
            fn to_u32(self) -> u32 {
                self as u32
            }
            #[inline(always)]
            fn to_i64(self) -> i64 {
                self as i64
            }
            #[inline(always)]
            fn to_f16(self) -> Half {
                Half($to_half(self as $wide))
            }
            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
        })*
    };
}
// Integers that `f32` rounds are beyond what `f16` holds.
number! {
    u8: 0, f32 half::from_single;
    i16: 0, f32 half::from_single;
    i32: 0, f32 half::from_single;
    u32: 0, f32 half::from_single;
    i64: 0, f32 half::from_single;
    f32: 0.0, f32 half::from_single;
    f64: 0.0, f64 half::from_double;
}

/// The bits of an `f16`: kernels convert it and nothing else.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(in crate::device::host) struct Half(u16);

impl Half {
    pub(in crate::device::host) const INFINITY: Self = Half(0x7c00);
    pub(in crate::device::host) const NEG_INFINITY: Self = Half(0xfc00);
}

macro_rules! by_single {
    ($($name:ident -> $to:ident),*) => {
        $(#[inline(always)]
        fn $name(self) -> $to {
            half::to_single(self.0) as $to
        })*
    };
}

impl Number for Half {
    const ZERO: Self = Half(0);
    by_single!(to_u8 -> u8, to_i16 -> i16, to_i32 -> i32, to_u32 -> u32, to_i64 -> i64, to_f32 -> f32, to_f64 -> f64);
    #[inline(always)]
    fn to_f16(self) -> Half {
        self
    }
}

impl PartialEq for Half {
    #[inline(always)]
    fn eq(&self, other: &Half) -> bool {
        half::to_single(self.0) == half::to_single(other.0)
    }
}

/// Calls a generic function with the Rust type that holds elements of a [`DType`]; `bool` is `u8`.
macro_rules! with_element {
    ($dtype:expr, $function:ident :: <_ $(, $more:tt)*> $args:tt) => {
        match $dtype {
            $crate::dtype::DType::Bool | $crate::dtype::DType::U8 => $function::<u8 $(, $more)*> $args,
            $crate::dtype::DType::I16 => $function::<i16 $(, $more)*> $args,
            $crate::dtype::DType::I32 => $function::<i32 $(, $more)*> $args,
            $crate::dtype::DType::U32 => $function::<u32 $(, $more)*> $args,
            $crate::dtype::DType::I64 => $function::<i64 $(, $more)*> $args,
            $crate::dtype::DType::F16 => {
                $function::<$crate::device::host::vm::convert::Half $(, $more)*> $args
            }
            $crate::dtype::DType::F32 => $function::<f32 $(, $more)*> $args,
            $crate::dtype::DType::F64 => $function::<f64 $(, $more)*> $args,
        }
    };
}
pub(in crate::device::host) use with_element;

/// The loop that converts a tile.
pub(in crate::device::host) fn cast(isa: Isa, from: DType, to: DType) -> TileFn {
    with_element!(from, cast_from::<_>(isa, to))
}

fn cast_from<T: Number>(isa: Isa, to: DType) -> TileFn {
    match to {
        DType::Bool => tiles::unary::<T, u8, ToBool>(isa),
        DType::U8 => tiles::unary::<T, u8, ToU8>(isa),
        DType::I16 => tiles::unary::<T, i16, ToI16>(isa),
        DType::I32 => tiles::unary::<T, i32, ToI32>(isa),
        DType::U32 => tiles::unary::<T, u32, ToU32>(isa),
        DType::I64 => tiles::unary::<T, i64, ToI64>(isa),
        DType::F16 => tiles::unary::<T, Half, ToF16>(isa),
        DType::F32 => tiles::unary::<T, f32, ToF32>(isa),
        DType::F64 => tiles::unary::<T, f64, ToF64>(isa),
    }
}

macro_rules! casts {
    ($($name:ident -> $result:ty: $method:ident;)*) => {
        $(struct $name;
        impl<T: Number> Unary<T, $result> for $name {
            #[inline(always)]
            fn apply(x: T) -> $result {
                x.$method()
            }
        })*
    };
}
casts! {
    ToU8 -> u8: to_u8;
    ToI16 -> i16: to_i16;
    ToI32 -> i32: to_i32;
    ToU32 -> u32: to_u32;
    ToI64 -> i64: to_i64;
    ToF16 -> Half: to_f16;
    ToF32 -> f32: to_f32;
    ToF64 -> f64: to_f64;
}

struct ToBool;

impl<T: Number> Unary<T, u8> for ToBool {
    #[inline(always)]
    fn apply(x: T) -> u8 {
        u8::from(x != T::ZERO)
    }
}

/// The loop that copies a tile of elements of `size` bytes.
pub(super) fn copy(isa: Isa, size: usize) -> TileFn {
    match size {
        1 => tiles::unary::<u8, u8, Same>(isa),
        2 => tiles::unary::<u16, u16, Same>(isa),
        4 => tiles::unary::<u32, u32, Same>(isa),
        _ => tiles::unary::<u64, u64, Same>(isa),
    }
}

/// The loop that fills a tile with its first operand, a scalar (the second is not looked at).
pub(super) fn splat(isa: Isa, size: usize) -> TileFn {
    match size {
        1 => tiles::binary::<u8, u8, Left>(isa, Sides::LeftScalar),
        2 => tiles::binary::<u16, u16, Left>(isa, Sides::LeftScalar),
        4 => tiles::binary::<u32, u32, Left>(isa, Sides::LeftScalar),
        _ => tiles::binary::<u64, u64, Left>(isa, Sides::LeftScalar),
    }
}

/// The loop of a selection between elements of `size` bytes.
pub(super) fn select(isa: Isa, size: usize, scalars: [bool; 3]) -> TileFn {
    match size {
        1 => tiles::select::<u8>(isa, scalars),
        2 => tiles::select::<u16>(isa, scalars),
        4 => tiles::select::<u32>(isa, scalars),
        _ => tiles::select::<u64>(isa, scalars),
    }
}

struct Same;

impl<T> Unary<T, T> for Same {
    #[inline(always)]
    fn apply(x: T) -> T {
        x
    }
}

struct Left;

impl<T> Binary<T, T> for Left {
    #[inline(always)]
    fn apply(x: T, _: T) -> T {
        x
    }
}
