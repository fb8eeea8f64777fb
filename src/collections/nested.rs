//! Any number of collections, nested in tuples, vectors, maps and options, as one.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use crate::collections::computed::Computed;
use crate::collections::contract::{self, Collection, Optimizer, Rename, Runner};
use crate::collections::held;
use crate::graph::block_set::BlockSet;
use crate::graph::error::GraphError;
use crate::graph::keys::Keys;
use crate::graph::layer::Layer;
use crate::graph::layer_graph::{LayerGraph, Outputs};

/// A collection, or collections nested in tuples (up to six), vectors, maps and options. Generic functions take it and
/// give it back with the same nesting.
///
/// References aren't collections, since nothing can be given back as one: `(x.clone(), y.clone())`, not `(&x, &y)`.
/// Clones are handles.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a collection nor collections nested in tuples, vectors, maps and options",
    label = "not collections",
    note = "nest collections themselves, not references to them: `&(x.clone(), y.clone())`; clones are handles, and cheap",
    note = "a tuple has at most six members; a type of your own implements `outcrop::collections::Collection`"
)]
pub trait Collections: Clone {
    /// What computing gives, nested in the same way.
    type Values;

    /// Adds what each collection says about itself, in order.
    ///
    /// # Errors
    /// A collection was built wrongly.
    fn members(&self, into: &mut Vec<Member>) -> Result<(), GraphError>;

    /// Every collection over another graph: [`Collection::rebuild`].
    ///
    /// # Errors
    /// As `rebuild`.
    fn rebuild_each(&self, graph: &LayerGraph, rename: &Rename) -> Result<Self, GraphError>;

    /// The value of every collection: [`Collection::finalize`].
    ///
    /// # Errors
    /// As `finalize`.
    fn finalize_each(&self, values: &Computed) -> Result<Self::Values, GraphError>;
}

/// One collection among several, as data.
#[derive(Clone)]
pub struct Member {
    /// Its graph.
    pub graph: LayerGraph,
    /// Its keys.
    pub keys: Keys,
    /// The names of its layers.
    pub names: Vec<Arc<str>>,
    /// Its optimiser.
    pub optimizer: Option<Arc<dyn Optimizer>>,
}

impl Member {
    /// The layers that make its values.
    ///
    /// # Errors
    /// [`GraphError::MissingLayer`] for a declared layer that the graph lacks.
    pub fn layers(&self) -> Result<Vec<Arc<Layer>>, GraphError> {
        output_layers(&self.graph, &self.names)
    }
}

impl<C: Collection> Collections for C {
    type Values = C::Value;

    fn members(&self, into: &mut Vec<Member>) -> Result<(), GraphError> {
        into.push(Member {
            graph: self.graph()?,
            keys: self.keys()?,
            names: self.layer_names()?,
            optimizer: self.optimizer(),
        });
        Ok(())
    }

    fn rebuild_each(&self, graph: &LayerGraph, rename: &Rename) -> Result<Self, GraphError> {
        self.rebuild(graph, rename)
    }

    fn finalize_each(&self, values: &Computed) -> Result<Self::Values, GraphError> {
        self.finalize(values)
    }
}

impl<C: Collections> Outputs for C {
    fn output_layers(&self) -> Result<Vec<Arc<Layer>>, GraphError> {
        let mut members = Vec::new();
        self.members(&mut members)?;
        let layers: Vec<Vec<Arc<Layer>>> = members.iter().map(Member::layers).collect::<Result<_, _>>()?;
        Ok(layers.concat())
    }
}

/// The values of all collections, computed together: what they share is computed once.
///
/// # Errors
/// Whatever was wrong with a collection, the plan or the run.
pub fn compute<C: Collections, R: Runner>(collections: &C, runner: &R) -> Result<C::Values, R::Error> {
    let values = run(collections, runner)?;
    Ok(collections.finalize_each(&values)?)
}

/// All collections with their values computed together and held.
///
/// # Errors
/// As [`compute`].
pub fn persist<C: Collections, R: Runner>(collections: &C, runner: &R) -> Result<C, R::Error> {
    let values = run(collections, runner)?;
    let held = values.layers().map(|layer| held::held(layer, &values)).collect::<Result<Vec<_>, _>>()?;
    Ok(collections.rebuild_each(&LayerGraph::of(held), &Rename::none())?)
}

/// All collections over one graph that their optimisers have improved, and that has nothing but what they need.
///
/// # Errors
/// A collection was built wrongly; an optimiser lost something.
pub fn optimize<C: Collections>(collections: &C) -> Result<C, GraphError> {
    let graph = contract::optimized(&members(collections)?)?;
    collections.rebuild_each(&graph, &Rename::none())
}

/// What each collection says about itself.
pub(super) fn members(collections: &impl Collections) -> Result<Vec<Member>, GraphError> {
    let mut members = Vec::new();
    collections.members(&mut members)?;
    Ok(members)
}

/// What is to be computed for collections: one graph that their optimisers have improved; `None` where there are none.
///
/// # Errors
/// As [`optimize`].
pub fn graph_of<C: Collections>(collections: &C) -> Result<Option<LayerGraph>, GraphError> {
    let members = members(collections)?;
    if members.is_empty() { Ok(None) } else { contract::optimized(&members).map(Some) }
}

fn run<C: Collections, R: Runner>(collections: &C, runner: &R) -> Result<Computed, R::Error> {
    graph_of(collections)?.map_or_else(|| Ok(Computed::default()), |graph| runner.run_graph(&graph))
}

