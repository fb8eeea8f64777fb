//! `x[10:20, ::2]`.

use super::super::diagnostic::Problem;
use super::super::expr::{Index as Written, IndexItem, Node, Span};
use super::operators::built;
use super::value::{Value, wrong};
use super::{Evaluator, Outcome};
use crate::collections::array::Index;
use crate::dtype::Scalar;

impl Evaluator<'_> {
    pub(super) fn index(&self, array: &Node, items: &[IndexItem], whole: &Span) -> Outcome<Value> {
        let value = self.value(array)?;
        let Value::Array(target) = &value else {
            return Err(wrong("what is indexed", "an array", &value, &array.span));
        };
        let entries = items.iter().map(|item| self.entry(item)).collect::<Outcome<Vec<_>>>()?;
        built(target.slice(&entries), whole)
    }

    fn entry(&self, item: &IndexItem) -> Outcome<Index> {
        match &item.kind {
            Written::Ellipsis => Ok(Index::Ellipsis),
            Written::NewAxis => {
                Err(Problem::new("new axes in an index aren't available yet", item.span.clone()))
            }
            Written::At(node) => match self.value(node)? {
                Value::Array(_) | Value::List(_) => {
                    let problem = Problem::new("indexing with arrays isn't available yet", node.span.clone());
                    Err(problem.help("choose with where(mask, x, value), or reduce with mean(x, where=mask)"))
                }
                value => Ok(Index::At(whole_number("an index", &value, &node.span)?)),
            },
            Written::Slice { start, stop, step } => Ok(Index::Range {
                start: self.bound(start.as_deref())?,
                stop: self.bound(stop.as_deref())?,
                step: self.bound(step.as_deref())?,
            }),
        }
    }

    fn bound(&self, node: Option<&Node>) -> Outcome<Option<i64>> {
        let Some(node) = node else { return Ok(None) };
        match self.value(node)? {
            Value::None => Ok(None),
            value => Ok(Some(whole_number("a bound of a slice", &value, &node.span)?)),
        }
    }
}

fn whole_number(what: &str, value: &Value, span: &Span) -> Outcome<i64> {
    match value {
        Value::Scalar(Scalar::Int(number)) => Ok(*number),
        other => Err(wrong(what, "a whole number", other, span)),
    }
}
