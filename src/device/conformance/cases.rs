//! What is computed: every family with every type, on shapes and values that find faults.

use std::fmt;
use std::sync::Arc;

use crate::block::Block;
use crate::device::conformance::compare::Tolerance;
use crate::device::conformance::play::cast;
use crate::device::conformance::{Family, shape};
use crate::device::contract::DeviceError;
use crate::device::host::Host;
use crate::dtype::{DType, Kind, Scalar};
use crate::graph::chunking::Chunking;
use crate::graph::expr::{Expr, NodeId, NodeOp};
use crate::graph::expr_ops::{BinaryOp, Distribution, EdgeMode, Stencil, UnaryOp};
use crate::graph::op::{CopyRule, Reduce, Reduction, SliceAxis};
use crate::graph::piece::{Piece, copy_pieces, padded_pieces};
use crate::kernel::{ArraySpec, Kernel, MATMUL_DTYPES, MapKernel, StateClass, StateSpec};
use crate::shape::{Region, Shape};

/// One kernel, or those of one reduction, on given values.
pub(super) struct Case {
    pub(super) family: Family,
    pub(super) dtype: DType,
    pub(super) work: Work,
    /// On a device with bits of its own.
    pub(super) tolerance: Tolerance,
    what: String,
}

pub(super) enum Work {
    Map { map: MapKernel, inputs: Vec<Block> },
    Reduce { map: MapKernel, input: Block, reduce: Reduce },
    MatMul { dtype: DType, inputs: Vec<Block>, output: Shape },
    Copy { dtype: DType, inputs: Vec<Block>, output: Shape, pieces: Vec<Piece> },
}

impl Case {
    /// The kernels that it compiles.
    pub(super) fn kernels(&self, class: StateClass) -> Vec<Kernel> {
        match &self.work {
            Work::Map { map, .. } => vec![Kernel::Map(map.clone())],
            Work::MatMul { dtype, .. } => vec![Kernel::MatMul { dtype: *dtype }],
            Work::Copy { dtype, .. } => vec![Kernel::Copy { dtype: *dtype }],
            Work::Reduce { map, reduce, .. } => {
                let (reduction, value) = (reduce.reduction, reduce.expr.output_dtype(0));
                let state = StateSpec::new(class, reduction, value);
                let output = reduction.result(value);
                vec![
                    Kernel::Fold { map: map.clone(), reduction, axes: reduce.axes.clone(), state },
                    Kernel::Combine { reduction, state },
                    Kernel::Finish { reduction, state, output },
                ]
            }
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.what, self.dtype)
    }
}

/// All cases, in an order that is always the same.
pub(super) fn all(host: &Host) -> Result<Vec<Case>, DeviceError> {
    let mut cases = Cases { host, all: Vec::new() };
    for dtype in DType::ALL {
        cases.functions(dtype)?;
        cases.casts(dtype)?;
        cases.fused(dtype)?;
        cases.made(dtype);
        cases.reductions(dtype)?;
        cases.copies(dtype)?;
        if matches!(dtype, DType::F32 | DType::F64) {
            cases.stencils(dtype)?;
        }
        if MATMUL_DTYPES.contains(&dtype) {
            cases.products(dtype)?;
        }
    }
    Ok(cases.all)
}

/// Extents that don't fit vectors, workgroups or each other.
const SHAPES: [&[usize]; 7] = [&[], &[1], &[7], &[261], &[3, 5], &[33, 1, 2], &[2, 4_099]];

struct Cases<'a> {
    host: &'a Host,
    all: Vec<Case>,
}

