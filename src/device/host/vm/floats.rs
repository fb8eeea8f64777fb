//! Operations on `f32` and `f64` tiles.

use std::marker::PhantomData;
use std::ops::Rem;

use super::tiles::{self, Binary, Sides, TileArgs, TileFn, Unary};
use crate::device::host::isa::{Body, Isa};
use crate::graph::expr_ops::{BinaryOp, UnaryOp};
use crate::kernel::math::Float;

/// A float that has the exact remainder of a truncated division too.
pub(super) trait Real: Float + Rem<Output = Self> {}
impl Real for f32 {}
impl Real for f64 {}

/// The loop of a function of one value, or `None` when floats have no such function.
pub(super) fn unary<T: Real>(isa: Isa, op: UnaryOp) -> Option<TileFn> {
    use UnaryOp as U;
    Some(match op {
        U::Negative => tiles::unary::<T, T, Negative>(isa),
        U::Abs => tiles::unary::<T, T, Abs>(isa),
        U::Sign => tiles::unary::<T, T, Sign>(isa),
        U::Sqrt => tiles::unary::<T, T, Sqrt>(isa),
        U::Exp => tiles::unary::<T, T, Exp>(isa),
        U::Exp2 => tiles::unary::<T, T, Exp2>(isa),
        U::Expm1 => tiles::unary::<T, T, Expm1>(isa),
        U::Log => tiles::unary::<T, T, Log>(isa),
        U::Log2 => tiles::unary::<T, T, Log2>(isa),
        U::Log10 => tiles::unary::<T, T, Log10>(isa),
        U::Log1p => tiles::unary::<T, T, Log1p>(isa),
        U::Sin => isa.pick::<TrigTile<T, Sin>>(),
        U::Cos => isa.pick::<TrigTile<T, Cos>>(),
        U::Tan => isa.pick::<TrigTile<T, Tan>>(),
        U::Asin => tiles::unary::<T, T, Asin>(isa),
        U::Acos => tiles::unary::<T, T, Acos>(isa),
        U::Atan => tiles::unary::<T, T, Atan>(isa),
        U::Sinh => tiles::unary::<T, T, Sinh>(isa),
        U::Cosh => tiles::unary::<T, T, Cosh>(isa),
        U::Tanh => tiles::unary::<T, T, Tanh>(isa),
        U::Floor => tiles::unary::<T, T, Floor>(isa),
        U::Ceil => tiles::unary::<T, T, Ceil>(isa),
        U::Round => tiles::unary::<T, T, Round>(isa),
        U::Trunc => tiles::unary::<T, T, Trunc>(isa),
        U::IsNan => tiles::unary::<T, u8, IsNan>(isa),
        U::IsInf => tiles::unary::<T, u8, IsInf>(isa),
        U::IsFinite => tiles::unary::<T, u8, IsFinite>(isa),
        U::Not => return None,
    })
}

/// The loop of a function of two values, or `None` when floats have no such function.
pub(super) fn binary<T: Real>(isa: Isa, op: BinaryOp, sides: Sides) -> Option<TileFn> {
    use BinaryOp as B;
    Some(match op {
        B::Add => tiles::binary::<T, T, Add>(isa, sides),
        B::Subtract => tiles::binary::<T, T, Subtract>(isa, sides),
        B::Multiply => tiles::binary::<T, T, Multiply>(isa, sides),
        B::Divide => tiles::binary::<T, T, Divide>(isa, sides),
        B::FloorDivide => tiles::binary::<T, T, FloorDivide>(isa, sides),
        B::Remainder => tiles::binary::<T, T, Remainder>(isa, sides),
        B::Power => tiles::binary::<T, T, Power>(isa, sides),
        B::Minimum => tiles::binary::<T, T, Minimum>(isa, sides),
        B::Maximum => tiles::binary::<T, T, Maximum>(isa, sides),
        B::Atan2 => tiles::binary::<T, T, Atan2>(isa, sides),
        B::Hypot => tiles::binary::<T, T, Hypot>(isa, sides),
        B::Equal => tiles::binary::<T, u8, Equal>(isa, sides),
        B::NotEqual => tiles::binary::<T, u8, NotEqual>(isa, sides),
        B::Less => tiles::binary::<T, u8, Less>(isa, sides),
        B::LessEqual => tiles::binary::<T, u8, LessEqual>(isa, sides),
        B::Greater => tiles::binary::<T, u8, Greater>(isa, sides),
        B::GreaterEqual => tiles::binary::<T, u8, GreaterEqual>(isa, sides),
        B::And | B::Or | B::Xor => return None,
    })
}

macro_rules! unary_ops {
    ($($name:ident -> $result:ty: |$x:ident| $value:expr;)*) => {
        $(pub(super) struct $name;
        impl<T: Real> Unary<T, $result> for $name {
            #[inline(always)]
            fn apply($x: T) -> $result {
                $value
            }
        })*
    };
}
macro_rules! binary_ops {
    ($($name:ident -> $result:ty: |$x:ident, $y:ident| $value:expr;)*) => {
        $(pub(super) struct $name;
        impl<T: Real> Binary<T, $result> for $name {
            #[inline(always)]
            fn apply($x: T, $y: T) -> $result {
                $value
            }
        })*
    };
}

