//! Kernels: what a device is asked to compile and launch, as data.
//!
//! A [`Kernel`] is compiled once for a layer; each task launches it with [`Arguments`] of its own. The
//! function library that all backends share is [`math`].

pub mod capability;
pub mod cuda;
mod half;
pub mod math;
pub mod render;
pub mod state;

use std::sync::Arc;

use crate::block::Block;
use crate::dtype::DType;
use crate::graph::device_source::DeviceSource;
use crate::graph::expr::{Expr, SharedExpr};
use crate::graph::op::Reduction;
use crate::graph::piece::Piece;
use crate::shape::{Region, Shape};

pub use state::{StateClass, StateSpec, state_shape};

/// A whole array as a kernel sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ArraySpec {
    /// Element type.
    pub dtype: DType,
    /// Extents of the whole array; axes of extent 1 stretch in an elementwise kernel.
    pub shape: Shape,
}

/// What to compile. Everything that is the same for all tasks of a layer.
#[derive(Clone, Debug, PartialEq)]
pub enum Kernel {
    /// `output[e] = expr(inputs at e)` for every element `e` of the output block.
    Map(MapKernel),
    /// Folds a block of the domain into a state (see [`StateSpec`]): the expression at every element, then
    /// the reduction along `axes`. The state's shape is the block's, 1 along the reduced axes, with the
    /// planes as a new first axis; for [`Reduction::Count`] it is `(bins,)`.
    Fold {
        /// What to compute at every element.
        map: MapKernel,
        /// What to fold.
        reduction: Reduction,
        /// Axes of the domain that are folded, ascending.
        axes: Vec<usize>,
        /// The state's form.
        state: StateSpec,
    },
    /// Combines the operands, states of one shape, in their order.
    Combine {
        /// What they are states of.
        reduction: Reduction,
        /// Their form.
        state: StateSpec,
    },
    /// Turns one state into the result: the planes' axis goes, and the elements become `output`s. The
    /// output block has as many elements as a plane, in the same order; its axes may be fewer.
    Finish {
        /// What it is the state of.
        reduction: Reduction,
        /// Its form.
        state: StateSpec,
        /// Type of the result.
        output: DType,
    },
    /// The product of two matrices, `(m, k)` of input 0 and `(k, n)` of input 1, added to a third, `(m, n)` of input 2,
    /// where there is one: what a product of chunked matrices is made of.
    ///
    /// An element starts as the third's, or 0. The products along `k` come in panels of [`MATMUL_PANEL`], from the first
    /// on: a panel is summed from 0 in ascending order, each product by one fused multiply-add in the element's type,
    /// and then added. That bounds the error of long sums as blocked libraries do (a panel's length and the number of
    /// panels, in units of the last place), and every device can do it in its registers. Integers wrap. O(m·k·n).
    MatMul {
        /// Element type of all of them: one of [`MATMUL_DTYPES`].
        dtype: DType,
    },
    /// A kernel that somebody else wrote: see [`device_source`](crate::graph::device_source).
    Source(Arc<DeviceSource>),
    /// Copies [`Arguments::pieces`].
    Copy {
        /// Element type of operands and output.
        dtype: DType,
    },
}

/// Products that are summed before they are added to an element of a [`Kernel::MatMul`].
pub const MATMUL_PANEL: usize = 256;

/// Element types that matrices can be multiplied in.
pub const MATMUL_DTYPES: [DType; 5] = [DType::I32, DType::U32, DType::I64, DType::F32, DType::F64];

/// Extents of a product of matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatMulShape {
    /// Rows.
    pub m: usize,
    /// Products that are summed.
    pub k: usize,
    /// Columns.
    pub n: usize,
}

impl MatMulShape {
    /// The extents of a launch, or why its blocks don't fit each other.
    pub fn of(arguments: &Arguments, dtype: DType) -> Result<Self, String> {
        let blocks: Vec<&Block> = (0..3)
            .filter_map(|input| arguments.operands.iter().find(|operand| operand.input == input))
            .map(|operand| &operand.block)
            .collect();
        let all = || blocks.iter().copied().chain([&arguments.output]);
        let shown = || {
            all().map(|block| format!("{} {}", block.dtype(), block.shape())).collect::<Vec<_>>().join(", ")
        };
        let wrong = || format!("no product of matrices of {dtype}: {}", shown());
        if blocks.len() < 2 || blocks.len() != arguments.operands.len() {
            return Err(wrong());
        }
        let [a, b] = [blocks[0].shape(), blocks[1].shape()];
        if a.len() != 2 || b.len() != 2 || a[1] != b[0] || all().any(|block| block.dtype() != dtype) {
            return Err(wrong());
        }
        let shape = MatMulShape { m: a[0], k: a[1], n: b[1] };
        let is_product = |block: &Block| block.shape()[..] == [shape.m, shape.n];
        if all().skip(2).all(is_product) { Ok(shape) } else { Err(wrong()) }
    }
}

/// An elementwise kernel over some domain.
#[derive(Clone, Debug, PartialEq)]
pub struct MapKernel {
    /// What to compute.
    pub expr: SharedExpr,
    /// The inputs that the expression numbers.
    pub inputs: Vec<ArraySpec>,
    /// Extents of the whole domain: the output's, for a map.
    pub shape: Shape,
}

impl MapKernel {
    /// The kernel of an expression over inputs. What it computes of `f16` is rewritten to `f32` and rounded.
    pub fn new(expr: &Arc<Expr>, inputs: Vec<ArraySpec>, shape: Shape) -> Self {
        MapKernel { expr: half::computed_in_single(expr), inputs, shape }
    }

    /// The kernel of an expression whose first output is folded; `f16` leaves as `f32`.
    pub fn folded(expr: &Arc<Expr>, inputs: Vec<ArraySpec>, shape: Shape) -> Self {
        MapKernel { expr: half::folded_in_single(expr), inputs, shape }
    }
}

impl Kernel {
    /// A short name for messages and traces.
    pub fn name(&self) -> String {
        match self {
            Kernel::Map(_) => "map".to_owned(),
            Kernel::Fold { reduction, .. } => format!("{} of a block", reduction.name()),
            Kernel::Combine { reduction, .. } => format!("{} of states", reduction.name()),
            Kernel::Finish { reduction, .. } => format!("{} result", reduction.name()),
            Kernel::MatMul { .. } => "matmul".to_owned(),
            Kernel::Source(source) => source.name.clone(),
            Kernel::Copy { .. } => "copy".to_owned(),
        }
    }
}

/// One block that a launch reads.
#[derive(Clone, Debug)]
pub struct Operand {
    /// Which of the kernel's inputs it belongs to. An input read by a stencil may have several blocks.
    pub input: u16,
    /// The block.
    pub block: Block,
    /// Where it lies in its whole array; extents of a broadcast axis are 1.
    pub region: Region,
}

/// What one launch reads and writes.
#[derive(Clone, Debug)]
pub struct Arguments {
    /// The blocks read, by input, and for each input the block at the output's own place first.
    pub operands: Vec<Operand>,
    /// The block written. Nobody else reads or writes it meanwhile. It may be a strided view.
    pub output: Block,
    /// The part of the domain that is computed: for a map, where the output lies in its array.
    pub region: Region,
    /// For [`Kernel::Copy`]: what comes from where.
    pub pieces: Vec<Piece>,
}
