//! A stencil bound to the blocks of one launch.
//!
//! Along the stencil's axis, every index that the region needs is either in the input's own block, or has an
//! entry in a table of the few beyond: which block holds it, or that it is the edge's constant.

use super::StencilCode;
use super::loops::StencilArgs;
use crate::device::host::copy;
use crate::device::host::launch::{Failure, byte_strides, pointer};
use crate::device::host::scratch::Scratch;
use crate::device::host::vm::tiles::TILE;
use crate::dtype::Scalar;
use crate::graph::expr_ops::EdgeMode;
use crate::kernel::{Arguments, MapKernel};
use crate::shape::{Region, Strides};

/// See the module.
pub(in crate::device::host) struct BoundStencil<'a> {
    code: &'a StencilCode,
    region: &'a Region,
    /// Extent of the whole array along the stencil's axis.
    extent: usize,
    /// The block that holds the region comes first.
    blocks: Vec<InputBlock<'a>>,
    /// Where the `radius` indices before the region are, then those after it.
    beyond: Vec<Source>,
    /// For each tap, where its elements of the current row are. Along the last axis: only the row itself.
    row: Vec<RowSource>,
    /// A tile for each tap, and one of the edge's constant; along the last axis: the assembled line.
    lines: Vec<*mut u8>,
    /// Which of the factors the current row takes.
    first_factor: usize,
    _scratch: Scratch,
}

struct InputBlock<'a> {
    start: *const u8,
    strides: Strides,
    region: &'a Region,
}

#[derive(Clone, Copy)]
enum Source {
    Block { block: usize, index: usize },
    Constant,
}

#[derive(Clone, Copy)]
enum RowSource {
    Elements { start: *const u8, stride: isize },
    Constant,
}

impl<'a> BoundStencil<'a> {
    /// Finds the blocks; every element that the region needs must be in one.
    pub fn bind(code: &'a StencilCode, map: &MapKernel, arguments: &'a Arguments) -> Result<Self, Failure> {
        let region = &arguments.region;
        let mut blocks = Vec::new();
        for operand in arguments.operands.iter().filter(|operand| operand.input == code.input) {
            if operand.block.dtype() != code.dtype || operand.region.shape.len() != region.shape.len() {
                let (input, got) = (code.input, operand.block.dtype());
                return Err(Failure(format!("a stencil of {} reads input {input} of {got}", code.dtype)));
            }
            let (start, strides) = (pointer(&operand.block)?.cast_const(), byte_strides(&operand.block));
            blocks.push(InputBlock { start, strides, region: &operand.region });
        }
        let own = blocks.iter().position(|block| contains(block.region, region));
        let own = own.ok_or_else(|| Failure(format!("no block of input {} holds {region}", code.input)))?;
        blocks.swap(0, own);
        let is_along_row = code.axis + 1 == region.shape.len();
        let size = code.dtype.size();
        let sizes: Vec<usize> = if is_along_row {
            vec![(TILE + 2 * code.radius) * size]
        } else {
            vec![TILE * size; code.reach.len() + 1]
        };
        let (scratch, lines) = Scratch::with_areas(&sizes);
        let mut stencil = BoundStencil {
            code,
            region,
            extent: map.shape[code.axis],
            blocks,
            beyond: Vec::new(),
            row: Vec::with_capacity(code.reach.len()),
            lines,
            first_factor: 0,
            _scratch: scratch,
        };
        stencil.find_beyond()?;
        stencil.fill_constant();
        Ok(stencil)
    }

    fn find_beyond(&mut self) -> Result<(), Failure> {
        if self.region.shape.elements() == 0 {
            return Ok(());
        }
        let (axis, radius) = (self.code.axis, self.code.radius as isize);
        let (first, end) = (self.region.origin[axis] as isize, self.region.end(axis) as isize);
        for at in (first - radius..first).chain(end..end + radius) {
            let source = match self.code.mode.resolve(at, self.extent) {
                None => Source::Constant,
                Some(index) => {
                    let mut wanted = self.region.clone();
                    wanted.origin[axis] = index;
                    wanted.shape[axis] = 1;
                    let block = self.blocks.iter().position(|block| contains(block.region, &wanted));
                    let missing = || Failure(format!("no block of input {} holds {wanted}", self.code.input));
                    Source::Block { block: block.ok_or_else(missing)?, index }
                }
            };
            self.beyond.push(source);
        }
        Ok(())
    }

