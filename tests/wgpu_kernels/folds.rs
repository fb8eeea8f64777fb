//! Reductions: fold, combine, finish.

use outcrop::block::Block;
use outcrop::device::contract::Device;
use outcrop::device::wgpu::WgpuDevice;
use outcrop::dtype::DType;
use outcrop::graph::expr::{Expr, NodeId, NodeOp};
use outcrop::graph::expr_ops::BinaryOp;
use outcrop::graph::op::Reduction;
use outcrop::kernel::capability::wgpu_reduction_lack;
use outcrop::kernel::{Kernel, MapKernel, StateClass, StateSpec};
use outcrop::shape::{Region, Shape};

use crate::bench::{assert_close, device, input_block, run};
use crate::maps::map_of;
use crate::oracle::{Array, Value, evaluate, values};

const REDUCTIONS: [Reduction; 8] = [
    Reduction::Sum,
    Reduction::Mean,
    Reduction::Min,
    Reduction::Max,
    Reduction::Var { ddof: 0 },
    Reduction::Var { ddof: 1 },
    Reduction::Std { ddof: 0 },
    Reduction::Count { bins: 7 },
];

/// Folds each part of the domain, combines the states, finishes.
fn reduce(
    device: &WgpuDevice,
    map: &MapKernel,
    inputs: &[Array],
    reduction: Reduction,
    axes: &[usize],
    parts: &[Region],
) -> Block {
    let value = map.expr.output_dtype(0);
    let state = StateSpec::new(StateClass::Pair, reduction, value);
    let folded = MapKernel::folded(&map.expr, map.inputs.clone(), map.shape.clone());
    let fold = Kernel::Fold { map: folded, reduction, axes: axes.to_vec(), state };
    let mut kept: Shape = Shape::default();
    let states: Vec<(u16, Block)> = parts
        .iter()
        .map(|part| {
            let operands: Vec<_> =
                (0..inputs.len()).map(|i| (i as u16, input_block(map, i, &inputs[i], part))).collect();
            kept = (0..part.shape.len()).map(|a| if axes.contains(&a) { 1 } else { part.shape[a] }).collect();
            let shape: Shape = match reduction {
                Reduction::Count { bins } => [bins as usize].into(),
                _ => std::iter::once(state.planes).chain(kept.iter().copied()).collect(),
            };
            (0, run(device, &fold, &operands, (state.dtype, shape), part, Vec::new()).unwrap())
        })
        .collect();
    if let Reduction::Count { bins } = reduction {
        kept = [bins as usize].into();
    }
    let shape = states[0].1.shape().clone();
    let whole = Region::whole(&shape);
    let combine = Kernel::Combine { reduction, state };
    let combined = run(device, &combine, &states, (state.dtype, shape), &whole, Vec::new()).unwrap();
    let output = reduction.result(value);
    let finish = Kernel::Finish { reduction, state, output };
    run(device, &finish, &[(0, combined)], (output, kept), &whole, Vec::new()).unwrap()
}

/// The result for the elements (masked ones left out) that fold into one.
fn expected(reduction: Reduction, values: &[Value], bin: usize) -> Value {
    let floats = || values.iter().map(|v| v.float());
    let n = values.len() as f64;
    let mean = floats().sum::<f64>() / n;
    let variance =
        |ddof: u32| floats().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - f64::from(ddof)).max(0.0);
    let ints = !values.iter().any(|v| matches!(v, Value::Float(_)));
    match reduction {
        Reduction::Sum if ints => Value::Int(values.iter().map(|v| v.int()).fold(0, i64::wrapping_add)),
        Reduction::Sum => Value::Float(floats().sum()),
        Reduction::Mean => Value::Float(mean),
        Reduction::Min if ints => Value::Int(values.iter().map(|v| v.int()).min().unwrap()),
        Reduction::Max if ints => Value::Int(values.iter().map(|v| v.int()).max().unwrap()),
        Reduction::Min | Reduction::Max if floats().any(f64::is_nan) => Value::Float(f64::NAN),
        Reduction::Min => Value::Float(floats().fold(f64::INFINITY, f64::min)),
        Reduction::Max => Value::Float(floats().fold(f64::NEG_INFINITY, f64::max)),
        Reduction::Var { ddof } => Value::Float(variance(ddof)),
        Reduction::Std { ddof } => Value::Float(variance(ddof).sqrt()),
        Reduction::Count { .. } => Value::Int(values.iter().filter(|v| v.int() == bin as i64).count() as i64),
    }
}

