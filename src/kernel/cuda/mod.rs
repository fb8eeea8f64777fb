//! Kernels as CUDA C++: source text, and what a launch passes. Pure; knows no driver.
//!
//! Every function takes one struct of 64-bit words by value: addresses, extents, strides. What it computes has the
//! host's bits: the same polynomials, sums in the same order, and no contraction (compile with `--fmad=false`).

mod body;
mod copy;
mod element;
mod fold;
mod library;
mod matmul;
mod state;
mod words;

use crate::dtype::DType;
use crate::kernel::render::{LaunchError, fill};
use crate::kernel::{Arguments, Kernel, MapKernel, StateSpec};
use crate::shape::Region;

use body::Body;
use element::{stored_type, value_type};
use words::{WordLayout, map_words};

/// Bytes of a function's parameters at most: what CUDA takes on every card.
const PARAMETER_BYTES_MAX: usize = 4096;

/// Inputs that a kernel may have: their places fit among the parameters with any number of axes.
pub const CUDA_INPUTS_MAX: usize = 40;

/// Threads in a block.
pub const BLOCK: u32 = 256;

/// Elements that a thread of a cheap map computes: enough loads under way to keep the memory busy.
const EACH: usize = 4;

/// A kernel as CUDA C++.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// One compilation unit.
    pub source: String,
    /// The functions in it, by [`Pass::function`].
    pub functions: Vec<&'static str>,
    /// Words that each takes; a pass may have fewer.
    pub words: usize,
    form: Form,
}

/// What a launch needs to know of its kernel.
#[derive(Clone, Debug)]
enum Form {
    Map { map: MapKernel, each: usize },
    Fold(fold::Fold),
    Combine(StateSpec),
    Finish,
    MatMul(DType),
    Source(usize),
    Copy(DType),
}

/// A buffer that a pass uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// The launch's operand at this position.
    Operand(usize),
    /// Scratch memory.
    Scratch,
    /// The block written.
    Output,
}

/// A word that a function is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// A number.
    Value(u64),
    /// The address of a byte of a block, counted from its first element.
    Address(Slot, isize),
}

/// One launch of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Pass {
    /// Which of the functions.
    pub function: usize,
    /// Its parameters.
    pub words: Vec<Word>,
    /// Blocks of [`BLOCK`] threads along both axes.
    pub blocks: (u32, u32),
}

/// What one launch does on the device.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Launch {
    /// Bytes of scratch memory.
    pub scratch_bytes: usize,
    /// Whether the output must be zeroed first.
    pub clears: bool,
    /// The launches, in order.
    pub passes: Vec<Pass>,
}

impl Rendered {
    /// Renders a kernel. What [`crate::kernel::capability`] lists as lacking must not be in it.
    pub fn new(kernel: &Kernel) -> Rendered {
        match kernel {
            Kernel::Map(map) => map_source(map),
            Kernel::Fold { map, reduction, axes, state } => fold::render(map, *reduction, axes, *state),
            Kernel::Combine { reduction, state } => state::combine(*reduction, *state),
            Kernel::Finish { reduction, state, output } => state::finish(*reduction, *state, *output),
            Kernel::MatMul { dtype } => matmul::render(*dtype),
            Kernel::Source(source) => Rendered {
                source: source.cuda.clone().unwrap_or_default(),
                functions: vec!["outcrop_kernel"],
                words: source.operands + 2,
                form: Form::Source(source.operands),
            },
            Kernel::Copy { dtype } => copy::render(*dtype),
        }
    }

    /// Whether its functions take each word as a parameter of its own, and not all of them in one struct.
    pub fn takes_words_apart(&self) -> bool {
        matches!(self.form, Form::Source(_))
    }

    /// What to do for a launch with these arguments.
    ///
    /// # Errors
    /// The arguments don't fit the kernel.
    pub fn launch(&self, arguments: &Arguments) -> Result<Launch, LaunchError> {
        let is_copy = matches!(self.form, Form::Copy(_));
        let blocks = arguments.operands.iter().map(|operand| &operand.block).chain([&arguments.output]);
        if let Some(strided) = blocks.into_iter().find(|block| !is_copy && !block.layout.is_contiguous()) {
            return Err(LaunchError::Strided(strided.shape().clone()));
        }
        match &self.form {
            Form::Map { map, each } => map_launch(map, *each, arguments),
            Form::Fold(fold) => fold.launch(arguments),
            Form::Combine(state) => state::combine_launch(*state, arguments),
            Form::Finish => state::finish_launch(arguments),
            Form::MatMul(dtype) => matmul::launch(*dtype, arguments),
            Form::Source(operands) => source_launch(*operands, arguments),
            Form::Copy(dtype) => copy::launch(*dtype, arguments),
        }
    }
}

/// Bytes of device memory that a launch of `kernel` on `region` takes besides its operands and output, for as long as
/// it runs.
pub fn scratch_bytes(kernel: &Kernel, region: &Region) -> usize {
    match kernel {
        Kernel::Fold { reduction, axes, state, .. } => {
            fold::scratch_bytes(*reduction, axes, *state, &region.shape)
        }
        _ => 0,
    }
}

fn map_source(map: &MapKernel) -> Rendered {
    let layout = WordLayout::new(map);
    let body = Body::render(map, &layout);
    // Long bodies have enough to do for each element, and take long to compile as it is.
    let each = if body.calls_functions { 1 } else { EACH };
    let kernel = fill(
        include_str!("../../../kernels/cuda/map.cu"),
        &[
            ("items", &layout.items.to_string()),
            ("output", &layout.output.to_string()),
            ("stored", stored_type(map.expr.output_dtype(0))),
            ("each", &each.to_string()),
            ("tile", &(each * BLOCK as usize).to_string()),
        ],
    );
    let words = layout.own;
    let source = body.source(value_type(map.expr.output_dtype(0)), words) + &kernel;
    Rendered { source, functions: vec!["oc_map"], words, form: Form::Map { map: map.clone(), each } }
}

fn map_launch(map: &MapKernel, each: usize, arguments: &Arguments) -> Result<Launch, LaunchError> {
    let elements = arguments.region.shape.elements();
    let words = map_words(map, arguments)?;
    let blocks = (blocks_for(elements, each * BLOCK as usize)?, 1);
    let passes = if elements == 0 { Vec::new() } else { vec![Pass { function: 0, words, blocks }] };
    Ok(Launch { passes, ..Launch::default() })
}

/// A thread for each element of the output.
fn source_launch(operands: usize, arguments: &Arguments) -> Result<Launch, LaunchError> {
    let found = arguments.operands.len();
    if found != operands {
        return Err(LaunchError::Operands { found, needed: operands });
    }
    let elements = arguments.output.shape().elements();
    let mut words: Vec<Word> = (0..operands).map(|at| Word::Address(Slot::Operand(at), 0)).collect();
    words.extend([Word::Address(Slot::Output, 0), words::value(elements)]);
    let blocks = (blocks_for(elements, BLOCK as usize)?, 1);
    let passes = if elements == 0 { Vec::new() } else { vec![Pass { function: 0, words, blocks }] };
    Ok(Launch { passes, ..Launch::default() })
}

/// Blocks for so many items, each of which does `each` of them.
fn blocks_for(items: usize, each: usize) -> Result<u32, LaunchError> {
    const BLOCKS_MAX: usize = i32::MAX as usize;
    let blocks = items.div_ceil(each);
    if blocks > BLOCKS_MAX {
        return Err(LaunchError::Grid { blocks, most: BLOCKS_MAX });
    }
    Ok(blocks as u32)
}
