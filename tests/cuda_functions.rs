//! The functions of floats on the emulated CUDA driver, bit by bit against the host: powers of two and their neighbours,
//! special values, thresholds, large angles, and random bits. Everything else is the conformance suite's.

#![cfg(all(feature = "cuda", unix))]

mod emulated;

use std::f64::consts::{FRAC_PI_4, LN_2, SQRT_2};

use outcrop::block::Block;
use outcrop::device::contract::Device;
use outcrop::device::cuda::{CudaDevice, Selector};
use outcrop::device::host::Host;
use outcrop::device::kernel_cache::KernelCache;
use outcrop::dtype::{DType, Element};
use outcrop::graph::expr::{Expr, NodeOp};
use outcrop::graph::expr_ops::{BinaryOp, UnaryOp};
use outcrop::kernel::{Arguments, ArraySpec, Kernel, MapKernel, Operand};
use outcrop::shape::{Region, Shape};

/// Random words, by Vigna's splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Where functions change what they do, and where they overflow.
const THRESHOLDS: [f64; 32] = [
    0.5 * LN_2,
    0.4375,
    0.5,
    0.6744,
    0.6875,
    LN_2,
    FRAC_PI_4,
    1.0,
    1.5 * LN_2,
    SQRT_2,
    9.01,
    10.0,
    19.1,
    20.0,
    22.0,
    27.0 * LN_2,
    56.0 * LN_2,
    88.72283,
    89.41599,
    103.97208,
    104.0,
    126.0,
    128.0,
    149.0,
    262_144.0,
    421_657_440.0,
    709.782712893384,
    710.4758600739439,
    745.1332191019412,
    1022.0,
    1075.0,
    1_073_741_824.0,
];

fn interesting() -> Vec<f64> {
    let mut values = vec![0.0, f64::INFINITY, f64::NAN, f64::MAX, f64::MIN_POSITIVE, 5e-324];
    values.extend((-1074..1024).step_by(3).map(|power| 2f64.powi(power)));
    values.extend((-149..128).map(|power| 2f64.powi(power)));
    values.extend(THRESHOLDS);
    values.extend((1..40).map(|k| f64::from(k) * FRAC_PI_4));
    values
}

/// Between 2⁻¹⁰ and 2⁶, every magnitude as likely.
fn moderate(random: &mut Random) -> f64 {
    let mantissa = 1.0 + (random.next() >> 12) as f64 / (1u64 << 52) as f64;
    mantissa * 2f64.powi((random.next() % 16) as i32 - 10)
}

fn singles(random: &mut Random) -> Vec<f32> {
    let near = |x: f64| {
        let x = x as f32;
        [x, f32::from_bits(x.to_bits().wrapping_add(1)), f32::from_bits(x.to_bits().saturating_sub(1))]
    };
    let mut values: Vec<f32> = interesting().into_iter().flat_map(near).collect();
    values.extend((0..1500).map(|_| f32::from_bits(random.next() as u32)));
    values.extend((0..8000).map(|_| moderate(random) as f32));
    values.into_iter().flat_map(|x| [x, -x]).collect()
}

fn doubles(random: &mut Random) -> Vec<f64> {
    let near = |x: f64| {
        [x, f64::from_bits(x.to_bits().wrapping_add(1)), f64::from_bits(x.to_bits().saturating_sub(1))]
    };
    let mut values: Vec<f64> = interesting().into_iter().flat_map(near).collect();
    values.extend((0..1500).map(|_| f64::from_bits(random.next())));
    values.extend((0..8000).map(|_| moderate(random)));
    values.into_iter().flat_map(|x| [x, -x]).collect()
}

/// `op` of the inputs on a device, as an array of the host.
fn computed(device: &dyn Device, host: &Host, op: NodeOp, inputs: &[Block]) -> Block {
    let (dtype, shape) = (inputs[0].dtype(), inputs[0].shape().clone());
    let mut expr = Expr::default();
    for input in 0..inputs.len() {
        expr.push(NodeOp::Input(input as u16), dtype);
    }
    let value = expr.push(op, dtype);
    expr.output(value);
    let spec = ArraySpec { dtype, shape: shape.clone() };
    let map = MapKernel::new(&expr.into(), vec![spec; inputs.len()], shape.clone());
    let program = device.compiler().compile(&Kernel::Map(map)).unwrap();
    let room = |memory: &dyn outcrop::device::contract::Memory| {
        Block::contiguous(memory.allocate(shape.elements() * dtype.size()).unwrap(), dtype, shape.clone())
    };
    let region = Region::whole(&shape);
    let operand = |(input, from): (usize, &Block)| {
        let block = room(device.memory());
        device.queue().upload(from, &block).unwrap();
        Operand { input: input as u16, block, region: region.clone() }
    };
    let operands = inputs.iter().enumerate().map(operand).collect();
    let (output, result) = (room(device.memory()), room(host.memory()));
    let arguments =
        Arguments { operands, output: output.clone(), region: region.clone(), pieces: Vec::new() };
    device.queue().launch(&program, &arguments).unwrap();
    device.queue().download(&output, &result).unwrap();
    device.queue().synchronize().unwrap();
    result
}

