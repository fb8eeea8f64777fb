//! Folds, combinations and results against naive sums in `f64`.

use std::sync::Arc;

use outcrop::block::Block;
use outcrop::device::contract::Device;
use outcrop::device::host::Host;
use outcrop::device::host::isa::Isa;
use outcrop::dtype::{DType, Scalar};
use outcrop::graph::expr::{Expr, NodeOp};
use outcrop::graph::expr_ops::BinaryOp;
use outcrop::graph::op::Reduction;
use outcrop::kernel::{Arguments, ArraySpec, Kernel, MapKernel, Operand, StateClass, StateSpec};
use outcrop::shape::{Region, Shape};
use proptest::prelude::*;

use crate::arrays::{Dice, block_of, dense, values_of};
use crate::interpret::{Value, Whole};
use crate::{cases, chunks, shape};

struct Case {
    input: Whole,
    reduction: Reduction,
    axes: Vec<usize>,
    /// Elements below this are masked out.
    threshold: Option<f64>,
}

impl Case {
    fn expr(&self) -> Expr {
        let mut expr = Expr::identity(self.input.dtype);
        if let Some(threshold) = self.threshold {
            let value = expr.outputs()[0];
            let threshold = expr.push(NodeOp::Const(Scalar::Float(threshold)), self.input.dtype);
            let mask = expr.push(NodeOp::Binary(BinaryOp::GreaterEqual, value, threshold), DType::Bool);
            expr.output(mask);
        }
        expr
    }

    /// Folds every block of a domain cut along the folded axes only, combines the states, and finishes.
    fn run(&self, isa: Isa, sizes: &[usize], dice: &mut Dice) -> Vec<Value> {
        let host = Host::with_isa(None, isa);
        let launch = |kernel: &Kernel, arguments: &Arguments| {
            let program = host.compiler().compile(kernel).unwrap();
            host.queue().launch(&program, arguments).unwrap();
        };
        let (reduction, dtype) = (self.reduction, self.input.dtype);
        let state = StateSpec::new(StateClass::Double, reduction, dtype);
        let spec = ArraySpec { dtype, shape: self.input.shape.clone() };
        let map = MapKernel::folded(&Arc::new(self.expr()), vec![spec], self.input.shape.clone());
        let fold = Kernel::Fold { map, reduction, axes: self.axes.clone(), state };
        let kept: Shape = (0..self.input.shape.len())
            .map(|axis| if self.axes.contains(&axis) { 1 } else { self.input.shape[axis] })
            .collect();
        let mut state_shape: Shape = std::iter::once(state.planes).chain(kept.iter().copied()).collect();
        let mut result_shape = kept;
        if let Reduction::Count { bins } = reduction {
            state_shape = [bins as usize].into();
            result_shape = state_shape.clone();
        }
        let blank = |shape: &Shape, dtype: DType, dice: &mut Dice| {
            let values = vec![Value::from_f64(55.0, dtype); shape.elements()];
            block_of(&Whole { dtype, shape: shape.clone(), values }, &Region::whole(shape), dice)
        };
        let domain = outcrop::graph::chunking::Chunking::regular(&self.input.shape, sizes);
        let mut states = Vec::new();
        for block in 0..domain.blocks() {
            let region = domain.region_of(block);
            let output = blank(&state_shape, state.dtype, dice);
            let operand =
                Operand { input: 0, block: block_of(&self.input, &region, dice), region: region.clone() };
            launch(
                &fold,
                &Arguments { operands: vec![operand], output: output.clone(), region, pieces: vec![] },
            );
            states.push(output);
        }
        let as_operands = |blocks: Vec<Block>| -> Vec<Operand> {
            let region = |block: &Block| Region::whole(block.shape());
            blocks.into_iter().map(|block| Operand { input: 0, region: region(&block), block }).collect()
        };
        let combined = blank(&state_shape, state.dtype, dice);
        let region = Region::whole(&state_shape);
        let operands = as_operands(states);
        launch(
            &Kernel::Combine { reduction, state },
            &Arguments { operands, output: combined.clone(), region, pieces: vec![] },
        );
        let result_dtype = reduction.result(dtype);
        let output = blank(&result_shape, result_dtype, dice);
        let (region, operands) = (Region::whole(&result_shape), as_operands(vec![combined]));
        launch(
            &Kernel::Finish { reduction, state, output: result_dtype },
            &Arguments { operands, output: output.clone(), region, pieces: vec![] },
        );
        values_of(&output)
    }

