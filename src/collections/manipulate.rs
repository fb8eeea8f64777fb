//! Functions over any collections: copies, barriers, order between graphs that share nothing.
//!
//! | function | gives |
//! |---|---|
//! | [`clone()`] | copies that share nothing with the originals: computed together, each is computed by itself |
//! | [`bind`] | copies of `children` of which nothing begins before `parents` are computed |
//! | [`checkpoint`] | an empty value that is there when the collections are computed |
//! | [`wait_on`] | the same collections, whose values are there only when all of them are computed |
//!
//! ```
//! use outcrop::block::Block;
//! use outcrop::collections::manipulate::{Options, SplitEvery, bind, checkpoint, clone, wait_on};
//! use outcrop::collections::{Array, Delayed, array::Over};
//! use outcrop::session::Session;
//!
//! let session = Session::new(Default::default());
//! let loaded = Array::arange(0.0, 1.0, 1000).rechunk(&[100]);
//! let audited = Delayed::call("audit", (&loaded,), |x: &Block| x.shape().elements());
//!
//! // Nothing of the sum begins before the audit is done, though no value passes from one to the other. What is omitted
//! // isn't copied: it is loaded once, for both.
//! let sum = loaded.sum(&Over::all());
//! let sum = bind(&sum, &audited, &Options::new().omit(&loaded))?;
//! assert_eq!(session.compute(&sum)?.to_scalar::<f64>(), Some(499_500.0));
//!
//! // A copy loads again. With a seed its names are the same in every run.
//! let again = clone(&loaded, &Options::new().seed("second pass"))?;
//! assert_ne!(again.layer()?.name(), loaded.layer()?.name());
//!
//! // When both are done; and both, but not before both are done.
//! let done = checkpoint(&(loaded.clone(), audited.clone()), SplitEvery::Auto)?;
//! assert_eq!(*session.compute(&done)?, ());
//! let (x, n) = wait_on(&(loaded, audited), SplitEvery::Auto)?;
//! assert_eq!(*session.compute(&(x, n))?.1, 1000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - They take collections of any type, [nested](crate::collections::Collections) as one likes, and give back the same
//!   kind over a new graph that coexists with the old.
//! - A layer stays what it was: symbolic layers stay symbolic, whatever their number of blocks; explicit tasks keep their
//!   keys' parts and their literals; every layer keeps its annotations, and the scope around the call adds none.
//! - A barrier is a tree of small tasks: each waits for as many values as [`SplitEvery`] says, and holds none of them.
//! - Each costs O(layers), not O(blocks).

use std::collections::HashSet;
use std::sync::Arc;

use crate::collections::contract::Rename;
use crate::collections::delayed::Delayed;
use crate::collections::nested::{Collections, Member, asked_for, members};
use crate::graph::block_set::BlockSet;
use crate::graph::custom::{Call, CustomOp, Made, TaskError};
use crate::graph::error::GraphError;
use crate::graph::expr::Expr;
use crate::graph::layer::{Layer, LayerBody, Naming};
use crate::graph::layer_graph::{LayerGraph, Outputs};
use crate::graph::op::{Op, SPLIT_EVERY, WaitRule};
use crate::graph::rule::Read;
use crate::graph::value_spec::ValueSpec;
use crate::token::{Token, Tokenize, Tokenizer};

/// Layers that one waiting layer reads at most.
const INPUTS_MAX: usize = 1 << 12;

/// How many values a task of a tree reads or waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SplitEvery {
    /// Eight.
    #[default]
    Auto,
    /// All of them at once.
    Flat,
    /// So many, at least 2.
    Values(usize),
}

impl SplitEvery {
    /// The number; `usize::MAX` for [`SplitEvery::Flat`].
    ///
    /// # Errors
    /// Fewer than 2.
    pub fn values(self) -> Result<usize, GraphError> {
        match self {
            SplitEvery::Auto => Ok(SPLIT_EVERY),
            SplitEvery::Flat => Ok(usize::MAX),
            SplitEvery::Values(values) if values >= 2 => Ok(values),
            SplitEvery::Values(values) => {
                let problem =
                    "a tree whose tasks take fewer than two values never ends in one; give at least 2";
                let (op, argument, value) = ("split_every", "values", values.to_string());
                Err(GraphError::Argument { op, argument, value, problem })
            }
        }
    }
}

/// What [`clone`] and [`bind`] may be told.
#[derive(Clone, Default)]
pub struct Options {
    omit: Vec<Arc<Layer>>,
    seed: Option<Token>,
    split_every: SplitEvery,
    refused: Option<GraphError>,
}

