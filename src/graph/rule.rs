//! Which blocks a block is made of.

use crate::graph::block_set::BlockSet;
use crate::graph::chunking::Chunking;
use crate::graph::expr::Expr;
use crate::graph::op::{CopyRule, Op, Reduce, SPLIT_EVERY, WaitRule};
use crate::graph::piece::copy_pieces;
use crate::graph::value_spec::ValueSpec;
use crate::shape::Shape;

/// One block of one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Read {
    /// Which of the operation's inputs, or [`Read::OWN`].
    pub input: u16,
    /// Which block of it, in C order of its grid.
    pub block: usize,
}

impl Read {
    /// An earlier value of the same layer: explicit tasks and custom operations may read those.
    pub const OWN: u16 = u16::MAX;
}

/// Appends to `into` the input blocks that block `block` of `op`'s result needs, each once. For a reduction that is
/// every block that is folded into it.
pub fn reads_into(op: &Op, output: &ValueSpec, inputs: &[&ValueSpec], block: usize, into: &mut Vec<Read>) {
    let cuts = || -> Vec<&Chunking> { inputs.iter().map(|input| &input.chunks).collect() };
    match op {
        Op::Load(_) => {}
        Op::Store(_) => into.push(Read { input: 0, block }),
        Op::Map(expr) => into.extend(map_reads(expr, &output.chunks, &cuts(), block)),
        Op::Copy(rule) => {
            let (blocks, _) = copy_pieces(rule, &inputs[0].chunks, &output.chunks.region_of(block));
            into.extend(blocks.into_iter().map(|block| Read { input: 0, block }));
        }
        Op::Reduce(reduce) => {
            let cuts = cuts();
            let mut all: Vec<Read> = leaves(reduce, &output.chunks, block)
                .into_iter()
                .flat_map(|leaf| map_reads(&reduce.expr, &reduce.domain, &cuts, leaf))
                .collect();
            all.sort_unstable();
            all.dedup();
            into.append(&mut all);
        }
        Op::Custom(op) => op.reads_into(block, output, inputs, into),
        Op::Tasks(tasks) => into.extend(tasks.reads(block)),
        Op::Wait(rule) => into.extend(wait_reads(rule, inputs, block)),
    }
}

/// Whether all blocks of the result together read all blocks of every input, so that nobody has to ask block by
/// block. `false` where that isn't known.
pub fn reads_everything(op: &Op) -> bool {
    match op {
        Op::Load(_)
        | Op::Map(_)
        | Op::Reduce(_)
        | Op::Copy(CopyRule::Rechunk)
        | Op::Store(_)
        | Op::Wait(WaitRule { blocks: BlockSet::All, .. }) => true,
        Op::Wait(_) => false,
        Op::Copy(CopyRule::Slice(_)) | Op::Tasks(_) => false,
        Op::Custom(op) => op.reads_everything(),
    }
}

/// Of the places waited for, numbers `block · every ..`, `every` of them.
fn wait_reads(rule: &WaitRule, inputs: &[&ValueSpec], block: usize) -> Vec<Read> {
    let counts: Vec<usize> = inputs.iter().map(|input| input.count()).collect();
    let all = counts.iter().sum();
    let end = rule.blocks.len(all);
    let from = block.saturating_mul(rule.every).min(end);
    let to = from.saturating_add(rule.every).min(end);
    let place = |at: usize| match &rule.blocks {
        BlockSet::All => at,
        BlockSet::Some(blocks) => blocks[at],
    };
    let (mut input, mut passed) = (0, 0);
    let mut reads = Vec::with_capacity(to - from);
    for at in (from..to).map(place) {
        while input < counts.len() && at - passed >= counts[input] {
            passed += counts[input];
            input += 1;
        }
        reads.push(Read { input: input as u16, block: at - passed });
    }
    reads
}

