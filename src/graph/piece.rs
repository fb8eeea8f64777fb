//! Strided pieces: how the elements of one block are gathered from others.

use smallvec::SmallVec;

use crate::graph::chunking::{AxisChunks, Chunking};
use crate::graph::expr_ops::EdgeMode;
use crate::graph::op::{CopyRule, SliceAxis};
use crate::shape::{Region, Shape};

/// A box of an output block whose elements come from one operand, or are one constant.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// First element, in the output block.
    pub at: Shape,
    /// Extents.
    pub shape: Shape,
    /// Where the elements come from.
    pub from: PieceSource,
}

/// Where a piece's elements come from.
#[derive(Clone, Debug, PartialEq)]
pub enum PieceSource {
    /// Elements of an operand.
    Operand {
        /// Position in the launch's operands.
        operand: u16,
        /// The operand's element that becomes the piece's first.
        start: Shape,
        /// For each axis of the output, the operand's axis along which it runs and the step there: 0
        /// repeats, negative runs backwards.
        axes: SmallVec<[(u8, isize); 4]>,
    },
    /// The same value everywhere.
    Constant(f64),
}

impl Piece {
    /// The part of a block at `from` that lies at `region`, as a block of its own.
    pub fn cut(from: &Region, region: &Region) -> Self {
        let axes = 0..region.shape.len();
        let start = axes.clone().map(|axis| region.origin[axis] - from.origin[axis]).collect();
        Piece {
            at: axes.clone().map(|_| 0).collect(),
            shape: region.shape.clone(),
            from: PieceSource::Operand {
                operand: 0,
                start,
                axes: axes.map(|axis| (axis as u8, 1)).collect(),
            },
        }
    }
}

/// A run along one axis: `length` output elements from `at`, read from block `block` of the input's axis.
struct Run {
    block: usize,
    at: usize,
    length: usize,
    start: usize,
}

/// The input blocks that a copied block is made of, and the pieces, which number those blocks by their
/// position in the list. `region` is where the output block lies in the output array.
pub fn copy_pieces(rule: &CopyRule, input: &Chunking, region: &Region) -> (Vec<usize>, Vec<Piece>) {
    let mut output_axis = 0;
    let mut runs: Vec<Vec<Run>> = Vec::with_capacity(input.axes().len());
    let mut axes: SmallVec<[(u8, isize); 4]> = SmallVec::new();
    for (axis, chunks) in input.axes().iter().enumerate() {
        let slice = match rule {
            CopyRule::Rechunk => SliceAxis::Range { start: 0, step: 1, length: chunks.extent() },
            CopyRule::Slice(slices) => slices[axis],
        };
        match slice {
            SliceAxis::At(index) => runs.push(vec![fixed_run(chunks, index)]),
            SliceAxis::Range { start, step, .. } => {
                axes.push((axis as u8, step));
                runs.push(range_runs(chunks, start, step, region, output_axis));
                output_axis += 1;
            }
        }
    }
    combine(input, &runs, &axes)
}

/// The pieces of a block padded by `halo` elements on both sides of every axis: the block's own elements,
/// and along one axis at a time its neighbours' or what the edge mode puts there. Corners, which no
/// stencil along one axis reads, stay unwritten.
pub fn padded_pieces(
    input: &Chunking,
    region: &Region,
    halo: &[usize],
    modes: &[EdgeMode],
) -> (Vec<usize>, Vec<Piece>) {
    let axes: SmallVec<[(u8, isize); 4]> = (0..halo.len()).map(|axis| (axis as u8, 1)).collect();
    let mut inner: Vec<Vec<Run>> = Vec::new();
    for (axis, chunks) in input.axes().iter().enumerate() {
        let mut runs = range_runs(chunks, 0, 1, region, axis);
        runs.iter_mut().for_each(|run| run.at += halo[axis]);
        inner.push(runs);
    }
    let (mut blocks, mut pieces) = combine(input, &inner, &axes);
    let shape = input.shape();
    for axis in 0..halo.len() {
        let outside = (0..halo[axis])
            .map(|k| region.origin[axis] as isize - halo[axis] as isize + k as isize)
            .chain((0..halo[axis]).map(|k| (region.end(axis) + k) as isize));
        for at in outside {
            let to = (at - region.origin[axis] as isize + halo[axis] as isize) as usize;
            let Some(from) = modes[axis].resolve(at, shape[axis]) else {
                pieces.push(constant_face(region, halo, axis, to, modes[axis]));
                continue;
            };
            let mut runs: Vec<Vec<Run>> = Vec::new();
            for (other, chunks) in input.axes().iter().enumerate() {
                if other == axis {
                    let mut run = fixed_run(chunks, from);
                    run.at = to;
                    runs.push(vec![run]);
                } else {
                    let mut own = range_runs(chunks, 0, 1, region, other);
                    own.iter_mut().for_each(|run| run.at += halo[other]);
                    runs.push(own);
                }
            }
            let (more, mut faces) = combine(input, &runs, &axes);
            for piece in &mut faces {
                if let PieceSource::Operand { operand, .. } = &mut piece.from {
                    let block = more[usize::from(*operand)];
                    let known = blocks.iter().position(|&b| b == block);
                    *operand = known.unwrap_or_else(|| {
                        blocks.push(block);
                        blocks.len() - 1
                    }) as u16;
                }
            }
            pieces.append(&mut faces);
        }
    }
    (blocks, pieces)
}

fn constant_face(region: &Region, halo: &[usize], axis: usize, to: usize, mode: EdgeMode) -> Piece {
    let mut at: Shape = halo.into();
    let mut shape = region.shape.clone();
    at[axis] = to;
    shape[axis] = 1;
    let value = if let EdgeMode::Constant(value) = mode { value } else { 0.0 };
    Piece { at, shape, from: PieceSource::Constant(value) }
}

