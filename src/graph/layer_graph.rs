//! The layers that some outputs need: a mapping from keys to what makes their values, which never writes the
//! keys out unless somebody walks over them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use crate::graph::block_set::BlockSet;
use crate::graph::error::GraphError;
use crate::graph::layer::{Layer, LayerBody, Naming, custom_spec};
use crate::graph::needed::Node;
use crate::graph::op::Op;
use crate::graph::rule::Read;
use crate::graph::tasks::{Task, TaskTable};
use crate::graph::value_spec::ValueSpec;
use crate::ids::LayerId;
use crate::key::{Key, KeyError};

/// A directed acyclic graph of layers. Cheap to clone and to make: what look-ups need is found out at the first one.
///
/// Layers hold their inputs by reference, so that a cycle among layers can't be built; explicit tasks, and parts that
/// come by name ([`LayerGraph::from_parts`]), are checked where they come in.
#[derive(Clone)]
pub struct LayerGraph(Arc<Inner>);

struct Inner {
    outputs: Vec<Arc<Layer>>,
    /// What is kept of each layer, where that isn't all of it; by name.
    kept: HashMap<Arc<str>, BlockSet>,
    /// What is asked of outputs, where that isn't all that is kept of them; by name.
    asked: HashMap<Arc<str>, BlockSet>,
    index: OnceLock<Index>,
}

#[derive(Default)]
struct Index {
    layers: Vec<Arc<Layer>>,
    inputs: Vec<Vec<LayerId>>,
    after: Vec<Vec<LayerId>>,
    outputs: Vec<LayerId>,
    names: HashMap<Arc<str>, LayerId>,
    clash: Option<GraphError>,
}

/// Collections, or anything else that layers make: what a new layer may depend on.
pub trait Outputs {
    /// The layers that make the values, in order.
    ///
    /// # Errors
    /// A collection that was built wrongly.
    fn output_layers(&self) -> Result<Vec<Arc<Layer>>, GraphError>;
}

/// What a layer that others add does.
#[derive(Debug)]
pub enum NewLayer {
    /// An operation with rules of its own.
    Custom(Arc<dyn crate::graph::custom::CustomOp>),
    /// Explicit tasks, whose keys have the layer's name; each value takes about `bytes`.
    Tasks {
        /// Keys and tasks.
        tasks: Vec<(Key, Task)>,
        /// Bytes of one value.
        bytes: u64,
    },
}

impl LayerGraph {
    /// Everything that `outputs` need. O(1); look-ups find out the rest.
    pub fn of(outputs: impl IntoIterator<Item = Arc<Layer>>) -> Self {
        LayerGraph::keeping(outputs.into_iter().collect(), HashMap::new(), HashMap::new())
    }

    pub(super) fn keeping(
        outputs: Vec<Arc<Layer>>,
        kept: HashMap<Arc<str>, BlockSet>,
        asked: HashMap<Arc<str>, BlockSet>,
    ) -> Self {
        LayerGraph(Arc::new(Inner { outputs, kept, asked, index: OnceLock::new() }))
    }

    /// As [`LayerGraph::of`], checked.
    ///
    /// # Errors
    /// See [`LayerGraph::validate`].
    pub fn from_outputs(outputs: &[Arc<Layer>]) -> Result<Self, GraphError> {
        let graph = LayerGraph::of(outputs.iter().cloned());
        graph.validate()?;
        Ok(graph)
    }

