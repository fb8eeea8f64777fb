//! Outcrop runs annotated numeric pipelines.
#![deny(missing_docs)]

pub mod dtype;
pub mod pipeline;
pub mod shape;
pub mod units;
