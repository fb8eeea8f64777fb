//! Any Rust function, called later: over values, and over whole collections.
//!
//! ```
//! use outcrop::block::Block;
//! use outcrop::collections::delayed::{Delayed, function};
//! use outcrop::collections::{Array, array::Over};
//! use outcrop::session::Session;
//!
//! // A function under a name and a version is pure: equal calls are one task.
//! let add = function("add", 1, |a: &i64, b: &i64| a + b);
//! let two = Delayed::literal(2);
//! let four = add.call((&two, &two));
//! assert_eq!(four.key()?, add.call((&two, &two)).key()?);
//!
//! // Any other call is a task of its own. A collection comes as what computing it gives.
//! let x = Array::arange(0.0, 1.0, 1000).rechunk(&[100]);
//! let shown = Delayed::call("show", (&x.mean(&Over::all()), &four), |mean: &Block, n: &i64| {
//!     format!("{n} times {}", mean.to_scalar::<f64>().unwrap_or(f64::NAN))
//! });
//! let session = Session::new(Default::default());
//! assert_eq!(*session.compute(&shown)?, "4 times 499.5");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a function gets
//!
//! Arguments are a tuple of up to six, `(&x,)` for one and `()` for none; the function gets a reference to each.
//!
//! | handed over | the function gets |
//! |---|---|
//! | `&Delayed<T>`, [`Literal::new(value)`](Literal::new) | `&T` |
//! | `&Array` | [`&Block`](crate::block::Block): the whole array |
//! | `&Bag<T>` | `&[T]`: all items |
//! | `&Dataset` | `&BTreeMap<String, Block>` |
//! | `Vec<&Delayed<T>>` | `&[Arc<T>]` |
//! | `Vec<&Array>` | `&[Block]` |
//! | [`Whole(&mine)`](Whole), a collection of your own | `&C::Value` |
//!
//! A vector is Dask's list of delayed values; a loop over calls and one that gathers them is map and reduce:
//!
//! ```
//! # use std::sync::Arc;
//! # use outcrop::annotate::{Annotations, annotate};
//! # use outcrop::collections::delayed::{Delayed, Literal, Unzip, try_function};
//! # use outcrop::session::Session;
//! let parse = try_function("parse", 1, |line: &String| line.trim().parse::<i64>());
//! let lines = ["1", " 20 ", "300"].map(String::from);
//! let patient = Annotations::new().with_retries(3)?;
//! let numbers = annotate(patient, || lines.map(|line| parse.call((Literal::new(line),)))); // each is tried up to four times
//! let range = Delayed::call("range", (Vec::from(numbers.each_ref()),), |all: &[Arc<i64>]| {
//!     (all.iter().min().map(|n| **n), all.iter().max().map(|n| **n))
//! });
//! let (low, high) = range.unzip(); // a tuple's parts; `split(nout)` is for vectors
//! let (low, high) = Session::new(Default::default()).compute(&(low, high))?;
//! assert_eq!((*low, *high), (Some(1), Some(300)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The rules
//!
//! - **Failing.** [`Delayed::try_call`] and [`try_function`] take functions that return a `Result`. An error or a panic
//!   fails the task, which is tried again as its `retries` say; then the run ends, and names it.
//! - **Wrong calls** are carried with the caller's line, as in an [`Array`](crate::collections::Array), until somebody asks
//!   for the [`layer`](Delayed::layer) or computes it.
//! - **Purity.** Equal calls of a [`function`] with equal [`Literal`]s are one task; [`Delayed::call`], and whatever is
//!   `opaque`, equals nothing else.
//! - **Size.** A value counts `size_of::<T>()` bytes unless [`Delayed::sized`] says more: a plan can't follow pointers.
//! - **Where.** Functions run on the host's threads; `device=gpu` around a call can't be met. The other
//!   [annotations](crate::annotate) hold as for any layer.
//! - **Cost.** A call is a layer of one task: O(arguments). Many equal ones over partitions are a
//!   [`Bag`](crate::collections::bag), over blocks a [custom operation](crate::graph::custom), and cost O(1).

mod call;
mod split;

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

use crate::collections::computed::Computed;
use crate::collections::contract::{Collection, Rename, rebuilt_layer};
use crate::graph::error::GraphError;
use crate::graph::keys::Keys;
use crate::graph::layer::{Layer, Naming};
use crate::graph::layer_graph::LayerGraph;
use crate::graph::value_spec::{ValueKind, ValueSpec};
use crate::key::Key;
use crate::token::Tokenize;
use crate::units::Bytes;

pub use call::{
    Argument, Arguments, Calling, Fallible, Literal, Plain, Pure, Reader, Returns, Whole, function,
    try_function,
};
pub use split::Unzip;

/// A value that a function will make. Cloning is cheap: clones share the layer.
///
/// Like an [`Array`](crate::collections::Array) it carries what was wrong with the call that should have made it, and
/// whatever uses it next reports that.
pub struct Delayed<T>(Result<Arc<Layer>, Box<GraphError>>, PhantomData<fn() -> T>);