/// The input blocks from which an expression is computed on block `block` of `domain`: for each input the
/// block at the same place first, then the neighbours that its stencils reach.
pub fn map_reads(expr: &Expr, domain: &Chunking, inputs: &[&Chunking], block: usize) -> Vec<Read> {
    let index = domain.grid().unravel(block);
    let mut reads = Vec::new();
    for (i, input) in inputs.iter().enumerate() {
        let i = i as u16;
        let own = aligned(&index, input);
        let grid = input.grid();
        reads.push(Read { input: i, block: grid.ravel(&own) });
        for (axis, chunks) in input.axes().iter().enumerate() {
            let halo = expr.halo(i, axis);
            if halo == 0 || chunks.extent() == 0 {
                continue;
            }
            let low = chunks.start(own[axis]).saturating_sub(halo);
            let high = (chunks.start(own[axis]) + chunks.length(own[axis]) + halo).min(chunks.extent());
            for neighbour in chunks.find(low)..=chunks.find(high - 1) {
                if neighbour != own[axis] {
                    let mut at = own.clone();
                    at[axis] = neighbour;
                    reads.push(Read { input: i, block: grid.ravel(&at) });
                }
            }
        }
    }
    reads
}

/// The blocks of the reduction's domain that fold into block `block` of its result, in C order: the leaves
/// of the canonical tree.
pub fn leaves(reduce: &Reduce, chunks: &Chunking, block: usize) -> Vec<usize> {
    let grid = reduce.domain.grid();
    let kept = chunks.grid().unravel(block);
    let mut next = 0;
    let mut fixed = vec![None; grid.len()];
    for axis in 0..grid.len() {
        if !reduce.axes.contains(&axis) {
            fixed[axis] = Some(kept[if reduce.keep_dims { axis } else { next }]);
            next += 1;
        }
    }
    let free: Shape =
        (0..grid.len()).map(|axis| if fixed[axis].is_some() { 1 } else { grid[axis] }).collect();
    (0..free.elements())
        .map(|leaf| {
            let leaf = free.unravel(leaf);
            let index: Shape = (0..grid.len()).map(|axis| fixed[axis].unwrap_or(leaf[axis])).collect();
            grid.ravel(&index)
        })
        .collect()
}

/// How the states of `leaves` blocks are combined: for each level, the sizes of the groups of neighbours
/// that become one state. The last level has one group; a single leaf needs no level.
pub fn combine_levels(leaves: usize) -> Vec<Vec<usize>> {
    let mut levels = Vec::new();
    let mut states = leaves;
    while states > 1 {
        let groups: Vec<usize> =
            (0..states).step_by(SPLIT_EVERY).map(|start| SPLIT_EVERY.min(states - start)).collect();
        states = groups.len();
        levels.push(groups);
    }
    levels
}

/// The grid index of the block of `input` at the same place as `index` of the (broadcast) domain.
fn aligned(index: &Shape, input: &Chunking) -> Shape {
    let axes = input.axes().len();
    let lead = index.len() - axes;
    (0..axes).map(|axis| if input.axes()[axis].count() == 1 { 0 } else { index[lead + axis] }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::graph::expr::NodeOp;
    use crate::graph::expr_ops::Stencil;

    #[test]
    fn stencils_reach_neighbours_along_their_axis() {
        let mut expr = Expr::default();
        let stencil = Stencil::Gradient { axis: 0, spacing: 1.0 };
        let node = expr.push(NodeOp::Stencil(0, stencil), DType::F32);
        expr.output(node);
        let chunks = Chunking::regular(&[6, 4].into(), &[2, 2]);
        let blocks = |block| -> Vec<usize> {
            map_reads(&expr, &chunks, &[&chunks], block).iter().map(|read| read.block).collect()
        };
        assert_eq!(blocks(0), [0, 2]);
        assert_eq!(blocks(3), [3, 1, 5]);
    }

    #[test]
    fn broadcast_inputs_are_read_again_and_again() {
        let expr = Expr::identity(DType::F32);
        let domain = Chunking::regular(&[4, 6].into(), &[2, 3]);
        let row = Chunking::regular(&[6].into(), &[3]);
        let column = Chunking::regular(&[4, 1].into(), &[2, 1]);
        let reads = map_reads(&expr, &domain, &[&row, &column], 3);
        assert_eq!(reads, [Read { input: 0, block: 1 }, Read { input: 1, block: 1 }]);
    }

    #[test]
    fn combining_trees_end_in_one_state() {
        assert_eq!(combine_levels(1), Vec::<Vec<usize>>::new());
        assert_eq!(combine_levels(10), vec![vec![8, 2], vec![2]]);
        assert_eq!(combine_levels(385).len(), 3);
    }
}
