//! What somebody else builds on Outcrop: a collection type, operations with rules of their own, and a generic function,
//! made of public items alone.
//!
//! - [`Ragged`]: rows of unequal length in partitions, with a header: a collection with two names.
//! - [`window`]: an operation whose values read their neighbours.
//! - [`delay`]: any collection with a delay before every block of it.
#![deny(missing_docs)]

pub mod delay;
pub mod ragged;
pub mod window;

pub use delay::{Delay, delayed};
pub use ragged::{Header, Ragged, RaggedRows};
