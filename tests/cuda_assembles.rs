//! NVIDIA's assembler takes every kernel that the CUDA backend makes, for the cards of three generations: what the
//! emulated driver runs is what real cards run.

#![cfg(all(feature = "cuda", unix))]

mod emulated;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use outcrop::device::cuda::OPTIONS;
use outcrop::device::cuda::nvrtc::{Nvrtc, Target};
use outcrop::dtype::{DType, Scalar};
use outcrop::graph::expr::{Expr, NodeId, NodeOp};
use outcrop::graph::expr_ops::{BinaryOp, Distribution, EdgeMode, Stencil, UnaryOp};
use outcrop::graph::op::Reduction;
use outcrop::kernel::cuda::Rendered;
use outcrop::kernel::{ArraySpec, Kernel, MapKernel, StateClass, StateSpec};
use outcrop::shape::Shape;

/// The oldest that CUDA 12's compilers take without complaint, and two that are common.
const ARCHITECTURES: [u32; 3] = [75, 80, 90];

fn map(expr: Expr, dtype: DType, inputs: usize) -> Kernel {
    let shape = Shape::from([33, 7]);
    Kernel::Map(MapKernel::new(&expr.into(), vec![ArraySpec { dtype, shape: shape.clone() }; inputs], shape))
}

/// The values chosen by a mask that can't be known: none is dropped.
fn together(expr: &mut Expr, values: &[NodeId], dtype: DType) {
    let mut all = values[0];
    for &value in &values[1..] {
        let differs = expr.push(NodeOp::Binary(BinaryOp::NotEqual, all, value), DType::Bool);
        all = expr.push(NodeOp::Select(differs, value, all), dtype);
    }
    expr.output(all);
}

/// All functions of a type.
fn functions(dtype: DType) -> Kernel {
    let mut expr = Expr::default();
    let (a, b) = (expr.push(NodeOp::Input(0), dtype), expr.push(NodeOp::Input(1), dtype));
    let mut values = vec![a];
    for op in UnaryOp::ALL.into_iter().filter(|op| op.operand(dtype) == Some(dtype)) {
        let value = expr.push(NodeOp::Unary(op, a), op.result(dtype));
        values.push(if op.result(dtype) == dtype { value } else { expr.push(NodeOp::Cast(value), dtype) });
    }
    for op in BinaryOp::ALL.into_iter().filter(|op| op.operand(dtype) == Some(dtype)) {
        let value = expr.push(NodeOp::Binary(op, a, b), op.result(dtype));
        values.push(if op.result(dtype) == dtype { value } else { expr.push(NodeOp::Cast(value), dtype) });
    }
    together(&mut expr, &values, dtype);
    map(expr, dtype, 2)
}

/// Casts to every type and back, a position and, for floats, numbers that are made.
fn conversions(dtype: DType) -> Kernel {
    let mut expr = Expr::default();
    let mut values =
        vec![expr.push(NodeOp::Input(0), dtype), expr.push(NodeOp::Const(Scalar::Int(3)), dtype)];
    for to in DType::ALL {
        let there = expr.push(NodeOp::Cast(values[0]), to);
        values.push(expr.push(NodeOp::Cast(there), dtype));
    }
    let index = expr.push(NodeOp::Index(1), DType::I64);
    values.push(expr.push(NodeOp::Cast(index), dtype));
    if dtype.is_float() {
        for distribution in [Distribution::Uniform, Distribution::Normal] {
            values.push(expr.push(NodeOp::Random { seed: 7, distribution }, dtype));
        }
    }
    together(&mut expr, &values, dtype);
    map(expr, dtype, 1)
}

fn stencils(dtype: DType) -> Kernel {
    let mut expr = Expr::default();
    let weights = [0.25, 0.5, 0.25].into();
    let gradient = expr.push(NodeOp::Stencil(0, Stencil::Gradient { axis: 0, spacing: 2.0 }), dtype);
    let mode = EdgeMode::Nearest;
    let smooth = expr.push(NodeOp::Stencil(0, Stencil::Convolve { axis: 1, weights, mode }), dtype);
    together(&mut expr, &[gradient, smooth], dtype);
    map(expr, dtype, 1)
}

fn reductions(dtype: DType) -> Vec<Kernel> {
    let all = [
        Reduction::Sum,
        Reduction::Mean,
        Reduction::Var { ddof: 1 },
        Reduction::Std { ddof: 0 },
        Reduction::Min,
        Reduction::Max,
    ];
    let counts = [Reduction::Count { bins: 16 }, Reduction::Count { bins: 100_000 }];
    let counts = counts.into_iter().filter(|_| dtype == DType::I32);
    let kernels = all.into_iter().chain(counts).flat_map(|reduction| {
        let mut expr = Expr::default();
        let value = expr.push(NodeOp::Input(0), dtype);
        expr.output(value);
        let shape = Shape::from([33, 7]);
        let spec = ArraySpec { dtype, shape: shape.clone() };
        let state = StateSpec::new(StateClass::Double, reduction, dtype);
        let map = MapKernel::folded(&Arc::new(expr), vec![spec], shape);
        [
            Kernel::Fold { map, reduction, axes: vec![0], state },
            Kernel::Combine { reduction, state },
            Kernel::Finish { reduction, state, output: reduction.result(dtype) },
        ]
    });
    kernels.collect()
}

fn kernels() -> Vec<Kernel> {
    let of_type = |dtype: DType| {
        let mut kernels = vec![functions(dtype), conversions(dtype), Kernel::Copy { dtype }];
        kernels.extend(matches!(dtype, DType::F32 | DType::F64).then(|| stencils(dtype)));
        kernels.extend(reductions(dtype));
        kernels
    };
    DType::ALL.into_iter().flat_map(of_type).collect()
}

fn assemble(ptx: &Path, architecture: u32) -> Result<(), String> {
    let output = Command::new(emulated::ptxas())
        .arg(format!("-arch=sm_{architecture}"))
        .args([ptx.as_os_str(), "-o".as_ref(), "/dev/null".as_ref()])
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

#[test]
fn every_kernel_assembles_for_three_generations_of_cards() {
    if !emulated::load() {
        return;
    }
    let nvrtc = Nvrtc::find().expect("NVRTC");
    let mut sources: Vec<(String, String)> =
        kernels().iter().map(|kernel| (Rendered::new(kernel).source, format!("{kernel:?}"))).collect();
    sources.sort();
    sources.dedup_by(|a, b| a.0 == b.0);
    let folder = tempfile::tempdir().unwrap();
    let (next, count) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        while let Some((source, kernel)) = sources.get(next.fetch_add(1, Ordering::Relaxed)) {
            let ptx = nvrtc.compile(source, Target::Ptx(ARCHITECTURES[0]), &OPTIONS);
            let mut ptx = ptx.unwrap_or_else(|error| panic!("{kernel}\n{error}"));
            while ptx.last() == Some(&0) {
                ptx.pop();
            }
            let path = folder.path().join(format!("{}.ptx", count.fetch_add(1, Ordering::Relaxed)));
            std::fs::write(&path, ptx).unwrap();
            for architecture in ARCHITECTURES {
                assemble(&path, architecture)
                    .unwrap_or_else(|error| panic!("sm_{architecture}: {kernel}\n{error}"));
            }
            std::fs::remove_file(&path).unwrap();
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(work))));
    println!("{} kernels for sm_75, sm_80 and sm_90", sources.len());
    assert!(sources.len() > 100, "{} kernels", sources.len());
}
