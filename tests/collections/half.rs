//! Arrays of `f16`: as NumPy's float16, with sums kept in more.

use outcrop::collections::Array;
use outcrop::collections::array::Over;
use outcrop::dtype::{DType, f16};
use outcrop::graph::expr_ops::Distribution;
use outcrop::session::Session;
use outcrop::settings::Config;

fn session() -> Session {
    Session::new(Config { threads: Some(2), ..Config::default() })
}

fn halves(values: &[f64]) -> Vec<f16> {
    values.iter().map(|&x| f16::from_f64(x)).collect()
}

fn computed(array: &Array) -> Vec<f16> {
    session().compute(array).unwrap().to_vec::<f16>().unwrap()
}

/// Every finite number, in blocks.
fn all() -> (Vec<f16>, Array) {
    let values: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).filter(|x| x.is_finite()).collect();
    let array = Array::from_slice([values.len()], &values).rechunk(&[10_007]);
    (values, array)
}

#[test]
fn every_operation_is_rounded() {
    let (values, x) = all();
    let found = computed(&(&(&(&x + 0.1) * &x) - 3.0).abs().sqrt());
    let tenth = f16::from_f32(0.1).to_f32();
    let round = |x: f32| f16::from_f32(x).to_f32();
    for (&x, found) in values.iter().zip(found) {
        let x = x.to_f32();
        let wanted = f16::from_f32(round(round(round(x + tenth) * x) - 3.0).abs().sqrt());
        assert!(found.to_bits() == wanted.to_bits() || (found.is_nan() && wanted.is_nan()), "{x}: {found}");
    }
}

/// Against the values that NumPy 2.4 prints.
#[test]
fn functions_are_numpys() {
    let x = Array::from_slice([5], &halves(&[0.1, 1.0, 2.5, 10.0, 300.0]));
    let exp = [1.10546875, 2.71875, 12.1796875, 22032.0, f64::INFINITY];
    assert_eq!(computed(&x.exp()), halves(&exp));
    let log = [-2.302734375, 0.0, 0.91650390625, 2.302734375, 5.703125];
    assert_eq!(computed(&x.log()), halves(&log));
    let sin = [0.09979248046875, 0.84130859375, 0.5986328125, -0.5439453125];
    assert_eq!(computed(&x.sin())[..4], halves(&sin));
}

#[test]
fn types_meet_as_in_numpy() {
    let x = Array::zeros([3], DType::F16);
    let with = |dtype: DType| (&x + &Array::zeros([3], dtype)).dtype().unwrap();
    assert_eq!(with(DType::U8), DType::F16);
    assert_eq!(with(DType::I16), DType::F32);
    assert_eq!(with(DType::I32), DType::F64);
    assert_eq!(with(DType::F32), DType::F32);
    assert_eq!((&x * 2.5).dtype().unwrap(), DType::F16);
    assert_eq!(x.exp().dtype().unwrap(), DType::F16);
    assert_eq!(x.mean(&Over::all()).dtype().unwrap(), DType::F16);
    assert_eq!(x.gradient(1.0, 0).dtype().unwrap(), DType::F16);
}

#[test]
fn sums_neither_stick_nor_overflow_on_the_way() {
    // In f16 alone a sum of ones sticks at 2048, and 60000 + 60000 is infinite.
    let ones = Array::full([5_000], 1.0, DType::F16).rechunk(&[700]);
    assert_eq!(computed(&ones.sum(&Over::all())), halves(&[5_000.0]));
    let large = Array::full([5_000], 60_000.0, DType::F16).rechunk(&[700]);
    assert_eq!(computed(&large.mean(&Over::all())), halves(&[60_000.0]));
    assert_eq!(computed(&large.sum(&Over::all())), halves(&[f64::INFINITY]));
    assert_eq!(computed(&large.std(0, &Over::all())), halves(&[0.0]));
    let (values, x) = all();
    let [low, high] = [x.min(&Over::all()), x.max(&Over::all())].map(|array| computed(&array)[0]);
    assert_eq!((low, high), (f16::MIN, f16::MAX));
    assert_eq!(values.len(), 63_488);
}

#[test]
fn neighbourhoods_are_computed_in_single() {
    let x = Array::from_slice([4], &halves(&[1.0, 2.0, 4.0, 1000.5]));
    assert_eq!(computed(&x.gradient(1.0, 0)), halves(&[1.0, 1.5, 499.25, 996.5]));
}

#[test]
fn random_numbers_are_made_in_more() {
    let refused = Array::random(Distribution::Uniform, [3], DType::F16, 1).dtype().unwrap_err().to_string();
    assert!(refused.contains("random numbers are f32 or f64; convert those"), "{refused}");
}