fn check(
    device: &WgpuDevice,
    map: &MapKernel,
    inputs: &[Array],
    reduction: Reduction,
    axes: &[usize],
    parts: &[Region],
) {
    let found = reduce(device, map, inputs, reduction, axes, parts);
    let shape = map.shape.clone();
    let kept: Shape = (0..shape.len()).map(|a| if axes.contains(&a) { 1 } else { shape[a] }).collect();
    let mut groups: Vec<Vec<Value>> = vec![Vec::new(); kept.elements()];
    for e in 0..shape.elements() {
        let index = shape.unravel(e);
        let counts = map.expr.outputs().len() == 1 || evaluate(map, inputs, &index, 1).truth();
        if counts {
            let at: Vec<usize> =
                (0..shape.len()).map(|a| if axes.contains(&a) { 0 } else { index[a] }).collect();
            groups[kept.ravel(&at)].push(evaluate(map, inputs, &index, 0));
        }
    }
    let exact = matches!(reduction, Reduction::Min | Reduction::Max | Reduction::Count { .. });
    let tolerance = match reduction.result(map.expr.output_dtype(0)) {
        _ if exact => 0.0,
        DType::F16 => 1e-3,
        DType::F32 => 1.3e-7,
        _ => 1e-12,
    };
    for (e, found) in values(&found).into_iter().enumerate() {
        let group = if matches!(reduction, Reduction::Count { .. }) { &groups[0] } else { &groups[e] };
        let want = expected(reduction, group, e).cast(reduction.result(map.expr.output_dtype(0)));
        let label = || format!("{reduction:?} of {} over {axes:?} of {shape}, result {e}", map.expr);
        assert_close(found, want, tolerance, label);
    }
}

fn ints(dtype: DType, shape: &[usize]) -> Array {
    Array::new(dtype, shape, |e| Value::Int((e * 31 % 97) as i64 % if dtype == DType::I32 { 9 } else { 97 }))
}

#[test]
fn every_reduction_of_every_type_over_every_set_of_axes() {
    let Some(device) = device() else { return };
    let shape = [5usize, 7, 3];
    for dtype in DType::ALL {
        let x = match dtype {
            DType::F16 | DType::F32 | DType::F64 => {
                Array::new(dtype, shape, |e| Value::Float((e * 31 % 97) as f64 * 0.37 - 5.0))
            }
            _ => ints(dtype, &shape),
        };
        for reduction in REDUCTIONS {
            let count = matches!(reduction, Reduction::Count { .. });
            if wgpu_reduction_lack(reduction, dtype, device.dtypes()).is_some()
                || (count && dtype != DType::I32)
            {
                continue;
            }
            for set in 1..8usize {
                let axes: Vec<usize> = (0..3).filter(|axis| set & (1 << axis) != 0).collect();
                if count && axes.len() < 3 {
                    continue;
                }
                let inputs = [x.clone()];
                let map = map_of(Expr::identity(dtype), &inputs, shape);
                check(device, &map, &inputs, reduction, &axes, &[Region::whole(&map.shape)]);
            }
        }
    }
}

