//! Superinstructions: two arithmetic operations in one pass over a tile.
//!
//! A simple operation costs its loads and stores, not its arithmetic, so a pair costs as much as one. Both
//! operations round as if alone: how steps are paired never shows in results.

use super::floats::{Add, Maximum, Minimum, Multiply, Real, Subtract, SubtractFrom};
use super::tiles::{self, Binary, TileFn};
use crate::device::host::isa::Isa;
use crate::dtype::DType;
use crate::graph::expr::{Expr, NodeId, NodeOp};
use crate::graph::expr_ops::BinaryOp;

/// One operation of a pair. `Rsub` has its operands swapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PairOp {
    Add,
    Sub,
    Rsub,
    Mul,
    Min,
    Max,
}

/// `second(first(a, b), c)`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    first: PairOp,
    second: PairOp,
    /// a, b, c.
    pub operands: [NodeId; 3],
    dtype: DType,
}

/// The pair that node `id` makes with one of its operands, which `may_absorb` lets vanish. `is_scalar` tells
/// nodes that are the same along a row; `a` never is one.
pub(super) fn find(
    expr: &Expr,
    id: NodeId,
    may_absorb: impl Fn(NodeId) -> bool,
    is_scalar: impl Fn(NodeId) -> bool,
) -> Option<(Pair, NodeId)> {
    let dtype = expr.node(id).dtype;
    let NodeOp::Binary(op, left, right) = expr.node(id).op else { return None };
    if !dtype.is_float() || is_scalar(id) {
        return None;
    }
    let choices = [
        (left, right, forward(op)),
        (right, left, if matches!(op, BinaryOp::Minimum | BinaryOp::Maximum) { None } else { swapped(op) }),
    ];
    for (inner, c, second) in choices {
        let NodeOp::Binary(inner_op, x, y) = expr.node(inner).op else { continue };
        let Some(second) = second else { continue };
        if inner == c || !may_absorb(inner) || is_scalar(inner) {
            continue;
        }
        let (first, a, b) = if is_scalar(x) { (swapped(inner_op), y, x) } else { (forward(inner_op), x, y) };
        let Some(first) = first else { continue };
        let pair = Pair { first, second, operands: [a, b, c], dtype };
        if pair.is_compiled() {
            return Some((pair, inner));
        }
    }
    None
}

fn forward(op: BinaryOp) -> Option<PairOp> {
    Some(match op {
        BinaryOp::Add => PairOp::Add,
        BinaryOp::Subtract => PairOp::Sub,
        BinaryOp::Multiply => PairOp::Mul,
        BinaryOp::Minimum => PairOp::Min,
        BinaryOp::Maximum => PairOp::Max,
        _ => return None,
    })
}

/// The operation that gives the same bits with its operands the other way round.
fn swapped(op: BinaryOp) -> Option<PairOp> {
    Some(match op {
        BinaryOp::Add => PairOp::Add,
        BinaryOp::Subtract => PairOp::Rsub,
        BinaryOp::Multiply => PairOp::Mul,
        _ => return None,
    })
}

impl Pair {
    /// Clamps, and whatever begins with a sum, difference or product.
    fn is_compiled(self) -> bool {
        use PairOp::{Max, Min};
        match self.first {
            Min => self.second == Max,
            Max => self.second == Min,
            _ => true,
        }
    }

    /// The loop; `scalars` says whether b and c are.
    pub fn tile_fn(self, isa: Isa, scalars: [bool; 2]) -> TileFn {
        match self.dtype {
            DType::F64 => self.typed::<f64>(isa, scalars),
            _ => self.typed::<f32>(isa, scalars),
        }
    }

    fn typed<T: Real>(self, isa: Isa, scalars: [bool; 2]) -> TileFn {
        match self.first {
            PairOp::Add => self.after::<T, Add>(isa, scalars),
            PairOp::Sub => self.after::<T, Subtract>(isa, scalars),
            PairOp::Rsub => self.after::<T, SubtractFrom>(isa, scalars),
            PairOp::Mul => self.after::<T, Multiply>(isa, scalars),
            PairOp::Min => tiles::pair::<T, Minimum, Maximum>(isa, scalars),
            PairOp::Max => tiles::pair::<T, Maximum, Minimum>(isa, scalars),
        }
    }

    fn after<T: Real, P: Binary<T, T>>(self, isa: Isa, scalars: [bool; 2]) -> TileFn {
        match self.second {
            PairOp::Add => tiles::pair::<T, P, Add>(isa, scalars),
            PairOp::Sub => tiles::pair::<T, P, Subtract>(isa, scalars),
            PairOp::Rsub => tiles::pair::<T, P, SubtractFrom>(isa, scalars),
            PairOp::Mul => tiles::pair::<T, P, Multiply>(isa, scalars),
            PairOp::Min => tiles::pair::<T, P, Minimum>(isa, scalars),
            PairOp::Max => tiles::pair::<T, P, Maximum>(isa, scalars),
        }
    }
}
