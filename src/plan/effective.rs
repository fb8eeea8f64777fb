//! What governs each layer, and, where functions of the key say so, each of its blocks.
//!
//! A session's default stands below the annotations that a layer was made with, an override above them. The
//! result lives here, beside the graph: it renames no layer.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::annotate::Annotations;
use crate::graph::block_set::BlockSet;
use crate::graph::chunking::Chunking;
use crate::graph::layer::Layer;
use crate::graph::layer_graph::LayerGraph;
use crate::ids::LayerId;
use crate::key::Key;
use crate::plan::error::PlanError;
use crate::plan::fuse::fuse;
use crate::plan::known::Known;
use crate::plan::lower::needed_blocks;
use crate::settings::Settings;

/// Effective annotations by layer, and by block where they are functions.
#[derive(Clone, Debug)]
pub struct Effective {
    layers: Vec<Annotations>,
    /// For layers with functions: the blocks that are needed, and the place of each one's in `sets`.
    blocks: HashMap<LayerId, (BlockSet, Vec<u32>)>,
    /// What the functions gave, each once.
    sets: Vec<Annotations>,
}

/// Whose annotations govern a layer of a rewritten graph.
#[derive(Clone, Copy, Debug)]
pub enum Governed<'a> {
    /// Those of a layer of the graph before.
    As(LayerId),
    /// The same, each of its blocks in parts.
    Parts {
        /// The layer.
        of: LayerId,
        /// Its blocks.
        whole: &'a Chunking,
        /// Parts of these.
        parts: &'a Chunking,
    },
    /// Of the layer's those that govern copies: it has the layer's values, and computes none.
    Joined(LayerId),
    /// Nobody's.
    Nothing,
}

impl Effective {
    /// Merges what was given where, and calls every function for every block that the outputs need.
    /// O(layers), and O(blocks) of the layers with functions.
    ///
    /// # Errors
    /// [`PlanError::Override`] for a pattern without a layer; [`PlanError::Annotation`] for the first result
    /// of a function that is refused.
    pub fn new(graph: &LayerGraph, settings: &Settings) -> Result<Self, PlanError> {
        let names: Vec<&str> = graph.layers().flat_map(|(_, layer)| names(layer)).collect();
        if let Some(pattern) = settings.overrides.unmatched(&names) {
            return Err(PlanError::Override { pattern: pattern.to_owned(), layers: called(graph) });
        }
        let layers: Vec<Annotations> = graph.layers().map(|(_, layer)| merged(layer, settings)).collect();
        let mut effective = Effective { layers, blocks: HashMap::new(), sets: Vec::new() };
        if effective.layers.iter().any(Annotations::has_functions) {
            effective.evaluate(graph)?;
        }
        Ok(effective)
    }

    /// What governs a layer; functions are still functions.
    pub fn of(&self, layer: LayerId) -> &Annotations {
        &self.layers[layer.index()]
    }

    /// The annotations of all layers.
    pub fn all(&self) -> &[Annotations] {
        &self.layers
    }

    /// Whether blocks of the layer may differ in what governs their tasks.
    pub fn varies(&self, layer: LayerId) -> bool {
        self.blocks.contains_key(&layer)
    }

    /// Names what governs the tasks of a block: equal numbers, equal sets.
    pub fn set_of(&self, layer: LayerId, block: usize) -> Option<u32> {
        let (blocks, sets) = self.blocks.get(&layer)?;
        sets.get(blocks.position(block)?).copied()
    }

    /// The plain annotations of that number, of which only those that govern tasks are kept.
    pub fn set(&self, number: u32) -> &Annotations {
        &self.sets[number as usize]
    }

    /// The different sets of a layer with functions, each with the first block that has it.
    pub fn sets_of(&self, layer: LayerId) -> impl Iterator<Item = (usize, &Annotations)> {
        let mut seen = HashSet::new();
        let blocks = self.blocks.get(&layer).into_iter();
        let blocks = blocks.flat_map(|(blocks, sets)| blocks.iter(sets.len()).zip(sets));
        let first = blocks.filter(move |(_, set)| seen.insert(**set));
        first.map(|(block, &set)| (block, self.set(set)))
    }

    /// Whether two layers may be computed by one task a block, as far as functions go: they have the same
    /// blocks, and in each of these what the functions gave may be joined.
    pub fn agree(&self, graph: &LayerGraph, a: LayerId, b: LayerId) -> bool {
        match (self.blocks.get(&a), self.blocks.get(&b)) {
            (None, None) => true,
            (Some((blocks, of_a)), Some(_)) if graph.layer(a).chunks() == graph.layer(b).chunks() => {
                let both = |(block, &of_a): (usize, &u32)| Some((of_a, self.set_of(b, block)?));
                let pairs: HashSet<(u32, u32)> = blocks.iter(of_a.len()).zip(of_a).filter_map(both).collect();
                pairs.into_iter().all(|(a, b)| self.set(a).fused(self.set(b)).is_ok())
            }
            _ => false,
        }
    }

