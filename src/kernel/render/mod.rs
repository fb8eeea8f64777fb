//! Kernels as WGSL: source text, and what a launch binds and passes. Pure; knows no GPU library.
//!
//! Every shader has the same interface: bindings `0..reads` are the buffers read (`x0`, `x1`, …), the next
//! one is the buffer written (`output`), the last is `params`, an array of `u32` whose item 0 is always 0
//! (compilers can't know, so it hides values from them) and whose item 1 is the number of items to compute.

mod arguments;
mod body;
mod cast;
mod copy;
mod element;
mod fold;
mod functions;
mod library;
mod matmul;
mod state;

use crate::block::Block;
use crate::dtype::DType;
use crate::kernel::{Arguments, Kernel, MapKernel};
use crate::shape::Region;

pub use arguments::LaunchError;
pub(in crate::kernel) use arguments::{input_place, operands_by_input};
pub(crate) use body::is_two;
pub(in crate::kernel) use body::{Access, access};
pub(crate) use element::lanes;

use arguments::{ParamLayout, map_params};
use body::Body;
use element::{bits, storage_type, value_type};
use library::Library;

/// Invocations in a workgroup.
pub const WORKGROUP: u32 = 256;

/// An invocation of a map computes at most so many items one after the other…
const ITEMS: usize = 16;

/// … unless there would be too few invocations to keep a large device busy.
const INVOCATIONS: usize = 1 << 18;

/// One compute pipeline.
#[derive(Clone, Debug, PartialEq)]
pub struct Shader {
    /// WGSL with the entry point `main`.
    pub source: String,
    /// How many buffers it reads, besides the parameters.
    pub reads: usize,
}

/// A kernel as shaders.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// The shaders that a launch may use.
    pub shaders: Vec<Shader>,
    kernel: Kernel,
    is_software: bool,
}

/// A buffer that a pass uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// The launch's operand at this position.
    Operand(usize),
    /// Scratch memory, by its position in [`Launch::scratch_bytes`].
    Scratch(usize),
    /// The block written.
    Output,
}

/// One dispatch.
#[derive(Clone, Debug, PartialEq)]
pub struct Pass {
    /// Which of the shaders.
    pub shader: usize,
    /// What it reads, in the order of its bindings.
    pub reads: Vec<Slot>,
    /// What it writes.
    pub write: Slot,
    /// The parameters.
    pub params: Vec<u32>,
    /// Invocations, rounded up to whole workgroups; each does every so many of the items.
    pub invocations: usize,
}

/// What one launch does on the device.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Launch {
    /// Sizes of the scratch buffers.
    pub scratch_bytes: Vec<usize>,
    /// Whether the output must be cleared first.
    pub clears: bool,
    /// The dispatches, in order.
    pub passes: Vec<Pass>,
}

impl Rendered {
    /// Renders a kernel. What [`crate::kernel::capability`] lists as lacking must not be in it. Where a processor plays the
    /// GPU (`is_software`) kernels use no barriers, which cost ten times what they save there.
    pub fn new(kernel: &Kernel, is_software: bool) -> Rendered {
        let shaders = match kernel {
            Kernel::Map(map) => vec![map_shader(map)],
            Kernel::Fold { map, reduction, axes, .. } => fold::fold_shaders(map, *reduction, axes),
            Kernel::Combine { reduction, state } => vec![state::combine_shader(*reduction, *state)],
            Kernel::Finish { reduction, state, output } => {
                vec![state::finish_shader(*reduction, *state, *output)]
            }
            Kernel::MatMul { dtype } => vec![matmul::shader(*dtype, is_software)],
            Kernel::Source(source) => {
                vec![Shader { source: source.wgsl.clone().unwrap_or_default(), reads: source.operands }]
            }
            Kernel::Copy { dtype } => vec![copy::copy_shader(*dtype)],
        };
        Rendered { shaders, kernel: kernel.clone(), is_software }
    }

    /// What to do for a launch with these arguments.
    pub fn launch(&self, arguments: &Arguments) -> Result<Launch, LaunchError> {
        if !matches!(self.kernel, Kernel::Copy { .. }) {
            arguments::check_contiguous(arguments)?;
        }
        match &self.kernel {
            Kernel::Map(map) => map_launch(map, arguments),
            Kernel::Fold { map, reduction, axes, state } => {
                fold::fold_launch(map, *reduction, axes, *state, arguments)
            }
            Kernel::Combine { state, .. } => state::combine_launch(*state, arguments),
            Kernel::Finish { output, .. } => state::finish_launch(*output, arguments),
            Kernel::MatMul { dtype } => matmul::launch(*dtype, self.is_software, arguments),
            Kernel::Source(source) => source_launch(source.operands, arguments),
            Kernel::Copy { dtype } => copy::copy_launch(*dtype, arguments),
        }
    }
}

/// Bytes of device memory that a launch of `kernel` on `region` takes besides its operands and output, for
/// as long as it runs.
pub fn scratch_bytes(kernel: &Kernel, region: &Region) -> usize {
    match kernel {
        Kernel::Fold { reduction, axes, state, .. } => {
            fold::scratch_sizes(*reduction, axes, *state, region).iter().sum()
        }
        _ => 0,
    }
}

