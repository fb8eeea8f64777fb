//! The statements that compute an expression at one element, and the function they stand in.
//!
//! It knows `e`, the element's C-order position in the region, and where something needs it `i0`, `i1`, …, its index
//! there. Each node is a constant `t0`, `t1`, ….

use std::fmt::Write;

use super::element::{cast, literal, load, stored_type, value_type};
use super::library::Library;
use super::words::WordLayout;
use crate::dtype::{DType, Scalar};
use crate::graph::expr::{Expr, NodeId, NodeOp};
use crate::graph::expr_ops::{BinaryOp, Distribution, Stencil, UnaryOp};
use crate::kernel::render::{Access, access, fill, is_two};
use crate::kernel::{ArraySpec, MapKernel};
use crate::shape::Shape;

/// A rendered expression.
pub(super) struct Body {
    code: String,
    pointers: String,
    index: String,
    outputs: Vec<String>,
    library: Library,
    is_large: bool,
    /// Whether it calls more than arithmetic.
    pub(super) calls_functions: bool,
}

impl Body {
    pub(super) fn render(map: &MapKernel, layout: &WordLayout) -> Body {
        let mut writer = Writer {
            map,
            layout,
            library: Library::default(),
            code: String::new(),
            needs_index: false,
            calls_functions: false,
        };
        for i in 0..map.inputs.len() {
            writer.base(i);
        }
        for at in 0..map.expr.nodes().len() {
            writer.node(&map.expr, at);
        }
        let mut pointers = String::new();
        for (i, spec) in map.inputs.iter().enumerate() {
            let ty = stored_type(spec.dtype);
            let _ = writeln!(pointers, "    const {ty} *const __restrict__ x{i} = (const {ty} *)p.w[{i}];");
        }
        Body {
            code: writer.code,
            pointers,
            index: if writer.needs_index { unravel(layout, map.shape.len()) } else { String::new() },
            outputs: map.expr.outputs().iter().map(|id| name(*id)).collect(),
            library: writer.library,
            is_large: is_large(map),
            calls_functions: writer.calls_functions,
        }
    }

    /// Everything up to and with the function `oc_at`, whose result is a `value`; a kernel has `words` words.
    pub(super) fn source(&self, value: &str, words: usize) -> String {
        let mask = self.outputs.get(1).map_or(String::new(), |mask| format!("    counts = {mask};\n"));
        let at = fill(
            include_str!("../../../kernels/cuda/at.cu"),
            &[
                ("words", &words.max(1).to_string()),
                ("index_type", if self.is_large { "unsigned long long" } else { "unsigned int" }),
                ("value", value),
                ("pointers", &self.pointers),
                ("index", &self.index),
                ("body", &(self.code.clone() + &mask)),
                ("result", &self.outputs[0]),
            ],
        );
        self.library.source() + &at
    }
}

/// Whether 32 bits are too few for the positions in a block, padded ones included.
fn is_large(map: &MapKernel) -> bool {
    const MOST: usize = i32::MAX as usize;
    let padded = |(i, spec): (usize, &ArraySpec)| -> Shape {
        let axes = spec.shape.iter().enumerate();
        axes.map(|(axis, &extent)| extent + 2 * map.expr.halo(i as u16, axis)).collect()
    };
    let shapes = map.inputs.iter().enumerate().map(padded).chain([map.shape.clone()]);
    shapes.into_iter().any(|shape| {
        let elements = shape.iter().try_fold(1usize, |product, &extent| product.checked_mul(extent));
        elements.is_none_or(|elements| elements > MOST)
    })
}

/// Statements that set `i0`, `i1`, … from `e`.
fn unravel(layout: &WordLayout, rank: usize) -> String {
    let mut text = String::new();
    let mut rest = "e".to_owned();
    for axis in (0..rank).rev() {
        if axis == 0 {
            let _ = writeln!(text, "    const I i0 = {rest};");
        } else {
            let extent = format!("(I)p.w[{}]", layout.extents + axis);
            let _ = writeln!(text, "    const I q{axis} = {rest} / {extent};");
            let _ = writeln!(text, "    const I i{axis} = {rest} - q{axis} * {extent};");
            rest = format!("q{axis}");
        }
    }
    text
}

struct Writer<'a> {
    map: &'a MapKernel,
    layout: &'a WordLayout,
    library: Library,
    code: String,
    needs_index: bool,
    calls_functions: bool,
}

