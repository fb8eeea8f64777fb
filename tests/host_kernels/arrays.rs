//! Arrays, layouts and expressions from a seed.

use std::sync::Arc;

use outcrop::block::{Block, Layout};
use outcrop::dtype::{DType, Scalar, f16};
use outcrop::graph::expr::{Expr, NodeId, NodeOp};
use outcrop::graph::expr_ops::{BinaryOp, EdgeMode, Stencil, UnaryOp};
use outcrop::shape::{Region, Shape, Strides};

use crate::interpret::{Value, Whole};

/// SplitMix64 (Steele, Lea and Flood 2014).
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.roll() % n as u64) as usize
    }

    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    pub fn unit(&mut self) -> f64 {
        (self.roll() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Mostly small numbers, sometimes the awkward ones.
    pub fn value(&mut self, dtype: DType) -> Value {
        let awkward = [0.0, -0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e30, -3e9, 0.5];
        let number = if self.below(12) == 0 { self.pick(&awkward) } else { self.unit() * 20.0 - 10.0 };
        match dtype {
            DType::I64 if self.below(8) == 0 => Value::Int(self.pick(&[i64::MIN, i64::MAX, -1, 0])),
            _ => Value::from_f64(number, dtype),
        }
    }

    pub fn array(&mut self, dtype: DType, shape: Shape) -> Whole {
        let values = (0..shape.elements()).map(|_| self.value(dtype)).collect();
        Whole { dtype, shape, values }
    }
}

/// A host block that holds part of an array, in some layout: contiguous, with gaps, transposed, reversed.
pub fn block_of(whole: &Whole, region: &Region, dice: &mut Dice) -> Block {
    let rank = region.shape.len();
    let mut axes: Vec<usize> = (0..rank).collect();
    let (mut is_reversed, mut gap) = (vec![false; rank], vec![1usize; rank]);
    if dice.below(2) == 0 {
        (0..rank).for_each(|axis| axes.swap(axis, axis + dice.below(rank - axis)));
        is_reversed.iter_mut().for_each(|reversed| *reversed = dice.below(3) == 0);
        gap.iter_mut().for_each(|gap| *gap = 1 + dice.below(2));
    }
    let mut strides = Strides::from_elem(0, rank);
    let (mut step, mut offset) = (1, 3 * dice.below(2));
    for &axis in axes.iter().rev() {
        let extent = region.shape[axis];
        strides[axis] = (step * gap[axis]) as isize;
        if is_reversed[axis] && extent > 0 {
            offset += step * gap[axis] * (extent - 1);
            strides[axis] = -strides[axis];
        }
        step *= gap[axis] * extent.max(1);
    }
    let total = step + offset + 8;
    let mut values = vec![Value::from_f64(77.0, whole.dtype); total];
    for e in 0..region.shape.elements() {
        let index = region.shape.unravel(e);
        let at: isize = index.iter().zip(&strides).map(|(&i, &s)| i as isize * s).sum();
        let place: Vec<usize> = index.iter().zip(region.origin.iter()).map(|(i, o)| i + o).collect();
        values[(offset as isize + at) as usize] = whole.values[whole.shape.ravel(&place)];
    }
    let mut block = dense(whole.dtype, [total].into(), &values);
    block.layout = Layout { dtype: whole.dtype, shape: region.shape.clone(), offset, strides };
    block
}

/// A contiguous host block of these values.
pub fn dense(dtype: DType, shape: Shape, values: &[Value]) -> Block {
    macro_rules! block {
        ($rust:ty) => {
            Block::from_slice(shape, &values.iter().map(|v| v.as_f64() as $rust).collect::<Vec<$rust>>())
        };
    }
    let ints = || values.iter().map(|v| if let Value::Int(i) = v { *i } else { 0 });
    match dtype {
        DType::Bool => Block::from_slice(shape, &ints().map(|i| i != 0).collect::<Vec<bool>>()),
        DType::U8 => block!(u8),
        DType::I16 => block!(i16),
        DType::I32 => block!(i32),
        DType::U32 => block!(u32),
        DType::I64 => Block::from_slice(shape, &ints().collect::<Vec<i64>>()),
        DType::F16 => {
            let halves = values.iter().map(|v| f16::from_f64(v.as_f64()));
            Block::from_slice(shape, &halves.collect::<Vec<f16>>())
        }
        DType::F32 => block!(f32),
        DType::F64 => block!(f64),
    }
    .unwrap()
}

/// A block's elements.
pub fn values_of(block: &Block) -> Vec<Value> {
    let ints = |values: Vec<f64>| values.into_iter().map(|x| Value::Int(x as i64)).collect();
    match block.dtype() {
        DType::F16 => block.to_vec::<f16>().unwrap().into_iter().map(Value::F16).collect(),
        DType::F32 => block.to_vec::<f32>().unwrap().into_iter().map(Value::F32).collect(),
        DType::F64 => block.to_vec::<f64>().unwrap().into_iter().map(Value::F64).collect(),
        DType::I64 => block.to_vec::<i64>().unwrap().into_iter().map(Value::Int).collect(),
        _ => ints(block.to_f64_vec().unwrap()),
    }
}

/// An expression of `size` operations, over inputs of the given types, that ends in anything.
pub fn expression(dice: &mut Dice, inputs: &[DType], rank: usize, size: usize) -> Expr {
    let mut expr = Expr::default();
    let mut nodes: Vec<NodeId> = Vec::new();
    for (i, &dtype) in inputs.iter().enumerate() {
        nodes.push(expr.push(NodeOp::Input(i as u16), dtype));
    }
    for _ in 0..size {
        let (a, b) = (dice.pick(&nodes), dice.pick(&nodes));
        let (ta, tb) = (expr.node(a).dtype, expr.node(b).dtype);
        let node = match dice.below(12) {
            0 => {
                let value =
                    dice.pick(&[Scalar::Int(2), Scalar::Float(0.75), Scalar::Bool(true), Scalar::Int(-3)]);
                let dtype = value.beside(ta);
                Some(expr.push(NodeOp::Const(value), dtype))
            }
            1 if rank > 0 => Some(expr.push(NodeOp::Index(dice.below(rank) as u8), DType::I64)),
            2 => {
                let dtype = dice.pick(&DType::ALL);
                Some(expr.push(NodeOp::Cast(a), dtype))
            }
            3 => {
                let c = cast(&mut expr, dice.pick(&nodes), DType::Bool);
                let b = cast(&mut expr, b, ta);
                Some(expr.push(NodeOp::Select(c, a, b), ta))
            }
            4..=6 => {
                let op = dice.pick(&UnaryOp::ALL);
                op.operand(ta).map(|dtype| {
                    let a = cast(&mut expr, a, dtype);
                    expr.push(NodeOp::Unary(op, a), op.result(dtype))
                })
            }
            _ => {
                let op = dice.pick(&BinaryOp::ALL);
                op.operand(ta.promote(tb)).map(|dtype| {
                    let (a, b) = (cast(&mut expr, a, dtype), cast(&mut expr, b, dtype));
                    expr.push(NodeOp::Binary(op, a, b), op.result(dtype))
                })
            }
        };
        nodes.extend(node);
    }
    expr.output(nodes[nodes.len() - 1]);
    expr
}

fn cast(expr: &mut Expr, id: NodeId, dtype: DType) -> NodeId {
    if expr.node(id).dtype == dtype { id } else { expr.push(NodeOp::Cast(id), dtype) }
}

/// A stencil along some axis.
pub fn stencil(dice: &mut Dice, rank: usize) -> Stencil {
    let axis = dice.below(rank) as u8;
    if dice.below(3) == 0 {
        return Stencil::Gradient { axis, spacing: 1.0 + dice.unit() };
    }
    let weights: Arc<[f64]> = (0..1 + 2 * dice.below(6)).map(|_| dice.unit() - 0.3).collect();
    let mode = dice.pick(&[EdgeMode::Nearest, EdgeMode::Reflect, EdgeMode::Constant(1.5)]);
    Stencil::Convolve { axis, weights, mode }
}
