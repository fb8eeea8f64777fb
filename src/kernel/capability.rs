//! What a backend can't do, as data: the planner asks before anything runs.

use crate::dtype::DType;
use crate::graph::device_source::DeviceSource;
use crate::graph::expr::{Expr, NodeOp};
use crate::graph::expr_ops::{BinaryOp, UnaryOp};
use crate::graph::op::Reduction;
use crate::kernel::Kernel;
use crate::kernel::cuda::CUDA_INPUTS_MAX;
use crate::kernel::render::is_two;

/// Inputs that a kernel on wgpu may have: with output and parameters 16 storage buffers, which every device
/// that is opened has.
pub const WGPU_INPUTS_MAX: usize = 14;

/// The element types that every wgpu device computes with. `i64` needs `SHADER_INT64`, and `f64` both that
/// and `SHADER_F64`: its bits are looked at as a 64-bit integer.
pub const WGPU_DTYPES: [DType; 6] = [DType::Bool, DType::U8, DType::I16, DType::I32, DType::U32, DType::F32];

/// What keeps a CUDA device from compiling `kernel`, in words, or `None`.
pub fn cuda_kernel_lack(kernel: &Kernel) -> Option<String> {
    match kernel {
        Kernel::Map(map) | Kernel::Fold { map, .. } => inputs_lack(map.inputs.len(), CUDA_INPUTS_MAX),
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

/// What keeps a wgpu device that computes with `dtypes` from an expression: "exp of f64", "element type i64".
pub fn wgpu_lack(expr: &Expr, dtypes: &[DType]) -> Option<String> {
    expr.nodes().iter().find_map(|node| {
        type_lack(node.dtype, dtypes).or_else(|| match &node.op {
            NodeOp::Unary(op, a) => {
                let dtype = expr.node(*a).dtype;
                (dtype == DType::F64 && !unary_of_f64(*op)).then(|| lack(op.name(), dtype))
            }
            NodeOp::Binary(BinaryOp::Power, _, b) if is_two(expr, *b) => None,
            NodeOp::Binary(op, a, _) => {
                let dtype = expr.node(*a).dtype;
                (dtype == DType::F64 && !binary_of_f64(*op)).then(|| lack(op.name(), dtype))
            }
            NodeOp::Random { distribution, .. } => {
                (node.dtype != DType::F32).then(|| lack(distribution.name(), node.dtype))
            }
            _ => None,
        })
    })
}

/// What keeps a wgpu device that computes with `dtypes` from a reduction of values of type `value`.
///
/// States are pairs of `f32`: they have neither the range nor the 53 bits of `f64`, so `f64` values are
/// lacking save for the smallest and largest. Sums of integers are `i64`, means of integers `f64`.
pub fn wgpu_reduction_lack(reduction: Reduction, value: DType, dtypes: &[DType]) -> Option<String> {
    let paired = !matches!(reduction, Reduction::Min | Reduction::Max | Reduction::Count { .. });
    if paired && value == DType::F64 {
        return Some(lack(reduction.name(), value));
    }
    match reduction {
        Reduction::Count { .. } => type_lack(value, dtypes),
        _ => type_lack(value, dtypes).or_else(|| type_lack(reduction.result(value), dtypes)),
    }
}

fn lack(name: &str, dtype: DType) -> String {
    format!("{name} of {dtype}")
}

fn type_lack(dtype: DType, dtypes: &[DType]) -> Option<String> {
    (!dtypes.contains(&dtype)).then(|| format!("element type {dtype}"))
}

fn inputs_lack(inputs: usize, most: usize) -> Option<String> {
    (inputs > most).then(|| format!("more than {most} inputs in one kernel ({inputs})"))
}

/// WGSL's functions of `f64` compile and are silently as inaccurate as `f32`, or wrong: only what is exact
/// or correctly rounded is used.
fn unary_of_f64(op: UnaryOp) -> bool {
    use UnaryOp::*;
    matches!(op, Negative | Abs | Sign | Sqrt | Floor | Ceil | Round | Trunc | IsNan | IsInf | IsFinite)
}

fn binary_of_f64(op: BinaryOp) -> bool {
    use BinaryOp::*;
    op.is_comparison() || matches!(op, Add | Subtract | Multiply | Divide | Minimum | Maximum)
}
