//! Random numbers by counter: Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy
//! as 1, 2, 3", SC 2011).
//!
//! The key is the seed as two words, low first; the counter is the element's C-order position in the whole
//! array as two words, low first, then two zeros. So an element's number doesn't depend on chunks, threads or
//! device. With w the four words of the result:
//!
//! - uniform `f32`: (w₀ ≫ 8) · 2⁻²⁴; `f64`: ((w₀ · 2³² + w₁) ≫ 11) · 2⁻⁵³;
//! - normal, by Box and Muller: √(−2 log u) · cos(2π · v), where u = ((w₀ ≫ 8) + 1) · 2⁻²⁴ and v = (w₁ ≫ 8) ·
//!   2⁻²⁴ in `f32`; in `f64` u comes likewise from 53 bits of (w₀, w₁) and v from (w₂, w₃).

use std::marker::PhantomData;

use super::isa::{Body, Isa};
use crate::graph::expr_ops::Distribution;
use crate::kernel::math::Float;

/// What a run of numbers is made from.
#[derive(Clone, Copy)]
pub(super) struct RandomArgs {
    /// Where `n` numbers go.
    pub to: *mut u8,
    /// How many.
    pub n: usize,
    /// The key.
    pub seed: u64,
    /// Position of the first element; the others follow.
    pub first: u64,
}

/// Writes numbers of consecutive positions.
pub(super) type RandomFn = unsafe fn(RandomArgs);

/// The loop that makes numbers of type `T`.
pub(super) fn random_fn<T: RandomFloat>(isa: Isa, distribution: Distribution) -> RandomFn {
    match distribution {
        Distribution::Uniform => isa.pick::<Fill<T, false>>(),
        Distribution::Normal => isa.pick::<Fill<T, true>>(),
    }
}

/// How the generator's words become a float.
pub(super) trait RandomFloat: Float {
    /// Uniform over [0, 1).
    fn uniform(words: [u32; 4]) -> Self;
    /// Standard normal.
    fn normal(words: [u32; 4]) -> Self;
}

impl RandomFloat for f32 {
    #[inline(always)]
    fn uniform(words: [u32; 4]) -> f32 {
        (words[0] >> 8) as i32 as f32 * (1.0 / 16_777_216.0)
    }

    #[inline(always)]
    fn normal(words: [u32; 4]) -> f32 {
        let u = ((words[0] >> 8) + 1) as i32 as f32 * (1.0 / 16_777_216.0);
        let v = (words[1] >> 8) as i32 as f32 * (1.0 / 16_777_216.0);
        box_muller(u, v, std::f32::consts::TAU)
    }
}

impl RandomFloat for f64 {
    #[inline(always)]
    fn uniform(words: [u32; 4]) -> f64 {
        (bits_53(words[0], words[1])) as i64 as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    #[inline(always)]
    fn normal(words: [u32; 4]) -> f64 {
        let u = (bits_53(words[0], words[1]) + 1) as i64 as f64 * (1.0 / 9_007_199_254_740_992.0);
        let v = bits_53(words[2], words[3]) as i64 as f64 * (1.0 / 9_007_199_254_740_992.0);
        box_muller(u, v, std::f64::consts::TAU)
    }
}

#[inline(always)]
fn bits_53(high: u32, low: u32) -> u64 {
    (u64::from(high) << 32 | u64::from(low)) >> 11
}

#[inline(always)]
fn box_muller<T: Float>(u: T, v: T, tau: T) -> T {
    let radius = (T::from_f64(-2.0) * u.log()).sqrt();
    radius * (tau * v).cos()
}

struct Fill<T, const NORMAL: bool>(PhantomData<T>);

impl<T: RandomFloat, const NORMAL: bool> Body for Fill<T, NORMAL> {
    type Args = RandomArgs;

    #[inline(always)]
    unsafe fn run(args: RandomArgs) {
        let to = args.to.cast::<T>();
        for i in 0..args.n {
            let words = philox(args.seed, args.first.wrapping_add(i as u64));
            let value = if NORMAL { T::normal(words) } else { T::uniform(words) };
            // SAFETY: `to` has room for `n` numbers.
            unsafe { to.add(i).write(value) };
        }
    }
}

/// Ten rounds on the counter `(position, 0)` under the key `seed`.
#[inline(always)]
fn philox(seed: u64, position: u64) -> [u32; 4] {
    rounds([position as u32, (position >> 32) as u32, 0, 0], [seed as u32, (seed >> 32) as u32])
}

#[inline(always)]
fn rounds(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let a = u64::from(counter[0]) * 0xD251_1F53;
        let b = u64::from(counter[2]) * 0xCD9E_8D57;
        counter = [
            (b >> 32) as u32 ^ counter[1] ^ key[0],
            b as u32,
            (a >> 32) as u32 ^ counter[3] ^ key[1],
            a as u32,
        ];
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known-answer vectors of the Random123 distribution (kat_vectors, philox4x32 with 10 rounds).
    #[test]
    fn philox_gives_the_published_answers() {
        let all = u32::MAX;
        let cases = [
            ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ([all; 4], [all; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ];
        for (counter, key, want) in cases {
            assert_eq!(rounds(counter, key), want);
        }
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        fn moments<T: RandomFloat>(distribution: Distribution) -> (f64, f64) {
            let n = 100_000;
            let mut values = vec![T::from_f64(0.0); n];
            let args = RandomArgs { to: values.as_mut_ptr().cast(), n, seed: 7, first: u64::from(u32::MAX) };
            // SAFETY: the vector has room for n numbers.
            unsafe { random_fn::<T>(Isa::detect(), distribution)(args) };
            let mean = values.iter().map(|v| v.to_f64()).sum::<f64>() / n as f64;
            let var = values.iter().map(|v| (v.to_f64() - mean).powi(2)).sum::<f64>() / n as f64;
            (mean, var)
        }
        for (mean, var) in [moments::<f32>(Distribution::Normal), moments::<f64>(Distribution::Normal)] {
            assert!(mean.abs() < 0.01 && (var - 1.0).abs() < 0.015, "{mean} {var}");
        }
        for (mean, var) in [moments::<f32>(Distribution::Uniform), moments::<f64>(Distribution::Uniform)] {
            assert!((mean - 0.5).abs() < 0.004 && (var - 1.0 / 12.0).abs() < 0.002, "{mean} {var}");
        }
    }
}
