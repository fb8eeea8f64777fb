//! Elementwise kernels: every function and type that the device claims.

use std::sync::Arc;

use outcrop::device::conformance::tolerance;
use outcrop::device::contract::Device;
use outcrop::dtype::{DType, Kind, Scalar};
use outcrop::graph::expr::{Expr, NodeId, NodeOp};
use outcrop::graph::expr_ops::{BinaryOp, UnaryOp};
use outcrop::kernel::capability::{wgpu_kernel_lack, wgpu_lack};
use outcrop::kernel::{ArraySpec, Kernel, MapKernel};
use outcrop::shape::{Region, Shape};

use crate::bench::{check_map, device};
use crate::oracle::{Array, Value};

/// Values that find faults: edges of the ranges, signs, and for floats what isn't finite.
fn awkward(dtype: DType, seed: usize) -> impl Fn(usize) -> Value {
    let ints: Vec<i64> = match dtype {
        DType::Bool => vec![0, 1],
        DType::U8 => vec![0, 1, 2, 3, 7, 127, 128, 254, 255],
        DType::I16 => vec![0, 1, -1, 2, 3, -7, 255, -32768, 32767],
        DType::I32 => vec![0, 1, -1, 2, 3, -7, 65537, i32::MIN.into(), i32::MAX.into()],
        DType::U32 => vec![0, 1, 2, 3, 7, 65537, 1 << 31, u32::MAX.into()],
        _ => vec![0, 1, -1, 2, 3, -7, 1 << 40, i64::MIN, i64::MAX],
    };
    let floats = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        2.5,
        -2.5,
        3.5,
        0.3,
        -0.7,
        1e-3,
        7.25,
        -13.75,
        1e10,
        -1e20,
        300.0,
        -40000.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    move |e| {
        let at = e * (2 * seed + 1) + e / 11 + seed;
        if dtype.is_float() {
            Value::Float(floats[at % floats.len()])
        } else {
            Value::Int(ints[at % ints.len()])
        }
    }
}

pub fn map_of(expr: Expr, inputs: &[Array], shape: impl Into<Shape>) -> MapKernel {
    let specs =
        inputs.iter().map(|array| ArraySpec { dtype: array.dtype, shape: array.shape.clone() }).collect();
    MapKernel::new(&Arc::new(expr), specs, shape.into())
}

/// The expression of one operation on inputs 0, 1, ….
fn single(inputs: &[DType], result: DType, op: impl Fn(&[NodeId]) -> NodeOp) -> Expr {
    let mut expr = Expr::default();
    let ids: Vec<NodeId> =
        inputs.iter().enumerate().map(|(i, &dtype)| expr.push(NodeOp::Input(i as u16), dtype)).collect();
    let root = expr.push(op(&ids), result);
    expr.output(root);
    expr
}

#[test]
fn every_unary_function() {
    let Some(device) = device() else { return };
    for op in UnaryOp::ALL {
        for dtype in DType::ALL {
            if op.operand(dtype) != Some(dtype) {
                continue;
            }
            let x = Array::new(dtype, [261], awkward(dtype, 0));
            let expr = single(&[dtype], op.result(dtype), |ids| NodeOp::Unary(op, ids[0]));
            if wgpu_lack(&expr, device.dtypes()).is_some() {
                continue;
            }
            let map = map_of(expr, std::slice::from_ref(&x), [261]);
            check_map(device, &map, &[x], &Region::whole(&map.shape), tolerance(op.name(), dtype));
        }
    }
}

#[test]
fn every_binary_function() {
    let Some(device) = device() else { return };
    for op in BinaryOp::ALL {
        for dtype in DType::ALL {
            if op.operand(dtype) != Some(dtype) {
                continue;
            }
            let a = Array::new(dtype, [401], awkward(dtype, 0));
            let mut b = Array::new(dtype, [401], awkward(dtype, 1));
            if op == BinaryOp::Power && dtype.kind() == Kind::Integer {
                b.values.iter_mut().for_each(|v| *v = Value::Int(v.int().rem_euclid(8)));
            }
            let expr = single(&[dtype; 2], op.result(dtype), |ids| NodeOp::Binary(op, ids[0], ids[1]));
            if wgpu_lack(&expr, device.dtypes()).is_some() {
                continue;
            }
            let inputs = [a, b];
            let map = map_of(expr, &inputs, [401]);
            check_map(device, &map, &inputs, &Region::whole(&map.shape), tolerance(op.name(), dtype));
        }
    }
}

