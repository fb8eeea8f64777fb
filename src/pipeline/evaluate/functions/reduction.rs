//! Functions that fold axes away.

use super::super::call::Call;
use super::super::value::Value;
use super::{Build, Function, Outcome, Parameter, needed, optional};
use crate::collections::array::Over;
use crate::graph::op::Reduction;

const PLAIN: &[Parameter] =
    &[needed("x"), optional("axis", "None"), optional("keepdims", "False"), optional("where", "None")];
const SPREAD: &[Parameter] = &[
    needed("x"),
    optional("axis", "None"),
    optional("ddof", "0"),
    optional("keepdims", "False"),
    optional("where", "None"),
];

const fn plain(
    name: &'static str,
    aliases: &'static [&'static str],
    build: fn(&Call) -> Outcome<Value>,
    summary: &'static str,
) -> Function {
    Function { name, aliases, parameters: PLAIN, summary, build: Build::With(build) }
}

const fn spread(name: &'static str, build: fn(&Call) -> Outcome<Value>, summary: &'static str) -> Function {
    Function { name, aliases: &[], parameters: SPREAD, summary, build: Build::With(build) }
}

pub(super) const TABLE: &[Function] = &[
    plain("sum", &[], |call| fold(call, Reduction::Sum), "sum; integers add as i64"),
    plain("mean", &[], |call| fold(call, Reduction::Mean), "arithmetic mean"),
    plain("min", &["amin"], |call| fold(call, Reduction::Min), "smallest element; NaN when there is one"),
    plain("max", &["amax"], |call| fold(call, Reduction::Max), "largest element; NaN when there is one"),
    spread("var", |call| fold(call, Reduction::Var { ddof: ddof(call)? }), "variance"),
    spread("std", |call| fold(call, Reduction::Std { ddof: ddof(call)? }), "standard deviation"),
    plain("count_nonzero", &[], count_nonzero, "how many elements are not zero"),
    Function {
        name: "histogram",
        aliases: &[],
        parameters: &[
            needed("x"),
            optional("bins", "10"),
            optional("range", "None"),
            optional("where", "None"),
        ],
        summary: "counts in equal bins from range[0] to range[1] (else from the smallest to the largest element)",
        build: Build::With(histogram),
    },
];

fn fold(call: &Call, reduction: Reduction) -> Outcome<Value> {
    call.built(call.array(0)?.reduce(reduction, &over(call)?))
}

fn count_nonzero(call: &Call) -> Outcome<Value> {
    call.built(call.array(0)?.not_equal(false).sum(&over(call)?))
}

/// `keepdims` and `where` stand last in both lists of parameters.
fn over(call: &Call) -> Outcome<Over> {
    let last = call.slots() - 1;
    Ok(Over {
        axes: call.integers(1)?,
        keep_dims: call.flag(last - 1)?.unwrap_or(false),
        mask: call.mask(last)?.cloned(),
    })
}

fn ddof(call: &Call) -> Outcome<u32> {
    Ok(call.count(2, u32::MAX)?.unwrap_or(0))
}

fn histogram(call: &Call) -> Outcome<Value> {
    const BINS_MAX: u32 = 1 << 24;
    let x = call.array(0)?;
    let bins = call.count(1, BINS_MAX)?.unwrap_or(10) as usize;
    let range = match call.numbers(2)?.as_deref() {
        None => None,
        Some([low, high]) => Some((*low, *high)),
        Some(_) => {
            return Err(call.problem(2, "'range' of histogram must be two numbers, the lower one first"));
        }
    };
    call.built(x.histogram(bins, range, call.mask(3)?))
}
