//! Folding a block of the domain into a state, in the host's order: see `device::host::reduce`.

use super::body::Body;
use super::element::{stored_type, value_type};
use super::state::{fold_source, state_source};
use super::words::{WordLayout, map_words, value};
use super::{BLOCK, Form, Launch, Pass, Rendered, Slot, Word, blocks_for};
use crate::graph::op::Reduction;
use crate::kernel::render::{LaunchError, fill};
use crate::kernel::{Arguments, MapKernel, StateSpec};
use crate::shape::{AXES_MAX, Shape};

// The definition of results, which is the host's.
/// Elements of a group.
const GROUP: usize = 1024;
/// Elements that a cell takes one by one into a state, where the innermost axis is kept.
const COLUMN: usize = 256;
/// States that are joined in a row.
const FAN: usize = 64;

/// Words of a walk over some axes: their number, and for each an extent and a step.
const APART: usize = 1 + 2 * AXES_MAX;

/// Words of a fold beyond the map's: five of its own, and two walks.
const OWN: usize = 5 + 2 * APART;

/// Bins that a block counts in its shared memory.
const SHARED_BINS: u32 = 4096;

/// Blocks that count at most, so that each has much to count before it adds to the output.
const COUNTERS: usize = 1024;

/// The functions of a fold that counts no bins.
const GROUPS: usize = 0;
const JOIN: usize = 1;
const COLUMNS: usize = 2;
const STATES: usize = 3;

const FUNCTIONS: [&str; 4] = ["oc_groups", "oc_join_groups", "oc_columns", "oc_join_states"];

/// A fold as a launch needs it.
#[derive(Clone, Debug)]
pub(super) struct Fold {
    map: MapKernel,
    reduction: Reduction,
    axes: Vec<usize>,
    state: StateSpec,
}

pub(super) fn render(map: &MapKernel, reduction: Reduction, axes: &[usize], state: StateSpec) -> Rendered {
    let layout = WordLayout::new(map);
    let body = Body::render(map, &layout);
    let dtype = map.expr.output_dtype(0);
    let form = Form::Fold(Fold { map: map.clone(), reduction, axes: axes.to_vec(), state });
    if let Reduction::Count { bins } = reduction {
        let source = body.source(value_type(dtype), layout.own) + &count_source(&layout, bins);
        return Rendered { source, functions: vec!["oc_count"], words: layout.own, form };
    }
    let words = layout.own + OWN;
    let number = |number: usize| number.to_string();
    let kernels = fill(
        include_str!("../../../kernels/cuda/fold.cu"),
        &[
            ("own", &number(layout.own)),
            ("output", &number(layout.output)),
            ("group", &number(GROUP)),
            ("apart", &number(APART)),
            ("column", &number(COLUMN)),
            ("fan", &number(FAN)),
        ],
    );
    // A `bool` is compared as the byte that it is stored as.
    let source = [
        body.source(stored_type(dtype), words),
        include_str!("../../../kernels/cuda/apart.cu").to_owned(),
        state_source(reduction, state),
        fold_source(reduction, state),
        kernels,
    ]
    .concat();
    Rendered { source, functions: FUNCTIONS.to_vec(), words, form }
}

fn count_source(layout: &WordLayout, bins: u32) -> String {
    let shared = (
        format!(
            "    __shared__ unsigned int own[{bins}];\n    for (int b = threadIdx.x; b < {bins}; b += 256) {{\n        \
             own[b] = 0;\n    }}\n    __syncthreads();\n"
        ),
        "atomicAdd(&own[bin], 1u);",
        format!(
            "    __syncthreads();\n    for (int b = threadIdx.x; b < {bins}; b += 256) {{\n        if (own[b]) {{\n            \
             atomicAdd(&counts_of[b], (unsigned long long)own[b]);\n        }}\n    }}\n"
        ),
    );
    let plain = (String::new(), "atomicAdd(&counts_of[bin], 1ull);", String::new());
    let (begin, add, end) = if bins > 0 && bins <= SHARED_BINS { shared } else { plain };
    fill(
        include_str!("../../../kernels/cuda/count.cu"),
        &[
            ("items", &layout.items.to_string()),
            ("output", &layout.output.to_string()),
            ("bins", &bins.to_string()),
            ("begin", &begin),
            ("add", add),
            ("end", &end),
        ],
    )
}

