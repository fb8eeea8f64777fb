//! Branches, calls, barriers, and what warps do together.

use super::PtxError;
use super::body::Symbol;
use super::code::{Op, Vote, Warp};
use super::lower::{Found, Lower};
use super::modifiers::Modifiers;
use super::statement::Operand;
use super::{integer, types::Type};

pub fn op<'a>(
    lower: &mut Lower<'a, '_>,
    head: &str,
    modifiers: &mut Modifiers<'a>,
    operands: &[Operand<'a>],
) -> Found<Op> {
    Ok(Some(match (head, operands) {
        ("bra", [Operand::Name(label)]) => {
            modifiers.without_effect(&["uni"]);
            lower.branches.push((lower.function.code.len(), label));
            Op::Branch { target: 0 }
        }
        ("brx", [index, Operand::Name(table)]) if modifiers.takes("idx") => {
            modifiers.without_effect(&["uni"]);
            let Some(Symbol::Table(at)) = lower.symbol(table) else {
                return Err(lower.error(format!("'{table}' isn't a list of labels")));
            };
            lower.table_branches.push((lower.function.code.len(), at));
            Op::BranchTable { index: lower.source(index)?, targets: Vec::new() }
        }
        ("call", _) => {
            modifiers.without_effect(&["uni"]);
            call(lower, operands)?
        }
        ("ret", []) => {
            modifiers.without_effect(&["uni"]);
            Op::Return
        }
        ("exit", []) => Op::Exit,
        ("trap", []) => Op::Trap,
        ("membar" | "fence", []) => {
            modifiers.without_effect(&["cta", "gl", "sys", "gpu", "sc", "acq_rel"]);
            Op::Nothing
        }
        ("nanosleep", [_]) => {
            modifiers.without_effect(&["u32"]);
            Op::Nothing
        }
        ("bar" | "barrier", _) => return barrier(lower, modifiers, operands),
        ("shfl" | "vote" | "redux" | "match", _) => return warp(lower, head, modifiers, operands),
        _ => return Ok(None),
    }))
}

/// `call (retval0), name, (param0, param1)`, the results and arguments optional.
fn call<'a>(lower: &mut Lower<'a, '_>, operands: &[Operand<'a>]) -> Result<Op, PtxError> {
    let none: &[&str] = &[];
    let (results, name, arguments) = match operands {
        [Operand::List(results), Operand::Name(name), Operand::List(arguments)] => {
            (&results[..], name, &arguments[..])
        }
        [Operand::List(results), Operand::Name(name)] => (&results[..], name, none),
        [Operand::Name(name), Operand::List(arguments)] => (none, name, &arguments[..]),
        [Operand::Name(name)] => (none, name, none),
        _ => return Err(lower.error("a call of another form than is known; calls by address aren't")),
    };
    let Some(signature) = lower.signatures.get(name).cloned() else {
        return Err(lower.error(format!("no function '{name}' is there to call")));
    };
    let copies = |names: &[&str], formal: &[(usize, usize)]| {
        if names.len() != formal.len() {
            return Err(lower.error(format!("'{name}' is called with other parameters than it has")));
        }
        let copy = |(own, (at, length)): (&&str, &(usize, usize))| match lower.symbol(own) {
            Some(Symbol::Param { offset, bytes }) if bytes >= *length => Ok((offset, *at, *length)),
            _ => Err(lower.error(format!("'{own}' isn't a parameter that fits '{name}'"))),
        };
        names.iter().zip(formal).map(copy).collect::<Result<Vec<_>, _>>()
    };
    let arguments = copies(arguments, &signature.parameters)?;
    let results = copies(results, &signature.results)?;
    Ok(Op::Call { function: signature.index, arguments, results })
}

