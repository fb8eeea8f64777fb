//! Functions of neighbourhoods along axes.

use super::super::call::Call;
use super::super::value::Value;
use super::{Build, Function, Outcome, needed, optional};
use crate::graph::expr_ops::EdgeMode;

pub(super) const TABLE: &[Function] = &[
    Function {
        name: "gradient",
        aliases: &[],
        parameters: &[needed("x"), optional("spacing", "1"), optional("axis", "None")],
        summary: "central differences along an axis, one-sided at its ends; the axis of a vector needn't be said",
        build: Build::With(gradient),
    },
    Function {
        name: "convolve1d",
        aliases: &["ndimage.convolve1d"],
        parameters: &[
            needed("x"),
            needed("weights"),
            optional("axis", "-1"),
            optional("mode", "\"reflect\""),
            optional("cval", "0.0"),
        ],
        summary: "convolution with an odd number of weights; modes reflect, nearest, constant",
        build: Build::With(convolve1d),
    },
    Function {
        name: "gaussian_filter1d",
        aliases: &["ndimage.gaussian_filter1d"],
        parameters: &[
            needed("x"),
            needed("sigma"),
            optional("axis", "-1"),
            optional("mode", "\"reflect\""),
            optional("cval", "0.0"),
        ],
        summary: "Gaussian smoothing along an axis, cut at 4 sigma",
        build: Build::With(gaussian_filter1d),
    },
    Function {
        name: "gaussian_filter",
        aliases: &["ndimage.gaussian_filter"],
        parameters: &[needed("x"), needed("sigma"), optional("mode", "\"reflect\""), optional("cval", "0.0")],
        summary: "Gaussian smoothing along all axes; sigma is a number, or one an axis (0 leaves it alone)",
        build: Build::With(gaussian_filter),
    },
];

fn gradient(call: &Call) -> Outcome<Value> {
    let x = call.array(0)?;
    let axes = x.shape().map_or(1, |shape| shape.len());
    let axis = match call.integer(2)? {
        Some(axis) => axis,
        None if axes == 1 => 0,
        None => {
            let message = format!("an array of {axes} axes has a gradient along each: say which with axis=");
            return Err(call.problem(0, message).help("write gradient(x, spacing, axis=0)"));
        }
    };
    call.built(x.gradient(call.number(1)?.unwrap_or(1.0), axis))
}

fn convolve1d(call: &Call) -> Outcome<Value> {
    let weights = call.numbers(1)?.unwrap_or_default();
    call.built(call.array(0)?.convolve1d(&weights, call.integer(2)?.unwrap_or(-1), mode(call, 3)?))
}

fn gaussian_filter1d(call: &Call) -> Outcome<Value> {
    let sigma = call.number(1)?.unwrap_or(f64::NAN);
    call.built(call.array(0)?.gaussian_filter1d(sigma, call.integer(2)?.unwrap_or(-1), mode(call, 3)?))
}

/// SciPy's order: from the first axis to the last.
fn gaussian_filter(call: &Call) -> Outcome<Value> {
    let x = call.array(0)?;
    let axes = x.shape().map_or(0, |shape| shape.len());
    let mut sigmas = call.numbers(1)?.unwrap_or_default();
    if sigmas.len() == 1 {
        sigmas.resize(axes, sigmas[0]);
    }
    if sigmas.len() != axes {
        let message = format!("{} sigmas for an array of {axes} axes", sigmas.len());
        return Err(call.problem(1, message).help("give one number, or one for each axis"));
    }
    let mode = mode(call, 2)?;
    let smooth = |x: crate::collections::Array, (axis, sigma): (usize, &f64)| {
        if *sigma == 0.0 { x } else { x.gaussian_filter1d(*sigma, axis as i64, mode) }
    };
    call.built(sigmas.iter().enumerate().fold(x.clone(), smooth))
}

/// The mode at one parameter, with its `cval` in the next.
fn mode(call: &Call, at: usize) -> Outcome<EdgeMode> {
    let cval = call.number(at + 1)?;
    let choices = [
        ("reflect", EdgeMode::Reflect),
        ("nearest", EdgeMode::Nearest),
        ("constant", EdgeMode::Constant(cval.unwrap_or(0.0))),
    ];
    let mode = call.choice(at, &choices)?.unwrap_or(EdgeMode::Reflect);
    if cval.is_some() && !matches!(mode, EdgeMode::Constant(_)) {
        return Err(call.problem(at + 1, "'cval' is for mode=\"constant\" only"));
    }
    Ok(mode)
}
