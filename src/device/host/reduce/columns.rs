//! Loops that fold each value into a cell of its own, side by side.

use std::marker::PhantomData;

use super::groups::planes;
use super::loops::{FoldArgs, Ordered, extreme};
use crate::device::host::isa::Body;
use crate::device::host::vm::convert::Number;

/// Sums in `f64`, and with `COUNT` the numbers of values in the next plane.
pub(super) struct Sum<T, const MASK: bool, const COUNT: bool>(PhantomData<T>);

impl<T: Number, const MASK: bool, const COUNT: bool> Body for Sum<T, MASK, COUNT> {
    type Args = FoldArgs;

    #[inline(always)]
    unsafe fn run(args: FoldArgs) {
        let (values, sums) = (args.values.cast::<T>(), args.state.cast::<f64>());
        // SAFETY: see `FoldArgs`; `n` cells lie side by side.
        unsafe {
            for i in 0..args.n {
                let is_out = MASK && args.mask.add(i).read() == 0;
                *sums.add(i) += if is_out { 0.0 } else { values.add(i).read().to_f64() };
            }
            if COUNT {
                let counts = sums.byte_add(args.plane);
                for i in 0..args.n {
                    let is_out = MASK && args.mask.add(i).read() == 0;
                    *counts.add(i) += if is_out { 0.0 } else { 1.0 };
                }
            }
        }
    }
}

/// Sums in `i64`, which wrap.
pub(super) struct IntegerSum<T, const MASK: bool>(PhantomData<T>);

impl<T: Number, const MASK: bool> Body for IntegerSum<T, MASK> {
    type Args = FoldArgs;

    #[inline(always)]
    unsafe fn run(args: FoldArgs) {
        let (values, sums) = (args.values.cast::<T>(), args.state.cast::<i64>());
        for i in 0..args.n {
            // SAFETY: see `FoldArgs`; `n` cells lie side by side.
            unsafe {
                let is_out = MASK && args.mask.add(i).read() == 0;
                let value = if is_out { 0 } else { values.add(i).read().to_i64() };
                *sums.add(i) = (*sums.add(i)).wrapping_add(value);
            }
        }
    }
}

/// Count, mean and sum of squared distances, by Welford's update.
pub(super) struct Moments<T, const MASK: bool>(PhantomData<T>);

impl<T: Number, const MASK: bool> Body for Moments<T, MASK> {
    type Args = FoldArgs;

    #[inline(always)]
    unsafe fn run(args: FoldArgs) {
        let values = args.values.cast::<T>();
        // SAFETY: see `FoldArgs`; `n` cells lie side by side in each plane.
        unsafe {
            let (counts, means, squares) = planes(args);
            for i in 0..args.n {
                let value = values.add(i).read().to_f64();
                let (mean, count) = (*means.add(i), *counts.add(i) + 1.0);
                let distance = value - mean;
                let moved = mean + distance / count;
                let square = *squares.add(i) + distance * (value - moved);
                let is_out = MASK && args.mask.add(i).read() == 0;
                *counts.add(i) = if is_out { count - 1.0 } else { count };
                *means.add(i) = if is_out { mean } else { moved };
                *squares.add(i) = if is_out { *squares.add(i) } else { square };
            }
        }
    }
}

/// The smallest, or with `LARGER` the largest.
pub(super) struct Extreme<T, const MASK: bool, const LARGER: bool>(PhantomData<T>);

impl<T: Ordered, const MASK: bool, const LARGER: bool> Body for Extreme<T, MASK, LARGER> {
    type Args = FoldArgs;

    #[inline(always)]
    unsafe fn run(args: FoldArgs) {
        let (values, best) = (args.values.cast::<T>(), args.state.cast::<T>());
        for i in 0..args.n {
            // SAFETY: see `FoldArgs`; `n` cells lie side by side.
            unsafe {
                let old = *best.add(i);
                let new = extreme::<T, LARGER>(values.add(i).read(), old);
                let is_out = MASK && args.mask.add(i).read() == 0;
                *best.add(i) = if is_out { old } else { new };
            }
        }
    }
}
