//! The elementwise expression IR: what a map, or the prologue of a reduction, computes at each element.
//!
//! An [`Expr`] is a list of nodes in topological order, each with its element type; equal nodes are stored
//! once. It knows nothing of chunks or devices. Back ends turn it into their own code: linear tile code on
//! the host, WGSL on wgpu.

mod index;

use std::fmt;
use std::sync::Arc;

use crate::dtype::{DType, Scalar};
use crate::graph::expr_ops::{BinaryOp, Distribution, Stencil, UnaryOp};
use crate::token::{Token, Tokenizer};
use index::NodeIndex;

/// A node's position in its [`Expr`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// What a node computes. Numbers are equal when their bits are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NodeOp {
    /// The element of input `0` at this place; axes align from the right, extents of 1 stretch.
    Input(u16),
    /// A neighbourhood of an input that has the output's shape and the node's type.
    Stencil(u16, Stencil),
    /// A constant of the node's type.
    Const(Scalar),
    /// The element's index along an axis of the output, as `i64`.
    Index(u8),
    /// A random number that depends on the seed and the element's C-order position only.
    Random {
        /// Key of the generator.
        seed: u64,
        /// What the numbers look like.
        distribution: Distribution,
    },
    /// A function of one value of the node's own type, save for tests such as `isnan`.
    Unary(UnaryOp, NodeId),
    /// A function of two values of one type; comparisons give `bool`.
    Binary(BinaryOp, NodeId, NodeId),
    /// The second where the first (a `bool`) holds, else the third.
    Select(NodeId, NodeId, NodeId),
    /// The value converted to the node's type, as NumPy's `astype` does; floats out of an integer's range
    /// saturate and NaN becomes 0.
    Cast(NodeId),
}

/// One node: an operation and the type of its result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// What it computes.
    pub op: NodeOp,
    /// Type of the result.
    pub dtype: DType,
}

/// An elementwise expression over numbered inputs. Equal when nodes and outputs are, in their order.
#[derive(Clone, Default)]
pub struct Expr {
    nodes: Vec<Node>,
    outputs: Vec<NodeId>,
    index: NodeIndex,
}

impl Expr {
    /// The expression that passes input 0 on.
    pub fn identity(dtype: DType) -> Self {
        let mut expr = Expr::default();
        let input = expr.push(NodeOp::Input(0), dtype);
        expr.outputs.push(input);
        expr
    }

    /// Nodes in topological order: operands come before their users.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The node with this id.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// The results: one for a map; value and, where given, mask for a reduction.
    pub fn outputs(&self) -> &[NodeId] {
        &self.outputs
    }

    /// Type of output `i`.
    pub fn output_dtype(&self, i: usize) -> DType {
        self.node(self.outputs[i]).dtype
    }

    /// Adds a node, or finds an equal one. Constants are equal when their bits are: 0.0 and −0.0 are two
    /// nodes. O(1) expected.
    pub fn push(&mut self, op: NodeOp, dtype: DType) -> NodeId {
        let node = Node { op, dtype };
        if let Some(known) = self.index.find(&self.nodes, &node) {
            return known;
        }
        self.nodes.push(node);
        self.index.add_last(&self.nodes);
        NodeId((self.nodes.len() - 1) as u32)
    }

    /// Names a node as the next output.
    pub fn output(&mut self, id: NodeId) {
        self.outputs.push(id);
    }

    /// Copies the nodes of `other` in, its input `i` replaced by `inputs[i]`, and returns its outputs here.
    ///
    /// A stencil input must be replaced by an input node: a neighbourhood can't be taken of a value that is
    /// never stored.
    pub fn splice(&mut self, other: &Expr, inputs: &[NodeId]) -> Vec<NodeId> {
        let mut moved: Vec<NodeId> = Vec::with_capacity(other.nodes.len());
        for node in &other.nodes {
            let to = |id: &NodeId| moved[id.0 as usize];
            let op = match &node.op {
                NodeOp::Input(i) => {
                    moved.push(inputs[usize::from(*i)]);
                    continue;
                }
                NodeOp::Stencil(i, stencil) => match self.node(inputs[usize::from(*i)]).op {
                    NodeOp::Input(own) => NodeOp::Stencil(own, stencil.clone()),
                    _ => unreachable!("a stencil reads a stored input"),
                },
                NodeOp::Const(_) | NodeOp::Index(_) | NodeOp::Random { .. } => node.op.clone(),
                NodeOp::Unary(op, a) => NodeOp::Unary(*op, to(a)),
                NodeOp::Binary(op, a, b) => NodeOp::Binary(*op, to(a), to(b)),
                NodeOp::Select(c, a, b) => NodeOp::Select(to(c), to(a), to(b)),
                NodeOp::Cast(a) => NodeOp::Cast(to(a)),
            };
            let id = self.push(op, node.dtype);
            moved.push(id);
        }
        other.outputs.iter().map(|id| moved[id.0 as usize]).collect()
    }

