//! Reductions over axes.

use std::sync::Arc;

use crate::collections::array::build::MapBuilder;
use crate::collections::array::stencil::resolve_axis;
use crate::collections::array::{Array, Operand};
use crate::dtype::{DType, Scalar};
use crate::graph::chunking::{AxisChunks, Chunking};
use crate::graph::error::GraphError;
use crate::graph::expr::{NodeId, NodeOp};
use crate::graph::expr_ops::BinaryOp;
use crate::graph::layer::Layer;
use crate::graph::op::{Op, Reduce, Reduction};

/// Which axes a reduction folds, and how.
#[derive(Clone, Debug, Default)]
pub struct Over {
    /// The axes; negative ones count from the end, and none means all.
    pub axes: Option<Vec<i64>>,
    /// Whether folded axes stay, with extent 1.
    pub keep_dims: bool,
    /// A `bool` array that broadcasts to the array's shape and says which elements count.
    pub mask: Option<Array>,
}

impl Over {
    /// All axes.
    pub fn all() -> Self {
        Over::default()
    }

    /// One axis.
    pub fn axis(axis: i64) -> Self {
        Over { axes: Some(vec![axis]), ..Over::default() }
    }

    /// Several axes.
    pub fn axes(axes: &[i64]) -> Self {
        Over { axes: Some(axes.to_vec()), ..Over::default() }
    }

    /// Only elements where `mask` holds count.
    pub fn only_where(self, mask: &Array) -> Self {
        Over { mask: Some(mask.clone()), ..self }
    }

    /// Folded axes stay, with extent 1.
    pub fn keeping_dims(self) -> Self {
        Over { keep_dims: true, ..self }
    }
}

impl Array {
    /// Any reduction.
    #[track_caller]
    pub fn reduce(&self, reduction: Reduction, over: &Over) -> Array {
        Array::keep(reduce(self, reduction, over))
    }

    /// The sum; integers add as `i64`.
    #[track_caller]
    pub fn sum(&self, over: &Over) -> Array {
        Array::keep(reduce(self, Reduction::Sum, over))
    }

    /// The mean: `f32` for `f32`, else `f64`; NaN where nothing counts.
    #[track_caller]
    pub fn mean(&self, over: &Over) -> Array {
        Array::keep(reduce(self, Reduction::Mean, over))
    }

    /// The smallest element. An axis without elements is an error.
    #[track_caller]
    pub fn min(&self, over: &Over) -> Array {
        Array::keep(reduce(self, Reduction::Min, over))
    }

    /// The largest element. An axis without elements is an error.
    #[track_caller]
    pub fn max(&self, over: &Over) -> Array {
        Array::keep(reduce(self, Reduction::Max, over))
    }

    /// The variance with `ddof` delta degrees of freedom.
    #[track_caller]
    pub fn var(&self, ddof: u32, over: &Over) -> Array {
        Array::keep(reduce(self, Reduction::Var { ddof }, over))
    }

    /// The standard deviation with `ddof` delta degrees of freedom.
    #[track_caller]
    pub fn std(&self, ddof: u32, over: &Over) -> Array {
        Array::keep(reduce(self, Reduction::Std { ddof }, over))
    }

    /// NumPy's `histogram(x, bins, range)[0]`: counts, `i64`, of the elements in each of `bins` equal
    /// intervals from `low` to `high`; the last one includes `high`. Elements outside, NaN, and those
    /// where `mask` doesn't hold aren't counted. Without a range it is the smallest to the largest element.
    ///
    /// As in NumPy, edges are computed in the array's own type when it is a float, and an element next to
    /// an edge is put where comparing it with the edge puts it.
    #[track_caller]
    pub fn histogram(&self, bins: usize, range: Option<(f64, f64)>, mask: Option<&Array>) -> Array {
        Array::keep(histogram(self, bins, range, mask))
    }
}

