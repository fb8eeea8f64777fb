//! Lazy builders: collections whose operations add layers to a graph.

pub mod array;

pub use array::Array;