impl Options {
    /// Everything is copied, under names that nothing else has.
    pub fn new() -> Self {
        Options::default()
    }

    /// These collections, and all that they are made of, aren't copied: the copies share them with the originals.
    pub fn omit(mut self, collections: &(impl Outputs + ?Sized)) -> Self {
        match collections.output_layers() {
            Ok(layers) => self.omit.extend(layers),
            Err(error) => self.refused = Some(error),
        }
        self
    }

    /// The names of the copies follow from this seed and the old names: the same in every run.
    pub fn seed(mut self, seed: impl Tokenize) -> Self {
        self.seed = Some(Token::of(&seed));
        self
    }

    /// How many values a task of the barrier waits for; for [`bind`].
    pub fn split_every(mut self, split_every: SplitEvery) -> Self {
        self.split_every = split_every;
        self
    }
}

/// Copies that share nothing with the originals but what is omitted, and compute equal values. O(layers).
///
/// # Errors
/// A collection was built wrongly.
pub fn clone<C: Collections>(collections: &C, options: &Options) -> Result<C, GraphError> {
    let seed = options.seed.unwrap_or_else(Token::unique);
    copy(collections, options, Tokenizer::new("clone").token(seed).finish(), None)
}

/// Copies of `children` of which nothing begins before all of `parents` are computed, though no value passes. Layers that
/// are omitted aren't held back; what is copied and reads nothing but omitted ones is. O(layers).
///
/// # Errors
/// A collection was built wrongly; there are no parents; a `split_every` below 2.
pub fn bind<C: Collections, P: Collections>(
    children: &C,
    parents: &P,
    options: &Options,
) -> Result<C, GraphError> {
    let barrier = barrier(&members(parents)?, options.split_every)?;
    let seed = options.seed.unwrap_or_else(Token::unique);
    let seed = Tokenizer::new("bind").token(seed).text(barrier.name()).finish();
    copy(children, options, seed, Some(&barrier))
}

/// A value, empty, that is there when all of `collections` are computed. It holds none of their values: a tree of small
/// tasks waits for them, and carries the annotations of what it waits for. O(layers).
///
/// # Errors
/// A collection was built wrongly; there is none; a `split_every` below 2.
pub fn checkpoint<C: Collections>(
    collections: &C,
    split_every: SplitEvery,
) -> Result<Delayed<()>, GraphError> {
    Delayed::from_layer(barrier(&members(collections)?, split_every)?)
}

/// The same collections, whose values are there only when all of them are computed. O(layers).
///
/// # Errors
/// A collection was built wrongly; there is none; a `split_every` below 2.
pub fn wait_on<C: Collections>(collections: &C, split_every: SplitEvery) -> Result<C, GraphError> {
    let members = members(collections)?;
    let barrier = barrier(&members, split_every)?;
    let mut seen: HashSet<Arc<str>> = HashSet::new();
    let mut passed: Vec<(Arc<str>, Arc<Layer>)> = Vec::new();
    for layer in all_layers(&members)? {
        if seen.insert(layer.shared_name().clone()) {
            let naming = Naming::Seeded(Tokenizer::new("wait_on").text(barrier.name()).finish());
            let body = LayerBody { op: identity(layer.spec()), spec: layer.spec().clone() };
            let source = std::slice::from_ref(&layer);
            let made = Layer::from_layers(source, body, source.to_vec(), vec![barrier.clone()], naming)?;
            passed.push((layer.shared_name().clone(), made));
        }
    }
    let rename = passed.iter().map(|(old, new)| (old.clone(), new.shared_name().clone())).collect();
    collections.rebuild_each(&LayerGraph::of(passed.into_iter().map(|(_, made)| made)), &rename)
}

