//! Finds a node among those of an expression, so that equal nodes are stored once.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::{Node, NodeId};

/// Up to this many nodes are looked through one by one: expressions of single layers, of which graphs hold
/// many, need no memory for an index.
const SCANNED_MAX: usize = 16;

/// A slot that holds no node.
const EMPTY: u32 = u32::MAX;

/// Positions of nodes by their hash, with open addressing; at most half of the slots are taken.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeIndex {
    /// Empty while nodes are few, else a power of two.
    slots: Vec<u32>,
}

impl NodeIndex {
    /// The node equal to `node` among the `nodes` that were added. O(1) expected.
    pub fn find(&self, nodes: &[Node], node: &Node) -> Option<NodeId> {
        let at = if self.slots.is_empty() {
            nodes.iter().position(|known| known == node)
        } else {
            let known = self.slots[self.slot(nodes, node)];
            (known != EMPTY).then_some(known as usize)
        };
        at.map(|at| NodeId(at as u32))
    }

    /// Takes in the last of `nodes`, of which all before are in already. O(1) expected, amortised.
    pub fn add_last(&mut self, nodes: &[Node]) {
        if nodes.len() <= SCANNED_MAX {
            return;
        }
        let mut first = nodes.len() - 1;
        if self.slots.len() < 2 * nodes.len() {
            self.slots = vec![EMPTY; (4 * nodes.len()).next_power_of_two()];
            first = 0;
        }
        for (at, node) in nodes.iter().enumerate().skip(first) {
            let slot = self.slot(nodes, node);
            self.slots[slot] = at as u32;
        }
    }

    /// Where the node is, or the empty slot where it would be.
    fn slot(&self, nodes: &[Node], node: &Node) -> usize {
        let mut hasher = DefaultHasher::new();
        node.hash(&mut hasher);
        let mask = self.slots.len() - 1;
        let mut slot = hasher.finish() as usize & mask;
        while self.slots[slot] != EMPTY && nodes[self.slots[slot] as usize] != *node {
            slot = (slot + 1) & mask;
        }
        slot
    }
}
