//! What a part of an expression is.

use crate::collections::Array;
use crate::collections::array::Operand;
use crate::dtype::{DType, Scalar};
use crate::pipeline::diagnostic::Problem;
use crate::pipeline::expr::Span;

use super::Outcome;

/// The value of a node.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Array(Array),
    /// A number or a boolean: weak beside arrays.
    Scalar(Scalar),
    Text(String),
    DType(DType),
    None,
    /// A list or a tuple, and where its items stand.
    List(Vec<Located>),
}

/// A value and its place in the expression.
pub(super) type Located = (Value, Span);

impl Value {
    /// With an article, for messages: `a number`.
    pub(super) fn describe(&self) -> String {
        match self {
            Value::Array(array) => match (array.shape(), array.dtype()) {
                (Ok(shape), Ok(dtype)) => format!("a {dtype} array of shape {shape}"),
                _ => "an array".to_owned(),
            },
            Value::Scalar(Scalar::Bool(value)) => {
                (if *value { "the boolean True" } else { "the boolean False" }).to_owned()
            }
            Value::Scalar(scalar) => format!("the number {scalar}"),
            Value::Text(text) => format!("the text {text:?}"),
            Value::DType(dtype) => format!("the element type {dtype}"),
            Value::None => "None".to_owned(),
            Value::List(items) => format!("a list of {}", items.len()),
        }
    }

    /// An operand of arithmetic.
    pub(super) fn operand(&self, what: &str, span: &Span) -> Outcome<Operand> {
        match self {
            Value::Array(array) => Ok(Operand::Array(array.clone())),
            Value::Scalar(scalar) => Ok(Operand::Scalar(*scalar)),
            other => Err(wrong(what, "an array or a number", other, span)),
        }
    }
}

/// "`what` must be `expected`, found …", at the value.
pub(super) fn wrong(what: &str, expected: &str, found: &Value, span: &Span) -> Problem {
    Problem::new(format!("{what} must be {expected}, found {}", found.describe()), span.clone())
}
