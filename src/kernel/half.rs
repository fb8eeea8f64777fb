//! `f16` in kernels: 16 bits in memory, `f32` in arithmetic.
//!
//! Backends meet `f16` in four places only: inputs, outputs, copies, and conversions between it and `f32`, or from `f64`.
//! Everything else is rewritten here, once for all of them: an operation on `f16` is that on `f32`, and its result is
//! rounded. For `+ − × ÷ √` that is what IEEE 754 asks for: `f32` has more than twice the digits, and two to spare (Figueroa,
//! "When is double rounding innocuous?", 1995).

use std::sync::Arc;

use crate::dtype::{DType, Scalar, half};
use crate::graph::expr::{Expr, NodeId, NodeOp};
use crate::graph::expr_ops::{BinaryOp, UnaryOp};

/// The expression in which nothing is computed in `f16`.
pub(super) fn computed_in_single(expr: &Arc<Expr>) -> Arc<Expr> {
    if is_free(expr) { expr.clone() } else { Arc::new(rewritten(expr, false)) }
}

/// The same for values that are folded: they leave as `f32`.
pub(super) fn folded_in_single(expr: &Arc<Expr>) -> Arc<Expr> {
    if is_free(expr) { expr.clone() } else { Arc::new(rewritten(expr, true)) }
}

fn is_free(expr: &Expr) -> bool {
    expr.nodes().iter().all(|node| node.dtype != DType::F16)
}

/// Each node of `f16` becomes one of `f32` with the same value.
fn rewritten(expr: &Expr, is_folded: bool) -> Expr {
    let mut out = Expr::default();
    let mut moved: Vec<NodeId> = Vec::with_capacity(expr.nodes().len());
    for node in expr.nodes() {
        let to = |id: &NodeId| moved[id.0 as usize];
        let is_half = node.dtype == DType::F16;
        let dtype = if is_half { DType::F32 } else { node.dtype };
        let id = match &node.op {
            NodeOp::Input(_) if is_half => {
                let stored = out.push(node.op.clone(), DType::F16);
                out.push(NodeOp::Cast(stored), DType::F32)
            }
            // Neighbourhoods of `f16` are refused; they aren't made.
            NodeOp::Stencil(..) if is_half => {
                let stored = out.push(node.op.clone(), DType::F16);
                out.push(NodeOp::Cast(stored), DType::F32)
            }
            NodeOp::Const(value) if is_half => {
                let rounded = half::to_single(half::from_double(value.as_f64()));
                out.push(NodeOp::Const(Scalar::Float(rounded.into())), DType::F32)
            }
            NodeOp::Cast(a) if is_half && expr.node(*a).dtype == DType::F16 => to(a),
            NodeOp::Cast(a) if is_half => {
                let value = match expr.node(*a).dtype {
                    DType::F32 | DType::F64 => to(a),
                    _ => out.push(NodeOp::Cast(to(a)), DType::F32),
                };
                rounded(&mut out, value)
            }
            op => {
                let moved_op = match op {
                    NodeOp::Unary(op, a) => NodeOp::Unary(*op, to(a)),
                    NodeOp::Binary(op, a, b) => NodeOp::Binary(*op, to(a), to(b)),
                    NodeOp::Select(c, a, b) => NodeOp::Select(to(c), to(a), to(b)),
                    NodeOp::Cast(a) => NodeOp::Cast(to(a)),
                    other => other.clone(),
                };
                // A conversion to the type that the value has now anyway.
                if let NodeOp::Cast(a) = moved_op
                    && out.node(a).dtype == dtype
                {
                    a
                } else {
                    let value = out.push(moved_op, dtype);
                    if is_half && !is_exact(op) { rounded(&mut out, value) } else { value }
                }
            }
        };
        moved.push(id);
    }
    for (at, output) in expr.outputs().iter().enumerate() {
        let value = moved[output.0 as usize];
        let is_half = expr.node(*output).dtype == DType::F16;
        let leaves = if is_half && !(is_folded && at == 0) { narrowed(&mut out, value) } else { value };
        out.output(leaves);
    }
    out
}

/// A value as `f16`.
fn narrowed(out: &mut Expr, value: NodeId) -> NodeId {
    match out.node(value).op {
        NodeOp::Cast(stored) if out.node(stored).dtype == DType::F16 => stored,
        _ => out.push(NodeOp::Cast(value), DType::F16),
    }
}

/// A value to the precision of `f16`, as `f32`.
fn rounded(out: &mut Expr, value: NodeId) -> NodeId {
    let half = out.push(NodeOp::Cast(value), DType::F16);
    out.push(NodeOp::Cast(half), DType::F32)
}

/// Whether an operation on numbers of `f16` gives one.
fn is_exact(op: &NodeOp) -> bool {
    use UnaryOp::*;
    match op {
        NodeOp::Select(..) => true,
        NodeOp::Unary(op, _) => matches!(op, Negative | Abs | Sign | Floor | Ceil | Round | Trunc),
        NodeOp::Binary(op, ..) => matches!(op, BinaryOp::Minimum | BinaryOp::Maximum),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expr(build: impl Fn(&mut Expr) -> NodeId) -> Arc<Expr> {
        let mut expr = Expr::default();
        let root = build(&mut expr);
        expr.output(root);
        Arc::new(expr)
    }

    fn shown(expr: &Expr) -> Vec<String> {
        expr.nodes().iter().map(|node| format!("{:?} {}", node.op, node.dtype)).collect()
    }

    #[test]
    fn operations_round_and_exact_ones_dont() {
        let sum = expr(|expr| {
            let x = expr.push(NodeOp::Input(0), DType::F16);
            let tenth = expr.push(NodeOp::Const(Scalar::Float(0.1)), DType::F16);
            let sum = expr.push(NodeOp::Binary(BinaryOp::Add, x, tenth), DType::F16);
            expr.push(NodeOp::Unary(UnaryOp::Abs, sum), DType::F16)
        });
        let wanted = [
            "Input(0) f16",
            "Cast(NodeId(0)) f32",
            "Const(Float(0.0999755859375)) f32",
            "Binary(Add, NodeId(1), NodeId(2)) f32",
            "Cast(NodeId(3)) f16",
            "Cast(NodeId(4)) f32",
            "Unary(Abs, NodeId(5)) f32",
        ];
        let single = computed_in_single(&sum);
        assert_eq!(shown(&single)[..7], wanted);
        assert_eq!((shown(&single).len(), single.output_dtype(0)), (8, DType::F16));
        let folded = folded_in_single(&sum);
        assert_eq!((shown(&folded).len(), folded.output_dtype(0)), (7, DType::F32));
    }

    #[test]
    fn what_has_no_half_stays_and_copies_stay_copies() {
        let plain = Arc::new(Expr::identity(DType::F32));
        assert!(Arc::ptr_eq(&computed_in_single(&plain), &plain));
        let copy = computed_in_single(&Arc::new(Expr::identity(DType::F16)));
        assert_eq!(copy.outputs(), [NodeId(0)]);
    }

    #[test]
    fn integers_come_by_way_of_single_and_doubles_dont() {
        let from = |dtype: DType| {
            let cast = expr(|expr| {
                let x = expr.push(NodeOp::Input(0), dtype);
                expr.push(NodeOp::Cast(x), DType::F16)
            });
            shown(&computed_in_single(&cast))[1].clone()
        };
        assert_eq!(from(DType::I64), "Cast(NodeId(0)) f32");
        assert_eq!(from(DType::F64), "Cast(NodeId(0)) f16");
    }
}
