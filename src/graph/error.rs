//! What can be wrong with a graph while it is built.

use crate::annotate::AnnotationError;
use crate::dtype::DType;
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
    /// An annotation was refused.
    #[error(transparent)]
    Annotation(#[from] AnnotationError),
    /// An error together with the place in the user's program that caused it.
    #[error("{file}:{line}: {source}")]
    At {
        /// Source file.
        file: &'static str,
        /// Line in it.
        line: u32,
        /// What went wrong there.
        source: Box<GraphError>,
    },
}

impl GraphError {
    /// The error without the place.
    pub fn root(&self) -> &GraphError {
        match self {
            GraphError::At { source, .. } => source.root(),
            other => other,
        }
    }
}
