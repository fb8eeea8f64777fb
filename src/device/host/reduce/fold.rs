//! Folding a block into a state.

use std::ops::Range;

use super::Dense;
use super::combine::Planes;
use super::loops::{FoldArgs, FoldLoops, fold_loops, identity_bits};
use super::tree::{FAN, Tree};
use crate::block::Block;
use crate::device::host::copy;
use crate::device::host::isa::Isa;
use crate::device::host::launch::Failure;
use crate::device::host::scratch::Scratch;
use crate::device::host::vm::tiles::TILE;
use crate::device::host::vm::{Code, Frame, lower};
use crate::dtype::DType;
use crate::graph::op::Reduction;
use crate::kernel::{Arguments, MapKernel, StateClass, StateSpec};
use crate::shape::{Shape, Strides};

/// Elements of a group.
pub(super) const GROUP: usize = 1024;

/// Elements that a cell takes one by one into a state.
pub(super) const COLUMN: usize = 256;

/// Where groups are folded to.
pub(super) enum Target<'a> {
    /// Their cells.
    Cells(Tree<'a>),
    /// Each to a state of one cell, in words, `step` bytes behind the last one's; all to the same if that is 0.
    Slots { next: *mut u8, step: usize },
}

/// A compiled fold.
pub(in crate::device::host) struct Fold {
    code: Code,
    map: MapKernel,
    pub(super) reduction: Reduction,
    pub(super) axes: Vec<usize>,
    pub(super) state: StateSpec,
    loops: FoldLoops,
}

impl Fold {
    /// Compiles, or says what it can't do.
    pub fn new(
        map: &MapKernel,
        reduction: Reduction,
        axes: &[usize],
        state: StateSpec,
        isa: Isa,
    ) -> Result<Self, String> {
        let code = lower(map, isa)?;
        let has_mask = match code.outputs[..] {
            [_] => false,
            [_, DType::Bool] => true,
            _ => return Err("a reduction takes a value and, perhaps, a bool mask".to_owned()),
        };
        let value = code.outputs[0];
        if state != StateSpec::new(StateClass::Double, reduction, value) {
            return Err(format!("the host keeps states in doubles, not as {state:?}"));
        }
        let loops = fold_loops(isa, reduction, value, has_mask)?;
        Ok(Fold { code, map: map.clone(), reduction, axes: axes.to_vec(), state, loops })
    }

    /// About how long an element takes, in picoseconds.
    pub fn picoseconds(&self) -> usize {
        self.code.picoseconds() + 250
    }

    /// Folds the region of the launch into its output.
    pub fn run(&self, arguments: &Arguments) -> Result<(), Failure> {
        self.fold_block(arguments, self.run_length(&arguments.region.shape))
    }

    /// As [`Fold::run`], for a part of a block whose folded innermost axes have runs of `run` elements.
    pub(super) fn fold_block(&self, arguments: &Arguments, run: Option<usize>) -> Result<(), Failure> {
        let shape = &arguments.region.shape;
        let (cells, strides) = self.cells(shape);
        let state = self.blank(&arguments.output, cells)?;
        let mut frame = self.frame(arguments, strides)?;
        match run {
            Some(run) => {
                let tree = self.tree_of_groups(shape, run, state.start, cells);
                self.fold_groups(&mut frame, run, 0, Target::Cells(tree));
            }
            None => {
                let items = shape.elements() / cells.max(1);
                self.fold_columns(&mut frame, Tree::new(self, state.start, cells, items, COLUMN));
            }
        }
        drop(frame);
        state.store()
    }

