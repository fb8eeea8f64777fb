//! Moves, loads, stores, address conversions, and arithmetic with the condition code.

use super::PtxError;
use super::body::Symbol;
use super::code::{Carry, Compute, Flush, LaneMask, Op, Space, Special};
use super::lower::{Found, Lower, window};
use super::modifiers::Modifiers;
use super::statement::Operand;
use super::types::Type;

pub fn op<'a>(
    lower: &mut Lower<'a, '_>,
    head: &str,
    modifiers: &mut Modifiers<'a>,
    operands: &[Operand<'a>],
) -> Found<Op> {
    match (head, operands) {
        ("mov", [d, a]) => mov(lower, modifiers, d, a),
        ("ld" | "ldu", [d, address]) => load(lower, modifiers, d, address),
        ("st", [address, s]) => store(lower, modifiers, address, s),
        ("cvta", [d, a]) => convert_address(lower, modifiers, d, a),
        ("prefetch", [_]) => {
            modifiers.without_effect(&["global", "local", "L1", "L2"]);
            Ok(Some(Op::Nothing))
        }
        ("activemask", [d]) => {
            modifiers.without_effect(&["b32"]);
            Ok(Some(Op::Special { special: Special::ActiveLanes, d: lower.register(d)? }))
        }
        ("add" | "addc" | "sub" | "subc" | "mad" | "madc", _) => carry(lower, head, modifiers, operands),
        _ => Ok(None),
    }
}

fn mov<'a>(
    lower: &mut Lower<'a, '_>,
    modifiers: &mut Modifiers<'a>,
    d: &Operand<'a>,
    a: &Operand<'a>,
) -> Found<Op> {
    let Some(ty) = modifiers.last_type() else { return Ok(None) };
    let bits = |parts: &[Operand<'_>]| 8 * ty.bytes() as u32 / parts.len().max(1) as u32;
    match (d, a) {
        (d, Operand::Vector(parts)) => {
            let s = parts.iter().map(|part| lower.source(part)).collect::<Result<_, _>>()?;
            return Ok(Some(Op::Pack { d: lower.register(d)?, s, bits: bits(parts) }));
        }
        (Operand::Vector(parts), a) => {
            let d = parts.iter().map(|part| lower.destination(part)).collect::<Result<_, _>>()?;
            return Ok(Some(Op::Unpack { d, s: lower.source(a)?, bits: bits(parts) }));
        }
        _ => {}
    }
    let d = lower.register(d)?;
    if let Operand::Name(name) = a {
        if let Some(special) = special(name) {
            return Ok(Some(Op::Special { special, d }));
        }
        if let Some(Symbol::Local(offset)) = lower.symbol(name) {
            return Ok(Some(Op::LocalAddress { offset, d }));
        }
    }
    let copy: Compute = match ty.bytes() {
        1 => |a, _, _, _| a & 0xff,
        2 => |a, _, _, _| a & 0xffff,
        4 => |a, _, _, _| a & 0xffff_ffff,
        _ => |a, _, _, _| a,
    };
    let zero = lower.constant(0);
    Ok(Some(Op::Compute { compute: copy, flush: None, d, s: [lower.source(a)?, zero, zero, zero] }))
}

fn special(name: &str) -> Option<Special> {
    let dimension = |name: &str| match name {
        "x" => Some(0),
        "y" => Some(1),
        "z" => Some(2),
        _ => None,
    };
    Some(match name.strip_prefix('%')? {
        "laneid" => Special::Lane,
        "warpid" => Special::Warp,
        "nwarpid" => Special::Warps,
        "clock" | "clock64" | "clock_hi" | "globaltimer" => Special::Clock,
        "lanemask_eq" => Special::LaneMask(LaneMask::Equal),
        "lanemask_lt" => Special::LaneMask(LaneMask::Less),
        "lanemask_le" => Special::LaneMask(LaneMask::LessOrEqual),
        "lanemask_gt" => Special::LaneMask(LaneMask::Greater),
        "lanemask_ge" => Special::LaneMask(LaneMask::GreaterOrEqual),
        "dynamic_smem_size" => Special::DynamicShared,
        other => match other.split_once('.')? {
            ("tid", axis) => Special::Thread(dimension(axis)?),
            ("ntid", axis) => Special::Threads(dimension(axis)?),
            ("ctaid", axis) => Special::Block(dimension(axis)?),
            ("nctaid", axis) => Special::Blocks(dimension(axis)?),
            _ => return None,
        },
    })
}

/// Takes the modifiers of a load or store: space, type, lanes.
fn access(modifiers: &mut Modifiers<'_>) -> Option<(Space, Type, usize)> {
    let ty = modifiers.last_type().filter(|ty| *ty != Type::Pred)?;
    let space = space(modifiers);
    let lanes = match modifiers.one_of(&["v2", "v4"]) {
        Some("v2") => 2,
        Some(_) => 4,
        None => 1,
    };
    // Caches, and orders among threads: each access is done before the thread's next.
    modifiers
        .without_effect(&["ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "volatile", "weak", "relaxed"]);
    modifiers.without_effect(&["acquire", "release", "cta", "gpu", "sys", "L1::no_allocate"]);
    Some((space, ty, lanes))
}

/// Takes the state space; constants lie in global memory here.
pub fn space(modifiers: &mut Modifiers<'_>) -> Space {
    match modifiers.one_of(&["global", "const", "shared", "shared::cta", "local", "param"]) {
        Some("global" | "const") => Space::Global,
        Some("shared" | "shared::cta") => Space::Shared,
        Some("local") => Space::Local,
        Some(_) => Space::Param,
        None => Space::Generic,
    }
}

fn lanes<'o, 'a>(operand: &'o Operand<'a>) -> &'o [Operand<'a>] {
    match operand {
        Operand::Vector(parts) => parts,
        other => std::slice::from_ref(other),
    }
}

fn load<'a>(
    lower: &mut Lower<'a, '_>,
    modifiers: &mut Modifiers<'a>,
    d: &Operand<'a>,
    address: &Operand<'a>,
) -> Found<Op> {
    let Some((space, ty, count)) = access(modifiers) else { return Ok(None) };
    check_lanes(lower, count, d)?;
    let mut signed = None;
    if ty.is_signed()
        && let Some(first) = lanes(d).iter().find(|lane| **lane != Operand::Name("_"))
    {
        signed = Some(lower.typed_register(first)?.1.mask());
    }
    let d = lanes(d).iter().map(|lane| lower.destination(lane)).collect::<Result<_, _>>()?;
    Ok(Some(Op::Load { space, bytes: ty.bytes() as u8, signed, d, address: lower.address(address)? }))
}

fn store<'a>(
    lower: &mut Lower<'a, '_>,
    modifiers: &mut Modifiers<'a>,
    address: &Operand<'a>,
    s: &Operand<'a>,
) -> Found<Op> {
    let Some((space, ty, count)) = access(modifiers) else { return Ok(None) };
    check_lanes(lower, count, s)?;
    let s = lanes(s).iter().map(|lane| lower.source(lane)).collect::<Result<_, _>>()?;
    Ok(Some(Op::Store { space, bytes: ty.bytes() as u8, s, address: lower.address(address)? }))
}

