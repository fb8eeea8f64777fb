//! Integer, bit and predicate arithmetic.

use super::code::Compute;
use super::lower::Arithmetic;
use super::modifiers::Modifiers;
use super::types::Type;

/// A computation on 16, 32 or 64 bits, `T` the signed or unsigned type that the instruction names, `U` the
/// unsigned one of its size.
macro_rules! sized {
    ($ty:expr, |$a:ident, $b:ident, $c:ident| $body:expr) => {{
        macro_rules! typed {
            ($signed:ty, $unsigned:ty) => {{
                #[allow(unused)]
                type U = $unsigned;
                #[allow(unused)]
                type T = $signed;
                let compute: Compute = |a, b, c, _| {
                    #[allow(unused)]
                    let ($a, $b, $c) = (a as T, b as T, c as T);
                    ($body) as U as u64
                };
                compute
            }};
        }
        match $ty {
            Type::U16 | Type::B16 => typed!(u16, u16),
            Type::S16 => typed!(i16, u16),
            Type::U32 | Type::B32 => typed!(u32, u32),
            Type::S32 => typed!(i32, u32),
            Type::U64 | Type::B64 => typed!(u64, u64),
            Type::S64 => typed!(i64, u64),
            _ => return None,
        }
    }};
}

/// The instruction `head` on `ty`, whose modifiers it takes.
pub fn arithmetic(head: &str, ty: Type, modifiers: &mut Modifiers<'_>) -> Option<Arithmetic> {
    if ty == Type::Pred {
        let compute: Compute = match head {
            "not" => return Some(Arithmetic::new(|a, _, _, _| a ^ 1, 1)),
            _ => logic(head)?,
        };
        return Some(Arithmetic::new(compute, 2));
    }
    if ty.is_float() {
        // A choice among bits, whatever they mean; the rest is float.rs's.
        return (head == "selp").then(|| Arithmetic::new(select, 3));
    }
    if let Some(compute) = multiply(head, ty, modifiers) {
        return Some(Arithmetic::new(compute, if head.starts_with("mad") { 3 } else { 2 }));
    }
    if let Some(compute) = binary(head, ty) {
        return Some(Arithmetic::new(compute, 2));
    }
    if let Some(compute) = unary(head, ty, modifiers) {
        return Some(Arithmetic::new(compute, 1));
    }
    bits(head, ty, modifiers)
}

/// What `setp` compares with `name`, as 0 or 1.
pub fn comparison(name: &str, ty: Type) -> Option<Compute> {
    let ty = match name {
        "lo" | "ls" | "hi" | "hs" if ty.is_signed() => return None,
        _ => ty,
    };
    macro_rules! compare {
        ($op:tt) => {
            sized!(ty, |a, b, _c| u8::from(a $op b))
        };
    }
    Some(match name {
        "eq" => compare!(==),
        "ne" => compare!(!=),
        "lt" | "lo" => compare!(<),
        "le" | "ls" => compare!(<=),
        "gt" | "hi" => compare!(>),
        "ge" | "hs" => compare!(>=),
        _ => return None,
    })
}

/// `and`, `or`, `xor` of predicates, or of bits that have been cut to their size.
pub fn logic(head: &str) -> Option<Compute> {
    Some(match head {
        "and" => |a, b, _, _| a & b,
        "or" => |a, b, _, _| a | b,
        "xor" => |a, b, _, _| a ^ b,
        _ => return None,
    })
}

fn select(a: u64, b: u64, predicate: u64, _: u64) -> u64 {
    if predicate != 0 { a } else { b }
}

/// `slct.b32.s32 d, a, b, c` by the sign of an integer; its first type is taken with the rest.
fn slct(a: u64, b: u64, c: u64, _: u64) -> u64 {
    if (c as i32) >= 0 { a } else { b }
}

fn multiply(head: &str, ty: Type, modifiers: &mut Modifiers<'_>) -> Option<Compute> {
    let add = match head {
        "mul" => false,
        "mad" => true,
        _ => return None,
    };
    if modifiers.takes("wide") {
        return Some(match (ty, add) {
            (Type::U16, false) => |a, b, _, _| u64::from(a as u16 as u32 * b as u16 as u32),
            (Type::S16, false) => |a, b, _, _| (a as i16 as i32 * b as i16 as i32) as u32 as u64,
            (Type::U32, false) => |a, b, _, _| a as u32 as u64 * b as u32 as u64,
            (Type::S32, false) => |a, b, _, _| (a as i32 as i64 * b as i32 as i64) as u64,
            (Type::U16, true) => {
                |a, b, c, _| u64::from((a as u16 as u32 * b as u16 as u32).wrapping_add(c as u32))
            }
            (Type::S16, true) => {
                |a, b, c, _| (a as i16 as i32 * b as i16 as i32).wrapping_add(c as i32) as u32 as u64
            }
            (Type::U32, true) => |a, b, c, _| (a as u32 as u64 * b as u32 as u64).wrapping_add(c),
            (Type::S32, true) => |a, b, c, _| ((a as i32 as i64 * b as i32 as i64) as u64).wrapping_add(c),
            _ => return None,
        });
    }
    if modifiers.takes("hi") {
        return Some(if add {
            sized!(ty, |a, b, c| ((i128::from(a) * i128::from(b)) >> U::BITS).wrapping_add(i128::from(c)))
        } else {
            sized!(ty, |a, b, _c| high(i128::from(a), i128::from(b), U::BITS))
        });
    }
    if !modifiers.takes("lo") {
        return None;
    }
    Some(if add {
        sized!(ty, |a, b, c| a.wrapping_mul(b).wrapping_add(c))
    } else {
        sized!(ty, |a, b, _c| a.wrapping_mul(b))
    })
}

