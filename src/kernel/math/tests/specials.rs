//! C99's special values (Annex F), for both types.

use super::super::Float;
use super::{F32, F64, Function, function};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;
const PI: f64 = std::f64::consts::PI;

/// Name, argument, result.
const UNARY: &[(&str, f64, f64)] = &[
    ("exp", 0.0, 1.0),
    ("exp", -0.0, 1.0),
    ("exp", INF, INF),
    ("exp", -INF, 0.0),
    ("exp", 1e4, INF),
    ("exp", -1e4, 0.0),
    ("log", 1.0, 0.0),
    ("log", 0.0, -INF),
    ("log", -0.0, -INF),
    ("log", -1.0, NAN),
    ("log", -INF, NAN),
    ("log", INF, INF),
    ("sin", 0.0, 0.0),
    ("sin", -0.0, -0.0),
    ("sin", INF, NAN),
    ("sin_fast", -0.0, -0.0),
    ("sin_fast", INF, NAN),
    ("cos", 0.0, 1.0),
    ("cos", -0.0, 1.0),
    ("cos", -INF, NAN),
    ("cos_fast", -INF, NAN),
    ("tan", 0.0, 0.0),
    ("tan", -0.0, -0.0),
    ("tan", INF, NAN),
    ("tan_fast", INF, NAN),
    ("tanh", 0.0, 0.0),
    ("tanh", -0.0, -0.0),
    ("tanh", INF, 1.0),
    ("tanh", -INF, -1.0),
    ("atan", 0.0, 0.0),
    ("atan", -0.0, -0.0),
    ("atan", 1.0, PI / 4.0),
    ("atan", INF, PI / 2.0),
    ("atan", -INF, -PI / 2.0),
    ("asin", 0.0, 0.0),
    ("asin", -0.0, -0.0),
    ("asin", 1.0, PI / 2.0),
    ("asin", -1.0, -PI / 2.0),
    ("asin", 1.5, NAN),
    ("asin", -INF, NAN),
    ("acos", 1.0, 0.0),
    ("acos", -1.0, PI),
    ("acos", 0.0, PI / 2.0),
    ("acos", -1.5, NAN),
    ("acos", INF, NAN),
    ("log2", 8.0, 3.0),
    ("log10", 1000.0, 3.0),
    ("exp2", 10.0, 1024.0),
    ("log1p", -0.0, -0.0),
    ("log1p", -1.0, -INF),
    ("expm1", -INF, -1.0),
    ("sinh", -INF, -INF),
    ("cosh", -INF, INF),
];