/// The groups of a block whose innermost axis is folded.
struct Groups {
    /// Elements of a run of folded innermost axes.
    run: usize,
    /// Axes further out.
    outer: usize,
    /// Runs, and groups in each.
    runs: usize,
    each: usize,
    /// Runs of one cell.
    of_cell: usize,
}

impl Groups {
    /// `None` where the innermost axis (of those longer than 1) is kept, and for counts of bins.
    fn new(reduction: Reduction, axes: &[usize], shape: &Shape) -> Option<Groups> {
        if matches!(reduction, Reduction::Count { .. }) {
            return None;
        }
        let is_kept = |axis: &usize| shape[*axis] != 1 && !axes.contains(axis);
        let innermost = (0..shape.len()).rev().find(|&axis| shape[axis] != 1);
        if innermost.is_some_and(|axis| is_kept(&axis)) {
            return None;
        }
        let outer = (0..shape.len()).rev().find(is_kept).map_or(0, |axis| axis + 1);
        let extents = |range: std::ops::Range<usize>| range.map(|axis| shape[axis]);
        let run = extents(outer..shape.len()).product();
        let of_cell = (0..outer).filter(|axis| axes.contains(axis)).map(|axis| shape[axis]).product();
        Some(Groups {
            run,
            outer,
            runs: extents(0..outer).product(),
            each: usize::div_ceil(run, GROUP),
            of_cell,
        })
    }

    fn count(&self) -> usize {
        self.runs * self.each
    }

    /// Groups of one cell.
    fn each_cell(&self) -> usize {
        self.of_cell * self.each
    }
}

/// Bytes that a launch on a region of this shape takes for states on their way.
pub(super) fn scratch_bytes(reduction: Reduction, axes: &[usize], state: StateSpec, shape: &Shape) -> usize {
    if matches!(reduction, Reduction::Count { .. }) {
        return 0;
    }
    let is_kept = |axis: &usize| !axes.contains(axis);
    let cells: usize = (0..shape.len()).filter(is_kept).map(|axis| shape[axis]).product();
    let of_cell = match Groups::new(reduction, axes, shape) {
        Some(groups) => groups.each_cell(),
        None => (shape.elements() / cells.max(1)).div_ceil(COLUMN),
    };
    levels(of_cell).map(|states| states * cells * state.planes * state.dtype.size()).sum()
}

/// States of a cell at the levels above which there is another.
fn levels(of_cell: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(of_cell), |states| Some(states.div_ceil(FAN))).take_while(|&states| states > 1)
}

impl Fold {
    pub(super) fn launch(&self, arguments: &Arguments) -> Result<Launch, LaunchError> {
        let shape = &arguments.region.shape;
        let elements = shape.elements();
        let map = map_words(&self.map, arguments)?;
        if matches!(self.reduction, Reduction::Count { .. }) {
            let blocks = (elements.div_ceil(4 * BLOCK as usize).min(COUNTERS) as u32, 1);
            let passes =
                if elements == 0 { Vec::new() } else { vec![Pass { function: 0, words: map, blocks }] };
            return Ok(Launch { scratch_bytes: 0, clears: true, passes });
        }
        let is_kept = |axis: &usize| !self.axes.contains(axis);
        let cells: usize = (0..shape.len()).filter(is_kept).map(|axis| shape[axis]).product();
        let mut tree = Joining { fold: self, map, cells, passes: Vec::new(), at: 0 };
        match Groups::new(self.reduction, &self.axes, shape) {
            Some(groups) => tree.groups(shape, &groups)?,
            None => tree.columns(shape, elements / cells.max(1))?,
        }
        let Joining { passes, at, .. } = tree;
        Ok(Launch { scratch_bytes: at, clears: false, passes })
    }

