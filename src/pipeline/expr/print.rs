//! The tree as text again, with the fewest parentheses that keep its meaning.

use std::fmt::{self, Formatter, Write};

use super::tree::{BinaryOp, Index, IndexItem, Kind, Node, UNARY_BINDING};
use crate::dtype::Scalar;

/// Binds tighter than any operator: what may stand before `(`, `[` or `.`.
const POSTFIX_BINDING: u8 = 10;

impl fmt::Display for Node {
    /// Reads back as an equal tree, spans aside.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Literal(scalar) => literal(*scalar, f),
            Kind::Text(text) => quoted(text, f),
            Kind::DType(dtype) => write!(f, "{dtype}"),
            Kind::None => f.write_str("None"),
            Kind::Name(name) => f.write_str(name),
            Kind::List(items) => {
                f.write_char('[')?;
                separated(items, f)?;
                f.write_char(']')
            }
            Kind::Tuple(items) => {
                f.write_char('(')?;
                separated(items, f)?;
                f.write_str(if items.len() == 1 { ",)" } else { ")" })
            }
            Kind::Unary(op, operand) => {
                f.write_str(op.symbol())?;
                child(operand, op.binding(), f)
            }
            Kind::Binary(op, left, right) => binary(*op, left, right, f),
            Kind::Call { function, arguments, keywords, .. } => {
                // A submodule's function reads back only behind `np.`; else it would be a method.
                f.write_str(if function.contains('.') { "np." } else { "" })?;
                write!(f, "{function}(")?;
                separated(arguments, f)?;
                for (position, keyword) in keywords.iter().enumerate() {
                    let comma = if position + arguments.len() > 0 { ", " } else { "" };
                    write!(f, "{comma}{}={}", keyword.name, keyword.value)?;
                }
                f.write_char(')')
            }
            Kind::Index { array, items } => {
                child(array, POSTFIX_BINDING, f)?;
                f.write_char('[')?;
                separated(items, f)?;
                f.write_char(']')
            }
        }
    }
}

impl fmt::Display for IndexItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Index::At(node) => write!(f, "{node}"),
            Index::Ellipsis => f.write_str("..."),
            Index::NewAxis => f.write_str("None"),
            Index::Slice { start, stop, step } => {
                let part =
                    |node: &Option<Box<Node>>| node.as_ref().map(|node| node.to_string()).unwrap_or_default();
                write!(f, "{}:{}", part(start), part(stop))?;
                step.as_ref().map_or(Ok(()), |step| write!(f, ":{step}"))
            }
        }
    }
}

fn binary(op: BinaryOp, left: &Node, right: &Node, f: &mut Formatter<'_>) -> fmt::Result {
    let (left_binding, right_binding) = match op {
        // From the right, and its exponent may carry a sign: `2**-x`.
        BinaryOp::Power => (op.binding() + 1, UNARY_BINDING),
        // Comparisons don't chain.
        _ if op.is_comparison() => (op.binding() + 1, op.binding() + 1),
        _ => (op.binding(), op.binding() + 1),
    };
    child(left, left_binding, f)?;
    match op {
        BinaryOp::Power => f.write_str("**")?,
        _ => write!(f, " {} ", op.symbol())?,
    }
    child(right, right_binding, f)
}

fn child(node: &Node, binding_min: u8, f: &mut Formatter<'_>) -> fmt::Result {
    let binding = match &node.kind {
        Kind::Unary(op, _) => op.binding(),
        Kind::Binary(op, ..) => op.binding(),
        _ => POSTFIX_BINDING,
    };
    if binding < binding_min { write!(f, "({node})") } else { write!(f, "{node}") }
}

fn separated<T: fmt::Display>(items: &[T], f: &mut Formatter<'_>) -> fmt::Result {
    for (position, item) in items.iter().enumerate() {
        let comma = if position > 0 { ", " } else { "" };
        write!(f, "{comma}{item}")?;
    }
    Ok(())
}

fn literal(scalar: Scalar, f: &mut Formatter<'_>) -> fmt::Result {
    match scalar {
        Scalar::Bool(true) => f.write_str("True"),
        Scalar::Bool(false) => f.write_str("False"),
        Scalar::Float(x) if x.is_nan() => f.write_str("nan"),
        other => write!(f, "{other}"),
    }
}

fn quoted(text: &str, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\t' => f.write_str("\\t")?,
            other => f.write_char(other)?,
        }
    }
    f.write_char('"')
}
