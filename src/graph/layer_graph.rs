//! The layers that some outputs need, in topological order.

use std::collections::HashMap;
use std::sync::Arc;

use crate::graph::error::GraphError;
use crate::graph::layer::Layer;
use crate::ids::LayerId;

/// A directed acyclic graph of layers. Layers hold their inputs by reference, so a cycle can't be built.
#[derive(Debug, Clone, Default)]
pub struct LayerGraph {
    layers: Vec<Arc<Layer>>,
    inputs: Vec<Vec<LayerId>>,
    outputs: Vec<LayerId>,
}

impl LayerGraph {
    /// Everything that `outputs` need, and nothing else. O(layers + edges), without recursion.
    ///
    /// # Errors
    /// [`GraphError::NameClash`] when two layers of different content or annotations share a name.
    pub fn from_outputs(outputs: &[Arc<Layer>]) -> Result<Self, GraphError> {
        let mut graph = LayerGraph::default();
        let mut ids: HashMap<*const Layer, LayerId> = HashMap::new();
        let mut names: HashMap<String, LayerId> = HashMap::new();
        for output in outputs {
            let mut stack = vec![(output, 0)];
            while let Some((layer, next)) = stack.pop() {
                if ids.contains_key(&Arc::as_ptr(layer)) {
                    continue;
                }
                if let Some(input) = layer.inputs().get(next) {
                    stack.push((layer, next + 1));
                    stack.push((input, 0));
                    continue;
                }
                let id = graph.add(layer, &ids, &mut names)?;
                ids.insert(Arc::as_ptr(layer), id);
            }
            graph.outputs.push(ids[&Arc::as_ptr(output)]);
        }
        Ok(graph)
    }

    /// Layers, inputs before their users.
    pub fn layers(&self) -> impl ExactSizeIterator<Item = (LayerId, &Arc<Layer>)> {
        self.layers.iter().enumerate().map(|(index, layer)| (LayerId::at(index), layer))
    }

    /// Number of layers.
    pub fn len(&self) -> usize {
        self.layers.len()
    }

    /// Whether there is no layer.
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// The layer with this id.
    pub fn layer(&self, id: LayerId) -> &Arc<Layer> {
        &self.layers[id.index()]
    }

    /// The layers that a layer reads, in its operation's order.
    pub fn inputs(&self, id: LayerId) -> &[LayerId] {
        &self.inputs[id.index()]
    }

    /// The layers whose results were asked for, in the order asked.
    pub fn outputs(&self) -> &[LayerId] {
        &self.outputs
    }

    /// For each layer, the layers that read it, each as often as it reads.
    pub fn users(&self) -> Vec<Vec<LayerId>> {
        let mut users = vec![Vec::new(); self.len()];
        for (index, inputs) in self.inputs.iter().enumerate() {
            for input in inputs {
                users[input.index()].push(LayerId::at(index));
            }
        }
        users
    }

    fn add(
        &mut self,
        layer: &Arc<Layer>,
        ids: &HashMap<*const Layer, LayerId>,
        names: &mut HashMap<String, LayerId>,
    ) -> Result<LayerId, GraphError> {
        let inputs: Vec<LayerId> = layer.inputs().iter().map(|input| ids[&Arc::as_ptr(input)]).collect();
        if let Some(&known) = names.get(layer.name()) {
            let other = self.layer(known);
            let same = other.token() == layer.token() && other.annotations() == layer.annotations();
            if !same || self.inputs(known) != inputs {
                return Err(GraphError::NameClash { name: layer.name().to_owned() });
            }
            return Ok(known);
        }
        let id = LayerId::at(self.layers.len());
        names.insert(layer.name().to_owned(), id);
        self.inputs.push(inputs);
        self.layers.push(layer.clone());
        Ok(id)
    }
}
