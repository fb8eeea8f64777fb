//! Lazy builders: collections whose operations add layers to a graph.
//!
//! | collection | what it is | one task makes | computing gives |
//! |---|---|---|---|
//! | [`Array`] | chunked numbers with NumPy's semantics | a block | a [`Block`](crate::block::Block) |
//! | [`Delayed<T>`](Delayed) | any value, by any function | the value | an `Arc<T>` |
//! | [`Bag<T>`](Bag) | a list of any items, in partitions | a partition | a `Vec<T>` |
//! | [`Dataset`] | named arrays over named dimensions | a block | a map from names to blocks |
//! | yours | whatever implements [`Collection`] | what your layers make | what you say |
//!
//! ```
//! use outcrop::block::Block;
//! use outcrop::collections::{Array, Bag, Delayed, array::Over};
//! use outcrop::session::Session;
//!
//! let mean = Array::arange(0.0, 1.0, 1000).rechunk(&[100]).mean(&Over::all());
//! let words = Bag::from_vec(vec!["one", "two", "three"], 2).map("length", |word| word.len());
//! let report = Delayed::call("report", (&mean, &words), |mean: &Block, lengths: &[usize]| {
//!     format!("{:?}, {lengths:?}", mean.to_scalar::<f64>())
//! });
//! let session = Session::new(Default::default());
//! let (report, mean) = session.compute(&(report, mean))?; // together: what they share is computed once
//! assert_eq!(*report, "Some(499.5), [3, 3, 5]");
//! assert_eq!(mean.to_scalar::<f64>(), Some(499.5));
//! # Ok::<(), outcrop::error::Error>(())
//! ```
//!
//! - Building computes nothing, and no function of yours runs before a [session](crate::session) is asked for values.
//! - A wrong call doesn't panic: arrays, bags and delayed values carry the error, with the line of the call, until
//!   somebody asks. [`Dataset`]'s methods return it.
//! - Everything that takes collections takes them [nested](Collections): `compute`, `persist`, and
//!   [`clone`](manipulate::clone()), [`bind`](manipulate::bind), [`checkpoint`](manipulate::checkpoint) and
//!   [`wait_on`](manipulate::wait_on).
//! - Handles are cheap to clone, and a layer with a rule costs the same for ten blocks and for 10^8.
//! - What a layer asks for is said around the call: [`annotate`](crate::annotate).
//! - A collection's [graph](crate::graph) can be looked at: its keys, what they need, its text and its picture.
//!
//! [`contract`] says what a type of your own must say about itself; [`crate::graph::custom`] is about operations of your
//! own.

pub mod array;
pub mod bag;
pub mod computed;
pub mod contract;
pub mod dataset;
pub mod delayed;
mod held;
pub mod manipulate;
pub mod nested;

pub use array::Array;
pub use bag::Bag;
pub use computed::Computed;
pub use contract::{Collection, Optimizer, Rename, Runner};
pub use dataset::{Dataset, DatasetError};
pub use delayed::Delayed;
pub use nested::Collections;
