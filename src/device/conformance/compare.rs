//! Whether two blocks hold the same values.

use crate::block::Block;
use crate::dtype::{DType, f16};

/// How far a float may be off.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tolerance {
    /// So much of its own value.
    OfValue(f64),
    /// So much of the largest value in the block: sums in which much cancels.
    OfLargest(f64),
}

/// The first element that differs, and both values. Floats are equal bit by bit where there is no tolerance, save that
/// any NaN is one; else by as much as the tolerance allows, and by anything below the least normal number.
pub(super) fn first_difference(
    found: &Block,
    wanted: &Block,
    tolerance: Option<Tolerance>,
) -> Option<(usize, String, String)> {
    if found.dtype() != wanted.dtype() || found.shape() != wanted.shape() {
        let what = |block: &Block| format!("one of {} {}", block.dtype(), block.shape());
        return Some((0, what(found), what(wanted)));
    }
    match wanted.dtype() {
        DType::F32 => {
            let (found, wanted) = (found.to_vec::<f32>()?, wanted.to_vec::<f32>()?);
            let off = tolerance.map(|tolerance| tolerance.on(wanted.iter().map(|&x| f64::from(x))));
            let same = |a: f32, b: f32| a.to_bits() == b.to_bits();
            first(&found, &wanted, |a, b| is_same(same(a, b), a.into(), b.into(), off))
        }
        DType::F16 => {
            let (found, wanted) = (found.to_vec::<f16>()?, wanted.to_vec::<f16>()?);
            let off = tolerance.map(|tolerance| tolerance.on(wanted.iter().map(|&x| f64::from(x))));
            // A function's last digit may move `f16`'s least number.
            let off = off.map(|off| Off { always: f64::from(f16::MIN_POSITIVE_SUBNORMAL), ..off });
            let same = |a: f16, b: f16| a.to_bits() == b.to_bits();
            first(&found, &wanted, |a, b| is_same(same(a, b), a.into(), b.into(), off))
        }
        DType::F64 => {
            let (found, wanted) = (found.to_vec::<f64>()?, wanted.to_vec::<f64>()?);
            let off = tolerance.map(|tolerance| tolerance.on(wanted.iter().copied()));
            first(&found, &wanted, |a, b| is_same(a.to_bits() == b.to_bits(), a, b, off))
        }
        DType::I64 => first(&found.to_vec::<i64>()?, &wanted.to_vec::<i64>()?, |a, b| a == b),
        DType::I32 => first(&found.to_vec::<i32>()?, &wanted.to_vec::<i32>()?, |a, b| a == b),
        DType::U32 => first(&found.to_vec::<u32>()?, &wanted.to_vec::<u32>()?, |a, b| a == b),
        DType::I16 => first(&found.to_vec::<i16>()?, &wanted.to_vec::<i16>()?, |a, b| a == b),
        DType::U8 => first(&found.to_vec::<u8>()?, &wanted.to_vec::<u8>()?, |a, b| a == b),
        DType::Bool => first(found.contiguous_bytes()?, wanted.contiguous_bytes()?, |a, b| a == b),
    }
}

/// Of the value itself, and in addition.
#[derive(Clone, Copy)]
struct Off {
    of_value: f64,
    always: f64,
}

impl Tolerance {
    fn on(self, wanted: impl Iterator<Item = f64>) -> Off {
        let least = f64::from(f32::MIN_POSITIVE);
        match self {
            Tolerance::OfValue(of_value) => Off { of_value, always: least },
            Tolerance::OfLargest(share) => {
                let largest = wanted.filter(|x| x.is_finite()).fold(0.0, |most: f64, x| most.max(x.abs()));
                Off { of_value: 0.0, always: share * largest + least }
            }
        }
    }
}

fn is_same(is_equal: bool, a: f64, b: f64, off: Option<Off>) -> bool {
    let is_close = |off: Off| a == b || (a - b).abs() <= off.of_value * b.abs() + off.always;
    is_equal || a.is_nan() && b.is_nan() || off.is_some_and(is_close)
}

fn first<T: Copy + std::fmt::Debug>(
    found: &[T],
    wanted: &[T],
    is_same: impl Fn(T, T) -> bool,
) -> Option<(usize, String, String)> {
    let at = found.iter().zip(wanted).position(|(&a, &b)| !is_same(a, b))?;
    Some((at, format!("{:?}", found[at]), format!("{:?}", wanted[at])))
}

#[cfg(test)]
mod tests {
    use super::Tolerance::{OfLargest, OfValue};
    use super::*;

    fn difference(found: &[f32], wanted: &[f32], tolerance: Option<Tolerance>) -> Option<usize> {
        let block = |values: &[f32]| Block::from_slice([values.len()], values).unwrap();
        first_difference(&block(found), &block(wanted), tolerance).map(|(at, _, _)| at)
    }

    #[test]
    fn bits_count_where_there_is_no_tolerance() {
        assert_eq!(difference(&[1.0, f32::NAN], &[1.0, -f32::NAN], None), None);
        assert_eq!(difference(&[1.0, 0.0], &[1.0, -0.0], None), Some(1));
        assert_eq!(difference(&[1.0, 0.0, 1.1], &[1.0, -0.0, 1.0], Some(OfValue(0.01))), Some(2));
        assert_eq!(difference(&[1.0], &[1.0 + 1e-6], Some(OfValue(1e-5))), None);
        assert_eq!(difference(&[f32::INFINITY], &[f32::MAX], Some(OfValue(1e-5))), Some(0));
    }

    #[test]
    fn what_cancels_is_off_by_a_share_of_the_largest() {
        let (found, wanted) = ([1000.0, 0.001], [1000.0, 0.0011]);
        assert_eq!(difference(&found, &wanted, Some(OfValue(1e-6))), Some(1));
        assert_eq!(difference(&found, &wanted, Some(OfLargest(1e-6))), None);
        assert_eq!(difference(&found, &wanted, Some(OfLargest(1e-8))), Some(1));
    }

    #[test]
    fn other_lengths_differ() {
        assert_eq!(difference(&[1.0], &[1.0, 2.0], Some(OfValue(1.0))), Some(0));
    }
}