    /// What governs the layers of a rewritten graph, in its order. O(layers), and O(blocks) of those with functions.
    pub fn carried<'a>(&self, layers: impl IntoIterator<Item = Governed<'a>>) -> Effective {
        let mut carried = Effective { layers: Vec::new(), blocks: HashMap::new(), sets: self.sets.clone() };
        let mut moves: HashMap<u32, u32> = HashMap::new();
        for governed in layers {
            let id = LayerId::at(carried.layers.len());
            let (annotations, blocks) = match governed {
                Governed::As(of) => (self.of(of).clone(), self.blocks.get(&of).cloned()),
                Governed::Parts { of, whole, parts } => {
                    (self.of(of).clone(), self.of_parts(of, whole, parts))
                }
                Governed::Joined(of) => {
                    let number = |&set: &u32| {
                        *moves.entry(set).or_insert_with(|| {
                            carried.sets.push(self.set(set).of_copies());
                            (carried.sets.len() - 1) as u32
                        })
                    };
                    let blocks = self.blocks.get(&of);
                    let blocks =
                        blocks.map(|(blocks, sets)| (blocks.clone(), sets.iter().map(number).collect()));
                    (self.of(of).of_copies(), blocks)
                }
                Governed::Nothing => (Annotations::new(), None),
            };
            carried.layers.push(annotations);
            carried.blocks.extend(blocks.map(|blocks| (id, blocks)));
        }
        carried
    }

    /// For each part of a needed block, what the functions gave for the block.
    fn of_parts(&self, of: LayerId, whole: &Chunking, parts: &Chunking) -> Option<(BlockSet, Vec<u32>)> {
        if !self.varies(of) {
            return None;
        }
        let set = |part: usize| Some((part, self.set_of(of, whole.find(&parts.region_of(part).origin))?));
        let (numbers, sets): (Vec<usize>, Vec<u32>) = (0..parts.blocks()).filter_map(set).unzip();
        Some((BlockSet::of(numbers, parts.blocks()), sets))
    }

    fn evaluate(&mut self, graph: &LayerGraph) -> Result<(), PlanError> {
        let alone = fuse(graph, &self.layers, |_| true, |_, _| false);
        // Whatever is known, functions are asked for all: which layers fuse doesn't depend on it.
        let needed = needed_blocks(graph, &alone, &Known::none())?;
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        for (id, layer) in graph.layers().filter(|(id, _)| self.layers[id.index()].has_functions()) {
            let annotations = &self.layers[id.index()];
            let blocks = &needed[alone.of(id).index()];
            let mut places = Vec::with_capacity(blocks.len(layer.spec().count()));
            for block in blocks.iter(layer.spec().count()) {
                let key = key(layer, block)?;
                let plain = annotations.for_key(&key).map_err(|source| PlanError::Annotation {
                    layer: name(layer).to_owned(),
                    block: key.to_string(),
                    source: Box::new(source),
                })?;
                let set = plain.of_tasks();
                let sets = &mut self.sets;
                places.push(*numbers.entry(set.to_string()).or_insert_with(|| {
                    sets.push(set);
                    (sets.len() - 1) as u32
                }));
            }
            // Custom annotations are handed on as they are, and never keep layers apart.
            if annotations.of_tasks().has_functions() {
                self.blocks.insert(id, (blocks.clone(), places));
            }
        }
        Ok(())
    }
}

/// Session default < the layer's own < overrides.
pub fn merged(layer: &Layer, settings: &Settings) -> Annotations {
    let names: Vec<&str> = names(layer).collect();
    settings.overrides.over(&settings.annotations.inner(layer.annotations()), &names)
}

/// The key of a block, as functions of the key and messages see it.
///
/// # Errors
/// [`PlanError::Bug`] for a layer without a name, which collections don't make.
pub fn key(layer: &Layer, block: usize) -> Result<Key, PlanError> {
    let key = layer.spec().key(&name(layer).into(), block);
    key.map_err(|error| PlanError::Bug { pass: "resolve", problem: error.to_string() })
}

fn name(layer: &Layer) -> &str {
    layer.label().unwrap_or(layer.name())
}

fn names(layer: &Layer) -> impl Iterator<Item = &str> {
    std::iter::once(layer.name()).chain(layer.label())
}

/// The names that users know, each once, in the graph's order.
fn called(graph: &LayerGraph) -> Vec<String> {
    let mut seen = HashSet::new();
    graph
        .layers()
        .map(|(_, layer)| name(layer))
        .filter(|name| seen.insert(*name))
        .map(str::to_owned)
        .collect()
}
