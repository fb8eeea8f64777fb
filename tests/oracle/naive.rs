//! What each operation must give, by NumPy's rules, in plain Rust over whole arrays.

use outcrop::block::Block;
use outcrop::collections::array::{Index, gaussian_weights};
use outcrop::dtype::{DType, f16};
use outcrop::graph::expr_ops::{BinaryOp as B, EdgeMode, UnaryOp as U};
use outcrop::graph::op::Reduction;

use crate::program::Node;

/// A whole array: integers and bools in `ints`, every type (rounded) in `floats`.
#[derive(Clone, Debug)]
pub struct Whole {
    pub dtype: DType,
    pub shape: Vec<usize>,
    pub ints: Vec<i64>,
    pub floats: Vec<f64>,
}

impl Whole {
    pub fn of(block: &Block) -> Whole {
        let floats = block.to_f64_vec().unwrap();
        let ints = block.to_vec::<i64>().unwrap_or_else(|| floats.iter().map(|&x| x as i64).collect());
        Whole { dtype: block.dtype(), shape: block.shape().to_vec(), ints, floats }
    }

    /// The same bits, save that all NaN are alike.
    pub fn is_same(&self, other: &Whole) -> bool {
        let bits = |x: f64| if x.is_nan() { u64::MAX } else { x.to_bits() };
        let floats = self.floats.iter().zip(&other.floats).all(|(&a, &b)| bits(a) == bits(b));
        (self.dtype, &self.shape, &self.ints) == (other.dtype, &other.shape, &other.ints) && floats
    }

    fn at(&self, place: &[usize]) -> usize {
        let lead = place.len() - self.shape.len();
        let own = self.shape.iter().zip(&place[lead..]);
        own.fold(0, |linear, (&extent, &at)| linear * extent + if extent == 1 { 0 } else { at })
    }
}

/// Every place of a shape, in C order.
fn places(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![Vec::new()], |so_far, &extent| {
        so_far.iter().flat_map(|place| (0..extent).map(move |at| [&place[..], &[at]].concat())).collect()
    })
}

/// The nodes that a node reads.
pub fn operands(node: &Node) -> Vec<usize> {
    match node {
        Node::Memory { .. } | Node::Indices(..) | Node::Full(..) | Node::Random(..) => vec![],
        Node::Unary(_, a) | Node::BinaryScalar(_, a, _) | Node::Cast(a, _) | Node::Gradient(a, _) => vec![*a],
        Node::Convolve(a, ..) | Node::Gaussian(a, ..) | Node::Slice(a, _) | Node::Rechunk(a) => vec![*a],
        Node::Binary(_, a, b) => vec![*a, *b],
        Node::Select(c, a, b) => vec![*c, *a, *b],
        Node::Reduce { of, mask, .. } | Node::Histogram { of, mask, .. } => {
            [Some(*of), *mask].into_iter().flatten().collect()
        }
    }
}

/// Whether the result is what its operands' values ask for, where this interpreter knows.
pub fn check(node: &Node, wholes: &[Whole], got: &Whole) -> Result<(), String> {
    let all = places(&got.shape);
    if all.len() != got.floats.len() {
        return Err(format!("{} values for shape {:?}", got.floats.len(), got.shape));
    }
    let Some(want) = expected(node, wholes, got, &all) else { return Ok(()) };
    if want.len() != got.floats.len() {
        return Err(format!("{node:?}: {} values, not {}", got.floats.len(), want.len()));
    }
    for (at, &(want, scale)) in want.iter().enumerate() {
        let found = got.floats[at];
        let tolerance = scale
            * match got.dtype {
                DType::F16 => 2e-3,
                DType::F32 => 1e-5,
                _ => 1e-11,
            };
        let is_right = match got.dtype {
            // Beyond the range, and among the subnormal numbers.
            DType::F16 if !(want.abs() < 6e4 && scale < 6e4) => true,
            DType::F16 => (found - want).abs() <= tolerance + 1e-7,
            DType::F32 if !(want.abs() < 1e30 && scale < 1e30) => true,
            DType::F32 | DType::F64 if !want.is_finite() => found.is_nan() == want.is_nan(),
            DType::F32 | DType::F64 => (found - want).abs() <= tolerance + 1e-300,
            _ => found == want,
        };
        if !is_right {
            return Err(format!(
                "{node:?} at {:?}: {found}, not {want}; of {:?}",
                all[at],
                operands(node).iter().map(|&i| &wholes[i]).collect::<Vec<_>>()
            ));
        }
    }
    Ok(())
}

