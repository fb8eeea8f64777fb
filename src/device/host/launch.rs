//! What every kernel needs of its arguments: where elements are.

use crate::block::Block;
use crate::kernel::{Arguments, ArraySpec};
use crate::shape::{Region, Strides};

/// A launch can't be done; says why.
pub(super) struct Failure(pub String);

/// The elements of a block as bytes on the host.
#[derive(Clone)]
pub(super) struct View {
    /// The first element.
    pub start: *const u8,
    /// Bytes to step along each axis of the domain.
    pub strides: Strides,
}

impl View {
    /// The part of an input's block that lies under the launch's region, stretched to the domain's axes.
    pub fn containing(arguments: &Arguments, input: u16, spec: &ArraySpec) -> Result<View, Failure> {
        let region = &arguments.region;
        let missing = region.shape.len() - spec.shape.len().min(region.shape.len());
        let mut operands = arguments.operands.iter().filter(|operand| operand.input == input);
        let covers = |own: &Region| {
            (0..own.shape.len()).all(|axis| {
                let at = axis + missing;
                let is_stretched = spec.shape[axis] == 1;
                is_stretched || own.origin[axis] <= region.origin[at] && region.end(at) <= own.end(axis)
            })
        };
        let found = operands.find(|o| o.region.shape.len() == spec.shape.len() && covers(&o.region));
        let operand = found.ok_or_else(|| Failure(format!("no block of input {input} holds {region}")))?;
        let block = &operand.block;
        if block.dtype() != spec.dtype {
            return Err(Failure(format!("input {input} is {}, not {}", block.dtype(), spec.dtype)));
        }
        let size = block.dtype().size() as isize;
        let (mut strides, mut offset) = (Strides::from_elem(0, region.shape.len()), 0);
        for axis in 0..spec.shape.len() {
            if spec.shape[axis] != 1 {
                let stride = block.layout.strides[axis] * size;
                strides[axis + missing] = stride;
                offset += (region.origin[axis + missing] - operand.region.origin[axis]) as isize * stride;
            }
        }
        Ok(View { start: pointer(block)?.wrapping_offset(offset), strides })
    }
}

/// Address of a block's first element.
pub(super) fn pointer(block: &Block) -> Result<*mut u8, Failure> {
    block.host_pointer().ok_or_else(|| Failure("a block isn't in the host's memory".to_owned()))
}

/// Strides of a block in bytes.
pub(super) fn byte_strides(block: &Block) -> Strides {
    let size = block.dtype().size() as isize;
    block.layout.strides.iter().map(|stride| stride * size).collect()
}