/// Name, arguments, result.
const BINARY: &[(&str, f64, f64, f64)] = &[
    ("atan2", 0.0, 0.0, 0.0),
    ("atan2", -0.0, 0.0, -0.0),
    ("atan2", 0.0, -0.0, PI),
    ("atan2", -0.0, -0.0, -PI),
    ("atan2", 0.0, 1.0, 0.0),
    ("atan2", -0.0, 1.0, -0.0),
    ("atan2", 0.0, -1.0, PI),
    ("atan2", -0.0, -1.0, -PI),
    ("atan2", 1.0, 0.0, PI / 2.0),
    ("atan2", 1.0, -0.0, PI / 2.0),
    ("atan2", -1.0, 0.0, -PI / 2.0),
    ("atan2", 1.0, 1.0, PI / 4.0),
    ("atan2", -1.0, -1.0, -0.75 * PI),
    ("atan2", 1.0, INF, 0.0),
    ("atan2", -1.0, INF, -0.0),
    ("atan2", 1.0, -INF, PI),
    ("atan2", -1.0, -INF, -PI),
    ("atan2", INF, 1.0, PI / 2.0),
    ("atan2", -INF, 0.0, -PI / 2.0),
    ("atan2", INF, INF, PI / 4.0),
    ("atan2", -INF, INF, -PI / 4.0),
    ("atan2", INF, -INF, 0.75 * PI),
    ("atan2", -INF, -INF, -0.75 * PI),
    ("atan2", NAN, 0.0, NAN),
    ("atan2", 0.0, NAN, NAN),
    ("atan2", NAN, INF, NAN),
    ("atan2", INF, NAN, NAN),
    ("pow", NAN, 0.0, 1.0),
    ("pow", NAN, -0.0, 1.0),
    ("pow", INF, 0.0, 1.0),
    ("pow", 1.0, NAN, 1.0),
    ("pow", 1.0, INF, 1.0),
    ("pow", -1.0, INF, 1.0),
    ("pow", -1.0, -INF, 1.0),
    ("pow", 0.0, -INF, INF),
    ("pow", -0.0, -INF, INF),
    ("pow", 0.0, -3.0, INF),
    ("pow", -0.0, -3.0, -INF),
    ("pow", -0.0, -2.0, INF),
    ("pow", -0.0, -2.5, INF),
    ("pow", -0.0, 3.0, -0.0),
    ("pow", -0.0, 2.0, 0.0),
    ("pow", -0.0, 2.5, 0.0),
    ("pow", 0.5, INF, 0.0),
    ("pow", -0.5, INF, 0.0),
    ("pow", 0.5, -INF, INF),
    ("pow", 2.0, INF, INF),
    ("pow", -2.0, -INF, 0.0),
    ("pow", INF, 2.5, INF),
    ("pow", INF, -2.5, 0.0),
    ("pow", -INF, 3.0, -INF),
    ("pow", -INF, 2.0, INF),
    ("pow", -INF, 2.5, INF),
    ("pow", -INF, -3.0, -0.0),
    ("pow", -INF, -2.0, 0.0),
    ("pow", -8.0, 1.0 / 3.0, NAN),
    ("pow", -2.0, 3.0, -8.0),
    ("pow", -2.0, -2.0, 0.25),
    ("pow", 10.0, 2.0, 100.0),
    ("pow", 2.0, NAN, NAN),
    ("pow", NAN, 2.0, NAN),
    ("hypot", 3.0, -4.0, 5.0),
    ("hypot", INF, NAN, INF),
    ("hypot", NAN, -INF, INF),
    ("hypot", NAN, 1.0, NAN),
    ("hypot", 0.0, -0.0, 0.0),
    ("hypot", -0.0, -2.0, 2.0),
];

#[test]
fn special_values_are_those_of_c99_in_f32() {
    check(F32);
}

#[test]
fn special_values_are_those_of_c99_in_f64() {
    check(F64);
}

fn check<T: Float>(table: &'static [Function<T>]) {
    let is_same = |got: f64, want: f64| {
        (got.is_nan() && want.is_nan()) || (got == want && got.is_sign_negative() == want.is_sign_negative())
    };
    let unary = UNARY.iter().map(|&(name, x, want)| (name, x, 0.0, want));
    for (name, x, y, want) in unary.chain(BINARY.iter().copied()) {
        // Several lanes, so that the vector body runs as well as the loop's tail.
        let (a, b) = (vec![T::from_f64(x); 37], vec![T::from_f64(y); 37]);
        let want = T::from_f64(want).to_f64();
        for got in function(table, name).run(&a, &b) {
            assert!(is_same(got.to_f64(), want), "{name}({x}, {y}) = {}, wanted {want}", got.to_f64());
        }
    }
    for name in ["exp", "log", "sin", "cos", "tan", "tanh", "atan", "asin", "acos", "log2", "cosh"] {
        let nan = [T::from_f64(NAN)];
        assert!(function(table, name).run(&nan, &nan)[0].to_f64().is_nan(), "{name}(NaN)");
    }
}

#[test]
fn minimum_and_maximum_propagate_nan() {
    let one = 1.0f32;
    assert_eq!(Float::minimum(one, 2.0), 1.0);
    assert_eq!(Float::maximum(one, 2.0), 2.0);
    for pair in [(one, f32::NAN), (f32::NAN, one)] {
        assert!(Float::minimum(pair.0, pair.1).is_nan());
        assert!(Float::maximum(pair.0, pair.1).is_nan());
    }
}

#[test]
fn rounding_takes_ties_to_even() {
    assert_eq!([0.5, 1.5, 2.5, -0.5, -1.5].map(Float::round), [0.0f64, 2.0, 2.0, -0.0, -2.0]);
    assert_eq!((Float::floor(-1.5f32), Float::ceil(-1.5f32), Float::trunc(-1.5f32)), (-2.0, -1.0, -1.0));
    assert_eq!(Float::fma(3.0f64, 4.0, 5.0), 17.0);
}
