//! Values that were computed, by key.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::block::Block;
use crate::graph::block_set::BlockSet;
use crate::graph::error::GraphError;
use crate::graph::layer::Layer;
use crate::key::Key;
use crate::value::Value;

/// What [`Collection::finalize`](crate::collections::Collection::finalize) finds its values in.
#[derive(Clone, Debug, Default)]
pub struct Computed {
    layers: BTreeMap<Arc<str>, (Arc<Layer>, Values)>,
}

#[derive(Clone, Debug)]
enum Values {
    Whole(Block),
    Some(BlockSet, Arc<[Value]>),
}

impl Computed {
    /// Adds a layer's whole array.
    pub fn add_array(&mut self, layer: &Arc<Layer>, array: Block) {
        self.layers.insert(layer.shared_name().clone(), (layer.clone(), Values::Whole(array)));
    }

    /// Adds values of a layer, those of `blocks` in ascending order.
    pub fn add_values(&mut self, layer: &Arc<Layer>, blocks: BlockSet, values: Vec<Value>) {
        let values = Values::Some(blocks, values.into());
        self.layers.insert(layer.shared_name().clone(), (layer.clone(), values));
    }

    /// A layer's whole array, when all of it was computed: finalising it needs no copy.
    pub fn array(&self, name: &str) -> Option<&Block> {
        match self.layers.get(name)? {
            (_, Values::Whole(block)) => Some(block),
            (_, Values::Some(..)) => None,
        }
    }

    /// The value of a key; blocks of a whole array are views of it. O(1), O(log values) where a part was computed.
    pub fn find(&self, key: &Key) -> Option<Value> {
        let (layer, values) = self.layers.get(key.name())?;
        let block = layer.block_of(key)?;
        match values {
            Values::Whole(array) => Some(array.part(&layer.chunks().region_of(block)).into()),
            Values::Some(blocks, values) => values.get(blocks.position(block)?).cloned(),
        }
    }

    /// The object of a key, as a `T`.
    ///
    /// # Errors
    /// There is no such value, or it is of another type.
    pub fn object<T: std::any::Any + Send + Sync>(&self, key: &Key) -> Result<Arc<T>, GraphError> {
        let wrong = |found: String| GraphError::WrongValue {
            key: key.to_string(),
            expected: std::any::type_name::<T>().to_owned(),
            found,
        };
        match self.find(key) {
            Some(Value::Object(object)) => {
                object.to_shared().ok_or_else(|| wrong(object.type_name().to_owned()))
            }
            Some(other) => Err(wrong(other.describe())),
            None => Err(wrong("not among the computed values".to_owned())),
        }
    }

    /// Every layer of which something was computed, by name.
    pub fn layers(&self) -> impl Iterator<Item = &Arc<Layer>> {
        self.layers.values().map(|(layer, _)| layer)
    }

    /// What was computed of a layer, and its values in order.
    pub(super) fn values(&self, name: &str) -> Option<(&BlockSet, &Arc<[Value]>)> {
        match self.layers.get(name)? {
            (_, Values::Some(blocks, values)) => Some((blocks, values)),
            (_, Values::Whole(_)) => None,
        }
    }
}