unary_ops! {
    Negative -> T: |x| -x;
    Abs -> T: |x| x.abs();
    Sign -> T: |x| sign(x);
    Sqrt -> T: |x| x.sqrt();
    Exp -> T: |x| x.exp();
    Exp2 -> T: |x| x.exp2();
    Expm1 -> T: |x| x.expm1();
    Log -> T: |x| x.log();
    Log2 -> T: |x| x.log2();
    Log10 -> T: |x| x.log10();
    Log1p -> T: |x| x.log1p();
    Asin -> T: |x| x.asin();
    Acos -> T: |x| x.acos();
    Atan -> T: |x| x.atan();
    Sinh -> T: |x| x.sinh();
    Cosh -> T: |x| x.cosh();
    Tanh -> T: |x| x.tanh();
    Floor -> T: |x| x.floor();
    Ceil -> T: |x| x.ceil();
    Round -> T: |x| x.round();
    Trunc -> T: |x| x.trunc();
    IsNan -> u8: |x| u8::from(is_nan(x));
    IsInf -> u8: |x| u8::from(x.abs() == T::from_f64(f64::INFINITY));
    IsFinite -> u8: |x| u8::from(x.abs() < T::from_f64(f64::INFINITY));
}

binary_ops! {
    Add -> T: |x, y| x + y;
    Subtract -> T: |x, y| x - y;
    // A pair's second operation may have its operands the other way round.
    SubtractFrom -> T: |x, y| y - x;
    Multiply -> T: |x, y| x * y;
    Divide -> T: |x, y| x / y;
    FloorDivide -> T: |x, y| floor_divide(x, y);
    Remainder -> T: |x, y| remainder(x, y);
    Power -> T: |x, y| x.pow(y);
    Minimum -> T: |x, y| x.minimum(y);
    Maximum -> T: |x, y| x.maximum(y);
    Atan2 -> T: |x, y| x.atan2(y);
    Hypot -> T: |x, y| x.hypot(y);
    Equal -> u8: |x, y| u8::from(x == y);
    NotEqual -> u8: |x, y| u8::from(x != y);
    Less -> u8: |x, y| u8::from(x < y);
    LessEqual -> u8: |x, y| u8::from(x <= y);
    Greater -> u8: |x, y| u8::from(x > y);
    GreaterEqual -> u8: |x, y| u8::from(x >= y);
}

#[inline(always)]
fn is_nan<T: Real>(x: T) -> bool {
    x.partial_cmp(&x).is_none()
}

/// NumPy's sign: 0 for both zeros, NaN for NaN.
#[inline(always)]
fn sign<T: Real>(x: T) -> T {
    let zero = T::from_f64(0.0);
    let one = if x > zero { T::from_f64(1.0) } else { zero };
    let signed = if x < zero { T::from_f64(-1.0) } else { one };
    if is_nan(x) { x } else { signed }
}

/// Python's `%`: the sign of the divisor; a zero result takes it too. NaN for a divisor of zero.
#[inline(always)]
fn remainder<T: Real>(x: T, y: T) -> T {
    let zero = T::from_f64(0.0);
    let left = x % y;
    if left == zero {
        if y < zero { -zero } else { zero }
    } else if (left < zero) != (y < zero) && !is_nan(left) {
        left + y
    } else {
        left
    }
}

/// Python's `//`, by NumPy's steps: the quotient is made exact by taking the remainder off first.
#[inline(always)]
fn floor_divide<T: Real>(x: T, y: T) -> T {
    let zero = T::from_f64(0.0);
    if y == zero {
        return x / y;
    }
    let left = x % y;
    let mut quotient = (x - left) / y;
    if left != zero && (left < zero) != (y < zero) {
        quotient = quotient - T::from_f64(1.0);
    }
    if quotient == zero {
        return if (x / y) < zero { -zero } else { zero };
    }
    let floor = quotient.floor();
    if quotient - floor > T::from_f64(0.5) { floor + T::from_f64(1.0) } else { floor }
}

/// A function whose fast form holds up to [`Float::trig_limit`].
trait Trig<T> {
    fn fast(x: T) -> T;
    fn any(x: T) -> T;
}

macro_rules! trig_ops {
    ($($name:ident: $fast:ident, $any:ident;)*) => {
        $(struct $name;
        impl<T: Real> Trig<T> for $name {
            #[inline(always)]
            fn fast(x: T) -> T {
                x.$fast()
            }
            #[inline(always)]
            fn any(x: T) -> T {
                x.$any()
            }
        })*
    };
}
trig_ops! {
    Sin: sin, sin_any;
    Cos: cos, cos_any;
    Tan: tan, tan_any;
}

/// A tile with an argument beyond the limit takes the slow loop, whose results within the limit are the same.
struct TrigTile<T, O>(PhantomData<(T, O)>);

impl<T: Real, O: Trig<T>> Body for TrigTile<T, O> {
    type Args = TileArgs;

    #[inline(always)]
    unsafe fn run(args: TileArgs) {
        let (to, a) = (args.to.cast::<T>(), args.operands[0].cast::<T>());
        let limit = T::trig_limit();
        // SAFETY: see `TileArgs`.
        unsafe {
            let mut is_far = 0u32;
            for i in 0..args.n {
                is_far |= u32::from(a.add(i).read().abs() > limit);
            }
            if is_far == 0 {
                for i in 0..args.n {
                    to.add(i).write(O::fast(a.add(i).read()));
                }
            } else {
                for i in 0..args.n {
                    to.add(i).write(O::any(a.add(i).read()));
                }
            }
        }
    }
}
