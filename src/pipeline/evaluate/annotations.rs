//! `annotate = { … }` → checked annotations.

use super::super::diagnostic::Problem;
use super::super::schema::RawAnnotation;
use crate::annotate::{Annotations, KEYS, Problem as Refusal};

/// # Errors
/// Every entry that is refused, at its value; a misspelt key at the key.
pub(in crate::pipeline) fn read(entries: &[RawAnnotation]) -> Result<Annotations, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut annotations = Annotations::new();
    for RawAnnotation { key, value } in entries {
        match annotations.clone().set(key.get_ref(), value.get_ref().to_value()) {
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
