//! Code bound to the blocks of one launch.

use std::ops::Range;

use smallvec::SmallVec;

use super::tiles::{TILE, TileArgs};
use super::walk::Walk;
use super::{Code, Step};
use crate::device::host::copy;
use crate::device::host::launch::{Failure, View};
use crate::device::host::random::RandomArgs;
use crate::device::host::scratch::Scratch;
use crate::device::host::stencil::BoundStencil;
use crate::kernel::{Arguments, MapKernel};
use crate::shape::{Shape, Strides};

/// Plays code over the rows of a region.
pub(in crate::device::host) struct Frame<'a> {
    code: &'a Code,
    walk: Walk,
    /// By place. Cells and tiles stay; inputs and outputs move along.
    pointers: Vec<*mut u8>,
    inputs: SmallVec<[BoundInput; 4]>,
    stencils: Vec<BoundStencil<'a>>,
    origin: Shape,
    /// C-order position of the region's first element in the whole array.
    first_position: u64,
    /// The stream that follows positions.
    position_stream: usize,
    /// Holds what the pointers to cells and tiles point to.
    _scratch: Scratch,
}

/// Elements in a run of one step; those that look at their operands twice still find them in the cache.
const LONG_RUN: usize = 16 * TILE;

struct BoundInput {
    /// The region's first element.
    start: *const u8,
    size: usize,
    /// Where elements are gathered that don't lie side by side along the row.
    gathered: Option<*mut u8>,
}

/// One more array that is walked in step with the inputs: byte (or any) strides along the domain's axes.
pub(in crate::device::host) type Stream = Strides;

impl<'a> Frame<'a> {
    /// Binds the code to blocks. Of `extras`, number `i` can be followed with [`Frame::extra_offset`].
    pub fn bind(
        code: &'a Code,
        map: &MapKernel,
        arguments: &'a Arguments,
        extras: &[Stream],
    ) -> Result<Self, Failure> {
        let region = &arguments.region;
        if region.shape.len() != code.rank {
            return Err(Failure(format!(
                "a region of rank {} for a domain of {}",
                region.shape.len(),
                map.shape
            )));
        }
        let mut starts = SmallVec::<[*const u8; 4]>::new();
        let mut streams: SmallVec<[Strides; 6]> = SmallVec::new();
        for place in &code.inputs {
            let spec = &map.inputs[usize::from(place.input)];
            let view = View::containing(arguments, place.input, spec)?;
            starts.push(view.start);
            streams.push(view.strides);
        }
        let position_stream = streams.len();
        streams.push(map.shape.strides());
        if !code.has_position {
            // A copy of any other stream keeps nobody from merging.
            streams[position_stream] =
                streams.first().or(extras.first()).cloned().unwrap_or_else(|| map.shape.strides());
        }
        streams.extend(extras.iter().cloned());
        // Rows of one element would merge across the last axis, along which cells hold still and positions
        // run by ones.
        let keeps_last = code.has_position || code.inputs.iter().any(|place| place.cell.is_some());
        let has_thin_rows = region.shape.last() == Some(&1);
        let merge = !(code.is_pinned || keeps_last && has_thin_rows);
        let walk = Walk::new(&region.shape, streams, merge);
        let mut frame = Frame {
            code,
            walk,
            pointers: vec![std::ptr::null_mut(); code.places()],
            inputs: SmallVec::new(),
            stencils: Vec::with_capacity(code.stencils.len()),
            origin: region.origin.clone(),
            first_position: map.shape.ravel(&region.origin) as u64,
            position_stream,
            _scratch: Scratch::default(),
        };
        frame.place(&starts);
        for stencil in &code.stencils {
            frame.stencils.push(BoundStencil::bind(stencil, map, arguments)?);
        }
        Ok(frame)
    }

    /// Gives every cell and tile its memory.
    fn place(&mut self, starts: &[*const u8]) {
        let code = self.code;
        let tile_bytes = TILE * code.width;
        let mut sizes: Vec<usize> = vec![code.cells * 8];
        sizes.extend(std::iter::repeat_n(tile_bytes, code.outputs.len() + code.tiles));
        let first_gathered = sizes.len();
        for (k, place) in code.inputs.iter().enumerate() {
            let is_direct = self.walk.row_stride(k) == place.dtype.size() as isize;
            let is_gathered = place.cell.is_none() && !is_direct;
            sizes.push(if is_gathered { TILE * place.dtype.size() } else { 0 });
        }
        let (scratch, areas) = Scratch::with_areas(&sizes);
        self._scratch = scratch;
        let first_cell = code.inputs.len();
        for cell in 0..code.cells {
            self.pointers[first_cell + cell] = areas[0].wrapping_add(cell * 8);
        }
        for (k, &area) in areas[1..first_gathered].iter().enumerate() {
            self.pointers[first_cell + code.cells + k] = area;
        }
        for (k, place) in code.inputs.iter().enumerate() {
            let is_gathered = sizes[first_gathered + k] > 0;
            self.inputs.push(BoundInput {
                start: starts[k],
                size: place.dtype.size(),
                gathered: is_gathered.then_some(areas[first_gathered + k]),
            });
        }
        for &(place, bits) in &code.constants {
            // SAFETY: every cell has eight bytes.
            unsafe { self.pointers[usize::from(place)].cast::<u64>().write_unaligned(bits.to_le()) };
        }
    }