fn reduce(array: &Array, reduction: Reduction, over: &Over) -> Result<Arc<Layer>, GraphError> {
    let (op, layer) = (reduction.name(), array.layer()?);
    let axes = resolve_axes(op, over, layer)?;
    let shape = layer.shape();
    if matches!(reduction, Reduction::Min | Reduction::Max) {
        if let Some(&axis) = axes.iter().find(|&&axis| shape[axis] == 0) {
            return Err(GraphError::TooShort { op, axis, extent: 0, needed: 1 });
        }
        if over.mask.is_some() {
            let problem = "the smallest of no elements isn't defined; use where(mask, x, value) instead";
            return Err(GraphError::Argument { op, argument: "where", value: "mask".to_owned(), problem });
        }
    }
    let mut map = MapBuilder::default();
    let input = map.input(layer);
    let value = match reduction {
        Reduction::Sum if !layer.dtype().is_float() => map.cast(input, DType::I64),
        Reduction::Mean | Reduction::Var { .. } | Reduction::Std { .. } if !layer.dtype().is_float() => {
            map.cast(input, DType::F64)
        }
        _ => input,
    };
    finish(map, reduction, value, over.mask.as_ref(), layer, axes, over.keep_dims)
}

fn finish(
    mut map: MapBuilder,
    reduction: Reduction,
    value: NodeId,
    mask: Option<&Array>,
    layer: &Layer,
    axes: Vec<usize>,
    keep_dims: bool,
) -> Result<Arc<Layer>, GraphError> {
    let op = reduction.name();
    let value_dtype = map.expr.node(value).dtype;
    map.expr.output(value);
    if let Some(mask) = mask {
        let mask = mask.layer()?;
        if mask.dtype() != DType::Bool {
            let hint = "the mask must be bool: compare, for example x != 0";
            return Err(GraphError::DType { op, dtype: mask.dtype(), hint });
        }
        let node = map.input(mask);
        map.expr.output(node);
    }
    let (domain, inputs) = map.align(op)?;
    if domain.shape() != layer.shape() {
        return Err(GraphError::Broadcast { op, left: layer.shape(), right: domain.shape() });
    }
    let reduce = Reduce { expr: Arc::new(map.expr), reduction, domain: domain.clone(), axes, keep_dims };
    let kept = |axis: usize| {
        if reduce.axes.contains(&axis) { AxisChunks::regular(1, 1) } else { domain.axes()[axis].clone() }
    };
    let chunks = match reduction {
        Reduction::Count { bins } => Chunking::single(&[bins as usize].into()),
        _ if keep_dims => Chunking::new((0..domain.axes().len()).map(kept)),
        _ => Chunking::new((0..domain.axes().len()).filter(|axis| !reduce.axes.contains(axis)).map(kept)),
    };
    let dtype = reduction.result(match reduction {
        Reduction::Mean | Reduction::Var { .. } | Reduction::Std { .. } => layer.dtype(),
        _ => value_dtype,
    });
    Ok(Layer::new(Op::Reduce(reduce), inputs, chunks, dtype))
}

fn histogram(
    array: &Array,
    bins: usize,
    range: Option<(f64, f64)>,
    mask: Option<&Array>,
) -> Result<Arc<Layer>, GraphError> {
    const OP: &str = "histogram";
    let layer = array.layer()?;
    let refused =
        |argument, value: String, problem| GraphError::Argument { op: OP, argument, value, problem };
    if bins == 0 || bins > 1 << 24 {
        return Err(refused("bins", bins.to_string(), "must be from 1 to 16,777,216"));
    }
    let dtype = if layer.dtype().is_float() { layer.dtype() } else { DType::F64 };
    let (low, high): (Operand, Operand) = match range {
        Some((low, high)) if low.is_finite() && high.is_finite() && low < high => (low.into(), high.into()),
        Some((low, high)) => {
            return Err(refused("range", format!("[{low}, {high}]"), "must be finite and ascending"));
        }
        None => (array.min(&Over::all()).astype(dtype).into(), array.max(&Over::all()).astype(dtype).into()),
    };
    let mut map = MapBuilder::default();
    let input = map.input(layer);
    let x = map.cast(input, dtype);
    let mut low = map.operand(OP, &low, dtype)?;
    let mut high = map.operand(OP, &high, dtype)?;
    if range.is_none() {
        (low, high) = widened(&mut map, low, high, dtype)?;
    }
    let index = bin_index(&mut map, x, low, high, bins, dtype)?;
    let axes = (0..layer.shape().len()).collect();
    finish(map, Reduction::Count { bins: bins as u32 }, index, mask, layer, axes, false)
}

