//! The stated error bounds.

use super::super::Float;
use super::{Bits, EDGES, F32, F64, function};

/// The distance of `got` from the exact `want`, in units of f32's last place at `want`.
fn error_ulp_f32(got: f32, want: f64) -> f64 {
    let rounded = want as f32;
    if want.is_nan() || got.is_nan() || rounded.is_infinite() || got.is_infinite() {
        let is_same = got == rounded || (want.is_nan() && got.is_nan());
        // At the border of overflow the neighbour is one step away.
        let is_border = got.abs() >= f32::MAX && rounded.abs() >= f32::MAX && (got > 0.0) == (want > 0.0);
        return if is_same {
            0.0
        } else if is_border {
            1.0
        } else {
            f64::INFINITY
        };
    }
    if want == 0.0 && (got != 0.0 || got.is_sign_negative() != want.is_sign_negative()) {
        return f64::INFINITY;
    }
    let exponent = ((want.abs().max(f64::from(f32::MIN_POSITIVE)).to_bits() >> 52) as i32) - 1023;
    (f64::from(got) - want).abs() / 2f64.powi(exponent.min(127) - 23)
}

/// How many f64 lie between `got` and `want`; equal signs of zero are required.
fn distance_f64(got: f64, want: f64) -> u64 {
    if got.is_nan() || want.is_nan() {
        return if got.is_nan() && want.is_nan() { 0 } else { u64::MAX };
    }
    if want == 0.0 && got == 0.0 {
        return if got.is_sign_negative() == want.is_sign_negative() { 0 } else { u64::MAX };
    }
    let ordered = |v: f64| if v < 0.0 { -((v.to_bits() & !(1 << 63)) as i64) } else { v.to_bits() as i64 };
    ordered(got).abs_diff(ordered(want))
}

#[test]
fn f32_unary_errors_are_within_the_stated_bounds() {
    type Case = (&'static str, fn(f64) -> f64, f64);
    let cases: [Case; 16] = [
        ("exp", libm::exp, 1.01),
        ("log", libm::log, 0.9),
        ("sin", libm::sin, 0.8),
        ("cos", libm::cos, 0.8),
        ("tan", libm::tan, 2.1),
        ("tanh", libm::tanh, 2.5),
        ("atan", libm::atan, 1.3),
        ("asin", libm::asin, 1.0),
        ("acos", libm::acos, 1.0),
        ("log2", libm::log2, 1.0),
        ("log10", libm::log10, 1.0),
        ("exp2", libm::exp2, 1.0),
        ("log1p", libm::log1p, 1.0),
        ("expm1", libm::expm1, 1.0),
        ("sinh", libm::sinh, 2.0),
        ("cosh", libm::cosh, 1.5),
    ];
    // 1021 is prime and odd: every exponent and both signs get thousands of mantissas.
    let mut inputs: Vec<f32> = (0..=u32::MAX).step_by(1021).map(f32::from_bits).collect();
    inputs.extend(EDGES.map(|v| v as f32));
    let mut worst = Vec::new();
    for (name, reference, bound) in cases {
        let out = function(F32, name).run(&inputs, &inputs);
        let (error, at) = inputs
            .iter()
            .zip(out)
            .map(|(&x, got)| (error_ulp_f32(got, reference(f64::from(x))), x))
            .fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a });
        println!("f32 {name}: {error:.3} ulp at {at:e}");
        if error > bound {
            worst.push(format!("{name}: {error} ulp at {at:e}, stated {bound}"));
        }
    }
    assert!(worst.is_empty(), "{worst:#?}");
}

