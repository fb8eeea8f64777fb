//! The host's kernels against a naive interpreter: random expressions, types, layouts and chunks.

mod arrays;
mod folds;
mod interpret;
mod products;

use std::sync::Arc;

use outcrop::block::Block;
use outcrop::device::contract::Device;
use outcrop::device::host::Host;
use outcrop::device::host::isa::Isa;
use outcrop::dtype::DType;
use outcrop::graph::chunking::Chunking;
use outcrop::graph::expr::{Expr, NodeOp};
use outcrop::graph::expr_ops::{Distribution, EdgeMode, Stencil};
use outcrop::graph::op::{CopyRule, SliceAxis};
use outcrop::graph::piece::copy_pieces;
use outcrop::kernel::{Arguments, ArraySpec, Kernel, MapKernel, Operand};
use outcrop::shape::{Region, Shape};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use arrays::{Dice, block_of, dense, expression, stencil, values_of};
use interpret::{Value, Whole, evaluate};

/// The same cases on every run; a failure prints its seed.
pub fn cases(cases: u32) -> ProptestConfig {
    let failure_persistence = None;
    ProptestConfig { cases, rng_seed: RngSeed::Fixed(1), failure_persistence, ..ProptestConfig::default() }
}

/// Blocks of the input that a launch over `region` reads: its own, and for stencils every other.
fn operands(
    index: u16,
    whole: &Whole,
    chunks: &Chunking,
    region: &Region,
    dice: &mut Dice,
    all: bool,
) -> Vec<Operand> {
    let missing = region.shape.len() - whole.shape.len();
    let own = |stretched: usize| -> (usize, usize) {
        if whole.shape[stretched] == 1 {
            (0, 1)
        } else {
            (region.origin[stretched + missing], region.shape[stretched + missing])
        }
    };
    let pairs: Vec<(usize, usize)> = (0..whole.shape.len()).map(own).collect();
    let first = Region {
        origin: pairs.iter().map(|pair| pair.0).collect(),
        shape: pairs.iter().map(|pair| pair.1).collect(),
    };
    let mut regions = vec![first.clone()];
    if all {
        regions.extend((0..chunks.blocks()).map(|block| chunks.region_of(block)).filter(|r| *r != first));
    }
    regions
        .into_iter()
        .map(|region| Operand { input: index, block: block_of(whole, &region, dice), region })
        .collect()
}

/// Runs an expression over every block of the domain and puts the results together.
fn run_map(isa: Isa, expr: &Arc<Expr>, inputs: &[Whole], chunks: &Chunking, dice: &mut Dice) -> Vec<Value> {
    let host = Host::with_isa(None, isa);
    let shape = chunks.shape();
    let specs = inputs.iter().map(|i| ArraySpec { dtype: i.dtype, shape: i.shape.clone() }).collect();
    let kernel = Kernel::Map(MapKernel::new(expr, specs, shape.clone()));
    let program = host.compiler().compile(&kernel).unwrap();
    let dtype = expr.output_dtype(0);
    let mut result = vec![Value::Int(0); shape.elements()];
    for block in 0..chunks.blocks() {
        let region = chunks.region_of(block);
        let all = |i: usize| expr.has_stencil(i as u16);
        let operands =
            inputs.iter().enumerate().flat_map(|(i, w)| operands(i as u16, w, chunks, &region, dice, all(i)));
        let blank = Whole {
            dtype,
            shape: shape.clone(),
            values: vec![Value::from_f64(0.0, dtype); shape.elements()],
        };
        let operands = operands.collect();
        let output = block_of(&blank, &region, dice);
        let arguments =
            Arguments { operands, output: output.clone(), region: region.clone(), pieces: vec![] };
        host.queue().launch(&program, &arguments).unwrap();
        for (e, value) in values_of(&output).into_iter().enumerate() {
            let place: Shape =
                region.shape.unravel(e).iter().zip(region.origin.iter()).map(|(i, o)| i + o).collect();
            result[shape.ravel(&place)] = value;
        }
    }
    result
}

fn check(expr: Expr, inputs: &[Whole], chunks: &Chunking, seed: u64) {
    let expr = Arc::new(expr);
    let shape = chunks.shape();
    for isa in Isa::available() {
        let got = run_map(isa, &expr, inputs, chunks, &mut Dice(seed));
        for (e, got) in got.into_iter().enumerate() {
            let at = shape.unravel(e);
            let want = evaluate(&expr, expr.outputs()[0], inputs, &shape, &at);
            let dtype = expr.output_dtype(0);
            assert!(got.is_same(want), "{expr} ({dtype}) at {at} on {isa:?}: {got:?}, want {want:?}");
        }
    }
}

