//! Operations that others define: a block rule, a shape rule and a function of their own.
//!
//! A custom operation is as symbolic as the built-in ones: the layer holds the rule, never a list of tasks, so
//! that ten blocks and 10^8 cost the same to hold, to copy and to cull.

use std::fmt;

use crate::block::{Block, OutputBlock};
use crate::graph::rule::Read;
use crate::graph::value_spec::ValueSpec;
use crate::shape::Shape;
use crate::token::Token;
use crate::value::{Object, Value};

/// An operation of a third party.
///
/// Rules are asked while graphs are built, culled and planned, and must answer the same every time; only
/// [`compute`](CustomOp::compute) does the work, and only in a run. The function runs on the host.
pub trait CustomOp: Send + Sync + fmt::Debug {
    /// What people call the operation; layers' names start with it.
    fn name(&self) -> &str;

    /// Identifies what it computes, parameters included. An operation that gives something else each time takes
    /// a [`unique`](Token::unique) token when it is made.
    fn token(&self) -> Token;

    /// The shape and type rule: what it makes of its inputs, or what is wrong with them, in words.
    fn output(&self, inputs: &[&ValueSpec]) -> Result<ValueSpec, String>;

    /// The block rule: the values that value `block` of the result is made of, in the order in which
    /// [`compute`](CustomOp::compute) finds them.
    fn reads(&self, block: usize, output: &ValueSpec, inputs: &[&ValueSpec]) -> Vec<Read>;

    /// Whether all values of the result together read every value of every input. Where that is known, nobody
    /// asks value by value when all are wanted.
    fn reads_everything(&self) -> bool {
        false
    }

    /// Arithmetic operations for one element (for one object) of the result; what the prediction of times
    /// starts from.
    fn flops(&self) -> f64 {
        1.0
    }

    /// Makes one value.
    ///
    /// # Errors
    /// Whatever went wrong, in words. The task counts as failed and is tried again as its annotations allow.
    fn compute(&self, call: &mut Call<'_>) -> Result<Made, TaskError>;
}

/// What a call of [`CustomOp::compute`] left.
#[derive(Debug)]
pub enum Made {
    /// The block was written to [`Call::output`].
    Written,
    /// An object.
    Object(Object),
    /// The value of this operand, as it is.
    Same(usize),
}

/// One value that is to be made.
#[derive(Debug)]
pub struct Call<'a> {
    /// Its number, in C order of the grid.
    pub block: usize,
    /// All values of the layer.
    pub spec: &'a ValueSpec,
    /// What [`CustomOp::reads`] asked for, in its order.
    pub operands: &'a [Value],
    /// Where a block goes; `None` when the layer makes objects.
    pub output: Option<OutputBlock<'a>>,
}

impl Call<'_> {
    /// The place of the value in the grid.
    pub fn index(&self) -> Shape {
        self.spec.index(self.block)
    }

    /// Operand `at` as a block.
    ///
    /// # Errors
    /// There is no such operand, or it is an object.
    pub fn block_operand(&self, at: usize) -> Result<&Block, TaskError> {
        let found = self.operand(at)?;
        found
            .block()
            .ok_or_else(|| TaskError::new(format!("operand {at} is {}, not a block", found.describe())))
    }

    /// Operand `at` as an object of type `T`.
    ///
    /// # Errors
    /// There is no such operand, or it is something else.
    pub fn object_operand<T: std::any::Any + Send + Sync>(&self, at: usize) -> Result<&T, TaskError> {
        let found = self.operand(at)?;
        found.object().ok_or_else(|| {
            TaskError::new(format!(
                "operand {at} is {}, not {}",
                found.describe(),
                std::any::type_name::<T>()
            ))
        })
    }

    fn operand(&self, at: usize) -> Result<&Value, TaskError> {
        let count = self.operands.len();
        self.operands
            .get(at)
            .ok_or_else(|| TaskError::new(format!("operand {at} was asked for, and there are {count}")))
    }
}

/// A task's own function failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TaskError {
    message: String,
}

impl TaskError {
    /// With a message that says what went wrong.
    pub fn new(message: impl fmt::Display) -> Self {
        TaskError { message: message.to_string() }
    }
}

impl From<String> for TaskError {
    fn from(message: String) -> Self {
        TaskError { message }
    }
}

impl From<&str> for TaskError {
    fn from(message: &str) -> Self {
        TaskError::new(message)
    }
}
