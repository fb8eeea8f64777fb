//! A call: arguments bound to parameters, and read as what the function takes.

use super::super::diagnostic::{Problem, closest};
use super::super::expr::{Keyword, Span};
use super::functions::{Build, Function};
use super::operators::{apply_binary, apply_unary};
use super::value::{Located, Value, wrong};
use super::{Outcome, graph_problem};
use crate::collections::Array;
use crate::collections::array::Operand;
use crate::dtype::{DType, Scalar};
use crate::graph::error::GraphError;

/// A function with its arguments, one slot for each parameter.
pub(super) struct Call {
    function: &'static Function,
    /// The whole call.
    pub(super) span: Span,
    slots: Vec<Option<Located>>,
}

impl Call {
    /// Puts arguments in their slots.
    ///
    /// # Errors
    /// Too many, missing, unknown or repeated arguments; the help shows the signature.
    pub(super) fn bind(
        function: &'static Function,
        name_span: &Span,
        span: &Span,
        positional: Vec<Located>,
        named: Vec<(&Keyword, Located)>,
    ) -> Outcome<Self> {
        let parameters = function.parameters;
        let mut slots: Vec<Option<Located>> = vec![None; parameters.len()];
        let refused = |message: String, at: &Span| {
            Problem::new(message, at.clone()).help(format!("it is {}", function.signature()))
        };
        for (at, argument) in positional.into_iter().enumerate() {
            let Some(slot) = slots.get_mut(at) else {
                let message = format!("{} takes at most {} arguments", function.name, parameters.len());
                return Err(refused(message, &argument.1));
            };
            *slot = Some(argument);
        }
        for (keyword, argument) in named {
            let name = keyword.name.as_str();
            let Some(at) = parameters.iter().position(|parameter| parameter.name == name) else {
                let problem =
                    refused(format!("{} has no argument '{name}'", function.name), &keyword.name_span);
                let names = parameters.iter().map(|parameter| parameter.name);
                return Err(match closest(name, names) {
                    Some(best) => problem.label(format!("did you mean '{best}'?")),
                    None => problem,
                });
            };
            if slots[at].is_some() {
                let message = format!("{} gets its argument '{name}' twice", function.name);
                return Err(refused(message, &keyword.name_span));
            }
            slots[at] = Some(argument);
        }
        for (parameter, slot) in parameters.iter().zip(&slots) {
            if slot.is_none() && parameter.default.is_none() {
                let message = format!("{} needs its argument '{}'", function.name, parameter.name);
                return Err(refused(message, name_span));
            }
        }
        Ok(Call { function, span: span.clone(), slots })
    }

    /// The call's value.
    pub(super) fn evaluate(&self) -> Outcome<Value> {
        match self.function.build {
            Build::Unary(op) => apply_unary(op, self.operand(0)?, &self.span),
            Build::Binary(op) => apply_binary(op, self.operand(0)?, self.operand(1)?, &self.span),
            Build::With(build) => build(self),
        }
    }

    /// The array as the call's value, or its error at the argument that the error names.
    pub(super) fn built(&self, array: Array) -> Outcome<Value> {
        match array.layer() {
            Ok(_) => Ok(Value::Array(array)),
            Err(error) => Err(graph_problem(&error, self.place(error.root()))),
        }
    }

    fn place(&self, error: &GraphError) -> &Span {
        let argument = match error {
            GraphError::Argument { argument, .. } => argument,
            GraphError::Axis { .. } | GraphError::RepeatedAxis { .. } => "axis",
            _ => return &self.span,
        };
        let at = self.function.parameters.iter().position(|parameter| parameter.name == argument);
        at.and_then(|at| self.slots[at].as_ref()).map_or(&self.span, |(_, span)| span)
    }

    /// A problem with an argument, at its place.
    pub(super) fn problem(&self, at: usize, message: impl Into<String>) -> Problem {
        Problem::new(message, self.slots[at].as_ref().map_or(&self.span, |(_, span)| span).clone())
    }

    fn refuse<T>(&self, at: usize, expected: &str) -> Outcome<T> {
        let (value, span) =
            self.slots[at].as_ref().map_or((&Value::None, &self.span), |(value, span)| (value, span));
        Err(wrong(&self.what(at), expected, value, span))
    }

    fn what(&self, at: usize) -> String {
        format!("'{}' of {}", self.function.parameters[at].name, self.function.name)
    }

    /// How many parameters the function has.
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The argument, `None` where it is absent or `None`.
    pub(super) fn given(&self, at: usize) -> Option<&Value> {
        self.slots[at].as_ref().map(|(value, _)| value).filter(|value| !matches!(value, Value::None))
    }

    pub(super) fn operand(&self, at: usize) -> Outcome<Operand> {
        match self.given(at) {
            Some(Value::Array(array)) => Ok(Operand::Array(array.clone())),
            Some(Value::Scalar(scalar)) => Ok(Operand::Scalar(*scalar)),
            _ => self.refuse(at, "an array or a number"),
        }
    }

