//! The device under test, and how a kernel is run on it.

use std::sync::OnceLock;

use outcrop::block::Block;
use outcrop::device::contract::{Device, DeviceError};
use outcrop::device::wgpu::{Selector, WgpuDevice, open_adapter};
use outcrop::dtype::DType;
use outcrop::graph::expr::NodeOp;
use outcrop::graph::expr_ops::EdgeMode;
use outcrop::graph::piece::Piece;
use outcrop::kernel::{Arguments, Kernel, MapKernel, Operand};
use outcrop::shape::{Region, Shape};

use crate::oracle::{Array, Value, evaluate, values};

/// The software adapter, or `None` with a line that says why; a failure where `OUTCROP_REQUIRE` names wgpu.
pub fn device() -> Option<&'static WgpuDevice> {
    static DEVICE: OnceLock<Result<WgpuDevice, String>> = OnceLock::new();
    let opened = DEVICE.get_or_init(|| open(512 << 20));
    opened.as_ref().map_err(|why| println!("SKIPPED wgpu: no adapter ({why})")).ok()
}

/// A device of its own, with this much memory.
pub fn open(capacity_bytes: usize) -> Result<WgpuDevice, String> {
    let opened = open_adapter("gpu0", &Selector::Software, capacity_bytes).map_err(|error| error.to_string());
    let required = std::env::var("OUTCROP_REQUIRE").is_ok_and(|names| names.contains("wgpu"));
    assert!(opened.is_ok() || !required, "OUTCROP_REQUIRE names wgpu: {:?}", opened.err());
    opened
}

/// A block of the device with a host block's elements.
pub fn upload(device: &dyn Device, host: &Block) -> Result<Block, DeviceError> {
    let block = empty(device, host.dtype(), host.shape())?;
    device.queue().upload(host, &block)?;
    Ok(block)
}

pub fn empty(device: &dyn Device, dtype: DType, shape: &Shape) -> Result<Block, DeviceError> {
    let buffer = device.memory().allocate(shape.elements() * dtype.size())?;
    Ok(Block::contiguous(buffer, dtype, shape.clone()))
}

pub fn download(device: &dyn Device, block: &Block) -> Result<Block, DeviceError> {
    let zeros = Array::new(block.dtype(), block.shape().clone(), |_| Value::Int(0));
    let host = zeros.block();
    device.queue().download(block, &host)?;
    Ok(host)
}

/// Compiles and launches, and brings the result back.
pub fn run(
    device: &dyn Device,
    kernel: &Kernel,
    operands: &[(u16, Block)],
    output: (DType, Shape),
    region: &Region,
    pieces: Vec<Piece>,
) -> Result<Block, DeviceError> {
    let program = device.compiler().compile(kernel)?;
    let operands = operands
        .iter()
        .map(|(input, host)| {
            let block = upload(device, host)?;
            Ok(Operand { input: *input, region: Region::whole(host.shape()), block })
        })
        .collect::<Result<_, DeviceError>>()?;
    let output = empty(device, output.0, &output.1)?;
    let arguments = Arguments { operands, output: output.clone(), region: region.clone(), pieces };
    device.queue().launch(&program, &arguments)?;
    device.queue().synchronize()?;
    download(device, &output)
}

/// The block of input `i` that a launch on `region` reads: with its halo, or one element along axes that
/// stretch. Corners hold a value that no result may show.
pub fn input_block(map: &MapKernel, i: usize, array: &Array, region: &Region) -> Block {
    let lead = region.shape.len() - array.shape.len();
    let halo: Vec<usize> = (0..array.shape.len()).map(|axis| map.expr.halo(i as u16, axis)).collect();
    let mode = map
        .expr
        .nodes()
        .iter()
        .find_map(|node| match &node.op {
            NodeOp::Stencil(input, stencil) if usize::from(*input) == i => Some(stencil.mode()),
            _ => None,
        })
        .unwrap_or(EdgeMode::Nearest);
    let stretched = |axis: usize| array.shape[axis] == 1 && map.shape[lead + axis] != 1;
    let shape: Shape = (0..array.shape.len())
        .map(|axis| if stretched(axis) { 1 } else { region.shape[lead + axis] + 2 * halo[axis] })
        .collect();
    Array::new(array.dtype, shape.clone(), |e| {
        let local = shape.unravel(e);
        let mut outside = 0;
        let at: Vec<Option<usize>> = (0..shape.len())
            .map(|axis| {
                if stretched(axis) {
                    return Some(0);
                }
                let inner = local[axis] as isize - halo[axis] as isize;
                outside += usize::from(inner < 0 || inner >= region.shape[lead + axis] as isize);
                mode.resolve(region.origin[lead + axis] as isize + inner, array.shape[axis])
            })
            .collect();
        match (at.into_iter().collect::<Option<Vec<usize>>>(), mode) {
            _ if outside > 1 => Value::Float(1e30),
            (Some(at), _) => array.at(&at),
            (None, EdgeMode::Constant(value)) => Value::Float(value),
            (None, _) => unreachable!(),
        }
    })
    .block()
}

/// Runs a map on a region of its domain and compares every element with the oracle's.
pub fn check_map(device: &WgpuDevice, map: &MapKernel, inputs: &[Array], region: &Region, tolerance: f64) {
    let operands: Vec<_> =
        (0..inputs.len()).map(|i| (i as u16, input_block(map, i, &inputs[i], region))).collect();
    let dtype = map.expr.output_dtype(0);
    let kernel = Kernel::Map(map.clone());
    let output = run(device, &kernel, &operands, (dtype, region.shape.clone()), region, Vec::new());
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", map.expr));
    for (e, found) in values(&output).into_iter().enumerate() {
        let local = region.shape.unravel(e);
        let index: Vec<usize> = (0..local.len()).map(|a| region.origin[a] + local[a]).collect();
        let want = evaluate(map, inputs, &index, 0);
        let label = || {
            let read: Vec<_> = inputs.iter().map(|a| a.values.get(e)).collect();
            format!("{} ({dtype}) at {index:?} of {}, inputs {read:?}", map.expr, map.shape)
        };
        assert_close(found, want, tolerance, label);
    }
}

/// Equal, or within a relative tolerance for floats; below the least normal number anything small is right.
pub fn assert_close(found: Value, want: Value, tolerance: f64, label: impl Fn() -> String) {
    let right = match (found, want) {
        (Value::Float(a), Value::Float(b)) => {
            a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance * b.abs() + 1.2e-38
        }
        _ => found == want,
    };
    assert!(right, "{}: found {found:?}, want {want:?}", label());
}
