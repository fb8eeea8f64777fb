//! The statements that compute an expression at one element.
//!
//! They stand in a function that provides `e`, the element's C-order position in the block, and `i0`, `i1`,
//! …, its index there; [`Body::needs_index`] says whether the index is read at all: unravelling costs
//! divisions. Each node is a constant `t0`, `t1`, ….

use std::fmt::Write;

use super::arguments::ParamLayout;
use super::cast::cast;
use super::element::{literal, load, value_type};
use super::functions::{binary, suffix, unary};
use super::library::Library;
use crate::dtype::{DType, Scalar};
use crate::graph::expr::{Expr, NodeId, NodeOp};
use crate::graph::expr_ops::{BinaryOp, Distribution, Stencil};
use crate::kernel::MapKernel;

/// A rendered expression.
pub(super) struct Body {
    /// The statements.
    pub(super) code: String,
    /// The name of each output.
    pub(super) outputs: Vec<String>,
    /// Whether the statements read `i0`, `i1`, ….
    pub(super) needs_index: bool,
    /// Whether they read `e`.
    pub(super) needs_position: bool,
}

/// How an input's element is found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::kernel) enum Access {
    /// At the element's own position: the input has the domain's shape.
    Position,
    /// At the start: a single element for all.
    Single,
    /// By its index and the strides among the parameters.
    Strided,
}

/// How input `i` of `map` is read.
pub(in crate::kernel) fn access(map: &MapKernel, i: usize) -> Access {
    let spec = &map.inputs[i];
    if map.expr.has_stencil(i as u16) {
        Access::Strided
    } else if spec.shape == map.shape {
        Access::Position
    } else if spec.shape.iter().all(|&extent| extent == 1) {
        Access::Single
    } else {
        Access::Strided
    }
}

impl Body {
    pub(super) fn render(map: &MapKernel, layout: &ParamLayout, library: &mut Library) -> Body {
        let mut writer =
            Writer { map, layout, library, code: String::new(), needs_index: false, needs_position: false };
        for i in 0..map.inputs.len() {
            writer.base(i);
        }
        for at in 0..map.expr.nodes().len() {
            writer.node(&map.expr, at);
        }
        let outputs = map.expr.outputs().iter().map(|id| format!("t{}", id.0)).collect();
        Body {
            code: writer.code,
            outputs,
            needs_index: writer.needs_index,
            needs_position: writer.needs_position,
        }
    }
}

struct Writer<'a> {
    map: &'a MapKernel,
    layout: &'a ParamLayout,
    library: &'a mut Library,
    code: String,
    needs_index: bool,
    needs_position: bool,
}

