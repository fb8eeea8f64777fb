//! Expression to code: order, scalars, pairs, places.

use std::collections::HashMap;

use smallvec::{SmallVec, smallvec};

use super::idioms::{self, Idiom};
use super::pairs::{self, Pair};
use super::tiles::{Sides, TileFn};
use super::{Code, InputPlace, Place, Step, convert, floats, integers};
use crate::device::host::isa::Isa;
use crate::device::host::random::random_fn;
use crate::device::host::stencil::StencilCode;
use crate::dtype::DType;
use crate::graph::expr::{Expr, NodeId, NodeOp};
use crate::kernel::MapKernel;

/// Compiles an expression for an instruction set, or says what it can't do.
pub(in crate::device::host) fn lower(map: &MapKernel, isa: Isa) -> Result<Code, String> {
    let mut lowering = Lowering::new(map, isa);
    lowering.assign_fixed_places()?;
    for id in lowering.order.clone() {
        lowering.emit(id)?;
    }
    lowering.finish()
}

/// A superinstruction.
enum Fused {
    Pair(Pair),
    Idiom(Idiom),
}

struct Lowering<'a> {
    expr: &'a Expr,
    isa: Isa,
    /// Nodes that outputs need, operands first.
    order: Vec<NodeId>,
    /// Nodes whose value is the same along a row.
    uniform: Vec<bool>,
    /// Steps still to come that read a node.
    uses: Vec<usize>,
    /// Superinstructions, by the node that they end in.
    fused: HashMap<NodeId, Fused>,
    /// Nodes that superinstructions compute on the way.
    absorbed: Vec<bool>,
    place: Vec<Option<Place>>,
    free: Vec<Place>,
    /// The first place that is a tile.
    first_tile: usize,
    code: Code,
}

impl<'a> Lowering<'a> {
    fn new(map: &'a MapKernel, isa: Isa) -> Self {
        let expr: &Expr = &map.expr;
        let nodes = expr.nodes().len();
        let order = postorder(expr);
        let mut uniform = vec![false; nodes];
        let mut uses = vec![0; nodes];
        for &id in &order {
            uniform[id.0 as usize] = is_uniform(map, id, &uniform);
            operands(&expr.node(id).op).iter().for_each(|operand| uses[operand.0 as usize] += 1);
        }
        expr.outputs().iter().for_each(|id| uses[id.0 as usize] += 1);
        let code = Code {
            row_steps: Vec::new(),
            steps: Vec::new(),
            inputs: Vec::new(),
            constants: Vec::new(),
            stencils: Vec::new(),
            outputs: (0..expr.outputs().len()).map(|i| expr.output_dtype(i)).collect(),
            cells: 0,
            tiles: 0,
            width: order.iter().map(|&id| expr.node(id).dtype.size()).max().unwrap_or(1),
            rank: map.shape.len(),
            is_pinned: false,
            has_position: false,
        };
        let mut lowering = Lowering {
            expr,
            isa,
            order,
            uniform,
            uses,
            fused: HashMap::new(),
            absorbed: vec![false; nodes],
            place: vec![None; nodes],
            free: Vec::new(),
            first_tile: 0,
            code,
        };
        lowering.fuse();
        lowering
    }

    /// Users first, so that a chain splits evenly from its end.
    fn fuse(&mut self) {
        for &id in self.order.iter().rev() {
            if self.absorbed[id.0 as usize] || self.uniform[id.0 as usize] {
                continue;
            }
            let is_scalar = |id: NodeId| self.uniform[id.0 as usize];
            let may_absorb = |inner: NodeId| self.uses[inner.0 as usize] == 1 && !is_scalar(inner);
            let idiom = idioms::find(self.expr, id, may_absorb)
                .filter(|idiom| !idiom.operands.iter().any(|&operand| is_scalar(operand)));
            let (fused, absorbed) = match idiom {
                Some(idiom) => (Fused::Idiom(idiom.clone()), idiom.absorbed),
                None => match pairs::find(self.expr, id, may_absorb, is_scalar) {
                    Some((pair, inner)) => (Fused::Pair(pair), smallvec![inner]),
                    None => continue,
                },
            };
            absorbed.iter().for_each(|inner| self.absorbed[inner.0 as usize] = true);
            self.fused.insert(id, fused);
        }
    }

