//! A case on a device.

use crate::block::Block;
use crate::device::conformance::cases::{Case, Work};
use crate::device::conformance::{Class, Subject};
use crate::device::contract::{Device, DeviceError};
use crate::device::host::Host;
use crate::dtype::{DType, Scalar};
use crate::graph::chunking::Chunking;
use crate::graph::expr::{Expr, NodeOp};
use crate::graph::expr_ops::EdgeMode;
use crate::graph::op::{Reduce, Reduction};
use crate::graph::piece::{Piece, padded_pieces};
use crate::kernel::{Arguments, ArraySpec, Kernel, MapKernel, Operand, StateSpec, state_shape};
use crate::shape::{Region, Shape};

/// A block on the host, and where it lies in its array.
type Input = (u16, Block, Region);

/// The result of a case, as a block of the host.
pub(super) fn play(subject: &Subject<'_>, host: &Host, case: &Case) -> Result<Block, DeviceError> {
    let device = subject.device;
    match &case.work {
        Work::Map { map, inputs } => {
            let region = Region::whole(&map.shape);
            let inputs = operands(subject, host, map, inputs)?;
            let output = (map.expr.output_dtype(0), map.shape.clone());
            run(device, host, &Kernel::Map(map.clone()), &inputs, output, &region, Vec::new())
        }
        Work::Copy { dtype, inputs, output, pieces } => {
            let whole = |block: &Block| (0, block.clone(), Region::whole(block.shape()));
            let inputs: Vec<Input> = inputs.iter().map(whole).collect();
            let output = (*dtype, output.clone());
            let region = Region::whole(&output.1);
            run(device, host, &Kernel::Copy { dtype: *dtype }, &inputs, output, &region, pieces.clone())
        }
        Work::MatMul { dtype, inputs, output } => {
            let whole = |(input, block): (u16, &Block)| (input, block.clone(), Region::whole(block.shape()));
            let inputs: Vec<Input> = (0..).zip(inputs).map(whole).collect();
            let region = Region::whole(output);
            let (kernel, output) = (Kernel::MatMul { dtype: *dtype }, (*dtype, output.clone()));
            run(device, host, &kernel, &inputs, output, &region, Vec::new())
        }
        Work::Reduce { map, input, reduce } => fold(subject, host, map, input, reduce),
    }
}

/// What a map reads: whole blocks, and on devices whose stencils don't read their neighbours, padded ones.
fn operands(
    subject: &Subject<'_>,
    host: &Host,
    map: &MapKernel,
    inputs: &[Block],
) -> Result<Vec<Input>, DeviceError> {
    let operand = |(number, block): (u16, &Block)| {
        let region = Region::whole(block.shape());
        let axes = 0..block.shape().len();
        let halo: Vec<usize> = axes.map(|axis| map.expr.halo(number, axis)).collect();
        if matches!(subject.class, Class::Host) || halo.iter().all(|&halo| halo == 0) {
            return Ok((number, block.clone(), region));
        }
        Ok((number, padded(host, map, number, block, &halo)?, region))
    };
    (0..).zip(inputs).map(operand).collect()
}

fn padded(
    host: &Host,
    map: &MapKernel,
    number: u16,
    block: &Block,
    halo: &[usize],
) -> Result<Block, DeviceError> {
    let mode = map.expr.nodes().iter().find_map(|node| match &node.op {
        NodeOp::Stencil(input, stencil) if *input == number => Some(stencil.mode()),
        _ => None,
    });
    let modes = vec![mode.unwrap_or(EdgeMode::Nearest); halo.len()];
    let (dtype, region) = (block.dtype(), Region::whole(block.shape()));
    let chunks = Chunking::regular(block.shape(), block.shape());
    let (_, pieces) = padded_pieces(&chunks, &region, halo, &modes);
    let shape: Shape = block.shape().iter().zip(halo).map(|(extent, halo)| extent + 2 * halo).collect();
    let whole = Region::whole(&shape);
    run(host, host, &Kernel::Copy { dtype }, &[(0, block.clone(), region)], (dtype, shape), &whole, pieces)
}

