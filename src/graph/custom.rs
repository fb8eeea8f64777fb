//! Operations of one's own: a shape rule, a block rule and a function.
//!
//! A custom operation is as symbolic as the built-in ones: the layer holds the rules, never a list of tasks, so
//! that ten blocks and 10^8 cost the same to hold, to copy and to cull.
//!
//! ```
//! use std::sync::Arc;
//!
//! use outcrop::collections::Array;
//! use outcrop::dtype::DType;
//! use outcrop::graph::{Call, CustomOp, GraphError, Layer, Made, Read, TaskError, ValueSpec};
//! use outcrop::session::Session;
//! use outcrop::token::{Token, Tokenizer};
//!
//! /// Each block, sorted.
//! #[derive(Debug)]
//! struct Sorted;
//!
//! impl CustomOp for Sorted {
//!     fn name(&self) -> &str {
//!         "sorted"
//!     }
//!     fn token(&self) -> Token {
//!         Tokenizer::new("sorted").int(1).finish() // a parameter of the operation would go in here
//!     }
//!     fn output(&self, inputs: &[&ValueSpec]) -> Result<ValueSpec, String> {
//!         match inputs {
//!             [x] if x.is_array() && x.dtype == DType::F64 => Ok(ValueSpec::clone(x)),
//!             [other] => Err(format!("f64 blocks are sorted, and this is {other}; convert it with astype")),
//!             several => Err(format!("one array is sorted, and {} were given", several.len())),
//!         }
//!     }
//!     fn reads(&self, block: usize, _output: &ValueSpec, _inputs: &[&ValueSpec]) -> Vec<Read> {
//!         vec![Read { input: 0, block }]
//!     }
//!     fn reads_everything(&self) -> bool {
//!         true
//!     }
//!     fn compute(&self, call: &mut Call<'_>) -> Result<Made, TaskError> {
//!         let mut values = call.block_operand(0)?.to_vec::<f64>().ok_or("no f64 block on the host")?;
//!         values.sort_by(f64::total_cmp);
//!         call.write(&values)
//!     }
//! }
//!
//! fn sorted(x: &Array) -> Result<Array, GraphError> {
//!     Ok(Array::from_layer(Layer::custom(Arc::new(Sorted), vec![x.layer()?.clone()])?))
//! }
//!
//! let x = Array::from_slice([4], &[2.0, 1.0, 9.0, 3.0]).rechunk(&[2]);
//! let values = Session::new(Default::default()).compute(&sorted(&x)?)?;
//! assert_eq!(values.to_vec::<f64>(), Some(vec![1.0, 2.0, 3.0, 9.0]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The rules
//!
//! - **Output.** [`ValueSpec::array`] makes blocks, cut as the rule says; [`ValueSpec::objects`] numbered Rust values;
//!   [`ValueSpec::object`] one, whose key is the layer's name. What it refuses, with what to do, is an error where the
//!   layer is made: it gets in front of users.
//! - **Reads** names values by number, in C order of the input's grid, and `compute` finds them as operands in the same
//!   order. A value that isn't there is an error, [`GraphError::BlockRule`](crate::graph::GraphError::BlockRule), when
//!   the graph is culled or planned. Where all values together read all inputs, say so: nobody needs to ask a million
//!   times.
//! - **Compute** ends with [`Call::write`] where the layer makes blocks, with [`Made::object`] where it makes objects,
//!   or passes an operand on with [`Made::Same`]. An error or a panic fails the task, which is tried again as the
//!   layer's `retries` say.
//! - **Token.** Equal tokens over equal inputs are one layer: whatever changes the values belongs in it, and a version
//!   to change with the code.
//! - Rules run in the caller's thread. One that panics is an error that names the layer, as one that refuses is.
//!
//! The layer takes the [annotations](crate::annotate) of the scope like any other. Without a
//! [kernel of its own](crate::graph::device_source) it runs on the host: `device=gpu` on it can't be met, and inputs that
//! live on a GPU are copied over, which the plan shows.
//!
//! # From here
//!
//! [`Layer::custom`](crate::graph::Layer::custom) makes a layer, which
//! [`Array::from_layer`](crate::collections::Array::from_layer), and `Bag` and `Delayed` likewise, make a collection of;
//! [`collections::contract`](crate::collections::contract) is about types of one's own. Work that no rule describes is a
//! table of [tasks](crate::graph::tasks). `tests/third-party` in Outcrop's repository is a whole crate: an operation that
//! reads neighbours, a collection with two names, and a delay put before every block of any collection.

