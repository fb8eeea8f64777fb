//! `-x`, `x + y` and the like.

use super::super::diagnostic::Problem;
use super::super::expr::{self, Span};
use super::value::Value;
use super::{Outcome, constant, functions, graph_problem};
use crate::collections::Array;
use crate::collections::array::Operand;
use crate::graph::expr_ops::{BinaryOp, UnaryOp};

pub(super) fn unary(op: expr::UnaryOp, value: &Value, at: &Span, whole: &Span) -> Outcome<Value> {
    let what = format!("the operand of '{}'", op.symbol().trim());
    let operand = value.operand(&what, at)?;
    match op {
        expr::UnaryOp::Plus => Ok(value.clone()),
        expr::UnaryOp::Negate => apply_unary(UnaryOp::Negative, operand, whole),
        expr::UnaryOp::Invert => apply_unary(UnaryOp::Not, operand, whole),
        expr::UnaryOp::Not => {
            let is_true = apply_binary(BinaryOp::NotEqual, operand, Operand::Scalar(false.into()), whole)?;
            apply_unary(UnaryOp::Not, is_true.operand(&what, at)?, whole)
        }
    }
}

pub(super) fn binary(
    op: expr::BinaryOp,
    (left, left_at): (&Value, &Span),
    (right, right_at): (&Value, &Span),
    whole: &Span,
) -> Outcome<Value> {
    use expr::BinaryOp as Written;
    let op = match op {
        Written::Add => BinaryOp::Add,
        Written::Subtract => BinaryOp::Subtract,
        Written::Multiply => BinaryOp::Multiply,
        Written::Divide => BinaryOp::Divide,
        Written::FloorDivide => BinaryOp::FloorDivide,
        Written::Remainder => BinaryOp::Remainder,
        Written::Power => BinaryOp::Power,
        Written::Less => BinaryOp::Less,
        Written::LessEqual => BinaryOp::LessEqual,
        Written::Greater => BinaryOp::Greater,
        Written::GreaterEqual => BinaryOp::GreaterEqual,
        Written::Equal => BinaryOp::Equal,
        Written::NotEqual => BinaryOp::NotEqual,
        Written::And => BinaryOp::And,
        Written::Or => BinaryOp::Or,
        Written::Xor => BinaryOp::Xor,
        Written::MatMul => return Err(functions::not_yet("@", whole)),
    };
    let what = |side| format!("the {side} operand of '{}'", op.symbol().unwrap_or(op.name()));
    let left = left.operand(&what("left"), left_at)?;
    let right = right.operand(&what("right"), right_at)?;
    apply_binary(op, left, right, whole)
}

/// A function of one operand; of a number it is a number.
pub(super) fn apply_unary(op: UnaryOp, operand: Operand, span: &Span) -> Outcome<Value> {
    match operand {
        Operand::Scalar(scalar) => folded(constant::unary(op, scalar), span),
        Operand::Array(array) => built(array.unary(op), span),
    }
}

/// A function of two operands; of two numbers it is a number.
pub(super) fn apply_binary(op: BinaryOp, left: Operand, right: Operand, span: &Span) -> Outcome<Value> {
    match (&left, &right) {
        (Operand::Scalar(a), Operand::Scalar(b)) => folded(constant::binary(op, *a, *b), span),
        _ => built(Array::binary(op, left, right), span),
    }
}

fn folded(result: Result<crate::dtype::Scalar, String>, span: &Span) -> Outcome<Value> {
    result.map(Value::Scalar).map_err(|message| Problem::new(message, span.clone()))
}

/// The array, or what is wrong with it.
pub(super) fn built(array: Array, span: &Span) -> Outcome<Value> {
    match array.layer() {
        Ok(_) => Ok(Value::Array(array)),
        Err(error) => Err(graph_problem(&error, span)),
    }
}