/// Folds the halves of the first axis, where that is folded, combines the states, and makes the result.
fn fold(
    subject: &Subject<'_>,
    host: &Host,
    map: &MapKernel,
    input: &Block,
    reduce: &Reduce,
) -> Result<Block, DeviceError> {
    let (device, reduction) = (subject.device, reduce.reduction);
    let state = StateSpec::new(subject.state_class(), reduction, reduce.expr.output_dtype(0));
    let kernel = Kernel::Fold { map: map.clone(), reduction, axes: reduce.axes.clone(), state };
    let mut states: Vec<Input> = Vec::new();
    for part in parts(&map.shape, &reduce.axes) {
        let shape = state_shape(reduce, state, &part.shape);
        let read = [(0, input.part(&part), part.clone())];
        let made = run(device, host, &kernel, &read, (state.dtype, shape.clone()), &part, Vec::new())?;
        states.push((0, made, Region::whole(&shape)));
    }
    let shape = states[0].1.shape().clone();
    let whole = Region::whole(&shape);
    let combine = Kernel::Combine { reduction, state };
    let combined = run(device, host, &combine, &states, (state.dtype, shape), &whole, Vec::new())?;
    let output = reduction.result(reduce.expr.output_dtype(0));
    let finish = Kernel::Finish { reduction, state, output };
    let result = match reduction {
        Reduction::Count { bins } => [bins as usize].into(),
        _ => reduce.kept_shape(&map.shape),
    };
    run(device, host, &finish, &[(0, combined, whole.clone())], (output, result), &whole, Vec::new())
}

fn parts(shape: &Shape, axes: &[usize]) -> Vec<Region> {
    let whole = Region::whole(shape);
    if !axes.contains(&0) || shape[0] < 2 {
        return vec![whole];
    }
    let half = |origin: usize, extent: usize| {
        let mut part = whole.clone();
        (part.origin[0], part.shape[0]) = (origin, extent);
        part
    };
    let first = shape[0].div_ceil(2);
    vec![half(0, first), half(first, shape[0] - first)]
}

/// Compiles, uploads, launches and downloads. The output is filled with something else first.
pub(super) fn run(
    device: &dyn Device,
    host: &Host,
    kernel: &Kernel,
    inputs: &[Input],
    (dtype, shape): (DType, Shape),
    region: &Region,
    pieces: Vec<Piece>,
) -> Result<Block, DeviceError> {
    let program = device.compiler().compile(kernel)?;
    let (queue, memory) = (device.queue(), device.memory());
    let room = |memory: &dyn crate::device::contract::Memory, dtype: DType, shape: &Shape| {
        let buffer = memory.allocate(shape.elements() * dtype.size())?;
        Ok::<Block, DeviceError>(Block::contiguous(buffer, dtype, shape.clone()))
    };
    let mut operands = Vec::with_capacity(inputs.len());
    for (input, from, region) in inputs {
        let block = room(memory, from.dtype(), from.shape())?;
        queue.upload(from, &block)?;
        operands.push(Operand { input: *input, block, region: region.clone() });
    }
    let output = room(memory, dtype, &shape)?;
    let result = room(host.memory(), dtype, &shape)?;
    fill(host, &result)?;
    queue.upload(&result, &output)?;
    let arguments = Arguments { operands, output: output.clone(), region: region.clone(), pieces };
    queue.launch(&program, &arguments)?;
    queue.synchronize()?;
    queue.download(&output, &result)?;
    queue.synchronize()?;
    Ok(result)
}

/// Writes a value that no case expects to every element.
fn fill(host: &Host, block: &Block) -> Result<(), DeviceError> {
    let mut expr = Expr::default();
    let value = expr.push(NodeOp::Const(Scalar::Int(77)), block.dtype());
    expr.output(value);
    launch(host, MapKernel::new(&expr.into(), Vec::new(), block.shape().clone()), Vec::new(), block)
}

/// Converts a block of the host.
pub(super) fn cast(host: &Host, block: &Block, dtype: DType) -> Result<Block, DeviceError> {
    let mut expr = Expr::default();
    let input = expr.push(NodeOp::Input(0), block.dtype());
    let value = expr.push(NodeOp::Cast(input), dtype);
    expr.output(value);
    let (shape, region) = (block.shape().clone(), Region::whole(block.shape()));
    let spec = ArraySpec { dtype: block.dtype(), shape: shape.clone() };
    let buffer = host.memory().allocate(shape.elements() * dtype.size())?;
    let output = Block::contiguous(buffer, dtype, shape.clone());
    let operand = Operand { input: 0, block: block.clone(), region };
    launch(host, MapKernel::new(&expr.into(), vec![spec], shape), vec![operand], &output)?;
    Ok(output)
}

fn launch(host: &Host, map: MapKernel, operands: Vec<Operand>, output: &Block) -> Result<(), DeviceError> {
    let program = host.compiler().compile(&Kernel::Map(map))?;
    let (region, pieces) = (Region::whole(output.shape()), Vec::new());
    host.queue().launch(&program, &Arguments { operands, output: output.clone(), region, pieces })
}
