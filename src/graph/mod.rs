//! What is to be computed: symbolic layers over chunked arrays, with their annotations.
//!
//! Reading order: [`expr`] (what happens at one element), [`op`] (what a layer does), [`chunking`] (how
//! arrays are cut), [`layer`] and [`layer_graph`] (the graph), [`rule`] (which blocks a block is made of).
//! Nothing here knows a device.

pub mod block_set;
pub mod chunking;
pub mod cull;
pub mod custom;
pub mod display;
mod draw;
pub mod error;
pub mod expr;
pub mod expr_ops;
pub mod keys;
pub mod layer;
pub mod layer_graph;
pub mod needed;
pub mod op;
pub mod piece;
pub mod rule;
pub mod tasks;
mod topological;
pub mod validate;
pub mod value_spec;