impl<T: Any + Send + Sync> Delayed<T> {
    /// A value that is there, by its content: equal values are one task.
    pub fn literal(value: T) -> Self
    where
        T: Tokenize,
    {
        call::held(Literal::new(value))
    }

    /// A value that is there, and that nobody can tell from another.
    pub fn opaque(value: T) -> Self {
        call::held(Literal::opaque(value))
    }

    /// A call of `run` with `arguments`, a tuple of up to six: references to collections, [`Literal`]s, vectors of
    /// either. Every call is a task of its own; see [`function`] for calls that are equal when their arguments are. `name`
    /// is what people call it.
    #[track_caller]
    pub fn call<F, A>(name: &str, arguments: A, run: F) -> Self
    where
        A: Arguments<F, T, Plain>,
    {
        Delayed::keep(Calling::unregistered(name).call(arguments, run))
    }

    /// As [`Delayed::call`], of a function that may fail: an error is the task's, with its retries.
    #[track_caller]
    pub fn try_call<F, A>(name: &str, arguments: A, run: F) -> Self
    where
        A: Arguments<F, T, Fallible>,
    {
        Delayed::keep(Calling::unregistered(name).call(arguments, run))
    }

    /// The value that a layer makes.
    ///
    /// # Errors
    /// [`GraphError::WrongLayer`] when the layer makes anything but one object.
    pub fn from_layer(layer: Arc<Layer>) -> Result<Self, GraphError> {
        match layer.spec().kind {
            ValueKind::Object => Ok(Delayed(Ok(layer), PhantomData)),
            _ => Err(GraphError::WrongLayer {
                name: layer.name().to_owned(),
                expected: "one object".to_owned(),
                found: layer.spec().to_string(),
            }),
        }
    }

    /// The value of a layer that could be built; else a value that carries what was wrong, with the line of the call.
    #[track_caller]
    pub fn deferred(built: Result<Arc<Layer>, GraphError>) -> Self {
        Delayed::keep(built.and_then(|layer| Delayed::<T>::from_layer(layer)?.layer().cloned()))
    }

    /// The layer that makes it.
    ///
    /// # Errors
    /// What was wrong with the call that should have made it.
    pub fn layer(&self) -> Result<&Arc<Layer>, GraphError> {
        self.0.as_ref().map_err(|error| GraphError::clone(error))
    }

    /// Its key: the layer's name.
    ///
    /// # Errors
    /// As [`Delayed::layer`].
    pub fn key(&self) -> Result<Key, GraphError> {
        Ok(self.layer()?.key(0)?)
    }

    /// The same value under a key of the user's, kept to the letter. An empty one is an error.
    #[track_caller]
    pub fn named(&self, key: &str) -> Self {
        Delayed::keep(self.layer().and_then(|layer| {
            Key::named(key)?;
            Ok(layer.named(key))
        }))
    }

    /// The same value, said to take about so many bytes, which the plan reserves for it. Otherwise it counts as much as
    /// `T` itself, without what it points to.
    #[track_caller]
    pub fn sized(&self, bytes: Bytes) -> Self {
        Delayed::keep(self.layer().and_then(|layer| {
            let mut body = layer.body();
            body.spec = ValueSpec::object(bytes.0);
            let (inputs, after) = (layer.inputs().to_vec(), layer.after().to_vec());
            Layer::from_layers(std::slice::from_ref(layer), body, inputs, after, Naming::StandIn)
        }))
    }

    #[track_caller]
    fn keep(built: Result<Arc<Layer>, GraphError>) -> Self {
        let caller = Location::caller();
        Delayed(built.map_err(|error| Box::new(error.at(caller))), PhantomData)
    }
}

impl<T> Clone for Delayed<T> {
    fn clone(&self) -> Self {
        Delayed(self.0.clone(), PhantomData)
    }
}

impl<T> fmt::Debug for Delayed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Ok(layer) => write!(f, "Delayed({layer:?})"),
            Err(error) => write!(f, "Delayed(invalid: {error})"),
        }
    }
}

impl<T: Any + Send + Sync> Collection for Delayed<T> {
    type Value = Arc<T>;

    fn graph(&self) -> Result<LayerGraph, GraphError> {
        Ok(LayerGraph::of([self.layer()?.clone()]))
    }

    fn keys(&self) -> Result<Keys, GraphError> {
        Ok(Keys::One(self.key()?))
    }

    fn rebuild(&self, graph: &LayerGraph, rename: &Rename) -> Result<Self, GraphError> {
        Delayed::from_layer(rebuilt_layer(self.layer()?, graph, rename)?)
    }

    fn finalize(&self, values: &Computed) -> Result<Arc<T>, GraphError> {
        values.object(&self.key()?)
    }
}
