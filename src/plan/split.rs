//! Makes blocks in parts, on a device that is too small for whole ones.
//!
//! A layer that is to be made in parts is replaced by three: its inputs, cut like the parts, on the host; the layer
//! itself, part by part, where it was and under its annotations; and the layer's own blocks, joined of the parts on the
//! host. The joined ones have the layer's name, so that readers, results, checkpoints and what is known of the layer find
//! them as before. What the parts travel are transfers of the plan like all others. Layers that were fused are cut alike,
//! and fuse again: one reads the other's parts as they are.
//!
//! A part is a task: it takes what annotations ask for a task of the layer, memory among it.

mod cut;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use crate::graph::chunking::Chunking;
use crate::graph::error::GraphError;
use crate::graph::layer::{Layer, LayerBody, Naming};
use crate::graph::layer_graph::LayerGraph;
use crate::graph::op::{CopyRule, Op, Reduce};
use crate::graph::value_spec::ValueSpec;
use crate::ids::LayerId;
use crate::machine::{DeviceId, Machine};
use crate::plan::effective::{Effective, Governed};
use crate::plan::keep::Standing;
use crate::plan::known::Known;
use crate::plan::resolve::{Resolution, Resolved};
use crate::steps::PartsOf;
use crate::token::{Token, Tokenizer};

pub use cut::Order;
use cut::{Cut, cut, of_input};

/// Parts of one block at most.
pub const PARTS_MAX: usize = 16;

/// Notes that a device's memory gave out at layers of these names, though nothing else was under way, and what the next
/// plan does about it: the first of the remedies that is left. Whether there is one.
///
/// The device does one thing at a time, so that nothing is brought there before it is needed; it makes blocks of these
/// layers in two parts, in four, and so on; where they can't be made in more, they leave it. Names that aren't in the
/// graph are passed over. A device has at most 1 + layers · (log₂ [`PARTS_MAX`] + 1) remedies. O(names + blocks along an
/// axis).
pub fn relieve(
    known: &mut Known,
    graph: &LayerGraph,
    names: &[Arc<str>],
    device: DeviceId,
    how: &str,
) -> bool {
    known.add_in_turn(device)
        || halve(known, graph, names, device)
        || give_up(known, graph, names, device, how)
}

/// Whether any of the layers can be made in more parts.
fn halve(known: &mut Known, graph: &LayerGraph, names: &[Arc<str>], device: DeviceId) -> bool {
    let mut is_news = false;
    for layer in names.iter().filter_map(|name| graph.layer_named(name)) {
        let parts = 2 * known.parts(layer, device);
        if known.too_small(layer, device).is_none()
            && parts <= PARTS_MAX
            && cut(layer, parts, Order::Kept).is_some()
        {
            known.add_parts(layer.name(), device, parts);
            is_news = true;
        }
    }
    is_news
}

/// Notes that layers of these names leave a device, whatever else could be done. Whether that is news.
pub fn give_up(
    known: &mut Known,
    graph: &LayerGraph,
    names: &[Arc<str>],
    device: DeviceId,
    how: &str,
) -> bool {
    let layers = names.iter().filter(|name| graph.layer_named(name).is_some());
    layers.fold(false, |is_news, name| known.add_too_small(name, device, how) | is_news)
}

/// In how many parts a layer's blocks have to be made, so that no block that it reads or makes has more than `limit`
/// bytes; 1 where they are no larger. `None` where that many can't be made. O(blocks along an axis).
pub fn parts_within(layer: &Layer, limit: u64, order: Order) -> Option<usize> {
    let bytes = |chunks: &Chunking, of: &Layer| (chunks.largest_block() * of.dtype().size()) as u64;
    let fits = |cut: &Cut, count: usize| {
        let reads =
            |input: &Arc<Layer>| bytes(&of_input(layer.op(), cut, input.chunks(), count), input) <= limit;
        bytes(&cut.chunks, layer) <= limit && layer.inputs().iter().all(reads)
    };
    let is_small = |layer: &Layer| bytes(layer.chunks(), layer) <= limit;
    if is_small(layer) && layer.inputs().iter().all(|input| is_small(input)) {
        return Some(1);
    }
    let counts =
        std::iter::successors(Some(2), |count| Some(2 * count)).take_while(|&count| count <= PARTS_MAX);
    counts
        .map_while(|count| Some((count, cut(layer, count, order)?)))
        .find(|(count, cut)| fits(cut, *count))
        .map(|(count, _)| count)
}

