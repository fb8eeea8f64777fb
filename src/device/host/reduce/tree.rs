//! The order in which a cell's states are combined.
//!
//! A tree of a fixed width: so many items of a cell are taken into one state, one after the other; [`FAN`] of these states
//! in their order into another one, and so on. A level of it can be done by as many threads as it has states, which is what
//! lets cards give the host's bits; and the error of a sum grows with the logarithm of its length.

use std::ops::Range;

use super::combine::{Planes, join};
use super::fold::Fold;
use crate::device::host::scratch::Scratch;

/// States that are combined in a row. A part of the definition of results.
pub(super) const FAN: usize = 64;

/// Cells on their way to their result.
pub(super) struct Tree<'a> {
    fold: &'a Fold,
    cells: usize,
    /// Items that the lowest state of a cell takes.
    width: usize,
    /// The levels, from the lowest; the last is the result.
    levels: Vec<Planes>,
    /// Items that cells took so far, at the first of those that take theirs together; empty where there is one level.
    taken: Vec<u32>,
    _scratch: Scratch,
}

impl<'a> Tree<'a> {
    /// For cells that take `items` each, at the most. `result` holds states of nothing, with all cells side by side.
    pub fn new(fold: &'a Fold, result: *mut u8, cells: usize, items: usize, width: usize) -> Self {
        let step = cells * fold.state.dtype.size();
        let capacities = std::iter::successors(Some(width), |capacity| capacity.checked_mul(FAN));
        let below = capacities.take_while(|&capacity| capacity < items).count();
        let (scratch, areas) = Scratch::with_areas(&vec![step * fold.state.planes; below]);
        let levels = areas.into_iter().chain([result]).map(|start| Planes { start, step }).collect();
        let taken = vec![0; if below > 0 { cells } else { 0 }];
        let tree = Tree { fold, cells, width, levels, taken, _scratch: scratch };
        tree.levels[..below].iter().for_each(|level| tree.clear(*level, 0..cells));
        tree
    }

    /// The states that take items.
    pub fn lowest(&self) -> Planes {
        self.levels[0]
    }

    /// Notes that each of some cells, which always take theirs together, took an item.
    pub fn took(&mut self, cells: Range<usize>) {
        if self.taken.is_empty() || cells.is_empty() {
            return;
        }
        let taken = &mut self.taken[cells.start];
        *taken += 1;
        let (mut capacity, taken) = (self.width, *taken as usize);
        for level in 0..self.levels.len() - 1 {
            if !taken.is_multiple_of(capacity) {
                break;
            }
            self.raise(level, cells.clone());
            self.clear(self.levels[level], cells.clone());
            capacity *= FAN;
        }
    }

    /// Takes in what isn't full. States of nothing change nothing.
    pub fn finish(self) {
        (0..self.levels.len() - 1).for_each(|level| self.raise(level, 0..self.cells));
    }

    fn raise(&self, level: usize, cells: Range<usize>) {
        let (from, to) = (self.levels[level], self.levels[level + 1]);
        // SAFETY: levels have all cells, are this tree's own, and don't overlap.
        unsafe { join(self.fold.reduction, self.fold.state, cells, to, from) };
    }

    fn clear(&self, level: Planes, cells: Range<usize>) {
        let (identity, size) = (self.fold.identity(), self.fold.state.dtype.size());
        for plane in 0..self.fold.state.planes {
            for cell in cells.clone() {
                // SAFETY: levels have all cells in each plane, of that size, of at most eight bytes.
                unsafe {
                    level
                        .plane::<u8>(plane)
                        .add(cell * size)
                        .copy_from_nonoverlapping(identity.as_ptr(), size)
                };
            }
        }
    }
}
