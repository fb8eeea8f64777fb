//! Outcrop runs annotated numeric pipelines.
#![deny(missing_docs)]

pub mod annotate;
pub mod block;
pub mod cli;
pub mod collections;
pub mod device;
pub mod dtype;
pub mod error;
pub mod exec;
pub mod graph;
pub mod ids;
pub mod kernel;
pub mod machine;
pub mod pipeline;
pub mod plan;
pub mod report;
pub mod session;
pub mod settings;
pub mod shape;
pub mod steps;
pub mod token;
pub mod units;
