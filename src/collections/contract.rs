//! The collection contract: what a lazy type must say about itself so that every generic function takes it.
//!
//! A collection is a handle: a graph, the keys of its values in it, and whatever it knows about them (shape, names,
//! types). [`Collection`] is all that a third party implements; computing, persisting, drawing, and the functions of
//! [`manipulate`](crate::collections::manipulate) come with it. Often it is a thin one around others, whose parts do the
//! work:
//!
//! ```
//! use outcrop::block::Block;
//! use outcrop::collections::manipulate::{Options, clone};
//! use outcrop::collections::{Array, Collection, Computed, Rename};
//! use outcrop::graph::{GraphError, Keys, LayerGraph};
//! use outcrop::session::Session;
//! use outcrop::testing::check_collection;
//!
//! /// An array with a unit.
//! #[derive(Clone)]
//! struct Measured(Array, &'static str);
//!
//! impl Collection for Measured {
//!     type Value = (Block, &'static str);
//!
//!     fn graph(&self) -> Result<LayerGraph, GraphError> {
//!         self.0.graph()
//!     }
//!     fn keys(&self) -> Result<Keys, GraphError> {
//!         self.0.keys()
//!     }
//!     fn rebuild(&self, graph: &LayerGraph, rename: &Rename) -> Result<Self, GraphError> {
//!         Ok(Measured(self.0.rebuild(graph, rename)?, self.1))
//!     }
//!     fn finalize(&self, values: &Computed) -> Result<Self::Value, GraphError> {
//!         Ok((self.0.finalize(values)?, self.1))
//!     }
//! }
//!
//! let depth = Measured(Array::arange(0.0, 0.5, 10).rechunk(&[4]), "m");
//! let session = Session::new(Default::default());
//! check_collection(&depth, &session, PartialEq::eq)?; // says where a type breaks a clause
//! let (original, copy) = session.compute(&(depth.clone(), clone(&depth, &Options::new())?))?;
//! assert_eq!(original, copy);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! One whose layers are its own makes them with [`Layer::custom`] or [`LayerGraph::from_collections`], lists their keys as
//! a [`Keys::Grid`], and finds their successors in another graph with [`rebuilt_layer`], which refuses what clause 5 says.
//! [`Computed::object`] finds the values:
//!
//! ```
//! # use outcrop::collections::contract::rebuilt_layer;
//! # use outcrop::collections::{Collection, Computed, Rename};
//! # use outcrop::graph::{GraphError, Keys, Layer, LayerGraph};
//! # use std::sync::Arc;
//! /// One `String` for each task of its layer.
//! #[derive(Clone)]
//! struct Lines(Arc<Layer>);
//!
//! impl Collection for Lines {
//!     type Value = String;
//!
//!     fn graph(&self) -> Result<LayerGraph, GraphError> {
//!         Ok(LayerGraph::of([self.0.clone()]))
//!     }
//!     fn keys(&self) -> Result<Keys, GraphError> {
//!         Ok(Keys::Grid { name: self.0.shared_name().clone(), grid: self.0.chunks().grid() })
//!     }
//!     fn rebuild(&self, graph: &LayerGraph, rename: &Rename) -> Result<Self, GraphError> {
//!         Ok(Lines(rebuilt_layer(&self.0, graph, rename)?))
//!     }
//!     fn finalize(&self, values: &Computed) -> Result<String, GraphError> {
//!         let line = |block| Ok(values.object::<String>(&self.0.key(block)?)?.to_string());
//!         (0..self.0.spec().count()).map(line).collect()
//!     }
//! }
//! # use outcrop::collections::Bag;
//! # let lines = Bag::range(0..3, 3).map_partitions("text", |n| vec![n[0]]);
//! # let lines = lines.layer()?.clone();
//! # assert_eq!(Lines(lines).keys()?.len(), 3);
//! # Ok::<(), GraphError>(())
//! ```
//!
//! A failure of its own is a [`GraphError::foreign`], with what to do in the text. A function takes a third party's
//! collection as [`Whole(&mine)`](crate::collections::delayed::Whole). `tests/third-party` in Outcrop's repository is a
//! whole crate: rows of unequal length, an operation that reads neighbours, and a function that puts a layer behind every
//! output of any collection.
//!
//! # The clauses
//!
//! 1. **Graph.** [`graph`](Collection::graph) gives a graph that passes
//!    [`validate`](LayerGraph::validate), the same at every call.
//! 2. **Keys.** [`keys`](Collection::keys) gives at least one key; every key is in the graph, and none comes twice.
//! 3. **Names.** [`layer_names`](Collection::layer_names) are exactly the names that the keys have, and each is a
//!    layer of the graph. A collection has one name, a composite one has several.
//! 4. **Rebuild.** [`rebuild`](Collection::rebuild) with a graph and a rename map gives the same collection over that
//!    graph: names that the map has are replaced by the new ones, others stay, entries for names that aren't the
//!    collection's are ignored. The keys keep their nesting and their parts. The original isn't touched.
//! 5. **Refusal.** `rebuild` over a graph that lacks the keys, or that has values of another kind under them, is an
//!    error that names the layer.
//! 6. **Finalise.** [`finalize`](Collection::finalize) makes the value out of the computed ones, found by key, and out
//!    of nothing else: a rebuilt collection finalises equal values to an equal value.
//! 7. **Token.** [`token`](Collection::token) is equal for equal content, differs where the content does, and depends
//!    neither on annotations nor on layers' names. What has no token of its own (an array from memory, an opaque literal,
//!    an unregistered function) counts by identity: it equals itself and its copies, and nothing else.
//! 8. **Optimiser.** [`optimizer`](Collection::optimizer) is asked once for each group of collections that share it. What it
//!    gives back has all the keys, and has lost no annotation; that is checked.
//! 9. **Laziness.** Nothing of the above computes a value.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::collections::computed::Computed;
use crate::collections::nested;
use crate::graph::error::GraphError;
use crate::graph::keys::Keys;
use crate::graph::layer::Layer;
use crate::graph::layer_graph::LayerGraph;
use crate::token::{Token, Tokenizer};

