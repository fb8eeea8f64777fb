//! Elementwise kernels as the real NVRTC compiled them, bit for bit against plain Rust.

mod card;

use card::{Card, Random, args, start};

const PTX: &str = include_str!("ptx/elementwise.ptx");
const SIZES: [usize; 5] = [1, 31, 128, 1000, 4097];

fn open(ordinal: i32) -> (Card, usize) {
    start(&[("OUTCROP_CUDA_DEVICES", "9")]);
    let card = Card::open(ordinal);
    let module = card.load(PTX).expect("a module");
    (card, module)
}

/// NaNs of `f32` arithmetic have one pattern on a card; of a plain copy they have their own.
fn bits(value: f32) -> u32 {
    if value.is_nan() { 0x7fff_ffff } else { value.to_bits() }
}

fn bits64(value: f64) -> u64 {
    if value.is_nan() { 0x7ff8 << 48 } else { value.to_bits() }
}

#[test]
fn sums_of_products() {
    let (card, module) = open(0);
    let (narrow, wide) = (card.kernel(module, "axpy_f32"), card.kernel(module, "axpy_f64"));
    for (seed, n) in SIZES.into_iter().enumerate() {
        let mut random = Random::new(seed as u64);
        let (a, x, y): (f32, Vec<f32>, Vec<f32>) =
            (1.7, (0..n).map(|_| random.f32()).collect(), (0..n).map(|_| random.f32()).collect());
        let (dx, dy, out) = (card.upload(&x), card.upload(&y), card.fresh::<f32>(n));
        card.map(narrow, n, args![dx, dy, out, a, n as u32]);
        let got = card.download::<f32>(out, n);
        for i in 0..n {
            assert_eq!(bits(got[i]), bits(a * x[i] + y[i]), "{} {}", x[i], y[i]);
        }
        let (x, y): (Vec<f64>, Vec<f64>) =
            ((0..n).map(|_| random.f64()).collect(), (0..n).map(|_| random.f64()).collect());
        let (dx, dy, out) = (card.upload(&x), card.upload(&y), card.fresh::<f64>(n));
        // Fewer threads than elements: each goes on by the grid's size.
        assert_eq!(card.launch(wide, [2, 1, 1], [96, 1, 1], 0, args![dx, dy, out, -0.3f64, n as u64]), 0);
        let got = card.download::<f64>(out, n);
        for i in 0..n {
            assert_eq!(bits64(got[i]), bits64(-0.3 * x[i] - y[i] / (-0.3 + 3.0)), "{} {}", x[i], y[i]);
        }
    }
}

#[test]
fn roots_quotients_and_bounds() {
    let (card, module) = open(1);
    let kernel = card.kernel(module, "roots_f32");
    for (seed, n) in SIZES.into_iter().enumerate() {
        let mut random = Random::new(100 + seed as u64);
        let x: Vec<f32> = (0..n).map(|_| random.f32()).collect();
        let input = card.upload(&x);
        let out = [0; 3].map(|_| card.fresh::<f32>(n));
        card.map(kernel, n, args![input, out[0], out[1], out[2], n as u32]);
        let [root, quotient, bounded] = out.map(|out| card.download::<f32>(out, n));
        for (i, x) in x.into_iter().enumerate() {
            assert_eq!(bits(root[i]), bits(x.sqrt()), "{x}");
            assert_eq!(bits(quotient[i]), bits(1.0 / (x - 0.5)), "{x}");
            assert_eq!(bits(bounded[i]), bits(x.max(-1.0).min(x.abs() * 0.25)), "{x}");
        }
    }
}

#[test]
fn a_polynomial_without_contraction() {
    let (card, module) = open(2);
    let kernel = card.kernel(module, "polynomial_f64");
    let (n, mut random) = (3000, Random::new(7));
    let x: Vec<f64> = (0..n).map(|_| random.unit() * 600.0).collect();
    let (input, out) = (card.upload(&x), card.fresh::<f64>(n));
    card.map(kernel, n, args![input, out, n as u32]);
    for (x, got) in x.into_iter().zip(card.download::<f64>(out, n)) {
        let k = (x * std::f64::consts::LOG2_E + 0.5).floor();
        let r = (-k).mul_add(std::f64::consts::LN_2, x);
        let mut p = 1.0f64 / 5040.0;
        p = p.mul_add(r, 1.0 / 720.0);
        p = p.mul_add(r, 1.0 / 120.0);
        for c in [1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
            p = p * r + c;
        }
        let want = p * f64::from_bits(((k as i64 + 1023) as u64) << 52);
        assert_eq!(got.to_bits(), want.to_bits(), "{x}");
        assert!((want / x.exp() - 1.0).abs() < 1e-3, "{x}: {want}");
    }
}