    /// The tree of what is made of runs of `run` elements. Bins don't have groups of their own, and count in any order.
    pub(super) fn tree_of_groups(
        &self,
        shape: &Shape,
        run: usize,
        result: *mut u8,
        cells: usize,
    ) -> Tree<'_> {
        let groups = match self.reduction {
            Reduction::Count { .. } => 0,
            _ => shape.elements() / run.max(1) / cells.max(1) * run.div_ceil(GROUP),
        };
        Tree::new(self, result, cells, groups, FAN)
    }

    pub(super) fn frame<'a>(
        &'a self,
        arguments: &'a Arguments,
        cells: Strides,
    ) -> Result<Frame<'a>, Failure> {
        Frame::bind(&self.code, &self.map, arguments, &[cells])
    }

    /// A state of nothing.
    pub(super) fn blank<'a>(&self, output: &'a Block, cells: usize) -> Result<Dense<'a>, Failure> {
        let elements = self.state.planes * cells;
        if output.shape().elements() != elements || output.dtype() != self.state.dtype {
            let (got, dtype) = (output.shape(), output.dtype());
            return Err(Failure(format!("a state of {cells} cells doesn't fit in {dtype} {got}")));
        }
        let state = Dense::output(output)?;
        let size = self.state.dtype.size();
        // SAFETY: the state has that many elements of that size.
        unsafe {
            copy::strided_run(state.start, size as isize, self.identity().as_ptr(), 0, elements, size);
        }
        Ok(state)
    }

    /// The element of a state of nothing.
    pub(super) fn identity(&self) -> [u8; 8] {
        identity_bits(self.reduction, self.code.outputs[0]).to_ne_bytes()
    }

    /// Number of cells, and the step from cell to cell along each axis of the domain.
    pub(super) fn cells(&self, shape: &Shape) -> (usize, Strides) {
        if let Reduction::Count { bins } = self.reduction {
            return (bins as usize, Strides::from_elem(0, shape.len()));
        }
        let is_folded = |axis: usize| self.axes.contains(&axis);
        let kept: Shape =
            (0..shape.len()).map(|axis| if is_folded(axis) { 1 } else { shape[axis] }).collect();
        let mut strides = kept.strides();
        self.axes.iter().for_each(|&axis| strides[axis] = 0);
        (kept.elements(), strides)
    }

    /// Elements in a run of folded innermost axes, or `None` when the innermost axis is kept. Axes of extent 1
    /// don't count.
    pub(super) fn run_length(&self, shape: &Shape) -> Option<usize> {
        let is_count = matches!(self.reduction, Reduction::Count { .. });
        let mut inner = (0..shape.len()).rev().filter(|&axis| shape[axis] != 1).peekable();
        let is_folded = |axis: &usize| is_count || self.axes.contains(axis);
        if inner.peek().is_some_and(|axis| !is_folded(axis)) {
            return None;
        }
        Some(inner.take_while(is_folded).map(|axis| shape[axis]).product())
    }

    /// Folds what the frame walks, from element `first`, which begins a group.
    pub(super) fn fold_groups(&self, frame: &mut Frame, run: usize, first: usize, mut target: Target<'_>) {
        let value_size = self.code.outputs[0].size();
        let has_mask = self.code.outputs.len() > 1;
        let (_scratch, areas) = Scratch::with_areas(&[GROUP * value_size, GROUP]);
        let (values, mask) = (areas[0], areas[1]);
        let (mut filled, mut left) = (0, run - first % run.max(1));
        while frame.walk().has_row() {
            frame.begin_row();
            let Range { start: mut at, end } = frame.walk().row();
            while at < end {
                let n = TILE.min(end - at).min(GROUP - filled).min(left);
                let targets = [values.wrapping_add(filled * value_size), mask.wrapping_add(filled)];
                frame.tile(at, n, &targets[..self.code.outputs.len()]);
                (at, filled, left) = (at + n, filled + n, left - n);
                if filled == GROUP || left == 0 {
                    let cell = frame.extra_offset(0) as usize;
                    let (state, plane) = match &mut target {
                        Target::Cells(tree) => {
                            let Planes { start, step } = tree.lowest();
                            (start.wrapping_add(cell * self.state.dtype.size()), step)
                        }
                        Target::Slots { next, step } => {
                            (std::mem::replace(next, next.wrapping_add(*step)), size_of::<u64>())
                        }
                    };
                    self.fold(self.loops.group, values, has_mask.then_some(mask), filled, state, plane);
                    if let Target::Cells(tree) = &mut target {
                        tree.took(cell..cell + 1);
                    }
                    filled = 0;
                    left = if left == 0 { run } else { left };
                }
            }
            frame.next_row();
        }
        if let Target::Cells(tree) = target {
            tree.finish();
        }
    }

    fn fold_columns(&self, frame: &mut Frame, mut tree: Tree<'_>) {
        let Planes { start, step } = tree.lowest();
        let has_mask = self.code.outputs.len() > 1;
        let values = frame.output_tile(0);
        let mask = has_mask.then(|| frame.output_tile(1));
        let targets = [values, mask.unwrap_or(values)];
        while frame.walk().has_row() {
            frame.begin_row();
            let length = frame.walk().row_length();
            for at in (0..length).step_by(TILE) {
                let n = TILE.min(length - at);
                frame.tile(at, n, &targets[..self.code.outputs.len()]);
                let cell = frame.extra_offset(0) as usize + at;
                let state = start.wrapping_add(cell * self.state.dtype.size());
                self.fold(self.loops.column, values, mask, n, state, step);
                tree.took(cell..cell + n);
            }
            frame.next_row();
        }
        tree.finish();
    }

    fn fold(
        &self,
        run: super::loops::FoldFn,
        values: *const u8,
        mask: Option<*mut u8>,
        n: usize,
        state: *mut u8,
        plane: usize,
    ) {
        let bins = if let Reduction::Count { bins } = self.reduction { bins as usize } else { 0 };
        let mask = mask.map_or(std::ptr::null(), <*mut u8>::cast_const);
        // SAFETY: `n` values and mask bytes were just computed; the state has all its planes.
        unsafe { run(FoldArgs { values, mask, n, state, plane, bins }) };
    }
}