/// A lazy collection. The numbered clauses of the contract are in [this module's documentation](self).
#[diagnostic::on_unimplemented(
    message = "`{Self}` isn't a collection",
    label = "not a collection",
    note = "several are nested by value: `&(x.clone(), y.clone())`; clones are handles, and cheap",
    note = "a bag is a collection when its items are `Clone`: wrap them in an `Arc`"
)]
pub trait Collection: Clone {
    /// What computing it gives.
    type Value;

    /// The graph that makes its values. Cheap: a handle.
    ///
    /// # Errors
    /// The collection was built wrongly.
    fn graph(&self) -> Result<LayerGraph, GraphError>;

    /// The keys of its values, nested in its own way.
    ///
    /// # Errors
    /// The collection was built wrongly.
    fn keys(&self) -> Result<Keys, GraphError>;

    /// The names that its keys have: one, or several for a composite.
    ///
    /// # Errors
    /// The collection was built wrongly.
    fn layer_names(&self) -> Result<Vec<Arc<str>>, GraphError> {
        Ok(self.keys()?.names().into_iter().map(Arc::from).collect())
    }

    /// The same collection over another graph, in which its layers have the names that `rename` gives them.
    ///
    /// # Errors
    /// The graph lacks a layer or a key, or has values of another kind there.
    fn rebuild(&self, graph: &LayerGraph, rename: &Rename) -> Result<Self, GraphError>;

    /// The collection's value, out of those of its keys.
    ///
    /// # Errors
    /// A value is missing or is of another type.
    fn finalize(&self, values: &Computed) -> Result<Self::Value, GraphError>;

    /// Content token: equal for equal content, whatever annotations and names.
    ///
    /// # Errors
    /// The collection was built wrongly.
    fn token(&self) -> Result<Token, GraphError> {
        let layers = nested::output_layers(&self.graph()?, &self.layer_names()?)?;
        Ok(layers
            .iter()
            .fold(Tokenizer::new("collection"), |fields, layer| fields.token(layer.token()))
            .finish())
    }

    /// What improves graphs of this kind before they are computed.
    fn optimizer(&self) -> Option<Arc<dyn Optimizer>> {
        None
    }

    /// [`rebuild`](Collection::rebuild) for a collection with one name.
    ///
    /// # Errors
    /// As `rebuild`; [`GraphError::SeveralNames`] for a composite.
    fn rebuild_as(&self, graph: &LayerGraph, name: &str) -> Result<Self, GraphError> {
        match &*self.layer_names()? {
            [old] => self.rebuild(graph, &Rename::one(old.clone(), name)),
            names => {
                Err(GraphError::SeveralNames { names: names.iter().map(|name| name.to_string()).collect() })
            }
        }
    }

    /// Its value. Several collections are computed together by [`compute`](nested::compute) or a session, and what
    /// they share is computed once.
    ///
    /// # Errors
    /// Whatever was wrong with the collection, the plan or the run.
    fn compute<R: Runner>(&self, runner: &R) -> Result<Self::Value, R::Error> {
        nested::compute(self, runner)
    }

    /// The same collection with its values computed and held: whatever is built on it starts from them. Names and
    /// annotations stay.
    ///
    /// # Errors
    /// As [`compute`](Collection::compute).
    fn persist<R: Runner>(&self, runner: &R) -> Result<Self, R::Error> {
        nested::persist(self, runner)
    }

    /// The same collection over a graph that its optimiser has improved, and that has nothing but what it needs.
    ///
    /// # Errors
    /// The collection was built wrongly; the optimiser broke clause 8.
    fn optimize(&self) -> Result<Self, GraphError> {
        nested::optimize(self)
    }

    /// Its graph as a picture: an SVG document.
    ///
    /// # Errors
    /// The collection was built wrongly.
    fn visualize(&self) -> Result<String, GraphError> {
        let graph = self.graph()?;
        graph.validate()?;
        Ok(graph.to_svg())
    }
}

/// Old layer names and the new ones that take their place. Names that it doesn't have stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rename(BTreeMap<Arc<str>, Arc<str>>);

