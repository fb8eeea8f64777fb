//! What can be wrong with a graph while it is built.

use std::fmt;

use crate::annotate::{AnnotationError, Conflict};
use crate::dtype::DType;
use crate::key::{Key, KeyError};
use crate::shape::Shape;

/// An operation was given something it can't take. Found where the operation is called, before anything
/// runs.
#[derive(Debug, Clone, thiserror::Error)]
pub enum GraphError {
    /// Shapes that don't broadcast.
    #[error("{op}: shapes {left} and {right} don't broadcast together")]
    Broadcast {
        /// The operation.
        op: &'static str,
        /// Shape of the first operand.
        left: Shape,
        /// Shape of the second.
        right: Shape,
    },
    /// An element type that the operation doesn't take.
    #[error("{op}: not defined for {dtype}; {hint}")]
    DType {
        /// The operation.
        op: &'static str,
        /// The operands' common type.
        dtype: DType,
        /// What to do instead.
        hint: &'static str,
    },
    /// An axis that the array doesn't have.
    #[error("{op}: axis {axis} is out of range for an array of {axes} axes, shape {shape}")]
    Axis {
        /// The operation.
        op: &'static str,
        /// The axis asked for.
        axis: i64,
        /// Axes that there are.
        axes: usize,
        /// The array's shape.
        shape: Shape,
    },
    /// An axis named twice.
    #[error("{op}: axis {axis} is given twice")]
    RepeatedAxis {
        /// The operation.
        op: &'static str,
        /// The axis.
        axis: usize,
    },
    /// An index beyond the array.
    #[error("index {index} is out of bounds for axis {axis} with extent {extent}")]
    Index {
        /// The index asked for.
        index: i64,
        /// The axis.
        axis: usize,
        /// Its extent.
        extent: usize,
    },
    /// More indices than axes.
    #[error("{given} indices for an array of {axes} axes, shape {shape}")]
    TooManyIndices {
        /// Indices given.
        given: usize,
        /// Axes that there are.
        axes: usize,
        /// The array's shape.
        shape: Shape,
    },
    /// An axis is too short for the operation.
    #[error("{op}: axis {axis} has extent {extent}; at least {needed} is needed")]
    TooShort {
        /// The operation.
        op: &'static str,
        /// The axis.
        axis: usize,
        /// Its extent.
        extent: usize,
        /// What the operation needs.
        needed: usize,
    },
    /// An argument's value that makes no sense.
    #[error("{op}: {argument} = {value}: {problem}")]
    Argument {
        /// The operation.
        op: &'static str,
        /// The parameter's name.
        argument: &'static str,
        /// What was given.
        value: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// More axes than kernels are made for.
    #[error("{op}: {axes} axes; at most {max} are supported", max = crate::shape::AXES_MAX)]
    TooManyAxes {
        /// The operation.
        op: &'static str,
        /// Axes of the result.
        axes: usize,
    },
    /// An array with more elements than an address can count.
    #[error("{op}: shape {shape} has more elements than memory has addresses")]
    TooLarge {
        /// The operation.
        op: &'static str,
        /// The shape asked for.
        shape: Shape,
    },
    /// Values that don't fill the shape.
    #[error("{values} values don't fill shape {shape}, which has {elements} elements")]
    ValueCount {
        /// Values given.
        values: usize,
        /// The shape.
        shape: Shape,
        /// Its elements.
        elements: usize,
    },
    /// Two layers share a name but not their content.
    #[error("two different layers are both named '{name}'; rename one of them")]
    NameClash {
        /// The name.
        name: String,
    },
    /// What isn't a key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Two tasks under one key.
    #[error("the key {key} is given twice; every task has a key of its own")]
    DuplicateKey {
        /// The key.
        key: Key,
    },
    /// A task under another layer's name.
    #[error("the task {key} is given to the layer '{layer}'; all keys of a layer have its name")]
    ForeignKey {
        /// The key.
        key: Key,
        /// The layer's name.
        layer: String,
    },
    /// A task reads what isn't there.
    #[error("the task {user} reads {key}, which neither its layer nor one of the layer's inputs makes")]
    MissingKey {
        /// The key that is read.
        key: Key,
        /// The key of the task that reads it.
        user: String,
    },
    /// Tasks or layers that wait for each other.
    #[error("{}", circle(keys))]
    Cycle {
        /// Keys of the tasks, or names of the layers.
        keys: Vec<String>,
    },
    /// A layer names an input that isn't there.
    #[error("the layer '{layer}' reads '{input}', and there is no layer of this name")]
    MissingInput {
        /// The input's name.
        input: String,
        /// The layer.
        layer: String,
    },
    /// A key that a graph doesn't have.
    #[error("the key {key} isn't in the graph: {have}")]
    UnknownKey {
        /// The key.
        key: String,
        /// What is there instead.
        have: String,
    },
    /// A collection declares a layer that its graph doesn't have.
    #[error("the layer '{name}' isn't in the graph; its outputs are {}", have.join(", "))]
    MissingLayer {
        /// The layer's name.
        name: String,
        /// The graph's outputs.
        have: Vec<String>,
    },
    /// A layer whose values are of another kind than the collection's.
    #[error("the layer '{name}' makes {found}, not {expected}")]
    WrongLayer {
        /// The layer's name.
        name: String,
        /// What the collection is made of.
        expected: String,
        /// What the layer makes.
        found: String,
    },
    /// A value of another type than the collection's.
    #[error("the value of {key} is {found}, not {expected}")]
    WrongValue {
        /// Its key.
        key: String,
        /// What the collection is made of.
        expected: String,
        /// What it is.
        found: String,
    },
    /// A composite where one name is asked for.
    #[error("the collection has {} names, {}; rebuild it with a rename map", names.len(), names.join(", "))]
    SeveralNames {
        /// Its names.
        names: Vec<String>,
    },
    /// An optimiser's graph isn't an equal one.
    #[error("the optimiser '{optimizer}' broke the contract: {problem}")]
    Optimizer {
        /// The optimiser.
        optimizer: String,
        /// What got lost.
        problem: String,
    },
    /// A bind, a checkpoint or a wait without anything to wait for.
    #[error("there is nothing to wait for: name at least one collection that must be computed first")]
    BindToNothing,
    /// A custom operation's shape rule refuses its inputs.
    #[error("the layer '{layer}' doesn't take its inputs: {problem}")]
    ShapeRule {
        /// The layer.
        layer: String,
        /// What the rule says.
        problem: String,
    },
    /// More inputs than tasks can number.
    #[error(
        "the layer '{layer}' reads {inputs} layers, and its tasks can tell {} apart; gather them in steps",
        u16::MAX
    )]
    TooManyInputs {
        /// The layer.
        layer: String,
        /// How many it reads.
        inputs: usize,
    },
    /// A block rule names a value that isn't there.
    #[error(
        "the block rule of the layer '{layer}' is wrong: value {block} reads value {read} of input {input}, and the \
         inputs are {}",
        if inputs.is_empty() { "none".to_owned() } else { inputs.join(", ") }
    )]
    BlockRule {
        /// The layer.
        layer: String,
        /// The value that is to be made.
        block: usize,
        /// The input's number.
        input: u16,
        /// The value that isn't there.
        read: usize,
        /// The inputs, with what they make.
        inputs: Vec<String>,
    },
    /// A custom operation's rule panicked.
    #[error(
        "the {rule} rule of the layer '{layer}' panicked: {message}; a rule that refuses returns an error"
    )]
    RulePanicked {
        /// The layer.
        layer: String,
        /// Which rule: shape or block.
        rule: &'static str,
        /// The panic's message.
        message: String,
    },
    /// Layers whose annotations can't hold for one.
    #[error("the layers '{left}' and '{right}' can't become one: {conflict}")]
    Merge {
        /// The first layer.
        left: String,
        /// The second.
        right: String,
        /// The annotation in the way.
        conflict: Box<Conflict>,
    },
    /// A rewrite without a layer to take annotations from.
    #[error(
        "a rewrite makes a layer out of at least one other; a layer of its own is added with from_collections"
    )]
    NothingToRewrite,
    /// An annotation was refused.
    #[error(transparent)]
    Annotation(#[from] AnnotationError),
    /// What a collection or an optimiser of a third party found wrong; made by [`GraphError::foreign`].
    #[error("{problem}")]
    Foreign {
        /// What is wrong, and what to do.
        problem: String,
    },
    /// An error together with the place in the user's program that caused it. It reads as one error: the place goes
    /// before the message, and isn't a link of its own in the chain of sources.
    #[error("{file}:{line}: {error}")]
    At {
        /// Source file.
        file: &'static str,
        /// Line in it.
        line: u32,
        /// What went wrong there.
        error: Box<GraphError>,
    },
}

impl GraphError {
    /// What a third party's collection or optimiser found wrong, in its own words.
    ///
    /// ```
    /// use outcrop::graph::GraphError;
    /// let error = GraphError::foreign("the window is wider than a partition; repartition first");
    /// assert!(error.to_string().starts_with("the window"));
    /// ```
    pub fn foreign(problem: impl fmt::Display) -> Self {
        GraphError::Foreign { problem: problem.to_string() }
    }

    /// The error with the place of a call, unless it has one: for collections that carry their errors.
    pub fn at(self, caller: &'static std::panic::Location<'static>) -> GraphError {
        match self {
            at @ GraphError::At { .. } => at,
            plain => GraphError::At { file: caller.file(), line: caller.line(), error: Box::new(plain) },
        }
    }

    /// The error without the place.
    pub fn root(&self) -> &GraphError {
        match self {
            GraphError::At { error, .. } => error.root(),
            other => other,
        }
    }
}

fn circle(keys: &[String]) -> String {
    match keys {
        [only] => format!("{only} waits for itself"),
        several => format!(
            "{} wait for each other in a circle: each needs the next, and the last the first",
            several.join(", ")
        ),
    }
}
