//! `annotate = { … }` → checked annotations.

use super::super::diagnostic::Problem;
use super::super::schema::{RawAnnotation, RawValue};
use crate::annotate::{Annotations, KEYS, Problem as Refusal, Value};

/// # Errors
/// Every entry that is refused, at its value; a misspelt key at the key.
pub(super) fn read(entries: &[RawAnnotation]) -> Result<Annotations, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut annotations = Annotations::new();
    for RawAnnotation { key, value } in entries {
        match annotations.clone().set(key.get_ref(), converted(value.get_ref())) {
            Ok(more) => annotations = more,
            Err(error) => {
                let at_key = matches!(error.problem, Refusal::Misspelt { .. } | Refusal::EmptyKey);
                let span = if at_key { key.span() } else { value.span() };
                let problem = Problem::new(error.to_string(), span);
                problems.push(if at_key {
                    problem.help(format!("the keys are {}", KEYS.join(", ")))
                } else {
                    problem
                });
            }
        }
    }
    if problems.is_empty() { Ok(annotations) } else { Err(problems) }
}

fn converted(value: &RawValue) -> Value {
    match value {
        RawValue::Text(text) => Value::Text(text.clone()),
        RawValue::Integer(number) => Value::Int((*number).into()),
        RawValue::Float(number) => Value::Float(*number),
        RawValue::Bool(flag) => Value::Bool(*flag),
        RawValue::List(items) => Value::List(items.iter().map(|item| converted(item.get_ref())).collect()),
        RawValue::Table(entries) => Value::Table(
            entries.iter().map(|(key, value)| (key.get_ref().clone(), converted(value.get_ref()))).collect(),
        ),
    }
}
