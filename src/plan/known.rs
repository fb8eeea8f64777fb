//! What is known before a plan is made: values that exist already, and under which tokens values can be kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::graph::block_set::BlockSet;
use crate::graph::content::Contents;
use crate::graph::layer::Layer;
use crate::graph::op::Op;

/// Where a value is that exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KnownAt {
    /// In the store of a resume directory.
    Store,
    /// In host memory, handed over by an earlier run.
    Memory,
}

/// Values that needn't be computed, by layer and block. It takes O(known blocks), however many there are in all.
///
/// ```
/// use outcrop::plan::known::{Known, KnownAt};
///
/// let mut known = Known::none();
/// known.add("hill", 3, KnownAt::Store);
/// assert_eq!((known.at("hill", 3), known.at("hill", 4)), (Some(KnownAt::Store), None));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Known {
    layers: BTreeMap<Arc<str>, BTreeMap<usize, KnownAt>>,
    contents: Option<Contents>,
}

impl Known {
    /// Nothing is known, and nothing is to be kept.
    pub fn none() -> Self {
        Known::default()
    }

    /// Nothing is known; values that later runs may ask for are to be kept under these tokens.
    pub fn keeping(contents: Contents) -> Self {
        Known { layers: BTreeMap::new(), contents: Some(contents) }
    }

    /// Value `block` of the layer of this name exists. One that is in memory isn't read from a store. O(log blocks).
    pub fn add(&mut self, layer: &str, block: usize, at: KnownAt) {
        let blocks = match self.layers.get_mut(layer) {
            Some(blocks) => blocks,
            None => self.layers.entry(layer.into()).or_default(),
        };
        let known = blocks.entry(block).or_insert(at);
        *known = at.max(*known);
    }

    /// Where a value is, if it exists. O(log blocks).
    pub fn at(&self, layer: &str, block: usize) -> Option<KnownAt> {
        self.layers.get(layer)?.get(&block).copied()
    }

    /// How many values exist. O(layers).
    pub fn len(&self) -> usize {
        self.layers.values().map(BTreeMap::len).sum()
    }

    /// Whether none exists.
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// Whether any value of the layer of this name exists.
    pub fn has_layer(&self, layer: &str) -> bool {
        self.layers.contains_key(layer)
    }

    /// The blocks of a layer that exist. What is loaded is read where it is, and sinks make no values.
    pub fn blocks_of(&self, layer: &Layer) -> BlockSet {
        match self.layers.get(layer.name()) {
            Some(blocks) if !matches!(layer.op(), Op::Load(_) | Op::Store(_)) => {
                BlockSet::of(blocks.keys().copied().collect(), layer.spec().count())
            }
            _ => BlockSet::none(),
        }
    }

    /// The tokens under which values can be kept, where they are to be kept.
    pub fn contents(&self) -> Option<&Contents> {
        self.contents.as_ref()
    }
}