/// A graph with layers in parts, and what governs its layers.
pub struct Split {
    /// The graph.
    pub graph: LayerGraph,
    /// Its layers' annotations.
    pub effective: Effective,
    /// What they ask for.
    pub resolved: Resolved,
    /// Which of them must be there.
    pub standing: Standing,
    /// Those that the graph before doesn't have, or that do something else, by name.
    roles: HashMap<Arc<str>, Role>,
}

/// What a layer is for.
enum Role {
    /// It makes another one's blocks in parts.
    Parts { of: LayerId, layer: Arc<Layer>, device: DeviceId, count: usize },
    /// It joins them.
    Joined { of: LayerId },
    /// It has the blocks of another one, cut for parts that read them.
    Cut { of: Arc<Layer> },
}

/// The graph in which layers are made in parts that are `known` to have to be, or whose blocks are above what a buffer of
/// the device holds, on devices that they may be on. O(layers + edges) where there are any, and O(blocks along an axis) of these.
///
/// # Errors
/// What is wrong with a layer that is made of another one: nothing, unless there is a bug.
pub fn split(
    graph: &LayerGraph,
    effective: Effective,
    resolved: Resolved,
    standing: Standing,
    known: &Known,
    machine: &Machine,
) -> Result<Split, GraphError> {
    let has_limits = machine.devices.iter().any(|device| device.limits.binding_bytes_max.is_some());
    let cuts = match known.has_parts() || has_limits {
        true => planned_cuts(graph, &resolved, known, machine),
        false => HashMap::new(),
    };
    if cuts.is_empty() {
        return Ok(Split { graph: graph.clone(), effective, resolved, standing, roles: HashMap::new() });
    }
    let mut rewrite = Rewrite {
        graph,
        standing: &standing,
        known,
        cuts,
        wholes: Vec::new(),
        parts: HashMap::new(),
        roles: HashMap::new(),
    };
    for (id, layer) in graph.layers() {
        let whole = rewrite.whole(id, layer)?;
        rewrite.wholes.push(whole);
    }
    let Rewrite { wholes, roles, .. } = rewrite;
    let ids: HashMap<&str, LayerId> = graph.layers().map(|(id, layer)| (layer.name(), id)).collect();
    let new = graph.with_outputs(|old| Ok(wholes[ids[old.name()].index()].clone()))?;
    let before = Before { new: &new, roles: &roles, ids };
    let effective = before.effective(&effective);
    let (resolved, standing) = (before.resolved(&resolved), before.standing(&standing));
    Ok(Split { graph: new, effective, resolved, standing, roles })
}

impl Split {
    /// The user's layer that a layer of the graph does the work of, if any.
    pub fn source<'a>(&'a self, layer: &'a Arc<Layer>) -> Option<&'a Arc<Layer>> {
        match self.roles.get(layer.name()) {
            None => Some(layer),
            Some(Role::Parts { layer, .. }) => Some(layer),
            Some(Role::Joined { .. } | Role::Cut { .. }) => None,
        }
    }

    /// What people call a layer of the graph.
    pub fn called(&self, layer: &Layer) -> String {
        let name = |layer: &Layer| layer.label().unwrap_or(layer.name()).to_owned();
        match self.roles.get(layer.name()) {
            Some(Role::Parts { layer, .. }) => format!("{} in parts", name(layer)),
            Some(Role::Cut { of }) => format!("{} cut", name(of)),
            Some(Role::Joined { .. }) | None => name(layer),
        }
    }

    /// Whose parts a layer's values are, if so.
    pub fn parts_of(&self, layer: &Layer) -> Option<PartsOf> {
        let Role::Parts { layer, count, .. } = self.roles.get(layer.name())? else { return None };
        let (root, chunks) = (layer.shared_name().clone(), layer.chunks().clone());
        Some(PartsOf { root, chunks, count: *count })
    }
}

/// How a layer is cut on a device.
struct PlannedCut {
    device: DeviceId,
    count: usize,
    cut: Cut,
}

