//! Graphs out of graphs: what some keys need, several as one, all tasks written out.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::graph::block_set::BlockSet;
use crate::graph::error::GraphError;
use crate::graph::keys::Keys;
use crate::graph::layer::Layer;
use crate::graph::layer_graph::{LayerGraph, NewLayer};
use crate::graph::needed::{Node, propagate};
use crate::graph::topological::topological;
use crate::ids::LayerId;
use crate::key::Key;

/// A layer that names its inputs: what a wire format holds.
#[derive(Debug)]
pub struct Part {
    /// The layer's name.
    pub name: String,
    /// What it does.
    pub layer: NewLayer,
    /// The names of the layers that it reads, in order.
    pub inputs: Vec<String>,
}

/// One task, written out.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskNode {
    /// Names its value.
    pub key: Key,
    /// What it does.
    pub op: String,
    /// The values that it reads, each once.
    pub reads: Vec<Key>,
}

/// What some keys name.
#[derive(Default)]
struct Wanted {
    /// Their layers, each once, in the order in which they come.
    outputs: Vec<LayerId>,
    blocks: HashMap<LayerId, Vec<usize>>,
    whole: HashSet<LayerId>,
}

impl Wanted {
    fn output(&mut self, id: LayerId) {
        if !self.blocks.contains_key(&id) && !self.whole.contains(&id) {
            self.outputs.push(id);
        }
    }
}

impl LayerGraph {
    /// The layers, and of each the values, that `keys` need: exactly those, and the same in every process. O(layers)
    /// as long as a layer is needed whole, and O(values needed) where it isn't.
    ///
    /// # Errors
    /// [`GraphError::UnknownKey`] for a key that isn't in the graph; a block rule that names values that aren't
    /// there.
    pub fn cull(&self, keys: &Keys) -> Result<LayerGraph, GraphError> {
        let mut wanted = Wanted::default();
        self.collect(keys, &mut wanted)?;
        let mut needed = vec![BlockSet::none(); self.layer_count()];
        for (id, blocks) in wanted.blocks {
            needed[id.index()] = BlockSet::of(blocks, self.layer(id).spec().count());
        }
        wanted.whole.iter().for_each(|id| needed[id.index()] = BlockSet::All);
        let outputs: Vec<&Arc<Layer>> = wanted.outputs.iter().map(|&id| self.layer(id)).collect();
        let asked: Vec<BlockSet> = wanted.outputs.iter().map(|id| needed[id.index()].clone()).collect();
        let nodes: Vec<Node<'_>> = self.layers().map(|(id, _)| self.node(id)).collect();
        propagate(&nodes, |at| self.kept(LayerId::at(at)), |_| BlockSet::none(), &mut needed)?;
        let kept = self.layers().filter(|(id, _)| needed[id.index()] != BlockSet::All);
        let kept =
            kept.map(|(id, layer)| (layer.shared_name().clone(), needed[id.index()].clone())).collect();
        let asked = outputs.iter().zip(asked).zip(&wanted.outputs);
        let asked = asked.filter(|((_, asked), id)| *asked != needed[id.index()]);
        let asked = asked.map(|((layer, asked), _)| (layer.shared_name().clone(), asked)).collect();
        Ok(LayerGraph::keeping(outputs.into_iter().cloned().collect(), kept, asked))
    }

    fn collect(&self, keys: &Keys, wanted: &mut Wanted) -> Result<(), GraphError> {
        match keys {
            Keys::One(key) => {
                let (id, block) = self.find(key).ok_or_else(|| self.unknown(key))?;
                wanted.output(id);
                wanted.blocks.entry(id).or_default().push(block);
            }
            Keys::Grid { name, grid } => {
                let last: Vec<usize> = grid.iter().map(|count| count.saturating_sub(1)).collect();
                let key = Key::block(name.clone(), &last)?;
                let (id, _) = self.find(&key).ok_or_else(|| self.unknown(&key))?;
                let layer = self.layer(id);
                if layer.spec().count() != grid.elements() {
                    return Err(self.unknown(&key));
                }
                wanted.output(id);
                if layer.spec().keys.is_none() && self.kept(id) == BlockSet::All {
                    wanted.whole.insert(id);
                    return Ok(());
                }
                // Keys that were chosen one by one may be others, and of what was culled some are gone.
                for key in keys.iter() {
                    let key = key?;
                    let (_, block) = self.find(&key).ok_or_else(|| self.unknown(&key))?;
                    wanted.blocks.entry(id).or_default().push(block);
                }
            }
            Keys::List(lists) => lists.iter().try_for_each(|keys| self.collect(keys, wanted))?,
        }
        Ok(())
    }

