//! Which values are needed, so that others are there: from what is asked of a graph's outputs back to its sources.

use std::collections::BTreeSet;

use crate::graph::block_set::BlockSet;
use crate::graph::error::GraphError;
use crate::graph::op::Op;
use crate::graph::rule::{Read, reads, reads_everything};
use crate::graph::value_spec::ValueSpec;
use crate::panics;

/// A layer, or several as one, and where in a list the nodes are that it reads and waits for.
pub struct Node<'a> {
    /// For messages.
    pub name: &'a str,
    /// What it does.
    pub op: &'a Op,
    /// What it makes.
    pub spec: &'a ValueSpec,
    /// The nodes that it reads.
    pub inputs: Vec<usize>,
    /// What each of these makes.
    pub specs: Vec<&'a ValueSpec>,
    /// The nodes that it waits for.
    pub after: Vec<usize>,
}

impl Node<'_> {
    /// What value `block` reads, all of which is there.
    ///
    /// # Errors
    /// [`GraphError::BlockRule`]; [`GraphError::RulePanicked`].
    pub fn reads(&self, block: usize) -> Result<Vec<Read>, GraphError> {
        let reads = match self.op {
            Op::Custom(op) => {
                panics::caught(|| op.reads(block, self.spec, &self.specs)).map_err(|message| {
                    GraphError::RulePanicked { layer: self.name.to_owned(), rule: "block", message }
                })?
            }
            op => reads(op, self.spec, &self.specs, block),
        };
        let count = |input: u16| match input {
            Read::OWN => block,
            input => self.specs.get(usize::from(input)).map_or(0, |spec| spec.count()),
        };
        match reads.iter().find(|read| read.block >= count(read.input)) {
            None => Ok(reads),
            Some(read) => Err(self.refuses(block, *read)),
        }
    }

    /// Value `block` reads what isn't there.
    pub fn refuses(&self, block: usize, read: Read) -> GraphError {
        GraphError::BlockRule {
            layer: self.name.to_owned(),
            block,
            input: read.input,
            read: read.block,
            inputs: self.specs.iter().map(ToString::to_string).collect(),
        }
    }

    /// `needed` and what that reads of the node itself, where values aren't `there`: tasks and custom operations may
    /// read earlier values of theirs.
    fn closed(&self, needed: &BlockSet, there: &BlockSet) -> Result<BlockSet, GraphError> {
        let (Op::Tasks(_) | Op::Custom(_), BlockSet::Some(blocks)) = (self.op, needed) else {
            return Ok(needed.clone());
        };
        let mut open = blocks.to_vec();
        let mut all: BTreeSet<usize> = open.iter().copied().collect();
        while let Some(block) = open.pop() {
            if there.contains(block) {
                continue;
            }
            for read in self.reads(block)?.iter().filter(|read| read.input == Read::OWN) {
                if all.insert(read.block) {
                    open.push(read.block);
                }
            }
        }
        Ok(BlockSet::of(all.into_iter().collect(), self.spec.count()))
    }
}

/// Adds to `needed`, which says what is asked of each node, what that needs. `kept` is what there is of a node, and
/// `there` what of it exists already: it may be needed, and needs nothing itself.
/// Nodes come after those that they read. O(nodes) where whole nodes are needed, O(values) where parts are.
///
/// # Errors
/// [`GraphError::BlockRule`].
pub fn propagate(
    nodes: &[Node<'_>],
    kept: impl Fn(usize) -> BlockSet,
    there: impl Fn(usize) -> BlockSet,
    needed: &mut [BlockSet],
) -> Result<(), GraphError> {
    let mut asked: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (at, node) in nodes.iter().enumerate().rev() {
        let count = node.spec.count();
        let from_users = std::mem::take(&mut asked[at]);
        if needed[at] != BlockSet::All && !from_users.is_empty() {
            needed[at] = needed[at].union(&BlockSet::of(from_users, count), count);
        }
        if needed[at].is_empty(count) {
            continue;
        }
        let there = there(at);
        if needed[at].iter(count).all(|block| there.contains(block)) {
            continue;
        }
        node.after.iter().for_each(|&other| needed[other] = kept(other));
        if needed[at] == BlockSet::All && there.is_empty(count) && reads_everything(node.op) {
            node.inputs.iter().for_each(|&input| needed[input] = kept(input));
            continue;
        }
        needed[at] = node.closed(&needed[at], &there)?;
        for block in needed[at].iter(count).filter(|&block| !there.contains(block)) {
            for Read { input, block } in node.reads(block)? {
                if input != Read::OWN {
                    asked[node.inputs[usize::from(input)]].push(block);
                }
            }
        }
    }
    Ok(())
}
