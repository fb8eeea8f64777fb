//! Joins elementwise layers into the layers that use them, so that their values never leave registers.
//!
//! A map joins the group of its users when all of them are in one group, read it element for element over
//! the same blocks, sit in the same place (a class, later a device) and carry annotations that may fuse. A
//! reduction can end a group: its expression takes in the maps before it.
//!
//! Groups never wait for each other in a circle: a member that isn't the root is read by members alone, so
//! that whatever depends on the group from outside depends on its root, which comes after all inputs.

use std::collections::HashMap;
use std::sync::Arc;

use crate::annotate::Annotations;
use crate::graph::chunking::Chunking;
use crate::graph::expr::{Expr, NodeId, NodeOp, SharedExpr};
use crate::graph::expr_ops::{EdgeMode, Stencil};
use crate::graph::layer::Layer;
use crate::graph::layer_graph::LayerGraph;
use crate::graph::op::{Op, Reduce};
use crate::ids::{GroupId, LayerId};

/// A kernel reads at most this many arrays: WebGPU guarantees eight storage buffers, one is the output.
pub const FUSED_INPUTS_MAX: usize = 7;

/// The expressions fused into a kernel have at most this many nodes together: beside so much arithmetic a
/// stored value costs nothing, and the host numbers a kernel's values with 16 bits.
pub const FUSED_NODES_MAX: usize = 1 << 14;

/// Layers that one kernel computes.
#[derive(Clone, Debug)]
pub struct Group {
    /// The layers, inputs first; the last one is the root, whose value is the group's.
    pub layers: Vec<LayerId>,
    /// What they do together.
    pub op: Op,
    /// The layers read from other groups, in the order in which the operation numbers them.
    pub inputs: Vec<LayerId>,
    /// The layers outside that must be done before the group begins, though it reads nothing of them.
    pub after: Vec<LayerId>,
    /// The annotations that govern the group's tasks; the sources keep their own.
    pub annotations: Annotations,
}

impl Group {
    /// The layer whose value is the group's.
    pub fn root(&self) -> LayerId {
        self.layers[self.layers.len() - 1]
    }
}

/// All groups, inputs before users.
#[derive(Clone, Debug)]
pub struct Groups {
    groups: Vec<Group>,
    group_of: Vec<GroupId>,
}

impl Groups {
    /// The groups with their ids.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (GroupId, &Group)> {
        self.groups.iter().enumerate().map(|(index, group)| (GroupId::at(index), group))
    }

    /// The group with this id.
    pub fn group(&self, id: GroupId) -> &Group {
        &self.groups[id.index()]
    }

    /// The group that a layer is in.
    pub fn of(&self, layer: LayerId) -> GroupId {
        self.group_of[layer.index()]
    }
}

/// Fuses layers for which `same_place` holds, and whose `annotations`, by layer, may be joined; those that are `apart`
/// join nobody. O(layers + edges + nodes of their expressions).
pub fn fuse(
    graph: &LayerGraph,
    annotations: &[Annotations],
    apart: impl Fn(LayerId) -> bool,
    same_place: impl Fn(LayerId, LayerId) -> bool,
) -> Groups {
    let users = graph.users();
    // Walking backwards, a layer's users have their groups before it asks to join one. Groups are named by
    // their root until all are known.
    let mut root_of: Vec<LayerId> = (0..graph.layer_count()).map(LayerId::at).collect();
    let mut drafts: HashMap<LayerId, Draft> = HashMap::new();
    for index in (0..graph.layer_count()).rev() {
        let id = LayerId::at(index);
        let own = &annotations[index];
        if !apart(id)
            && let Some(root) = group_to_join(graph, &users, &root_of, id)
            && same_place(id, root)
            && drafts.get_mut(&root).is_some_and(|draft| draft.join(graph, id, own))
        {
            root_of[index] = root;
            continue;
        }
        drafts.insert(id, Draft::new(graph, id, own));
    }
    collect(graph, &root_of, drafts)
}

/// The root of the one group that all users of a map are in, provided each reads it element for element.
fn group_to_join(
    graph: &LayerGraph,
    users: &[Vec<LayerId>],
    root_of: &[LayerId],
    id: LayerId,
) -> Option<LayerId> {
    let layer = graph.layer(id);
    if !matches!(layer.op(), Op::Map(_)) {
        return None;
    }
    let users = &users[id.index()];
    let root = root_of[users.first()?.index()];
    let joins = |user: &LayerId| {
        root_of[user.index()] == root
            && domain(graph.layer(*user)).is_some_and(|domain| domain == layer.chunks())
            && !reads_neighbours(graph, *user, id)
    };
    users.iter().all(joins).then_some(root)
}

/// The blocks over which a layer's expression is computed.
fn domain(layer: &Layer) -> Option<&Chunking> {
    match layer.op() {
        Op::Map(_) => Some(layer.chunks()),
        Op::Reduce(reduce) => Some(&reduce.domain),
        _ => None,
    }
}

fn expr_of(layer: &Layer) -> Option<&SharedExpr> {
    match layer.op() {
        Op::Map(expr) => Some(expr),
        Op::Reduce(reduce) => Some(&reduce.expr),
        _ => None,
    }
}

fn reads_neighbours(graph: &LayerGraph, user: LayerId, of: LayerId) -> bool {
    let Some(expr) = expr_of(graph.layer(user)) else { return true };
    let inputs = graph.inputs(user).iter().enumerate();
    inputs.into_iter().any(|(i, input)| *input == of && expr.has_stencil(i as u16))
}

