//! Making map layers: broadcasting, common chunks, promotion.

use std::sync::Arc;

use crate::collections::array::Operand;
use crate::dtype::{DType, Kind, Scalar};
use crate::graph::chunking::{AxisChunks, Chunking};
use crate::graph::error::GraphError;
use crate::graph::expr::{Expr, NodeId, NodeOp};
use crate::graph::layer::Layer;
use crate::graph::op::{CopyRule, Op};
use crate::shape::{AXES_MAX, Shape};

/// Collects the inputs of one elementwise expression and builds it.
#[derive(Default)]
pub(super) struct MapBuilder {
    pub(super) expr: Expr,
    inputs: Vec<Arc<Layer>>,
}

impl MapBuilder {
    /// The node that reads a layer; a layer used twice is one input.
    pub(super) fn input(&mut self, layer: &Arc<Layer>) -> NodeId {
        let known = self.inputs.iter().position(|input| Arc::ptr_eq(input, layer));
        let index = known.unwrap_or_else(|| {
            self.inputs.push(layer.clone());
            self.inputs.len() - 1
        });
        self.expr.push(NodeOp::Input(index as u16), layer.dtype())
    }

    /// An operand as a node of type `dtype`.
    pub(super) fn operand(
        &mut self,
        op: &'static str,
        operand: &Operand,
        dtype: DType,
    ) -> Result<NodeId, GraphError> {
        match operand {
            Operand::Array(array) => {
                let input = self.input(array.layer()?);
                Ok(self.cast(input, dtype))
            }
            Operand::Scalar(value) => self.constant(op, *value, dtype),
        }
    }

    /// A constant of type `dtype`; one that the type can't hold is refused.
    pub(super) fn constant(
        &mut self,
        op: &'static str,
        value: Scalar,
        dtype: DType,
    ) -> Result<NodeId, GraphError> {
        let value = match dtype.kind() {
            Kind::Bool => Scalar::Bool(value.as_bool()),
            Kind::Float => Scalar::Float(value.as_f64()),
            Kind::Integer if fits(value.as_i64(), dtype) => Scalar::Int(value.as_i64()),
            Kind::Integer => {
                let problem = "the array's element type can't hold it; convert the array first, with astype";
                return Err(GraphError::Argument {
                    op,
                    argument: "constant",
                    value: value.to_string(),
                    problem,
                });
            }
        };
        Ok(self.expr.push(NodeOp::Const(value), dtype))
    }

    /// A node converted to `dtype`, or the node itself when it has that type.
    pub(super) fn cast(&mut self, node: NodeId, dtype: DType) -> NodeId {
        if self.expr.node(node).dtype == dtype { node } else { self.expr.push(NodeOp::Cast(node), dtype) }
    }

    /// The map layer whose result is `node`.
    pub(super) fn finish(mut self, op: &'static str, node: NodeId) -> Result<Arc<Layer>, GraphError> {
        let dtype = self.expr.node(node).dtype;
        self.expr.output(node);
        let (domain, inputs) = self.align(op)?;
        Ok(Layer::new(Op::Map(Arc::new(self.expr)), inputs, domain, dtype))
    }

    /// The chunks over which the expression is computed, and the inputs cut accordingly.
    ///
    /// Along each axis the finest cuts among the inputs win; the other inputs are rechunked.
    pub(super) fn align(&self, op: &'static str) -> Result<(Chunking, Vec<Arc<Layer>>), GraphError> {
        let mut shape = Shape::default();
        for input in &self.inputs {
            let other = input.shape();
            shape = shape.broadcast(&other).ok_or_else(|| GraphError::Broadcast {
                op,
                left: shape.clone(),
                right: other,
            })?;
        }
        check_shape(op, &shape)?;
        let own = |input: &Layer, axis: usize| -> Option<AxisChunks> {
            let axes = input.chunks().axes();
            let at = (axis + axes.len()).checked_sub(shape.len())?;
            (axes[at].extent() == shape[axis]).then(|| axes[at].clone())
        };
        let finest = |axis: usize| {
            let all = self.inputs.iter().filter_map(|input| own(input, axis));
            all.reduce(|best, other| if other.count() > best.count() { other } else { best })
        };
        let domain = Chunking::new(
            (0..shape.len()).map(|axis| finest(axis).unwrap_or_else(|| AxisChunks::regular(shape[axis], 1))),
        );
        let inputs = self.inputs.iter().map(|input| cut_like(input, &domain)).collect();
        Ok((domain, inputs))
    }
}

/// The layer with the cuts of `domain` along every axis that isn't broadcast.
fn cut_like(layer: &Arc<Layer>, domain: &Chunking) -> Arc<Layer> {
    let axes = layer.chunks().axes();
    let lead = domain.axes().len() - axes.len();
    let wanted = Chunking::new(axes.iter().enumerate().map(|(axis, own)| {
        let other = &domain.axes()[lead + axis];
        if other.extent() == own.extent() { other.clone() } else { own.clone() }
    }));
    rechunk(layer, wanted)
}

/// The layer with other cuts; the layer itself when it has them.
pub(super) fn rechunk(layer: &Arc<Layer>, chunks: Chunking) -> Arc<Layer> {
    if *layer.chunks() == chunks {
        return layer.clone();
    }
    Layer::new(Op::Copy(CopyRule::Rechunk), vec![layer.clone()], chunks, layer.dtype())
}

/// Refuses shapes whose size in bytes, with empty axes counted as 1, doesn't fit an address.
pub(super) fn check_shape(op: &'static str, shape: &Shape) -> Result<(), GraphError> {
    if shape.len() > AXES_MAX {
        return Err(GraphError::TooManyAxes { op, axes: shape.len() });
    }
    let bytes = shape.iter().try_fold(8usize, |product, &extent| product.checked_mul(extent.max(1)));
    match bytes.filter(|&bytes| bytes < isize::MAX as usize) {
        Some(_) => Ok(()),
        None => Err(GraphError::TooLarge { op, shape: shape.clone() }),
    }
}

/// Whether an integer type holds the value.
pub(super) fn fits(value: i64, dtype: DType) -> bool {
    match dtype {
        DType::U8 => u8::try_from(value).is_ok(),
        DType::I16 => i16::try_from(value).is_ok(),
        DType::I32 => i32::try_from(value).is_ok(),
        DType::U32 => u32::try_from(value).is_ok(),
        _ => true,
    }
}
