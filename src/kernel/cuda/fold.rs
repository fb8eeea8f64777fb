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

/// Elements of a group. A part of the definition of results: the host's.
const GROUP: usize = 1024;

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
    Rendered { source, functions: vec!["oc_groups", "oc_join_groups", "oc_columns"], words, form }
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
pub(super) struct Groups {
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
    pub(super) fn new(reduction: Reduction, axes: &[usize], shape: &Shape) -> Option<Groups> {
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

    /// Whether every cell is one group.
    fn is_direct(&self) -> bool {
        self.each == 1 && self.of_cell == 1
    }

    /// Room for the groups' states, where they aren't the result.
    pub(super) fn scratch_bytes(&self, state: StateSpec) -> usize {
        if self.is_direct() { 0 } else { self.count() * state.planes * state.dtype.size() }
    }
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
        let Some(groups) = Groups::new(self.reduction, &self.axes, shape) else {
            let steps = shape.strides();
            let steps = |axis: usize| steps[axis] as usize;
            let folded: usize = self.axes.iter().map(|&axis| shape[axis]).product();
            let own = [value(cells), value(folded), value(0), value(0), value(0)];
            let words = self.words(map, own, shape, shape.len(), &steps);
            return Ok(Launch { passes: pass(COLUMNS, words, cells)?, ..Launch::default() });
        };
        let scratch_bytes = groups.scratch_bytes(self.state);
        let own = [value(groups.count()), value(groups.run), value(groups.each), value(0), value(0)];
        let mut words = self.words(map.clone(), own, shape, 0, &|_| 0);
        if groups.is_direct() {
            return Ok(Launch { passes: pass(GROUPS, words, groups.count() * 16)?, ..Launch::default() });
        }
        let output = self.map.inputs.len();
        words[output] = Word::Address(Slot::Scratch, 0);
        let mut passes = pass(GROUPS, words, groups.count() * 16)?;
        let outer: Shape = shape[..groups.outer].into();
        let steps = outer.strides();
        let states = Word::Address(Slot::Scratch, 0);
        let own = [value(cells), value(groups.of_cell), value(groups.each), states, value(groups.count())];
        let words = self.words(map, own, shape, groups.outer, &|axis| steps[axis] as usize);
        passes.extend(pass(JOIN, words, cells)?);
        Ok(Launch { scratch_bytes, clears: false, passes })
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

fn pass(function: usize, words: Vec<Word>, threads: usize) -> Result<Vec<Pass>, LaunchError> {
    let blocks = (blocks_for(threads, BLOCK as usize)?, 1);
    Ok(if threads == 0 { Vec::new() } else { vec![Pass { function, words, blocks }] })
}