#[test]
fn integers_of_32_bits() {
    let (card, module) = open(3);
    let kernel = card.kernel(module, "integers");
    let (n, mut random) = (2000, Random::new(8));
    let mut number = || {
        let bits = random.next();
        let awkward = [0, 1, -1, i32::MIN, i32::MAX, 7];
        if bits % 5 == 0 {
            awkward[(bits >> 8) as usize % 6]
        } else {
            (bits >> 32) as i32 >> (bits >> 8 & 31)
        }
    };
    let (a, b): (Vec<i32>, Vec<i32>) = (0..n).map(|_| (number(), number())).unzip();
    let (da, db, out) = (card.upload(&a), card.upload(&b), card.fresh::<i32>(8 * n));
    card.map(kernel, n, args![da, db, out, n as u32]);
    let got = card.download::<i32>(out, 8 * n);
    for (i, (x, y)) in a.into_iter().zip(b).enumerate() {
        let bytes = [x.to_le_bytes(), y.to_le_bytes()].concat();
        let permuted = i32::from_le_bytes([5, 1, 4, 2].map(|at| bytes[at]));
        let pair = (y as u32 as u64) << 32 | x as u32 as u64;
        let high = (i64::from(x) * i64::from(y)) >> 32;
        let unsigned_high = (u64::from(x as u32) * u64::from(y as u32)) >> 32;
        let ffs = if x == 0 { 0 } else { x.trailing_zeros() as i32 + 1 };
        let want = [
            if y == 0 { 0 } else { x.wrapping_div(y) },
            if y == 0 { 0 } else { x.wrapping_rem(y) },
            (x << (y & 31)) ^ (x >> (y & 7)) ^ (x as u32 >> (y & 15)) as i32,
            x.min(y).wrapping_sub(x.max(y)).wrapping_add(x.wrapping_abs()),
            x.count_ones() as i32 + y.leading_zeros() as i32 * 64 + ffs,
            x.reverse_bits().wrapping_add(permuted),
            (high as i32)
                .wrapping_add(unsigned_high as i32)
                .wrapping_add(x.abs_diff(y) as i32)
                .wrapping_add(7),
            // The left shift gives the upper word of y:x by way of (lo, hi) = (x, y).
            (((pair << 5) >> 32) as i32).wrapping_add((pair >> (y & 31)) as i32),
        ];
        assert_eq!(got[8 * i..8 * i + 8], want, "{x} {y}");
    }
}

#[test]
fn integers_of_64_bits() {
    let (card, module) = open(4);
    let kernel = card.kernel(module, "wide");
    let (n, mut random) = (1000, Random::new(9));
    let mut number = || {
        let bits = random.next();
        let awkward = [0, 1, -1, i64::MIN + 1, i64::MAX, 7];
        if bits % 5 == 0 { awkward[(bits >> 8) as usize % 6] } else { random.next() as i64 >> (bits & 63) }
    };
    let (a, b): (Vec<i64>, Vec<i64>) = (0..n).map(|_| (number(), number())).unzip();
    let (da, db, out) = (card.upload(&a), card.upload(&b), card.fresh::<i64>(4 * n));
    card.map(kernel, n, args![da, db, out, n as u32]);
    let got = card.download::<i64>(out, 4 * n);
    for (i, (x, y)) in a.into_iter().zip(b).enumerate() {
        let high = (i128::from(x) * i128::from(y)) >> 64;
        let unsigned_high = (u128::from(x as u64) * u128::from(y as u64)) >> 64;
        let counts = i64::from(x.count_ones() + y.leading_zeros());
        let want = [
            if y == 0 { -1 } else { x / y },
            (high as i64).wrapping_add(unsigned_high as i64),
            x.max(y) ^ (x as u64 % (y as u64 | 1)) as i64,
            counts.wrapping_add(x >> (y & 63)).wrapping_add(x.reverse_bits()),
        ];
        assert_eq!(got[4 * i..4 * i + 4], want, "{x} {y}");
    }
}

