//! Corners that random programs seldom reach.

use outcrop::collections::Array;
use outcrop::collections::array::{Index, Over};
use outcrop::dtype::DType;
use outcrop::graph::expr_ops::EdgeMode;

use crate::{guarded, on_host};

const REVERSED: Index = Index::Range { start: None, stop: None, step: Some(-1) };

fn values(array: &Array) -> Vec<f64> {
    let array = array.clone();
    guarded(0, move || on_host(2, None).compute(&array).unwrap().to_f64_vec().unwrap())
}

#[test]
fn arrays_without_axes_go_through_every_operation() {
    let x = Array::full(Vec::new(), 3, DType::F64);
    let all = Over::all();
    assert_eq!(values(&x.sum(&all)), [3.0]);
    assert_eq!(values(&x.var(0, &all.clone().keeping_dims())), [0.0]);
    assert!(values(&x.var(1, &all))[0].is_nan());
    assert_eq!(values(&x.slice(&[])), [3.0]);
    assert_eq!(values(&x.rechunk(&[])), [3.0]);
    assert_eq!(values(&x.histogram(2, None, None)), [0.0, 1.0]);
    assert_eq!(values(&(&x + &Array::arange(0, 1, 3).rechunk(&[2]))), [3.0, 4.0, 5.0]);
    assert!(x.gradient(1.0, 0).layer().is_err());
}

#[test]
fn axes_of_extent_zero_go_through_every_operation() {
    let x = Array::zeros([0, 4], DType::F32).rechunk(&[3, 2]);
    for mode in [EdgeMode::Nearest, EdgeMode::Reflect, EdgeMode::Constant(1.0)] {
        assert!(values(&x.convolve1d(&[1.0, 2.0, 3.0], 0, mode)).is_empty());
        assert!(values(&x.convolve1d(&[1.0; 21], 1, mode).exp()).is_empty());
    }
    assert!(values(&x.gradient(1.0, 1)).is_empty());
    assert!(values(&x.slice(&[REVERSED, Index::At(1)])).is_empty());
    assert_eq!(values(&x.sum(&Over::axis(0))), [0.0; 4]);
    assert!(values(&x.mean(&Over::axis(0))).iter().all(|x| x.is_nan()));
    assert!(values(&x.max(&Over::axis(1))).is_empty());
    assert_eq!(values(&x.histogram(2, Some((0.0, 1.0)), None)), [0.0; 2]);
    assert!(x.min(&Over::all()).layer().is_err() && x.histogram(2, None, None).layer().is_err());
}

#[test]
fn eight_axes_and_bytes_that_wrap() {
    let x = Array::indices([2; 8], DType::U8).rechunk(&[1]);
    let want: Vec<f64> = (0..256).map(|i| f64::from((i as u8).wrapping_mul(3).wrapping_add(250))).collect();
    assert_eq!(values(&(&x * 3 + 250)), want);
    assert_eq!(values(&x.sum(&Over::all())), [32640.0]);
    assert!(Array::zeros([1; 9], DType::U8).layer().is_err());
}

#[test]
fn shapes_whose_product_overflows_are_refused() {
    let tall = Array::zeros([1 << 40, 1], DType::U8);
    let wide = Array::zeros([1, 1 << 40], DType::U8);
    let error = (&tall + &wide).layer().unwrap_err().to_string();
    assert!(error.contains("more elements than memory has addresses"), "{error}");
    assert!(Array::from_slice([1 << 40, 1 << 40], &[1.0]).layer().is_err());
}

#[test]
fn outputs_may_be_equal_and_may_feed_each_other() {
    let x = Array::arange(0.0, 1.0, 10).rechunk(&[3]);
    let sum = x.sum(&Over::all());
    let (scaled, shifted) = (&x / &sum, &x - &sum);
    let asked = vec![x.clone(), x, scaled.clone(), shifted, sum, scaled];
    let results = on_host(2, None).compute(&asked).unwrap();
    let results: Vec<Vec<f64>> = results.iter().map(|block| block.to_vec().unwrap()).collect();
    assert_eq!(results[0], results[1]);
    assert_eq!(results[2], results[5]);
    assert_eq!(results[4], [45.0]);
    assert_eq!(results[3][9], 9.0 - 45.0);
}
