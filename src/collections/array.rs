//! A lazy, chunked n-dimensional array with NumPy's semantics.
//!
//! Every operation adds a layer and returns at once; nothing is computed until a session is asked for the
//! values. A wrong call doesn't panic and doesn't return a `Result` either, so that expressions read as
//! formulas: the array carries the error, with the line of the call, and whatever uses it next reports it.
//!
//! ```
//! use outcrop::collections::Array;
//! let x = Array::arange(0.0, 1.0, 6).rechunk(&[4]);
//! let y = (&x * 2.0 + 1.0).sqrt();
//! assert_eq!(y.shape().unwrap().to_string(), "(6,)");
//! let wrong = &y + &Array::zeros([5], outcrop::dtype::DType::F64);
//! assert!(wrong.shape().unwrap_err().to_string().contains("broadcast"));
//! ```
//!
//! A function over a whole array is a [`Delayed::call`](crate::collections::Delayed::call), one over each block a
//! [custom operation](crate::graph::custom); [`Array::from_delayed`] and [`Bag::to_array`](crate::collections::Bag::to_array)
//! lead back.

mod build;
mod collection;
mod create;
mod delayed;
mod elementwise;
mod operators;
mod reduce;
mod slice;
mod stencil;

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use crate::dtype::{DType, Scalar};
use crate::graph::chunking::Chunking;
use crate::graph::error::GraphError;
use crate::graph::layer::Layer;
use crate::shape::Shape;

pub use create::ChunkSize;
pub use reduce::Over;
pub use slice::Index;
pub use stencil::gaussian_weights;

/// A lazy array. Cloning is cheap: clones share the layer.
#[derive(Clone)]
pub struct Array(Result<Arc<Layer>, Box<GraphError>>);

impl Array {
    /// The array that a layer makes. A layer of objects is an error.
    #[track_caller]
    pub fn from_layer(layer: Arc<Layer>) -> Self {
        if layer.spec().is_array() {
            return Array(Ok(layer));
        }
        let (name, found) = (layer.name().to_owned(), layer.spec().to_string());
        Array::keep(Err(GraphError::WrongLayer { name, expected: "blocks of an array".to_owned(), found }))
    }

    /// The array of a layer that could be built; else an array that carries what was wrong, with the line of the call.
    #[track_caller]
    pub fn deferred(built: Result<Arc<Layer>, GraphError>) -> Self {
        match built {
            Ok(layer) => Array::from_layer(layer),
            Err(error) => Array::keep(Err(error)),
        }
    }

    /// The layer that makes this array, or what was wrong with the call that should have made it.
    pub fn layer(&self) -> Result<&Arc<Layer>, GraphError> {
        self.0.as_ref().map_err(|error| GraphError::clone(error))
    }

    /// Extents.
    pub fn shape(&self) -> Result<Shape, GraphError> {
        Ok(self.layer()?.shape())
    }

    /// Element type.
    pub fn dtype(&self) -> Result<DType, GraphError> {
        Ok(self.layer()?.dtype())
    }

    /// How it is cut into blocks.
    pub fn chunks(&self) -> Result<Chunking, GraphError> {
        Ok(self.layer()?.chunks().clone())
    }

    /// The same array under a name of the user's, which plans and reports show. An empty name is an error.
    #[track_caller]
    pub fn named(&self, name: &str) -> Array {
        if name.is_empty() {
            let (value, problem) = ("''".to_owned(), "must not be empty");
            return Array::keep(Err(GraphError::Argument { op: "named", argument: "name", value, problem }));
        }
        Array(self.0.clone().map(|layer| layer.named(name)))
    }

    /// Keeps a built layer, or the error together with the line of the user's call.
    #[track_caller]
    fn keep(built: Result<Arc<Layer>, GraphError>) -> Array {
        let caller = Location::caller();
        Array(built.map_err(|error| Box::new(error.at(caller))))
    }
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Ok(layer) => write!(f, "Array({layer:?})"),
            Err(error) => write!(f, "Array(invalid: {error})"),
        }
    }
}

/// An operand of an elementwise operation: an array or a constant, which is weak (see [`Scalar`]).
#[derive(Clone, Debug)]
pub enum Operand {
    /// An array.
    Array(Array),
    /// A constant.
    Scalar(Scalar),
}

impl From<&Array> for Operand {
    fn from(array: &Array) -> Self {
        Operand::Array(array.clone())
    }
}

impl From<Array> for Operand {
    fn from(array: Array) -> Self {
        Operand::Array(array)
    }
}

impl From<&Operand> for Operand {
    fn from(operand: &Operand) -> Self {
        operand.clone()
    }
}

impl<T: Into<Scalar>> From<T> for Operand {
    fn from(value: T) -> Self {
        Operand::Scalar(value.into())
    }
}