    /// The edge's constant as an element, in the last line's place when that is a tile.
    fn fill_constant(&mut self) {
        if self.lines.len() > 1 {
            let bits = self.constant().to_ne_bytes();
            let (tile, size) = (self.lines[self.lines.len() - 1], self.code.dtype.size());
            // SAFETY: the tile has room for `TILE` elements.
            unsafe { copy::strided_run(tile, size as isize, bits.as_ptr(), 0, TILE, size) };
        }
    }

    fn constant(&self) -> u64 {
        let value = if let EdgeMode::Constant(value) = self.code.mode { value } else { 0.0 };
        Scalar::Float(value).element_bits(self.code.dtype).to_le()
    }

    /// Where global index `at` along the stencil's axis is found.
    fn source(&self, at: isize) -> Source {
        let (axis, radius) = (self.code.axis, self.code.radius as isize);
        let (first, end) = (self.region.origin[axis] as isize, self.region.end(axis) as isize);
        if at < first {
            self.beyond[(at - first + radius) as usize]
        } else if at >= end {
            self.beyond[(at - end + radius) as usize]
        } else {
            Source::Block { block: 0, index: at as usize }
        }
    }

    /// The element of a block at the row's outer index, with `index` along the stencil's axis.
    fn address(&self, block: usize, outer: &[usize], index: usize) -> *const u8 {
        let block = &self.blocks[block];
        let mut offset = 0;
        for axis in 0..self.region.shape.len() {
            let inside = outer.get(axis).copied().unwrap_or(0);
            let at = if axis == self.code.axis { index } else { self.region.origin[axis] + inside };
            offset += (at - block.region.origin[axis]) as isize * block.strides[axis];
        }
        block.start.wrapping_offset(offset)
    }

    /// Finds the elements of a row, given its index along the outer axes.
    pub fn begin_row(&mut self, outer: &[usize]) {
        let (axis, code) = (self.code.axis, self.code);
        let stride = |block: usize| self.blocks[block].strides[outer.len()];
        let mut row = std::mem::take(&mut self.row);
        row.clear();
        if axis == outer.len() {
            // Every source's element, so that a line is assembled without looking at the outer index.
            row.push(RowSource::Elements {
                start: self.address(0, outer, self.region.origin[axis]),
                stride: stride(0),
            });
            row.extend(self.beyond.iter().map(|&source| match source {
                Source::Constant => RowSource::Constant,
                Source::Block { block, index } => {
                    RowSource::Elements { start: self.address(block, outer, index), stride: 0 }
                }
            }));
        } else {
            let at = self.region.origin[axis] + outer[axis];
            let is_end = at == 0 || at + 1 == self.extent;
            self.first_factor = usize::from(code.is_gradient && is_end);
            let own = self.blocks[0].region;
            let here = self.address(0, outer, at);
            let is_inside = at >= own.origin[axis] + code.radius && at + code.radius < own.end(axis);
            row.extend(code.reach.iter().map(|&reach| {
                if is_inside {
                    let start = here.wrapping_offset(reach * self.blocks[0].strides[axis]);
                    return RowSource::Elements { start, stride: stride(0) };
                }
                match self.source(at as isize + reach) {
                    Source::Constant => RowSource::Constant,
                    Source::Block { block, index } => RowSource::Elements {
                        start: self.address(block, outer, index),
                        stride: stride(block),
                    },
                }
            }));
        }
        self.row = row;
    }