/// `bar.sync 0`, `bar.sync 1, 64`, `bar.warp.sync m`, `bar.red.popc.u32 d, 0, p`.
fn barrier<'a>(
    lower: &mut Lower<'a, '_>,
    modifiers: &mut Modifiers<'a>,
    operands: &[Operand<'a>],
) -> Found<Op> {
    modifiers.without_effect(&["cta", "aligned"]);
    if modifiers.takes("warp") {
        modifiers.takes("sync");
        let [members] = operands else { return Ok(None) };
        let (zero, members) = (lower.constant(0), lower.source(members)?);
        let kind = Warp::Synchronize;
        return Ok(Some(Op::Warp { kind, d: [None; 2], s: [zero; 3], negated: false, members }));
    }
    if modifiers.takes("red") {
        let vote = match modifiers.one_of(&["popc", "and", "or"]) {
            Some("popc") => Vote::Count,
            Some("and") => Vote::All,
            Some(_) => Vote::Any,
            None => return Ok(None),
        };
        modifiers.without_effect(&["u32", "pred"]);
        let [d, id, threads @ .., predicate] = operands else { return Ok(None) };
        let (predicate, negated) = condition(lower, predicate)?;
        let threads = match threads {
            [] => None,
            [threads] => Some(lower.source(threads)?),
            _ => return Ok(None),
        };
        let reduce = Some((vote, lower.register(d)?, predicate, negated));
        return Ok(Some(Op::Barrier { id: lower.source(id)?, threads, reduce }));
    }
    if !modifiers.takes("sync") {
        return Ok(None);
    }
    let (id, threads) = match operands {
        [id] => (id, None),
        [id, threads] => (id, Some(lower.source(threads)?)),
        _ => return Ok(None),
    };
    Ok(Some(Op::Barrier { id: lower.source(id)?, threads, reduce: None }))
}

fn warp<'a>(
    lower: &mut Lower<'a, '_>,
    head: &str,
    modifiers: &mut Modifiers<'a>,
    operands: &[Operand<'a>],
) -> Found<Op> {
    if !modifiers.takes("sync") {
        return Ok(None);
    }
    let [d, sources @ .., members] = operands else { return Ok(None) };
    let d = lower.pair(d)?;
    let kind = match head {
        "shfl" => {
            modifiers.without_effect(&["b32"]);
            match modifiers.one_of(&["up", "down", "bfly", "idx"]) {
                Some("up") => Warp::ShuffleUp,
                Some("down") => Warp::ShuffleDown,
                Some("bfly") => Warp::ShuffleXor,
                Some(_) => Warp::ShuffleIndex,
                None => return Ok(None),
            }
        }
        "vote" => {
            modifiers.without_effect(&["pred", "b32"]);
            match modifiers.one_of(&["all", "any", "uni", "ballot"]) {
                Some("all") => Warp::Vote(Vote::All),
                Some("any") => Warp::Vote(Vote::Any),
                Some("uni") => Warp::Vote(Vote::Uniform),
                Some(_) => Warp::Vote(Vote::Ballot),
                None => return Ok(None),
            }
        }
        "redux" => {
            let ty = modifiers.last_type().filter(|ty| ty.bytes() == 4 && !ty.is_float());
            let name = modifiers.one_of(&["add", "min", "max", "and", "or", "xor"]);
            let (Some(ty), Some(name)) = (ty, name) else { return Ok(None) };
            let found = integer::arithmetic(name, ty, modifiers);
            match found {
                Some(found) => Warp::Reduce(found.compute),
                None => return Ok(None),
            }
        }
        _ if modifiers.takes("any") && modifiers.last_type() == Some(Type::B32) => Warp::MatchAny,
        _ => return Ok(None),
    };
    let (mut s, mut negated) = ([lower.constant(0); 3], false);
    for (slot, operand) in s.iter_mut().zip(sources) {
        (*slot, negated) = condition(lower, operand)?;
    }
    let members = lower.source(members)?;
    Ok(Some(Op::Warp { kind, d, s, negated, members }))
}

/// A source, and whether `!` stands before it.
fn condition<'a>(
    lower: &mut Lower<'a, '_>,
    operand: &Operand<'a>,
) -> Result<(super::code::Source, bool), PtxError> {
    match operand {
        Operand::Not(name) => Ok((lower.source(&Operand::Name(name))?, true)),
        other => Ok((lower.source(other)?, false)),
    }
}