/// `x0` where `x1` (which stretches along axis 1) is below 3.
fn masked(dtype: DType) -> Expr {
    let mut expr = Expr::default();
    let x = expr.push(NodeOp::Input(0), dtype);
    let m = expr.push(NodeOp::Input(1), DType::U8);
    let three = expr.push(NodeOp::Const(outcrop::dtype::Scalar::Int(3)), DType::U8);
    let keep = expr.push(NodeOp::Binary(BinaryOp::Less, m, three), DType::Bool);
    expr.output(x);
    expr.output(keep);
    expr
}

#[test]
fn masks_parts_and_many_segments() {
    let Some(device) = device() else { return };
    let shape = [4usize, 40_000];
    let x = Array::new(DType::F32, shape, |e| Value::Float((e * 7919 % 10_007) as f64 * 0.01 + 1000.0));
    let m = Array::new(DType::U8, [4, 1], |e| Value::Int((e % 4) as i64));
    let halves = [(0, 2), (2, 2)]
        .map(|(origin, extent)| Region { origin: [origin, 0].into(), shape: [extent, 40_000].into() });
    for reduction in REDUCTIONS.into_iter().filter(|r| !matches!(r, Reduction::Count { .. })) {
        let inputs = [x.clone(), m.clone()];
        let map = map_of(masked(DType::F32), &inputs, shape);
        check(device, &map, &inputs, reduction, &[0, 1], &halves);
    }
    let bins = Array::new(DType::I32, shape, |e| Value::Int((e / 17 % 11) as i64 - 2));
    let inputs = [bins, m];
    let map = map_of(masked(DType::I32), &inputs, shape);
    check(device, &map, &inputs, Reduction::Count { bins: 7 }, &[0, 1], &halves);
    let small = Array::new(DType::U8, [4, 3000], |e| Value::Int((e * 91 % 251) as i64 + 1));
    let inputs = [small];
    let map = map_of(Expr::identity(DType::U8), &inputs, [4, 3000]);
    check(device, &map, &inputs, Reduction::Min, &[1], &[Region::whole(&map.shape)]);
    check(device, &map, &inputs, Reduction::Max, &[1], &[Region::whole(&map.shape)]);
}

fn total(device: &WgpuDevice, x: Array, reduction: Reduction) -> f64 {
    let (shape, dtype) = (x.shape.clone(), x.dtype);
    let inputs = [x];
    let map = map_of(Expr::identity(dtype), &inputs, shape);
    let axes: Vec<usize> = (0..map.shape.len()).collect();
    let found = reduce(device, &map, &inputs, reduction, &axes, &[Region::whole(&map.shape)]);
    match dtype {
        DType::F64 => found.to_scalar().unwrap(),
        _ => f64::from(found.to_scalar::<f32>().unwrap()),
    }
}

#[test]
fn sums_keep_what_single_precision_drops() {
    let Some(device) = device() else { return };
    // 2^25 ones stick at 2^24 in plain f32.
    let n = (1 << 25) + 3;
    let mut ones = Expr::default();
    let one = ones.push(NodeOp::Const(outcrop::dtype::Scalar::Float(1.0)), DType::F32);
    ones.output(one);
    let map = map_of(ones, &[], [n]);
    let whole = [Region::whole(&map.shape)];
    let sum = reduce(device, &map, &[], Reduction::Sum, &[0], &whole).to_scalar::<f32>();
    assert_eq!(sum, Some(n as f32));
    let mean = reduce(device, &map, &[], Reduction::Mean, &[0], &whole).to_scalar::<f32>();
    assert_eq!(mean, Some(1.0));
    // Large terms that cancel leave the small ones.
    let x = Array::new(DType::F32, [30_000], |e| Value::Float([1e8, 0.001, -1e8][e % 3]));
    let sum = total(device, x.clone(), Reduction::Sum);
    let small = 10_000.0 * f64::from(0.001f32);
    assert!((sum - small).abs() < 2e-6 * small, "{sum}");
    // A spread that is far below the mean.
    let y = Array::new(DType::F32, [30_000], |e| Value::Float(1e4 + (e % 2) as f64 * 0.0078125));
    let std = total(device, y, Reduction::Std { ddof: 0 });
    assert!((std / 0.00390625 - 1.0).abs() < 1e-6, "{std}");
}