    /// The map's words, five of a function's own, and the walks over the kept and the folded of the first `outer` axes.
    fn words(
        &self,
        map: Vec<Word>,
        own: [Word; 5],
        shape: &Shape,
        outer: usize,
        step: &dyn Fn(usize) -> usize,
    ) -> Vec<Word> {
        let mut words = map;
        words.extend(own);
        for is_folded in [false, true] {
            let axes =
                || (0..outer).filter(|axis| self.axes.contains(axis) == is_folded && shape[*axis] != 1);
            let start = words.len();
            words.push(value(axes().count()));
            words.extend(axes().rev().flat_map(|axis| [value(shape[axis]), value(step(axis))]));
            words.resize(start + APART, value(0));
        }
        words
    }
}

/// The passes of a launch: states that are joined until there is one for each cell.
struct Joining<'a> {
    fold: &'a Fold,
    map: Vec<Word>,
    cells: usize,
    passes: Vec<Pass>,
    /// Bytes of scratch memory that are taken.
    at: usize,
}

impl Joining<'_> {
    fn groups(&mut self, shape: &Shape, groups: &Groups) -> Result<(), LaunchError> {
        let own = [value(groups.count()), value(groups.run), value(groups.each), value(0), value(0)];
        let words = self.fold.words(self.map.clone(), own, shape, 0, &|_| 0);
        let states = groups.each_cell();
        let from = self.pass(GROUPS, words, groups.count() * 16, states)?;
        if states <= 1 {
            return if states == 0 { self.nothing(shape) } else { Ok(()) };
        }
        let outer: Shape = shape[..groups.outer].into();
        let steps = outer.strides();
        let own = [value(self.cells), value(states), value(groups.each), from, value(groups.count())];
        let words = self.fold.words(self.map.clone(), own, shape, groups.outer, &|axis| steps[axis] as usize);
        let joined = states.div_ceil(FAN);
        let from = self.pass(JOIN, words, joined * self.cells, joined)?;
        self.join(shape, joined, from)
    }

    fn columns(&mut self, shape: &Shape, folded: usize) -> Result<(), LaunchError> {
        let steps = shape.strides();
        let states = folded.div_ceil(COLUMN).max(1);
        let own = [value(self.cells), value(folded), value(states), value(0), value(0)];
        let words = self.fold.words(self.map.clone(), own, shape, shape.len(), &|axis| steps[axis] as usize);
        let from = self.pass(COLUMNS, words, states * self.cells, states)?;
        self.join(shape, states, from)
    }

    /// From so many states of each cell to one.
    fn join(&mut self, shape: &Shape, mut states: usize, mut from: Word) -> Result<(), LaunchError> {
        while states > 1 {
            let joined = states.div_ceil(FAN);
            from = self.states(shape, states, joined, from)?;
            states = joined;
        }
        Ok(())
    }

    /// The states of cells that nothing is folded into.
    fn nothing(&mut self, shape: &Shape) -> Result<(), LaunchError> {
        self.states(shape, 0, 1, value(0)).map(|_| ())
    }

    fn states(
        &mut self,
        shape: &Shape,
        states: usize,
        joined: usize,
        from: Word,
    ) -> Result<Word, LaunchError> {
        let own = [value(self.cells), value(states), value(joined), from, value(0)];
        let words = self.fold.words(self.map.clone(), own, shape, 0, &|_| 0);
        self.pass(STATES, words, joined * self.cells, joined)
    }

    /// Adds a pass that makes so many states of each cell, and says where they are.
    fn pass(
        &mut self,
        function: usize,
        mut words: Vec<Word>,
        threads: usize,
        states: usize,
    ) -> Result<Word, LaunchError> {
        let output = self.fold.map.inputs.len();
        if states > 1 {
            words[output] = Word::Address(Slot::Scratch, self.at as isize);
            self.at += states * self.cells * self.fold.state.planes * self.fold.state.dtype.size();
        }
        let to = words[output];
        if threads > 0 {
            self.passes.push(Pass { function, words, blocks: (blocks_for(threads, BLOCK as usize)?, 1) });
        }
        Ok(to)
    }
}