#[test]
fn conversions_in_every_mode() {
    let (card, module) = open(5);
    let kernel = card.kernel(module, "conversions");
    let (n, mut random) = (4000, Random::new(10));
    let x: Vec<f64> = (0..n).map(|_| random.f64()).collect();
    let input = card.upload(&x);
    let (narrow, whole, large) = (card.fresh::<f32>(n), card.fresh::<i32>(3 * n), card.fresh::<i64>(2 * n));
    let (byte, rounded) = (card.fresh::<u8>(n), card.fresh::<f64>(6 * n));
    card.map(kernel, n, args![input, narrow, whole, large, byte, rounded, n as u32]);
    let (narrow, whole) = (card.download::<f32>(narrow, n), card.download::<i32>(whole, 3 * n));
    let (large, byte) = (card.download::<i64>(large, 2 * n), card.download::<u8>(byte, n));
    let rounded = card.download::<f64>(rounded, 6 * n);
    for (i, v) in x.into_iter().enumerate() {
        assert_eq!(bits(narrow[i]), bits(v as f32), "{v}");
        // What a card makes of NaN depends on the types.
        let int = if v.is_nan() { i32::MIN } else { v as i32 };
        let long = |value: f64| if value.is_nan() { i64::MIN } else { value as i64 };
        let want = [int, (v as f32).round_ties_even() as i32, (v as f32).floor() as u32 as i32];
        assert_eq!(whole[3 * i..3 * i + 3], want, "{v}");
        assert_eq!(large[2 * i..2 * i + 2], [long(v), long(v.ceil())], "{v}");
        assert_eq!(byte[i], int as u8, "{v}");
        let toward_zero = {
            let (value, near) = (long(v), long(v) as f32);
            if (near as i128).abs() > i128::from(value).abs() {
                near.abs().next_down().copysign(near)
            } else {
                near
            }
        };
        let near = v as f32;
        let up = if f64::from(near) < v { near.next_up() } else { near };
        let down = if f64::from(near) > v { near.next_down() } else { near };
        let want = [v.round_ties_even(), v.trunc(), v.floor(), v.ceil(), f64::from(toward_zero)];
        for (got, want) in rounded[6 * i..].iter().zip(want) {
            assert_eq!(bits64(*got), bits64(want), "{v}");
        }
        assert_eq!(bits64(rounded[6 * i + 5]), bits64(f64::from(up) + f64::from(down)), "{v}");
    }
}

#[test]
fn predicates() {
    let (card, module) = open(6);
    let kernel = card.kernel(module, "mask");
    let (n, mut random) = (2000, Random::new(11));
    let x: Vec<f32> = (0..n).map(|_| random.f32()).collect();
    let keep: Vec<u8> = (0..n).map(|_| (random.next() % 3) as u8).collect();
    let (dx, dk, out) = (card.upload(&x), card.upload(&keep), card.fresh::<f32>(n));
    card.map(kernel, n, args![dx, dk, out, n as u32]);
    for (i, got) in card.download::<f32>(out, n).into_iter().enumerate() {
        let kept = (x[i] > 0.25) != (keep[i] != 0);
        let other = if x[i].is_nan() { -1.0f32 } else { 0.0 };
        assert_eq!(got.to_bits(), if kept { x[i].to_bits() } else { other.to_bits() }, "{}", x[i]);
    }
}

/// Each directed result is the nearest or its neighbour, on the right side of the exact value.
#[test]
fn directed_rounding_through_the_instructions() {
    let (card, module) = open(7);
    let kernel = card.kernel(module, "directed");
    let (n, mut random) = (2000, Random::new(12));
    let x: Vec<f32> = (0..n).map(|_| random.unit() as f32).collect();
    let y: Vec<f32> = (0..n).map(|_| (random.unit() * 3.0) as f32).collect();
    let [u, v]: [Vec<f64>; 2] = [&x, &y].map(|values| values.iter().map(|value| f64::from(*value)).collect());
    let out = (card.fresh::<f32>(8 * n), card.fresh::<f64>(4 * n));
    let (dx, dy, du, dv) = (card.upload(&x), card.upload(&y), card.upload(&u), card.upload(&v));
    card.map(kernel, n, args![dx, dy, out.0, du, dv, out.1, n as u32]);
    let (got, wide) = (card.download::<f32>(out.0, 8 * n), card.download::<f64>(out.1, 4 * n));
    for i in 0..n {
        let (a, b, row) = (u[i], v[i], &got[8 * i..8 * i + 8]);
        // Sums and products of these are exact in `f64`.
        let below = |got: f32, exact: f64| f64::from(got) <= exact && exact < f64::from(got.next_up());
        let above = |got: f32, exact: f64| f64::from(got) >= exact && exact > f64::from(got.next_down());
        let inward = |got: f32, exact: f64| if exact > 0.0 { below(got, exact) } else { above(got, exact) };
        assert!(below(row[0], a + b) && inward(row[1], a + b), "{a} + {b}");
        assert!(above(row[2], a * b), "{a} * {b}");
        assert!(below(row[3], a * b + a), "{a} * {b} + {a}");
        assert!(inward(row[4], a / b) && below(row[6], 1.0 / b), "{a} / {b}");
        assert!(above(row[5], a.abs().sqrt()), "sqrt {a}");
        assert!(inward(row[7], a * b - b), "{a} * {b} - {b}");
        assert_eq!(wide[4 * i], a + b, "exact in any mode");
        assert_eq!(wide[4 * i + 1], a * b, "exact in any mode");
        let quotient = a / b;
        assert!(wide[4 * i + 3] <= quotient && wide[4 * i + 3] >= quotient.next_down(), "{a} / {b}");
    }
}