/// Value and scale of its rounding error.
fn expected(node: &Node, wholes: &[Whole], got: &Whole, all: &[Vec<usize>]) -> Option<Vec<(f64, f64)>> {
    let exact = |value: f64| (value, value.abs());
    let value = |of: usize, place: &[usize]| wholes[of].floats[wholes[of].at(place)];
    Some(match node {
        Node::Memory { values, dtype: DType::F64, .. } => {
            values.iter().map(|&v| exact(v as f64 * 0.37)).collect()
        }
        Node::Memory { values, dtype: DType::U8, .. } => {
            values.iter().map(|&v| exact(f64::from(v as u8))).collect()
        }
        Node::Indices(_, DType::F64 | DType::I64 | DType::I32) => {
            (0..all.len()).map(|i| exact(i as f64)).collect()
        }
        Node::Rechunk(a) => wholes[*a].floats.iter().map(|&x| (x, 0.0)).collect(),
        Node::Unary(op, a) => {
            let of = match op {
                U::Negative if got.dtype.is_float() => |x: f64| -x,
                U::Floor => f64::floor,
                U::Abs if got.dtype.is_float() => f64::abs,
                U::Sqrt => f64::sqrt,
                U::IsNan => |x: f64| f64::from(u8::from(x.is_nan())),
                _ => return None,
            };
            wholes[*a].floats.iter().map(|&x| exact(of(x))).collect()
        }
        Node::Binary(op, a, b) => {
            let pair = |p: &Vec<usize>| {
                let ints = (wholes[*a].ints[wholes[*a].at(p)], wholes[*b].ints[wholes[*b].at(p)]);
                arithmetic(
                    *op,
                    got.dtype,
                    (value(*a, p), value(*b, p)),
                    ints,
                    [wholes[*a].dtype, wholes[*b].dtype],
                )
            };
            all.iter().map(pair).collect::<Option<_>>()?
        }
        Node::Cast(a, dtype) if !wholes[*a].dtype.is_float() => {
            wholes[*a].ints.iter().map(|&i| exact(wrapped(i, *dtype))).collect()
        }
        Node::Select(c, a, b) if wholes[*a].dtype == wholes[*b].dtype => {
            all.iter().map(|p| (value(if value(*c, p) != 0.0 { *a } else { *b }, p), 0.0)).collect()
        }
        _ => return gathered(node, wholes, got, all),
    })
}

/// Operations that read elements of other places.
fn gathered(node: &Node, wholes: &[Whole], got: &Whole, all: &[Vec<usize>]) -> Option<Vec<(f64, f64)>> {
    let value = |of: usize, place: &[usize]| wholes[of].floats[wholes[of].at(place)];
    Some(match node {
        Node::Slice(a, entries) => slice(&wholes[*a], entries).iter().map(|&x| (x, 0.0)).collect(),
        Node::Gradient(a, axis) => {
            let axis = axis.rem_euclid(got.shape.len() as i64) as usize;
            let n = got.shape[axis];
            let one = |p: &Vec<usize>| {
                let (mut low, mut high) = (p.clone(), p.clone());
                low[axis] = p[axis].saturating_sub(1);
                high[axis] = (p[axis] + 1).min(n - 1);
                let (x, y) = (value(*a, &high), value(*a, &low));
                let by = (high[axis] - low[axis]) as f64 * 0.5;
                ((x - y) / by, (x.abs() + y.abs()) / by)
            };
            all.iter().map(one).collect()
        }
        Node::Convolve(a, weights, axis, mode) => convolved(&wholes[*a], weights, *axis, *mode, all),
        Node::Gaussian(a, sigma, axis, mode) => {
            convolved(&wholes[*a], &gaussian_weights(*sigma), *axis, *mode, all)
        }
        Node::Reduce { of, reduction, axes, keep, mask } => {
            let whole = &wholes[*of];
            let rank = whole.shape.len() as i64;
            let folded = |k: usize| {
                axes.as_ref().is_none_or(|axes| axes.iter().any(|axis| axis.rem_euclid(rank) == k as i64))
            };
            let mut groups = vec![Vec::new(); all.len()];
            for place in places(&whole.shape) {
                if mask.is_some_and(|mask| value(mask, &place) == 0.0) {
                    continue;
                }
                let own = place.iter().enumerate();
                let target: Vec<usize> = own
                    .filter(|(k, _)| *keep || !folded(*k))
                    .map(|(k, &at)| if folded(k) { 0 } else { at })
                    .collect();
                groups[got.at(&target)].push(value(*of, &place));
            }
            if !whole.dtype.is_float() && whole.floats.iter().any(|x| x.abs() > 1e12) {
                return None;
            }
            groups.iter().map(|group| fold(*reduction, group)).collect()
        }
        Node::Histogram { of, bins, range: Some((low, high)), mask } if wholes[*of].dtype != DType::F32 => {
            let counted = places(&wholes[*of].shape);
            let counted = counted.iter().filter(|p| mask.is_none_or(|mask| value(mask, p) != 0.0));
            counts(*bins, (*low, *high), counted.map(|p| value(*of, p)))
        }
        _ => return None,
    })
}

