//! Which layers' values must come into being though a kernel could pass over them, and which are kept for later runs.
//!
//! A run that may be resumed keeps the blocks of layers with a `checkpoint`, of arrays that were asked for, and of
//! arrays that sinks read. Sinks themselves have nothing to keep: a file is written beside its name and gets it at the
//! end, so that a run that was killed leaves none of it, and the next one writes the whole file from kept blocks.

use crate::annotate::Annotations;
use crate::graph::layer_graph::LayerGraph;
use crate::graph::op::Op;
use crate::ids::LayerId;
use crate::machine::Machine;
use crate::plan::fuse::{Group, Groups};
use crate::plan::known::Known;
use crate::plan::place::Placement;
use crate::token::{Token, Tokenizer};

/// By layer: whether its values must be there as a whole.
#[derive(Clone, Debug)]
pub struct Standing {
    apart: Vec<bool>,
    keeps: Vec<bool>,
}

impl Standing {
    /// What `annotations`, by layer, and a graph's outputs ask for. O(layers + edges).
    pub fn new(graph: &LayerGraph, annotations: &[Annotations], known: &Known) -> Self {
        let keeps = keeps(graph, annotations);
        let mut apart = keeps.clone();
        graph.outputs().iter().for_each(|output| apart[output.index()] = true);
        for (id, layer) in graph.layers() {
            graph.after(id).iter().for_each(|other| apart[other.index()] = true);
            apart[id.index()] |= known.has_layer(layer.name());
        }
        Standing { apart, keeps }
    }

    /// For the layers of a rewritten graph, of which each has the values of a layer of the one before, if any, as a whole or
    /// in parts: parts aren't kept.
    pub fn carried(&self, layers: impl IntoIterator<Item = (Option<LayerId>, bool)>) -> Standing {
        let (apart, keeps) = layers
            .into_iter()
            .map(|(of, is_whole)| match of {
                Some(of) => (self.apart[of.index()], is_whole && self.keeps[of.index()]),
                None => (false, false),
            })
            .unzip();
        Standing { apart, keeps }
    }

    /// Whether a run that may be resumed keeps the layer's values.
    pub fn is_kept(&self, layer: LayerId) -> bool {
        self.keeps[layer.index()]
    }

    /// Whether the layer's values must be there: those asked for, those that others wait for, those that exist and
    /// those to keep. No other layer's kernel makes them on the way.
    pub fn is_apart(&self, layer: LayerId) -> bool {
        self.apart[layer.index()]
    }
}

/// What becomes of one group's values beyond this run.
#[derive(Clone, Debug, Default)]
pub struct Keeping {
    /// What they are kept under: one token for the layer, with which each block makes its own.
    pub token: Option<Token>,
    /// Why they can't be kept though they should be.
    pub refused: Option<String>,
}

/// For each group, whether and under which token its values are kept: that of its content, and of the kinds of device
/// that made it, where these differ from the host in their last digits. O(groups + edges).
pub fn keeping(
    graph: &LayerGraph,
    groups: &Groups,
    placement: &Placement,
    machine: &Machine,
    standing: &Standing,
    known: &Known,
) -> Vec<Keeping> {
    let Some(contents) = known.contents() else { return vec![Keeping::default(); groups.iter().len()] };
    let mut is_exact: Vec<bool> = Vec::with_capacity(groups.iter().len());
    let mut all = Vec::with_capacity(groups.iter().len());
    for (id, group) in groups.iter() {
        let root = graph.layer(group.root());
        let backend = machine.device(placement.device(id)).backend;
        let exact = !backend.has_own_bits() && reads_exact(groups, group, &is_exact);
        is_exact.push(exact);
        let mut keeping = Keeping::default();
        if standing.keeps[group.root().index()] {
            match contents.of(root.name()) {
                Some(Ok(token)) if exact => keeping.token = Some(token),
                Some(Ok(token)) => {
                    keeping.token = Some(Tokenizer::new("approximate").token(token).finish());
                }
                Some(Err(reason)) => keeping.refused = Some(reason.to_string()),
                None => {}
            }
        }
        all.push(keeping);
    }
    all
}

fn reads_exact(groups: &Groups, group: &Group, is_exact: &[bool]) -> bool {
    group.inputs.iter().all(|&input| is_exact[groups.of(input).index()])
}

/// By layer: whether a run that may be resumed keeps it.
fn keeps(graph: &LayerGraph, annotations: &[Annotations]) -> Vec<bool> {
    let mut keeps = checkpoints(graph, annotations);
    graph.outputs().iter().for_each(|output| keeps[output.index()] = true);
    for (id, layer) in graph.layers() {
        if let Op::Store(_) = layer.op() {
            graph.inputs(id).iter().for_each(|input| keeps[input.index()] = true);
        }
    }
    for (id, layer) in graph.layers() {
        // A source has its values anyway, and objects have no bytes that mean something elsewhere.
        let can = layer.spec().is_array() && !matches!(layer.op(), Op::Load(_) | Op::Store(_) | Op::Wait(_));
        keeps[id.index()] &= can;
    }
    keeps
}

/// Layers with a `checkpoint`. Those that make up one layer of the user's, which is what a label is, are kept where
/// others read them, not on the way.
fn checkpoints(graph: &LayerGraph, annotations: &[Annotations]) -> Vec<bool> {
    let users = graph.users();
    let is_part = |(id, label): (LayerId, Option<&str>)| {
        let users = &users[id.index()];
        let same = |user: &LayerId| graph.layer(*user).label() == label;
        label.is_some() && !users.is_empty() && users.iter().all(same)
    };
    let marked = |(id, label)| annotations[LayerId::index(id)].checkpoint() && !is_part((id, label));
    graph.layers().map(|(id, layer)| marked((id, layer.label()))).collect()
}