/// The cuts of the layers that need one. A map is cut like the layer that reads it over the same blocks: the two may be
/// one kernel.
fn planned_cuts(
    graph: &LayerGraph,
    resolved: &Resolved,
    known: &Known,
    machine: &Machine,
) -> HashMap<LayerId, PlannedCut> {
    let users = graph.users();
    let mut cuts: HashMap<LayerId, PlannedCut> = HashMap::new();
    for index in (0..graph.layer_count()).rev() {
        let (id, layer) = (LayerId::at(index), graph.layer(LayerId::at(index)));
        let on = |&device: &DeviceId| {
            let info = machine.device(device);
            let within = |limit| parts_within(layer, limit, Order::on(info));
            let needed = info.limits.binding_bytes_max.and_then(within).unwrap_or(1);
            Some((device, needed.max(known.parts(layer, device)))).filter(|&(_, parts)| parts > 1)
        };
        let Some((device, count)) = resolved.of(id).candidates.iter().find_map(on) else { continue };
        let like = |user: &LayerId| {
            let planned =
                cuts.get(user).filter(|planned| (planned.device, planned.count) == (device, count))?;
            let is_over = match graph.layer(*user).op() {
                Op::Map(_) => graph.layer(*user).chunks() == layer.chunks(),
                Op::Reduce(reduce) => reduce.domain == *layer.chunks(),
                _ => false,
            };
            let domain = &planned.cut.domain;
            is_over.then(|| Cut { domain: domain.clone(), chunks: domain.clone() })
        };
        let mut readers = users[index].iter().filter(|_| matches!(layer.op(), Op::Map(_)));
        let own = || cut(layer, count, Order::on(machine.device(device)));
        if let Some(cut) = readers.find_map(like).or_else(own) {
            cuts.insert(id, PlannedCut { device, count, cut });
        }
    }
    cuts
}

struct Rewrite<'a> {
    graph: &'a LayerGraph,
    standing: &'a Standing,
    known: &'a Known,
    cuts: HashMap<LayerId, PlannedCut>,
    /// For each layer so far, the one of the same name and blocks.
    wholes: Vec<Arc<Layer>>,
    /// For layers and chunkings, the layers that have their values so, and needn't be joined and cut again.
    parts: HashMap<(LayerId, Chunking), Arc<Layer>>,
    roles: HashMap<Arc<str>, Role>,
}

impl Rewrite<'_> {
    fn whole(&mut self, id: LayerId, layer: &Arc<Layer>) -> Result<Arc<Layer>, GraphError> {
        let all = |ids: &[LayerId]| ids.iter().map(|id| self.wholes[id.index()].clone()).collect::<Vec<_>>();
        let (inputs, after) = (all(self.graph.inputs(id)), all(self.graph.after(id)));
        if let Some(PlannedCut { device, count, cut }) = self.cuts.remove(&id) {
            let parts = self.in_parts(id, &cut, count, after)?;
            let role = Role::Parts { of: id, layer: layer.clone(), device, count };
            self.roles.insert(parts.shared_name().clone(), role);
            self.roles.insert(layer.shared_name().clone(), Role::Joined { of: id });
            let body = LayerBody { op: Op::Copy(CopyRule::Rechunk), spec: layer.spec().clone() };
            return Layer::from_layers(
                std::slice::from_ref(layer),
                body,
                vec![parts],
                Vec::new(),
                Naming::StandIn,
            );
        }
        let before = self.graph.inputs(id).iter().chain(self.graph.after(id));
        let mut new = inputs.iter().chain(&after);
        if before.zip(&mut new).all(|(&old, new)| Arc::ptr_eq(self.graph.layer(old), new)) {
            return Ok(layer.clone());
        }
        Layer::from_layers(std::slice::from_ref(layer), layer.body(), inputs, after, Naming::StandIn)
    }

    fn in_parts(
        &mut self,
        id: LayerId,
        cut: &Cut,
        count: usize,
        after: Vec<Arc<Layer>>,
    ) -> Result<Arc<Layer>, GraphError> {
        let layer = self.graph.layer(id);
        let op = match layer.op() {
            Op::Reduce(reduce) => Op::Reduce(Reduce { domain: cut.domain.clone(), ..reduce.clone() }),
            op => op.clone(),
        };
        let mut inputs = Vec::new();
        for &input in self.graph.inputs(id) {
            let chunks = of_input(&op, cut, self.graph.layer(input).chunks(), count);
            inputs.push(self.input(input, chunks)?);
        }
        let spec = ValueSpec { chunks: cut.chunks.clone(), ..layer.spec().clone() };
        let name = format!("{} in parts {}", layer.name(), token(&spec).short());
        let body = LayerBody { op, spec };
        let parts =
            Layer::from_layers(std::slice::from_ref(layer), body, inputs, after, Naming::Exact(name.into()))?;
        // Values that are there, and those to keep that nobody asks for, are read where they are joined.
        let is_kept = self.standing.is_kept(id) && !self.graph.outputs().contains(&id);
        if !is_kept && !self.known.has_layer(layer.name()) {
            self.parts.insert((id, cut.chunks.clone()), parts.clone());
        }
        Ok(parts)
    }

    /// A layer's values in blocks like these.
    fn input(&mut self, id: LayerId, chunks: Chunking) -> Result<Arc<Layer>, GraphError> {
        let whole = self.wholes[id.index()].clone();
        if *whole.chunks() == chunks {
            return Ok(whole);
        }
        if let Some(parts) = self.parts.get(&(id, chunks.clone())) {
            return Ok(parts.clone());
        }
        let spec = ValueSpec { chunks: chunks.clone(), ..whole.spec().clone() };
        let name = format!("{} cut {}", whole.name(), token(&spec).short());
        let body = LayerBody { op: Op::Copy(CopyRule::Rechunk), spec };
        let inputs = vec![whole.clone()];
        let cut = Layer::from_layers(
            std::slice::from_ref(&whole),
            body,
            inputs,
            Vec::new(),
            Naming::Exact(name.into()),
        )?;
        self.roles.insert(cut.shared_name().clone(), Role::Cut { of: whole });
        self.parts.insert((id, chunks), cut.clone());
        Ok(cut)
    }
}