    /// The graph of a new layer `name` over everything that `dependencies` are made of: the way to add a layer. It
    /// carries the annotations of the scope in which this is called. O(1) for an operation with a rule, O(tasks)
    /// for explicit ones.
    ///
    /// The layer itself is the graph's only [output](LayerGraph::output_layers); a collection's `from_layer` makes a
    /// collection of it. [`Layer::custom`] is the short way where the layers of the inputs are at hand.
    ///
    /// # Errors
    /// An empty name; a dependency that was built wrongly; inputs that the operation's shape rule refuses; tasks
    /// with a missing, doubled or foreign key, or in a circle.
    ///
    /// ```
    /// # use outcrop::collections::{Array, Bag};
    /// # use outcrop::graph::tasks::{Argument, Function, Task};
    /// # use outcrop::graph::{LayerGraph, NewLayer};
    /// # use outcrop::key::Key;
    /// # use outcrop::session::Session;
    /// # use outcrop::value::Object;
    /// let shapes = Function::unregistered("shapes", |values| {
    ///     let blocks = values.iter().filter_map(|value| value.block());
    ///     Ok(Object::new(blocks.map(|block| block.shape().to_string()).collect::<Vec<_>>()))
    /// });
    /// let x = Array::arange(0.0, 1.0, 10).rechunk(&[4]).named("x");
    /// let last = Task { function: shapes, arguments: vec![Argument::Key(Key::block("x", &[2])?)] };
    /// let tasks = vec![(Key::block("seen", &[0])?, last)];
    /// let graph = LayerGraph::from_collections("seen", NewLayer::Tasks { tasks, bytes: 64 }, &x)?;
    /// let seen = Bag::<String>::from_layer(graph.output_layers()[0].clone())?;
    /// assert_eq!(Session::new(Default::default()).compute(&seen)?, ["(2,)"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_collections(
        name: &str,
        layer: NewLayer,
        dependencies: &(impl Outputs + ?Sized),
    ) -> Result<Self, GraphError> {
        let inputs = dependencies.output_layers()?;
        Key::named(name)?;
        let body = layer.body(name, &inputs)?;
        Ok(LayerGraph::of([Layer::of(body, inputs, Naming::Exact(name.into()))]))
    }

    /// Layers, inputs before their users.
    pub fn layers(&self) -> impl ExactSizeIterator<Item = (LayerId, &Arc<Layer>)> {
        self.index().layers.iter().enumerate().map(|(index, layer)| (LayerId::at(index), layer))
    }

    /// Number of layers.
    pub fn layer_count(&self) -> usize {
        self.index().layers.len()
    }

    /// The layer with this id.
    pub fn layer(&self, id: LayerId) -> &Arc<Layer> {
        &self.index().layers[id.index()]
    }

    /// The layer of this name. O(1).
    pub fn layer_named(&self, name: &str) -> Option<&Arc<Layer>> {
        Some(self.layer(*self.index().names.get(name)?))
    }

    /// The layers that a layer reads, in its operation's order.
    pub fn inputs(&self, id: LayerId) -> &[LayerId] {
        &self.index().inputs[id.index()]
    }

    /// The layers that must be done before a layer begins, though it reads nothing of them.
    pub fn after(&self, id: LayerId) -> &[LayerId] {
        &self.index().after[id.index()]
    }

    /// The layers whose results were asked for, in the order asked.
    pub fn outputs(&self) -> &[LayerId] {
        &self.index().outputs
    }

    /// As [`LayerGraph::outputs`]: the layers themselves. O(1), whatever the graph's size.
    pub fn output_layers(&self) -> &[Arc<Layer>] {
        &self.0.outputs
    }

    /// The same graph with other layers in the place of its outputs, which keep of themselves what those kept.
    ///
    /// # Errors
    /// What `replace` finds.
    pub fn with_outputs(
        &self,
        replace: impl Fn(&Arc<Layer>) -> Result<Arc<Layer>, GraphError>,
    ) -> Result<LayerGraph, GraphError> {
        // Of two layers under one name the graph has chosen one: that is the output.
        let old: Vec<&Arc<Layer>> = self.outputs().iter().map(|&id| self.layer(id)).collect();
        let outputs = old.iter().map(|&layer| replace(layer)).collect::<Result<Vec<_>, _>>()?;
        let (mut kept, mut asked) = (self.0.kept.clone(), self.0.asked.clone());
        for blocks in [&mut kept, &mut asked] {
            for (old, new) in old.iter().zip(&outputs) {
                if let Some(own) = blocks.get(old.name()).cloned() {
                    blocks.insert(new.shared_name().clone(), own);
                }
            }
        }
        Ok(LayerGraph::keeping(outputs, kept, asked))
    }

    /// For each layer, the layers that read it, each as often as it reads.
    pub fn users(&self) -> Vec<Vec<LayerId>> {
        let mut users = vec![Vec::new(); self.layer_count()];
        for (index, inputs) in self.index().inputs.iter().enumerate() {
            for input in inputs {
                users[input.index()].push(LayerId::at(index));
            }
        }
        users
    }

    /// Whether all of every layer is kept: the graph wasn't culled.
    pub(super) fn is_whole(&self) -> bool {
        self.0.kept.is_empty()
    }

    /// What is kept of a layer: all of it, unless the graph was culled.
    pub fn kept(&self, id: LayerId) -> BlockSet {
        self.kept_of(self.layer(id))
    }

    /// As [`LayerGraph::kept`], for a layer of this graph at hand.
    pub fn kept_of(&self, layer: &Layer) -> BlockSet {
        self.0.kept.get(layer.name()).cloned().unwrap_or(BlockSet::All)
    }

    /// What is asked of an output: of what is kept, that which isn't there for other values' sake only.
    pub fn asked_of(&self, output: &Layer) -> BlockSet {
        self.0.asked.get(output.name()).cloned().unwrap_or_else(|| self.kept_of(output))
    }

    /// Number of keys. O(layers).
    pub fn len(&self) -> usize {
        self.layers().map(|(id, layer)| self.kept(id).len(layer.spec().count())).sum()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The layer and the number of the value that a key names. O(1).
    pub fn find(&self, key: &Key) -> Option<(LayerId, usize)> {
        let id = *self.index().names.get(key.name())?;
        let block = self.layer(id).block_of(key)?;
        self.kept(id).contains(block).then_some((id, block))
    }

    /// Whether a key is in the graph. O(1).
    pub fn contains(&self, key: &Key) -> bool {
        self.find(key).is_some()
    }

    /// All keys, made on the way. The error is a layer's whose name is empty.
    pub fn keys(&self) -> impl Iterator<Item = Result<Key, KeyError>> + '_ {
        self.layers().flat_map(|(id, layer)| {
            let (all, blocks) = match self.kept(id) {
                BlockSet::All => (layer.spec().count(), Vec::new()),
                BlockSet::Some(blocks) => (0, blocks.to_vec()),
            };
            (0..all).chain(blocks).map(|block| layer.key(block))
        })
    }

    /// The names of the layers that this one reads or waits for; `None` when there is no such layer.
    pub fn dependencies(&self, name: &str) -> Option<BTreeSet<&str>> {
        let id = *self.index().names.get(name)?;
        let all = self.inputs(id).iter().chain(self.after(id));
        Some(all.map(|&input| self.layer(input).name()).collect())
    }

    /// The names of the layers that read this one or wait for it; `None` when there is no such layer. O(layers +
    /// edges).
    pub fn dependents(&self, name: &str) -> Option<BTreeSet<&str>> {
        let id = *self.index().names.get(name)?;
        let needs = |user: &LayerId| self.inputs(*user).contains(&id) || self.after(*user).contains(&id);
        Some(self.layers().map(|(user, _)| user).filter(needs).map(|user| self.layer(user).name()).collect())
    }

    /// The keys that a key's value is made of, each once, in order; `None` when it isn't in the graph.
    ///
    /// # Errors
    /// [`GraphError::BlockRule`]: the operation's block rule names a value that its inputs don't have.
    pub fn key_dependencies(&self, key: &Key) -> Result<Option<Vec<Key>>, GraphError> {
        let Some((id, block)) = self.find(key) else { return Ok(None) };
        let (mut keys, mut seen, mut reads) = (Vec::new(), HashSet::new(), Vec::new());
        self.node(id).reads(block, &mut reads)?;
        for read in reads {
            let source = if read.input == Read::OWN { id } else { self.inputs(id)[usize::from(read.input)] };
            if seen.insert((source, read.block)) {
                keys.push(self.layer(source).key(read.block)?);
            }
        }
        Ok(Some(keys))
    }

    fn index(&self) -> &Index {
        self.0.index.get_or_init(|| Index::of(&self.0.outputs))
    }

    /// The layer as a node among the graph's layers.
    pub(super) fn node(&self, id: LayerId) -> Node<'_> {
        let layer = self.layer(id);
        Node {
            name: layer.name(),
            op: layer.op(),
            spec: layer.spec(),
            inputs: self.inputs(id).iter().map(|input| input.index()).collect(),
            specs: self.inputs(id).iter().map(|&input| self.layer(input).spec()).collect(),
            after: self.after(id).iter().map(|other| other.index()).collect(),
        }
    }

    pub(super) fn clash(&self) -> Option<&GraphError> {
        self.index().clash.as_ref()
    }
}