/// The upper half of a product; two unsigned factors of 64 bits don't fit `i128`, so as `u128`.
fn high(a: i128, b: i128, bits: u32) -> i128 {
    if a >= 0 && b >= 0 { ((a as u128 * b as u128) >> bits) as i128 } else { (a * b) >> bits }
}

fn binary(head: &str, ty: Type) -> Option<Compute> {
    Some(match head {
        "add" => sized!(ty, |a, b, _c| a.wrapping_add(b)),
        "sub" => sized!(ty, |a, b, _c| a.wrapping_sub(b)),
        // As hardware answers: a quotient by zero has all bits set.
        "div" => sized!(ty, |a, b, _c| if b == 0 { !0 } else { a.wrapping_div(b) }),
        "rem" => sized!(ty, |a, b, _c| if b == 0 { a } else { a.wrapping_rem(b) }),
        "min" => sized!(ty, |a, b, _c| a.min(b)),
        "max" => sized!(ty, |a, b, _c| a.max(b)),
        "and" => sized!(ty, |a, b, _c| a & b),
        "or" => sized!(ty, |a, b, _c| a | b),
        "xor" => sized!(ty, |a, b, _c| a ^ b),
        "shl" => shift(ty, true)?,
        "shr" => shift(ty, false)?,
        _ => return None,
    })
}

/// The amount counts as 32 unsigned bits; what is beyond the size shifts everything out.
fn shift(ty: Type, left: bool) -> Option<Compute> {
    macro_rules! shifts {
        ($t:ty, $u:ty) => {
            if left {
                |a, b, _, _| (a as $u).checked_shl(b as u32).unwrap_or(0) as u64
            } else {
                |a, b, _, _| ((a as $t) >> (b as u32).min(<$u>::BITS - 1)) as $u as u64
            }
        };
    }
    macro_rules! unsigned {
        ($u:ty) => {
            if left {
                |a, b, _, _| (a as $u).checked_shl(b as u32).unwrap_or(0) as u64
            } else {
                |a, b, _, _| (a as $u).checked_shr(b as u32).unwrap_or(0) as u64
            }
        };
    }
    Some(match ty {
        Type::S16 => shifts!(i16, u16),
        Type::S32 => shifts!(i32, u32),
        Type::S64 => shifts!(i64, u64),
        Type::U16 | Type::B16 => unsigned!(u16),
        Type::U32 | Type::B32 => unsigned!(u32),
        Type::U64 | Type::B64 => unsigned!(u64),
        _ => return None,
    })
}

fn unary(head: &str, ty: Type, modifiers: &mut Modifiers<'_>) -> Option<Compute> {
    // The counts are 32 bits, whatever is counted.
    Some(match head {
        "not" => sized!(ty, |a, _b, _c| !a),
        "neg" => sized!(ty, |a, _b, _c| (0 as T).wrapping_sub(a)),
        "abs" if ty.is_signed() => {
            sized!(ty, |a, _b, _c| if i128::from(a) < 0 { (0 as T).wrapping_sub(a) } else { a })
        }
        "cnot" => sized!(ty, |a, _b, _c| u8::from(a == 0)),
        "popc" => sized!(ty, |a, _b, _c| a.count_ones()),
        "clz" => sized!(ty, |a, _b, _c| a.leading_zeros()),
        "brev" => sized!(ty, |a, _b, _c| a.reverse_bits()),
        "bfind" if modifiers.takes("shiftamt") => find(ty, true)?,
        "bfind" => find(ty, false)?,
        _ => return None,
    })
}

/// The place of the highest bit that isn't the sign's, or its distance from the top; all ones where none is.
fn find(ty: Type, distance: bool) -> Option<Compute> {
    macro_rules! found {
        ($u:ty, $a:ident, $magnitude:expr) => {
            if distance {
                |$a, _, _, _| {
                    ($magnitude as $u)
                        .checked_ilog2()
                        .map_or(0xffff_ffff, |at| u64::from(<$u>::BITS - 1 - at))
                }
            } else {
                |$a, _, _, _| ($magnitude as $u).checked_ilog2().map_or(0xffff_ffff, u64::from)
            }
        };
    }
    Some(match ty {
        Type::U32 => found!(u32, a, a),
        Type::U64 => found!(u64, a, a),
        Type::S32 => found!(u32, a, a as i32 ^ (a as i32 >> 31)),
        Type::S64 => found!(u64, a, a as i64 ^ (a as i64 >> 63)),
        _ => return None,
    })
}

