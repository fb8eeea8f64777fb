//! What steps make: where it lies in its array, its key, its layout, and what it is gathered from.

use smallvec::SmallVec;

use super::{Plan, PlanInput, StepKind};
use crate::dtype::DType;
use crate::graph::chunking::Chunking;
use crate::graph::op::{CopyRule, Op};
use crate::graph::piece::{Piece, PieceSource, copy_pieces, padded_pieces};
use crate::ids::StepId;
use crate::kernel::Kernel;
use crate::key::{Key, KeyError};
use crate::shape::{Region, Shape};

impl Plan {
    /// Where a step's value lies in its array. States of reductions lie nowhere; theirs is the folded
    /// block's place.
    pub fn region(&self, id: StepId) -> Region {
        let step = self.step(id);
        let layer = self.layer_of(id);
        let block = step.block as usize;
        match step.kind {
            StepKind::Transfer | StepKind::Spill | StepKind::Reload | StepKind::Keep => {
                self.region(self.operands(id)[0].step)
            }
            StepKind::Piece => layer.chunks.region_of(block).common(&self.region(self.operands(id)[0].step)),
            StepKind::Pad { input } => {
                padded(&layer.chunks.region_of(block), &layer.inputs[usize::from(input)])
            }
            StepKind::Fold | StepKind::Combine => match &layer.op {
                Op::Reduce(reduce) => reduce.domain.region_of(block),
                _ => layer.chunks.region_of(block),
            },
            _ => layer.chunks.region_of(block),
        }
    }

    /// The key of the block that a step works on.
    ///
    /// # Errors
    /// When the layer has no name, which collections don't let happen.
    pub fn key(&self, id: StepId) -> Result<Key, KeyError> {
        let (step, layer) = (self.step(id), self.layer_of(id));
        let block = step.block as usize;
        match (&layer.op, step.kind) {
            (Op::Reduce(reduce), StepKind::Fold) => {
                Key::block(layer.name.as_str(), &reduce.domain.grid().unravel(block))
            }
            _ => layer.key(block),
        }
    }

    /// Type and shape of a step's value.
    pub fn value_layout(&self, id: StepId) -> (DType, Shape) {
        let step = self.step(id);
        let layer = self.layer_of(id);
        match step.kind {
            StepKind::Transfer | StepKind::Combine | StepKind::Spill | StepKind::Reload | StepKind::Keep => {
                self.value_layout(self.operands(id)[0].step)
            }
            StepKind::Fold => match (&layer.op, self.kernels.get(step.kernel as usize).map(|k| &k.kernel)) {
                (Op::Reduce(reduce), Some(Kernel::Fold { state, .. })) => {
                    let block = reduce.domain.region_of(step.block as usize);
                    (state.dtype, crate::kernel::state_shape(reduce, *state, &block.shape))
                }
                _ => (layer.dtype, Shape::default()),
            },
            StepKind::Pad { input } => (layer.inputs[usize::from(input)].dtype, self.region(id).shape),
            _ => (layer.dtype, self.region(id).shape),
        }
    }

    /// The pieces that a gathering step copies, numbered by its operands.
    pub fn pieces(&self, id: StepId) -> Vec<Piece> {
        let step = self.step(id);
        let layer = self.layer_of(id);
        let region = layer.chunks.region_of(step.block as usize);
        match (step.kind, &layer.op) {
            (StepKind::Gather, Op::Copy(rule)) => {
                let mut pieces = copy_pieces(rule, &layer.inputs[0].chunks, &region).1;
                pieces.iter_mut().for_each(|piece| self.read_cut(id, piece));
                pieces
            }
            (StepKind::Piece, _) => {
                let from = self.region(self.operands(id)[0].step);
                vec![Piece::cut(&from, &from.common(&region))]
            }
            (StepKind::Pad { input }, _) => {
                let input = &layer.inputs[usize::from(input)];
                padded_pieces(&input.chunks, &region, &input.halo, &input.modes).1
            }
            _ => Vec::new(),
        }
    }

    /// Reads a piece of a gathering step from the operand's first element on, where the operand is cut out already.
    fn read_cut(&self, id: StepId, piece: &mut Piece) {
        if let PieceSource::Operand { operand, start, .. } = &mut piece.from
            && self.step(self.origin(self.operands(id)[usize::from(*operand)].step)).kind == StepKind::Piece
        {
            start.iter_mut().for_each(|at| *at = 0);
        }
    }

    /// The step that made a value which may have been moved since. O(moves).
    fn origin(&self, id: StepId) -> StepId {
        let mut origin = id;
        while self.step(origin).kind.is_copy() {
            origin = self.operands(origin)[0].step;
        }
        origin
    }
}

/// A region grown by the input's halo; near the array's start the origin wraps below zero.
fn padded(region: &Region, input: &PlanInput) -> Region {
    let axes = 0..region.shape.len();
    Region {
        origin: axes.clone().map(|axis| region.origin[axis].wrapping_sub(input.halo[axis])).collect(),
        shape: axes.map(|axis| region.shape[axis] + 2 * input.halo[axis]).collect(),
    }
}

/// The blocks that a gathering or padding step reads, in the order in which its pieces number them.
pub fn gathered_blocks(
    kind: StepKind,
    op: &Op,
    inputs: &[PlanInput],
    region: &Region,
) -> SmallVec<[usize; 4]> {
    match (kind, op) {
        (StepKind::Pad { input }, _) => {
            let input = &inputs[usize::from(input)];
            padded_pieces(&input.chunks, region, &input.halo, &input.modes).0.into()
        }
        (_, Op::Copy(rule)) => gather_sources(rule, &inputs[0].chunks, region),
        _ => SmallVec::new(),
    }
}

fn gather_sources(rule: &CopyRule, input: &Chunking, region: &Region) -> SmallVec<[usize; 4]> {
    copy_pieces(rule, input, region).0.into()
}