fn map_shader(map: &MapKernel) -> Shader {
    let mut library = Library::default();
    let layout = ParamLayout::new(map);
    let body = Body::render(map, &layout, &mut library);
    let dtype = map.expr.output_dtype(0);
    let index = if body.needs_index { unravel("e", &layout, 0..map.shape.len()) } else { String::new() };
    let item = fill(
        include_str!("../../../kernels/wgsl/map.wgsl"),
        &[("index", &index), ("body", &body.code), ("type", value_type(dtype)), ("result", &body.outputs[0])],
    );
    let reads: Vec<DType> = map.inputs.iter().map(|spec| spec.dtype).collect();
    items_shader(&reads, &[dtype], None, &library, &item)
}

fn map_launch(map: &MapKernel, arguments: &Arguments) -> Result<Launch, LaunchError> {
    let elements = arguments.region.shape.elements();
    let reads = operands_by_input(map, arguments)?;
    let mut params = vec![0, elements as u32, 0, 0];
    map_params(map, arguments, &reads, &mut params)?;
    let dtype = map.expr.output_dtype(0);
    let pass = Pass {
        shader: 0,
        reads: reads.into_iter().map(Slot::Operand).collect(),
        write: Slot::Output,
        params,
        invocations: invocations(elements, dtype),
    };
    Ok(Launch { passes: vec![pass], ..Launch::default() })
}

/// An invocation for each element of the output.
fn source_launch(operands: usize, arguments: &Arguments) -> Result<Launch, LaunchError> {
    let found = arguments.operands.len();
    if found != operands {
        return Err(LaunchError::Operands { found, needed: operands });
    }
    let shape = arguments.output.shape();
    let mut params = vec![0, shape.elements() as u32, shape.len() as u32];
    params.extend(shape.iter().map(|&extent| extent as u32));
    let reads = (0..operands).map(Slot::Operand).collect();
    let pass = Pass { shader: 0, reads, write: Slot::Output, params, invocations: shape.elements() };
    Ok(Launch { passes: vec![pass], ..Launch::default() })
}

/// Invocations for so many elements written: the shader steps by their number until it is through.
fn invocations(elements: usize, dtype: DType) -> usize {
    let words = elements.div_ceil(lanes(dtype));
    words.div_ceil(ITEMS).max(words.min(INVOCATIONS))
}

/// A shader that computes `params[1]` items, each by `item_at(item)`: a value, or with `state` a struct with
/// a field `p0`, `p1`, … for each plane. Planes lie one after the other in the output.
fn items_shader(
    reads: &[DType],
    planes: &[DType],
    state: Option<&str>,
    library: &Library,
    item_at: &str,
) -> Shader {
    let dtype = planes[0];
    let lanes = lanes(dtype);
    let field = |plane: usize| if state.is_some() { format!("s.p{plane}") } else { "s".to_owned() };
    let store = if lanes == 1 {
        let planes = (0..planes.len())
            .map(|p| format!("        output[{p}u * params[1] + item] = {};\n", field(p)))
            .collect::<String>();
        format!("        let s = item_at(item);\n{planes}")
    } else {
        fill(
            include_str!("../../../kernels/wgsl/store_packed.wgsl"),
            &[
                ("lanes", &lanes.to_string()),
                ("width", &(32 / lanes).to_string()),
                ("bits", &bits(dtype, &field(0))),
            ],
        )
    };
    let source = fill(
        include_str!("../../../kernels/wgsl/items.wgsl"),
        &[
            ("bindings", &bindings(reads, &format!("array<{}>", storage_type(dtype)))),
            ("library", &library.source()),
            ("state", state.unwrap_or_default()),
            ("item_at", item_at),
            ("workgroup", &WORKGROUP.to_string()),
            ("store", &store),
            ("lanes", &lanes.to_string()),
        ],
    );
    Shader { source, reads: reads.len() }
}

/// The declarations of the buffers; `output` is the type of what is written.
fn bindings(reads: &[DType], output: &str) -> String {
    let mut text = String::new();
    for (i, dtype) in reads.iter().enumerate() {
        let ty = storage_type(*dtype);
        text += &format!("@group(0) @binding({i}) var<storage, read> x{i}: array<{ty}>;\n");
    }
    let (output_at, params_at) = (reads.len(), reads.len() + 1);
    text += &format!("@group(0) @binding({output_at}) var<storage, read_write> output: {output};\n");
    text += &format!("@group(0) @binding({params_at}) var<storage, read> params: array<u32>;\n");
    text
}

/// Statements that set `i{axis}` for `axes` (ascending) from the C-order position `from`, which they consume.
fn unravel(from: &str, layout: &ParamLayout, axes: impl IntoIterator<Item = usize>) -> String {
    let axes: Vec<usize> = axes.into_iter().collect();
    let mut text = String::new();
    let mut rest = from.to_owned();
    for (nth, &axis) in axes.iter().enumerate().rev() {
        if nth == 0 {
            text += &format!("        let i{axis} = {rest};\n");
        } else {
            let extent = format!("params[{}]", layout.extents + axis);
            text += &format!("        let q{axis} = {rest} / {extent};\n");
            text += &format!("        let i{axis} = {rest} - q{axis} * {extent};\n");
            rest = format!("q{axis}");
        }
    }
    text
}

/// Replaces every `{{name}}` of a template.
pub(in crate::kernel) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = template.to_owned();
    for (name, value) in values {
        text = text.replace(&format!("{{{{{name}}}}}"), value);
    }
    text
}

/// Items of the storage buffer that a block has, all planes together.
fn elements(block: &Block) -> usize {
    block.shape().elements()
}
