//! The shaders themselves, without an adapter.

use std::sync::Arc;

use outcrop::dtype::{DType, Scalar};
use outcrop::graph::expr::{Expr, NodeId, NodeOp};
use outcrop::graph::expr_ops::{BinaryOp, Distribution, EdgeMode, Stencil, UnaryOp};
use outcrop::graph::op::Reduction;
use outcrop::kernel::capability::{WGPU_DTYPES, wgpu_kernel_lack};
use outcrop::kernel::render::Rendered;
use outcrop::kernel::{ArraySpec, Kernel, MapKernel, StateClass, StateSpec};
use wgpu::naga;

/// Fails when a shader needs more than WGSL without extensions.
fn check(kernel: &Kernel) {
    for shader in [true, false].into_iter().flat_map(|is_software| Rendered::new(kernel, is_software).shaders)
    {
        let module = naga::front::wgsl::parse_str(&shader.source)
            .unwrap_or_else(|error| panic!("{}", error.emit_to_string(&shader.source)));
        let flags = naga::valid::ValidationFlags::all();
        let capabilities = naga::valid::Capabilities::empty();
        let valid = naga::valid::Validator::new(flags, capabilities).validate(&module);
        assert!(valid.is_ok(), "{}: {:?}\n{}", kernel.name(), valid.err(), shader.source);
    }
}

fn map(op: NodeOp, inputs: &[DType], result: DType) -> MapKernel {
    let mut expr = Expr::default();
    for (i, &dtype) in inputs.iter().enumerate() {
        expr.push(NodeOp::Input(i as u16), dtype);
    }
    let root = expr.push(op, result);
    expr.output(root);
    let specs = inputs.iter().map(|&dtype| ArraySpec { dtype, shape: [6, 7].into() }).collect();
    MapKernel::new(&Arc::new(expr), specs, [6, 7].into())
}

/// Every kernel that isn't listed as lacking for a device with neither `i64` nor `f64`.
#[test]
fn what_a_device_without_64_bits_may_do_needs_no_extension() {
    let (a, b) = (NodeId(0), NodeId(1));
    let mut maps = Vec::new();
    for dtype in DType::ALL {
        for op in UnaryOp::ALL.into_iter().filter(|op| op.operand(dtype) == Some(dtype)) {
            maps.push(map(NodeOp::Unary(op, a), &[dtype], op.result(dtype)));
        }
        for op in BinaryOp::ALL.into_iter().filter(|op| op.operand(dtype) == Some(dtype)) {
            maps.push(map(NodeOp::Binary(op, a, b), &[dtype; 2], op.result(dtype)));
        }
        for to in DType::ALL {
            maps.push(map(NodeOp::Cast(a), &[dtype], to));
        }
        for distribution in [Distribution::Uniform, Distribution::Normal] {
            maps.push(map(NodeOp::Random { seed: 7, distribution }, &[], dtype));
        }
        maps.push(map(NodeOp::Index(1), &[], dtype));
        maps.push(map(NodeOp::Const(Scalar::Float(f64::NAN)), &[], dtype));
    }
    let weights: Arc<[f64]> = vec![1.0; 41].into();
    let blur = Stencil::Convolve { axis: 0, weights, mode: EdgeMode::Reflect };
    for stencil in [Stencil::Gradient { axis: 1, spacing: 0.5 }, blur] {
        maps.push(map(NodeOp::Stencil(0, stencil), &[DType::F32], DType::F32));
    }
    let mut kernels: Vec<Kernel> = maps.into_iter().map(Kernel::Map).collect();
    for dtype in DType::ALL {
        kernels.push(Kernel::Copy { dtype });
        let (sum, mean) = (Reduction::Sum, Reduction::Mean);
        let spread = [Reduction::Var { ddof: 1 }, Reduction::Std { ddof: 0 }, Reduction::Count { bins: 9 }];
        for reduction in [sum, mean, Reduction::Min, Reduction::Max].into_iter().chain(spread) {
            if matches!(reduction, Reduction::Count { .. }) && dtype != DType::I32 {
                continue;
            }
            let state = StateSpec::new(StateClass::Pair, reduction, dtype);
            let map = map(NodeOp::Input(0), &[dtype], dtype);
            let map = MapKernel::folded(&map.expr, map.inputs, map.shape);
            kernels.push(Kernel::Fold { map, reduction, axes: vec![0, 1], state });
            kernels.push(Kernel::Combine { reduction, state });
            kernels.push(Kernel::Finish { reduction, state, output: reduction.result(dtype) });
        }
    }
    let (able, lacking): (Vec<_>, Vec<_>) =
        kernels.iter().partition(|kernel| wgpu_kernel_lack(kernel, &WGPU_DTYPES).is_none());
    assert!(able.len() > 200 && lacking.len() > 80, "{} and {}", able.len(), lacking.len());
    able.into_iter().for_each(check);
}