/// A group while it grows: what limits who may still join.
struct Draft {
    members: Vec<LayerId>,
    /// The layers outside that members read, each once.
    inputs: Vec<LayerId>,
    annotations: Annotations,
    /// The layers and axes along which stencils read them, each once.
    edges: Vec<(LayerId, usize, EdgeMode)>,
    /// Nodes of the members' expressions.
    nodes: usize,
}

impl Draft {
    fn new(graph: &LayerGraph, id: LayerId, own: &Annotations) -> Self {
        let mut inputs = Vec::new();
        // Nobody joins a layer without an expression, and explicit tasks may read 10^5 layers.
        if expr_of(graph.layer(id)).is_some() {
            add_distinct(&mut inputs, graph.inputs(id));
        }
        let (annotations, edges) = (own.clone(), edges(graph, id));
        Draft { members: vec![id], inputs, annotations, edges, nodes: nodes(graph.layer(id)) }
    }

    /// Takes in a layer that members alone read, or says `false` and stays as it was.
    fn join(&mut self, graph: &LayerGraph, id: LayerId, own: &Annotations) -> bool {
        let Ok(annotations) = self.annotations.fused(own) else { return false };
        // Members come after what this layer reads, so that none of its inputs is one of them.
        let mut inputs: Vec<LayerId> = self.inputs.iter().copied().filter(|&input| input != id).collect();
        add_distinct(&mut inputs, graph.inputs(id));
        // A device that pads its inputs pads each axis in one way.
        let new = edges(graph, id);
        let clash = |a: &(LayerId, usize, EdgeMode), b: &(LayerId, usize, EdgeMode)| {
            a.0 == b.0 && a.1 == b.1 && a.2 != b.2
        };
        let nodes = self.nodes + nodes(graph.layer(id));
        if inputs.len() > FUSED_INPUTS_MAX
            || nodes > FUSED_NODES_MAX
            || new.iter().any(|a| self.edges.iter().any(|b| clash(a, b)))
        {
            return false;
        }
        self.members.push(id);
        add_distinct(&mut self.edges, &new);
        (self.inputs, self.annotations, self.nodes) = (inputs, annotations, nodes);
        true
    }
}

fn add_distinct<T: Copy + PartialEq>(known: &mut Vec<T>, more: &[T]) {
    for one in more {
        if !known.contains(one) {
            known.push(*one);
        }
    }
}

fn nodes(layer: &Layer) -> usize {
    expr_of(layer).map_or(0, |expr| expr.nodes().len())
}

fn edges(graph: &LayerGraph, id: LayerId) -> Vec<(LayerId, usize, EdgeMode)> {
    let Some(expr) = expr_of(graph.layer(id)) else { return Vec::new() };
    let stencil = |node: &crate::graph::expr::Node| match &node.op {
        NodeOp::Stencil(input, stencil) => {
            Some((graph.inputs(id)[usize::from(*input)], Stencil::axis(stencil), stencil.mode()))
        }
        _ => None,
    };
    expr.nodes().iter().filter_map(stencil).collect()
}

fn collect(graph: &LayerGraph, root_of: &[LayerId], mut drafts: HashMap<LayerId, Draft>) -> Groups {
    let mut group_of = vec![GroupId(0); graph.layer_count()];
    let mut groups = Vec::with_capacity(drafts.len());
    for index in 0..graph.layer_count() {
        let root = LayerId::at(index);
        let Some(draft) = drafts.remove(&root) else { continue };
        let mut layers = draft.members;
        layers.sort_unstable();
        let (op, inputs) = compose(graph, &layers);
        for layer in &layers {
            debug_assert_eq!(root_of[layer.index()], root);
            group_of[layer.index()] = GroupId::at(groups.len());
        }
        let mut after = Vec::new();
        layers.iter().for_each(|&layer| add_distinct(&mut after, graph.after(layer)));
        groups.push(Group { layers, op, inputs, after, annotations: draft.annotations });
    }
    Groups { groups, group_of }
}

/// The operation of a whole group: its members' expressions, each spliced in where it is used.
fn compose(graph: &LayerGraph, members: &[LayerId]) -> (Op, Vec<LayerId>) {
    let root = members[members.len() - 1];
    let layer = graph.layer(root);
    let (Some(_), true) = (expr_of(layer), members.len() > 1) else {
        return (layer.op().clone(), graph.inputs(root).to_vec());
    };
    let mut expr = Expr::default();
    let mut inputs: Vec<LayerId> = Vec::new();
    let mut values: HashMap<LayerId, NodeId> = HashMap::new();
    for &member in members {
        let Some(own) = expr_of(graph.layer(member)) else { continue };
        let mut arguments = Vec::new();
        for input in graph.inputs(member) {
            let node = *values.entry(*input).or_insert_with(|| {
                inputs.push(*input);
                expr.push(NodeOp::Input((inputs.len() - 1) as u16), graph.layer(*input).dtype())
            });
            arguments.push(node);
        }
        let results = expr.splice(own, &arguments);
        if member == root {
            results.iter().for_each(|&result| expr.output(result));
        } else {
            values.insert(member, results[0]);
        }
    }
    let expr = Arc::new(expr);
    let op = match layer.op() {
        Op::Reduce(reduce) => Op::Reduce(Reduce { expr, ..reduce.clone() }),
        _ => Op::Map(expr),
    };
    (op, inputs)
}
