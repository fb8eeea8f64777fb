//! Which values are needed, so that others are there: from what is asked of a graph's outputs back to its sources.

use std::collections::BTreeSet;

use crate::graph::block_set::BlockSet;
use crate::graph::error::GraphError;
use crate::graph::op::Op;
use crate::graph::rule::{Read, reads_everything, reads_into};
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
    /// Puts into `reads` what value `block` reads, all of which is there.
    ///
    /// # Errors
    /// [`GraphError::BlockRule`]; [`GraphError::RulePanicked`].
    pub fn reads(&self, block: usize, reads: &mut Vec<Read>) -> Result<(), GraphError> {
        reads.clear();
        match self.op {
            Op::Custom(op) => {
                panics::caught(|| op.reads_into(block, self.spec, &self.specs, reads)).map_err(
                    |message| GraphError::RulePanicked {
                        layer: self.name.to_owned(),
                        rule: "block",
                        message,
                    },
                )?;
            }
            op => reads_into(op, self.spec, &self.specs, block, reads),
        }
        let count = |input: u16| match input {
            Read::OWN => block,
            input => self.specs.get(usize::from(input)).map_or(0, |spec| spec.count()),
        };
        match reads.iter().find(|read| read.block >= count(read.input)) {
            None => Ok(()),
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

    /// `needed` and what it reads of the node itself, where values aren't `there`: tasks and custom operations may read
    /// earlier values of theirs. `other` is told what the values read of other nodes. O(values), and O(log values) more
    /// each in huge layers.
    fn closed(
        &self,
        needed: &BlockSet,
        there: &BlockSet,
        mut other: impl FnMut(u16, usize),
    ) -> Result<BlockSet, GraphError> {
        let count = self.spec.count();
        let mut reads = Vec::new();
        let (Op::Tasks(_) | Op::Custom(_), BlockSet::Some(blocks)) = (self.op, needed) else {
            for block in needed.iter(count).filter(|&block| !there.contains(block)) {
                self.reads(block, &mut reads)?;
                let others = reads.iter().filter(|read| read.input != Read::OWN);
                others.for_each(|read| other(read.input, read.block));
            }
            return Ok(needed.clone());
        };
        let mut open = Descending::new(blocks.last().map_or(0, |last| last + 1));
        blocks.iter().for_each(|&block| open.insert(block));
        let mut all = Vec::with_capacity(blocks.len());
        while let Some(block) = open.pop() {
            all.push(block);
            if there.contains(block) {
                continue;
            }
            self.reads(block, &mut reads)?;
            for read in &reads {
                match read.input {
                    Read::OWN => open.insert(read.block),
                    input => other(input, read.block),
                }
            }
        }
        all.reverse();
        Ok(BlockSet::of(all, count))
    }
}

/// A set of numbers that gives them back from the largest down; whatever comes in later is smaller.
enum Descending {
    /// A bit for each number, and one for each word of these that isn't 0; the words that are past are gone.
    Dense { bits: Vec<u64>, filled: Vec<u64> },
    /// The numbers of a range too wide for bits.
    Sparse(BTreeSet<usize>),
}

impl Descending {
    /// Numbers in a range that takes bits: these are 8 MiB then, of which only what is used is touched.
    const DENSE_MAX: usize = 1 << 26;

    /// The empty set of numbers below `count`.
    fn new(count: usize) -> Self {
        if count > Self::DENSE_MAX {
            return Descending::Sparse(BTreeSet::new());
        }
        let words = count.div_ceil(64);
        Descending::Dense { bits: vec![0; words], filled: vec![0; words.div_ceil(64)] }
    }

    fn insert(&mut self, number: usize) {
        match self {
            Descending::Sparse(numbers) => drop(numbers.insert(number)),
            Descending::Dense { bits, filled } => {
                bits[number >> 6] |= 1 << (number & 63);
                filled[number >> 12] |= 1 << ((number >> 6) & 63);
            }
        }
    }

    fn pop(&mut self) -> Option<usize> {
        let (bits, filled) = match self {
            Descending::Sparse(numbers) => return numbers.pop_last(),
            Descending::Dense { bits, filled } => (bits, filled),
        };
        while filled.last() == Some(&0) {
            filled.pop();
        }
        let past = filled.len().checked_sub(1)?;
        let at = past << 6 | filled[past].ilog2() as usize;
        let number = at << 6 | bits[at].ilog2() as usize;
        bits[at] &= !(1 << (number & 63));
        if bits[at] == 0 {
            filled[past] &= !(1 << (at & 63));
        }
        Some(number)
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
        // Who reads nobody else asks for nothing; what its rule names is looked at where it is lowered.
        if node.inputs.is_empty() && needed[at] == BlockSet::All {
            continue;
        }
        needed[at] = node
            .closed(&needed[at], &there, |input, block| asked[node.inputs[usize::from(input)]].push(block))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_from_the_largest_down() {
        for count in [20_001, Descending::DENSE_MAX + 1] {
            let mut open = Descending::new(count);
            [0, 63, 64, 4_095, 4_096, 20_000].into_iter().for_each(|number| open.insert(number));
            let mut back = Vec::new();
            while let Some(number) = open.pop() {
                back.push(number);
                if number == 64 {
                    open.insert(62);
                }
            }
            assert_eq!(back, [20_000, 4_096, 4_095, 64, 63, 62, 0]);
        }
        assert_eq!(Descending::new(0).pop(), None);
    }
}
