//! Products of matrices against the kernel's definition, element by element, on blocks with and without gaps.

use outcrop::block::Block;
use outcrop::device::contract::Device;
use outcrop::device::host::Host;
use outcrop::device::host::isa::Isa;
use outcrop::dtype::{DType, Element};
use outcrop::kernel::{Arguments, Kernel, MATMUL_PANEL, Operand};
use outcrop::shape::Region;
use proptest::prelude::*;

/// Values of a matrix, some bits of each.
fn values(rows: usize, columns: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1 << 28) - 4.0
    };
    (0..rows * columns).map(|_| next()).collect()
}

/// A block of the values that lies in a larger one, where `gap` isn't 0.
fn matrix<T: Element>(rows: usize, columns: usize, values: &[T], gap: usize) -> Block {
    let wide = columns + gap;
    let Some(&filler) = values.first() else { return Block::from_slice([rows, columns], values).unwrap() };
    let padded: Vec<T> = (0..(rows + gap) * wide)
        .map(|at| {
            let (row, column) = ((at / wide).wrapping_sub(gap), (at % wide).wrapping_sub(gap));
            if row < rows && column < columns { values[row * columns + column] } else { filler }
        })
        .collect();
    let whole = Block::from_slice([rows + gap, wide], &padded).unwrap();
    whole.part(&Region { origin: [gap, gap].into(), shape: [rows, columns].into() })
}

fn product(device: &Host, dtype: DType, operands: &[Block], output: &Block) {
    let program = device.compiler().compile(&Kernel::MatMul { dtype }).unwrap();
    let operand = |(input, block): (u16, &Block)| {
        let region = Region::whole(block.shape());
        Operand { input, block: block.clone(), region }
    };
    let arguments = Arguments {
        operands: (0..).zip(operands).map(operand).collect(),
        output: output.clone(),
        region: Region::whole(output.shape()),
        pieces: Vec::new(),
    };
    device.queue().launch(&program, &arguments).unwrap();
}

proptest! {
    #![proptest_config(crate::cases(48))]

    #[test]
    fn products_are_those_of_the_definition(
        (m, k, n) in (1usize..40, 0usize..600, 1usize..70),
        gap in 0usize..3,
        is_added in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let narrow = |values: Vec<f64>| values.into_iter().map(|x| x as f32).collect::<Vec<f32>>();
        let a = narrow(values(m, k, seed));
        let b = narrow(values(k, n, seed ^ 1));
        let c = narrow(values(m, n, seed ^ 2));
        let mut wanted = Vec::with_capacity(m * n);
        for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
            let mut sum = if is_added { c[row * n + column] } else { 0.0 };
            for first in (0..k).step_by(MATMUL_PANEL) {
                let panel = first..k.min(first + MATMUL_PANEL);
                sum += panel.fold(0.0f32, |sum, at| a[row * k + at].mul_add(b[at * n + column], sum));
            }
            wanted.push(sum);
        }
        let mut operands = vec![matrix(m, k, &a, gap), matrix(k, n, &b, gap)];
        operands.extend(is_added.then(|| matrix(m, n, &c, gap)));
        for isa in Isa::available() {
            let output = matrix(m, n, &vec![7f32; m * n], gap);
            product(&Host::with_isa(None, isa), DType::F32, &operands, &output);
            prop_assert_eq!(output.to_vec::<f32>().unwrap(), wanted.clone(), "{:?}", isa);
        }
    }
}

#[test]
fn integers_wrap() {
    let a = matrix(1, 3, &[i32::MAX, 2, -1], 0);
    let b = matrix(3, 1, &[2, i32::MAX, 5], 0);
    let output = matrix(1, 1, &[0i32], 0);
    product(&Host::new(None), DType::I32, &[a, b], &output);
    let wanted = i32::MAX.wrapping_mul(2).wrapping_mul(2).wrapping_sub(5);
    assert_eq!(output.to_vec::<i32>().unwrap(), [wanted]);
}

#[test]
fn matrices_that_do_not_fit_are_an_error_that_shows_them() {
    let device = Host::new(None);
    let program = device.compiler().compile(&Kernel::MatMul { dtype: DType::F64 }).unwrap();
    let (a, b) = (matrix(2, 3, &[1f64; 6], 0), matrix(4, 2, &[1f64; 8], 0));
    let output = matrix(2, 2, &[0f64; 4], 0);
    let operand = |(input, block): (u16, &Block)| {
        let region = Region::whole(block.shape());
        Operand { input, block: block.clone(), region }
    };
    let operands = (0..).zip([&a, &b]).map(operand).collect();
    let region = Region::whole(output.shape());
    let arguments = Arguments { operands, output, region, pieces: Vec::new() };
    let error = device.queue().launch(&program, &arguments).unwrap_err().to_string();
    assert!(error.contains("f64 (2, 3), f64 (4, 2), f64 (2, 2)"), "{error}");
    assert!(device.compiler().compile(&Kernel::MatMul { dtype: DType::Bool }).is_err());
}
