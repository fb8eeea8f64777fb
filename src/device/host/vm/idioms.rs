//! Superinstructions for a few shapes that people write all the time: lengths of vectors and bell curves.
//!
//! Every operation inside rounds as if alone, so that which idioms were found never shows in results.

use smallvec::{SmallVec, smallvec};

use super::floats::Real;
use super::tiles::{self, Binary, Sides, TileFn, Unary};
use crate::device::host::isa::Isa;
use crate::dtype::DType;
use crate::graph::expr::{Expr, NodeId, NodeOp};
use crate::graph::expr_ops::{BinaryOp as B, UnaryOp as U};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// `x * x + y * y`
    SumOfSquares,
    /// `sqrt(x * x + y * y)`
    RootOfSumOfSquares,
    /// `exp(-x)`
    ExpOfNegative,
    /// `x * exp(y)`
    TimesExp,
    /// `x * exp(-y)`
    TimesExpOfNegative,
}

/// An idiom and the nodes that it is made of.
#[derive(Clone, Debug)]
pub(super) struct Idiom {
    shape: Shape,
    dtype: DType,
    /// What its loop reads.
    pub operands: SmallVec<[NodeId; 3]>,
    /// Nodes that it computes besides its own.
    pub absorbed: SmallVec<[NodeId; 3]>,
}

/// The idiom that ends in node `id`, out of nodes that `may_absorb` lets vanish.
pub(super) fn find(expr: &Expr, id: NodeId, may_absorb: impl Fn(NodeId) -> bool) -> Option<Idiom> {
    let node = expr.node(id);
    if !node.dtype.is_float() {
        return None;
    }
    let found = |shape, operands: &[NodeId], absorbed| {
        Some(Idiom { shape, dtype: node.dtype, operands: operands.into(), absorbed })
    };
    match node.op {
        NodeOp::Unary(U::Sqrt, sum) if may_absorb(sum) => {
            let (xy, squares) = sum_of_squares(expr, sum, &may_absorb)?;
            found(Shape::RootOfSumOfSquares, &xy, smallvec![sum, squares[0], squares[1]])
        }
        NodeOp::Unary(U::Exp, minus) if may_absorb(minus) => match expr.node(minus).op {
            NodeOp::Unary(U::Negative, x) => found(Shape::ExpOfNegative, &[x], smallvec![minus]),
            _ => None,
        },
        NodeOp::Binary(B::Add, ..) => {
            let (xy, squares) = sum_of_squares(expr, id, &may_absorb)?;
            found(Shape::SumOfSquares, &xy, SmallVec::from_slice(&squares))
        }
        NodeOp::Binary(B::Multiply, a, b) => {
            let is_exp = |id: NodeId| matches!(expr.node(id).op, NodeOp::Unary(U::Exp, _)) && may_absorb(id);
            let (x, exp) = if is_exp(b) { (a, b) } else { (b, a) };
            let NodeOp::Unary(U::Exp, y) = expr.node(exp).op else { return None };
            match expr.node(y).op {
                _ if !is_exp(exp) => None,
                NodeOp::Unary(U::Negative, y_minus) if may_absorb(y) => {
                    found(Shape::TimesExpOfNegative, &[x, y_minus], smallvec![exp, y])
                }
                _ => found(Shape::TimesExp, &[x, y], smallvec![exp]),
            }
        }
        _ => None,
    }
}

fn sum_of_squares(
    expr: &Expr,
    id: NodeId,
    may_absorb: impl Fn(NodeId) -> bool,
) -> Option<([NodeId; 2], [NodeId; 2])> {
    let NodeOp::Binary(B::Add, p, q) = expr.node(id).op else { return None };
    let squared = |id: NodeId| match expr.node(id).op {
        NodeOp::Binary(B::Multiply, x, again) if x == again && may_absorb(id) => Some(x),
        _ => None,
    };
    Some(([squared(p)?, squared(q)?], [p, q]))
}

impl Idiom {
    /// The loop, over vectors.
    pub fn tile_fn(&self, isa: Isa) -> TileFn {
        if self.dtype == DType::F64 { self.typed::<f64>(isa) } else { self.typed::<f32>(isa) }
    }

    fn typed<T: Real>(&self, isa: Isa) -> TileFn {
        match self.shape {
            Shape::SumOfSquares => tiles::binary::<T, T, SumOfSquares>(isa, Sides::Vectors),
            Shape::RootOfSumOfSquares => tiles::binary::<T, T, RootOfSumOfSquares>(isa, Sides::Vectors),
            Shape::ExpOfNegative => tiles::unary::<T, T, ExpOfNegative>(isa),
            Shape::TimesExp => tiles::binary::<T, T, TimesExp>(isa, Sides::Vectors),
            Shape::TimesExpOfNegative => tiles::binary::<T, T, TimesExpOfNegative>(isa, Sides::Vectors),
        }
    }
}

struct ExpOfNegative;

impl<T: Real> Unary<T, T> for ExpOfNegative {
    #[inline(always)]
    fn apply(x: T) -> T {
        (-x).exp()
    }
}

macro_rules! binary_ops {
    ($($name:ident: |$x:ident, $y:ident| $value:expr;)*) => {
        $(struct $name;
        impl<T: Real> Binary<T, T> for $name {
            #[inline(always)]
            fn apply($x: T, $y: T) -> T {
                $value
            }
        })*
    };
}
binary_ops! {
    SumOfSquares: |x, y| x * x + y * y;
    RootOfSumOfSquares: |x, y| (x * x + y * y).sqrt();
    TimesExp: |x, y| x * y.exp();
    TimesExpOfNegative: |x, y| x * (-y).exp();
}
