//! What is known before a plan is made: values that exist already, under which tokens values can be kept, and what earlier
//! runs found out about devices.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::graph::block_set::BlockSet;
use crate::graph::content::Contents;
use crate::graph::layer::Layer;
use crate::graph::op::Op;
use crate::machine::DeviceId;

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
    /// Blocks that sinks have, by layer.
    stored: BTreeMap<Arc<str>, BTreeSet<usize>>,
    /// Devices whose memory gave out: they do one thing at a time.
    in_turn: BTreeSet<DeviceId>,
    /// In how many parts a device makes each block of a layer, where that isn't one.
    parts: BTreeMap<(Arc<str>, DeviceId), usize>,
    /// Devices that turned out to be too small for a layer, and how.
    too_small: BTreeMap<(Arc<str>, DeviceId), String>,
}

impl Known {
    /// Nothing is known, and nothing is to be kept.
    pub fn none() -> Self {
        Known::default()
    }

    /// Nothing is known; values that later runs may ask for are to be kept under these tokens.
    pub fn keeping(contents: Contents) -> Self {
        Known::none().and_keeping(contents)
    }

    /// What is known, and values that later runs may ask for are to be kept under these tokens.
    pub fn and_keeping(self, contents: Contents) -> Self {
        Known { contents: Some(contents), ..self }
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

    /// Forgets all values, which are computed again.
    pub fn forget_values(&mut self) {
        self.layers.clear();
    }

    /// The sink of this name has a block already; it isn't stored again. O(log blocks).
    pub fn add_stored(&mut self, layer: &str, block: usize) {
        self.stored.entry(layer.into()).or_default().insert(block);
    }

    /// Forgets what sinks have: all of it is stored again.
    pub fn forget_stored(&mut self) {
        self.stored.clear();
    }

    /// Of `asked` blocks of a sink, those that it doesn't have.
    pub fn unstored(&self, layer: &Layer, asked: BlockSet) -> BlockSet {
        let Some(stored) = self.stored.get(layer.name()) else { return asked };
        let count = layer.spec().count();
        BlockSet::of(asked.iter(count).filter(|block| !stored.contains(block)).collect(), count)
    }

    /// The device's memory gave out: its steps run one after the other, in planned order. Whether that is news.
    pub fn add_in_turn(&mut self, device: DeviceId) -> bool {
        self.in_turn.insert(device)
    }

    /// Whether the device does one thing at a time.
    pub fn is_in_turn(&self, device: DeviceId) -> bool {
        self.in_turn.contains(&device)
    }

    /// The device makes each block of the layer of this name in so many parts, as long as the layer is placed there.
    pub fn add_parts(&mut self, layer: &str, device: DeviceId, parts: usize) {
        self.parts.insert((layer.into(), device), parts);
    }

    /// In how many parts a device makes each block of a layer.
    pub fn parts(&self, layer: &Layer, device: DeviceId) -> usize {
        self.parts.get(&(layer.shared_name().clone(), device)).copied().unwrap_or(1)
    }

    /// Whether any device makes blocks in parts.
    pub fn has_parts(&self) -> bool {
        !self.parts.is_empty()
    }

    /// The device is too small for the layer of this name, as a run found out: the layer isn't placed there. Whether that
    /// is news.
    pub fn add_too_small(&mut self, layer: &str, device: DeviceId, how: &str) -> bool {
        self.too_small.insert((layer.into(), device), how.to_owned()).is_none()
    }

    /// How a device is too small for a layer, if it is known to be.
    pub fn too_small(&self, layer: &Layer, device: DeviceId) -> Option<&str> {
        self.too_small.get(&(layer.shared_name().clone(), device)).map(String::as_str)
    }

    /// The tokens under which values can be kept, where they are to be kept.
    pub fn contents(&self) -> Option<&Contents> {
        self.contents.as_ref()
    }
}