/// NumPy widens a range of a single value by 0.5 on both sides.
fn widened(
    map: &mut MapBuilder,
    low: NodeId,
    high: NodeId,
    dtype: DType,
) -> Result<(NodeId, NodeId), GraphError> {
    let half = map.constant("histogram", Scalar::Float(0.5), dtype)?;
    let same = map.expr.push(NodeOp::Binary(BinaryOp::Equal, low, high), DType::Bool);
    let below = map.expr.push(NodeOp::Binary(BinaryOp::Subtract, low, half), dtype);
    let above = map.expr.push(NodeOp::Binary(BinaryOp::Add, high, half), dtype);
    Ok((
        map.expr.push(NodeOp::Select(same, below, low), dtype),
        map.expr.push(NodeOp::Select(same, above, high), dtype),
    ))
}

/// The number of the bin that holds `x`, as `i32`, or −1: NumPy's algorithm for equal bins (scale,
/// truncate, then correct by comparing with the edges).
fn bin_index(
    map: &mut MapBuilder,
    x: NodeId,
    low: NodeId,
    high: NodeId,
    bins: usize,
    dtype: DType,
) -> Result<NodeId, GraphError> {
    let constant = |map: &mut MapBuilder, value: f64| map.constant("histogram", Scalar::Float(value), dtype);
    let n = constant(map, bins as f64)?;
    let last = constant(map, bins as f64 - 1.0)?;
    let one = constant(map, 1.0)?;
    let zero = constant(map, 0.0)?;
    let outside = constant(map, -1.0)?;
    let binary = |map: &mut MapBuilder, op: BinaryOp, a, b| {
        map.expr.push(
            NodeOp::Binary(op, a, b),
            if op.is_comparison() || op == BinaryOp::And { DType::Bool } else { dtype },
        )
    };
    let span = binary(map, BinaryOp::Subtract, high, low);
    let step = binary(map, BinaryOp::Divide, span, n);
    let above = binary(map, BinaryOp::Subtract, x, low);
    let scaled = binary(map, BinaryOp::Divide, above, span);
    let scaled = binary(map, BinaryOp::Multiply, scaled, n);
    let floor = map.expr.push(NodeOp::Unary(crate::graph::expr_ops::UnaryOp::Floor, scaled), dtype);
    let index = binary(map, BinaryOp::Minimum, floor, last);
    let edge = binary(map, BinaryOp::Multiply, index, step);
    let edge = binary(map, BinaryOp::Add, edge, low);
    let too_high = binary(map, BinaryOp::Less, x, edge);
    let lower = binary(map, BinaryOp::Subtract, index, one);
    let lowered = map.expr.push(NodeOp::Select(too_high, lower, index), dtype);
    let next = binary(map, BinaryOp::Add, index, one);
    let next_edge = binary(map, BinaryOp::Multiply, next, step);
    let next_edge = binary(map, BinaryOp::Add, next_edge, low);
    let reaches = binary(map, BinaryOp::GreaterEqual, x, next_edge);
    let not_last = binary(map, BinaryOp::Less, index, last);
    let too_low = binary(map, BinaryOp::And, reaches, not_last);
    let index = map.expr.push(NodeOp::Select(too_low, next, lowered), dtype);
    let index = binary(map, BinaryOp::Maximum, index, zero);
    let from = binary(map, BinaryOp::GreaterEqual, x, low);
    let to = binary(map, BinaryOp::LessEqual, x, high);
    let inside = binary(map, BinaryOp::And, from, to);
    let index = map.expr.push(NodeOp::Select(inside, index, outside), dtype);
    Ok(map.cast(index, DType::I32))
}

fn resolve_axes(op: &'static str, over: &Over, layer: &Layer) -> Result<Vec<usize>, GraphError> {
    let Some(given) = &over.axes else { return Ok((0..layer.shape().len()).collect()) };
    let mut axes = Vec::with_capacity(given.len());
    for &axis in given {
        let axis = resolve_axis(op, axis, layer)?;
        if axes.contains(&axis) {
            return Err(GraphError::RepeatedAxis { op, axis });
        }
        axes.push(axis);
    }
    axes.sort_unstable();
    Ok(axes)
}
