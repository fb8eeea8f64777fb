//! A lazy collection of objects in partitions, with the semantics of Dask's Bag.
//!
//! A bag is a list of any Rust values, cut into partitions; one task makes one partition, a `Vec<T>`. Methods take plain
//! functions and add a layer; no function runs before a session is asked for values. Items have an order, that of the
//! partitions and in each of them, and every method says what becomes of it. Results depend on the partitions alone: not
//! on threads or schedule.
//!
//! ```
//! use outcrop::collections::Bag;
//! use outcrop::session::Session;
//!
//! let lines = Bag::from_vec(vec!["to be or", "not to be", "that is", "the question"], 2);
//! let words = lines.flat_map("words", |line| line.split(' ')).filter("long", |word| word.len() > 1);
//! // One count for each word: within a partition first, so that little is moved between partitions.
//! let counts = words.fold_by("count", |word| *word, 0, |n, _| n + 1, |a, b| a + b, 3);
//! let longest = words.reduce("longest", |a, b| if b.len() > a.len() { b } else { a }, Default::default());
//!
//! let session = Session::new(Default::default());
//! let (mut counts, longest) = session.compute(&(counts, longest))?;
//! counts.sort();
//! assert_eq!(counts[..2], [("be", 2), ("is", 1)]);
//! assert_eq!(*longest, Some("question"));
//! # Ok::<(), outcrop::error::Error>(())
//! ```
//!
//! Every function comes with a name, and is a function of its own; with a version beside the name it is pure, and equal
//! calls are one layer: see [`FunctionName`]. A function that panics, or that fails where it may
//! ([`Bag::try_map`]), fails its task. Wrong calls are carried, with the caller's line, as in an
//! [`Array`](crate::collections::Array).
//!
//! A function over all items is a [`Delayed::call`](crate::collections::Delayed::call), which gets them as `&[T]`;
//! [`Bag::from_delayed`], [`Bag::from_array`] and their opposites lead to and from the other collections.
//!
//! Layers are symbolic: a bag of 10^6 partitions is as cheap to build, to copy and to bind as one of two. A bag doesn't
//! know how many bytes its items point to; [`Bag::sized`] says so to the planner. Items that aren't `Clone` can be folded
//! and mapped; wrap them in an `Arc` to group, to filter and to compute them.

mod collection;
mod convert;
mod create;
mod fold;
mod function_name;
mod group;
mod items;
mod partitions;
mod step;

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

use crate::graph::custom::{Call, TaskError};
use crate::graph::error::GraphError;
use crate::graph::layer::{Layer, Naming};
use crate::graph::op::Op;
use crate::graph::value_spec::{ValueKind, ValueSpec};
use crate::key::Key;
use crate::units::Bytes;

pub use function_name::FunctionName;

/// A lazy list of `T` in partitions; [this module's documentation](self) is the guide. Cloning is cheap: clones share
/// the layer.
pub struct Bag<T>(Result<Arc<Layer>, Box<GraphError>>, PhantomData<fn() -> T>);

impl<T: Any + Send + Sync> Bag<T> {
    /// The bag whose partitions a layer makes: objects of type `Vec<T>`, under keys numbered from 0, in order. O(1),
    /// O(tasks) for explicit ones.
    ///
    /// # Errors
    /// [`GraphError::WrongLayer`] when the layer makes anything else; objects of other types are found when they are
    /// there.
    pub fn from_layer(layer: Arc<Layer>) -> Result<Self, GraphError> {
        if layer.spec().kind == ValueKind::Objects && is_numbered(&layer)? {
            return Ok(Bag(Ok(layer), PhantomData));
        }
        let (name, found) = (layer.name().to_owned(), layer.spec().to_string());
        Err(GraphError::WrongLayer { name, expected: "objects numbered from 0, in order".to_owned(), found })
    }

    /// The layer that makes the partitions.
    ///
    /// # Errors
    /// What was wrong with the call that should have made it.
    pub fn layer(&self) -> Result<&Arc<Layer>, GraphError> {
        self.0.as_ref().map_err(|error| GraphError::clone(error))
    }

    /// Number of partitions, at least 1.
    ///
    /// # Errors
    /// As [`Bag::layer`].
    pub fn partitions(&self) -> Result<usize, GraphError> {
        Ok(self.layer()?.spec().count())
    }

    /// The same bag under a name of the user's, kept to the letter. An empty one is an error.
    #[track_caller]
    pub fn named(&self, name: &str) -> Self {
        Bag::keep(self.layer().and_then(|layer| {
            Key::named(name)?;
            Ok(layer.named(name))
        }))
    }

    /// The same bag, each partition of which is said to take about so many bytes; the plan reserves them. Bags made from
    /// this one say the same, unless they are told otherwise.
    #[track_caller]
    pub fn sized(&self, bytes: Bytes) -> Self {
        Bag::keep(self.layer().and_then(|layer| {
            let mut body = layer.body();
            body.spec = ValueSpec::objects(layer.spec().count(), bytes.0);
            let (inputs, after) = (layer.inputs().to_vec(), layer.after().to_vec());
            Layer::from_layers(std::slice::from_ref(layer), body, inputs, after, Naming::StandIn)
        }))
    }

    #[track_caller]
    fn keep(built: Result<Arc<Layer>, GraphError>) -> Self {
        let caller = Location::caller();
        Bag(built.map_err(|error| Box::new(error.at(caller))), PhantomData)
    }
}

/// Whether the keys of a layer of objects are its name and 0, 1, ….
fn is_numbered(layer: &Layer) -> Result<bool, GraphError> {
    let Op::Tasks(tasks) = layer.op() else { return Ok(true) };
    for task in 0..tasks.len() {
        if layer.key(task)?.index().is_none_or(|index| *index != [task]) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What one task finds as operand `at`: a partition.
fn partition<'a, T: Any + Send + Sync>(call: &'a Call<'_>, at: usize) -> Result<&'a [T], TaskError> {
    call.object_operand::<Vec<T>>(at).map(Vec::as_slice)
}

impl<T> Clone for Bag<T> {
    fn clone(&self) -> Self {
        Bag(self.0.clone(), PhantomData)
    }
}

impl<T> fmt::Debug for Bag<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Ok(layer) => write!(f, "Bag({layer:?})"),
            Err(error) => write!(f, "Bag(invalid: {error})"),
        }
    }
}
