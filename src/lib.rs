//! Outcrop runs annotated numeric pipelines.
#![deny(missing_docs)]

pub mod annotate;
pub mod block;
pub mod collections;
pub mod device;
pub mod dtype;
pub mod graph;
pub mod ids;
pub mod kernel;
pub mod machine;
pub mod shape;
pub mod token;
pub mod units;