/// Instructions that pick, move and mix bits.
fn bits(head: &str, ty: Type, modifiers: &mut Modifiers<'_>) -> Option<Arithmetic> {
    let (compute, sources): (Compute, usize) = match head {
        "selp" => (select, 3),
        "slct" if ty == Type::S32 => {
            modifiers
                .one_of(&["b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64", "b16", "u16", "s16"])?;
            (slct, 3)
        }
        "sad" => (sized!(ty, |a, b, c| a.abs_diff(b).wrapping_add(c as U)), 3),
        "bfe" if ty.bytes() >= 4 => (extract(ty)?, 3),
        "bfi" if ty == Type::B32 => (|a, b, at, n| insert(a, b, at, n, 32), 4),
        "bfi" if ty == Type::B64 => (|a, b, at, n| insert(a, b, at, n, 64), 4),
        "prmt" if ty == Type::B32 => (permute, 3),
        "lop3" if ty == Type::B32 => (lop3, 4),
        "shf" if ty == Type::B32 => (funnel(modifiers)?, 3),
        _ => return None,
    };
    Some(Arithmetic::new(compute, sources))
}

fn extract(ty: Type) -> Option<Compute> {
    fn field(a: u64, at: u64, length: u64, bits: u64, signed: bool) -> u64 {
        let (at, length) = (at & 0xff, length & 0xff);
        let mask = |n: u64| if n >= 64 { u64::MAX } else { (1 << n) - 1 };
        let whole = mask(bits);
        // Bits above the value are its sign's, when it has one.
        let sign_at = (at + length).min(bits).saturating_sub(1);
        let sign = signed && length > 0 && (a >> sign_at) & 1 != 0;
        let shifted = if at >= bits { 0 } else { (a & whole) >> at };
        let kept = length.min(bits.saturating_sub(at));
        let value = shifted & mask(kept);
        (if sign { value | !mask(kept) } else { value }) & whole
    }
    Some(match ty {
        Type::U32 => |a, b, c, _| field(a, b, c, 32, false),
        Type::S32 => |a, b, c, _| field(a, b, c, 32, true),
        Type::U64 => |a, b, c, _| field(a, b, c, 64, false),
        Type::S64 => |a, b, c, _| field(a, b, c, 64, true),
        _ => return None,
    })
}

fn insert(a: u64, b: u64, at: u64, length: u64, bits: u32) -> u64 {
    let (at, length) = ((at & 0xff) as u32, (length & 0xff) as u32);
    let whole = u64::MAX >> (64 - bits);
    if at >= bits {
        return b & whole;
    }
    let field = (1u128 << length.min(64)) - 1;
    let mask = (field << at) as u64 & whole;
    ((((a as u128) & field) << at) as u64 & mask) | (b & !mask & whole)
}

fn permute(a: u64, b: u64, selector: u64, _: u64) -> u64 {
    let bytes = ((b & 0xffff_ffff) << 32 | a & 0xffff_ffff).to_le_bytes();
    let byte = |at: u32| {
        let nibble = (selector >> (4 * at)) as usize & 15;
        let value = bytes[nibble & 7];
        let sign = if value & 0x80 != 0 { 0xff } else { 0 };
        if nibble & 8 != 0 { sign } else { value }
    };
    u64::from(u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)]))
}

fn lop3(a: u64, b: u64, c: u64, table: u64) -> u64 {
    let mut out = 0;
    for at in 0..8 {
        if table >> at & 1 != 0 {
            let pick = |value: u64, bit: u64| if at & bit != 0 { value } else { !value };
            out |= pick(a, 4) & pick(b, 2) & pick(c, 1);
        }
    }
    out & 0xffff_ffff
}

fn funnel(modifiers: &mut Modifiers<'_>) -> Option<Compute> {
    fn both(a: u64, b: u64) -> u64 {
        (b & 0xffff_ffff) << 32 | a & 0xffff_ffff
    }
    let left = modifiers.one_of(&["l", "r"])? == "l";
    Some(match (left, modifiers.one_of(&["wrap", "clamp"])?) {
        (true, "wrap") => |a, b, c, _| (both(a, b) << (c & 31)) >> 32,
        (true, _) => |a, b, c, _| (both(a, b) << (c as u32).min(32)) >> 32,
        (false, "wrap") => |a, b, c, _| (both(a, b) >> (c & 31)) & 0xffff_ffff,
        (false, _) => |a, b, c, _| (both(a, b) >> (c as u32).min(32)) & 0xffff_ffff,
    })
}
