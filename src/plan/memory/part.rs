//! Parts rechunks, so that a block can be gathered without all that it is cut from.
//!
//! A column that is gathered from rows reads every row, so that all of them must be held at once. Cut where both
//! chunkings have borders, each row becomes a piece for each column as soon as it is there, and goes; a column is
//! gathered from its own pieces, and those of later columns can be on disk meanwhile. What must be held is a row with
//! its pieces, or a column with its pieces. Elements are copied twice, so that a plan is parted only when it needs it.
//!
//! A block that lies within the gathered one is read as it is, and so are views, which take no memory: where source
//! blocks nest in gathered ones nothing is parted.

use crate::csr::Csr;
use crate::graph::op::{CopyRule, Op};
use crate::plan::error::TASKS_MAX;
use crate::plan::order;
use crate::plan::task_graph::TaskGraph;
use crate::steps::{PlanLayer, Step, StepKind};

/// Tasks in which rechunks read pieces.
#[derive(Clone, Debug)]
pub struct Parted {
    /// The tasks that were there, under the same numbers, and behind them the pieces.
    pub tasks: TaskGraph,
    /// The order that was given, with the pieces of a block right behind it as far as priorities allow.
    pub order: Vec<u32>,
    /// By task; empty where all are equal.
    pub priority: Vec<f64>,
}

/// The tasks with rechunks in pieces; `None` where there is nothing to part. O(tasks + operands + pieces).
pub fn part(tasks: &TaskGraph, order: &[u32], priority: &[f64], layers: &[PlanLayer]) -> Option<Parted> {
    let count = tasks.tasks.len();
    let (mut parted, mut priorities) = (tasks.clone(), priority.to_vec());
    let mut cuts: Vec<(u32, u32)> = Vec::new();
    for task in 0..count as u32 {
        let step = tasks.tasks[task as usize];
        let layer = &layers[step.layer as usize];
        if !is_parted(&step, layer, tasks.operands(task)) {
            continue;
        }
        for place in tasks.offsets[task as usize]..tasks.offsets[task as usize + 1] {
            let (source, input) = tasks.operands[place as usize];
            if let Some(bytes) = piece_bytes(&step, &tasks.tasks[source as usize], layer) {
                let piece = Step { kind: StepKind::Piece, bytes, output: Step::NO_OUTPUT, ..step };
                let piece = parted.push(piece, [(source, input)]);
                parted.operands[place as usize].0 = piece;
                cuts.push((source, piece));
                priorities.extend(priority.get(task as usize));
            }
        }
    }
    if cuts.is_empty() || parted.tasks.len() as u64 > TASKS_MAX {
        return None;
    }
    let pieces = Csr::new(count, cuts.iter().copied());
    let with_pieces = |&task: &u32| std::iter::once(task).chain(pieces.of(task).iter().copied());
    let order: Vec<u32> = order.iter().flat_map(with_pieces).collect();
    let order = order::keeping_priority(&parted, &order, &priorities);
    Some(Parted { tasks: parted, order, priority: priorities })
}

fn is_parted(step: &Step, layer: &PlanLayer, operands: &[(u32, u16)]) -> bool {
    step.kind == StepKind::Gather && matches!(layer.op, Op::Copy(CopyRule::Rechunk)) && operands.len() > 1
}

/// Bytes of what a gathered block takes of one that it reads; `None` where it takes all, or the other takes no memory.
fn piece_bytes(step: &Step, source: &Step, layer: &PlanLayer) -> Option<u64> {
    if source.allocated() == 0 {
        return None;
    }
    let from = layer.inputs[0].chunks.region_of(source.block as usize);
    let piece = layer.chunks.region_of(step.block as usize).common(&from);
    (piece != from).then(|| (piece.shape.elements() * layer.dtype.size()) as u64)
}
