//! Lazy builders: collections whose operations add layers to a graph.
//!
//! [`Array`] is chunked numbers, [`Bag`] objects in partitions, [`Delayed`] any Rust value, [`Dataset`] named arrays
//! over named dimensions. What makes them collections is [`contract`], which
//! third parties meet with types of their own; [`manipulate`] is what can be done with every one of them.

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
