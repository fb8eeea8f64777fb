//! Layers whose values are parts of another layer's.

use std::sync::Arc;

use crate::graph::chunking::Chunking;
use crate::steps::PlanLayer;

/// The layer whose blocks are made in parts: each part lies within one of its blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartsOf {
    /// Its name in the graph.
    pub root: Arc<str>,
    /// Its blocks.
    pub chunks: Chunking,
    /// Parts of its largest block.
    pub count: usize,
}

impl PlanLayer {
    /// The name in the graph of the layer whose values it makes, whole or in parts.
    pub fn whole_root(&self) -> &str {
        self.parts.as_ref().map_or(&self.root, |parts| &parts.root)
    }

    /// The layer and the block, by its name in the graph, that a value is or is a part of. O(log blocks).
    pub fn whole(&self, block: usize) -> (&Arc<str>, usize) {
        match &self.parts {
            None => (&self.root, block),
            Some(parts) => (&parts.root, parts.chunks.find(&self.chunks.region_of(block).origin)),
        }
    }
}
