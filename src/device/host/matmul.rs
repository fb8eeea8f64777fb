//! Products of matrices, after Goto and van de Geijn ("Anatomy of high-performance matrix multiplication", 2008): a panel
//! of the right matrix is packed, some columns at a time, and stays in the first cache while the rows go by; a tile of
//! the product is summed in registers.
//!
//! It is Outcrop's own, and no library's, since the order of the sums is part of the kernel's definition: see
//! [`Kernel::MatMul`](crate::kernel::Kernel::MatMul).

use std::marker::PhantomData;
use std::ops::Range;

use super::isa::{Body, Isa};
use super::launch::{Failure, byte_strides, pointer};
use super::scratch::Scratch;
use crate::block::Block;
use crate::dtype::DType;
use crate::kernel::{Arguments, MATMUL_PANEL, MatMulShape};

/// A compiled product.
pub(super) struct MatMul {
    dtype: DType,
    run: unsafe fn(Args),
}

/// A matrix: the first element, and bytes to step along rows and columns.
#[derive(Clone, Copy)]
struct Matrix {
    start: *mut u8,
    down: isize,
    right: isize,
}

/// What a run works on: some rows of the product.
#[derive(Clone, Copy)]
struct Args {
    a: Matrix,
    b: Matrix,
    /// What the products are added to; null where that is 0.
    c: Matrix,
    to: Matrix,
    shape: MatMulShape,
    first_row: usize,
    end_row: usize,
    /// Room for a packed panel.
    packed: *mut u8,
}

impl MatMul {
    /// Compiles, or says what it can't do.
    pub fn new(dtype: DType, isa: Isa) -> Result<Self, String> {
        let run = match dtype {
            DType::F32 => picked::<f32>(isa),
            DType::F64 => picked::<f64>(isa),
            DType::I32 => picked::<i32>(isa),
            DType::U32 => picked::<u32>(isa),
            DType::I64 => picked::<i64>(isa),
            other => return Err(format!("matmul of {other}")),
        };
        Ok(MatMul { dtype, run })
    }

    /// About how long an element of the product takes.
    pub fn picoseconds(arguments: &Arguments) -> usize {
        let depth = arguments.operands.first().and_then(|a| a.block.shape().last().copied()).unwrap_or(0);
        depth * 5 * arguments.output.dtype().size() + 100
    }

    /// Makes the rows of the product whose first element is in a span of the elements.
    pub fn span(&self, arguments: &Arguments, span: Range<usize>) -> Result<(), Failure> {
        let shape = MatMulShape::of(arguments, self.dtype).map_err(Failure)?;
        if shape.m * shape.n == 0 {
            return Ok(());
        }
        let operand = |input: u16| {
            let found = arguments.operands.iter().find(|operand| operand.input == input);
            found.map(|operand| matrix(&operand.block)).transpose()
        };
        let missing = || Failure("a matrix is missing".to_owned());
        let nothing = Matrix { start: std::ptr::null_mut(), down: 0, right: 0 };
        let (_scratch, areas) = Scratch::with_areas(&[MATMUL_PANEL * WIDEST]);
        let args = Args {
            a: operand(0)?.ok_or_else(missing)?,
            b: operand(1)?.ok_or_else(missing)?,
            c: operand(2)?.unwrap_or(nothing),
            to: matrix(&arguments.output)?,
            shape,
            first_row: span.start.div_ceil(shape.n),
            end_row: span.end.div_ceil(shape.n),
            packed: areas[0],
        };
        // SAFETY: the blocks have the extents that were just checked, and nobody else writes to those rows.
        unsafe { (self.run)(args) };
        Ok(())
    }
}

fn matrix(block: &Block) -> Result<Matrix, Failure> {
    let strides = byte_strides(block);
    Ok(Matrix { start: pointer(block)?, down: strides[0], right: strides[1] })
}

/// Bytes of the widest row of a tile that any type is compiled for, though not all are picked.
const WIDEST: usize = 256;

