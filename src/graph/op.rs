//! What a layer does: a small set of symbolic operations.

use std::fmt;
use std::sync::Arc;

use crate::block::Block;
use crate::dtype::DType;
use crate::graph::block_set::BlockSet;
use crate::graph::chunking::Chunking;
use crate::graph::custom::CustomOp;
use crate::graph::expr::SharedExpr;
use crate::graph::tasks::TaskTable;
use crate::shape::{Region, Shape};
use crate::token::{Token, Tokenizer};

/// Layers of a reduction's combining tree join this many states at once.
pub const SPLIT_EVERY: usize = 8;

/// The operation of a layer.
#[derive(Clone, Debug)]
pub enum Op {
    /// Brings an array into being, block by block, from a file or from memory.
    Load(Arc<dyn Source>),
    /// Computes every element from the elements (or neighbourhoods) at the same place.
    Map(SharedExpr),
    /// Folds axes away: a map at every element, then a tree over the logical blocks.
    Reduce(Reduce),
    /// Copies elements to other places: slicing and rechunking.
    Copy(CopyRule),
    /// Hands every block to a sink. Its result has no elements that anyone reads.
    Store(Arc<dyn Sink>),
    /// Computes each value by a rule and a function of somebody else's.
    Custom(Arc<dyn CustomOp>),
    /// Computes each value by a task of its own.
    Tasks(Arc<TaskTable>),
    /// Waits for values without reading them; its own are empty objects.
    Wait(WaitRule),
}

/// Which values a waiting one waits for. The values of all inputs stand in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitRule {
    /// The places in the row that are waited for.
    pub blocks: BlockSet,
    /// How many of them one waits for; the last one for those that are left.
    pub every: usize,
}

/// A reduction over some axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduce {
    /// Computed at every element: output 0 is the value, output 1, where present, a `bool` that says whether
    /// the element counts.
    pub expr: SharedExpr,
    /// What is folded.
    pub reduction: Reduction,
    /// The blocks over which the expression is computed: the leaves of the combining tree.
    pub domain: Chunking,
    /// The axes that go, ascending.
    pub axes: Vec<usize>,
    /// Whether they stay as axes of extent 1.
    pub keep_dims: bool,
}

/// What a reduction folds. Every one is computed from per-block states that a fixed tree combines, so that
/// the result depends on the logical chunks alone: not on threads, schedule or fusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// The sum; integers add as `i64`, floats in `f64` and then rounded.
    Sum,
    /// The arithmetic mean.
    Mean,
    /// The smallest element; NaN when there is one.
    Min,
    /// The largest element; NaN when there is one.
    Max,
    /// The variance, `Σ(x − mean)² / (n − ddof)`, by Chan, Golub and LeVeque's pairwise update.
    Var {
        /// Delta degrees of freedom.
        ddof: u32,
    },
    /// The square root of the variance.
    Std {
        /// Delta degrees of freedom.
        ddof: u32,
    },
    /// How often each of `0..bins` occurs among the values, which are `i32`; others aren't counted.
    Count {
        /// Length of the result.
        bins: u32,
    },
}

impl Reduction {
    /// NumPy's name.
    pub const fn name(self) -> &'static str {
        match self {
            Reduction::Sum => "sum",
            Reduction::Mean => "mean",
            Reduction::Min => "min",
            Reduction::Max => "max",
            Reduction::Var { .. } => "var",
            Reduction::Std { .. } => "std",
            Reduction::Count { .. } => "histogram",
        }
    }

    /// Type of the result for values of type `dtype`.
    pub fn result(self, dtype: DType) -> DType {
        match self {
            Reduction::Sum if dtype.is_float() => dtype,
            Reduction::Sum | Reduction::Count { .. } => DType::I64,
            Reduction::Min | Reduction::Max => dtype,
            Reduction::Mean | Reduction::Var { .. } | Reduction::Std { .. } => match dtype {
                DType::F16 | DType::F32 => dtype,
                _ => DType::F64,
            },
        }
    }

    fn tokenize(self, fields: Tokenizer) -> Tokenizer {
        let fields = fields.text(self.name());
        match self {
            Reduction::Var { ddof } | Reduction::Std { ddof } => fields.int(ddof.into()),
            Reduction::Count { bins } => fields.int(bins.into()),
            _ => fields,
        }
    }
}

impl Reduce {
    /// Shape of the result of reducing `shape`.
    pub fn output_shape(&self, shape: &Shape) -> Shape {
        match self.reduction {
            Reduction::Count { bins } => [bins as usize].into(),
            _ if self.keep_dims => self.kept_shape(shape),
            _ => (0..shape.len()).filter(|axis| !self.axes.contains(axis)).map(|axis| shape[axis]).collect(),
        }
    }

    /// `shape` with extent 1 along every reduced axis.
    pub fn kept_shape(&self, shape: &Shape) -> Shape {
        (0..shape.len()).map(|axis| if self.axes.contains(&axis) { 1 } else { shape[axis] }).collect()
    }
}

