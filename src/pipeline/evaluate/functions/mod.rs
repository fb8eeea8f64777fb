//! The functions of expressions: one table row each, from which evaluation, "did you mean", signatures in
//! messages and the reference are all made.

mod elementwise;
mod neighbourhood;
mod reduction;
mod shape;

use super::super::diagnostic::{Problem, closest};
use super::super::expr::Span;
use super::Outcome;
use super::call::Call;
use super::value::Value;
use crate::graph::expr_ops::{BinaryOp, UnaryOp};

/// A function that expressions may call.
pub struct Function {
    /// NumPy's or SciPy's name.
    pub name: &'static str,
    /// Other names of the same function.
    pub aliases: &'static [&'static str],
    /// In the order of positional arguments.
    pub parameters: &'static [Parameter],
    /// One line for the reference.
    pub summary: &'static str,
    pub(super) build: Build,
}

/// A parameter of a [`Function`].
pub struct Parameter {
    /// As keyword arguments write it.
    pub name: &'static str,
    /// What holds when it is absent, as text; `None` when it must be given.
    pub default: Option<&'static str>,
}

/// How a call becomes a value.
#[derive(Clone, Copy)]
pub(super) enum Build {
    Unary(UnaryOp),
    Binary(BinaryOp),
    With(fn(&Call) -> Outcome<Value>),
}

impl Function {
    /// `mean(x, axis=None, keepdims=False, where=None)`
    pub fn signature(&self) -> String {
        let parameter = |parameter: &Parameter| match parameter.default {
            Some(default) => format!("{}={default}", parameter.name),
            None => parameter.name.to_owned(),
        };
        let parameters: Vec<String> = self.parameters.iter().map(parameter).collect();
        format!("{}({})", self.name, parameters.join(", "))
    }
}

/// Every function, grouped by what it does, each group under its title.
pub fn table() -> [(&'static str, &'static [Function]); 4] {
    [
        ("Elementwise", elementwise::TABLE),
        ("Neighbourhoods", neighbourhood::TABLE),
        ("Reductions", reduction::TABLE),
        ("Types, chunks and creation", shape::TABLE),
    ]
}

/// The reference, as Markdown.
pub fn reference() -> String {
    let mut text = String::from("# Functions of expressions\n");
    for (title, functions) in table() {
        text.push_str(&format!("\n## {title}\n\n| call | also | what |\n|---|---|---|\n"));
        for function in functions {
            let aliases: Vec<String> = function.aliases.iter().map(|alias| format!("`{alias}`")).collect();
            let (signature, summary) = (function.signature(), function.summary);
            text.push_str(&format!("| `{signature}` | {} | {summary} |\n", aliases.join(" ")));
        }
    }
    text
}

/// The function of this name.
///
/// # Errors
/// There is none: with the nearest name, or the word that it isn't there yet.
pub(super) fn find(name: &str, span: &Span) -> Outcome<&'static Function> {
    let all = || table().into_iter().flat_map(|(_, functions)| functions);
    let is_it = |function: &&Function| function.name == name || function.aliases.contains(&name);
    if let Some(function) = all().find(is_it) {
        return Ok(function);
    }
    if NOT_YET.contains(&name) {
        return Err(not_yet(name, span));
    }
    let names =
        all().flat_map(|function| std::iter::once(function.name).chain(function.aliases.iter().copied()));
    let problem = Problem::new(format!("there is no function '{name}'"), span.clone());
    Err(match closest(name, names) {
        Some(best) => problem.label(format!("did you mean '{best}'?")),
        None => problem.help("'outcrop functions' lists all of them"),
    })
}

/// What NumPy has and this language is meant to have.
const NOT_YET: [&str; 34] = [
    "matmul",
    "dot",
    "einsum",
    "tensordot",
    "outer",
    "transpose",
    "swapaxes",
    "moveaxis",
    "reshape",
    "ravel",
    "flatten",
    "squeeze",
    "expand_dims",
    "concatenate",
    "stack",
    "vstack",
    "hstack",
    "pad",
    "roll",
    "flip",
    "tile",
    "repeat",
    "take",
    "sort",
    "argsort",
    "argmin",
    "argmax",
    "median",
    "percentile",
    "quantile",
    "cumsum",
    "cumprod",
    "diff",
    "prod",
];

pub(super) fn not_yet(name: &str, span: &Span) -> Problem {
    let problem = Problem::new(format!("'{name}' isn't available yet"), span.clone());
    match name {
        "@" | "matmul" | "dot" => problem.help("a small product can be written as sum(a * b, axis=…)"),
        _ => problem,
    }
}

/// A parameter that must be given.
const fn needed(name: &'static str) -> Parameter {
    Parameter { name, default: None }
}

/// A parameter with a default.
const fn optional(name: &'static str, default: &'static str) -> Parameter {
    Parameter { name, default: Some(default) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = table()
            .into_iter()
            .flat_map(|(_, functions)| functions)
            .flat_map(|function| std::iter::once(function.name).chain(function.aliases.iter().copied()))
            .chain(NOT_YET)
            .collect();
        names.sort_unstable();
        let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }

    #[test]
    fn operators_have_the_operands_they_read() {
        for function in table().into_iter().flat_map(|(_, functions)| functions) {
            let operands = match function.build {
                Build::Unary(_) => 1,
                Build::Binary(_) => 2,
                Build::With(_) => continue,
            };
            assert_eq!(function.parameters.len(), operands, "{}", function.name);
        }
    }
}
