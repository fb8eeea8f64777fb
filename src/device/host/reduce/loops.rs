//! What folding loops share.

use crate::device::host::isa::Isa;
use crate::device::host::vm::convert::{Half, Number, with_element};
use crate::dtype::DType;
use crate::graph::op::Reduction;
use crate::kernel::math::Float;

use super::{columns, groups};

/// Values that are folded into a state.
#[derive(Clone, Copy)]
pub(super) struct FoldArgs {
    /// `n` values of the type that the loop was made for.
    pub values: *const u8,
    /// For each whether it counts; null when all do.
    pub mask: *const u8,
    pub n: usize,
    /// The (first) cell.
    pub state: *mut u8,
    /// Bytes from one plane to the next.
    pub plane: usize,
    /// Bins of a count.
    pub bins: usize,
}

pub(super) type FoldFn = unsafe fn(FoldArgs);

/// The loops of one reduction: all values into one cell, and each value into a cell of its own.
#[derive(Clone, Copy)]
pub(super) struct FoldLoops {
    pub group: FoldFn,
    pub column: FoldFn,
}

/// The loops for values of a type, with or without a mask; or what they can't do.
pub(super) fn fold_loops(
    isa: Isa,
    reduction: Reduction,
    dtype: DType,
    has_mask: bool,
) -> Result<FoldLoops, String> {
    let loops = if has_mask {
        with_element!(dtype, masked::<_>(isa, reduction, dtype))
    } else {
        with_element!(dtype, unmasked::<_>(isa, reduction, dtype))
    };
    loops.ok_or_else(|| format!("{} of {dtype}", reduction.name()))
}

fn masked<T: Ordered>(isa: Isa, reduction: Reduction, dtype: DType) -> Option<FoldLoops> {
    typed::<T, true>(isa, reduction, dtype)
}

fn unmasked<T: Ordered>(isa: Isa, reduction: Reduction, dtype: DType) -> Option<FoldLoops> {
    typed::<T, false>(isa, reduction, dtype)
}

fn typed<T: Ordered, const MASK: bool>(isa: Isa, reduction: Reduction, dtype: DType) -> Option<FoldLoops> {
    Some(match reduction {
        Reduction::Sum if dtype.is_float() => FoldLoops {
            group: isa.pick::<groups::Sum<T, MASK, false>>(),
            column: isa.pick::<columns::Sum<T, MASK, false>>(),
        },
        Reduction::Sum => FoldLoops {
            group: isa.pick::<groups::IntegerSum<T, MASK>>(),
            column: isa.pick::<columns::IntegerSum<T, MASK>>(),
        },
        Reduction::Mean => FoldLoops {
            group: isa.pick::<groups::Sum<T, MASK, true>>(),
            column: isa.pick::<columns::Sum<T, MASK, true>>(),
        },
        Reduction::Var { .. } | Reduction::Std { .. } => FoldLoops {
            group: isa.pick::<groups::Moments<T, MASK>>(),
            column: isa.pick::<columns::Moments<T, MASK>>(),
        },
        Reduction::Min => FoldLoops {
            group: isa.pick::<groups::Extreme<T, MASK, false>>(),
            column: isa.pick::<columns::Extreme<T, MASK, false>>(),
        },
        Reduction::Max => FoldLoops {
            group: isa.pick::<groups::Extreme<T, MASK, true>>(),
            column: isa.pick::<columns::Extreme<T, MASK, true>>(),
        },
        Reduction::Count { .. } if dtype == DType::I32 => {
            let count = isa.pick::<groups::Count<MASK>>();
            FoldLoops { group: count, column: count }
        }
        Reduction::Count { .. } => return None,
    })
}

/// An element type with a smallest and a largest.
pub(super) trait Ordered: Number {
    /// What `smaller` starts from.
    const HIGHEST: Self;
    /// What `larger` starts from.
    const LOWEST: Self;
    /// NaN if either is.
    fn smaller(self, other: Self) -> Self;
    /// NaN if either is.
    fn larger(self, other: Self) -> Self;
}

macro_rules! ordered {
    (integers: $($int:ident),*; floats: $($float:ident),*) => {
        $(impl Ordered for $int {
            const HIGHEST: Self = $int::MAX;
            const LOWEST: Self = $int::MIN;
            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                if self < other { self } else { other }
            }
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                if self > other { self } else { other }
            }
        })*
        $(impl Ordered for $float {
            const HIGHEST: Self = $float::INFINITY;
            const LOWEST: Self = $float::NEG_INFINITY;
            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                Float::minimum(self, other)
            }
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                Float::maximum(self, other)
            }
        })*
    };
}
ordered!(integers: u8, i16, i32, u32, i64; floats: f32, f64);

impl Ordered for Half {
    const HIGHEST: Self = Half::INFINITY;
    const LOWEST: Self = Half::NEG_INFINITY;
    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        Float::minimum(self.to_f32(), other.to_f32()).to_f16()
    }
    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        Float::maximum(self.to_f32(), other.to_f32()).to_f16()
    }
}

/// The smaller, or the larger when `LARGER`.
#[inline(always)]
pub(super) fn extreme<T: Ordered, const LARGER: bool>(x: T, y: T) -> T {
    if LARGER { x.larger(y) } else { x.smaller(y) }
}

/// Where [`extreme`] starts. A `bool` is a byte here, whose largest value isn't the type's.
pub(super) fn identity_bits(reduction: Reduction, dtype: DType) -> u64 {
    fn bits<T: Ordered>(reduction: Reduction) -> u64 {
        let value = if reduction == Reduction::Min { T::HIGHEST } else { T::LOWEST };
        let mut bytes = [0; 8];
        // SAFETY: element types have at most eight bytes.
        unsafe { (&raw const value).cast::<u8>().copy_to_nonoverlapping(bytes.as_mut_ptr(), size_of::<T>()) };
        u64::from_ne_bytes(bytes)
    }
    match (reduction, dtype) {
        (Reduction::Min, DType::Bool) => u64::from_ne_bytes([1, 0, 0, 0, 0, 0, 0, 0]),
        (Reduction::Min | Reduction::Max, _) => with_element!(dtype, bits::<_>(reduction)),
        _ => 0,
    }
}

/// Number of elements, their mean, and the sum of squared distances from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Summary {
    pub count: f64,
    pub mean: f64,
    pub m2: f64,
}

impl Summary {
    /// Of both sets together: Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for
    /// computing sample variances" (1979).
    #[inline(always)]
    pub fn join(self, other: Summary) -> Summary {
        let count = self.count + other.count;
        let distance = other.mean - self.mean;
        let share = other.count / count;
        let joined = Summary {
            count,
            mean: self.mean + distance * share,
            m2: self.m2 + other.m2 + distance * distance * (self.count * share),
        };
        let other = if self.count == 0.0 { other } else { joined };
        if other.count == self.count { self } else { other }
    }
}
