//! The inner loops of stencils.

use std::marker::PhantomData;

use crate::device::host::isa::{Body, Isa};
use crate::kernel::math::Float;

/// What a run of a stencil works on.
#[derive(Clone, Copy)]
pub(super) struct StencilArgs {
    /// Where `n` elements go. Overlaps no tap.
    pub to: *mut u8,
    /// For each tap, the `n` elements that it reads.
    pub taps: *const *const u8,
    /// A factor for each tap, or a gradient's divisor.
    pub factors: *const u8,
    pub count: usize,
    pub n: usize,
}

pub(super) type StencilFn = unsafe fn(StencilArgs);

pub(super) fn stencil_fn<T: Float>(isa: Isa, is_gradient: bool) -> StencilFn {
    if is_gradient { isa.pick::<Gradient<T>>() } else { isa.pick::<Convolve<T>>() }
}

struct Gradient<T>(PhantomData<T>);

impl<T: Float> Body for Gradient<T> {
    type Args = StencilArgs;

    #[inline(always)]
    unsafe fn run(args: StencilArgs) {
        let to = args.to.cast::<T>();
        // SAFETY: see `StencilArgs`; a gradient has two taps.
        unsafe {
            let (left, right) = (args.taps.read().cast::<T>(), args.taps.add(1).read().cast::<T>());
            let divisor = args.factors.cast::<T>().read_unaligned();
            for i in 0..args.n {
                to.add(i).write((right.add(i).read() - left.add(i).read()) / divisor);
            }
        }
    }
}

struct Convolve<T>(PhantomData<T>);

impl<T: Float> Body for Convolve<T> {
    type Args = StencilArgs;

    #[inline(always)]
    unsafe fn run(args: StencilArgs) {
        let mut at = 0;
        // SAFETY: see `StencilArgs`; `at` never passes `n`.
        unsafe {
            while at + 32 <= args.n {
                convolve::<T, 32>(args, at);
                at += 32;
            }
            while at + 8 <= args.n {
                convolve::<T, 8>(args, at);
                at += 8;
            }
            while at < args.n {
                convolve::<T, 1>(args, at);
                at += 1;
            }
        }
    }
}

/// Elements `at .. at + W`, their sums in registers while the taps go by.
#[inline(always)]
unsafe fn convolve<T: Float, const W: usize>(args: StencilArgs, at: usize) {
    let mut sums = [T::from_f64(0.0); W];
    // SAFETY: see `StencilArgs`.
    unsafe {
        for tap in 0..args.count {
            let from = args.taps.add(tap).read().cast::<T>().add(at).cast::<[T; W]>().read_unaligned();
            let factor = args.factors.cast::<T>().add(tap).read_unaligned();
            for lane in 0..W {
                sums[lane] = factor.fma(from[lane], sums[lane]);
            }
        }
        args.to.cast::<T>().add(at).cast::<[T; W]>().write_unaligned(sums);
    }
}