#[test]
fn every_cast_and_select() {
    let Some(device) = device() else { return };
    for from in DType::ALL {
        for to in DType::ALL {
            let x = Array::new(from, [130], awkward(from, 0));
            let expr = single(&[from], to, |ids| NodeOp::Cast(ids[0]));
            if wgpu_lack(&expr, device.dtypes()).is_some() {
                continue;
            }
            let map = map_of(expr, std::slice::from_ref(&x), [130]);
            check_map(device, &map, &[x], &Region::whole(&map.shape), 0.0);
        }
        let expr = single(&[DType::Bool, from, from], from, |ids| NodeOp::Select(ids[0], ids[1], ids[2]));
        if wgpu_lack(&expr, device.dtypes()).is_none() {
            let inputs = [(DType::Bool, 0), (from, 0), (from, 1)];
            let inputs = inputs.map(|(dtype, seed)| Array::new(dtype, [67], awkward(dtype, seed)));
            let map = map_of(expr, &inputs, [67]);
            check_map(device, &map, &inputs, &Region::whole(&map.shape), 0.0);
        }
    }
}

#[test]
fn what_is_listed_as_lacking_is_refused_and_everything_else_compiles() {
    let Some(device) = device() else { return };
    let compiles = |expr: Expr, inputs: Vec<DType>| {
        let lack = wgpu_lack(&expr, device.dtypes());
        let specs = inputs.iter().map(|&dtype| ArraySpec { dtype, shape: [8].into() }).collect();
        let kernel = Kernel::Map(MapKernel::new(&Arc::new(expr.clone()), specs, [8].into()));
        assert_eq!(wgpu_kernel_lack(&kernel, device.dtypes()), lack);
        let compiled = device.compiler().compile(&kernel);
        assert_eq!(compiled.is_ok(), lack.is_none(), "{expr}: {lack:?}, {:?}", compiled.err());
    };
    for dtype in DType::ALL {
        for op in UnaryOp::ALL.into_iter().filter(|op| op.operand(dtype) == Some(dtype)) {
            compiles(single(&[dtype], op.result(dtype), |ids| NodeOp::Unary(op, ids[0])), vec![dtype]);
        }
        for op in BinaryOp::ALL.into_iter().filter(|op| op.operand(dtype) == Some(dtype)) {
            let expr = single(&[dtype; 2], op.result(dtype), |ids| NodeOp::Binary(op, ids[0], ids[1]));
            compiles(expr, vec![dtype; 2]);
        }
        for value in
            [Scalar::Bool(true), Scalar::Int(i64::MIN), Scalar::Int(-1), Scalar::Float(f64::INFINITY)]
        {
            compiles(single(&[], dtype, |_| NodeOp::Const(value)), vec![]);
        }
    }
    let f64_exp = single(&[DType::F64], DType::F64, |ids| NodeOp::Unary(UnaryOp::Exp, ids[0]));
    assert_eq!(wgpu_lack(&f64_exp, &DType::ALL), None);
    assert_eq!(wgpu_lack(&f64_exp, &[DType::F32]).as_deref(), Some("element type f64"));
}

#[test]
fn constants_of_every_type_arrive() {
    let Some(device) = device() else { return };
    let mut floats = vec![0.1, -0.0, 1e-7, 16777217.0, -1e30, 1e39, f64::NEG_INFINITY, f64::NAN, 1e-300];
    floats.push(f64::from(f32::MAX));
    for dtype in DType::ALL.into_iter().filter(|dtype| device.dtypes().contains(dtype)) {
        let ints = [0, 1, -1, 255, -32768, i64::from(i32::MIN), i64::from(u32::MAX), i64::MIN, i64::MAX];
        let scalars: Vec<Scalar> = match dtype.kind() {
            Kind::Float => floats.iter().map(|&x| Scalar::Float(x)).collect(),
            _ => ints.iter().map(|&i| Scalar::Int(i)).collect(),
        };
        for scalar in scalars {
            let map = map_of(single(&[], dtype, |_| NodeOp::Const(scalar)), &[], [5]);
            check_map(device, &map, &[], &Region::whole(&map.shape), 0.0);
        }
    }
}