/// A shape of the given rank, a few hundred elements at most, sometimes with long or short rows.
pub fn shape(dice: &mut Dice, rank: usize) -> Shape {
    let last = dice.pick(&[1, 3, 7, 64, 300, 521]);
    let axis = |axis: usize, dice: &mut Dice| if axis + 1 == rank { last } else { dice.pick(&[1, 2, 3, 5]) };
    (0..rank).map(|k| axis(k, dice)).collect()
}

pub fn chunks(dice: &mut Dice, shape: &Shape) -> Chunking {
    let sizes: Vec<usize> = shape.iter().map(|&extent| 1 + dice.below(extent.max(1))).collect();
    Chunking::regular(shape, &if dice.below(2) == 0 { sizes } else { shape.to_vec() })
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn maps_equal_the_interpreter(seed: u64) {
        let dice = &mut Dice(seed);
        let rank = dice.below(5);
        let shape = shape(dice, rank);
        let inputs: Vec<Whole> = (0..1 + dice.below(3))
            .map(|_| {
                let kept = dice.below(rank + 1);
                let stretch = |n: usize, dice: &mut Dice| if dice.below(4) == 0 { 1 } else { n };
                let own: Shape = shape[rank - kept..].iter().map(|&n| stretch(n, dice)).collect();
                let dtype = dice.pick(&DType::ALL);
                let own = if dice.below(2) == 0 { shape.clone() } else { own };
                dice.array(dtype, own)
            })
            .collect();
        let dtypes: Vec<DType> = inputs.iter().map(|i| i.dtype).collect();
        let size = 1 + dice.below(14);
        let expr = expression(dice, &dtypes, rank, size);
        check(expr, &inputs, &chunks(dice, &shape), seed);
    }

    #[test]
    fn stencils_cross_blocks(seed: u64) {
        let dice = &mut Dice(seed);
        let rank = 1 + dice.below(4);
        let mut shape = shape(dice, rank);
        (0..rank).for_each(|axis| shape[axis] = shape[axis].max(2));
        let dtype = dice.pick(&[DType::F32, DType::F64]);
        let input = dice.array(dtype, shape.clone());
        let mut expr = Expr::default();
        let mut sum = expr.push(NodeOp::Input(0), dtype);
        for _ in 0..1 + dice.below(2) {
            let stencil = expr.push(NodeOp::Stencil(0, stencil(dice, rank)), dtype);
            sum = expr.push(NodeOp::Binary(outcrop::graph::expr_ops::BinaryOp::Add, sum, stencil), dtype);
        }
        expr.output(sum);
        check(expr, &[input], &chunks(dice, &shape), seed);
    }
}

#[test]
fn every_function_takes_every_type_it_says() {
    use outcrop::graph::expr_ops::{BinaryOp, UnaryOp};
    let dice = &mut Dice(3);
    for dtype in DType::ALL {
        let inputs: Vec<Whole> = (0..2).map(|_| dice.array(dtype, [1031].into())).collect();
        let chunks = Chunking::single(&[1031].into());
        let unary =
            UnaryOp::ALL.iter().filter(|op| op.operand(dtype) == Some(dtype)).map(|&op| (Some(op), None));
        let binary =
            BinaryOp::ALL.iter().filter(|op| op.operand(dtype) == Some(dtype)).map(|&op| (None, Some(op)));
        for op in unary.chain(binary) {
            let mut expr = Expr::default();
            let x = expr.push(NodeOp::Input(0), dtype);
            let y = expr.push(NodeOp::Input(1), dtype);
            let result = match op {
                (Some(op), _) => expr.push(NodeOp::Unary(op, x), op.result(dtype)),
                (_, Some(op)) => expr.push(NodeOp::Binary(op, x, y), op.result(dtype)),
                _ => continue,
            };
            expr.output(result);
            check(expr, &inputs, &chunks, 5);
        }
        for to in DType::ALL {
            let mut expr = Expr::default();
            let x = expr.push(NodeOp::Input(0), dtype);
            let result = expr.push(NodeOp::Cast(x), to);
            expr.output(result);
            check(expr, &inputs, &chunks, 5);
        }
    }
}

#[test]
fn a_wide_kernel_and_tiny_blocks() {
    let dice = &mut Dice(11);
    let input = dice.array(DType::F64, [40, 3].into());
    let weights: Arc<[f64]> = (0..37).map(f64::from).collect();
    for (mode, sizes) in
        [(EdgeMode::Reflect, [1, 3]), (EdgeMode::Constant(2.0), [7, 1]), (EdgeMode::Nearest, [40, 2])]
    {
        for axis in [0, 1] {
            let mut expr = Expr::default();
            let stencil = Stencil::Convolve { axis, weights: weights.clone(), mode };
            let result = expr.push(NodeOp::Stencil(0, stencil), DType::F64);
            expr.output(result);
            check(expr, std::slice::from_ref(&input), &Chunking::regular(&[40, 3].into(), &sizes), 2);
        }
    }
}

