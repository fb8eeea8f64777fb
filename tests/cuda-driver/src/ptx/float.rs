//! Arithmetic on `f32` and `f64`.
//!
//! What PTX calls approximate is computed exactly and rounded once: closer than hardware, never farther. A NaN
//! that an `f32` instruction makes is 0x7fffffff, as hardware's is.

use super::code::{Compute, Flush};
use super::lower::Arithmetic;
use super::modifiers::Modifiers;
use super::move_data::flushing;
use super::rounding::{self as exact, Mode};
use super::types::Type;

/// The instruction `head` on `ty`, whose modifiers it takes.
pub fn arithmetic(head: &str, ty: Type, modifiers: &mut Modifiers<'_>) -> Option<Arithmetic> {
    let ftz = modifiers.takes("ftz");
    let saturate = ty == Type::F32 && modifiers.takes("sat");
    let (compute, sources) = rounded(head, ty, modifiers)
        .or_else(|| plain(head, ty, modifiers))
        .or_else(|| approximate(head, ty, ftz, modifiers))?;
    let mut flush = if ftz && ty == Type::F32 { flushing(0b111) } else { Flush::default() };
    flush.saturate = saturate;
    Some(Arithmetic { compute, flush, sources })
}

/// What `setp` compares with `name`, as 0 or 1; with a `u` behind it true where an operand is NaN.
pub fn comparison(name: &str, ty: Type) -> Option<Compute> {
    macro_rules! compare {
        ($a:ident, $b:ident, $body:expr) => {
            match ty {
                Type::F32 => |a, b, _, _| {
                    let ($a, $b) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
                    u64::from($body)
                },
                _ => |a, b, _, _| {
                    let ($a, $b) = (f64::from_bits(a), f64::from_bits(b));
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
        "equ" => compare!(a, b, a == b || a.is_nan() || b.is_nan()),
        "neu" => compare!(a, b, a != b),
        "ltu" => compare!(a, b, a < b || a.is_nan() || b.is_nan()),
        "leu" => compare!(a, b, a <= b || a.is_nan() || b.is_nan()),
        "gtu" => compare!(a, b, a > b || a.is_nan() || b.is_nan()),
        "geu" => compare!(a, b, a >= b || a.is_nan() || b.is_nan()),
        "num" => compare!(a, b, !a.is_nan() && !b.is_nan()),
        "nan" => compare!(a, b, a.is_nan() || b.is_nan()),
        _ => return None,
    })
}

/// The bits of an `f32` result.
pub fn bits32(value: f32) -> u64 {
    u64::from(if value.is_nan() { 0x7fff_ffff } else { value.to_bits() })
}

fn bits64(value: f64) -> u64 {
    value.to_bits()
}

/// A computation of `f32` or `f64` in the rounding mode named, of which each is a function of its own.
macro_rules! in_mode {
    ($ty:expr, $mode:expr, $narrow:path, $wide:path, |$a:ident, $b:ident, $c:ident| $($used:ident),+) => {{
        macro_rules! one {
            ($m:expr) => {
                match $ty {
                    Type::F32 => |$a, $b, $c, _| {
                        let _ = ($a, $b, $c);
                        bits32($narrow($(f32::from_bits($used as u32)),+, $m))
                    },
                    _ => |$a, $b, $c, _| {
                        let _ = ($a, $b, $c);
                        bits64($wide($(f64::from_bits($used)),+, $m))
                    },
                }
            };
        }
        let compute: Compute = match $mode {
            Mode::Nearest => one!(Mode::Nearest),
            Mode::Zero => one!(Mode::Zero),
            Mode::Down => one!(Mode::Down),
            Mode::Up => one!(Mode::Up),
        };
        compute
    }};
}

/// What rounds as IEEE 754 says. `add`, `sub`, `mul` round to nearest when no mode is named; the others must name one.
fn rounded(head: &str, ty: Type, modifiers: &mut Modifiers<'_>) -> Option<(Compute, usize)> {
    let optional = matches!(head, "add" | "sub" | "mul");
    if !(optional || matches!(head, "fma" | "mad" | "div" | "sqrt" | "rcp")) {
        return None;
    }
    let mode = match modifiers.one_of(&["rn", "rz", "rm", "rp"]) {
        Some(name) => Mode::named(name)?,
        None if optional => Mode::Nearest,
        None => return None,
    };
    Some(match head {
        "add" => (in_mode!(ty, mode, exact::add32, exact::add64, |a, b, c| a, b), 2),
        "sub" => (in_mode!(ty, mode, subtract32, subtract64, |a, b, c| a, b), 2),
        "mul" => (in_mode!(ty, mode, exact::mul32, exact::mul64, |a, b, c| a, b), 2),
        "fma" | "mad" => (in_mode!(ty, mode, exact::fma32, exact::fma64, |a, b, c| a, b, c), 3),
        "div" => (in_mode!(ty, mode, exact::div32, exact::div64, |a, b, c| a, b), 2),
        "sqrt" => (in_mode!(ty, mode, exact::sqrt32, exact::sqrt64, |a, b, c| a), 1),
        _ => (in_mode!(ty, mode, reciprocal32, reciprocal64, |a, b, c| a), 1),
    })
}

fn subtract32(a: f32, b: f32, mode: Mode) -> f32 {
    exact::add32(a, -b, mode)
}

fn subtract64(a: f64, b: f64, mode: Mode) -> f64 {
    exact::add64(a, -b, mode)
}

fn reciprocal32(a: f32, mode: Mode) -> f32 {
    exact::div32(1.0, a, mode)
}

fn reciprocal64(a: f64, mode: Mode) -> f64 {
    exact::div64(1.0, a, mode)
}

/// What never rounds.
fn plain(head: &str, ty: Type, modifiers: &mut Modifiers<'_>) -> Option<(Compute, usize)> {
    macro_rules! both {
        (|$a:ident, $b:ident| $body:expr) => {
            match ty {
                Type::F32 => |a, b, _, _| {
                    let ($a, $b) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
                    let _ = $b;
                    bits32($body)
                },
                _ => |a, b, _, _| {
                    let ($a, $b) = (f64::from_bits(a), f64::from_bits(b));
                    let _ = $b;
                    bits64($body)
                },
            }
        };
    }
    let propagates = matches!(head, "min" | "max") && modifiers.takes("NaN");
    Some(match head {
        // Of NaN too they change the sign's bit alone.
        "neg" if ty == Type::F32 => (|a, _, _, _| (a as u32 ^ 1 << 31) as u64, 1),
        "abs" if ty == Type::F32 => (|a, _, _, _| a & 0x7fff_ffff, 1),
        "neg" => (|a, _, _, _| a ^ 1 << 63, 1),
        "abs" => (|a, _, _, _| a & (u64::MAX >> 1), 1),
        // A NaN counts as absent unless `.NaN` says otherwise; -0 is less than +0.
        "min" if propagates => (both!(|a, b| if a.is_nan() || b.is_nan() { a + b } else { least!(a, b) }), 2),
        "max" if propagates => (both!(|a, b| if a.is_nan() || b.is_nan() { a + b } else { most!(a, b) }), 2),
        "min" => (both!(|a, b| least!(a, b)), 2),
        "max" => (both!(|a, b| most!(a, b)), 2),
        "copysign" => (both!(|a, b| b.copysign(a)), 2),
        _ => return None,
    })
}

macro_rules! least {
    ($a:expr, $b:expr) => {
        if $b.is_nan() || $a < $b || ($a == $b && $a.is_sign_negative()) { $a } else { $b }
    };
}
use least;

macro_rules! most {
    ($a:expr, $b:expr) => {
        if $b.is_nan() || $a > $b || ($a == $b && $a.is_sign_positive()) { $a } else { $b }
    };
}
use most;

fn approximate(head: &str, ty: Type, ftz: bool, modifiers: &mut Modifiers<'_>) -> Option<(Compute, usize)> {
    let full = head == "div" && modifiers.takes("full");
    if !full && !modifiers.takes("approx") {
        return None;
    }
    macro_rules! wide {
        (|$a:ident| $body:expr) => {
            |a, _, _, _| {
                let $a = f64::from(f32::from_bits(a as u32));
                bits32(($body) as f32)
            }
        };
    }
    let narrow = |compute: Compute, sources| Some((compute, sources));
    match (head, ty) {
        ("rcp", Type::F32) => narrow(wide!(|a| 1.0 / a), 1),
        ("sqrt", Type::F32) => narrow(wide!(|a| a.sqrt()), 1),
        ("rsqrt", Type::F32) => narrow(wide!(|a| 1.0 / a.sqrt()), 1),
        ("ex2", Type::F32) => narrow(wide!(|a| a.exp2()), 1),
        ("lg2", Type::F32) => narrow(wide!(|a| a.log2()), 1),
        ("sin", Type::F32) => narrow(wide!(|a| a.sin()), 1),
        ("cos", Type::F32) => narrow(wide!(|a| a.cos()), 1),
        ("tanh", Type::F32) => narrow(wide!(|a| a.tanh()), 1),
        ("div", Type::F32) => narrow(
            |a, b, _, _| {
                bits32((f64::from(f32::from_bits(a as u32)) / f64::from(f32::from_bits(b as u32))) as f32)
            },
            2,
        ),
        // Of the `f64` forms the result's lower half is zero, and subnormal numbers count as zero.
        ("rcp", Type::F64) if ftz => narrow(|a, _, _, _| upper(1.0 / flushed64(a)), 1),
        ("rsqrt", Type::F64) if ftz => narrow(|a, _, _, _| upper(1.0 / flushed64(a).sqrt()), 1),
        ("rsqrt", Type::F64) => narrow(|a, _, _, _| bits64(1.0 / f64::from_bits(a).sqrt()), 1),
        _ => None,
    }
}

fn upper(value: f64) -> u64 {
    flushed64(value.to_bits()).to_bits() & 0xffff_ffff_0000_0000
}

fn flushed64(bits: u64) -> f64 {
    let value = f64::from_bits(bits);
    if value.is_subnormal() { 0f64.copysign(value) } else { value }
}
