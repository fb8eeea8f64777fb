//! Folds in parts.
//!
//! Cells don't know of each other, so a fold may be cut along any axis that is kept. What goes into one cell is cut
//! between groups: each group is folded into a state of its own, and they are combined by their tree when all are done.
//! That gives the bits of folding them one after the other, since a state takes in a group as it takes in a state.

use std::sync::atomic::AtomicU64;

use super::combine::{Planes, join};
use super::fold::{Fold, GROUP, Target};
use crate::device::host::launch::Failure;
use crate::device::host::split::border;
use crate::device::host::vm::walk::Walk;
use crate::graph::op::Reduction;
use crate::kernel::Arguments;
use crate::shape::{Region, Shape, Strides};

/// Cells along the innermost axis that a part has at least.
const LEAST_ROW: usize = 32;
/// Elements of a group at least, for a state of its own to be worth it.
const LEAST_GROUP: usize = GROUP / 4;

/// Where a fold is cut.
pub(in crate::device::host) enum FoldCut {
    /// Along an axis that is kept, at multiples of `step`.
    Cells { axis: usize, count: usize, step: usize },
    /// Between groups. Integers, as the counts of bins are, may be added in any order: one state for each part will do.
    Groups { run: usize, groups: usize, count: usize, states: Box<[AtomicU64]>, is_one_each: bool },
}

impl FoldCut {
    pub fn count(&self) -> usize {
        match self {
            FoldCut::Cells { count, .. } | FoldCut::Groups { count, .. } => *count,
        }
    }
}

impl Fold {
    /// Cuts a launch into about `count` parts, if it can be cut.
    pub fn cut(&self, arguments: &Arguments, count: usize) -> Option<FoldCut> {
        let cells = self.cut_cells(arguments, count);
        match cells {
            Some(cells) if cells.count() * 2 > count => Some(cells),
            _ => self.cut_groups(&arguments.region.shape, count).or(cells),
        }
    }

    fn cut_cells(&self, arguments: &Arguments, count: usize) -> Option<FoldCut> {
        let (shape, state) = (&arguments.region.shape, arguments.output.shape());
        if matches!(self.reduction, Reduction::Count { .. }) || state.len() != shape.len() + 1 {
            return None;
        }
        let innermost = (0..shape.len()).rev().find(|&axis| shape[axis] != 1);
        let cut = |axis: usize| {
            let step = if Some(axis) == innermost { LEAST_ROW } else { 1 };
            FoldCut::Cells { axis, count: count.min(shape[axis] / step), step }
        };
        let is_kept = |axis: &usize| !self.axes.contains(axis) && state[axis + 1] == shape[*axis];
        // Of several, the outermost.
        let best = (0..shape.len()).filter(is_kept).map(cut).rev().max_by_key(FoldCut::count);
        best.filter(|cut| cut.count() > 1)
    }

    fn cut_groups(&self, shape: &Shape, count: usize) -> Option<FoldCut> {
        let run = self.run_length(shape).filter(|&run| run >= LEAST_GROUP)?;
        let groups = shape.elements() / run * run.div_ceil(GROUP);
        let count = count.min(groups);
        let bins = if let Reduction::Count { bins } = self.reduction { Some(bins as usize) } else { None };
        let words = match bins {
            Some(bins) => bins * count,
            None => groups * self.state.planes,
        };
        let is_worth_it = count > 1 && words <= shape.elements() / 16;
        let states = || (0..words).map(|_| AtomicU64::new(0)).collect();
        let is_one_each = bins.is_some();
        is_worth_it.then(|| FoldCut::Groups { run, groups, count, states: states(), is_one_each })
    }

    /// Does one part.
    pub fn part(&self, arguments: &Arguments, cut: &FoldCut, at: usize) -> Result<(), Failure> {
        let shape = &arguments.region.shape;
        match cut {
            &FoldCut::Cells { axis, count, step } => {
                let extent = shape[axis];
                let (first, end) = (border(extent, count, at, step), border(extent, count, at + 1, step));
                let mut own = arguments.clone();
                own.region.origin[axis] += first;
                own.region.shape[axis] = end - first;
                let mut place = Region::whole(arguments.output.shape());
                (place.origin[axis + 1], place.shape[axis + 1]) = (first, end - first);
                own.output = arguments.output.part(&place);
                self.fold_block(&own, self.run_length(shape))
            }
            FoldCut::Groups { run, groups, count, states, is_one_each } => {
                let (first, end) = (border(*groups, *count, at, 1), border(*groups, *count, at + 1, 1));
                let each = states.len() / if *is_one_each { *count } else { *groups };
                let slot = each * if *is_one_each { at } else { first };
                let slots = states[slot..].as_ptr().cast_mut().cast::<u8>();
                let identity = self.identity();
                for word in (0..each * if *is_one_each { 1 } else { end - first }).step_by(self.state.planes)
                {
                    // SAFETY: a part's slots are its own, and have that many words.
                    unsafe { slots.add(8 * word).cast::<[u8; 8]>().write(identity) };
                }
                let per_run = run.div_ceil(GROUP);
                let element = |group: usize| group / per_run * run + group % per_run * GROUP;
                let step = if *is_one_each { 0 } else { 8 * each };
                let (cells, strides) = self.cells(shape);
                let mut frame = self.frame(arguments, strides)?;
                frame.keep_to(element(first)..element(end));
                debug_assert!(*is_one_each || cells * self.state.planes > 0);
                self.fold_groups(&mut frame, *run, element(first), Target::Slots { next: slots, step });
                Ok(())
            }
        }
    }

    /// When all parts are done: combines the groups' states.
    pub fn finish(&self, arguments: &Arguments, cut: &FoldCut) -> Result<(), Failure> {
        let FoldCut::Groups { run, groups, count, states, is_one_each } = cut else { return Ok(()) };
        let shape = &arguments.region.shape;
        let (cells, strides) = self.cells(shape);
        let state = self.blank(&arguments.output, cells)?;
        let size = self.state.dtype.size();
        let slots = states.as_ptr().cast::<u8>();
        let mut tree = self.tree_of_groups(shape, *run, state.start, cells);
        let mut take_in = |cell: usize, cells_each: usize, slot: usize| {
            let Planes { start, step } = tree.lowest();
            let to = Planes { start: start.wrapping_add(cell * size), step };
            let from = Planes { start: slots.wrapping_add(8 * slot).cast_mut(), step: 8 };
            // SAFETY: nobody writes to the states any more; both sides have those cells.
            unsafe { join(self.reduction, self.state, 0..cells_each, to, from) };
            tree.took(cell..cell + cells_each);
        };
        if *is_one_each {
            (0..*count).for_each(|part| take_in(0, cells, part * cells));
            tree.finish();
            return state.store();
        }
        let (planes, per_run) = (self.state.planes, groups * run / shape.elements());
        let outer = (0..shape.len()).find(|&axis| shape[axis..].iter().product::<usize>() <= *run);
        let outer = outer.unwrap_or(shape.len());
        let mut walk =
            Walk::new(&shape[..outer], [Strides::from_slice(&strides[..outer])].into_iter().collect(), true);
        let mut slot = 0;
        while walk.has_row() {
            for at in walk.row() {
                let cell = walk.offset(0) + at as isize * walk.row_stride(0);
                for _ in 0..per_run {
                    take_in(cell as usize, 1, slot);
                    slot += planes;
                }
            }
            walk.advance();
        }
        tree.finish();
        state.store()
    }
}
