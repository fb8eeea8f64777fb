//! What a backend can't do, as data: the planner asks before anything runs.

use crate::dtype::DType;
use crate::graph::device_source::DeviceSource;
use crate::graph::expr::{Expr, NodeOp};
use crate::graph::op::Reduction;
use crate::kernel::Kernel;
use crate::kernel::cuda::CUDA_INPUTS_MAX;

/// Inputs that a kernel on wgpu may have: with output and parameters 16 storage buffers, which every device
/// that is opened has.
pub const WGPU_INPUTS_MAX: usize = 14;

/// The element types that every wgpu device computes with. `f16` is converted by its bits: no feature is needed. `i64` needs `SHADER_INT64`, and `f64` both that
/// and `SHADER_F64`: its bits are looked at as a 64-bit integer.
pub const WGPU_DTYPES: [DType; 7] =
    [DType::Bool, DType::U8, DType::I16, DType::I32, DType::U32, DType::F16, DType::F32];

/// What keeps a CUDA device from compiling `kernel`, in words, or `None`.
pub fn cuda_kernel_lack(kernel: &Kernel) -> Option<String> {
    match kernel {
        Kernel::Map(map) | Kernel::Fold { map, .. } => {
            inputs_lack(map.inputs.len(), CUDA_INPUTS_MAX).or_else(|| stencil_lack(&map.expr))
        }
        Kernel::Source(source) => cuda_source_lack(source),
        Kernel::Combine { .. } | Kernel::Finish { .. } | Kernel::MatMul { .. } | Kernel::Copy { .. } => None,
    }
}

/// What keeps a CUDA device from running somebody's kernel.
pub fn cuda_source_lack(source: &DeviceSource) -> Option<String> {
    let lack = source.cuda.is_none().then(|| format!("a text of '{}' in CUDA C++", source.name));
    lack.or_else(|| inputs_lack(source.operands, CUDA_INPUTS_MAX))
}

/// What keeps a wgpu device from running somebody's kernel.
pub fn wgpu_source_lack(source: &DeviceSource) -> Option<String> {
    let lack = source.wgsl.is_none().then(|| format!("a text of '{}' in WGSL", source.name));
    lack.or_else(|| inputs_lack(source.operands, WGPU_INPUTS_MAX))
}

/// What keeps a wgpu device that computes with `dtypes` from compiling `kernel`, in words, or `None`.
pub fn wgpu_kernel_lack(kernel: &Kernel, dtypes: &[DType]) -> Option<String> {
    match kernel {
        Kernel::Map(map) => {
            wgpu_lack(&map.expr, dtypes).or_else(|| inputs_lack(map.inputs.len(), WGPU_INPUTS_MAX))
        }
        Kernel::Fold { map, reduction, .. } => wgpu_lack(&map.expr, dtypes)
            .or_else(|| inputs_lack(map.inputs.len(), WGPU_INPUTS_MAX))
            .or_else(|| wgpu_reduction_lack(*reduction, map.expr.output_dtype(0), dtypes)),
        Kernel::Combine { state, .. } => type_lack(state.dtype, dtypes),
        Kernel::MatMul { dtype } => type_lack(*dtype, dtypes),
        Kernel::Source(source) => wgpu_source_lack(source),
        Kernel::Finish { reduction: Reduction::Count { .. }, .. } | Kernel::Copy { .. } => None,
        Kernel::Finish { output, .. } => type_lack(*output, dtypes),
    }
}

/// What keeps a wgpu device that computes with `dtypes` from an expression: "element type i64".
pub fn wgpu_lack(expr: &Expr, dtypes: &[DType]) -> Option<String> {
    let types = expr.nodes().iter().find_map(|node| {
        type_lack(node.dtype, dtypes).or_else(|| match &node.op {
            NodeOp::Random { distribution, .. } if !node.dtype.is_float() => {
                Some(format!("{} of {}", distribution.name(), node.dtype))
            }
            _ => None,
        })
    });
    types.or_else(|| stencil_lack(expr))
}

/// Neighbourhoods are of `f32` and `f64`, on every device.
fn stencil_lack(expr: &Expr) -> Option<String> {
    expr.nodes().iter().find_map(|node| match &node.op {
        NodeOp::Stencil(_, stencil) if !matches!(node.dtype, DType::F32 | DType::F64) => {
            Some(format!("{} of {}", stencil.name(), node.dtype))
        }
        _ => None,
    })
}

/// What keeps a wgpu device that computes with `dtypes` from a reduction of values of type `value`. Sums of integers
/// are `i64`, means of integers `f64`.
pub fn wgpu_reduction_lack(reduction: Reduction, value: DType, dtypes: &[DType]) -> Option<String> {
    match reduction {
        Reduction::Count { .. } => type_lack(value, dtypes),
        _ => type_lack(value, dtypes).or_else(|| type_lack(reduction.result(value), dtypes)),
    }
}

fn type_lack(dtype: DType, dtypes: &[DType]) -> Option<String> {
    (!dtypes.contains(&dtype)).then(|| format!("element type {dtype}"))
}

fn inputs_lack(inputs: usize, most: usize) -> Option<String> {
    (inputs > most).then(|| format!("more than {most} inputs in one kernel ({inputs})"))
}
