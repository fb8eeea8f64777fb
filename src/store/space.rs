//! Which parts of a file are free.

use std::collections::{BTreeMap, BTreeSet};

/// A part of a file, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Where it begins.
    pub start: u64,
    /// Its length.
    pub length: u64,
}

/// Free parts of a file: the smallest that fits is taken, neighbours are merged, and the free end is cut off.
/// All operations are O(log n) in the number of free parts.
#[derive(Debug, Default)]
pub struct Space {
    end: u64,
    by_start: BTreeMap<u64, u64>,
    by_length: BTreeSet<(u64, u64)>,
}

impl Space {
    /// A part of `length` bytes, at the file's end if there is no free one.
    pub fn take(&mut self, length: u64) -> Extent {
        self.take_free(length).unwrap_or_else(|| {
            let start = self.end;
            self.end += length;
            Extent { start, length }
        })
    }

    /// A part of `length` bytes that was freed, if there is one.
    pub fn take_free(&mut self, length: u64) -> Option<Extent> {
        let &(free, start) = self.by_length.range((length, 0)..).next()?;
        self.remove(start, free);
        if free > length {
            self.insert(start + length, free - length);
        }
        Some(Extent { start, length })
    }

    /// The longest free part.
    pub fn longest(&self) -> Option<Extent> {
        self.by_length.last().map(|&(length, start)| Extent { start, length })
    }

    /// Frees a part that was taken, or a part of it.
    pub fn give(&mut self, extent: Extent) {
        let Extent { mut start, mut length } = extent;
        if length == 0 {
            return;
        }
        if let Some((&before, &bytes)) = self.by_start.range(..start).next_back()
            && before + bytes == start
        {
            self.remove(before, bytes);
            (start, length) = (before, bytes + length);
        }
        if let Some(&after) = self.by_start.get(&(start + length)) {
            self.remove(start + length, after);
            length += after;
        }
        if start + length == self.end {
            self.end = start;
        } else {
            self.insert(start, length);
        }
    }

    fn insert(&mut self, start: u64, length: u64) {
        self.by_start.insert(start, length);
        self.by_length.insert((length, start));
    }

    fn remove(&mut self, start: u64, length: u64) {
        self.by_start.remove(&start);
        self.by_length.remove(&(length, start));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_never_overlap_and_nothing_is_lost(steps in prop::collection::vec((any::<bool>(), 1..9u64), 0..80)) {
            let mut space = Space::default();
            let mut taken: Vec<Extent> = Vec::new();
            for (take, number) in steps {
                if take || taken.is_empty() {
                    let part = space.take(number);
                    let apart = |other: &Extent| {
                        part.start >= other.start + other.length || other.start >= part.start + part.length
                    };
                    prop_assert!(part.length == number && taken.iter().all(apart));
                    taken.push(part);
                } else {
                    space.give(taken.swap_remove(number as usize % taken.len()));
                }
                let used: u64 = taken.iter().map(|part| part.length).sum();
                let free: u64 = space.by_start.values().sum();
                prop_assert_eq!(used + free, space.end);
                prop_assert_eq!(space.by_start.len(), space.by_length.len());
            }
            taken.into_iter().for_each(|part| space.give(part));
            prop_assert_eq!((space.end, space.by_start.len()), (0, 0));
        }
    }

    #[test]
    fn the_smallest_part_that_fits_is_taken() {
        let mut space = Space::default();
        let parts = [5, 1, 3, 1].map(|length| space.take(length));
        space.give(parts[0]);
        space.give(parts[2]);
        assert_eq!(space.take(3), parts[2]);
        assert_eq!(space.take(4), Extent { start: 0, length: 4 });
    }
}