    /// Inputs, then cells (constants, and all that is the same along a row), then outputs.
    fn assign_fixed_places(&mut self) -> Result<(), String> {
        let mut cells: Vec<NodeId> = Vec::new();
        for &id in &self.order {
            let node = self.expr.node(id);
            let is_uniform = self.uniform[id.0 as usize];
            if let NodeOp::Input(input) = node.op {
                let at = place(self.code.inputs.len())?;
                self.place[id.0 as usize] = (!is_uniform).then_some(at);
                self.code.inputs.push(InputPlace { input, dtype: node.dtype, cell: None });
            }
            if is_uniform {
                cells.push(id);
            }
        }
        let first = self.code.inputs.len();
        for (k, &id) in cells.iter().enumerate() {
            let at = place(first + k)?;
            self.place[id.0 as usize] = Some(at);
            match self.expr.node(id).op {
                NodeOp::Const(value) => {
                    let bits = value.element_bits(self.expr.node(id).dtype);
                    self.code.constants.push((at, bits));
                }
                NodeOp::Input(input) => {
                    let own = self.code.inputs.iter_mut().find(|known| known.input == input);
                    own.into_iter().for_each(|known| known.cell = Some(at));
                }
                _ => {}
            }
        }
        self.code.cells = cells.len();
        self.first_tile = self.code.output_place(self.code.outputs.len());
        for i in (0..self.code.outputs.len()).rev() {
            let id = self.expr.outputs()[i];
            // Inputs and scalars have a place already and are copied at the end.
            if self.place[id.0 as usize].is_none() || self.is_output(id) {
                self.place[id.0 as usize] = Some(place(self.code.output_place(i))?);
            }
        }
        Ok(())
    }

    fn is_output(&self, id: NodeId) -> bool {
        let first = self.code.output_place(0);
        self.place[id.0 as usize]
            .is_some_and(|at| (first..first + self.code.outputs.len()).contains(&usize::from(at)))
    }

    fn emit(&mut self, id: NodeId) -> Result<(), String> {
        let op = &self.expr.node(id).op;
        if matches!(op, NodeOp::Input(_) | NodeOp::Const(_)) || self.absorbed[id.0 as usize] {
            return Ok(());
        }
        let to = match self.place[id.0 as usize] {
            Some(at) => at,
            None => self.new_tile()?,
        };
        self.place[id.0 as usize] = Some(to);
        let step = self.step(id, to)?;
        if self.uniform[id.0 as usize] {
            self.code.row_steps.push(step);
        } else {
            self.code.steps.push(step);
        }
        self.release_operands(id);
        Ok(())
    }

    /// Counts a node's uses of others, and those of the nodes that it absorbed.
    fn release_operands(&mut self, id: NodeId) {
        let mut left = operands(&self.expr.node(id).op);
        while let Some(operand) = left.pop() {
            if self.absorbed[operand.0 as usize] {
                left.extend(operands(&self.expr.node(operand).op));
            } else {
                self.release(operand);
            }
        }
    }

    fn new_tile(&mut self) -> Result<Place, String> {
        if let Some(at) = self.free.pop() {
            return Ok(at);
        }
        self.code.tiles += 1;
        place(self.first_tile + self.code.tiles - 1)
    }

    fn release(&mut self, operand: NodeId) {
        let left = &mut self.uses[operand.0 as usize];
        *left -= 1;
        if *left == 0
            && let Some(at) = self.place[operand.0 as usize]
            && usize::from(at) >= self.first_tile
        {
            self.free.push(at);
        }
    }

    /// The step that computes a node.
    fn step(&mut self, id: NodeId, to: Place) -> Result<Step, String> {
        let node = self.expr.node(id);
        match &node.op {
            NodeOp::Index(axis) => {
                self.code.is_pinned = true;
                return Ok(Step::Index { to, axis: *axis });
            }
            NodeOp::Random { seed, distribution } => {
                self.code.has_position = true;
                let run = match node.dtype {
                    DType::F32 => random_fn::<f32>(self.isa, *distribution),
                    DType::F64 => random_fn::<f64>(self.isa, *distribution),
                    other => return Err(format!("random numbers are f32 or f64, not {other}")),
                };
                return Ok(Step::Random { run, to, seed: *seed });
            }
            NodeOp::Stencil(input, stencil) => {
                self.code.is_pinned = true;
                let at = place(self.code.stencils.len())?;
                self.code.stencils.push(StencilCode::new(*input, stencil, node.dtype, self.isa)?);
                return Ok(Step::Stencil { to, stencil: at });
            }
            _ => {}
        }
        let (run, read) = match self.fused.get(&id) {
            Some(Fused::Pair(pair)) => {
                let scalars = [self.is_scalar(pair.operands[1]), self.is_scalar(pair.operands[2])];
                (pair.tile_fn(self.isa, scalars), SmallVec::from_slice(&pair.operands))
            }
            Some(Fused::Idiom(idiom)) => (idiom.tile_fn(self.isa), idiom.operands.clone()),
            None => (self.tile_fn(id)?, operands(&node.op)),
        };
        let mut places = [0; 3];
        for (at, operand) in places.iter_mut().zip(&read) {
            *at = self.place[operand.0 as usize].unwrap_or_default();
        }
        // Operands that a loop doesn't look at must point somewhere, too.
        (read.len()..3).for_each(|k| places[k] = places[0]);
        Ok(Step::Tile { run, to, operands: places })
    }

