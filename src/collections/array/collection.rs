//! Arrays as collections.

use crate::block::Block;
use crate::collections::array::Array;
use crate::collections::array::build::rechunk;
use crate::collections::computed::Computed;
use crate::collections::contract::{Collection, Rename, rebuilt_layer};
use crate::graph::chunking::Chunking;
use crate::graph::error::GraphError;
use crate::graph::keys::Keys;
use crate::graph::layer_graph::LayerGraph;
use crate::key::Key;
use crate::value::Value;

impl Collection for Array {
    type Value = Block;

    fn graph(&self) -> Result<LayerGraph, GraphError> {
        Ok(LayerGraph::of([self.layer()?.clone()]))
    }

    fn keys(&self) -> Result<Keys, GraphError> {
        let layer = self.layer()?;
        Ok(Keys::Grid { name: layer.shared_name().clone(), grid: layer.chunks().grid() })
    }

    fn rebuild(&self, graph: &LayerGraph, rename: &Rename) -> Result<Self, GraphError> {
        Ok(Array::from_layer(rebuilt_layer(self.layer()?, graph, rename)?))
    }

    fn finalize(&self, values: &Computed) -> Result<Block, GraphError> {
        let layer = self.layer()?;
        if let Some(array) = values.array(layer.name()) {
            return Ok(array.clone());
        }
        let key = Key::block(layer.shared_name().clone(), &layer.spec().index(0))?;
        let wrong = |found: String| GraphError::WrongValue {
            key: key.to_string(),
            expected: format!("the whole array, {}", layer.spec()),
            found,
        };
        match values.find(&key) {
            Some(Value::Block(block)) if layer.spec().count() == 1 => Ok(Block::clone(&block)),
            Some(other) => Err(wrong(other.describe())),
            None => Err(wrong("not among the computed values".to_owned())),
        }
    }
}

impl Array {
    /// The whole array as one block.
    pub(in crate::collections) fn whole(&self) -> Result<Array, GraphError> {
        let layer = self.layer()?;
        Ok(Array::from_layer(rechunk(layer, Chunking::single(&layer.shape()))))
    }
}
