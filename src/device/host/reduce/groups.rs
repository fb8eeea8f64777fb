//! Loops that fold a group of values into one cell.

use std::marker::PhantomData;

use super::loops::{FoldArgs, Ordered, Summary, extreme};
use crate::device::host::isa::Body;
use crate::device::host::vm::convert::Number;

/// Independent sums. A fixed part of the definition of results, whatever the vectors' width.
const LANES: usize = 16;

/// A sum in `f64`, and with `COUNT` the number of values in the next plane.
pub(super) struct Sum<T, const MASK: bool, const COUNT: bool>(PhantomData<T>);

impl<T: Number, const MASK: bool, const COUNT: bool> Body for Sum<T, MASK, COUNT> {
    type Args = FoldArgs;

    #[inline(always)]
    unsafe fn run(args: FoldArgs) {
        // SAFETY: see `FoldArgs`.
        unsafe {
            let total = lane_sum::<T, MASK>(args, |x| x.to_f64());
            let sum = args.state.cast::<f64>();
            *sum += total;
            if COUNT {
                *sum.byte_add(args.plane) += counted::<MASK>(args);
            }
        }
    }
}

/// A sum in `i64`, which wraps.
pub(super) struct IntegerSum<T, const MASK: bool>(PhantomData<T>);

impl<T: Number, const MASK: bool> Body for IntegerSum<T, MASK> {
    type Args = FoldArgs;

    #[inline(always)]
    unsafe fn run(args: FoldArgs) {
        let values = args.values.cast::<T>();
        let mut total = 0i64;
        // SAFETY: see `FoldArgs`.
        unsafe {
            for i in 0..args.n {
                let value = values.add(i).read().to_i64();
                total = total.wrapping_add(if MASK && args.mask.add(i).read() == 0 { 0 } else { value });
            }
            let sum = args.state.cast::<i64>();
            *sum = (*sum).wrapping_add(total);
        }
    }
}

/// Count, mean and sum of squared distances.
pub(super) struct Moments<T, const MASK: bool>(PhantomData<T>);

impl<T: Number, const MASK: bool> Body for Moments<T, MASK> {
    type Args = FoldArgs;

    #[inline(always)]
    unsafe fn run(args: FoldArgs) {
        // SAFETY: see `FoldArgs`.
        unsafe {
            let count = counted::<MASK>(args);
            if count == 0.0 {
                return;
            }
            let mean = lane_sum::<T, MASK>(args, |x| x.to_f64()) / count;
            let squares = lane_sum::<T, MASK>(args, |x| {
                let distance = x.to_f64() - mean;
                distance * distance
            });
            // Would be zero but for rounding.
            let rest = lane_sum::<T, MASK>(args, |x| x.to_f64() - mean);
            let group = Summary { count, mean: mean + rest / count, m2: squares - rest * (rest / count) };
            let (a, b, c) = planes(args);
            let joined = Summary { count: *a, mean: *b, m2: *c }.join(group);
            (*a, *b, *c) = (joined.count, joined.mean, joined.m2);
        }
    }
}

/// The smallest, or with `LARGER` the largest.
pub(super) struct Extreme<T, const MASK: bool, const LARGER: bool>(PhantomData<T>);

impl<T: Ordered, const MASK: bool, const LARGER: bool> Body for Extreme<T, MASK, LARGER> {
    type Args = FoldArgs;

    #[inline(always)]
    unsafe fn run(args: FoldArgs) {
        const WIDE: usize = 2 * LANES;
        let start = if LARGER { T::LOWEST } else { T::HIGHEST };
        let values = args.values.cast::<T>();
        let mut lanes = [start; WIDE];
        // SAFETY: see `FoldArgs`.
        unsafe {
            let value = |i: usize| {
                let is_out = MASK && args.mask.add(i).read() == 0;
                if is_out { start } else { values.add(i).read() }
            };
            let whole = args.n - args.n % WIDE;
            for first in (0..whole).step_by(WIDE) {
                for (lane, best) in lanes.iter_mut().enumerate() {
                    *best = extreme::<T, LARGER>(value(first + lane), *best);
                }
            }
            for i in whole..args.n {
                lanes[i - whole] = extreme::<T, LARGER>(value(i), lanes[i - whole]);
            }
            let best = lanes.into_iter().fold(start, |x, y| extreme::<T, LARGER>(y, x));
            let state = args.state.cast::<T>();
            *state = extreme::<T, LARGER>(best, *state);
        }
    }
}

/// How often each bin occurs among `i32` values.
pub(super) struct Count<const MASK: bool>;

impl<const MASK: bool> Body for Count<MASK> {
    type Args = FoldArgs;

    #[inline(always)]
    unsafe fn run(args: FoldArgs) {
        let (values, counts) = (args.values.cast::<i32>(), args.state.cast::<i64>());
        for i in 0..args.n {
            // SAFETY: see `FoldArgs`; the state has a cell for each bin.
            unsafe {
                let bin = values.add(i).read();
                let is_in = !MASK || args.mask.add(i).read() != 0;
                if is_in && bin >= 0 && (bin as usize) < args.bins {
                    *counts.add(bin as usize) += 1;
                }
            }
        }
    }
}

/// The sum of `f(value)` over the values that count: in lanes, then a balanced tree.
#[inline(always)]
unsafe fn lane_sum<T: Number, const MASK: bool>(args: FoldArgs, f: impl Fn(T) -> f64) -> f64 {
    let values = args.values.cast::<T>();
    let mut lanes = [0.0; LANES];
    // SAFETY: see `FoldArgs`.
    unsafe {
        let term = |i: usize| {
            let is_out = MASK && args.mask.add(i).read() == 0;
            if is_out { 0.0 } else { f(values.add(i).read()) }
        };
        let whole = args.n - args.n % LANES;
        for first in (0..whole).step_by(LANES) {
            for (lane, sum) in lanes.iter_mut().enumerate() {
                *sum += term(first + lane);
            }
        }
        for i in whole..args.n {
            lanes[i - whole] += term(i);
        }
    }
    for half in [8, 4, 2, 1] {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
    }
    lanes[0]
}

#[inline(always)]
unsafe fn counted<const MASK: bool>(args: FoldArgs) -> f64 {
    if !MASK {
        return args.n as f64;
    }
    let mut count = 0u32;
    for i in 0..args.n {
        // SAFETY: see `FoldArgs`; a group has far fewer elements than `u32` holds.
        count += u32::from(unsafe { args.mask.add(i).read() } != 0);
    }
    f64::from(count)
}

/// The three planes of moments.
#[inline(always)]
pub(super) unsafe fn planes(args: FoldArgs) -> (*mut f64, *mut f64, *mut f64) {
    let first = args.state;
    // SAFETY: see `FoldArgs`; moments have three planes.
    unsafe { (first.cast(), first.add(args.plane).cast(), first.add(2 * args.plane).cast()) }
}
