//! The tile machine: elementwise expressions as linear code over tiles that stay in the L1 cache.
//!
//! [`lower`] turns an expression into [`Code`] once. [`Frame`] binds the code to the blocks of one launch and
//! plays it, tile by tile along each row. A step reads and writes *places*: pointers to a tile, to one element
//! (a *cell*: constants, and whatever is the same along a row), or right into an operand's or the output's
//! row.

pub(super) mod convert;
mod floats;
pub(super) mod frame;
mod idioms;
mod integers;
mod lower;
mod pairs;
pub(super) mod tiles;
pub(super) mod walk;

use smallvec::SmallVec;

use self::tiles::TileFn;
use super::random::RandomFn;
use super::split::BYTE;
use super::stencil::StencilCode;
use crate::dtype::DType;

pub(super) use frame::Frame;
pub(super) use lower::lower;

/// A position in a frame's table of pointers: inputs first, then cells, outputs and tiles.
type Place = u16;

/// What a step takes for an element, in picoseconds: of the usual ones, some take half as long, and some ten times.
const STEP: usize = 250;

/// An expression, compiled.
pub(super) struct Code {
    /// Played once for each row, on cells.
    row_steps: Vec<Step>,
    /// Played for each tile.
    steps: Vec<Step>,
    /// The inputs that steps read; their places are `0..inputs.len()`.
    inputs: Vec<InputPlace>,
    /// Which cells hold constants, and their bits.
    constants: Vec<(Place, u64)>,
    /// Neighbourhoods that steps read.
    stencils: Vec<StencilCode>,
    /// Types of the outputs. Their places follow the cells'.
    pub(super) outputs: SmallVec<[DType; 2]>,
    /// Number of cells.
    cells: usize,
    /// Number of tiles.
    tiles: usize,
    /// Bytes of the widest element.
    width: usize,
    /// Axes of the domain.
    rank: usize,
    /// Whether a step needs the row's index: then rows are those of the last axis, never merged.
    is_pinned: bool,
    /// Whether a step needs the row's C-order position in the whole array.
    has_position: bool,
}

/// An input as steps read it.
struct InputPlace {
    input: u16,
    dtype: DType,
    /// Where its element goes when it is the same along the row.
    cell: Option<Place>,
}

enum Step {
    Tile { run: TileFn, to: Place, operands: [Place; 3] },
    Index { to: Place, axis: u8 },
    Random { run: RandomFn, to: Place, seed: u64 },
    Stencil { to: Place, stencil: u16 },
}

impl Code {
    /// Place of output `i`.
    fn output_place(&self, i: usize) -> usize {
        self.inputs.len() + self.cells + i
    }

    /// About how long an element takes, in picoseconds, without its way to the output.
    pub(super) fn picoseconds(&self) -> usize {
        let reads: usize = self.inputs.iter().map(|place| BYTE * place.dtype.size()).sum();
        let steps = self.steps.iter().map(|step| match step {
            Step::Tile { .. } | Step::Index { .. } => STEP,
            Step::Random { .. } => 8 * STEP,
            Step::Stencil { stencil, .. } => self.stencils[usize::from(*stencil)].taps() * STEP / 2,
        });
        reads + steps.sum::<usize>()
    }

    fn places(&self) -> usize {
        self.output_place(self.outputs.len()) + self.tiles
    }
}