    fn is_scalar(&self, id: NodeId) -> bool {
        self.uniform[id.0 as usize]
    }

    fn tile_fn(&self, id: NodeId) -> Result<TileFn, String> {
        let (node, isa) = (self.expr.node(id), self.isa);
        let of = |id: NodeId| self.expr.node(id).dtype;
        let is_scalar = |operand: NodeId| self.is_scalar(operand) && !self.is_scalar(id);
        let run = match node.op {
            NodeOp::Unary(op, a) => match of(a) {
                DType::Bool => integers::unary_bool(isa, op),
                DType::U8 => integers::unary::<u8>(isa, op),
                DType::I16 => integers::unary::<i16>(isa, op),
                DType::I32 => integers::unary::<i32>(isa, op),
                DType::U32 => integers::unary::<u32>(isa, op),
                DType::I64 => integers::unary::<i64>(isa, op),
                // Kernels compute `f16` in `f32`.
                DType::F16 => None,
                DType::F32 => floats::unary::<f32>(isa, op),
                DType::F64 => floats::unary::<f64>(isa, op),
            },
            NodeOp::Binary(op, a, b) => {
                let sides = match (is_scalar(a), is_scalar(b)) {
                    (true, _) => Sides::LeftScalar,
                    (_, true) => Sides::RightScalar,
                    _ => Sides::Vectors,
                };
                match of(a) {
                    DType::Bool => integers::binary_bool(isa, op, sides),
                    DType::U8 => integers::binary::<u8>(isa, op, sides),
                    DType::I16 => integers::binary::<i16>(isa, op, sides),
                    DType::I32 => integers::binary::<i32>(isa, op, sides),
                    DType::U32 => integers::binary::<u32>(isa, op, sides),
                    DType::I64 => integers::binary::<i64>(isa, op, sides),
                    DType::F16 => None,
                    DType::F32 => floats::binary::<f32>(isa, op, sides),
                    DType::F64 => floats::binary::<f64>(isa, op, sides),
                }
            }
            NodeOp::Select(c, a, b) => {
                let scalars = [is_scalar(c), is_scalar(a), is_scalar(b)];
                Some(convert::select(isa, node.dtype.size(), scalars))
            }
            NodeOp::Cast(a) => Some(convert::cast(isa, of(a), node.dtype)),
            _ => None,
        };
        run.ok_or_else(|| format!("no function for node {} of {}", id.0, self.expr))
    }

    /// Outputs whose value has its place elsewhere (an input, a scalar, another output) are copied.
    fn finish(mut self) -> Result<Code, String> {
        for (i, &id) in self.expr.outputs().iter().enumerate() {
            let (from, to) = (self.place[id.0 as usize], place(self.code.output_place(i))?);
            let Some(from) = from.filter(|&from| from != to) else { continue };
            let size = self.code.outputs[i].size();
            let run = if self.is_scalar(id) {
                convert::splat(self.isa, size)
            } else {
                convert::copy(self.isa, size)
            };
            self.code.steps.push(Step::Tile { run, to, operands: [from; 3] });
        }
        Ok(self.code)
    }
}

fn place(at: usize) -> Result<Place, String> {
    Place::try_from(at).map_err(|_| format!("the expression needs more than {} values at once", Place::MAX))
}