/// Rows and bytes of a tile: as many accumulators as fit in the registers, beside a row of the packed panel.
fn picked<T: Element>(isa: Isa) -> unsafe fn(Args) {
    match (isa, size_of::<T>()) {
        #[cfg(target_arch = "x86_64")]
        (Isa::Avx512, 8) => isa.pick::<Product<T, Six, 16>>(),
        #[cfg(target_arch = "x86_64")]
        (Isa::Avx512, _) => isa.pick::<Product<T, Eight, 32>>(),
        #[cfg(target_arch = "x86_64")]
        (Isa::Avx2, 8) => isa.pick::<Product<T, Six, 8>>(),
        #[cfg(target_arch = "x86_64")]
        (Isa::Avx2, _) => isa.pick::<Product<T, Six, 16>>(),
        (_, 8) => isa.pick::<Product<T, Four, 4>>(),
        _ => isa.pick::<Product<T, Four, 8>>(),
    }
}

/// An element type of matrices.
trait Element: Copy {
    const ZERO: Self;
    fn fused(self, b: Self, c: Self) -> Self;
    fn plus(self, other: Self) -> Self;
}

macro_rules! element {
    (floats: $($float:ident),*; integers: $($int:ident),*) => {
        $(impl Element for $float {
            const ZERO: Self = 0.0;
            #[inline(always)]
            fn fused(self, b: Self, c: Self) -> Self {
                self.mul_add(b, c)
            }
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }
        })*
        $(impl Element for $int {
            const ZERO: Self = 0;
            #[inline(always)]
            fn fused(self, b: Self, c: Self) -> Self {
                self.wrapping_mul(b).wrapping_add(c)
            }
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
        })*
    };
}
element!(floats: f32, f64; integers: i32, u32, i64);

impl Matrix {
    #[inline(always)]
    fn at<T>(self, row: usize, column: usize) -> *mut T {
        self.start.wrapping_offset(row as isize * self.down + column as isize * self.right).cast()
    }
}

struct Product<T, R, const COLUMNS: usize>(PhantomData<(T, R)>);

impl<T: Element, R: Tile, const COLUMNS: usize> Body for Product<T, R, COLUMNS> {
    type Args = Args;

    #[inline(always)]
    unsafe fn run(args: Args) {
        const { assert!(COLUMNS * size_of::<T>() <= WIDEST, "the packed panel has room for it") };
        // SAFETY: see `MatMul::span`.
        unsafe {
            begin::<T>(args);
            for first in (0..args.shape.k).step_by(MATMUL_PANEL) {
                let depth = MATMUL_PANEL.min(args.shape.k - first);
                for column in (0..args.shape.n).step_by(COLUMNS) {
                    let width = COLUMNS.min(args.shape.n - column);
                    pack::<T, COLUMNS>(args, first..first + depth, column, width);
                    for row in (args.first_row..args.end_row).step_by(R::ROWS) {
                        let height = R::ROWS.min(args.end_row - row);
                        let place = Place { row, height, column, width };
                        R::add::<T, COLUMNS>(args, Panel { first, depth }, place);
                    }
                }
            }
        }
    }
}

/// The product before the first panel.
#[inline(always)]
unsafe fn begin<T: Element>(args: Args) {
    for row in args.first_row..args.end_row {
        for column in 0..args.shape.n {
            // SAFETY: see `MatMul::span`.
            unsafe {
                let value = if args.c.start.is_null() { T::ZERO } else { args.c.at::<T>(row, column).read() };
                args.to.at::<T>(row, column).write(value);
            }
        }
    }
}