#[test]
fn random_numbers_do_not_depend_on_chunks() {
    let shape: Shape = [6, 50].into();
    for distribution in [Distribution::Uniform, Distribution::Normal] {
        for dtype in [DType::F32, DType::F64] {
            let mut expr = Expr::default();
            let result = expr.push(NodeOp::Random { seed: u64::MAX - 5, distribution }, dtype);
            expr.output(result);
            let expr = Arc::new(expr);
            let whole = run_map(Isa::Portable, &expr, &[], &Chunking::single(&shape), &mut Dice(1));
            for isa in Isa::available() {
                for sizes in [[6, 50], [4, 7], [1, 50], [2, 50]] {
                    let parts = run_map(isa, &expr, &[], &Chunking::regular(&shape, &sizes), &mut Dice(2));
                    assert!(parts.iter().zip(&whole).all(|(a, b)| a.is_same(*b)), "{sizes:?} on {isa:?}");
                }
            }
        }
    }
}

#[test]
fn empty_blocks_and_bad_launches() {
    let host = Host::new(None);
    let expr = Arc::new(Expr::identity(DType::F32));
    let spec = |shape: &[usize]| ArraySpec { dtype: DType::F32, shape: shape.into() };
    let kernel = Kernel::Map(MapKernel::new(&expr, vec![spec(&[3, 0])], [3, 0].into()));
    let program = host.compiler().compile(&kernel).unwrap();
    let block = |shape: [usize; 2], dtype| {
        dense(dtype, shape.into(), &vec![Value::from_f64(1.0, dtype); shape[0] * shape[1]])
    };
    let launch = |input: Block, output: Block| {
        let region = Region::whole(output.shape());
        let operand = Operand { input: 0, region: Region::whole(input.shape()), block: input };
        host.queue().launch(&program, &Arguments { operands: vec![operand], output, region, pieces: vec![] })
    };
    launch(block([3, 0], DType::F32), block([3, 0], DType::F32)).unwrap();
    assert!(launch(block([3, 0], DType::F64), block([3, 0], DType::F32)).is_err());
    assert!(launch(block([3, 0], DType::F32), block([3, 0], DType::I32)).is_err());
    assert!(launch(block([2, 2], DType::F32), block([3, 2], DType::F32)).is_err());
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn slices_gather_from_every_block(seed: u64) {
        let dice = &mut Dice(seed);
        let rank = dice.below(5);
        let shape = shape(dice, rank);
        let dtype = dice.pick(&DType::ALL);
        let input = dice.array(dtype, shape.clone());
        let cut = chunks(dice, &shape);
        let slices: Vec<SliceAxis> = shape
            .iter()
            .map(|&extent| {
                let (start, step) = (dice.below(extent), dice.pick(&[-3isize, -1, 1, 2]));
                let room = if step > 0 { (extent - start).div_ceil(step as usize) } else { start / step.unsigned_abs() + 1 };
                if dice.below(4) == 0 {
                    SliceAxis::At(start)
                } else {
                    SliceAxis::Range { start, step, length: dice.below(room + 1) }
                }
            })
            .collect();
        let sliced = |axis: &SliceAxis| match *axis { SliceAxis::Range { length, .. } => Some(length), SliceAxis::At(_) => None };
        let result: Shape = slices.iter().filter_map(sliced).collect();
        let (blocks, pieces) = copy_pieces(&CopyRule::Slice(slices.clone()), &cut, &Region::whole(&result));
        let blank = Whole { dtype, shape: result.clone(), values: vec![Value::from_f64(9.0, dtype); result.elements()] };
        let output = block_of(&blank, &Region::whole(&result), dice);
        let operands = blocks.iter().map(|&block| {
            let region = cut.region_of(block);
            Operand { input: 0, block: block_of(&input, &region, dice), region }
        });
        let operands = operands.collect();
        let host = Host::new(None);
        let program = host.compiler().compile(&Kernel::Copy { dtype }).unwrap();
        let region = Region::whole(&result);
        host.queue().launch(&program, &Arguments { operands, output: output.clone(), region, pieces }).unwrap();
        let dense = dense(dtype, result.clone(), &blank.values);
        host.queue().download(&output, &dense).unwrap();
        for (e, got) in values_of(&dense).into_iter().enumerate() {
            let mut index = result.unravel(e).to_vec().into_iter();
            let place: Shape = slices
                .iter()
                .map(|axis| match *axis {
                    SliceAxis::At(at) => at,
                    SliceAxis::Range { start, step, .. } => {
                        (start as isize + step * index.next().unwrap_or(0) as isize) as usize
                    }
                })
                .collect();
            prop_assert!(got.is_same(input.values[shape.ravel(&place)]), "{slices:?} at {e}");
        }
    }
}
