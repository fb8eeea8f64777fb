//! Neighbourhoods: the operand comes padded.

use std::sync::Arc;

use outcrop::dtype::DType;
use outcrop::graph::expr::{Expr, NodeOp};
use outcrop::graph::expr_ops::{BinaryOp, EdgeMode, Stencil};
use outcrop::shape::Region;

use crate::bench::{check_map, device};
use crate::maps::map_of;
use crate::oracle::{Array, Value};

/// A stencil plus the element itself.
fn beside_itself(stencil: Stencil, dtype: DType) -> Expr {
    let mut expr = Expr::default();
    let near = expr.push(NodeOp::Stencil(0, stencil), dtype);
    let own = expr.push(NodeOp::Input(0), dtype);
    let sum = expr.push(NodeOp::Binary(BinaryOp::Add, near, own), dtype);
    expr.output(sum);
    expr
}

#[test]
fn stencils_reach_into_the_halo() {
    let Some(device) = device() else { return };
    let weights: Arc<[f64]> = vec![0.1, 0.2, 0.4, -0.3, 0.05].into();
    let mut stencils = Vec::new();
    for axis in 0..3u8 {
        stencils.push(Stencil::Gradient { axis, spacing: 0.7 });
        for mode in [EdgeMode::Nearest, EdgeMode::Reflect, EdgeMode::Constant(4.5)] {
            stencils.push(Stencil::Convolve { axis, weights: weights.clone(), mode });
        }
    }
    for dtype in [DType::F32, DType::F64].into_iter().filter(|dtype| device.dtypes().contains(dtype)) {
        let x = Array::new(dtype, [7, 4, 6], |e| Value::Float((e * 37 % 101) as f64 / 8.0));
        let tolerance = if dtype == DType::F32 { 4e-6 } else { 1e-14 };
        for stencil in &stencils {
            let inputs = [x.clone()];
            let map = map_of(beside_itself(stencil.clone(), dtype), &inputs, [7, 4, 6]);
            let inner = Region { origin: [2, 1, 3].into(), shape: [3, 2, 2].into() };
            let corner = Region { origin: [0, 0, 4].into(), shape: [5, 1, 2].into() };
            for region in [Region::whole(&map.shape), inner, corner] {
                check_map(device, &map, &inputs, &region, tolerance);
            }
        }
    }
}

#[test]
fn several_stencils_share_a_padded_block() {
    let Some(device) = device() else { return };
    let x = Array::new(DType::F32, [9, 11], |e| Value::Float((e * 29 % 53) as f64));
    let weights: Arc<[f64]> = vec![0.25, 0.5, 0.25, 0.5, 0.25].into();
    let mut expr = Expr::default();
    let gradient = expr.push(NodeOp::Stencil(0, Stencil::Gradient { axis: 0, spacing: 2.0 }), DType::F32);
    let blurred = Stencil::Convolve { axis: 1, weights, mode: EdgeMode::Nearest };
    let blurred = expr.push(NodeOp::Stencil(0, blurred), DType::F32);
    let product = expr.push(NodeOp::Binary(BinaryOp::Multiply, gradient, blurred), DType::F32);
    expr.output(product);
    let inputs = [x];
    let map = map_of(expr, &inputs, [9, 11]);
    for region in [Region::whole(&map.shape), Region { origin: [3, 5].into(), shape: [6, 1].into() }] {
        check_map(device, &map, &inputs, &region, 4e-6);
    }
}
