//! Sets of blocks of one layer.

use std::sync::Arc;

/// Some blocks of a layer, by their number in C order of the grid. All of them take no space, however many.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum BlockSet {
    /// Every block.
    All,
    /// These, ascending, each once.
    Some(Arc<[usize]>),
}

impl BlockSet {
    /// No block.
    pub fn none() -> Self {
        BlockSet::Some(Arc::default())
    }

    /// These blocks of a layer that has `count`: [`BlockSet::All`] when they are all there are.
    pub fn of(mut blocks: Vec<usize>, count: usize) -> Self {
        blocks.sort_unstable();
        blocks.dedup();
        if blocks.len() == count { BlockSet::All } else { BlockSet::Some(blocks.into()) }
    }

    /// How many they are, of `count`.
    pub fn len(&self, count: usize) -> usize {
        match self {
            BlockSet::All => count,
            BlockSet::Some(blocks) => blocks.len(),
        }
    }

    /// Whether there is none, of `count`.
    pub fn is_empty(&self, count: usize) -> bool {
        self.len(count) == 0
    }

    /// Whether a block is among them. O(log blocks).
    pub fn contains(&self, block: usize) -> bool {
        match self {
            BlockSet::All => true,
            BlockSet::Some(blocks) => blocks.binary_search(&block).is_ok(),
        }
    }

    /// Where a block stands among them. O(log blocks).
    pub fn position(&self, block: usize) -> Option<usize> {
        match self {
            BlockSet::All => Some(block),
            BlockSet::Some(blocks) => blocks.binary_search(&block).ok(),
        }
    }

    /// The blocks, ascending, of `count`.
    pub fn iter(&self, count: usize) -> impl DoubleEndedIterator<Item = usize> + Clone + use<'_> {
        let (all, some) = match self {
            BlockSet::All => (0..count, [].as_slice()),
            BlockSet::Some(blocks) => (0..0, &**blocks),
        };
        all.chain(some.iter().copied())
    }

    /// The blocks in either, of `count`.
    pub fn union(&self, other: &BlockSet, count: usize) -> BlockSet {
        match (self, other) {
            (BlockSet::Some(a), BlockSet::Some(b)) => BlockSet::of([&**a, &**b].concat(), count),
            _ => BlockSet::All,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_ascending_and_know_when_they_are_whole() {
        let some = BlockSet::of(vec![4, 1, 4], 9);
        assert_eq!(some.iter(9).collect::<Vec<_>>(), [1, 4]);
        assert_eq!((some.position(4), some.position(2), some.len(9)), (Some(1), None, 2));
        assert_eq!(BlockSet::of(vec![1, 0], 2), BlockSet::All);
        assert_eq!(some.union(&BlockSet::of(vec![0], 9), 9), BlockSet::of(vec![0, 1, 4], 9));
        assert_eq!(some.union(&BlockSet::All, 9).len(9), 9);
        assert!(BlockSet::none().is_empty(9) && !BlockSet::none().contains(0));
    }
}