fn check<T: Element + Copy + std::fmt::Debug + Into<f64>>(device: &dyn Device, values: &[T], others: &[T]) {
    let host = Host::new(None);
    let block = |values: &[T]| Block::from_slice([values.len()], values).unwrap();
    let dtype = T::DTYPE;
    let held = |name: &str, op: NodeOp, inputs: &[&[T]]| {
        let blocks: Vec<Block> = inputs.iter().map(|values| block(values)).collect();
        let wanted = computed(&host, &host, op.clone(), &blocks).to_vec::<T>().unwrap();
        let found = computed(device, &host, op, &blocks).to_vec::<T>().unwrap();
        for (i, (&found, &wanted)) in found.iter().zip(&wanted).enumerate() {
            let (a, b): (f64, f64) = (found.into(), wanted.into());
            let arguments: Vec<T> = inputs.iter().map(|values| values[i]).collect();
            assert!(
                a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
                "{name} of {arguments:?} ({dtype}) is {found:?}, and the host's is {wanted:?}"
            );
        }
    };
    let id = outcrop::graph::expr::NodeId;
    for op in UnaryOp::ALL {
        if op.operand(dtype) == Some(dtype) && op.result(dtype) == dtype {
            held(op.name(), NodeOp::Unary(op, id(0)), &[values]);
        }
    }
    for op in BinaryOp::ALL {
        if op.operand(dtype) == Some(dtype) && op.result(dtype) == dtype {
            held(op.name(), NodeOp::Binary(op, id(0), id(1)), &[values, others]);
        }
    }
}

fn shuffled<T: Copy>(values: &[T], random: &mut Random) -> Vec<T> {
    (0..values.len()).map(|_| values[random.next() as usize % values.len()]).collect()
}

fn device() -> Option<CudaDevice> {
    let cache = KernelCache::at(std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels"));
    emulated::load().then(|| CudaDevice::open("gpu0", &Selector::Ordinal(0), 64 << 20, cache).unwrap())
}

#[test]
fn functions_of_single_precision() {
    let Some(device) = device() else { return };
    let mut random = Random(1);
    let values = singles(&mut random);
    check(&device, &values, &shuffled(&values, &mut random));
}

#[test]
fn functions_of_double_precision() {
    let Some(device) = device() else { return };
    let mut random = Random(2);
    let values = doubles(&mut random);
    check(&device, &values, &shuffled(&values, &mut random));
}

/// Powers of integral and half-integral exponents, and of bases near 1.
#[test]
fn powers() {
    let Some(device) = device() else { return };
    let mut random = Random(3);
    let bases = (0..4000).map(|_| (random.next() % 64) as f64 * 0.25 - 8.0).collect::<Vec<f64>>();
    let exponents = (0..4000).map(|_| (random.next() % 64) as f64 * 0.5 - 16.0).collect::<Vec<f64>>();
    check(&device, &bases, &exponents);
    let narrow = |values: &[f64]| values.iter().map(|&x| x as f32).collect::<Vec<f32>>();
    check(&device, &narrow(&bases), &narrow(&exponents));
}

#[test]
fn shapes_are_those_of_the_inputs() {
    let Some(device) = device() else { return };
    let host = Host::new(None);
    let x = Block::from_slice([2, 3], &[1f32, 4.0, 9.0, 16.0, 25.0, 36.0]).unwrap();
    let roots = computed(&device, &host, NodeOp::Unary(UnaryOp::Sqrt, outcrop::graph::expr::NodeId(0)), &[x]);
    assert_eq!((roots.shape(), roots.dtype()), (&Shape::from([2, 3]), DType::F32));
    assert_eq!(roots.to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
}