/// Operands of a node.
fn operands(op: &NodeOp) -> SmallVec<[NodeId; 3]> {
    match *op {
        NodeOp::Unary(_, a) | NodeOp::Cast(a) => smallvec![a],
        NodeOp::Binary(_, a, b) => smallvec![a, b],
        NodeOp::Select(c, a, b) => smallvec![c, a, b],
        NodeOp::Input(_)
        | NodeOp::Stencil(..)
        | NodeOp::Const(_)
        | NodeOp::Index(_)
        | NodeOp::Random { .. } => SmallVec::new(),
    }
}

fn is_uniform(map: &MapKernel, id: NodeId, known: &[bool]) -> bool {
    let op = &map.expr.node(id).op;
    let last = map.shape.last().copied();
    match op {
        NodeOp::Const(_) => true,
        NodeOp::Input(input) => {
            let own = map.inputs[usize::from(*input)].shape.last().copied();
            own.unwrap_or(1) == 1 && last.unwrap_or(1) != 1
        }
        NodeOp::Index(axis) => usize::from(*axis) + 1 != map.shape.len(),
        NodeOp::Stencil(..) | NodeOp::Random { .. } => false,
        _ => operands(op).iter().all(|operand| known[operand.0 as usize]),
    }
}

/// The nodes that outputs need, operands first, each operand as late as its first use allows: few values are
/// alive at once.
fn postorder(expr: &Expr) -> Vec<NodeId> {
    let mut order = Vec::new();
    let mut is_done = vec![false; expr.nodes().len()];
    let mut stack: Vec<(NodeId, bool)> = expr.outputs().iter().rev().map(|&id| (id, false)).collect();
    while let Some((id, are_operands_done)) = stack.pop() {
        if is_done[id.0 as usize] {
            continue;
        }
        if are_operands_done {
            is_done[id.0 as usize] = true;
            order.push(id);
        } else {
            stack.push((id, true));
            stack.extend(operands(&expr.node(id).op).iter().rev().map(|&operand| (operand, false)));
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::dtype::Scalar;
    use crate::graph::expr_ops::{BinaryOp, UnaryOp};
    use crate::kernel::ArraySpec;
    use crate::shape::Shape;

    fn code(expr: Expr, inputs: usize) -> Code {
        let shape: Shape = [100].into();
        let spec = ArraySpec { dtype: DType::F32, shape: shape.clone() };
        lower(&MapKernel::new(&Arc::new(expr), vec![spec; inputs], shape), Isa::Portable).unwrap()
    }

    #[test]
    fn idioms_and_pairs_save_steps() {
        let mut expr = Expr::default();
        let mut push = |op| expr.push(op, DType::F32);
        let (x, y) = (push(NodeOp::Input(0)), push(NodeOp::Input(1)));
        let (xx, yy) =
            (push(NodeOp::Binary(BinaryOp::Multiply, x, x)), push(NodeOp::Binary(BinaryOp::Multiply, y, y)));
        let sum = push(NodeOp::Binary(BinaryOp::Add, xx, yy));
        let root = push(NodeOp::Unary(UnaryOp::Sqrt, sum));
        let minus = push(NodeOp::Unary(UnaryOp::Negative, x));
        let exp = push(NodeOp::Unary(UnaryOp::Exp, minus));
        let result = push(NodeOp::Binary(BinaryOp::Multiply, root, exp));
        expr.output(result);
        let code = code(expr, 2);
        assert_eq!((code.steps.len(), code.tiles, code.constants.len()), (2, 1, 0));
    }

    #[test]
    fn long_chains_need_few_tiles() {
        let mut expr = Expr::default();
        let mut value = expr.push(NodeOp::Input(0), DType::F32);
        for k in 0..1000 {
            let number = expr.push(NodeOp::Const(Scalar::Int(k % 7)), DType::F32);
            value = expr.push(NodeOp::Binary(BinaryOp::Add, value, number), DType::F32);
        }
        expr.output(value);
        let code = code(expr, 1);
        assert_eq!((code.steps.len(), code.tiles, code.constants.len()), (500, 2, 7));
    }

    #[test]
    fn a_value_with_two_users_is_not_absorbed() {
        let mut expr = Expr::default();
        let x = expr.push(NodeOp::Input(0), DType::F32);
        let square = expr.push(NodeOp::Binary(BinaryOp::Multiply, x, x), DType::F32);
        let sum = expr.push(NodeOp::Binary(BinaryOp::Add, square, x), DType::F32);
        let result = expr.push(NodeOp::Binary(BinaryOp::Divide, sum, square), DType::F32);
        expr.output(result);
        assert_eq!(code(expr, 1).steps.len(), 3);
    }
}