    fn want(&self) -> Vec<f64> {
        let shape = &self.input.shape;
        let kept: Vec<usize> = (0..shape.len()).filter(|axis| !self.axes.contains(axis)).collect();
        let kept_shape: Shape = kept.iter().map(|&axis| shape[axis]).collect();
        let mut cells: Vec<Vec<f64>> = vec![Vec::new(); kept_shape.elements()];
        for e in 0..shape.elements() {
            let at = shape.unravel(e);
            let place: Shape = kept.iter().map(|&axis| at[axis]).collect();
            let x = self.input.values[e].as_f64();
            if self.threshold.is_none_or(|threshold| x >= threshold) {
                cells[kept_shape.ravel(&place)].push(x);
            }
        }
        let n = |x: &[f64]| x.len() as f64;
        let sum = |x: &[f64]| x.iter().sum::<f64>();
        let var = |x: &[f64], ddof: u32| {
            let mean = sum(x) / n(x);
            x.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n(x) - f64::from(ddof)).max(0.0)
        };
        cells
            .iter()
            .map(|x| match self.reduction {
                Reduction::Sum => sum(x),
                Reduction::Mean => sum(x) / n(x),
                Reduction::Var { ddof } => var(x, ddof),
                Reduction::Std { ddof } => var(x, ddof).sqrt(),
                Reduction::Min => x.iter().copied().fold(f64::INFINITY, f64::min),
                Reduction::Max => x.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                Reduction::Count { .. } => f64::NAN,
            })
            .collect()
    }
}

fn is_close(got: f64, want: f64, tolerance: f64) -> bool {
    got == want || got.is_nan() && want.is_nan() || (got - want).abs() <= tolerance * want.abs().max(1.0)
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn folds_equal_naive_sums(seed: u64) {
        let dice = &mut Dice(seed);
        let rank = dice.below(5);
        let shape = shape(dice, rank);
        let dtype = dice.pick(&[DType::F64, DType::F32, DType::F16, DType::I32, DType::U8, DType::I16]);
        let mut input = dice.array(dtype, shape.clone());
        input.values.iter_mut().for_each(|v| *v = Value::from_f64(dice.unit() * 20.0 - 4.0, dtype));
        let reductions = [
            Reduction::Sum, Reduction::Mean, Reduction::Min, Reduction::Max,
            Reduction::Var { ddof: 0 }, Reduction::Std { ddof: 1 },
        ];
        let reduction = dice.pick(&reductions);
        let axes: Vec<usize> = (0..rank).filter(|_| dice.below(2) == 0).collect();
        let threshold = (dice.below(3) == 0).then_some(0.0);
        let sizes: Vec<usize> = chunks(dice, &shape).axes().iter().map(|axis| axis.longest()).collect();
        let sizes: Vec<usize> = (0..rank).map(|a| if axes.contains(&a) { sizes[a] } else { shape[a] }).collect();
        let case = Case { input, reduction, axes, threshold };
        let got = case.run(Isa::Portable, &sizes, &mut Dice(seed));
        let tolerance = match reduction.result(dtype) {
            DType::F16 => 1e-3,
            DType::F32 => 1e-6,
            _ => 1e-12,
        };
        for (got, want) in got.iter().zip(case.want()) {
            let is_empty_extreme = matches!(reduction, Reduction::Min | Reduction::Max) && want.is_infinite();
            prop_assert!(is_empty_extreme || is_close(got.as_f64(), want, tolerance), "{got:?}, want {want}");
        }
        // Neither the instruction set nor the blocks' layout shows.
        for isa in Isa::available() {
            let again = case.run(isa, &sizes, &mut Dice(seed + 1));
            prop_assert!(again.iter().zip(&got).all(|(a, b)| a.is_same(*b)), "{isa:?}");
        }
    }
}

/// The definition, plainly: lanes of a group, their tree, states in rows of 64; and elements of a column in rows of 256.
#[test]
fn sums_are_made_in_the_order_that_is_promised() {
    let rows = |sums: Vec<f64>| sums.chunks(64).map(|row| row.iter().fold(0.0, |sum, x| sum + x)).collect();
    let tree = |mut sums: Vec<f64>| {
        sums = rows(sums);
        while sums.len() > 1 {
            sums = rows(sums);
        }
        sums[0]
    };
    let group = |values: &[f64]| {
        let mut lanes = [0.0; 16];
        values.iter().enumerate().for_each(|(i, x)| lanes[i % 16] += x);
        for half in [8, 4, 2, 1] {
            (0..half).for_each(|lane| lanes[lane] += lanes[lane + half]);
        }
        lanes[0]
    };
    let dice = &mut Dice(9);
    let values: Vec<f64> = (0..4_300_000).map(|_| dice.unit() - 0.3).collect();
    let sum = |shape: &[usize], axes: Vec<usize>| {
        let values = values[..shape.iter().product()].iter().map(|&x| Value::F64(x)).collect();
        let input = Whole { dtype: DType::F64, shape: shape.into(), values };
        let case = Case { input, reduction: Reduction::Sum, axes, threshold: None };
        case.run(Isa::detect(), shape, &mut Dice(1)).iter().map(|x| x.as_f64()).collect::<Vec<f64>>()
    };
    // Three levels above the groups.
    assert_eq!(sum(&[4_300_000], vec![0]), [tree(values.chunks(1024).map(group).collect())]);
    let column = |at: usize| values[..3 * 20_000].iter().skip(at).step_by(3).copied().collect::<Vec<f64>>();
    let plain = |values: &[f64]| values.iter().fold(0.0, |sum, x| sum + x);
    let columns = [0, 1, 2].map(|at| {
        let states: Vec<f64> = column(at).chunks(256).map(plain).collect();
        if states.len() > 1 { tree(states) } else { states[0] }
    });
    assert_eq!(sum(&[20_000, 3], vec![0]), columns);
    // The groups of a cell come from many runs.
    let runs =
        |at: usize| values[..100 * 2 * 5].chunks(5).skip(at).step_by(2).map(group).collect::<Vec<f64>>();
    assert_eq!(sum(&[100, 2, 5], vec![0, 2]), [tree(runs(0)), tree(runs(1))]);
}

