//! From checked expressions to lazy arrays: names and functions mean what they mean in NumPy.
//!
//! Everything that is wrong is a [`Problem`] with its place in the file. Sub-expressions of numbers alone
//! (`45 * pi / 180`) become numbers before any array is involved, and a layer that is one is a named constant.

pub(super) mod annotations;
mod call;
mod constant;
pub mod functions;
mod index;
mod inputs;
mod operators;
#[cfg(test)]
mod tests;
mod value;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::check::{self, Checked};
use super::diagnostic::Problem;
use super::expr::{Kind, Node, Span};
use crate::annotate::annotate;
use crate::collections::Array;
use crate::graph::error::GraphError;
use crate::graph::expr::Expr;
use crate::graph::layer::{Layer, labelled};
use crate::graph::op::Op;
use crate::shape::Shape;
use value::Value;

/// The arrays that the layers of a file make.
#[derive(Debug)]
pub struct Evaluated(BTreeMap<String, Value>);

impl Evaluated {
    /// The array of a layer; a constant is an array without axes.
    pub fn array(&self, layer: &str) -> Option<Array> {
        match self.0.get(layer)? {
            Value::Array(array) => Some(array.clone()),
            Value::Scalar(scalar) => {
                Some(Array::full(Shape::default(), *scalar, scalar.dtype()).named(layer))
            }
            _ => None,
        }
    }
}

/// Builds the arrays of all layers. Opens input files, relative to `folder` where the pipeline file names
/// them, and reads their headers.
///
/// # Errors
/// All problems found. What only follows from another problem is left out.
pub fn evaluate(checked: &Checked, folder: &Path) -> Result<Evaluated, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut known = BTreeMap::new();
    let mut failed: BTreeSet<&str> = BTreeSet::new();
    for input in &checked.inputs {
        match inputs::array(input, folder) {
            Ok(array) => {
                known.insert(input.name.value.clone(), Value::Array(array));
            }
            Err(problem) => {
                problems.push(problem);
                failed.insert(&input.name.value);
            }
        }
    }
    for layer in &checked.layers {
        let name = layer.name.value.as_str();
        if layer.uses.iter().any(|used| failed.contains(used.as_str())) {
            failed.insert(name);
            continue;
        }
        match self::layer(layer, &known) {
            Ok(value) => {
                known.insert(name.to_owned(), value);
            }
            Err(more) => {
                problems.extend(more);
                failed.insert(name);
            }
        }
    }
    if problems.is_empty() { Ok(Evaluated(known)) } else { Err(problems) }
}

/// What evaluating a part of an expression gives. The problem's span counts bytes of the expression, until
/// [`layer`] turns it into the file's.
type Outcome<T> = Result<T, Problem>;

fn layer(layer: &check::Layer, known: &BTreeMap<String, Value>) -> Result<Value, Vec<Problem>> {
    let name = layer.name.value.as_str();
    let annotations = annotations::read(&layer.annotate)?;
    let annotated = !annotations.is_empty();
    let value = labelled(name, || annotate(annotations, || result(layer, known)));
    let value = value.map_err(|mut problem| {
        problem.span = problem.span.map(|span| layer.file_span(&span));
        vec![problem]
    })?;
    if let (Value::Scalar(scalar), true) = (&value, annotated) {
        let message = format!("layer '{name}' is the number {scalar}: there is nothing to annotate");
        let span = layer.annotate.first().map(|annotation| annotation.key.span());
        return Err(vec![Problem::new(message, span).help("remove 'annotate'")]);
    }
    Ok(value)
}

fn result(layer: &check::Layer, known: &BTreeMap<String, Value>) -> Outcome<Value> {
    let evaluator = Evaluator { known };
    match evaluator.value(&layer.tree)? {
        Value::Array(array) => {
            let built = array.layer().map_err(|error| graph_problem(&error, &layer.tree.span))?;
            let fresh = if evaluator.owns(built) { array } else { Array::from_layer(passed_on(built)) };
            Ok(Value::Array(fresh.named(&layer.name.value)))
        }
        scalar @ Value::Scalar(_) => Ok(scalar),
        other => {
            let message = format!("layer '{}' is {}, not an array", layer.name.value, other.describe());
            Err(Problem::new(message, layer.tree.span.clone()))
        }
    }
}

/// A layer of its own that passes on another: `expr = "x"` may carry annotations and a name, which `x` must
/// not get.
fn passed_on(layer: &Arc<Layer>) -> Arc<Layer> {
    let expr = Expr::identity(layer.dtype());
    Layer::new(Op::Map(Arc::new(expr)), vec![layer.clone()], layer.chunks().clone(), layer.dtype())
}

/// The error of an array as a problem at a place of the expression.
fn graph_problem(error: &GraphError, span: &Span) -> Problem {
    Problem::new(error.root().to_string(), span.clone())
}

/// Evaluates one expression.
struct Evaluator<'a> {
    known: &'a BTreeMap<String, Value>,
}

impl Evaluator<'_> {
    fn value(&self, node: &Node) -> Outcome<Value> {
        match &node.kind {
            Kind::Literal(scalar) => Ok(Value::Scalar(*scalar)),
            Kind::Text(text) => Ok(Value::Text(text.clone())),
            Kind::DType(dtype) => Ok(Value::DType(*dtype)),
            Kind::None => Ok(Value::None),
            Kind::Name(name) => match self.known.get(name) {
                Some(value) => Ok(value.clone()),
                None => Err(Problem::new(format!("'{name}' is no input and no layer"), node.span.clone())),
            },
            Kind::List(items) | Kind::Tuple(items) => {
                let items = items.iter().map(|item| Ok((self.value(item)?, item.span.clone())));
                Ok(Value::List(items.collect::<Outcome<_>>()?))
            }
            Kind::Unary(op, operand) => {
                let value = self.value(operand)?;
                operators::unary(*op, &value, &operand.span, &node.span)
            }
            Kind::Binary(op, left, right) => {
                let values = (self.value(left)?, self.value(right)?);
                operators::binary(*op, (&values.0, &left.span), (&values.1, &right.span), &node.span)
            }
            Kind::Call { function, function_span, arguments, keywords } => {
                let function = functions::find(function, function_span)?;
                let positional = arguments.iter().map(|node| Ok((self.value(node)?, node.span.clone())));
                let positional = positional.collect::<Outcome<Vec<_>>>()?;
                let named = keywords.iter().map(|keyword| {
                    let value = self.value(&keyword.value)?;
                    Ok((keyword, (value, keyword.value.span.clone())))
                });
                let named = named.collect::<Outcome<Vec<_>>>()?;
                call::Call::bind(function, function_span, &node.span, positional, named)?.evaluate()
            }
            Kind::Index { array, items } => self.index(array, items, &node.span),
        }
    }

    /// Whether this expression made the layer.
    fn owns(&self, layer: &Arc<Layer>) -> bool {
        let is_it = |value: &Value| matches!(value, Value::Array(known) if known.layer().is_ok_and(|known| Arc::ptr_eq(known, layer)));
        !self.known.values().any(is_it)
    }
}