/// New layers in the place of all but the omitted ones; those that read no new one wait for `barrier`.
fn copy<C: Collections>(
    collections: &C,
    options: &Options,
    seed: Token,
    barrier: Option<&Arc<Layer>>,
) -> Result<C, GraphError> {
    if let Some(error) = &options.refused {
        return Err(error.clone());
    }
    let members = members(collections)?;
    let outputs = all_layers(&members)?;
    let graph = LayerGraph::of(outputs.iter().cloned());
    graph.validate()?;
    let omitted = LayerGraph::of(options.omit.iter().cloned());
    let omitted: HashSet<&str> = omitted.layers().map(|(_, layer)| layer.name()).collect();
    let mut copies: Vec<Arc<Layer>> = Vec::with_capacity(graph.layer_count());
    let mut is_new = Vec::with_capacity(graph.layer_count());
    for (id, layer) in graph.layers() {
        let taken = |ids: &[crate::ids::LayerId]| ids.iter().map(|id| copies[id.index()].clone()).collect();
        let (inputs, mut after): (Vec<_>, Vec<_>) = (taken(graph.inputs(id)), taken(graph.after(id)));
        let copied = !omitted.contains(layer.name());
        is_new.push(copied);
        if !copied {
            copies.push(layer.clone());
            continue;
        }
        // A task of another's making may read nothing of what its layer reads.
        let may_read_nothing = matches!(layer.op(), Op::Tasks(_) | Op::Custom(_));
        if let Some(barrier) = barrier
            && (may_read_nothing || !graph.inputs(id).iter().any(|input| is_new[input.index()]))
        {
            after.push(barrier.clone());
        }
        let source = std::slice::from_ref(layer);
        copies.push(Layer::from_layers(source, layer.body(), inputs, after, Naming::Seeded(seed))?);
    }
    let renamed = graph
        .layers()
        .map(|(id, layer)| (layer.shared_name().clone(), copies[id.index()].shared_name().clone()));
    let rename: Rename = renamed.collect();
    let outputs = graph.outputs().iter().map(|id| copies[id.index()].clone());
    collections.rebuild_each(&LayerGraph::of(outputs), &rename)
}

/// One waiting layer that ends a tree over the values of all members.
fn barrier(members: &[Member], split_every: SplitEvery) -> Result<Arc<Layer>, GraphError> {
    let every = split_every.values()?;
    let mut ends: Vec<Arc<Layer>> = Vec::new();
    let mut known: HashSet<Arc<str>> = HashSet::new();
    for member in members {
        for layer in member.layers()? {
            let end = waited_for(std::slice::from_ref(&layer), asked_for(&member.keys, &layer)?, every)?;
            if known.insert(end.shared_name().clone()) {
                ends.push(end);
            }
        }
    }
    while ends.len() > 1 {
        let join = |some: &[Arc<Layer>]| match some {
            [only] => Ok(only.clone()),
            several => waited_for(several, BlockSet::All, every),
        };
        ends = ends.chunks(INPUTS_MAX).map(join).collect::<Result<_, _>>()?;
    }
    ends.pop().ok_or(GraphError::BindToNothing)
}

/// The end of a tree that waits for some values of `layers`, all in a row.
fn waited_for(layers: &[Arc<Layer>], blocks: BlockSet, every: usize) -> Result<Arc<Layer>, GraphError> {
    let mut inputs = layers.to_vec();
    let mut blocks = blocks;
    loop {
        let all = inputs.iter().map(|input| input.spec().count()).sum();
        let count = blocks.len(all).div_ceil(every).max(1);
        let spec = if count == 1 { ValueSpec::object(1) } else { ValueSpec::objects(count, 1) };
        let body = LayerBody { op: Op::Wait(WaitRule { blocks, every }), spec };
        let made = Layer::from_layers(&inputs, body, inputs.clone(), Vec::new(), Naming::Content)?;
        if count == 1 {
            return Ok(made);
        }
        (inputs, blocks) = (vec![made], BlockSet::All);
    }
}

fn all_layers(members: &[Member]) -> Result<Vec<Arc<Layer>>, GraphError> {
    let layers: Vec<Vec<Arc<Layer>>> = members.iter().map(Member::layers).collect::<Result<_, _>>()?;
    Ok(layers.concat())
}

/// What passes values on. Of arrays it is a map, which runs on any device and joins the kernel that reads it.
fn identity(spec: &ValueSpec) -> Op {
    if spec.is_array() { Op::Map(Arc::new(Expr::identity(spec.dtype))) } else { Op::Custom(Arc::new(Pass)) }
}

/// Passes objects on.
#[derive(Debug)]
struct Pass;

impl CustomOp for Pass {
    fn name(&self) -> &str {
        "pass"
    }

    fn token(&self) -> Token {
        Tokenizer::new("pass").finish()
    }

    fn output(&self, inputs: &[&ValueSpec]) -> Result<ValueSpec, String> {
        inputs.first().map(|spec| ValueSpec::clone(spec)).ok_or_else(|| "it needs one".to_owned())
    }

    fn reads(&self, block: usize, _output: &ValueSpec, _inputs: &[&ValueSpec]) -> Vec<Read> {
        vec![Read { input: 0, block }]
    }

    fn reads_everything(&self) -> bool {
        true
    }

    fn compute(&self, _call: &mut Call<'_>) -> Result<Made, TaskError> {
        Ok(Made::Same(0))
    }
}