    /// Computes elements `at .. at + n` of the current row.
    pub fn tile(&self, at: usize, n: usize, to: *mut u8) {
        let size = self.code.dtype.size();
        let mut few = [std::ptr::null(); 32];
        let mut many = Vec::new();
        let taps: &mut [*const u8] = match few.get_mut(..self.code.reach.len()) {
            Some(taps) => taps,
            None => {
                many.resize(self.code.reach.len(), std::ptr::null());
                &mut many
            }
        };
        if self.code.axis + 1 == self.region.shape.len() {
            let line = self.line(at, n);
            for (tap, &reach) in taps.iter_mut().zip(&self.code.reach) {
                *tap = line.wrapping_offset(reach * size as isize);
            }
            self.run(taps, 0, n, to);
            if self.code.is_gradient {
                self.mend_ends(at, n, taps, to);
            }
            return;
        }
        for (k, tap) in taps.iter_mut().enumerate() {
            *tap = match self.row[k] {
                RowSource::Constant => self.lines[self.lines.len() - 1],
                RowSource::Elements { start, stride } => {
                    let from = start.wrapping_offset(at as isize * stride);
                    if stride == size as isize {
                        from
                    } else {
                        // SAFETY: the row has elements up to `at + n`; each tap has a tile of its own.
                        unsafe { copy::strided_run(self.lines[k], size as isize, from, stride, n, size) };
                        self.lines[k]
                    }
                }
            };
        }
        self.run(taps, self.first_factor, n, to);
    }

    fn run(&self, taps: &[*const u8], factor: usize, n: usize, to: *mut u8) {
        let factors = self.code.factors[factor * self.code.dtype.size()..].as_ptr();
        // SAFETY: every tap has `n` elements, and there are as many factors as taps (or one divisor).
        unsafe { (self.code.run)(StencilArgs { to, taps: taps.as_ptr(), factors, count: taps.len(), n }) };
    }

    /// A gradient's ends are one-sided: over one spacing, not two.
    fn mend_ends(&self, at: usize, n: usize, taps: &[*const u8], to: *mut u8) {
        let size = self.code.dtype.size();
        let first = self.region.origin[self.code.axis] + at;
        let mend = |i: usize| {
            let one: [*const u8; 2] = [taps[0].wrapping_add(i * size), taps[1].wrapping_add(i * size)];
            self.run(&one, 1, 1, to.wrapping_add(i * size));
        };
        if first == 0 {
            mend(0);
        }
        if first + n == self.extent {
            mend(n - 1);
        }
    }

    /// A dense run of the row's elements `at - radius .. at + n + radius`, as a pointer to element `at`.
    fn line(&self, at: usize, n: usize) -> *const u8 {
        let (size, radius) = (self.code.dtype.size(), self.code.radius);
        let length = self.region.shape[self.code.axis];
        let RowSource::Elements { start, stride } = self.row[0] else { return std::ptr::null() };
        // Elements of the own block before and after the region serve as well.
        let own = self.blocks[0].region;
        let before = self.region.origin[self.code.axis] - own.origin[self.code.axis];
        let after = own.end(self.code.axis) - self.region.end(self.code.axis);
        let is_inside = at + before >= radius && at + n + radius <= length + after;
        if is_inside && stride == size as isize {
            return start.wrapping_add(at * size);
        }
        let line = self.lines[0];
        let (low, high) = (at.saturating_sub(radius), (at + n + radius).min(length));
        let place =
            |index: isize| line.wrapping_offset((index + radius as isize - at as isize) * size as isize);
        let from = start.wrapping_offset(low as isize * stride);
        // SAFETY: the line has room for a tile and both margins; `low .. high` lies in the row.
        unsafe {
            copy::strided_run(place(low as isize), size as isize, from, stride, high - low, size);
        }
        let (first, last) = (at as isize - radius as isize, (at + n + radius) as isize);
        let margins = (first..0).chain(length as isize..last);
        for index in margins {
            let entry =
                if index < 0 { index + radius as isize } else { index - length as isize + radius as isize };
            let bits = self.constant().to_ne_bytes();
            let from = match self.row[1 + entry as usize] {
                RowSource::Elements { start, .. } => start,
                RowSource::Constant => bits.as_ptr(),
            };
            // SAFETY: one element, into the line's margin.
            unsafe { from.copy_to_nonoverlapping(place(index), size) };
        }
        line.wrapping_add(radius * size)
    }
}

fn contains(outer: &Region, inner: &Region) -> bool {
    (0..inner.shape.len())
        .all(|axis| outer.origin[axis] <= inner.origin[axis] && inner.end(axis) <= outer.end(axis))
}
