//! How an array is cut into blocks: one list of cuts for each axis.
//!
//! Regular cuts take constant space, so that an array of 10^8 blocks is as cheap to hold as one of ten.

use std::fmt;
use std::sync::Arc;

use crate::shape::{Region, Shape};

/// Elements that a block has when the user names no chunks: 4 MiB of `f32`. It depends on nothing but the
/// shape, so that results, whose reductions follow the chunks, are the same on every machine.
pub const AUTO_BLOCK_ELEMENTS: usize = 1 << 20;

/// The cuts along one axis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AxisChunks {
    /// Blocks of `size`, the last one smaller when `size` doesn't divide `extent`.
    Regular {
        /// Elements along the axis.
        extent: usize,
        /// Elements in every block but the last; at least 1.
        size: usize,
    },
    /// Block `i` covers `bounds[i] .. bounds[i + 1]`; the first bound is 0.
    Irregular {
        /// Ascending cut positions, both ends included.
        bounds: Arc<[usize]>,
    },
}

impl AxisChunks {
    /// Equal blocks of `size`; a size of 0 counts as 1.
    pub fn regular(extent: usize, size: usize) -> Self {
        AxisChunks::Regular { extent, size: size.clamp(1, extent.max(1)) }
    }

    /// Blocks of the given lengths; stored as regular when they are.
    pub fn from_lengths(lengths: &[usize]) -> Self {
        let extent = lengths.iter().sum();
        let size = lengths.first().copied().unwrap_or(1).max(1);
        let regular = AxisChunks::regular(extent, size);
        if (0..lengths.len()).all(|i| i < regular.count() && regular.length(i) == lengths[i])
            && regular.count() == lengths.len()
        {
            return regular;
        }
        let mut bounds = vec![0];
        bounds.extend(lengths.iter().scan(0, |end, length| {
            *end += length;
            Some(*end)
        }));
        AxisChunks::Irregular { bounds: bounds.into() }
    }

    /// Elements along the axis.
    pub fn extent(&self) -> usize {
        match self {
            AxisChunks::Regular { extent, .. } => *extent,
            AxisChunks::Irregular { bounds } => bounds[bounds.len() - 1],
        }
    }

    /// Number of blocks; an axis of no elements has one empty block.
    pub fn count(&self) -> usize {
        match self {
            AxisChunks::Regular { extent, size } => extent.div_ceil(*size).max(1),
            AxisChunks::Irregular { bounds } => bounds.len() - 1,
        }
    }

    /// First element of block `i`.
    pub fn start(&self, i: usize) -> usize {
        match self {
            AxisChunks::Regular { size, .. } => i * size,
            AxisChunks::Irregular { bounds } => bounds[i],
        }
    }

    /// Elements in block `i`.
    pub fn length(&self, i: usize) -> usize {
        match self {
            AxisChunks::Regular { extent, size } => (*size).min(extent - i * size),
            AxisChunks::Irregular { bounds } => bounds[i + 1] - bounds[i],
        }
    }

    /// The block that holds element `at`, which must be below the extent. O(1) for regular cuts, O(log
    /// blocks) else.
    pub fn find(&self, at: usize) -> usize {
        match self {
            AxisChunks::Regular { size, .. } => at / size,
            AxisChunks::Irregular { bounds } => bounds.partition_point(|&bound| bound <= at) - 1,
        }
    }

    /// The largest block's length.
    pub fn longest(&self) -> usize {
        match self {
            AxisChunks::Regular { extent, size } => (*size).min(*extent),
            AxisChunks::Irregular { .. } => (0..self.count()).map(|i| self.length(i)).max().unwrap_or(0),
        }
    }
}

/// The cuts of a whole array.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Chunking(Arc<[AxisChunks]>);

impl Chunking {
    /// From the cuts of each axis, outermost first.
    pub fn new(axes: impl IntoIterator<Item = AxisChunks>) -> Self {
        Chunking(axes.into_iter().collect())
    }

    /// The whole array as one block.
    pub fn single(shape: &Shape) -> Self {
        Chunking::new(shape.iter().map(|&extent| AxisChunks::regular(extent, extent)))
    }

    /// Equal blocks of at most `sizes` along each axis.
    pub fn regular(shape: &Shape, sizes: &[usize]) -> Self {
        Chunking::new(shape.iter().zip(sizes).map(|(&extent, &size)| AxisChunks::regular(extent, size)))
    }

    /// The cuts chosen when the user names none: blocks of about [`AUTO_BLOCK_ELEMENTS`] that are
    /// contiguous in C order, so that they stream from and to files and need few halo rows. Axes of which
    /// `fixed` gives a size keep it.
    pub fn automatic(shape: &Shape, fixed: &[Option<usize>]) -> Self {
        let mut room = AUTO_BLOCK_ELEMENTS;
        let mut sizes = vec![1; shape.len()];
        for axis in 0..shape.len() {
            if let Some(size) = fixed.get(axis).copied().flatten() {
                sizes[axis] = size.clamp(1, shape[axis].max(1));
                room = (room / sizes[axis]).max(1);
            }
        }
        for axis in (0..shape.len()).rev() {
            if fixed.get(axis).copied().flatten().is_none() {
                sizes[axis] = room.clamp(1, shape[axis].max(1));
                room = (room / sizes[axis]).max(1);
            }
        }
        Chunking::regular(shape, &sizes)
    }