#[test]
fn f32_binary_errors_are_within_the_stated_bounds() {
    type Case = (&'static str, fn(f64, f64) -> f64, f64);
    let cases: [Case; 3] =
        [("atan2", libm::atan2, 1.5), ("pow", libm::pow, 0.51), ("hypot", libm::hypot, 0.51)];
    let mut bits = Bits(1);
    let mut pairs: Vec<(f32, f32)> =
        EDGES.iter().flat_map(|&a| EDGES.map(|b| (a as f32, b as f32))).collect();
    for _ in 0..200_000 {
        let (u, v) = (bits.unit() as f32, bits.unit() as f32);
        pairs.push((f32::from_bits(bits.next() as u32), f32::from_bits(bits.next() as u32)));
        pairs.push((u * 100.0, (v - 0.5) * 60.0));
        pairs.push((u - 0.5, v - 0.5));
        pairs.push((1.0 + (u - 0.5) * 1e-3, (v - 0.5) * 1e5));
        pairs.push((-u * 50.0, ((v - 0.5) * 50.0).round()));
    }
    let (a, b): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
    for (name, reference, bound) in cases {
        let out = function(F32, name).run(&a, &b);
        let (error, x, y) = out
            .iter()
            .enumerate()
            .map(|(i, &got)| (error_ulp_f32(got, reference(f64::from(a[i]), f64::from(b[i]))), a[i], b[i]))
            .fold((0.0, 0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a });
        println!("f32 {name}: {error:.4} ulp at {x:e}, {y:e}");
        assert!(error <= bound, "{name}({x:e}, {y:e}): {error} ulp, stated {bound}");
    }
}

/// The reference has an error of its own (below 1 ulp), so a function within e ulp may stand ⌊e⌋ + 1 values away.
#[test]
fn f64_unary_results_are_next_to_those_of_libm() {
    type Case = (&'static str, fn(f64) -> f64, f64, u64);
    let cases: [Case; 9] = [
        ("exp", libm::exp, 745.0, 2),
        ("log", libm::log, 1e3, 1),
        ("sin", libm::sin, 1e9, 1),
        ("cos", libm::cos, 1e9, 1),
        ("tan", libm::tan, 1e9, 2),
        ("tanh", libm::tanh, 20.0, 3),
        ("atan", libm::atan, 10.0, 1),
        ("asin", libm::asin, 1.0, 1),
        ("acos", libm::acos, 1.0, 1),
    ];
    let mut worst = Vec::new();
    for (name, reference, range, bound) in cases {
        let mut bits = Bits(7);
        let mut inputs = EDGES.to_vec();
        for k in 0..50_000 {
            let symmetric = 2.0 * bits.unit() - 1.0;
            let near_quarter_turn = f64::from(k) * std::f64::consts::FRAC_PI_2;
            inputs.push(f64::from_bits(bits.next()));
            inputs.push(symmetric * range);
            inputs.push(symmetric * 2.0);
            inputs.push(1.0 + symmetric * 1e-3);
            inputs.push(near_quarter_turn * (1.0 + symmetric * 1e-14));
            inputs.push(symmetric * 1e-3);
        }
        let out = function(F64, name).run(&inputs, &inputs);
        let (distance, at) = inputs
            .iter()
            .zip(out)
            .map(|(&x, got)| (distance_f64(got, reference(x)), x))
            .fold((0, 0.0), |a, b| if b.0 > a.0 { b } else { a });
        println!("f64 {name}: {distance} from libm at {at:e}");
        if distance > bound {
            worst.push(format!("{name}: {distance} from libm at {at:e}, stated {bound}"));
        }
    }
    assert!(worst.is_empty(), "{worst:#?}");
}

#[test]
fn f64_binary_results_are_next_to_those_of_libm() {
    type Case = (&'static str, fn(f64, f64) -> f64, u64);
    let cases: [Case; 3] = [("atan2", libm::atan2, 2), ("pow", libm::pow, 2), ("hypot", libm::hypot, 2)];
    let mut bits = Bits(3);
    let mut pairs: Vec<(f64, f64)> = EDGES.iter().flat_map(|&a| EDGES.map(|b| (a, b))).collect();
    for _ in 0..40_000 {
        let (u, v) = (bits.unit(), bits.unit());
        pairs.push((f64::from_bits(bits.next()), f64::from_bits(bits.next())));
        pairs.push((u * 100.0, (v - 0.5) * 300.0));
        pairs.push((u - 0.5, v - 0.5));
        pairs.push((1.0 + (u - 0.5) * 1e-3, (v - 0.5) * 1e6));
        pairs.push((-u * 50.0, ((v - 0.5) * 200.0).round()));
    }
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    for (name, reference, bound) in cases {
        let out = function(F64, name).run(&a, &b);
        let (distance, x, y) = out
            .iter()
            .enumerate()
            .map(|(i, &got)| (distance_f64(got, reference(a[i], b[i])), a[i], b[i]))
            .fold((0, 0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a });
        println!("f64 {name}: {distance} from libm at {x:e}, {y:e}");
        assert!(distance <= bound, "{name}({x:e}, {y:e}): {distance} from libm, stated {bound}");
    }
}

#[test]
fn trigonometry_keeps_its_bits_beside_large_arguments() {
    for k in 0..100_000 {
        let x = k as f32 * 2.6;
        assert_eq!(Float::sin_any(x).to_bits(), Float::sin(x).to_bits(), "{x}");
    }
    assert_eq!(Float::sin_any(1e30f32), libm::sinf(1e30));
    assert_eq!(Float::cos_any(1e300f64), libm::cos(1e300));
}
