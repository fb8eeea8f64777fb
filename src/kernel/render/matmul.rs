//! Products of matrices: tiles shared by a workgroup, or, where the processor plays the GPU and barriers are dear, parts
//! that each invocation makes by itself.

use super::arguments::LaunchError;
use super::element::value_type;
use super::{Launch, Pass, Shader, Slot, WORKGROUP, bindings, fill};
use crate::dtype::DType;
use crate::kernel::{Arguments, MATMUL_PANEL, MatMulShape};

/// Elements along each side of an invocation's part.
const EACH: usize = 4;

/// Elements along each side of a workgroup's tile: 16 by 16 invocations.
const TILE: usize = 16 * EACH;

/// Elements of a shared part of a matrix.
const SHARED: usize = 16 * TILE;

/// The shader. Input 2 is bound always; a launch without one binds another and says so among the parameters.
pub(super) fn shader(dtype: DType, is_software: bool) -> Shader {
    let ty = value_type(dtype);
    let zero = format!("{ty}(0)");
    let fused = |left: &str, right: &str| match dtype {
        DType::F32 => format!("fma({left}, {right}, panel[i][j])"),
        _ => format!("{left} * {right} + panel[i][j]"),
    };
    let text = match is_software {
        true => include_str!("../../../kernels/wgsl/matmul_plain.wgsl"),
        false => include_str!("../../../kernels/wgsl/matmul_tiled.wgsl"),
    };
    let source = fill(
        text,
        &[
            ("bindings", &bindings(&[dtype; 3], &format!("array<{ty}>"))),
            ("type", ty),
            ("zero", &zero),
            ("begin", &format!("select({zero}, x2[place], params[5] != 0u)")),
            ("fused", &fused("left[i]", "right[j]")),
            ("fused_tiled", &fused("left[i]", "right_row[j]")),
            ("each", &EACH.to_string()),
            ("tile", &TILE.to_string()),
            ("shared", &SHARED.to_string()),
            ("panel", &MATMUL_PANEL.to_string()),
            ("workgroup", &WORKGROUP.to_string()),
        ],
    );
    Shader { source, reads: 3 }
}

pub(super) fn launch(dtype: DType, is_software: bool, arguments: &Arguments) -> Result<Launch, LaunchError> {
    let MatMulShape { m, k, n } = MatMulShape::of(arguments, dtype).map_err(LaunchError::Matrices)?;
    if m * n == 0 {
        return Ok(Launch::default());
    }
    let find = |input: u16| arguments.operands.iter().position(|operand| operand.input == input);
    let slot = |input: u16| find(input).map(Slot::Operand);
    let (Some(a), Some(b)) = (slot(0), slot(1)) else {
        return Err(LaunchError::Matrices("a matrix is missing".to_owned()));
    };
    let invocations = match is_software {
        true => m.div_ceil(EACH) * n.div_ceil(EACH),
        false => m.div_ceil(TILE) * n.div_ceil(TILE) * WORKGROUP as usize,
    };
    let has_third = u32::from(find(2).is_some());
    let params = vec![0, invocations as u32, m as u32, k as u32, n as u32, has_third];
    let pass =
        Pass { shader: 0, reads: vec![a, b, slot(2).unwrap_or(b)], write: Slot::Output, params, invocations };
    Ok(Launch { passes: vec![pass], ..Launch::default() })
}
