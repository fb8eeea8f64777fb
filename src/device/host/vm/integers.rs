//! Operations on integer and `bool` tiles.
//!
//! Integers wrap. `//` and `%` follow Python's rule (the quotient is rounded down, the remainder has the
//! divisor's sign); a divisor of zero gives 0, as in NumPy. A power with a negative exponent is 0, which NumPy
//! refuses to compute. Nothing traps.

use super::tiles::{self, Binary, Sides, TileFn, Unary};
use crate::device::host::isa::Isa;
use crate::graph::expr_ops::{BinaryOp, UnaryOp};

/// An integer element type.
pub(super) trait Integer: Copy + Ord {
    const ZERO: Self;
    fn add(self, other: Self) -> Self;
    fn subtract(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
    fn floor_divide(self, other: Self) -> Self;
    fn remainder(self, other: Self) -> Self;
    fn power(self, exponent: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn not(self) -> Self;
    fn abs(self) -> Self;
    fn sign(self) -> Self;
}

macro_rules! integer {
    ($($int:ident: $signed:literal),*) => {
        $(impl Integer for $int {
            const ZERO: Self = 0;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn subtract(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn multiply(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn floor_divide(self, other: Self) -> Self {
                if other == 0 {
                    return 0;
                }
                let quotient = self.wrapping_div(other);
                let left = self.wrapping_rem(other);
                if $signed && left != 0 && ((left ^ other) >> ($int::BITS - 1)) != 0 {
                    quotient.wrapping_sub(1)
                } else {
                    quotient
                }
            }
            #[inline(always)]
            fn remainder(self, other: Self) -> Self {
                if other == 0 {
                    return 0;
                }
                let left = self.wrapping_rem(other);
                if $signed && left != 0 && ((left ^ other) >> ($int::BITS - 1)) != 0 {
                    left.wrapping_add(other)
                } else {
                    left
                }
            }
            #[inline(always)]
            fn power(self, exponent: Self) -> Self {
                let (mut result, mut base, mut left) = (1, self, exponent);
                if left < Self::ZERO {
                    return 0;
                }
                while left != 0 {
                    if left & 1 != 0 {
                        result = $int::wrapping_mul(result, base);
                    }
                    base = base.wrapping_mul(base);
                    left >>= 1;
                }
                result
            }
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                self & other
            }
            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }
            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
            #[inline(always)]
            fn not(self) -> Self {
                !self
            }
            #[inline(always)]
            fn abs(self) -> Self {
                if self < Self::ZERO { Self::ZERO.wrapping_sub(self) } else { self }
            }
            #[inline(always)]
            fn sign(self) -> Self {
                if self < Self::ZERO { Self::ZERO.wrapping_sub(1) } else { (self > 0) as $int }
            }
        })*
    };
}
integer!(u8: false, i16: true, i32: true, u32: false, i64: true);

/// The loop of a function of one value, or `None` when integers have no such function.
pub(super) fn unary<T: Integer>(isa: Isa, op: UnaryOp) -> Option<TileFn> {
    use UnaryOp as U;
    Some(match op {
        U::Negative => tiles::unary::<T, T, Negative>(isa),
        U::Abs => tiles::unary::<T, T, Abs>(isa),
        U::Sign => tiles::unary::<T, T, Sign>(isa),
        U::Floor | U::Ceil | U::Round | U::Trunc => tiles::unary::<T, T, Same>(isa),
        U::Not => tiles::unary::<T, T, Not>(isa),
        U::IsNan | U::IsInf => tiles::unary::<T, u8, Never>(isa),
        U::IsFinite => tiles::unary::<T, u8, Always>(isa),
        _ => return None,
    })
}

/// The loop of a function of two values, or `None` when integers have no such function.
pub(super) fn binary<T: Integer>(isa: Isa, op: BinaryOp, sides: Sides) -> Option<TileFn> {
    use BinaryOp as B;
    Some(match op {
        B::Add => tiles::binary::<T, T, Add>(isa, sides),
        B::Subtract => tiles::binary::<T, T, Subtract>(isa, sides),
        B::Multiply => tiles::binary::<T, T, Multiply>(isa, sides),
        B::FloorDivide => tiles::binary::<T, T, FloorDivide>(isa, sides),
        B::Remainder => tiles::binary::<T, T, Remainder>(isa, sides),
        B::Power => tiles::binary::<T, T, Power>(isa, sides),
        B::Minimum => tiles::binary::<T, T, Minimum>(isa, sides),
        B::Maximum => tiles::binary::<T, T, Maximum>(isa, sides),
        B::Equal => tiles::binary::<T, u8, Equal>(isa, sides),
        B::NotEqual => tiles::binary::<T, u8, NotEqual>(isa, sides),
        B::Less => tiles::binary::<T, u8, Less>(isa, sides),
        B::LessEqual => tiles::binary::<T, u8, LessEqual>(isa, sides),
        B::Greater => tiles::binary::<T, u8, Greater>(isa, sides),
        B::GreaterEqual => tiles::binary::<T, u8, GreaterEqual>(isa, sides),
        B::And => tiles::binary::<T, T, And>(isa, sides),
        B::Or => tiles::binary::<T, T, Or>(isa, sides),
        B::Xor => tiles::binary::<T, T, Xor>(isa, sides),
        B::Divide | B::Atan2 | B::Hypot => return None,
    })
}

/// The loop of a function of one `bool`.
pub(super) fn unary_bool(isa: Isa, op: UnaryOp) -> Option<TileFn> {
    use UnaryOp as U;
    Some(match op {
        U::Not => tiles::unary::<u8, u8, NotBool>(isa),
        U::Negative | U::Sign => return None,
        _ => return unary::<u8>(isa, op),
    })
}

/// The loop of a function of two `bool`s: a sum is "or", a product "and", as in NumPy.
pub(super) fn binary_bool(isa: Isa, op: BinaryOp, sides: Sides) -> Option<TileFn> {
    use BinaryOp as B;
    Some(match op {
        B::Add | B::Maximum => tiles::binary::<u8, u8, Or>(isa, sides),
        B::Multiply | B::Minimum => tiles::binary::<u8, u8, And>(isa, sides),
        B::Subtract | B::FloorDivide | B::Remainder | B::Power => return None,
        _ => return binary::<u8>(isa, op, sides),
    })
}

macro_rules! unary_ops {
    ($($name:ident -> $result:ty: |$x:ident| $value:expr;)*) => {
        $(struct $name;
        impl<T: Integer> Unary<T, $result> for $name {
            #[inline(always)]
            fn apply($x: T) -> $result {
                $value
            }
        })*
    };
}
macro_rules! binary_ops {
    ($($name:ident -> $result:ty: |$x:ident, $y:ident| $value:expr;)*) => {
        $(struct $name;
        impl<T: Integer> Binary<T, $result> for $name {
            #[inline(always)]
            fn apply($x: T, $y: T) -> $result {
                $value
            }
        })*
    };
}

unary_ops! {
    Negative -> T: |x| T::ZERO.subtract(x);
    Abs -> T: |x| x.abs();
    Sign -> T: |x| x.sign();
    Same -> T: |x| x;
    Not -> T: |x| x.not();
    Never -> u8: |_x| 0;
    Always -> u8: |_x| 1;
}

binary_ops! {
    Add -> T: |x, y| x.add(y);
    Subtract -> T: |x, y| x.subtract(y);
    Multiply -> T: |x, y| x.multiply(y);
    FloorDivide -> T: |x, y| x.floor_divide(y);
    Remainder -> T: |x, y| x.remainder(y);
    Power -> T: |x, y| x.power(y);
    Minimum -> T: |x, y| if x < y { x } else { y };
    Maximum -> T: |x, y| if x > y { x } else { y };
    Equal -> u8: |x, y| u8::from(x == y);
    NotEqual -> u8: |x, y| u8::from(x != y);
    Less -> u8: |x, y| u8::from(x < y);
    LessEqual -> u8: |x, y| u8::from(x <= y);
    Greater -> u8: |x, y| u8::from(x > y);
    GreaterEqual -> u8: |x, y| u8::from(x >= y);
    And -> T: |x, y| x.and(y);
    Or -> T: |x, y| x.or(y);
    Xor -> T: |x, y| x.xor(y);
}

struct NotBool;

impl Unary<u8, u8> for NotBool {
    #[inline(always)]
    fn apply(x: u8) -> u8 {
        x ^ 1
    }
}