fn token(spec: &ValueSpec) -> Token {
    spec.tokenize(Tokenizer::new("parts")).finish()
}

/// What the layers of a rewritten graph were before.
struct Before<'a> {
    new: &'a LayerGraph,
    roles: &'a HashMap<Arc<str>, Role>,
    /// The layers of the graph before.
    ids: HashMap<&'a str, LayerId>,
}

impl Before<'_> {
    /// The layers of the rewritten graph, each with its role, or the layer before that it is.
    fn layers(&self) -> impl Iterator<Item = (&Layer, Result<&Role, LayerId>)> {
        // INVARIANT: a layer without a role has the name of one before.
        let role = |layer: &Layer| self.roles.get(layer.name()).ok_or_else(|| self.ids[layer.name()]);
        self.new.layers().map(move |(_, layer)| (&**layer, role(layer)))
    }

    fn effective(&self, before: &Effective) -> Effective {
        before.carried(self.layers().map(|(new, role)| match role {
            Err(of) => Governed::As(of),
            Ok(Role::Parts { of, layer, .. }) => {
                Governed::Parts { of: *of, whole: layer.chunks(), parts: new.chunks() }
            }
            Ok(Role::Joined { of }) => Governed::Joined(*of),
            Ok(Role::Cut { .. }) => Governed::Nothing,
        }))
    }

    fn resolved(&self, before: &Resolved) -> Resolved {
        let on_host = |reason: &str| Resolution::host(reason.to_owned());
        Resolved::from_layers(self.layers().map(|(_, role)| match role {
            Err(of) => before.of(of).clone(),
            Ok(Role::Parts { of, device, count, .. }) => {
                let whole = before.of(*of);
                let reason = format!("{}, each block in up to {count} parts", whole.reason);
                Resolution { candidates: vec![*device], reason, ..whole.clone() }
            }
            Ok(Role::Joined { .. }) => on_host("blocks are joined of parts on the host"),
            Ok(Role::Cut { .. }) => on_host("blocks are cut into parts on the host"),
        }))
    }

    fn standing(&self, before: &Standing) -> Standing {
        before.carried(self.layers().map(|(_, role)| match role {
            Err(of) | Ok(&Role::Joined { of }) => (Some(of), true),
            Ok(Role::Parts { of, .. }) => (Some(*of), false),
            Ok(Role::Cut { .. }) => (None, true),
        }))
    }
}
