//! What is to be computed: symbolic layers over chunked arrays and objects, with their annotations.
//!
//! A collection's [`graph`](crate::collections::Collection::graph) is a [`LayerGraph`]: a mapping from keys to what makes
//! their values, which never writes the keys out unless somebody walks over them.
//!
//! ```
//! use outcrop::collections::{Array, Collection, array::Over};
//! use outcrop::graph::Keys;
//! use outcrop::key::Key;
//!
//! let x = Array::arange(0.0, 1.0, 1_000_000).rechunk(&[1_000]).named("x");
//! let y = (&x * 2.0).named("y");
//! let graph = y.sum(&Over::all()).named("total").graph()?;
//!
//! print!("{graph}"); // one line a layer: name, operation, values, inputs, annotations
//! assert_eq!(graph.len(), 2001);
//! assert_eq!(graph.dependencies("y"), Some(["x"].into()));
//! assert!(graph.contains(&Key::named("total")?));
//!
//! // What one block needs, and nothing else: the layers stay rules.
//! let key = Key::block("y", &[7])?;
//! assert_eq!(graph.key_dependencies(&key)?, Some(vec![Key::block("x", &[7])?]));
//! let few = graph.cull(&Keys::One(key))?;
//! assert_eq!((few.layer_count(), few.len()), (2, 2));
//! for task in few.to_tasks()? {
//!     println!("{} = {} of {:?}", task.key, task.op, task.reads);
//! }
//!
//! let picture = graph.to_svg(); // a document to write to a file; to_dot is for Graphviz
//! # assert!(picture.starts_with("<svg"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | question | answer | cost |
//! |---|---|---|
//! | which layers, in order? | [`layers`](LayerGraph::layers), [`layer_named`](LayerGraph::layer_named) | O(layers) at the first, then O(1) |
//! | which keys? | [`keys`](LayerGraph::keys), [`contains`](LayerGraph::contains), [`find`](LayerGraph::find) | an iterator; O(1) |
//! | what is a layer made of, and who reads it? | [`dependencies`](LayerGraph::dependencies), [`dependents`](LayerGraph::dependents) | O(layers + edges) |
//! | what is a value made of? | [`key_dependencies`](LayerGraph::key_dependencies) | O(values read) |
//! | what do some keys need? | [`cull`](LayerGraph::cull) | O(layers); O(values) where a layer isn't needed whole |
//! | several graphs as one | [`merge`](LayerGraph::merge) | O(layers) |
//! | is it sound? | [`validate`](LayerGraph::validate) | O(layers) |
//! | every task, written out | [`to_tasks`](LayerGraph::to_tasks) | O(tasks) |
//! | as text, as a picture | `Display`, [`to_svg`](LayerGraph::to_svg), [`to_dot`](LayerGraph::to_dot) | O(layers) |
//!
//! Layers are added by operations of collections, with [`Layer::custom`] and [`LayerGraph::from_collections`]; what a
//! layer asks for is [`Layer::annotations`]. A graph that was culled says with [`kept`](LayerGraph::kept) what is left of
//! each layer.
//!
//! Reading order of the sources: [`expr`] (what happens at one element), [`op`] (what a layer does), [`chunking`] (how
//! arrays are cut), [`layer`] and [`layer_graph`] (the graph), [`rule`] (which blocks a block is made of), [`custom`] and
//! [`tasks`] (what others add). Nothing here knows a device.

pub mod block_set;
pub mod chunking;
pub mod content;
pub mod cull;
pub mod custom;
pub mod device_source;
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

pub use custom::{Call, CustomOp, Made, TaskError};
pub use device_source::DeviceSource;
pub use error::GraphError;
pub use keys::Keys;
pub use layer::Layer;
pub use layer_graph::{LayerGraph, NewLayer, Outputs};
pub use rule::Read;
pub use value_spec::ValueSpec;
