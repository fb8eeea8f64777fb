//! Arithmetic on `f16` and `bf16`, by way of `f64`, which holds every sum and product of them exactly.

use super::code::Compute;
use super::lower::Arithmetic;
use super::modifiers::Modifiers;
use super::rounding::{self as exact, Mode};
use super::types::Type;

/// The instruction `head` on `ty`, whose modifiers it takes; it rounds to nearest.
pub fn arithmetic(head: &str, ty: Type, modifiers: &mut Modifiers<'_>) -> Option<Arithmetic> {
    modifiers.takes("rn");
    macro_rules! both {
        (|$a:ident, $b:ident, $c:ident| $body:expr) => {
            match ty {
                Type::F16 => |a, b, c, _| {
                    let ($a, $b, $c) = (f16_to_f64(a), f16_to_f64(b), f16_to_f64(c));
                    let _ = ($b, $c);
                    f16_bits($body, Mode::Nearest)
                },
                _ => |a, b, c, _| {
                    let ($a, $b, $c) = (bf16_to_f64(a), bf16_to_f64(b), bf16_to_f64(c));
                    let _ = ($b, $c);
                    bf16_bits($body, Mode::Nearest)
                },
            }
        };
    }
    let (compute, sources): (Compute, usize) = match head {
        "add" => (both!(|a, b, _c| sticky_sum(a, b)), 2),
        "sub" => (both!(|a, b, _c| sticky_sum(a, -b)), 2),
        "mul" => (both!(|a, b, _c| a * b), 2),
        "fma" => (both!(|a, b, c| sticky_sum(a * b, c)), 3),
        "neg" => (|a, _, _, _| (a ^ 0x8000) & 0xffff, 1),
        "abs" => (|a, _, _, _| a & 0x7fff, 1),
        "min" => {
            (both!(|a, b, _c| if b.is_nan() || a < b || a == b && a.is_sign_negative() { a } else { b }), 2)
        }
        "max" => {
            (both!(|a, b, _c| if b.is_nan() || a > b || a == b && a.is_sign_positive() { a } else { b }), 2)
        }
        _ => return None,
    };
    Some(Arithmetic::new(compute, sources))
}

/// What `setp` compares with `name`, as 0 or 1.
pub fn comparison(name: &str, ty: Type) -> Option<Compute> {
    macro_rules! compare {
        ($a:ident, $b:ident, $body:expr) => {
            match ty {
                Type::F16 => |a, b, _, _| {
                    let ($a, $b) = (f16_to_f64(a), f16_to_f64(b));
                    u64::from($body)
                },
                _ => |a, b, _, _| {
                    let ($a, $b) = (bf16_to_f64(a), bf16_to_f64(b));
                    u64::from($body)
                },
            }
        };
    }
    Some(match name {
        "eq" => compare!(a, b, a == b),
        "ne" => compare!(a, b, a != b && !a.is_nan() && !b.is_nan()),
        "lt" => compare!(a, b, a < b),
        "le" => compare!(a, b, a <= b),
        "gt" => compare!(a, b, a > b),
        "ge" => compare!(a, b, a >= b),
        "neu" => compare!(a, b, a != b),
        "nan" => compare!(a, b, a.is_nan() || b.is_nan()),
        _ => return None,
    })
}

/// A sum whose last bit is set where it isn't exact, so that rounding it again is rounding once (round to odd;
/// Boldo and Melquiond 2008).
fn sticky_sum(a: f64, b: f64) -> f64 {
    let down = exact::add64(a, b, Mode::Zero);
    let inexact = exact::add64(a, b, Mode::Down) != exact::add64(a, b, Mode::Up);
    if inexact && down.is_finite() { f64::from_bits(down.to_bits() | 1) } else { a + b }
}

pub fn f16_to_f64(bits: u64) -> f64 {
    let (sign, exponent, fraction) = (bits >> 15 & 1, bits >> 10 & 31, (bits & 0x3ff) as f64);
    let value = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f64.powi(exponent as i32 - 15),
    };
    if sign == 1 { -value } else { value }
}

pub fn bf16_to_f64(bits: u64) -> f64 {
    f64::from(f32::from_bits((bits as u32 & 0xffff) << 16))
}

/// An `f64` as `f16`; NaN is 0x7fff, as hardware's is.
pub fn f16_bits(value: f64, mode: Mode) -> u64 {
    small_bits(value, mode, -14, 10, 0x7c00)
}

/// An `f64` as `bf16`; NaN is 0x7fff, as hardware's is.
pub fn bf16_bits(value: f64, mode: Mode) -> u64 {
    small_bits(value, mode, -126, 7, 0x7f80)
}

/// Rounds to a format by its least normal exponent, bits of fraction and bits of infinity.
fn small_bits(value: f64, mode: Mode, least: i32, fraction: u32, infinity: u64) -> u64 {
    if value.is_nan() {
        return 0x7fff;
    }
    let sign = u64::from(value.is_sign_negative()) << 15;
    if value.is_infinite() {
        return sign | infinity;
    }
    let magnitude = value.abs();
    let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(least);
    // A whole number of units in the last place, exact since it scales by a power of two.
    let units = magnitude * 2f64.powi(fraction as i32 - exponent);
    let mode = match (mode, sign) {
        (Mode::Down, 0) | (Mode::Zero, _) | (Mode::Up, 1..) => Mode::Zero,
        (Mode::Nearest, _) => Mode::Nearest,
        _ => Mode::Up,
    };
    let units = exact::to_integer(units, mode) as u64;
    // A carry out of the fraction runs into the exponent, where it belongs.
    let hidden = 1u64 << fraction;
    let bits = if units < hidden { units } else { ((exponent - least) as u64) * hidden + units };
    let largest = if mode == Mode::Zero { infinity - 1 } else { infinity };
    sign | bits.min(largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_f16_and_bf16_survives() {
        for bits in 0..=0xffffu64 {
            if !f16_to_f64(bits).is_nan() {
                assert_eq!(f16_bits(f16_to_f64(bits), Mode::Nearest), bits);
                assert_eq!(f16_bits(f16_to_f64(bits), Mode::Zero), bits);
            }
            if !bf16_to_f64(bits).is_nan() {
                assert_eq!(bf16_bits(bf16_to_f64(bits), Mode::Nearest), bits);
            }
        }
    }

    #[test]
    fn rounding_at_ties_ends_and_below() {
        let table = [
            (1.0 + 1.0 / 2048.0, Mode::Nearest, 0x3c00),
            (1.0 + 3.0 / 2048.0, Mode::Nearest, 0x3c02),
            (1.0 + 1.0 / 2048.0, Mode::Up, 0x3c01),
            (-1.0 - 1.0 / 2048.0, Mode::Down, 0xbc01),
            (65519.9, Mode::Nearest, 0x7bff),
            (65520.0, Mode::Nearest, 0x7c00),
            (1e9, Mode::Zero, 0x7bff),
            (2f64.powi(-25), Mode::Nearest, 0),
            (2f64.powi(-25) * 1.01, Mode::Nearest, 1),
            (2f64.powi(-14) - 2f64.powi(-26), Mode::Nearest, 0x400),
            (-0.0, Mode::Nearest, 0x8000),
        ];
        for (value, mode, want) in table {
            assert_eq!(f16_bits(value, mode), want, "{value} {mode:?}");
        }
    }
}