    /// How far stencils read beyond an element of input `i` along `axis`.
    pub fn halo(&self, i: u16, axis: usize) -> usize {
        let radius = |node: &Node| match &node.op {
            NodeOp::Stencil(input, stencil) if *input == i && stencil.axis() == axis => stencil.radius(),
            _ => 0,
        };
        self.nodes.iter().map(radius).max().unwrap_or(0)
    }

    /// Whether some stencil reads input `i`.
    pub fn has_stencil(&self, i: u16) -> bool {
        self.nodes.iter().any(|node| matches!(&node.op, NodeOp::Stencil(input, _) if *input == i))
    }

    /// Arithmetic operations at one element, roughly: functions count as the length of their polynomials.
    pub fn flops(&self) -> f64 {
        let cost = |node: &Node| match &node.op {
            NodeOp::Input(_) | NodeOp::Const(_) | NodeOp::Index(_) => 0.0,
            NodeOp::Stencil(_, stencil) => 2.0 * stencil.taps() as f64,
            NodeOp::Random { distribution, .. } => distribution.flops(),
            NodeOp::Unary(op, _) => op.flops(),
            NodeOp::Binary(op, _, _) => op.flops(),
            NodeOp::Select(..) | NodeOp::Cast(_) => 1.0,
        };
        self.nodes.iter().map(cost).sum()
    }

    /// The content token: equal for equal expressions.
    pub fn token(&self) -> Token {
        let fields = Tokenizer::new("expr").text(&self.to_string());
        let fields = self.nodes.iter().fold(fields, |fields, node| fields.text(node.dtype.name()));
        fields.ints(self.outputs.iter().map(|id| i64::from(id.0))).finish()
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, id: NodeId, depth: usize) -> fmt::Result {
        let node = self.node(id);
        match &node.op {
            NodeOp::Input(i) => write!(f, "x{i}"),
            NodeOp::Stencil(i, stencil) => stencil.write(f, *i),
            NodeOp::Const(value) => write!(f, "{value}"),
            NodeOp::Index(axis) => write!(f, "index(axis={axis})"),
            NodeOp::Random { seed, distribution } => write!(f, "{}(seed={seed})", distribution.name()),
            _ if depth == 0 => write!(f, "t{}", id.0),
            NodeOp::Unary(op, a) => self.call(f, op.name(), &[*a], depth),
            NodeOp::Binary(op, a, b) => match op.symbol() {
                Some(symbol) => {
                    f.write_str("(")?;
                    self.write(f, *a, depth - 1)?;
                    write!(f, " {symbol} ")?;
                    self.write(f, *b, depth - 1)?;
                    f.write_str(")")
                }
                None => self.call(f, op.name(), &[*a, *b], depth),
            },
            NodeOp::Select(c, a, b) => self.call(f, "where", &[*c, *a, *b], depth),
            NodeOp::Cast(a) => self.call(f, node.dtype.name(), &[*a], depth),
        }
    }

    fn call(&self, f: &mut fmt::Formatter<'_>, name: &str, args: &[NodeId], depth: usize) -> fmt::Result {
        write!(f, "{name}(")?;
        for (i, arg) in args.iter().enumerate() {
            f.write_str(if i > 0 { ", " } else { "" })?;
            self.write(f, *arg, depth - 1)?;
        }
        f.write_str(")")
    }
}

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        self.nodes == other.nodes && self.outputs == other.outputs
    }
}

impl Eq for Expr {}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expr").field("nodes", &self.nodes).field("outputs", &self.outputs).finish()
    }
}