impl Rename {
    /// No name changes.
    pub fn none() -> Self {
        Rename::default()
    }

    /// One name changes.
    pub fn one(old: impl Into<Arc<str>>, new: impl Into<Arc<str>>) -> Self {
        Rename::from_iter([(old, new)])
    }

    /// What a name becomes. O(log names).
    pub fn of<'a>(&'a self, name: &'a str) -> &'a str {
        self.0.get(name).map_or(name, |new| new)
    }
}

impl<O: Into<Arc<str>>, N: Into<Arc<str>>> FromIterator<(O, N)> for Rename {
    fn from_iter<I: IntoIterator<Item = (O, N)>>(pairs: I) -> Self {
        Rename(pairs.into_iter().map(|(old, new)| (old.into(), new.into())).collect())
    }
}

/// Improves graphs before they are computed.
pub trait Optimizer: Send + Sync {
    /// Tells optimisers apart: collections whose optimisers have equal names share one call.
    fn name(&self) -> &str;

    /// An equal graph that has all of `keys`, and every annotation of the layers that they need. New layers are made
    /// with [`Layer::from_layers`].
    ///
    /// # Errors
    /// Whatever keeps it from doing so.
    fn optimize(&self, graph: &LayerGraph, keys: &Keys) -> Result<LayerGraph, GraphError>;
}

/// What computes graphs: a session.
pub trait Runner {
    /// What can go wrong.
    type Error: From<GraphError>;

    /// The values of all outputs of a graph, of each what the graph keeps of it.
    ///
    /// # Errors
    /// Planning or running failed.
    fn run_graph(&self, graph: &LayerGraph) -> Result<Computed, Self::Error>;
}

/// For implementing [`Collection::rebuild`]: the layer that takes the place of `name` in `graph`, provided that its
/// values are of the same kind and number as those of `old`.
///
/// # Errors
/// [`GraphError::MissingLayer`], [`GraphError::WrongLayer`].
pub fn rebuilt_layer(old: &Layer, graph: &LayerGraph, rename: &Rename) -> Result<Arc<Layer>, GraphError> {
    let name = rename.of(old.name());
    let layer = nested::output_layer(graph, name)?;
    if layer.spec() == old.spec() {
        return Ok(layer);
    }
    let (expected, mut found) = (old.spec().to_string(), layer.spec().to_string());
    if layer.spec().keys != old.spec().keys {
        found += " under other keys";
    }
    Err(GraphError::WrongLayer { name: name.to_owned(), expected, found })
}

/// The graph of each optimiser's collections, improved by it; the others as they are.
///
/// # Errors
/// The optimiser's own; [`GraphError::Optimizer`] when it lost keys or annotations.
pub(super) fn optimized(members: &[nested::Member]) -> Result<LayerGraph, GraphError> {
    let mut groups: HashMap<Option<String>, Vec<&nested::Member>> = HashMap::new();
    for member in members {
        groups.entry(member.optimizer.as_ref().map(|own| own.name().to_owned())).or_default().push(member);
    }
    let mut graphs: Vec<(usize, LayerGraph)> = Vec::new();
    for group in groups.values() {
        let first = members.iter().position(|member| std::ptr::eq(member, group[0])).unwrap_or(0);
        let keys = Keys::List(group.iter().map(|member| member.keys.clone()).collect());
        let own: Vec<LayerGraph> = group.iter().map(|member| member.graph.clone()).collect();
        let graph = LayerGraph::merge(&own)?;
        let graph = match &group[0].optimizer {
            None => graph,
            Some(optimizer) => {
                let improved = optimizer.optimize(&graph, &keys)?;
                nothing_lost(optimizer.name(), &graph.cull(&keys)?, &improved, &keys)?;
                improved
            }
        };
        graphs.push((first, graph));
    }
    graphs.sort_by_key(|(first, _)| *first);
    let graphs: Vec<LayerGraph> = graphs.into_iter().map(|(_, graph)| graph).collect();
    let keys = Keys::List(members.iter().map(|member| member.keys.clone()).collect());
    LayerGraph::merge(&graphs)?.cull(&keys)
}

/// Clause 8: all keys are there, and every annotated layer is, on its own or within another.
fn nothing_lost(name: &str, before: &LayerGraph, after: &LayerGraph, keys: &Keys) -> Result<(), GraphError> {
    let optimizer = || name.to_owned();
    after.validate()?;
    after
        .cull(keys)
        .map_err(|error| GraphError::Optimizer { optimizer: optimizer(), problem: error.to_string() })?;
    let origins = |graph: &LayerGraph| -> Vec<_> {
        graph.layers().flat_map(|(_, layer)| layer.origins()).map(|own| (own.name, own.annotations)).collect()
    };
    let kept = origins(after);
    let lost = origins(before).into_iter().find(|own| !own.1.is_empty() && !kept.contains(own));
    match lost {
        None => Ok(()),
        Some((layer, annotations)) => Err(GraphError::Optimizer {
            optimizer: optimizer(),
            problem: format!("the layer '{layer}' and its annotations [{annotations}] got lost"),
        }),
    }
}
