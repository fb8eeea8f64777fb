//! What backends can't do (placeholder until the wgpu backend's table is merged).
use crate::dtype::DType;
use crate::graph::expr::Expr;
use crate::graph::op::Reduction;

/// What wgpu lacks for an expression.
pub fn wgpu_lack(_expr: &Expr, _dtypes: &[DType]) -> Option<String> {
    None
}

/// What wgpu lacks for a reduction.
pub fn wgpu_reduction_lack(_reduction: Reduction, _value: DType, _dtypes: &[DType]) -> Option<String> {
    None
}