    /// The cuts of each axis.
    pub fn axes(&self) -> &[AxisChunks] {
        &self.0
    }

    /// The array's shape.
    pub fn shape(&self) -> Shape {
        self.0.iter().map(AxisChunks::extent).collect()
    }

    /// Blocks along each axis.
    pub fn grid(&self) -> Shape {
        self.0.iter().map(AxisChunks::count).collect()
    }

    /// Number of blocks; 1 for a scalar.
    pub fn blocks(&self) -> usize {
        self.0.iter().map(AxisChunks::count).product()
    }

    /// Elements of the largest block.
    pub fn largest_block(&self) -> usize {
        self.0.iter().map(AxisChunks::longest).product()
    }

    /// Elements of every block, where all have equally many.
    pub fn equal_blocks(&self) -> Option<usize> {
        let equal = |axis: &AxisChunks| match axis {
            AxisChunks::Regular { extent, size } => (extent % size == 0).then_some((*size).min(*extent)),
            AxisChunks::Irregular { .. } => None,
        };
        self.0.iter().map(equal).product()
    }

    /// Elements of block number `block`, in C order over the grid.
    pub fn elements_of(&self, block: usize) -> usize {
        let (mut elements, mut rest) = (1, block);
        for axis in self.0.iter().rev() {
            let count = axis.count();
            elements *= axis.length(rest % count);
            rest /= count;
        }
        elements
    }

    /// The number of the block that holds an element; one beyond the array is in the last along its axis.
    pub fn find(&self, element: &[usize]) -> usize {
        let last = |axis: &AxisChunks| axis.extent().saturating_sub(1);
        let along = |(axis, &at): (&AxisChunks, &usize)| axis.find(at.min(last(axis))).min(axis.count() - 1);
        self.0.iter().zip(element).fold(0, |block, at| block * at.0.count() + along(at))
    }

    /// Where block `index` (its position in the grid) lies in the array.
    pub fn region(&self, index: &[usize]) -> Region {
        let at = |f: fn(&AxisChunks, usize) -> usize| -> Shape {
            self.0.iter().zip(index).map(|(axis, &i)| f(axis, i)).collect()
        };
        Region { origin: at(AxisChunks::start), shape: at(AxisChunks::length) }
    }

    /// Where block number `block` (C order over the grid) lies in the array.
    pub fn region_of(&self, block: usize) -> Region {
        self.region(&self.grid().unravel(block))
    }
}

impl fmt::Display for Chunking {
    /// Block shape and grid, `52×20000 (grid 385×1)`; irregular axes print their longest block with `~`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("scalar");
        }
        for (i, axis) in self.0.iter().enumerate() {
            let times = if i > 0 { "×" } else { "" };
            let about = if matches!(axis, AxisChunks::Irregular { .. }) { "~" } else { "" };
            write!(f, "{times}{about}{}", axis.longest())?;
        }
        if self.blocks() > 1 {
            f.write_str(" (grid ")?;
            for (i, axis) in self.0.iter().enumerate() {
                let times = if i > 0 { "×" } else { "" };
                write!(f, "{times}{}", axis.count())?;
            }
            f.write_str(")")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Chunking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn automatic_chunks_are_slabs_in_c_order() {
        let chunks = Chunking::automatic(&[20_000, 20_000].into(), &[]);
        assert_eq!(chunks.to_string(), "52×20000 (grid 385×1)");
        assert_eq!(Chunking::automatic(&[344, 403].into(), &[]).blocks(), 1);
        assert_eq!(Chunking::automatic(&[4, 3_000_000].into(), &[]).grid(), [4, 3].into());
        assert_eq!(Chunking::automatic(&[4000, 4000].into(), &[None, Some(100)]).grid(), [1, 40].into());
        assert_eq!(Chunking::automatic(&Shape::default(), &[]).blocks(), 1);
    }

    #[test]
    fn every_element_is_in_the_block_that_find_names() {
        for axis in [AxisChunks::regular(10, 3), AxisChunks::from_lengths(&[1, 5, 4])] {
            for at in 0..10 {
                let i = axis.find(at);
                assert!(axis.start(i) <= at && at < axis.start(i) + axis.length(i));
            }
        }
    }

    #[test]
    fn blocks_have_the_elements_of_their_regions() {
        let axes =
            [AxisChunks::regular(10, 4), AxisChunks::from_lengths(&[1, 5, 4]), AxisChunks::regular(0, 3)];
        for chunks in
            [Chunking::new(axes[..2].to_vec()), Chunking::new(axes), Chunking::single(&Shape::default())]
        {
            for block in 0..chunks.blocks() {
                let elements = chunks.region_of(block).shape.elements();
                assert_eq!(chunks.elements_of(block), elements, "{chunks}");
                assert!(elements == 0 || chunks.find(&chunks.region_of(block).origin) == block, "{chunks}");
                assert!(chunks.equal_blocks().is_none_or(|equal| equal == elements), "{chunks}");
            }
        }
    }

    #[test]
    fn equal_lengths_are_stored_as_regular() {
        assert_eq!(AxisChunks::from_lengths(&[4, 4, 2]), AxisChunks::regular(10, 4));
        assert!(matches!(AxisChunks::from_lengths(&[2, 4, 4]), AxisChunks::Irregular { .. }));
        assert_eq!(AxisChunks::regular(0, 5).count(), 1);
    }
}