    pub(super) fn array(&self, at: usize) -> Outcome<&Array> {
        match self.given(at) {
            Some(Value::Array(array)) => Ok(array),
            _ => self.refuse(at, "an array"),
        }
    }

    pub(super) fn mask(&self, at: usize) -> Outcome<Option<&Array>> {
        match self.given(at) {
            None => Ok(None),
            Some(Value::Array(array)) => Ok(Some(array)),
            Some(_) => self.refuse(at, "a bool array"),
        }
    }

    /// A number known before anything runs.
    pub(super) fn number(&self, at: usize) -> Outcome<Option<f64>> {
        match self.given(at) {
            None => Ok(None),
            Some(Value::Scalar(scalar @ (Scalar::Int(_) | Scalar::Float(_)))) => Ok(Some(scalar.as_f64())),
            Some(_) => self.refuse(at, "a number"),
        }
    }

    pub(super) fn integer(&self, at: usize) -> Outcome<Option<i64>> {
        match self.given(at) {
            None => Ok(None),
            Some(Value::Scalar(Scalar::Int(number))) => Ok(Some(*number)),
            Some(_) => self.refuse(at, "a whole number"),
        }
    }

    /// A whole number from 0 to `max`.
    pub(super) fn count(&self, at: usize, max: u32) -> Outcome<Option<u32>> {
        let Some(number) = self.integer(at)? else { return Ok(None) };
        let count = u32::try_from(number).ok().filter(|count| *count <= max);
        match count {
            Some(count) => Ok(Some(count)),
            None => self.refuse(at, &format!("a whole number from 0 to {max}")),
        }
    }

    pub(super) fn flag(&self, at: usize) -> Outcome<Option<bool>> {
        match self.given(at) {
            None => Ok(None),
            Some(Value::Scalar(Scalar::Bool(flag))) => Ok(Some(*flag)),
            Some(_) => self.refuse(at, "True or False"),
        }
    }

    /// One of some texts.
    pub(super) fn choice<T: Copy>(&self, at: usize, choices: &[(&'static str, T)]) -> Outcome<Option<T>> {
        let Some(value) = self.given(at) else { return Ok(None) };
        let names: Vec<String> = choices.iter().map(|(name, _)| format!("{name:?}")).collect();
        let Value::Text(text) = value else {
            return self.refuse(at, &format!("one of {}", names.join(", ")));
        };
        match choices.iter().find(|(name, _)| name == text) {
            Some((_, choice)) => Ok(Some(*choice)),
            None => {
                let message = format!("{} can't be {text:?}", self.what(at));
                Err(self.problem(at, message).suggest(text, choices.iter().map(|(name, _)| *name)))
            }
        }
    }

    pub(super) fn dtype(&self, at: usize) -> Outcome<Option<DType>> {
        match self.given(at) {
            None => Ok(None),
            Some(Value::DType(dtype)) => Ok(Some(*dtype)),
            Some(Value::Text(text)) => match text.parse() {
                Ok(dtype) => Ok(Some(dtype)),
                Err(error) => {
                    let error: crate::dtype::UnknownDType = error;
                    Err(self.problem(at, error.to_string()))
                }
            },
            Some(_) => self.refuse(at, "an element type, such as f32"),
        }
    }

    /// Numbers known before anything runs; a single one counts as a list of one.
    pub(super) fn numbers(&self, at: usize) -> Outcome<Option<Vec<f64>>> {
        let number = |value: &Value| match value {
            Value::Scalar(scalar @ (Scalar::Int(_) | Scalar::Float(_))) => Some(scalar.as_f64()),
            _ => None,
        };
        let numbers = match self.given(at) {
            None => return Ok(None),
            Some(Value::List(items)) => {
                items.iter().map(|(value, _)| number(value)).collect::<Option<Vec<_>>>()
            }
            Some(value) => number(value).map(|number| vec![number]),
        };
        match numbers {
            Some(numbers) => Ok(Some(numbers)),
            None => self.refuse(at, "a number, or a list of numbers"),
        }
    }

    /// Whole numbers; a single one counts as a list of one.
    pub(super) fn integers(&self, at: usize) -> Outcome<Option<Vec<i64>>> {
        let integer = |value: &Value| match value {
            Value::Scalar(Scalar::Int(number)) => Some(*number),
            _ => None,
        };
        let integers = match self.given(at) {
            None => return Ok(None),
            Some(Value::List(items)) => {
                items.iter().map(|(value, _)| integer(value)).collect::<Option<Vec<_>>>()
            }
            Some(value) => integer(value).map(|number| vec![number]),
        };
        match integers {
            Some(integers) => Ok(Some(integers)),
            None => self.refuse(at, "a whole number, or a tuple of whole numbers"),
        }
    }
}