    /// Keeps to a span of the region's elements, counted in C order.
    pub fn keep_to(&mut self, span: Range<usize>) {
        self.walk.keep_to(span);
    }

    /// The walk over rows, which [`Frame::next_row`] moves.
    pub fn walk(&self) -> &Walk {
        &self.walk
    }

    /// The most elements that one call of [`Frame::tile`] takes when outputs are written where they belong: a
    /// single step that needs no tile of its own may take long runs, since nothing waits in the L1 cache.
    pub fn run_length(&self) -> usize {
        let is_plain = matches!(self.code.steps[..], [Step::Tile { .. }]) && self.code.tiles == 0;
        let is_direct = self.inputs.iter().all(|input| input.gathered.is_none());
        if is_plain && is_direct { LONG_RUN } else { TILE }
    }

    /// A tile for output `i`, for callers whose output isn't laid out along the row.
    pub fn output_tile(&self, i: usize) -> *mut u8 {
        self.pointers[self.code.output_place(i)]
    }

    /// Where the current row of an extra stream starts.
    pub fn extra_offset(&self, extra: usize) -> isize {
        self.walk.offset(self.position_stream + 1 + extra)
    }

    /// An extra stream's step along the row.
    pub fn extra_stride(&self, extra: usize) -> isize {
        self.walk.row_stride(self.position_stream + 1 + extra)
    }

    /// Leaves the current row.
    pub fn next_row(&mut self) {
        self.walk.advance();
    }

    /// Computes what is the same along the current row.
    pub fn begin_row(&mut self) {
        for (k, place) in self.code.inputs.iter().enumerate() {
            if let Some(cell) = place.cell {
                let from = self.inputs[k].start.wrapping_offset(self.walk.offset(k));
                // SAFETY: the view lies inside its block, and the cell has room for any element.
                unsafe { from.copy_to_nonoverlapping(self.pointers[usize::from(cell)], self.inputs[k].size) };
            }
        }
        for stencil in &mut self.stencils {
            stencil.begin_row(self.walk.index());
        }
        for step in &self.code.row_steps {
            self.play(step, 0, 1);
        }
    }

    /// Computes elements `at .. at + n` of the current row, `n` of `1..=TILE` (see [`Frame::run_length`]), and writes each output to the
    /// address given for it. The addresses have room for `n` elements that nothing else overlaps.
    pub fn tile(&mut self, at: usize, n: usize, outputs: &[*mut u8]) {
        for (k, input) in self.inputs.iter().enumerate() {
            if self.code.inputs[k].cell.is_some() {
                continue;
            }
            let stride = self.walk.row_stride(k);
            let from = input.start.wrapping_offset(self.walk.offset(k) + at as isize * stride);
            self.pointers[k] = match input.gathered {
                None => from.cast_mut(),
                Some(tile) => {
                    // SAFETY: the view lies inside its block; the tile has room for `TILE` elements.
                    unsafe { copy::strided_run(tile, input.size as isize, from, stride, n, input.size) };
                    tile
                }
            };
        }
        let first = self.code.output_place(0);
        self.pointers[first..first + outputs.len()].copy_from_slice(outputs);
        for step in &self.code.steps {
            self.play(step, at, n);
        }
    }

    #[inline]
    fn play(&self, step: &Step, at: usize, n: usize) {
        let pointer = |place: u16| self.pointers[usize::from(place)];
        match *step {
            Step::Tile { run, to, operands } => {
                let operands = operands.map(|place| pointer(place).cast_const());
                // SAFETY: operands and result are tiles (or rows) of at least `n` elements of the types that
                // the code was compiled for, or cells where the loop reads scalars; the lowering never gives
                // a step one of its operands' tiles for its result.
                unsafe { run(TileArgs { to: pointer(to), operands, n }) };
            }
            Step::Index { to, axis } => self.write_index(pointer(to).cast(), usize::from(axis), at, n),
            Step::Random { run, to, seed } => {
                let row = self.walk.offset(self.position_stream) as u64;
                let first = self.first_position.wrapping_add(row).wrapping_add(at as u64);
                // SAFETY: the tile has room for `n` numbers of the type the loop was compiled for.
                unsafe { run(RandomArgs { to: pointer(to), n, seed, first }) };
            }
            Step::Stencil { to, stencil } => self.stencils[usize::from(stencil)].tile(at, n, pointer(to)),
        }
    }

    fn write_index(&self, to: *mut i64, axis: usize, at: usize, n: usize) {
        let outer = self.walk.index();
        let is_along_row = axis == outer.len();
        let first = self.origin[axis] + if is_along_row { at } else { outer[axis] };
        for i in 0..n {
            // SAFETY: a tile of `n` elements, or a cell when `n` is 1.
            unsafe { to.add(i).write((first + i) as i64) };
        }
    }
}