/// Which input element each output element is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyRule {
    /// The same elements in other blocks.
    Rechunk,
    /// NumPy's basic indexing; one entry for each input axis.
    Slice(Vec<SliceAxis>),
}

/// What a slice takes of one input axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceAxis {
    /// One element; the axis goes.
    At(usize),
    /// `length` elements from `start`, `step` apart; a negative step runs backwards.
    Range {
        /// Index of the first element taken.
        start: usize,
        /// Distance between elements; never 0.
        step: isize,
        /// How many are taken.
        length: usize,
    },
}

impl Op {
    /// The operation's name.
    pub fn name(&self) -> &str {
        match self {
            Op::Load(_) => "load",
            Op::Map(_) => "map",
            Op::Reduce(reduce) => reduce.reduction.name(),
            Op::Copy(CopyRule::Rechunk) => "rechunk",
            Op::Copy(CopyRule::Slice(_)) => "slice",
            Op::Store(_) => "store",
            Op::Custom(op) => op.name(),
            Op::Tasks(tasks) if tasks.len() == 1 => tasks.function(0).name(),
            Op::Tasks(_) => "tasks",
            Op::Wait(_) => "wait",
        }
    }

    /// The operation's name, shared: layers' names start with it.
    pub fn stem(&self) -> Arc<str> {
        match self {
            Op::Tasks(tasks) if tasks.len() == 1 => tasks.function(0).name().clone(),
            _ => self.name().into(),
        }
    }

    /// The content token of the operation itself, without its inputs.
    pub fn token(&self) -> Token {
        let fields = Tokenizer::new(self.name());
        match self {
            Op::Load(source) => fields.token(source.token()),
            Op::Map(expr) => fields.token(expr.token()),
            Op::Reduce(reduce) => reduce
                .reduction
                .tokenize(fields.token(reduce.expr.token()))
                .ints(reduce.axes.iter().map(|&axis| axis as i64))
                .bool(reduce.keep_dims),
            Op::Copy(CopyRule::Rechunk) => fields,
            Op::Copy(CopyRule::Slice(axes)) => axes.iter().fold(fields, |fields, axis| match *axis {
                SliceAxis::At(at) => fields.text("at").int(at as i64),
                SliceAxis::Range { start, step, length } => {
                    fields.int(start as i64).int(step as i64).int(length as i64)
                }
            }),
            Op::Store(sink) => fields.text(&sink.describe()),
            Op::Custom(op) => fields.token(op.token()),
            Op::Tasks(tasks) => return tasks.token(),
            Op::Wait(WaitRule { blocks: BlockSet::All, every }) => fields.int(*every as i64),
            Op::Wait(WaitRule { blocks: BlockSet::Some(blocks), every }) => {
                fields.int(*every as i64).ints(blocks.iter().map(|&block| block as i64))
            }
        }
        .finish()
    }
}

/// Where a loaded array comes from: a file or memory. Reading happens on the host, from several threads.
pub trait Source: Send + Sync + fmt::Debug {
    /// What a person calls it: a path, or "memory".
    fn describe(&self) -> String;

    /// Identifies the content while graphs are built: quickly, by a name, a time or a handle if need be.
    fn token(&self) -> Token;

    /// Identifies the content to other processes and later runs, by what is read: called when values are kept to be
    /// resumed from. O(bytes); asked again, it may remember.
    ///
    /// # Errors
    /// There is no telling: values made of it can't be kept.
    fn content(&self) -> Result<Token, TransferError>;

    /// Element type.
    fn dtype(&self) -> DType;

    /// Extents of the whole array.
    fn shape(&self) -> Shape;

    /// Whether [`Source::view`] gives blocks without copying, so that loading takes no memory.
    fn in_place(&self) -> bool;

    /// The region without a copy; only called when [`Source::in_place`] holds.
    fn view(&self, region: &Region) -> Result<Block, TransferError>;

    /// Reads the region into a contiguous host block of its shape and the source's type.
    fn read(&self, region: &Region, into: &Block) -> Result<(), TransferError>;
}

/// Where blocks go: a file. Blocks come from several threads; see [`Sink::ordered`].
pub trait Sink: Send + Sync + fmt::Debug {
    /// What a person calls it: a path.
    fn describe(&self) -> String;

    /// Whether blocks must come in C order of their grid, one after the other.
    fn ordered(&self) -> bool;

    /// Takes one block of the stored array.
    fn write(&self, region: &Region, block: &Block) -> Result<(), TransferError>;

    /// Forgets the blocks that came: all of them will come again, from the first. Called between two runs.
    fn restart(&self) -> Result<(), TransferError>;

    /// Makes the output visible under its final name, whole. Without this call nothing is left behind.
    fn finish(&self) -> Result<(), TransferError>;
}

/// Reading from a source or writing to a sink failed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct TransferError {
    /// The source or sink, as its `describe` says.
    pub place: String,
    /// What went wrong.
    pub problem: String,
}
