//! Bags as collections, and as arguments of calls.

use crate::collections::bag::Bag;
use crate::collections::computed::Computed;
use crate::collections::contract::{Collection, Rename, rebuilt_layer};
use crate::collections::delayed::{Argument, Calling, Reader};
use crate::graph::custom::TaskError;
use crate::graph::error::GraphError;
use crate::graph::keys::Keys;
use crate::graph::layer_graph::LayerGraph;
use std::any::Any;

/// Computing a bag gives all items, in the order of the partitions.
impl<T: Any + Send + Sync + Clone> Collection for Bag<T> {
    type Value = Vec<T>;

    fn graph(&self) -> Result<LayerGraph, GraphError> {
        Ok(LayerGraph::of([self.layer()?.clone()]))
    }

    fn keys(&self) -> Result<Keys, GraphError> {
        let layer = self.layer()?;
        Ok(Keys::Grid { name: layer.shared_name().clone(), grid: layer.chunks().grid() })
    }

    fn rebuild(&self, graph: &LayerGraph, rename: &Rename) -> Result<Self, GraphError> {
        Bag::from_layer(rebuilt_layer(self.layer()?, graph, rename)?)
    }

    fn finalize(&self, values: &Computed) -> Result<Vec<T>, GraphError> {
        let layer = self.layer()?;
        let mut items = Vec::new();
        for partition in 0..layer.spec().count() {
            items.extend_from_slice(&values.object::<Vec<T>>(&layer.key(partition)?)?);
        }
        Ok(items)
    }
}

/// A call gets all items, in the order of the partitions.
impl<T: Any + Send + Sync + Clone> Argument for &Bag<T> {
    type Value = [T];
    type Held = Vec<T>;

    fn bind(&self, call: &mut Calling) -> Result<Reader<Vec<T>>, GraphError> {
        let layer = self.layer()?;
        call.read_all(layer)?;
        let count = layer.spec().count();
        Ok(Box::new(move |values| {
            let mut items = Vec::new();
            for value in values.by_ref().take(count) {
                let wrong = || TaskError::new(format!("a partition is {}", value.describe()));
                items.extend_from_slice(value.object::<Vec<T>>().ok_or_else(wrong)?);
            }
            Ok(items)
        }))
    }
}