#[test]
fn a_spread_of_one_near_a_million() {
    let dice = &mut Dice(4);
    for (shape, axes) in [([1, 100_000], vec![1]), ([50_000, 2], vec![0]), ([300, 301], vec![0, 1])] {
        let values: Vec<f64> = (0..shape[0] * shape[1]).map(|_| 1e6 + dice.unit() - 0.5).collect();
        let input = Whole {
            dtype: DType::F64,
            shape: shape.into(),
            values: values.into_iter().map(Value::F64).collect(),
        };
        let case = Case { input, reduction: Reduction::Std { ddof: 0 }, axes, threshold: None };
        for sizes in [shape, [shape[0].div_ceil(7), shape[1]]] {
            if sizes != shape && !case.axes.contains(&0) {
                continue;
            }
            for (got, want) in case.run(Isa::detect(), &sizes, dice).iter().zip(case.want()) {
                // The naive sums' own means are good to about 1e-16 · √n · 1e6, which enters squared.
                assert!((got.as_f64() / want - 1.0).abs() < 1e-10, "{got:?}, want {want}");
            }
        }
    }
}

#[test]
fn counts_ignore_what_is_outside() {
    let values = [0, 1, 1, 4, 5, -1, i32::MAX, 3].map(|i| Value::Int(i.into()));
    let input = Whole { dtype: DType::I32, shape: [2, 4].into(), values: values.to_vec() };
    let reduction = Reduction::Count { bins: 5 };
    let mut case = Case { input, reduction, axes: vec![0, 1], threshold: None };
    let counts = |case: &Case| -> Vec<f64> {
        case.run(Isa::detect(), &[1, 3], &mut Dice(1)).iter().map(|v| v.as_f64()).collect()
    };
    assert_eq!(counts(&case), [1.0, 2.0, 0.0, 1.0, 1.0]);
    case.threshold = Some(1.0);
    assert_eq!(counts(&case), [0.0, 2.0, 0.0, 1.0, 1.0]);
}

#[test]
fn nan_and_nothing() {
    let input = |values: &[f64]| Whole {
        dtype: DType::F64,
        shape: [values.len()].into(),
        values: values.iter().map(|&x| Value::F64(x)).collect(),
    };
    let result = |values: &[f64], reduction| {
        let case = Case { input: input(values), reduction, axes: vec![0], threshold: None };
        case.run(Isa::detect(), &[2], &mut Dice(1))[0].as_f64()
    };
    for reduction in [Reduction::Min, Reduction::Max, Reduction::Sum, Reduction::Var { ddof: 0 }] {
        assert!(result(&[1.0, 2.0, f64::NAN, 0.5, 3.0], reduction).is_nan(), "{reduction:?}");
    }
    assert_eq!(result(&[], Reduction::Sum), 0.0);
    assert!(result(&[], Reduction::Mean).is_nan());
    assert!(result(&[], Reduction::Std { ddof: 0 }).is_nan());
    assert!(result(&[1.0], Reduction::Var { ddof: 1 }).is_nan());
    assert_eq!(result(&[], Reduction::Min), f64::INFINITY);
    assert_eq!(result(&[3.0, f64::INFINITY], Reduction::Max), f64::INFINITY);
}

#[test]
fn a_state_of_pairs_of_singles_is_refused() {
    let state = StateSpec::new(StateClass::Pair, Reduction::Mean, DType::F32);
    let kernel = Kernel::Combine { reduction: Reduction::Mean, state };
    let error = Host::new(None).compiler().compile(&kernel).err().map(|error| error.to_string());
    assert!(error.is_some_and(|message| message.contains("sums of two")));
    let _ = dense(DType::F32, [0].into(), &[]);
}
