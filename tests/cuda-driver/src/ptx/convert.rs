//! `cvt`: between any two types, with every rounding mode.

use super::code::{Compute, Flush};
use super::float::bits32;
use super::half::{bf16_bits, bf16_to_f64, f16_bits, f16_to_f64};
use super::lower::Arithmetic;
use super::modifiers::Modifiers;
use super::rounding::{Mode, to_f32, to_integer};
use super::types::Type;

/// `cvt.rzi.s32.f32` and its like; takes all its modifiers.
pub fn arithmetic(modifiers: &mut Modifiers<'_>) -> Option<Arithmetic> {
    let from = modifiers.last_type()?;
    let to = modifiers.last_type()?;
    let (ftz, saturate) = (modifiers.takes("ftz"), modifiers.takes("sat"));
    let whole = modifiers.one_of(&["rni", "rzi", "rmi", "rpi"]).and_then(Mode::named);
    let mode = modifiers.one_of(&["rn", "rz", "rm", "rp"]).and_then(Mode::named);
    let compute = match (from.is_float(), to.is_float()) {
        (true, true) if mode.is_some() || whole.is_some() || to.bytes() >= from.bytes() => {
            if saturate && to != Type::F32 {
                return None;
            }
            float_to_float(from, to, mode, whole)?
        }
        (true, false) => float_to_integer(from, to, whole?)?,
        (false, true) => integer_to_float(from, to, mode?)?,
        (false, false) => integer_to_integer(from, to, saturate)?,
        _ => return None,
    };
    let flush = Flush {
        sources: u8::from(ftz && from == Type::F32),
        result: ftz && to == Type::F32,
        saturate: saturate && to == Type::F32,
    };
    Some(Arithmetic { compute, flush, sources: 1 })
}