impl Writer<'_> {
    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string can't fail.
        let _ = writeln!(self.code, "        {text}");
    }

    /// `b{i}`: the position in input `i`'s block of the element at this place.
    fn base(&mut self, i: usize) {
        match access(self.map, i) {
            Access::Position => {
                self.needs_position = true;
                self.line(format_args!("let b{i} = e;"));
            }
            Access::Single => self.line(format_args!("let b{i} = 0u;")),
            Access::Strided => {
                self.needs_index = true;
                let input = self.layout.inputs[i];
                let spec = &self.map.inputs[i].shape;
                let lead = self.map.shape.len() - spec.len();
                let mut sum = format!("params[{input}]");
                for axis in (lead..self.map.shape.len()).filter(|&axis| spec[axis - lead] != 1) {
                    let _ = write!(sum, " + i{axis} * params[{}]", input + 1 + axis);
                }
                self.line(format_args!("let b{i} = {sum};"));
            }
        }
    }

    fn node(&mut self, expr: &Expr, at: usize) {
        let node = &expr.nodes()[at];
        let dtype = node.dtype;
        let of = |id: NodeId| expr.node(id).dtype;
        let value = match &node.op {
            // A variable: naga refuses what it can evaluate and finds out of range.
            NodeOp::Const(value) => {
                let (ty, value) = (value_type(dtype), literal(dtype, *value));
                return self.line(format_args!("var t{at}: {ty} = {value};"));
            }
            NodeOp::Input(i) => self.read(usize::from(*i), &format!("b{i}"), dtype, at),
            NodeOp::Stencil(i, stencil) => return self.stencil(usize::from(*i), stencil, dtype, at),
            NodeOp::Index(axis) => {
                self.needs_index = true;
                let origin = self.layout.origin + usize::from(*axis);
                self.line(format_args!("let r{at} = params[{origin}] + i{axis};"));
                cast(DType::U32, dtype, &format!("r{at}"))
            }
            NodeOp::Random { seed, distribution } => self.random(*seed, *distribution, dtype),
            NodeOp::Unary(op, a) => unary(*op, of(*a), &name(*a), self.library),
            NodeOp::Binary(BinaryOp::Power, a, b) if is_two(expr, *b) => {
                binary(BinaryOp::Multiply, of(*a), &name(*a), &name(*a), self.library)
            }
            NodeOp::Binary(op, a, b) => binary(*op, of(*a), &name(*a), &name(*b), self.library),
            NodeOp::Select(c, a, b) => format!("select({}, {}, {})", name(*b), name(*a), name(*c)),
            NodeOp::Cast(a) => {
                self.library.add_cast(of(*a), dtype);
                cast(of(*a), dtype, &name(*a))
            }
        };
        self.line(format_args!("let t{at}: {} = {value};", value_type(dtype)));
    }

    /// The element of input `i` at `index`, a name, as a value of type `dtype`.
    fn read(&mut self, i: usize, index: &str, dtype: DType, at: usize) -> String {
        let stored = self.map.inputs[i].dtype;
        let loaded = load(stored, &format!("x{i}"), index);
        if stored == dtype {
            return loaded;
        }
        self.line(format_args!("let r{at} = {loaded};"));
        cast(stored, dtype, &format!("r{at}"))
    }

    fn stencil(&mut self, i: usize, stencil: &Stencil, dtype: DType, at: usize) {
        let ty = value_type(dtype);
        let axis = stencil.axis();
        let stride = format!("params[{}]", self.layout.inputs[i] + 1 + axis);
        match stencil {
            Stencil::Gradient { spacing, .. } => {
                self.line(format_args!("let p{at}a = b{i} - {stride};"));
                self.line(format_args!("let p{at}b = b{i} + {stride};"));
                let left = self.read(i, &format!("p{at}a"), dtype, at);
                self.line(format_args!("let v{at}a = {left};"));
                let right = load(self.map.inputs[i].dtype, &format!("x{i}"), &format!("p{at}b"));
                self.line(format_args!("let r{at}b = {right};"));
                let right = cast(self.map.inputs[i].dtype, dtype, &format!("r{at}b"));
                let place = format!("params[{}] + i{axis}", self.layout.origin + axis);
                let last = self.map.shape[axis].saturating_sub(1);
                self.line(format_args!("let g{at} = {place};"));
                let (once, twice) =
                    (literal(dtype, Scalar::Float(*spacing)), literal(dtype, Scalar::Float(2.0 * spacing)));
                let width = format!("select({twice}, {once}, g{at} == 0u || g{at} == {last}u)");
                self.line(format_args!("let t{at}: {ty} = ({right} - v{at}a) / {width};"));
            }
            Stencil::Convolve { weights, .. } => {
                let radius = stencil.radius();
                self.line(format_args!("var p{at} = b{i} + {radius}u * {stride};"));
                for (k, weight) in weights.iter().enumerate() {
                    let weight = literal(dtype, Scalar::Float(*weight));
                    let loaded = load(self.map.inputs[i].dtype, &format!("x{i}"), &format!("p{at}"));
                    self.line(format_args!("let r{at}_{k} = {loaded};"));
                    let value = cast(self.map.inputs[i].dtype, dtype, &format!("r{at}_{k}"));
                    match k {
                        0 => self.line(format_args!("var t{at}: {ty} = {weight} * {value};")),
                        _ => self.line(format_args!("t{at} = t{at} + {weight} * {value};")),
                    }
                    self.line(format_args!("p{at} -= {stride};"));
                }
            }
        }
    }

    fn random(&mut self, seed: u64, distribution: Distribution, dtype: DType) -> String {
        self.library.add_random(dtype);
        self.needs_index = true;
        let mut position = "vec2u()".to_owned();
        for (axis, extent) in self.map.shape.iter().enumerate() {
            let at = format!("params[{}] + i{axis}", self.layout.origin + axis);
            position = format!("oc_position({position}, {extent}u, {at})");
        }
        let (low, high) = (seed as u32, (seed >> 32) as u32);
        let name = distribution.name();
        format!("oc_{name}{}({position}, vec2u({low}u, {high}u))", suffix(dtype))
    }
}

fn name(id: NodeId) -> String {
    format!("t{}", id.0)
}

/// Whether a node is the constant 2: a square is one multiplication, in every type.
pub(crate) fn is_two(expr: &Expr, id: NodeId) -> bool {
    match expr.node(id).op {
        NodeOp::Const(value) => value.as_f64() == 2.0,
        _ => false,
    }
}