/// NumPy's bins: each takes its lower edge, the last one both.
fn counts(bins: usize, (low, high): (f64, f64), values: impl Iterator<Item = f64>) -> Vec<(f64, f64)> {
    let mut counts = vec![(0.0, 0.0); bins];
    let edge = |k: usize| k as f64 * ((high - low) / bins as f64) + low;
    for x in values.filter(|x| (low..=high).contains(x)) {
        counts[(0..bins).rev().find(|&k| x >= edge(k)).unwrap_or(0)].0 += 1.0;
    }
    counts
}

fn wrapped(i: i64, dtype: DType) -> f64 {
    match dtype {
        DType::Bool => f64::from(u8::from(i != 0)),
        DType::U8 => f64::from(i as u8),
        DType::I16 => f64::from(i as i16),
        DType::I32 => f64::from(i as i32),
        DType::U32 => f64::from(i as u32),
        DType::I64 | DType::F64 => i as f64,
        DType::F32 => f64::from(i as f32),
        DType::F16 => f16::from_f64(i as f64).into(),
    }
}

fn arithmetic(
    op: B,
    dtype: DType,
    (x, y): (f64, f64),
    (i, j): (i64, i64),
    of: [DType; 2],
) -> Option<(f64, f64)> {
    let in_ints = !of[0].is_float() && !of[1].is_float();
    let exact = |value: f64| Some((value, value.abs()));
    let truth = |holds: bool| exact(f64::from(u8::from(holds)));
    if in_ints && !dtype.is_float() && dtype != DType::Bool {
        return match op {
            B::Add => exact(wrapped(i.wrapping_add(j), dtype)),
            B::Subtract => exact(wrapped(i.wrapping_sub(j), dtype)),
            B::Multiply => exact(wrapped(i.wrapping_mul(j), dtype)),
            B::Minimum => exact(wrapped(i.min(j), dtype)),
            B::And => exact(wrapped(i & j, dtype)),
            B::Xor => exact(wrapped(i ^ j, dtype)),
            _ => None,
        };
    }
    match op {
        B::Less if in_ints => truth(i < j),
        B::Equal if in_ints => truth(i == j),
        B::Add if dtype.is_float() => Some((x + y, x.abs() + y.abs())),
        B::Subtract if dtype.is_float() => Some((x - y, x.abs() + y.abs())),
        B::Multiply if dtype.is_float() => exact(x * y),
        B::Divide => exact(x / y),
        B::Maximum if dtype == DType::F64 && of[0] == of[1] => exact(if x.is_nan() || x > y { x } else { y }),
        _ => None,
    }
}

fn slice(whole: &Whole, entries: &[Index]) -> Vec<f64> {
    let picks: Vec<Vec<usize>> =
        entries.iter().zip(&whole.shape).map(|(entry, &n)| picked(*entry, n as i64)).collect();
    let counts: Vec<usize> = picks.iter().map(Vec::len).collect();
    let source = |place: Vec<usize>| place.iter().zip(&picks).map(|(&at, pick)| pick[at]).collect::<Vec<_>>();
    places(&counts).into_iter().map(|place| whole.floats[whole.at(&source(place))]).collect()
}