/// `(x0 + x1) * x0`, with an index mixed in.
fn mixed(dtype: DType) -> Expr {
    let mut expr = Expr::default();
    let a = expr.push(NodeOp::Input(0), dtype);
    let b = expr.push(NodeOp::Input(1), dtype);
    let sum = expr.push(NodeOp::Binary(BinaryOp::Add, a, b), dtype);
    let product = expr.push(NodeOp::Binary(BinaryOp::Multiply, sum, a), dtype);
    expr.output(product);
    expr
}

#[test]
fn awkward_shapes_broadcast() {
    let Some(device) = device() else { return };
    let cases: [(&[usize], &[usize], &[usize]); 12] = [
        (&[], &[], &[]),
        (&[0], &[0], &[0]),
        (&[1], &[1], &[1]),
        (&[255], &[255], &[255]),
        (&[256], &[1], &[256]),
        (&[257], &[], &[257]),
        (&[3, 1], &[5], &[3, 5]),
        (&[4, 0], &[1, 1], &[4, 0]),
        (&[2, 3, 5], &[3, 1], &[2, 3, 5]),
        (&[2, 1, 5, 1], &[4, 1, 3], &[2, 4, 5, 3]),
        (&[1, 7], &[6, 1], &[6, 7]),
        (&[1, 1], &[1, 1], &[1, 1]),
    ];
    for dtype in [DType::U8, DType::I16, DType::I32, DType::F32] {
        for (a, b, out) in cases {
            let inputs = [a, b].map(|shape| Array::new(dtype, shape, |e| Value::Int((e % 13) as i64)));
            let map = map_of(mixed(dtype), &inputs, out);
            check_map(device, &map, &inputs, &Region::whole(&map.shape), 0.0);
        }
    }
}

#[test]
fn parts_of_an_array_know_their_place() {
    let Some(device) = device() else { return };
    if !device.dtypes().contains(&DType::I64) {
        return;
    }
    let x = Array::new(DType::I64, [9, 1, 5], |e| Value::Int(e as i64));
    let mut expr = Expr::default();
    let input = expr.push(NodeOp::Input(0), DType::I64);
    let (i, k) = (expr.push(NodeOp::Index(0), DType::I64), expr.push(NodeOp::Index(2), DType::I64));
    let sum = expr.push(NodeOp::Binary(BinaryOp::Add, i, k), DType::I64);
    let all = expr.push(NodeOp::Binary(BinaryOp::Multiply, sum, input), DType::I64);
    expr.output(all);
    let inputs = [x];
    let map = map_of(expr, &inputs, [9, 6, 5]);
    let region = Region { origin: [4, 1, 2].into(), shape: [3, 4, 3].into() };
    check_map(device, &map, &inputs, &region, 0.0);
}

#[test]
fn more_workgroups_than_one_axis_has() {
    let Some(device) = device() else { return };
    // 65,535 groups of 64 words of 4 elements are 16.8 million.
    let n = 65_535 * 64 * 4 + 4097;
    let x = Array::new(DType::U8, [n], |e| Value::Int((e % 251) as i64));
    let mut expr = Expr::default();
    let input = expr.push(NodeOp::Input(0), DType::U8);
    let one = expr.push(NodeOp::Const(Scalar::Int(3)), DType::U8);
    let sum = expr.push(NodeOp::Binary(BinaryOp::Add, input, one), DType::U8);
    expr.output(sum);
    let inputs = [x];
    let map = map_of(expr, &inputs, [n]);
    let region = Region::whole(&map.shape);
    let blocks = [(0, inputs[0].block())];
    let found = crate::bench::run(
        device,
        &Kernel::Map(map.clone()),
        &blocks,
        (DType::U8, map.shape.clone()),
        &region,
        Vec::new(),
    );
    let found = found.unwrap().to_vec::<u8>().unwrap();
    assert!(found.iter().enumerate().all(|(e, &v)| v == ((e % 251) as u8).wrapping_add(3)));
}