impl NewLayer {
    fn body(self, name: &str, inputs: &[Arc<Layer>]) -> Result<LayerBody, GraphError> {
        match self {
            NewLayer::Custom(op) => {
                Ok(LayerBody { spec: custom_spec(name, &*op, inputs)?, op: Op::Custom(op) })
            }
            NewLayer::Tasks { tasks, bytes } => {
                let table = TaskTable::new(name, tasks, inputs)?;
                let spec = match table.keys() {
                    None => ValueSpec::object(bytes),
                    keys => ValueSpec { keys: keys.cloned(), ..ValueSpec::objects(table.len(), bytes) },
                };
                Ok(LayerBody { op: Op::Tasks(Arc::new(table)), spec })
            }
        }
    }
}

impl Index {
    /// O(layers + edges), without recursion.
    fn of(outputs: &[Arc<Layer>]) -> Self {
        let mut better = HashMap::new();
        let index = Index::walk(outputs, &HashMap::new(), &mut better);
        if better.is_empty() { index } else { Index::walk(outputs, &better, &mut HashMap::new()) }
    }

    /// Everything that `outputs` need, with the layers of `chosen` in the place of equal ones. Layers that should have
    /// been chosen are left in `better`.
    fn walk(
        outputs: &[Arc<Layer>],
        chosen: &HashMap<Arc<str>, Arc<Layer>>,
        better: &mut HashMap<Arc<str>, Arc<Layer>>,
    ) -> Self {
        let mut index = Index::default();
        let mut ids: HashMap<*const Layer, LayerId> = HashMap::new();
        for output in outputs {
            let mut stack = vec![(output, 0)];
            while let Some((given, next)) = stack.pop() {
                if ids.contains_key(&Arc::as_ptr(given)) {
                    continue;
                }
                let layer = chosen.get(given.name()).filter(|other| equal(given, other)).unwrap_or(given);
                // Those that are only waited for come first: a walk in this order does them before anything else.
                let before = layer.after().get(next);
                if let Some(input) = before.or_else(|| layer.inputs().get(next - layer.after().len())) {
                    stack.push((given, next + 1));
                    stack.push((input, 0));
                    continue;
                }
                let id = index.add(layer, &ids, better);
                ids.insert(Arc::as_ptr(given), id);
            }
            index.outputs.push(ids[&Arc::as_ptr(output)]);
        }
        index
    }

