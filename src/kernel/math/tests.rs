//! What the tests of the functions share: each function as a loop, built for each instruction set.

mod accuracy;
mod bits;
mod specials;
#[cfg(feature = "wgpu")]
mod wgsl;

use super::Float;

/// A loop over two inputs (a unary function leaves the second alone) into an output.
type Portable<T> = fn(&[T], &[T], &mut [T]);
/// The same, to be called only where the CPU has its instruction set.
type Gated<T> = unsafe fn(&[T], &[T], &mut [T]);

/// An instruction set's name, whether this CPU has it, and the loop built for it.
type Build<T> = (&'static str, fn() -> bool, Gated<T>);

/// One function, built for every instruction set.
struct Function<T: 'static> {
    name: &'static str,
    portable: Portable<T>,
    gated: &'static [Build<T>],
}

impl<T: Float> Function<T> {
    /// Runs the fastest build that this CPU has.
    fn run(&self, a: &[T], b: &[T]) -> Vec<T> {
        let mut out = vec![T::from_f64(0.0); a.len()];
        match self.gated.iter().rev().find(|(_, is_there, _)| is_there()) {
            // SAFETY: the CPU has the build's instruction set: asked just now.
            Some((_, _, f)) => unsafe { f(a, b, &mut out) },
            None => (self.portable)(a, b, &mut out),
        }
        out
    }
}

macro_rules! functions {
    ($table:ident, $float:ident: $($name:ident($x:ident, $y:ident) = $value:expr;)*) => {
        const $table: &[Function<$float>] = &[$(
            Function {
                name: stringify!($name),
                portable: {
                    fn body(a: &[$float], b: &[$float], out: &mut [$float]) {
                        for ((out, &$x), &$y) in out.iter_mut().zip(a).zip(b) {
                            let _ = $y;
                            *out = $value;
                        }
                    }
                    body
                },
                #[cfg(not(target_arch = "x86_64"))]
                gated: &[],
                #[cfg(target_arch = "x86_64")]
                gated: {
                    #[target_feature(enable = "avx2,fma")]
                    fn avx2(a: &[$float], b: &[$float], out: &mut [$float]) {
                        for ((out, &$x), &$y) in out.iter_mut().zip(a).zip(b) {
                            let _ = $y;
                            *out = $value;
                        }
                    }
                    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,fma")]
                    fn avx512(a: &[$float], b: &[$float], out: &mut [$float]) {
                        for ((out, &$x), &$y) in out.iter_mut().zip(a).zip(b) {
                            let _ = $y;
                            *out = $value;
                        }
                    }
                    &[("avx2", has_avx2, avx2), ("avx512", has_avx512, avx512)]
                },
            },
        )*];
    };
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    has_avx2()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
}

macro_rules! both_types {
    ($(($table:ident, $float:ident)),*) => {$(
        functions! { $table, $float:
            exp(x, y) = Float::exp(x);
            log(x, y) = Float::log(x);
            sin(x, y) = Float::sin_any(x);
            cos(x, y) = Float::cos_any(x);
            tan(x, y) = Float::tan_any(x);
            sin_fast(x, y) = Float::sin(x);
            cos_fast(x, y) = Float::cos(x);
            tan_fast(x, y) = Float::tan(x);
            tanh(x, y) = Float::tanh(x);
            atan(x, y) = Float::atan(x);
            asin(x, y) = Float::asin(x);
            acos(x, y) = Float::acos(x);
            log2(x, y) = Float::log2(x);
            log10(x, y) = Float::log10(x);
            exp2(x, y) = Float::exp2(x);
            log1p(x, y) = Float::log1p(x);
            expm1(x, y) = Float::expm1(x);
            sinh(x, y) = Float::sinh(x);
            cosh(x, y) = Float::cosh(x);
            atan2(x, y) = Float::atan2(x, y);
            pow(x, y) = Float::pow(x, y);
            hypot(x, y) = Float::hypot(x, y);
        }
    )*};
}

both_types! { (F32, f32), (F64, f64) }

/// The row of `table` of that name.
fn function<T>(table: &'static [Function<T>], name: &str) -> &'static Function<T> {
    table.iter().find(|f| f.name == name).expect("a function of that name")
}

/// A sequence of seeded random bits (xorshift64*).
struct Bits(u64);

impl Bits {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Uniform in [0, 1).
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Values at which something may go wrong.
const EDGES: [f64; 30] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -2.0,
    3.0,
    -3.0,
    2.5,
    -2.5,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    f64::MIN_POSITIVE,
    5e-324,
    -5e-324,
    f64::MAX,
    f64::MIN,
    f32::MAX as f64,
    f32::MIN_POSITIVE as f64,
    1e-45,
    1e22,
    709.782_712_893_384,
    709.782_712_893_384_1,
    -745.133_219_101_941_2,
    88.722_84,
    1.0 + f64::EPSILON,
    1.0 - f64::EPSILON / 2.0,
];
