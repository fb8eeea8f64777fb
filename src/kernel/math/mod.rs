//! The functions of floating-point numbers that every backend's numerics share.
//!
//! - **Branch-free.** Each is `#[inline(always)]` and made of selects, so that LLVM vectorises a loop over
//!   slices that calls it. Put the loop in a `#[target_feature(enable = "avx2,fma")]` function: without FMA in
//!   the instruction set each fused step is a library call, right but forty times slower.
//! - **The same bits everywhere.** A fused multiply-add is part of a function's definition, never a compiler's
//!   choice, and no function calls the system's math library. What isn't worth vectorising calls the `libm`
//!   crate, which is pure Rust.
//! - **C99's special values** (Annex F): signed zeros, infinities, NaN. The sign and payload of a NaN are not
//!   defined.
//!
//! Errors are stated in ulp of the exact result and held by the tests. Sources: Cephes (Moshier), fdlibm (Sun)
//! and its FreeBSD and musl children, and minimax fits of our own where those weren't short enough.

mod arc;
mod exp;
mod log;
mod poly;
mod power;
#[cfg(test)]
mod tests;
mod trig;

use std::ops::{Add, Div, Mul, Neg, Sub};

/// An element type with real functions: `f32` or `f64`.
///
/// Where the type is concrete, write `Float::exp(x)`: in `x.exp()` the method of the standard library wins,
/// which calls the system's.
pub trait Float:
    Copy
    + PartialOrd
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// The nearest value to `value`.
    fn from_f64(value: f64) -> Self;
    /// This value as an f64; exact.
    fn to_f64(self) -> f64;
    /// The largest magnitude that [`sin`](Self::sin), [`cos`](Self::cos) and [`tan`](Self::tan) take.
    fn trig_limit() -> Self;

    /// Magnitude; clears the sign, also of NaN.
    fn abs(self) -> Self;
    /// Square root, correctly rounded.
    fn sqrt(self) -> Self;
    /// The largest integer not above.
    fn floor(self) -> Self;
    /// The smallest integer not below.
    fn ceil(self) -> Self;
    /// The nearest integer, ties to even, as NumPy's `round`.
    fn round(self) -> Self;
    /// The integer part, towards zero.
    fn trunc(self) -> Self;
    /// `self · factor + term`, rounded once.
    fn fma(self, factor: Self, term: Self) -> Self;
    /// The smaller; NaN if either is, as NumPy's `minimum`. Of equal zeros, `other`.
    fn minimum(self, other: Self) -> Self;
    /// The larger; NaN if either is, as NumPy's `maximum`. Of equal zeros, `other`.
    fn maximum(self, other: Self) -> Self;

    /// eˣ; at most 1.01 ulp.
    fn exp(self) -> Self;
    /// Natural logarithm; at most 0.9 ulp.
    fn log(self) -> Self;
    /// Sine, for magnitudes up to [`trig_limit`](Self::trig_limit) (unspecified beyond); at most 0.8 ulp.
    fn sin(self) -> Self;
    /// Cosine, limited as [`sin`](Self::sin); at most 0.8 ulp.
    fn cos(self) -> Self;
    /// Tangent, limited as [`sin`](Self::sin); at most 2.1 ulp.
    fn tan(self) -> Self;
    /// Sine of any argument: the bits of [`sin`](Self::sin) within its limit, `libm`'s beyond (at most 1 ulp),
    /// so that a result doesn't depend on its neighbours. Doesn't vectorise.
    fn sin_any(self) -> Self;
    /// Cosine of any argument, as [`sin_any`](Self::sin_any).
    fn cos_any(self) -> Self;
    /// Tangent of any argument, as [`sin_any`](Self::sin_any).
    fn tan_any(self) -> Self;
    /// Hyperbolic tangent; at most 2.5 ulp.
    fn tanh(self) -> Self;
    /// Arc tangent; at most 1.3 ulp.
    fn atan(self) -> Self;
    /// The angle of the point (`x`, `self`), in (−π, π]; at most 1.5 ulp.
    fn atan2(self, x: Self) -> Self;
    /// Arc sine; at most 1 ulp.
    fn asin(self) -> Self;
    /// Arc cosine; at most 1 ulp.
    fn acos(self) -> Self;
    /// `self` to the `exponent`; at most 0.51 ulp in f32, 1.1 in f64.
    fn pow(self, exponent: Self) -> Self;
    /// √(self² + other²) without overflow; at most 0.51 ulp in f32, 1.1 in f64.
    fn hypot(self, other: Self) -> Self;

    /// Binary logarithm, by `libm` (below 1 ulp).
    fn log2(self) -> Self;
    /// Decimal logarithm, by `libm` (below 1 ulp).
    fn log10(self) -> Self;
    /// 2ˣ, by `libm` (below 1 ulp).
    fn exp2(self) -> Self;
    /// log(1 + x), by `libm` (below 1 ulp).
    fn log1p(self) -> Self;
    /// eˣ − 1, by `libm` (below 1 ulp).
    fn expm1(self) -> Self;
    /// Hyperbolic sine, by `libm` (below 2 ulp).
    fn sinh(self) -> Self;
    /// Hyperbolic cosine, by `libm` (below 1.5 ulp).
    fn cosh(self) -> Self;
}