/// A graph's outputs that are looked through for a name before its index is made.
const OUTPUTS_LOOKED_THROUGH: usize = 8;

/// The layer of this name. O(1) for one of the first outputs, O(layers) the first time else.
///
/// # Errors
/// [`GraphError::MissingLayer`].
pub(super) fn output_layer(graph: &LayerGraph, name: &str) -> Result<Arc<Layer>, GraphError> {
    // Few outputs are looked through, since the graph's index of names takes a walk over all layers to make.
    let few = &graph.output_layers()[..graph.output_layers().len().min(OUTPUTS_LOOKED_THROUGH)];
    let output = few.iter().find(|layer| layer.name() == name);
    output.or_else(|| graph.layer_named(name)).cloned().ok_or_else(|| GraphError::MissingLayer {
        name: name.to_owned(),
        have: graph.output_layers().iter().map(|layer| layer.name().to_owned()).collect(),
    })
}

/// Which values of a layer are among a collection's keys. O(lists) for a whole layer, else O(keys that have its name).
pub(super) fn asked_for(keys: &Keys, layer: &Layer) -> Result<BlockSet, GraphError> {
    let count = layer.spec().count();
    let mut blocks = Vec::new();
    let mut open = vec![keys];
    while let Some(keys) = open.pop() {
        match keys {
            Keys::List(lists) => open.extend(lists),
            Keys::One(key) => blocks.extend(layer.block_of(key)),
            Keys::Grid { name, .. } if **name != *layer.name() => {}
            Keys::Grid { grid, .. } if grid.elements() == count => return Ok(BlockSet::All),
            Keys::Grid { .. } => {
                for key in keys.iter() {
                    blocks.extend(layer.block_of(&key?));
                }
            }
        }
    }
    Ok(BlockSet::of(blocks, count))
}

/// The layers of these names.
pub(super) fn output_layers(graph: &LayerGraph, names: &[Arc<str>]) -> Result<Vec<Arc<Layer>>, GraphError> {
    names.iter().map(|name| output_layer(graph, name)).collect()
}

macro_rules! sequence {
    ($([$($generics:tt)*] $type:ty => $values:ty),* $(,)?) => {$(
        impl<$($generics)*> Collections for $type {
            type Values = $values;

            fn members(&self, into: &mut Vec<Member>) -> Result<(), GraphError> {
                self.iter().try_for_each(|each| each.members(into))
            }

            fn rebuild_each(&self, graph: &LayerGraph, rename: &Rename) -> Result<Self, GraphError> {
                self.iter().map(|each| each.rebuild_each(graph, rename)).collect()
            }

            fn finalize_each(&self, values: &Computed) -> Result<Self::Values, GraphError> {
                self.iter().map(|each| each.finalize_each(values)).collect()
            }
        }
    )*};
}
sequence!([C: Collections] Vec<C> => Vec<C::Values>);

impl<C: Collections> Collections for Option<C> {
    type Values = Option<C::Values>;

    fn members(&self, into: &mut Vec<Member>) -> Result<(), GraphError> {
        self.iter().try_for_each(|each| each.members(into))
    }

    fn rebuild_each(&self, graph: &LayerGraph, rename: &Rename) -> Result<Self, GraphError> {
        self.as_ref().map(|each| each.rebuild_each(graph, rename)).transpose()
    }

    fn finalize_each(&self, values: &Computed) -> Result<Self::Values, GraphError> {
        self.as_ref().map(|each| each.finalize_each(values)).transpose()
    }
}

macro_rules! map {
    ($([$($generics:tt)*] $type:ty => $values:ty),* $(,)?) => {$(
        impl<$($generics)*> Collections for $type {
            type Values = $values;

            fn members(&self, into: &mut Vec<Member>) -> Result<(), GraphError> {
                self.values().try_for_each(|each| each.members(into))
            }

            fn rebuild_each(&self, graph: &LayerGraph, rename: &Rename) -> Result<Self, GraphError> {
                self.iter().map(|(key, each)| Ok((key.clone(), each.rebuild_each(graph, rename)?))).collect()
            }

            fn finalize_each(&self, values: &Computed) -> Result<Self::Values, GraphError> {
                self.iter().map(|(key, each)| Ok((key.clone(), each.finalize_each(values)?))).collect()
            }
        }
    )*};
}
map!(
    [K: Ord + Clone, C: Collections] BTreeMap<K, C> => BTreeMap<K, C::Values>,
    [K: Eq + Hash + Clone, C: Collections, S: BuildHasher + Clone + Default] HashMap<K, C, S> => HashMap<K, C::Values, S>,
);

macro_rules! tuple {
    ($(($($name:ident $at:tt),*))*) => {$(
        impl<$($name: Collections),*> Collections for ($($name,)*) {
            type Values = ($($name::Values,)*);

            fn members(&self, into: &mut Vec<Member>) -> Result<(), GraphError> {
                $(self.$at.members(into)?;)*
                Ok(())
            }

            fn rebuild_each(&self, graph: &LayerGraph, rename: &Rename) -> Result<Self, GraphError> {
                Ok(($(self.$at.rebuild_each(graph, rename)?,)*))
            }

            fn finalize_each(&self, values: &Computed) -> Result<Self::Values, GraphError> {
                Ok(($(self.$at.finalize_each(values)?,)*))
            }
        }
    )*};
}
tuple!((A 0)(A 0, B 1)(A 0, B 1, C 2)(A 0, B 1, C 2, D 3)(A 0, B 1, C 2, D 3, E 4)(A 0, B 1, C 2, D 3, E 4, F 5));