impl fmt::Display for Expr {
    /// One assignment for each node that others use more than once or that nests deeply, then the outputs:
    /// linear in the number of nodes however often values are shared.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DEPTH: usize = 1;
        for (i, node) in self.nodes.iter().enumerate() {
            let leaf = matches!(
                node.op,
                NodeOp::Input(_)
                    | NodeOp::Stencil(..)
                    | NodeOp::Const(_)
                    | NodeOp::Index(_)
                    | NodeOp::Random { .. }
            );
            let id = NodeId(i as u32);
            if !leaf && !self.outputs.contains(&id) {
                write!(f, "t{i} = ")?;
                self.write(f, id, DEPTH)?;
                f.write_str("; ")?;
            }
        }
        for (i, id) in self.outputs.iter().enumerate() {
            f.write_str(if i > 0 { ", " } else { "" })?;
            self.write(f, *id, DEPTH)?;
        }
        Ok(())
    }
}

/// An expression that layers share.
pub type SharedExpr = Arc<Expr>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::expr_ops::EdgeMode;

    fn square_of_sum() -> Expr {
        let mut expr = Expr::default();
        let x = expr.push(NodeOp::Input(0), DType::F32);
        let y = expr.push(NodeOp::Input(1), DType::F32);
        let sum = expr.push(NodeOp::Binary(BinaryOp::Add, x, y), DType::F32);
        let square = expr.push(NodeOp::Binary(BinaryOp::Multiply, sum, sum), DType::F32);
        expr.output(square);
        expr
    }

    #[test]
    fn equal_nodes_are_stored_once() {
        let mut expr = square_of_sum();
        let nodes = expr.nodes().len();
        assert_eq!(expr.push(NodeOp::Input(0), DType::F32), NodeId(0));
        assert_eq!(expr.nodes().len(), nodes);
        assert_eq!(expr.push(NodeOp::Input(0), DType::F64), NodeId(nodes as u32));
    }

    #[test]
    fn numbers_are_equal_when_their_bits_are() {
        let payload = f64::from_bits(f64::NAN.to_bits() + 1);
        let mode = EdgeMode::Constant;
        let gradient = |spacing| Stencil::Gradient { axis: 0, spacing };
        let convolve = |weight, mode| Stencil::Convolve { axis: 0, weights: [1.0, weight, 1.0].into(), mode };
        let number = |x| NodeOp::Const(Scalar::Float(x));
        let stencil = |stencil| NodeOp::Stencil(0, stencil);
        let ops = [
            number(0.0),
            number(-0.0),
            number(f64::NAN),
            number(payload),
            NodeOp::Const(Scalar::Int(0)),
            NodeOp::Const(Scalar::Bool(false)),
            stencil(gradient(f64::NAN)),
            stencil(gradient(payload)),
            stencil(convolve(0.0, mode(0.0))),
            stencil(convolve(-0.0, mode(0.0))),
            stencil(convolve(0.0, mode(-0.0))),
            stencil(convolve(0.0, EdgeMode::Nearest)),
        ];
        let mut expr = Expr::default();
        for _ in 0..2 {
            let ids: Vec<u32> = ops.iter().map(|op| expr.push(op.clone(), DType::F32).0).collect();
            assert_eq!(ids, (0..ops.len() as u32).collect::<Vec<_>>());
        }
    }

    #[test]
    fn many_nodes_keep_their_order_and_are_found_again() {
        let mut expr = Expr::default();
        let x = expr.push(NodeOp::Input(0), DType::F64);
        let mut values = vec![x];
        for i in 0..1000 {
            let constant = expr.push(NodeOp::Const(Scalar::Float(f64::from(i))), DType::F64);
            let sum = NodeOp::Binary(BinaryOp::Add, values[values.len() - 1], constant);
            values.extend([constant, expr.push(sum, DType::F64)]);
        }
        assert_eq!(values, (0..2001).map(NodeId).collect::<Vec<_>>());
        let nodes = expr.nodes().to_vec();
        for (i, node) in nodes.iter().enumerate() {
            assert_eq!(expr.push(node.op.clone(), node.dtype), NodeId(i as u32));
        }
        assert_eq!(expr.nodes(), nodes);
    }

    #[test]
    fn splicing_replaces_inputs() {
        let inner = square_of_sum();
        let mut outer = Expr::default();
        let a = outer.push(NodeOp::Input(0), DType::F32);
        let one = outer.push(NodeOp::Const(Scalar::Float(1.0)), DType::F32);
        let result = outer.splice(&inner, &[a, one]);
        let root = outer.push(NodeOp::Unary(UnaryOp::Sqrt, result[0]), DType::F32);
        outer.output(root);
        assert_eq!(outer.to_string(), "t2 = (x0 + 1.0); t3 = (t2 * t2); sqrt(t3)");
        assert_ne!(outer.token(), inner.token());
    }
}