/// `impl Float`: every method but its name is the same for both types.
macro_rules! implement_float {
    (
        $float:ident, limit: $limit:expr,
        unary: { $($name:ident => $function:path),* $(,)? },
        binary: { $($name2:ident => $function2:path),* $(,)? },
        any: { $($any:ident => $fast:path, $slow:path);* $(;)? },
    ) => {
        impl Float for $float {
            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as $float
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn trig_limit() -> Self {
                $limit
            }
            #[inline(always)]
            fn fma(self, factor: Self, term: Self) -> Self {
                self.mul_add(factor, term)
            }
            #[inline(always)]
            fn minimum(self, other: Self) -> Self {
                if (self < other) | self.is_nan() { self } else { other }
            }
            #[inline(always)]
            fn maximum(self, other: Self) -> Self {
                if (self > other) | self.is_nan() { self } else { other }
            }
            $(
                #[inline(always)]
                fn $name(self) -> Self {
                    $function(self)
                }
            )*
            $(
                #[inline(always)]
                fn $name2(self, other: Self) -> Self {
                    $function2(self, other)
                }
            )*
            $(
                #[inline]
                fn $any(self) -> Self {
                    if $float::abs(self) <= $limit { $fast(self) } else { $slow(self) }
                }
            )*
        }
    };
}

implement_float! {
    f32, limit: trig::LIMIT_F32,
    unary: {
        abs => f32::abs, sqrt => f32::sqrt, floor => f32::floor, ceil => f32::ceil,
        round => f32::round_ties_even, trunc => f32::trunc,
        exp => exp::exp_f32, log => log::log_f32, tanh => exp::tanh_f32,
        sin => trig::sin_f32, cos => trig::cos_f32, tan => trig::tan_f32,
        atan => arc::atan_f32, asin => arc::asin_f32, acos => arc::acos_f32,
        log2 => libm::log2f, log10 => libm::log10f, exp2 => libm::exp2f, log1p => libm::log1pf,
        expm1 => libm::expm1f, sinh => libm::sinhf, cosh => libm::coshf,
    },
    binary: { atan2 => arc::atan2_f32, pow => power::pow_f32, hypot => power::hypot_f32 },
    any: {
        sin_any => trig::sin_f32, libm::sinf;
        cos_any => trig::cos_f32, libm::cosf;
        tan_any => trig::tan_f32, libm::tanf;
    },
}

implement_float! {
    f64, limit: trig::LIMIT_F64,
    unary: {
        abs => f64::abs, sqrt => f64::sqrt, floor => f64::floor, ceil => f64::ceil,
        round => f64::round_ties_even, trunc => f64::trunc,
        exp => exp::exp_f64, log => log::log_f64, tanh => exp::tanh_f64,
        sin => trig::sin_f64, cos => trig::cos_f64, tan => trig::tan_f64,
        atan => arc::atan_f64, asin => arc::asin_f64, acos => arc::acos_f64,
        log2 => libm::log2, log10 => libm::log10, exp2 => libm::exp2, log1p => libm::log1p,
        expm1 => libm::expm1, sinh => libm::sinh, cosh => libm::cosh,
    },
    binary: { atan2 => arc::atan2_f64, pow => power::pow_f64, hypot => power::hypot_f64 },
    any: {
        sin_any => trig::sin_f64, libm::sin;
        cos_any => trig::cos_f64, libm::cos;
        tan_any => trig::tan_f64, libm::tan;
    },
}