impl Cases<'_> {
    fn functions(&mut self, dtype: DType) -> Result<(), DeviceError> {
        for extents in SHAPES {
            for op in UnaryOp::ALL.into_iter().filter(|op| op.operand(dtype) == Some(dtype)) {
                let x = self.values(dtype, extents, 0)?;
                let expr = single(&[dtype], op.result(dtype), |ids| NodeOp::Unary(op, ids[0]));
                let tolerance = tolerance(op.name(), dtype);
                self.map(Family::Unary, dtype, op.name(), expr, vec![x], tolerance);
            }
            for op in BinaryOp::ALL.into_iter().filter(|op| op.operand(dtype) == Some(dtype)) {
                let a = self.values(dtype, extents, 0)?;
                let b = match (op, dtype.kind()) {
                    (BinaryOp::Power, Kind::Integer) => self.small(dtype, extents, 8)?,
                    _ => self.values(dtype, extents, 1)?,
                };
                let expr = single(&[dtype; 2], op.result(dtype), |ids| NodeOp::Binary(op, ids[0], ids[1]));
                let tolerance = tolerance(op.name(), dtype);
                self.map(Family::Binary, dtype, op.name(), expr, vec![a, b], tolerance);
            }
        }
        Ok(())
    }

    fn casts(&mut self, dtype: DType) -> Result<(), DeviceError> {
        for extents in SHAPES {
            for to in DType::ALL {
                let x = self.values(dtype, extents, 2)?;
                let expr = single(&[dtype], to, |ids| NodeOp::Cast(ids[0]));
                self.map(Family::Cast, dtype, &format!("astype {to}"), expr, vec![x], 0.0);
            }
        }
        Ok(())
    }

    /// The larger of two, one of which stretches, where it isn't a constant; else the third.
    fn fused(&mut self, dtype: DType) -> Result<(), DeviceError> {
        for (extents, stretched) in [(&[7usize][..], &[1usize][..]), (&[3, 5], &[5]), (&[33, 2, 9], &[2, 1])]
        {
            let mut expr = Expr::default();
            let [a, b, c] = [0, 1, 2].map(|input| expr.push(NodeOp::Input(input), dtype));
            let constant = expr.push(NodeOp::Const(Scalar::Int(1)), dtype);
            let differs = expr.push(NodeOp::Binary(BinaryOp::NotEqual, a, constant), DType::Bool);
            let larger = expr.push(NodeOp::Binary(BinaryOp::Maximum, a, b), dtype);
            let chosen = expr.push(NodeOp::Select(differs, larger, c), dtype);
            expr.output(chosen);
            let inputs = vec![
                self.values(dtype, extents, 0)?,
                self.values(dtype, stretched, 1)?,
                self.values(dtype, extents, 2)?,
            ];
            self.map(Family::Fused, dtype, "choice", expr, inputs, 0.0);
        }
        Ok(())
    }

    fn made(&mut self, dtype: DType) {
        for extents in [&[261usize][..], &[3, 50], &[2, 3, 7]] {
            let made = |op: NodeOp, own: DType| {
                let mut expr = Expr::default();
                let mut value = expr.push(op, own);
                if own != dtype {
                    value = expr.push(NodeOp::Cast(value), dtype);
                }
                expr.output(value);
                expr
            };
            for axis in 0..extents.len() as u8 {
                let expr = made(NodeOp::Index(axis), DType::I64);
                self.add(Family::Made, dtype, "index", expr, Vec::new(), shape(extents), 0.0);
            }
            let normal = if dtype == DType::F64 { 1e-14 } else { 1e-5 };
            for (distribution, tolerance) in [(Distribution::Uniform, 0.0), (Distribution::Normal, normal)] {
                if matches!(dtype, DType::F32 | DType::F64) {
                    let expr = made(NodeOp::Random { seed: 11, distribution }, dtype);
                    let name = format!("{distribution:?}");
                    self.add(Family::Made, dtype, &name, expr, Vec::new(), shape(extents), tolerance);
                }
            }
        }
    }

    fn stencils(&mut self, dtype: DType) -> Result<(), DeviceError> {
        let weights: Arc<[f64]> = vec![0.1, 0.2, 0.4, -0.3, 0.05].into();
        let tolerance = if dtype == DType::F32 { 4e-6 } else { 1e-14 };
        for extents in [&[29usize][..], &[7, 6], &[5, 4, 9]] {
            for axis in 0..extents.len() as u8 {
                let mut stencils = vec![Stencil::Gradient { axis, spacing: 0.7 }];
                for mode in [EdgeMode::Nearest, EdgeMode::Reflect, EdgeMode::Constant(4.5)] {
                    stencils.push(Stencil::Convolve { axis, weights: weights.clone(), mode });
                }
                for stencil in stencils {
                    let x = self.smooth(dtype, extents)?;
                    let (name, mut expr) = (stencil.name(), Expr::default());
                    let near = expr.push(NodeOp::Stencil(0, stencil), dtype);
                    let own = expr.push(NodeOp::Input(0), dtype);
                    let sum = expr.push(NodeOp::Binary(BinaryOp::Add, near, own), dtype);
                    expr.output(sum);
                    self.map(Family::Stencil, dtype, name, expr, vec![x], tolerance);
                }
            }
        }
        Ok(())
    }

    fn reductions(&mut self, dtype: DType) -> Result<(), DeviceError> {
        let all = [
            Reduction::Sum,
            Reduction::Mean,
            Reduction::Min,
            Reduction::Max,
            Reduction::Var { ddof: 0 },
            Reduction::Std { ddof: 1 },
            Reduction::Count { bins: 7 },
        ];
        // Those of the second row have enough elements of each kind for states of states.
        let small: [&[usize]; 4] = [&[1], &[261], &[5, 7, 3], &[4, 4_099]];
        let large: [&[usize]; 3] = [&[66_000], &[16_400, 2], &[4_100, 2, 3]];
        for extents in small.into_iter().chain(large) {
            let is_large = large.contains(&extents);
            for reduction in all {
                let is_count = matches!(reduction, Reduction::Count { .. });
                let is_apart = matches!(reduction, Reduction::Sum | Reduction::Max | Reduction::Var { .. });
                if is_count && dtype != DType::I32 || is_large && !(is_apart && dtype.is_float()) {
                    continue;
                }
                for set in 1..1usize << extents.len() {
                    let axes: Vec<usize> = (0..extents.len()).filter(|axis| set & (1 << axis) != 0).collect();
                    if !is_count || axes.len() == extents.len() {
                        self.reduction(dtype, extents, reduction, axes)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn reduction(
        &mut self,
        dtype: DType,
        extents: &[usize],
        reduction: Reduction,
        axes: Vec<usize>,
    ) -> Result<(), DeviceError> {
        let input = self.smooth(dtype, extents)?;
        let expr = Arc::new(Expr::identity(dtype));
        let spec = ArraySpec { dtype, shape: shape(extents) };
        let map = MapKernel::folded(&expr, vec![spec], shape(extents));
        let domain = Chunking::regular(&shape(extents), extents);
        let what = format!("{} over {axes:?} of {:?}", reduction.name(), extents);
        let reduce = Reduce { expr, reduction, domain, axes, keep_dims: true };
        let tolerance = match reduction {
            Reduction::Min | Reduction::Max | Reduction::Count { .. } => 0.0,
            _ if dtype == DType::F16 => 1e-3,
            _ if reduction.result(dtype) == DType::F32 => 1.3e-7,
            _ if dtype == DType::F64 => 1e-14,
            _ => 1e-12,
        };
        let tolerance = Tolerance::OfValue(tolerance);
        let (family, work) = (Family::Reduction, Work::Reduce { map, input, reduce });
        self.all.push(Case { family, dtype, work, tolerance, what });
        Ok(())
    }

    /// Sides that fit no tile, panels that end in the midst, nothing to sum, nothing to make.
    fn products(&mut self, dtype: DType) -> Result<(), DeviceError> {
        const SIDES: [[usize; 3]; 8] = [
            [1, 1, 1],
            [7, 5, 3],
            [33, 17, 65],
            [2, 300, 2],
            [130, 70, 129],
            [3, 0, 4],
            [0, 3, 2],
            [5, 513, 9],
        ];
        for [m, k, n] in SIDES {
            let matrix = |extents: &[usize], seed: usize| match dtype.is_float() {
                true => self.block(dtype, extents, |e| ((e * 31 + seed) % 97) as f64 * 0.37 - 17.0),
                false => self.values(dtype, extents, seed),
            };
            let all = vec![matrix(&[m, k], 0)?, matrix(&[k, n], 1)?, matrix(&[m, n], 2)?];
            for inputs in [all[..2].to_vec(), all] {
                let what = format!("{m}×{k} by {k}×{n}{}", if inputs.len() == 3 { ", added" } else { "" });
                let work = Work::MatMul { dtype, inputs, output: shape(&[m, n]) };
                let off = if dtype == DType::F64 { 1e-14 } else { 4e-6 };
                let tolerance = Tolerance::OfLargest(if dtype.is_float() { off } else { 0.0 });
                self.all.push(Case { family: Family::MatMul, dtype, work, tolerance, what });
            }
        }
        Ok(())
    }

    fn copies(&mut self, dtype: DType) -> Result<(), DeviceError> {
        let chunks = Chunking::regular(&shape(&[11, 13]), &[4, 5]);
        let forward = SliceAxis::Range { start: 1, step: 2, length: 5 };
        let backward = SliceAxis::Range { start: 12, step: -3, length: 4 };
        let rules: [(&str, CopyRule, &[usize]); 4] = [
            ("rechunk", CopyRule::Rechunk, &[11, 13]),
            ("slice", CopyRule::Slice(vec![forward, backward]), &[5, 4]),
            ("row", CopyRule::Slice(vec![SliceAxis::At(7), backward]), &[4]),
            ("element", CopyRule::Slice(vec![SliceAxis::At(10), SliceAxis::At(0)]), &[]),
        ];
        for (what, rule, extents) in rules {
            let (blocks, pieces) = copy_pieces(&rule, &chunks, &Region::whole(&shape(extents)));
            self.copy(dtype, what, &chunks, &blocks, shape(extents), pieces)?;
        }
        for mode in [EdgeMode::Nearest, EdgeMode::Reflect, EdgeMode::Constant(1.0)] {
            let region = chunks.region_of(4);
            // One axis at a time: nobody writes corners.
            for halo in [[2, 0], [0, 3]] {
                let (blocks, pieces) = padded_pieces(&chunks, &region, &halo, &[mode, mode]);
                let padded: Shape =
                    region.shape.iter().zip(halo).map(|(extent, halo)| extent + 2 * halo).collect();
                self.copy(dtype, "padding", &chunks, &blocks, padded, pieces)?;
            }
        }
        Ok(())
    }

    fn copy(
        &mut self,
        dtype: DType,
        what: &str,
        chunks: &Chunking,
        blocks: &[usize],
        output: Shape,
        pieces: Vec<Piece>,
    ) -> Result<(), DeviceError> {
        let block = |(at, &block): (usize, &usize)| {
            let extents = chunks.region_of(block).shape;
            self.values(dtype, &extents, at)
        };
        let inputs = blocks.iter().enumerate().map(block).collect::<Result<_, _>>()?;
        let what = format!("{what} to {output}");
        let work = Work::Copy { dtype, inputs, output, pieces };
        self.all.push(Case { family: Family::Copy, dtype, work, tolerance: Tolerance::OfValue(0.0), what });
        Ok(())
    }

    /// A map over the largest of its inputs.
    fn map(
        &mut self,
        family: Family,
        dtype: DType,
        what: &str,
        expr: Expr,
        inputs: Vec<Block>,
        tolerance: f64,
    ) {
        let extents = inputs.first().map_or_else(Shape::default, |input| input.shape().clone());
        self.add(family, dtype, what, expr, inputs, extents, tolerance);
    }

    #[expect(clippy::too_many_arguments, reason = "what a case is made of")]
    fn add(
        &mut self,
        family: Family,
        dtype: DType,
        what: &str,
        expr: Expr,
        inputs: Vec<Block>,
        shape: Shape,
        tolerance: f64,
    ) {
        let spec = |input: &Block| ArraySpec { dtype: input.dtype(), shape: input.shape().clone() };
        let what = format!("{what} on {shape}");
        let map = MapKernel::new(&Arc::new(expr), inputs.iter().map(spec).collect(), shape);
        let tolerance = match family {
            Family::Stencil => Tolerance::OfLargest(tolerance),
            _ => Tolerance::OfValue(tolerance),
        };
        self.all.push(Case { family, dtype, work: Work::Map { map, inputs }, tolerance, what });
    }

    /// Edges of the ranges, signs, and for floats what isn't finite.
    fn values(&self, dtype: DType, extents: &[usize], seed: usize) -> Result<Block, DeviceError> {
        let place = |e: usize| e * (2 * seed + 1) + e / 11 + seed;
        if dtype.is_float() {
            return self.block(dtype, extents, |e| FLOATS[place(e) % FLOATS.len()]);
        }
        let ints = integers(dtype);
        self.block(dtype, extents, |e| ints[place(e) % ints.len()])
    }

    /// Numbers of one size, none of them special.
    fn smooth(&self, dtype: DType, extents: &[usize]) -> Result<Block, DeviceError> {
        match dtype.is_float() {
            true => self.block(dtype, extents, |e| (e * 31 % 97) as f64 * 0.37 - 5.0),
            false => self.small(dtype, extents, if dtype == DType::I32 { 9 } else { 97 }),
        }
    }

    fn small(&self, dtype: DType, extents: &[usize], below: usize) -> Result<Block, DeviceError> {
        self.block(dtype, extents, |e| (e * 31 % 97 % below) as i64)
    }

    fn block<T: crate::dtype::Element>(
        &self,
        dtype: DType,
        extents: &[usize],
        at: impl Fn(usize) -> T,
    ) -> Result<Block, DeviceError> {
        let values: Vec<T> = (0..extents.iter().product()).map(at).collect();
        // INVARIANT: there are as many values as the extents say.
        let block = Block::from_slice(shape(extents), &values).expect("as many values as elements");
        cast(self.host, &block, dtype)
    }
}

const FLOATS: [f64; 20] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.5,
    -2.5,
    3.5,
    0.3,
    -0.7,
    1e-3,
    7.25,
    -13.75,
    1e10,
    -1e20,
    300.0,
    -40000.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

fn integers(dtype: DType) -> Vec<i64> {
    match dtype {
        DType::Bool => vec![0, 1],
        DType::U8 => vec![0, 1, 2, 3, 7, 127, 128, 254, 255],
        DType::I16 => vec![0, 1, -1, 2, 3, -7, 255, -32768, 32767],
        DType::I32 => vec![0, 1, -1, 2, 3, -7, 65537, i32::MIN.into(), i32::MAX.into()],
        DType::U32 => vec![0, 1, 2, 3, 7, 65537, 1 << 31, u32::MAX.into()],
        _ => vec![0, 1, -1, 2, 3, -7, 1 << 40, i64::MIN, i64::MAX],
    }
}

/// The expression of one operation on inputs 0, 1, ….
fn single(inputs: &[DType], result: DType, op: impl Fn(&[NodeId]) -> NodeOp) -> Expr {
    let mut expr = Expr::default();
    let ids: Vec<NodeId> =
        (0..).zip(inputs).map(|(at, &dtype)| expr.push(NodeOp::Input(at), dtype)).collect();
    let root = expr.push(op(&ids), result);
    expr.output(root);
    expr
}

/// How far a device with bits of its own may be off in a function, as a share of its value. 0 for those that are exact or
/// correctly rounded everywhere; WGSL allows the quotient and the square root 2.5 units in the last place.
pub fn tolerance(name: &str, dtype: DType) -> f64 {
    const EXACT: [&str; 14] = [
        "negative",
        "abs",
        "sign",
        "floor",
        "ceil",
        "round",
        "trunc",
        "add",
        "subtract",
        "multiply",
        "minimum",
        "maximum",
        "remainder",
        "floor_divide",
    ];
    match dtype {
        _ if EXACT.contains(&name) => 0.0,
        DType::F64 => 1e-15,
        DType::F16 => 1e-3,
        _ => 1e-6,
    }
}