    /// Two layers of one name and one content are one; of two that differ the first counts, until
    /// [`LayerGraph::validate`] tells.
    fn add(
        &mut self,
        layer: &Arc<Layer>,
        ids: &HashMap<*const Layer, LayerId>,
        better: &mut HashMap<Arc<str>, Arc<Layer>>,
    ) -> LayerId {
        let known = |layers: &[Arc<Layer>]| layers.iter().map(|layer| ids[&Arc::as_ptr(layer)]).collect();
        let (inputs, after): (Vec<LayerId>, Vec<LayerId>) = (known(layer.inputs()), known(layer.after()));
        if let Some(&id) = self.names.get(layer.name()) {
            let at = id.index();
            let other = &self.layers[at];
            let same = (&self.inputs[at], &self.after[at]) == (&inputs, &after);
            if equal(layer, other) && (same || layer.is_held() || other.is_held()) {
                let best = better.get(layer.name()).unwrap_or(other);
                if standing(layer) > standing(best) {
                    better.insert(layer.shared_name().clone(), layer.clone());
                }
            } else if self.clash.is_none() {
                self.clash = Some(GraphError::NameClash { name: layer.name().to_owned() });
            }
            return id;
        }
        let id = LayerId::at(self.layers.len());
        self.names.insert(layer.shared_name().clone(), id);
        self.inputs.push(inputs);
        self.after.push(after);
        self.layers.push(layer.clone());
        id
    }
}

/// Whether two layers of one name make the same values.
fn equal(a: &Layer, b: &Layer) -> bool {
    a.token() == b.token() && a.annotations() == b.annotations()
}

/// Which of two equal layers a graph takes: the one whose values are there, else the one for which more room is asked.
fn standing(layer: &Layer) -> (bool, usize) {
    (layer.is_held(), layer.shape().elements())
}

impl std::fmt::Debug for LayerGraph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.layers().map(|(_, layer)| layer)).finish()
    }
}

impl Default for LayerGraph {
    fn default() -> Self {
        LayerGraph::of([])
    }
}

impl Outputs for LayerGraph {
    fn output_layers(&self) -> Result<Vec<Arc<Layer>>, GraphError> {
        Ok(self.0.outputs.clone())
    }
}

impl Outputs for () {
    fn output_layers(&self) -> Result<Vec<Arc<Layer>>, GraphError> {
        Ok(Vec::new())
    }
}

impl Outputs for [Arc<Layer>] {
    fn output_layers(&self) -> Result<Vec<Arc<Layer>>, GraphError> {
        Ok(self.to_vec())
    }
}
