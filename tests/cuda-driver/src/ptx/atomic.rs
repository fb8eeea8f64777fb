//! `atom` and `red`: one step that reads, computes and writes.

use super::code::{Compute, Op};
use super::lower::{Found, Lower};
use super::modifiers::Modifiers;
use super::move_data::space;
use super::statement::Operand;
use super::types::Type;
use super::{float, half, integer};

pub fn op<'a>(
    lower: &mut Lower<'a, '_>,
    head: &str,
    modifiers: &mut Modifiers<'a>,
    operands: &[Operand<'a>],
) -> Found<Op> {
    let (d, address, sources) = match (head, operands) {
        ("atom", [d, address, sources @ ..]) => (lower.destination(d)?, address, sources),
        ("red", [address, sources @ ..]) => (None, address, sources),
        _ => return Ok(None),
    };
    let Some(ty) = modifiers.last_type() else { return Ok(None) };
    let space = space(modifiers);
    modifiers.without_effect(&["relaxed", "acquire", "release", "acq_rel", "cta", "gpu", "sys", "noftz"]);
    let Some((update, count)) = modifiers.take_first().and_then(|name| update(name, ty, modifiers)) else {
        return Ok(None);
    };
    if sources.len() != count {
        return Err(lower.error(format!("an atomic of {count} operands has {}", sources.len())));
    }
    let mut s = [lower.constant(0); 2];
    for (slot, operand) in s.iter_mut().zip(sources) {
        *slot = lower.source(operand)?;
    }
    let address = lower.address(address)?;
    Ok(Some(Op::Atomic { space, bytes: ty.bytes() as u8, update, d, address, s }))
}

/// What becomes of the old value, and how many operands that takes. Hardware adds `f32` in global memory with subnormals kept.
fn update(name: &str, ty: Type, modifiers: &mut Modifiers<'_>) -> Option<(Compute, usize)> {
    let found: Compute = match name {
        "exch" => |_, b, _, _| b,
        "cas" => return Some((if ty.bytes() == 4 { cas32 } else { cas64 }, 2)),
        "inc" => |old, b, _, _| if old >= b { 0 } else { old + 1 },
        "dec" => |old, b, _, _| if old == 0 || old > b { b } else { old - 1 },
        "add" if matches!(ty, Type::F32 | Type::F64) => float::arithmetic(name, ty, modifiers)?.compute,
        "add" if ty.is_float() => half::arithmetic(name, ty, modifiers)?.compute,
        "add" | "min" | "max" | "and" | "or" | "xor" => integer::arithmetic(name, ty, modifiers)?.compute,
        _ => return None,
    };
    let sizes = match name {
        "exch" => ty.bytes() >= 4,
        "inc" | "dec" => ty == Type::U32,
        _ => ty.is_float() || ty.bytes() >= 4,
    };
    sizes.then_some((found, 1))
}

fn cas32(old: u64, compare: u64, new: u64, _: u64) -> u64 {
    if old as u32 == compare as u32 { new & 0xffff_ffff } else { old }
}

fn cas64(old: u64, compare: u64, new: u64, _: u64) -> u64 {
    if old == compare { new } else { old }
}
