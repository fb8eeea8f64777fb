//! The graph as a picture, SVG or Graphviz: one box for each layer, never for each block.
//!
//! `card` says what a box shows, `layout` where it stands, `svg` and `dot` write it down. Everything is drawn,
//! however much it is: time and size are linear in layers and edges, so that 10^5 layers give a large document
//! and not an endless wait. Equal graphs give equal pictures, byte for byte.

mod card;
mod dot;
mod layout;
mod svg;
pub(super) mod text;

use std::collections::BTreeSet;

use crate::graph::layer_graph::LayerGraph;
use card::{Card, Look};

impl LayerGraph {
    /// The graph as an SVG document that needs nothing else: a box for each layer, sources above and outputs
    /// below, filled by the kind of device that its annotations ask for. Full names are tooltips. O(layers + edges),
    /// and a logarithm for sorting.
    pub fn to_svg(&self) -> String {
        svg::document(&Picture::of(self))
    }

    /// The graph in Graphviz's DOT language, with the boxes and colours of [`LayerGraph::to_svg`]. O(layers +
    /// edges).
    pub fn to_dot(&self) -> String {
        dot::document(&Picture::of(self))
    }
}

/// What there is to draw.
struct Picture {
    /// By layer; inputs come before their users.
    cards: Vec<Card>,
    /// Ascending, each once.
    edges: Vec<Edge>,
}

/// An arrow between two layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    from: usize,
    to: usize,
    /// Whether `to` waits for `from` and reads nothing of it.
    is_after: bool,
}

impl Picture {
    fn of(graph: &LayerGraph) -> Self {
        let outputs: BTreeSet<usize> = graph.outputs().iter().map(|id| id.index()).collect();
        let mut edges = Vec::new();
        let mut cards = Vec::with_capacity(graph.layer_count());
        for (id, layer) in graph.layers() {
            let to = id.index();
            let edge = |is_after| move |from: &crate::ids::LayerId| Edge { from: from.index(), to, is_after };
            edges.extend(graph.inputs(id).iter().map(edge(false)));
            edges.extend(graph.after(id).iter().map(edge(true)));
            cards.push(Card::new(layer, &graph.kept(id), outputs.contains(&to)));
        }
        edges.sort_unstable();
        edges.dedup();
        Picture { cards, edges }
    }

    /// The looks that occur, in the legend's order.
    fn looks(&self) -> Vec<Look> {
        let seen: BTreeSet<Look> = self.cards.iter().map(|card| card.look).collect();
        seen.into_iter().collect()
    }
}

#[cfg(test)]
mod tests;