fn fixed_run(chunks: &AxisChunks, index: usize) -> Run {
    let block = chunks.find(index);
    Run { block, at: 0, length: 1, start: index - chunks.start(block) }
}

/// The runs of output elements `region` along `axis`, cut where the input's blocks end.
fn range_runs(chunks: &AxisChunks, start: usize, step: isize, region: &Region, axis: usize) -> Vec<Run> {
    let mut runs = Vec::new();
    let (first, length) = (region.origin[axis], region.shape[axis]);
    let mut done = 0;
    while done < length {
        let from = (start as isize + step * (first + done) as isize) as usize;
        let block = chunks.find(from);
        let (low, high) = (chunks.start(block), chunks.start(block) + chunks.length(block));
        let room = if step > 0 {
            (high - from).div_ceil(step as usize)
        } else {
            (from - low) / step.unsigned_abs() + 1
        };
        let taken = room.min(length - done);
        runs.push(Run { block, at: done, length: taken, start: from - low });
        done += taken;
    }
    runs
}

/// Every combination of one run along each axis is a piece.
fn combine(input: &Chunking, runs: &[Vec<Run>], axes: &[(u8, isize)]) -> (Vec<usize>, Vec<Piece>) {
    let grid = input.grid();
    let counts: Shape = runs.iter().map(Vec::len).collect();
    let (mut blocks, mut pieces) = (Vec::new(), Vec::new());
    for choice in 0..counts.elements() {
        let choice = counts.unravel(choice);
        let pick = |axis: usize| &runs[axis][choice[axis]];
        let index: Shape = (0..runs.len()).map(|axis| pick(axis).block).collect();
        let block = grid.ravel(&index);
        let operand = blocks.iter().position(|&b| b == block).unwrap_or_else(|| {
            blocks.push(block);
            blocks.len() - 1
        });
        pieces.push(Piece {
            at: axes.iter().map(|&(axis, _)| pick(usize::from(axis)).at).collect(),
            shape: axes.iter().map(|&(axis, _)| pick(usize::from(axis)).length).collect(),
            from: PieceSource::Operand {
                operand: operand as u16,
                start: (0..runs.len()).map(|axis| pick(axis).start).collect(),
                axes: axes.into(),
            },
        });
    }
    (blocks, pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(shape: impl Into<Shape>) -> Region {
        Region::whole(&shape.into())
    }

    /// Plays pieces on arrays of element numbers and returns what the output block would hold.
    fn play(input: &Chunking, region: &Region, blocks: &[usize], pieces: &[Piece]) -> Vec<i64> {
        let shape = input.shape();
        let mut output = vec![i64::MIN; region.shape.elements()];
        for piece in pieces {
            for e in 0..piece.shape.elements() {
                let e = piece.shape.unravel(e);
                let to: Shape = (0..e.len()).map(|a| piece.at[a] + e[a]).collect();
                let value = match &piece.from {
                    PieceSource::Constant(value) => *value as i64,
                    PieceSource::Operand { operand, start, axes } => {
                        let block = input.region_of(blocks[usize::from(*operand)]);
                        let mut from: Vec<isize> =
                            (0..start.len()).map(|a| (block.origin[a] + start[a]) as isize).collect();
                        for (a, &(axis, step)) in axes.iter().enumerate() {
                            from[usize::from(axis)] += step * e[a] as isize;
                        }
                        let from: Vec<usize> = from.into_iter().map(|x| x as usize).collect();
                        shape.ravel(&from) as i64
                    }
                };
                output[region.shape.ravel(&to)] = value;
            }
        }
        output
    }

    #[test]
    fn slices_cross_blocks_in_both_directions() {
        let input = Chunking::regular(&[10].into(), &[4]);
        for (start, step, length) in [(0, 1, 10), (1, 3, 3), (9, -1, 10), (8, -3, 3), (5, 2, 0)] {
            let rule = CopyRule::Slice(vec![SliceAxis::Range { start, step, length }]);
            let region = whole([length]);
            let (blocks, pieces) = copy_pieces(&rule, &input, &region);
            let want: Vec<i64> = (0..length as i64).map(|i| start as i64 + step as i64 * i).collect();
            assert_eq!(play(&input, &region, &blocks, &pieces), want, "{start} {step} {length}");
        }
    }

    #[test]
    fn an_index_drops_its_axis() {
        let input = Chunking::regular(&[4, 6].into(), &[3, 4]);
        let slices = vec![SliceAxis::At(3), SliceAxis::Range { start: 1, step: 2, length: 3 }];
        let (blocks, pieces) = copy_pieces(&CopyRule::Slice(slices), &input, &whole([3]));
        assert_eq!(play(&input, &whole([3]), &blocks, &pieces), [19, 21, 23]);
        assert_eq!(blocks, [2, 3]);
    }

    #[test]
    fn padding_takes_neighbours_and_edges() {
        let input = Chunking::regular(&[6].into(), &[2]);
        let region = Region { origin: [0].into(), shape: [2].into() };
        let padded = whole([2 + 6]);
        let (blocks, pieces) = padded_pieces(&input, &region, &[3], &[EdgeMode::Reflect]);
        assert_eq!(play(&input, &padded, &blocks, &pieces), [2, 1, 0, 0, 1, 2, 3, 4]);
        let (blocks, pieces) = padded_pieces(&input, &region, &[3], &[EdgeMode::Constant(-9.0)]);
        assert_eq!(play(&input, &padded, &blocks, &pieces), [-9, -9, -9, 0, 1, 2, 3, 4]);
    }
}