    /// Several graphs as one: the outputs of all, in order, and of each layer what any of them keeps.
    ///
    /// # Errors
    /// [`GraphError::NameClash`] when two graphs have different layers under one name.
    pub fn merge(graphs: &[LayerGraph]) -> Result<LayerGraph, GraphError> {
        let mut seen = HashSet::new();
        let outputs = graphs.iter().flat_map(|graph| graph.output_layers());
        let outputs = outputs.filter(|output| seen.insert(Arc::as_ptr(output))).cloned().collect();
        let mut kept: HashMap<Arc<str>, BlockSet> = HashMap::new();
        let (whole, culled): (Vec<&LayerGraph>, Vec<&LayerGraph>) =
            graphs.iter().partition(|graph| graph.is_whole());
        let is_culled = !culled.is_empty();
        for graph in culled {
            for (id, layer) in graph.layers() {
                let (own, count) = (graph.kept(id), layer.spec().count());
                kept.entry(layer.shared_name().clone())
                    .and_modify(|known| *known = known.union(&own, count))
                    .or_insert(own);
            }
        }
        if !kept.is_empty() {
            let whole = LayerGraph::of(whole.iter().flat_map(|graph| graph.output_layers()).cloned());
            kept.retain(|name, blocks| *blocks != BlockSet::All && whole.layer_named(name).is_none());
        }
        let mut asked: HashMap<Arc<str>, BlockSet> = HashMap::new();
        for graph in graphs.iter().filter(|_| is_culled) {
            for output in graph.output_layers() {
                let (own, count) = (graph.asked_of(output), output.spec().count());
                asked
                    .entry(output.shared_name().clone())
                    .and_modify(|known| *known = known.union(&own, count))
                    .or_insert(own);
            }
        }
        let merged = LayerGraph::keeping(outputs, kept, asked);
        merged.validate()?;
        Ok(merged)
    }

    /// The graph of layers that name their inputs, in any order; the outputs are those that nobody reads. Every layer
    /// carries the annotations of the scope in which this is called.
    ///
    /// # Errors
    /// Two layers of one name, an input that isn't there, layers that read each other in a circle, and whatever
    /// [`LayerGraph::from_collections`] refuses.
    pub fn from_parts(parts: Vec<Part>) -> Result<LayerGraph, GraphError> {
        let mut places: HashMap<String, usize> = HashMap::new();
        for (at, part) in parts.iter().enumerate() {
            if places.insert(part.name.clone(), at).is_some() {
                return Err(GraphError::NameClash { name: part.name.clone() });
            }
        }
        let mut reads: Vec<Vec<usize>> = Vec::with_capacity(parts.len());
        let mut is_read = vec![false; parts.len()];
        for part in &parts {
            let place = |input: &String| {
                let missing = || GraphError::MissingInput { input: input.clone(), layer: part.name.clone() };
                places.get(input).copied().ok_or_else(missing)
            };
            let inputs = part.inputs.iter().map(place).collect::<Result<Vec<_>, _>>()?;
            inputs.iter().for_each(|&input| is_read[input] = true);
            reads.push(inputs);
        }
        let order = topological(&reads).map_err(|circle| GraphError::Cycle {
            keys: circle.into_iter().map(|at| parts[at].name.clone()).collect(),
        })?;
        let mut parts: Vec<Option<Part>> = parts.into_iter().map(Some).collect();
        let mut made: Vec<Option<Arc<Layer>>> = vec![None; parts.len()];
        for at in order {
            let inputs: Vec<Arc<Layer>> = reads[at].iter().filter_map(|&input| made[input].clone()).collect();
            if let Some(part) = parts[at].take() {
                let graph = LayerGraph::from_collections(&part.name, part.layer, inputs.as_slice())?;
                made[at] = graph.output_layers().first().cloned();
            }
        }
        let unread = made.into_iter().zip(is_read).filter(|(_, is_read)| !is_read);
        Ok(LayerGraph::of(unread.filter_map(|(layer, _)| layer)))
    }

    /// Every task, written out, inputs before users. O(tasks): for small graphs, and for other schedulers.
    ///
    /// # Errors
    /// As [`LayerGraph::key_dependencies`].
    pub fn to_tasks(&self) -> Result<Vec<TaskNode>, GraphError> {
        let mut tasks = Vec::with_capacity(self.len());
        for (id, layer) in self.layers() {
            for block in self.kept(id).iter(layer.spec().count()) {
                let key = layer.key(block)?;
                let reads = self.key_dependencies(&key)?.unwrap_or_default();
                tasks.push(TaskNode { key, op: layer.op().name().to_owned(), reads });
            }
        }
        Ok(tasks)
    }

    fn unknown(&self, key: &Key) -> GraphError {
        let same_name = self.layer_named(key.name());
        let names = || self.output_layers().iter().map(|layer| layer.name()).collect::<Vec<_>>().join(", ");
        GraphError::UnknownKey {
            key: key.to_string(),
            have: same_name.map_or_else(
                || format!("no layer has this name; the outputs are {}", names()),
                |layer| format!("the layer '{}' makes {}, {}", layer.name(), layer.spec(), keys_of(layer)),
            ),
        }
    }
}

/// The keys of a layer's values, as far as one line takes them: the first and the last.
fn keys_of(layer: &Layer) -> String {
    let key = |block| layer.key(block).map_or_else(|error| error.to_string(), |key| key.to_string());
    match layer.spec().count() {
        0 => "and has no keys".to_owned(),
        1 => format!("under the key {}", key(0)),
        count => format!("under keys from {} to {}", key(0), key(count - 1)),
    }
}