/// Some columns of a panel, row after row, with zeros where there are no more.
#[inline(always)]
unsafe fn pack<T: Element, const COLUMNS: usize>(
    args: Args,
    rows: Range<usize>,
    column: usize,
    width: usize,
) {
    let mut to = args.packed.cast::<T>();
    for row in rows {
        for lane in 0..COLUMNS {
            // SAFETY: see `MatMul::span`; there is room for a panel of that many columns.
            unsafe {
                let value = if lane < width { args.b.at::<T>(row, column + lane).read() } else { T::ZERO };
                to.add(lane).write(value);
            }
        }
        to = to.wrapping_add(COLUMNS);
    }
}

/// How many rows a tile has.
trait Tile {
    const ROWS: usize;

    /// Adds a panel's products to a tile of the product.
    ///
    /// # Safety
    /// See [`MatMul::span`]; the panel is packed.
    unsafe fn add<T: Element, const COLUMNS: usize>(args: Args, panel: Panel, place: Place);
}

/// A packed panel: the column of the left matrix that it begins at, and how many it has.
#[derive(Clone, Copy)]
struct Panel {
    first: usize,
    depth: usize,
}

/// Where a tile lies, and what of it lies in the product.
#[derive(Clone, Copy)]
struct Place {
    row: usize,
    height: usize,
    column: usize,
    width: usize,
}

/// A tile with a variable for each row, since LLVM keeps arrays of arrays in memory. Rows beyond the last are the last
/// one's again.
macro_rules! tile {
    ($name:ident: $rows:literal, $($sums:ident $left:ident $number:literal),*) => {
        struct $name;

        impl Tile for $name {
            const ROWS: usize = $rows;

            #[inline(always)]
            unsafe fn add<T: Element, const COLUMNS: usize>(args: Args, panel: Panel, place: Place) {
                let row = |number: usize| {
                    args.a.at::<u8>(place.row + number.min(place.height - 1), panel.first).cast_const()
                };
                $(let mut $sums = [T::ZERO; COLUMNS]; let mut $left = row($number);)*
                let mut packed = args.packed.cast::<[T; COLUMNS]>().cast_const();
                for _ in 0..panel.depth {
                    // SAFETY: the caller's word.
                    unsafe {
                        let right = packed.read();
                        packed = packed.add(1);
                        $(
                            let left = $left.cast::<T>().read();
                            $left = $left.wrapping_offset(args.a.right);
                            for lane in 0..COLUMNS {
                                $sums[lane] = left.fused(right[lane], $sums[lane]);
                            }
                        )*
                    }
                }
                // SAFETY: the caller's word.
                unsafe { $(add_row::<T, COLUMNS>(args, &$sums, $number, place);)* }
            }
        }
    };
}
tile!(Four: 4, s0 a0 0, s1 a1 1, s2 a2 2, s3 a3 3);
#[cfg(target_arch = "x86_64")]
tile!(Six: 6, s0 a0 0, s1 a1 1, s2 a2 2, s3 a3 3, s4 a4 4, s5 a5 5);
#[cfg(target_arch = "x86_64")]
tile!(Eight: 8, s0 a0 0, s1 a1 1, s2 a2 2, s3 a3 3, s4 a4 4, s5 a5 5, s6 a6 6, s7 a7 7);

/// # Safety
/// See [`MatMul::span`].
#[inline(always)]
unsafe fn add_row<T: Element, const COLUMNS: usize>(
    args: Args,
    sums: &[T; COLUMNS],
    number: usize,
    place: Place,
) {
    if number >= place.height {
        return;
    }
    let start = args.to.at::<T>(place.row + number, place.column);
    // SAFETY: the caller's word.
    unsafe {
        if place.width == COLUMNS && args.to.right == size_of::<T>() as isize {
            let to = start.cast::<[T; COLUMNS]>();
            let before = to.read_unaligned();
            to.write_unaligned(std::array::from_fn(|lane| before[lane].plus(sums[lane])));
            return;
        }
        for (lane, sum) in sums.iter().enumerate().take(place.width) {
            let to = args.to.at::<T>(place.row + number, place.column + lane);
            to.write(to.read().plus(*sum));
        }
    }
}