fn check_lanes(lower: &Lower<'_, '_>, count: usize, operand: &Operand<'_>) -> Result<(), PtxError> {
    match lanes(operand).len() {
        found if found == count => Ok(()),
        found => Err(lower.error(format!("{found} registers for a vector of {count}"))),
    }
}

/// `cvta.to.global.u64 d, a` and `cvta.shared.u64 d, a`.
fn convert_address<'a>(
    lower: &mut Lower<'a, '_>,
    modifiers: &mut Modifiers<'a>,
    d: &Operand<'a>,
    a: &Operand<'a>,
) -> Found<Op> {
    modifiers.without_effect(&["u32", "u64"]);
    let to = modifiers.takes("to");
    let Some(start) = modifiers.take_first().and_then(window) else { return Ok(None) };
    let subtract: Compute = |a, b, _, _| a.wrapping_sub(b);
    let add: Compute = |a, b, _, _| a.wrapping_add(b);
    let (a, start, zero) = (lower.source(a)?, lower.constant(start), lower.constant(0));
    let compute = if to { subtract } else { add };
    Ok(Some(Op::Compute { compute, flush: None, d: lower.register(d)?, s: [a, start, zero, zero] }))
}

/// The instructions that read or write the condition code; the others of their names aren't known here.
fn carry<'a>(
    lower: &mut Lower<'a, '_>,
    head: &str,
    modifiers: &mut Modifiers<'a>,
    operands: &[Operand<'a>],
) -> Found<Op> {
    let (reads, writes) = (head.ends_with('c'), modifiers.rest().contains(&"cc"));
    if !reads && !writes {
        return Ok(None);
    }
    modifiers.takes("cc");
    let Some(ty) = modifiers.last_type().filter(|ty| ty.bytes() >= 4 && !ty.is_float()) else {
        return Ok(None);
    };
    let kind = match head {
        "add" | "addc" => Carry::Add,
        "sub" | "subc" => Carry::Subtract,
        _ if modifiers.takes("lo") => Carry::MultiplyLow,
        _ if modifiers.takes("hi") && !ty.is_signed() => Carry::MultiplyHigh,
        _ => return Ok(None),
    };
    let (d, sources) = match operands {
        [d, sources @ ..] if sources.len() == 2 || sources.len() == 3 => (d, sources),
        _ => return Ok(None),
    };
    let mut s = [lower.constant(0); 3];
    for (slot, operand) in s.iter_mut().zip(sources) {
        *slot = lower.source(operand)?;
    }
    Ok(Some(Op::Carry { kind, wide: ty.bytes() == 8, reads, writes, d: lower.register(d)?, s }))
}

/// What flushing means for an instruction on `f32` with `.ftz`: these sources, and the result.
pub fn flushing(sources: u8) -> Flush {
    Flush { sources, result: true, saturate: false }
}
