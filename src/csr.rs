//! Lists of numbers by key, in one piece of memory: compressed sparse rows.

use std::ops::Range;

/// For each key below some count, a list of items.
#[derive(Clone, Debug)]
pub struct Csr {
    offsets: Vec<u32>,
    items: Vec<u32>,
}

impl Csr {
    /// The lists of `count` keys from pairs `(key, item)`; each keeps the order of its pairs. O(count + pairs).
    pub fn new(count: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        // One place further, an offset is the end of what is filled in so far, and in the end where the next key starts.
        let mut offsets = vec![0u32; count + 2];
        pairs.clone().for_each(|(key, _)| offsets[key as usize + 2] += 1);
        for at in 1..=count {
            offsets[at + 1] += offsets[at];
        }
        let mut items = vec![0; offsets[count + 1] as usize];
        pairs.for_each(|(key, item)| {
            let end = &mut offsets[key as usize + 1];
            items[*end as usize] = item;
            *end += 1;
        });
        offsets.pop();
        Csr { offsets, items }
    }

    /// The items of a key.
    pub fn of(&self, key: u32) -> &[u32] {
        &self.items[self.range(key)]
    }

    /// Where the items of a key are, for [`item`](Csr::item): a loop over them that borrows nothing.
    pub fn range(&self, key: u32) -> Range<usize> {
        self.offsets[key as usize] as usize..self.offsets[key as usize + 1] as usize
    }

    /// The item at a place in a [`range`](Csr::range).
    pub fn item(&self, at: usize) -> u32 {
        self.items[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_the_order_of_their_pairs() {
        let pairs = [(2, 7), (0, 5), (2, 6), (2, 7)];
        let lists = Csr::new(4, pairs.iter().copied());
        assert_eq!(
            (lists.of(0), lists.of(1), lists.of(2), lists.of(3)),
            (&[5][..], &[][..], &[7, 6, 7][..], &[][..])
        );
        assert!(lists.range(2).map(|at| lists.item(at)).eq([7, 6, 7]));
        assert!(Csr::new(0, std::iter::empty()).items.is_empty());
    }
}