#[test]
fn sums_keep_what_double_precision_drops() {
    let Some(device) = device() else { return };
    if !device.dtypes().contains(&DType::F64) {
        return println!("SKIPPED: {} has no f64", device.adapter_name());
    }
    let x = Array::new(DType::F64, [30_000], |e| Value::Float([1e17, 0.001, -1e17][e % 3]));
    for (reduction, wanted) in [(Reduction::Sum, 10.0), (Reduction::Mean, 10.0 / 30_000.0)] {
        let found = total(device, x.clone(), reduction);
        assert!((found / wanted - 1.0).abs() < 1e-15, "{reduction:?}: {found}");
    }
    let y = Array::new(DType::F64, [30_000], |e| Value::Float(1e12 + (e % 2) as f64 * 0.0078125));
    let std = total(device, y, Reduction::Std { ddof: 0 });
    assert!((std / 0.00390625 - 1.0).abs() < 1e-15, "{std}");
}

#[test]
fn what_isnt_finite_shows() {
    let Some(device) = device() else { return };
    for dtype in [DType::F32, DType::F64].into_iter().filter(|dtype| device.dtypes().contains(dtype)) {
        let with =
            |value: f64| Array::new(dtype, [700], move |e| Value::Float(if e == 600 { value } else { 1.0 }));
        for reduction in [Reduction::Sum, Reduction::Mean, Reduction::Max] {
            assert_eq!(total(device, with(f64::INFINITY), reduction), f64::INFINITY, "{reduction:?}");
        }
        assert_eq!(total(device, with(f64::NEG_INFINITY), Reduction::Min), f64::NEG_INFINITY);
        for reduction in REDUCTIONS.into_iter().filter(|r| !matches!(r, Reduction::Count { .. })) {
            assert!(total(device, with(f64::NAN), reduction).is_nan(), "{reduction:?}");
        }
        let one = |_: usize| Value::Float(3.0);
        assert!(total(device, Array::new(dtype, [1], one), Reduction::Var { ddof: 1 }).is_nan());
    }
}

#[test]
fn reductions_that_lack_something_are_listed() {
    let lack = |reduction, value, dtypes: &[DType]| wgpu_reduction_lack(reduction, value, dtypes);
    let small = [DType::F32, DType::I32];
    assert_eq!(lack(Reduction::Sum, DType::I32, &small).as_deref(), Some("element type i64"));
    assert_eq!(lack(Reduction::Mean, DType::I32, &small).as_deref(), Some("element type f64"));
    assert_eq!(lack(Reduction::Mean, DType::F64, &DType::ALL), None);
    assert_eq!(lack(Reduction::Count { bins: 3 }, DType::I32, &small), None);
    let Some(device) = device() else { return };
    for dtype in DType::ALL {
        for reduction in REDUCTIONS {
            let state = StateSpec::new(StateClass::Pair, reduction, dtype);
            let mut expr = Expr::default();
            let x: NodeId = expr.push(NodeOp::Input(0), dtype);
            expr.output(x);
            if matches!(reduction, Reduction::Count { .. }) && dtype != DType::I32 {
                continue;
            }
            let array = Array::new(dtype, [4], |_| Value::Int(0));
            let map = map_of(expr, std::slice::from_ref(&array), [4]);
            let map = MapKernel::folded(&map.expr, map.inputs, map.shape);
            let fold = Kernel::Fold { map, reduction, axes: vec![0], state };
            let finish = Kernel::Finish { reduction, state, output: reduction.result(dtype) };
            let lacks = wgpu_reduction_lack(reduction, dtype, device.dtypes());
            let compiled = device.compiler().compile(&fold).and(device.compiler().compile(&finish));
            assert_eq!(compiled.is_ok(), lacks.is_none(), "{reduction:?} of {dtype}: {lacks:?}");
        }
    }
}