/// One function for each mode, from an expression in it.
macro_rules! by_mode {
    ($mode:expr, |$a:ident, $m:ident| $body:expr) => {{
        macro_rules! one {
            ($which:expr) => {
                |$a, _, _, _| {
                    const $m: Mode = $which;
                    $body
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

macro_rules! from_float {
    ($from:expr, $mode:expr, |$value:ident, $m:ident| $body:expr) => {
        match $from {
            Type::F16 => by_mode!($mode, |a, $m| {
                let $value = f16_to_f64(a);
                $body
            }),
            Type::Bf16 => by_mode!($mode, |a, $m| {
                let $value = bf16_to_f64(a);
                $body
            }),
            Type::F32 => by_mode!($mode, |a, $m| {
                let $value = f64::from(f32::from_bits(a as u32));
                $body
            }),
            _ => by_mode!($mode, |a, $m| {
                let $value = f64::from_bits(a);
                $body
            }),
        }
    };
}

fn float_to_float(from: Type, to: Type, mode: Option<Mode>, whole: Option<Mode>) -> Option<Compute> {
    if let Some(whole) = whole {
        // An integer in the same type.
        return (from == to).then(|| match to {
            Type::F16 => from_float!(from, whole, |v, M| f16_bits(to_integer(v, M), Mode::Nearest)),
            Type::Bf16 => from_float!(from, whole, |v, M| bf16_bits(to_integer(v, M), Mode::Nearest)),
            Type::F32 => from_float!(from, whole, |v, M| bits32(to_integer(v, M) as f32)),
            _ => from_float!(from, whole, |v, M| to_integer(v, M).to_bits()),
        });
    }
    let mode = mode.unwrap_or(Mode::Nearest);
    Some(match to {
        Type::F16 => from_float!(from, mode, |v, M| f16_bits(v, M)),
        Type::Bf16 => from_float!(from, mode, |v, M| bf16_bits(v, M)),
        Type::F32 => from_float!(from, mode, |v, M| bits32(to_f32(v, M))),
        _ => from_float!(from, mode, |v, M| {
            let _ = M;
            v.to_bits()
        }),
    })
}

/// Clamped to the integer's range. NaN is 0, but 2^31 or 2^63 where either side has 64 bits (PTX ISA, `cvt`).
fn float_to_integer(from: Type, to: Type, mode: Mode) -> Option<Compute> {
    macro_rules! into {
        ($t:ty, $u:ty) => {
            match from {
                Type::F64 => from_float!(from, mode, |v, M| if v.is_nan() {
                    (<$u>::MAX / 2 + 1) as u64
                } else {
                    to_integer(v, M) as $t as $u as u64
                }),
                _ => from_float!(from, mode, |v, M| if v.is_nan() && <$u>::BITS == 64 {
                    1 << 63
                } else {
                    to_integer(v, M) as $t as $u as u64
                }),
            }
        };
    }
    Some(match to {
        Type::U8 => into!(u8, u32),
        Type::S8 => into!(i8, u32),
        Type::U16 => into!(u16, u16),
        Type::S16 => into!(i16, u16),
        Type::U32 => into!(u32, u32),
        Type::S32 => into!(i32, u32),
        Type::U64 => into!(u64, u64),
        Type::S64 => into!(i64, u64),
        _ => return None,
    })
}

fn integer_to_float(from: Type, to: Type, mode: Mode) -> Option<Compute> {
    macro_rules! from_integer {
        ($t:ty) => {
            match to {
                Type::F16 => by_mode!(mode, |a, M| f16_bits(near_f64((a as $t) as i128, Mode::Zero), M)),
                Type::Bf16 => by_mode!(mode, |a, M| bf16_bits(near_f64((a as $t) as i128, Mode::Zero), M)),
                Type::F32 => by_mode!(mode, |a, M| u64::from(near_f32((a as $t) as i128, M).to_bits())),
                _ => by_mode!(mode, |a, M| near_f64((a as $t) as i128, M).to_bits()),
            }
        };
    }
    Some(match from {
        Type::U8 => from_integer!(u8),
        Type::S8 => from_integer!(i8),
        Type::U16 => from_integer!(u16),
        Type::S16 => from_integer!(i16),
        Type::U32 => from_integer!(u32),
        Type::S32 => from_integer!(i32),
        Type::U64 if to.bytes() >= 4 => from_integer!(u64),
        Type::S64 if to.bytes() >= 4 => from_integer!(i64),
        _ => return None,
    })
}

fn near_f32(value: i128, mode: Mode) -> f32 {
    let near = value as f32;
    step(value, near as i128, mode, near, near.next_down(), near.next_up())
}

fn near_f64(value: i128, mode: Mode) -> f64 {
    let near = value as f64;
    step(value, near as i128, mode, near, near.next_down(), near.next_up())
}

/// Of a value's nearest float and its neighbours the one that the mode asks for.
fn step<T>(value: i128, rounded: i128, mode: Mode, near: T, down: T, up: T) -> T {
    let mode = if mode == Mode::Zero && value < 0 { Mode::Up } else { mode };
    match mode {
        Mode::Zero | Mode::Down if rounded > value => down,
        Mode::Up if rounded < value => up,
        _ => near,
    }
}

/// Extended with the source's sign or cut; a result below 32 bits fills its register's 32.
fn integer_to_integer(from: Type, to: Type, saturate: bool) -> Option<Compute> {
    macro_rules! out {
        ($t:ty) => {
            match (to, saturate) {
                (Type::U8 | Type::B8, false) => |a, _, _, _| a as u8 as u64,
                (Type::S8, false) => |a, _, _, _| a as i8 as u32 as u64,
                (Type::U16 | Type::B16, false) => |a, _, _, _| a as $t as u16 as u64,
                (Type::S16, false) => |a, _, _, _| a as $t as i16 as u32 as u64,
                (Type::U32 | Type::S32 | Type::B32, false) => |a, _, _, _| a as $t as u32 as u64,
                (Type::U64 | Type::S64 | Type::B64, false) => |a, _, _, _| a as $t as u64,
                (Type::U8, true) => |a, _, _, _| (a as $t as i128).clamp(0, 0xff) as u64,
                (Type::S8, true) => |a, _, _, _| (a as $t as i128).clamp(-0x80, 0x7f) as u32 as u64,
                (Type::U16, true) => |a, _, _, _| (a as $t as i128).clamp(0, 0xffff) as u64,
                (Type::S16, true) => |a, _, _, _| (a as $t as i128).clamp(-0x8000, 0x7fff) as u32 as u64,
                (Type::U32, true) => |a, _, _, _| (a as $t as i128).clamp(0, u32::MAX as i128) as u64,
                (Type::S32, true) => {
                    |a, _, _, _| (a as $t as i128).clamp(i32::MIN as i128, i32::MAX as i128) as u32 as u64
                }
                (Type::U64, true) => |a, _, _, _| (a as $t as i128).clamp(0, u64::MAX as i128) as u64,
                (Type::S64, true) => {
                    |a, _, _, _| (a as $t as i128).clamp(i64::MIN as i128, i64::MAX as i128) as u64
                }
                _ => return None,
            }
        };
    }
    Some(match from {
        Type::U8 | Type::B8 => out!(u8),
        Type::S8 => out!(i8),
        Type::U16 | Type::B16 => out!(u16),
        Type::S16 => out!(i16),
        Type::U32 | Type::B32 => out!(u32),
        Type::S32 => out!(i32),
        Type::U64 | Type::B64 => out!(u64),
        Type::S64 => out!(i64),
        _ => return None,
    })
}