impl Writer<'_> {
    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string can't fail.
        let _ = writeln!(self.code, "    {text}");
    }

    /// `b{i}`: the position in input `i`'s block of the element at this place.
    fn base(&mut self, i: usize) {
        match access(self.map, i) {
            Access::Position => self.line(format_args!("const I b{i} = e;")),
            Access::Single => self.line(format_args!("const I b{i} = 0;")),
            Access::Strided => {
                self.needs_index = true;
                let input = self.layout.inputs[i];
                let spec = &self.map.inputs[i].shape;
                let lead = self.map.shape.len() - spec.len();
                let mut sum = format!("(I)p.w[{input}]");
                for axis in (lead..self.map.shape.len()).filter(|&axis| spec[axis - lead] != 1) {
                    let _ = write!(sum, " + i{axis} * (I)p.w[{}]", input + 1 + axis);
                }
                self.line(format_args!("const I b{i} = {sum};"));
            }
        }
    }

    fn node(&mut self, expr: &Expr, at: usize) {
        let node = &expr.nodes()[at];
        let dtype = node.dtype;
        let of = |id: NodeId| expr.node(id).dtype;
        let value = match &node.op {
            NodeOp::Const(value) => literal(dtype, *value),
            NodeOp::Input(i) => self.read(usize::from(*i), &format!("b{i}"), dtype),
            NodeOp::Stencil(i, stencil) => return self.stencil(usize::from(*i), stencil, dtype, at),
            NodeOp::Index(axis) => {
                self.needs_index = true;
                let origin = self.layout.origin + usize::from(*axis);
                cast(DType::I64, dtype, &format!("((long long)p.w[{origin}] + (long long)i{axis})"))
            }
            NodeOp::Random { seed, distribution } => self.random(*seed, *distribution, dtype),
            NodeOp::Unary(op, a) => self.unary(*op, of(*a), *a),
            NodeOp::Binary(BinaryOp::Power, a, b) if is_two(expr, *b) => {
                self.binary(BinaryOp::Multiply, of(*a), *a, *a)
            }
            NodeOp::Binary(op, a, b) => self.binary(*op, of(*a), *a, *b),
            NodeOp::Select(c, a, b) => format!("{} ? {} : {}", name(*c), name(*a), name(*b)),
            NodeOp::Cast(a) => cast(of(*a), dtype, &name(*a)),
        };
        self.line(format_args!("const {} t{at} = {value};", value_type(dtype)));
    }

    fn unary(&mut self, op: UnaryOp, dtype: DType, a: NodeId) -> String {
        self.library.need_unary(op, dtype);
        self.calls_functions |= op.flops() > 4.0;
        format!("oc_{}({})", op.name(), name(a))
    }

    fn binary(&mut self, op: BinaryOp, dtype: DType, a: NodeId, b: NodeId) -> String {
        self.library.need_binary(op, dtype);
        self.calls_functions |= op.flops() > 4.0;
        format!("oc_{}({}, {})", op.name(), name(a), name(b))
    }

    /// The element of input `i` at `index` as a value of type `dtype`.
    fn read(&self, i: usize, index: &str, dtype: DType) -> String {
        let stored = self.map.inputs[i].dtype;
        cast(stored, dtype, &load(stored, &format!("x{i}"), index))
    }

    fn stencil(&mut self, i: usize, stencil: &Stencil, dtype: DType, at: usize) {
        let ty = value_type(dtype);
        let axis = stencil.axis();
        self.line(format_args!("const I s{at} = (I)p.w[{}];", self.layout.inputs[i] + 1 + axis));
        match stencil {
            Stencil::Gradient { spacing, .. } => {
                let left = self.read(i, &format!("b{i} - s{at}"), dtype);
                let right = self.read(i, &format!("b{i} + s{at}"), dtype);
                let origin = self.layout.origin + axis;
                let last = self.map.shape[axis].saturating_sub(1);
                self.line(format_args!("const unsigned long long g{at} = p.w[{origin}] + i{axis};"));
                let (once, twice) =
                    (literal(dtype, Scalar::Float(*spacing)), literal(dtype, Scalar::Float(2.0 * spacing)));
                self.line(format_args!(
                    "const {ty} t{at} = ({right} - {left}) / (g{at} == 0 || g{at} == {last}ull ? {once} : {twice});"
                ));
            }
            Stencil::Convolve { weights, .. } => {
                let fma = if dtype == DType::F32 { "__fmaf_rn" } else { "__fma_rn" };
                self.line(format_args!("I p{at} = b{i} + {} * s{at};", stencil.radius()));
                self.line(format_args!("{ty} t{at} = 0;"));
                for weight in weights.iter() {
                    let weight = literal(dtype, Scalar::Float(*weight));
                    let value = self.read(i, &format!("p{at}"), dtype);
                    self.line(format_args!("t{at} = {fma}({weight}, {value}, t{at});"));
                    self.line(format_args!("p{at} -= s{at};"));
                }
            }
        }
    }

    /// By the position in the whole array.
    fn random(&mut self, seed: u64, distribution: Distribution, dtype: DType) -> String {
        self.library.need_random();
        self.needs_index = true;
        self.calls_functions = true;
        let mut position = "0ull".to_owned();
        for (axis, extent) in self.map.shape.iter().enumerate() {
            position = format!("({position} * {extent}ull + p.w[{}] + i{axis})", self.layout.origin + axis);
        }
        format!("oc_{}<{}>({seed:#x}ull, {position})", distribution.name(), value_type(dtype))
    }
}

fn name(id: NodeId) -> String {
    format!("t{}", id.0)
}
