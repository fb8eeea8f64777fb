//! What a launch passes to a map or fold: the order of the parameters, and checks of the operands.

use crate::block::Block;
use crate::kernel::{Arguments, MapKernel};
use crate::shape::{Region, Shape};

/// Positions of a kernel's parameters. The first four are 0, the items, and two of the kernel's own.
pub(super) struct ParamLayout {
    /// Extents of the region computed, one for each axis.
    pub(super) extents: usize,
    /// Its origin in the whole domain.
    pub(super) origin: usize,
    /// For each input: the position of its first element, then a stride for each axis of the domain.
    pub(super) inputs: Vec<usize>,
}

impl ParamLayout {
    pub(super) fn new(map: &MapKernel) -> Self {
        let rank = map.shape.len();
        let extents = 4;
        let origin = extents + rank;
        let first = origin + rank;
        let inputs = (0..map.inputs.len()).map(|i| first + i * (1 + rank)).collect();
        ParamLayout { extents, origin, inputs }
    }
}

/// A launch's arguments don't fit its kernel, or the device's kernels don't reach so far.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// Kernels on this device work on whole buffers.
    #[error("the block {0} isn't contiguous from its buffer's start")]
    Strided(Shape),
    /// An input has no block, or the neighbours' blocks besides its own: they must be one padded block.
    #[error("input {input} has {blocks} blocks; one is needed, padded where a stencil reads it")]
    Blocks {
        /// The input.
        input: usize,
        /// How many it has.
        blocks: usize,
    },
    /// A block's shape isn't what the region needs.
    #[error("input {input} has a block of shape {found}, but region and halo need {needed}")]
    BlockShape {
        /// The input.
        input: usize,
        /// The block's.
        found: Shape,
        /// The right one.
        needed: Shape,
    },
    /// Kernels index elements with 32 bits.
    #[error("{elements} elements in a block, or an array of shape {shape}, are more than 2^31 - 1")]
    TooLarge {
        /// In the block.
        elements: usize,
        /// Of the whole array.
        shape: Shape,
    },
    /// Somebody's kernel reads another number of blocks than its rule.
    #[error("the kernel reads {needed} blocks, and the rule of its operation {found}")]
    Operands {
        /// What the rule reads.
        found: usize,
        /// What the kernel says.
        needed: usize,
    },
    /// Matrices that have no product.
    #[error("{0}")]
    Matrices(String),
    /// A launch has so many blocks of threads at most.
    #[error("{blocks} blocks of threads in one launch; at most {most} can be")]
    Grid {
        /// How many it would take.
        blocks: usize,
        /// How many may be.
        most: usize,
    },
    /// A combining step joins at most so many states.
    #[error("{found} states to combine; at least one and at most {most} can be")]
    States {
        /// How many came.
        found: usize,
        /// How many may.
        most: usize,
    },
}

/// The largest number of elements or extent that kernels can index.
const ELEMENTS_MAX: usize = i32::MAX as usize;

pub(super) fn check_contiguous(arguments: &Arguments) -> Result<(), LaunchError> {
    let blocks = arguments.operands.iter().map(|operand| &operand.block).chain([&arguments.output]);
    for block in blocks {
        if block.layout.offset != 0 || !block.layout.is_contiguous() {
            return Err(LaunchError::Strided(block.shape().clone()));
        }
        check_size(block)?;
    }
    Ok(())
}

pub(super) fn check_size(block: &Block) -> Result<(), LaunchError> {
    let elements = block.shape().elements();
    if elements > ELEMENTS_MAX {
        return Err(LaunchError::TooLarge { elements, shape: block.shape().clone() });
    }
    Ok(())
}

/// The operand of each input.
pub(in crate::kernel) fn operands_by_input(
    map: &MapKernel,
    arguments: &Arguments,
) -> Result<Vec<usize>, LaunchError> {
    (0..map.inputs.len())
        .map(|input| {
            let mut own = (0..arguments.operands.len())
                .filter(|&at| usize::from(arguments.operands[at].input) == input);
            match (own.next(), own.count()) {
                (Some(at), 0) => Ok(at),
                (first, others) => {
                    Err(LaunchError::Blocks { input, blocks: usize::from(first.is_some()) + others })
                }
            }
        })
        .collect()
}

/// Where an input is found in its block, which is contiguous and padded by the halo.
pub(in crate::kernel) struct InputPlace {
    /// The position of the element at the region's origin.
    pub(in crate::kernel) first: usize,
    /// A step for each axis of the domain.
    pub(in crate::kernel) steps: Shape,
}

/// The place of an input whose block must be what the region needs.
pub(in crate::kernel) fn input_place(
    map: &MapKernel,
    region: &Region,
    input: usize,
    block: &Block,
) -> Result<InputPlace, LaunchError> {
    let spec = &map.inputs[input].shape;
    let lead = map.shape.len() - spec.len();
    let halo: Shape = (0..spec.len()).map(|axis| map.expr.halo(input as u16, axis)).collect();
    let extent = |axis: usize| {
        let stretches = spec[axis] == 1 && map.shape[lead + axis] != 1;
        (if stretches { 1 } else { region.shape[lead + axis] }) + 2 * halo[axis]
    };
    let needed: Shape = (0..spec.len()).map(extent).collect();
    if *block.shape() != needed {
        return Err(LaunchError::BlockShape { input, found: block.shape().clone(), needed });
    }
    let strides = needed.strides();
    let first = halo.iter().zip(&strides).map(|(&halo, &stride)| halo * stride as usize).sum();
    let steps = std::iter::repeat_n(0, lead).chain(strides.iter().map(|&stride| stride as usize)).collect();
    Ok(InputPlace { first, steps })
}

/// Appends the extents, the origin and every input's place; `reads` are the inputs' operands.
pub(super) fn map_params(
    map: &MapKernel,
    arguments: &Arguments,
    reads: &[usize],
    params: &mut Vec<u32>,
) -> Result<(), LaunchError> {
    let region = &arguments.region;
    if map.shape.iter().any(|&extent| extent > ELEMENTS_MAX) || region.shape.elements() > ELEMENTS_MAX {
        let (elements, shape) = (region.shape.elements(), map.shape.clone());
        return Err(LaunchError::TooLarge { elements, shape });
    }
    params.extend(region.shape.iter().map(|&extent| extent as u32));
    params.extend(region.origin.iter().map(|&at| at as u32));
    for (input, &at) in reads.iter().enumerate() {
        let place = input_place(map, region, input, &arguments.operands[at].block)?;
        params.push(place.first as u32);
        params.extend(place.steps.iter().map(|&step| step as u32));
    }
    Ok(())
}
