//! The functions of floats on devices against the host's: powers of two and their neighbours, special values, thresholds,
//! large angles, and random bits. On the emulated CUDA driver they are the same bit by bit, with wgpu they are off by so
//! many units in the last place at most. Everything else is the conformance suite's.

#[cfg(all(feature = "cuda", unix))]
mod emulated;

use std::f64::consts::{FRAC_PI_4, LN_2, SQRT_2};

use outcrop::block::Block;
use outcrop::device::conformance::tolerance;
use outcrop::device::contract::Device;
use outcrop::device::host::Host;
use outcrop::dtype::{DType, Element};
use outcrop::graph::expr::{Expr, NodeId, NodeOp};
use outcrop::graph::expr_ops::{BinaryOp, UnaryOp};
use outcrop::kernel::{Arguments, ArraySpec, Kernel, MapKernel, Operand};
use outcrop::shape::Region;

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

/// A float as an integer that counts representable numbers from zero on.
trait Counted: Element + Copy + std::fmt::Debug {
    fn place(self) -> i128;
    fn is_nan(self) -> bool;
}

impl Counted for f32 {
    fn place(self) -> i128 {
        let size = i128::from(self.to_bits() & 0x7fff_ffff);
        if self.is_sign_negative() { -size } else { size }
    }
    fn is_nan(self) -> bool {
        self.is_nan()
    }
}

impl Counted for f64 {
    fn place(self) -> i128 {
        let size = i128::from(self.to_bits() & i64::MAX as u64);
        if self.is_sign_negative() { -size } else { size }
    }
    fn is_nan(self) -> bool {
        self.is_nan()
    }
}

/// Holds every function of `T` on a device to the host's: at most so many numbers apart, and none where functions are exact
/// or correctly rounded.
fn check<T: Counted>(device: &dyn Device, apart: u128, values: &[T], others: &[T]) {
    let host = Host::new(None);
    let block = |values: &[T]| Block::from_slice([values.len()], values).unwrap();
    let dtype = T::DTYPE;
    let held = |name: &str, op: NodeOp, inputs: &[&[T]]| {
        let blocks: Vec<Block> = inputs.iter().map(|values| block(values)).collect();
        let wanted = computed(&host, &host, op.clone(), &blocks).to_vec::<T>().unwrap();
        let found = computed(device, &host, op, &blocks).to_vec::<T>().unwrap();
        let allowed = if tolerance(name, dtype) == 0.0 { 0 } else { apart };
        for (i, (&found, &wanted)) in found.iter().zip(&wanted).enumerate() {
            let arguments: Vec<T> = inputs.iter().map(|values| values[i]).collect();
            assert!(
                found.place().abs_diff(wanted.place()) <= allowed || (found.is_nan() && wanted.is_nan()),
                "{name} of {arguments:?} ({dtype}) is {found:?}, and the host's is {wanted:?}"
            );
        }
    };
    for op in UnaryOp::ALL {
        if op.operand(dtype) == Some(dtype) && op.result(dtype) == dtype {
            held(op.name(), NodeOp::Unary(op, NodeId(0)), &[values]);
        }
    }
    for op in BinaryOp::ALL {
        if op.operand(dtype) == Some(dtype) && op.result(dtype) == dtype {
            held(op.name(), NodeOp::Binary(op, NodeId(0), NodeId(1)), &[values, others]);
        }
    }
}

fn shuffled<T: Copy>(values: &[T], random: &mut Random) -> Vec<T> {
    (0..values.len()).map(|_| values[random.next() as usize % values.len()]).collect()
}

fn check_singles(device: &dyn Device, apart: u128) {
    let mut random = Random(1);
    let values = singles(&mut random);
    check(device, apart, &values, &shuffled(&values, &mut random));
}

fn check_doubles(device: &dyn Device, apart: u128) {
    let mut random = Random(2);
    let values = doubles(&mut random);
    check(device, apart, &values, &shuffled(&values, &mut random));
}

/// Powers of integral and half-integral exponents, and of bases near 1.
fn check_powers(device: &dyn Device, apart_singles: u128, apart_doubles: Option<u128>) {
    let mut random = Random(3);
    let mut some = |count: u64, step: f64, least: f64| {
        (0..4000).map(|_| (random.next() % count) as f64 * step + least).collect::<Vec<f64>>()
    };
    let (bases, exponents) = (some(64, 0.25, -8.0), some(64, 0.5, -16.0));
    if let Some(apart) = apart_doubles {
        check(device, apart, &bases, &exponents);
    }
    let narrow = |values: &[f64]| values.iter().map(|&x| x as f32).collect::<Vec<f32>>();
    check(device, apart_singles, &narrow(&bases), &narrow(&exponents));
}

#[cfg(all(feature = "cuda", unix))]
mod cuda {
    use super::*;
    use outcrop::device::cuda::{CudaDevice, Selector};
    use outcrop::device::kernel_cache::KernelCache;

    fn device() -> Option<CudaDevice> {
        let cache = KernelCache::at(std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels"));
        emulated::load().then(|| CudaDevice::open("gpu0", &Selector::Ordinal(0), 64 << 20, cache).unwrap())
    }

    #[test]
    fn functions_of_single_precision() {
        let Some(device) = device() else { return };
        check_singles(&device, 0);
    }

    #[test]
    fn functions_of_double_precision() {
        let Some(device) = device() else { return };
        check_doubles(&device, 0);
    }

    #[test]
    fn powers() {
        let Some(device) = device() else { return };
        check_powers(&device, 0, Some(0));
    }
}

/// On an adapter that a processor plays. The differences are those measured; the host's own are up to 2.5.
#[cfg(feature = "wgpu")]
mod wgpu {
    use super::*;
    use outcrop::device::wgpu::{Selector, WgpuDevice, open_adapter};

    fn device() -> Option<WgpuDevice> {
        match open_adapter("gpu0", &Selector::Software, 64 << 20) {
            Ok(device) => Some(device),
            Err(error) => {
                let required = std::env::var("OUTCROP_REQUIRE").is_ok_and(|names| names.contains("wgpu"));
                assert!(!required, "OUTCROP_REQUIRE names wgpu: {error}");
                println!("SKIPPED wgpu: no adapter ({error})");
                None
            }
        }
    }

    #[test]
    fn functions_of_single_precision() {
        let Some(device) = device() else { return };
        check_singles(&device, 3);
    }

    #[test]
    fn functions_of_double_precision() {
        let Some(device) = device() else { return };
        if device.dtypes().contains(&DType::F64) {
            check_doubles(&device, 2);
        } else {
            println!("SKIPPED: {} has no f64", device.adapter_name());
        }
    }

    #[test]
    fn powers() {
        let Some(device) = device() else { return };
        check_powers(&device, 3, device.dtypes().contains(&DType::F64).then_some(2));
    }
}