/// Python's `range(*slice.indices(n))`.
fn picked(entry: Index, n: i64) -> Vec<usize> {
    match entry {
        Index::At(at) => vec![at.rem_euclid(n) as usize],
        Index::Ellipsis => (0..n as usize).collect(),
        Index::Range { start, stop, step } => {
            let step = step.unwrap_or(1);
            let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
            let bound = |given: Option<i64>, default: i64| {
                given.map_or(default, |at| (if at < 0 { at + n } else { at }).max(low).min(high))
            };
            let (first, end) = if step > 0 { (0, n) } else { (n - 1, -1) };
            let (mut at, end) = (bound(start, first), bound(stop, end));
            let mut picks = Vec::new();
            while if step > 0 { at < end } else { at > end } {
                picks.push(at as usize);
                at += step;
            }
            picks
        }
    }
}

fn convolved(
    whole: &Whole,
    weights: &[f64],
    axis: i64,
    mode: EdgeMode,
    all: &[Vec<usize>],
) -> Vec<(f64, f64)> {
    let axis = axis.rem_euclid(whole.shape.len() as i64) as usize;
    let n = whole.shape[axis] as i64;
    let radius = weights.len() as i64 / 2;
    let one = |place: &Vec<usize>| {
        weights.iter().enumerate().fold((0.0, 0.0), |(sum, scale), (k, weight)| {
            let mut at = place[axis] as i64 + radius - k as i64;
            let mut place = place.clone();
            let outside = at < 0 || at >= n;
            let x = if let (true, EdgeMode::Constant(value)) = (outside, mode) {
                value
            } else {
                while at < 0 || at >= n {
                    let folded = if at < 0 { -1 - at } else { 2 * n - 1 - at };
                    at = if mode == EdgeMode::Nearest { at.clamp(0, n - 1) } else { folded };
                }
                place[axis] = at as usize;
                whole.floats[whole.at(&place)]
            };
            (sum + weight * x, scale + (weight * x).abs())
        })
    };
    all.iter().map(one).collect()
}

fn fold(reduction: Reduction, group: &[f64]) -> (f64, f64) {
    let n = group.len() as f64;
    let sum: f64 = group.iter().sum();
    let size: f64 = group.iter().map(|x| x.abs()).sum();
    let mean = sum / n;
    let variance = |ddof: u32| {
        let squares: f64 = group.iter().map(|x| (x - mean) * (x - mean)).sum();
        squares / (n - f64::from(ddof)).max(0.0)
    };
    let nan = group.iter().any(|x| x.is_nan());
    let extreme =
        |pick: fn(f64, f64) -> f64| if nan { f64::NAN } else { group.iter().copied().reduce(pick).unwrap() };
    match reduction {
        Reduction::Sum => (sum, size),
        Reduction::Mean => (mean, size / n),
        Reduction::Min => (extreme(f64::min), 0.0),
        Reduction::Max => (extreme(f64::max), 0.0),
        Reduction::Var { ddof } => (variance(ddof), size * size),
        Reduction::Std { ddof } => (variance(ddof).sqrt(), size * 1e6),
        Reduction::Count { .. } => (f64::NAN, 0.0),
    }
}

/// Equal but for the rounding of another order of addition.
pub fn close(reduction: Reduction, of: &Whole, want: &Whole, got: &Whole) -> Result<(), String> {
    let size: f64 = of.floats.iter().map(|x| x.abs()).sum();
    let unit = if want.dtype == DType::F32 { 1e-6 } else { 1e-12 };
    let tolerance = match reduction {
        Reduction::Sum | Reduction::Mean => size * unit,
        Reduction::Var { .. } => size * size * unit,
        _ => size * unit.sqrt(),
    };
    for (&want, &got) in want.floats.iter().zip(&got.floats) {
        let is_close = want.is_nan() && got.is_nan() || want == got || (want - got).abs() <= tolerance;
        if !is_close && size < 1e15 {
            return Err(format!("{reduction:?}: {got}, not {want} within {tolerance}"));
        }
    }
    Ok(())
}