use std::any::{Any, type_name};
use std::fmt;
use std::sync::Arc;

use crate::block::{Block, OutputBlock};
use crate::dtype::Element;
use crate::graph::device_source::DeviceSource;
use crate::graph::rule::Read;
use crate::graph::value_spec::ValueSpec;
use crate::shape::Shape;
use crate::task::Stopped;
use crate::token::Token;
use crate::value::{Object, Value};

/// An operation of a third party.
///
/// Rules are asked while graphs are built, culled and planned, and must answer the same every time; only
/// [`compute`](CustomOp::compute) does the work, and only in a run. The function runs on the host; devices run
/// [a kernel](CustomOp::device_source), if there is one.
pub trait CustomOp: Send + Sync + fmt::Debug {
    /// What people call the operation, not empty; layers' names start with it.
    fn name(&self) -> &str;

    /// Identifies what it computes, parameters included. An operation that gives something else each time takes
    /// a [`unique`](Token::unique) token when it is made.
    fn token(&self) -> Token;

    /// The shape and type rule: what it makes of its inputs, or what is wrong with them and what to do, in words.
    fn output(&self, inputs: &[&ValueSpec]) -> Result<ValueSpec, String>;

    /// The block rule: the values that value `block` of the result is made of, in the order in which
    /// [`compute`](CustomOp::compute) finds them.
    fn reads(&self, block: usize, output: &ValueSpec, inputs: &[&ValueSpec]) -> Vec<Read>;

    /// The block rule again, for those of whom a million values are asked: appends what [`reads`](CustomOp::reads)
    /// gives, which is what it does where an operation says nothing else.
    fn reads_into(&self, block: usize, output: &ValueSpec, inputs: &[&ValueSpec], into: &mut Vec<Read>) {
        into.extend(self.reads(block, output, inputs));
    }

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

    /// Its kernel for devices, if it has one; each block reads as many blocks as that says.
    fn device_source(&self) -> Option<Arc<DeviceSource>> {
        None
    }

    /// Whether [`compute`](CustomOp::compute) does the work. Where it doesn't, the layer can't be placed on the host, which
    /// is said before anything runs.
    fn runs_on_host(&self) -> bool {
        true
    }

    /// Makes one value on the host.
    ///
    /// # Errors
    /// Whatever went wrong, in words. The task counts as failed and is tried again as its annotations allow.
    fn compute(&self, call: &mut Call<'_>) -> Result<Made, TaskError>;
}

/// What a call of [`CustomOp::compute`] left.
#[derive(Debug)]
pub enum Made {
    /// The block was written to [`Call::output`]; [`Call::write`] gives this. Checked: nothing written is an error.
    Written,
    /// An object.
    Object(Object),
    /// The value of this operand, as it is.
    Same(usize),
}

impl Made {
    /// An object that holds `value`.
    pub fn object<T: Any + Send + Sync>(value: T) -> Self {
        Made::Object(Object::new(value))
    }
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
    pub fn object_operand<T: Any + Send + Sync>(&self, at: usize) -> Result<&T, TaskError> {
        let found = self.operand(at)?;
        found.object().ok_or_else(|| {
            TaskError::new(format!("operand {at} is {}, not {}", found.describe(), type_name::<T>()))
        })
    }

    /// Fills the block with `values`, in C order: how an operation that makes blocks ends.
    ///
    /// # Errors
    /// The layer makes objects; `values` are of another type or number than the block's elements. Nothing is written.
    pub fn write<T: Element>(&mut self, values: &[T]) -> Result<Made, TaskError> {
        let Some(output) = &mut self.output else {
            return Err(TaskError::new("a layer of objects has no block to write; return Made::object"));
        };
        if output.write(values) {
            return Ok(Made::Written);
        }
        let (dtype, shape, given) = (output.dtype(), output.shape(), values.len());
        let values = if given == 1 { "value" } else { "values" };
        let own = T::DTYPE;
        Err(TaskError::new(format!(
            "the block is {dtype} {shape}; it can't be filled with {given} {values} of {own}"
        )))
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

impl From<Stopped> for TaskError {
    fn from(stopped: Stopped) -> Self {
        TaskError::new(stopped)
    }
}

impl From<&str> for TaskError {
    fn from(message: &str) -> Self {
        TaskError::new(message)
    }
}
