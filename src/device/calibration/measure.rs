//! Measuring a device.

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::device::contract::{Device, DeviceError, Memory, Program};
use crate::device::host::Host;
use crate::dtype::{DType, Scalar};
use crate::graph::expr::{Expr, NodeOp};
use crate::graph::expr_ops::BinaryOp;
use crate::kernel::{Arguments, ArraySpec, Kernel, MapKernel, Operand};
use crate::machine::{DeviceInfo, DeviceKind, Rates, defaults};
use crate::shape::{Region, Shape};

/// What a device reaches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// By fused kernels: a long one, and one that reads and writes large blocks. On a device without `f64` that rate is
    /// the usual share of the other.
    pub rates: Rates,
    /// Between the host's memory and its own; `None` for the host.
    pub copies: Option<Copies>,
}

/// How fast blocks come and go.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Copies {
    /// Bytes a second to the device, of a large copy.
    pub to_bytes_per_s: f64,
    /// Bytes a second from it.
    pub from_bytes_per_s: f64,
    /// Seconds that a copy of one element takes.
    pub latency_s: f64,
}

/// Multiplications and additions of the long kernel, for each element.
const STEPS: usize = 128;

/// Measures a device, the host with so many threads at once; each figure is the best of several. Takes one or two seconds,
/// and memory of at most 256 MiB on a device, on the host 8 MiB a thread more.
///
/// # Errors
/// A kernel or a copy fails.
pub fn measure(device: &dyn Device, info: &DeviceInfo, threads: usize) -> Result<Measured, DeviceError> {
    let is_host = info.kind == DeviceKind::Host;
    let threads = if is_host { threads.max(1) } else { 1 };
    let sizes = Sizes::of(info, threads);
    let flops = |dtype| {
        let work = || Work::new(device, &long(dtype), dtype, sizes.long);
        Ok::<f64, DeviceError>((2 * STEPS * sizes.long * threads) as f64 / seconds(threads, work)?)
    };
    let usual = defaults::rates(info.kind, 1);
    let flops_f32 = flops(DType::F32)?;
    let flops_f64 = match info.dtypes.contains(&DType::F64) {
        true => flops(DType::F64)?,
        false => flops_f32 * usual.flops_f64 / usual.flops_f32,
    };
    let large = || Work::new(device, &short(), DType::F32, sizes.large);
    let bytes = 2 * sizes.large * size_of::<f32>() * threads;
    let rates = Rates {
        flops_f32,
        flops_f64,
        memory_bytes_per_s: bytes as f64 / seconds(threads, large)?,
        launch_s: Work::new(device, &short(), DType::F32, 1)?.best(1)?,
    };
    let copies = if is_host { None } else { Some(copies(device, sizes.large)?) };
    Ok(Measured { rates, copies })
}

/// Elements of the blocks.
struct Sizes {
    /// Of the long kernel: the host's stay in its caches.
    long: usize,
    /// Larger than any cache, all threads together.
    large: usize,
}

impl Sizes {
    fn of(info: &DeviceInfo, threads: usize) -> Sizes {
        let bound =
            info.limits.binding_bytes_max.map_or(usize::MAX, |bytes| bytes as usize / size_of::<f64>());
        let (long, large) = match info.kind {
            DeviceKind::Host => (1 << 13, ((1 << 24) / threads).max(1 << 20)),
            DeviceKind::SoftwareGpu => (1 << 16, 1 << 22),
            DeviceKind::Gpu | DeviceKind::IntegratedGpu => (1 << 22, 1 << 25),
        };
        Sizes { long: long.min(bound), large: large.min(bound) }
    }
}

/// A kernel over one block, ready to be launched.
struct Work<'a> {
    device: &'a dyn Device,
    program: Program,
    arguments: Arguments,
}

impl<'a> Work<'a> {
    fn new(
        device: &'a dyn Device,
        expr: &Arc<Expr>,
        dtype: DType,
        elements: usize,
    ) -> Result<Self, DeviceError> {
        let shape = Shape::from([elements]);
        let spec = ArraySpec { dtype, shape: shape.clone() };
        let program =
            device.compiler().compile(&Kernel::Map(MapKernel::new(expr, vec![spec], shape.clone())))?;
        let block = room(device.memory(), dtype, elements)?;
        device.queue().upload(&host_block(dtype, elements)?, &block)?;
        let region = Region::whole(&shape);
        let operands = vec![Operand { input: 0, block, region: region.clone() }];
        let output = room(device.memory(), dtype, elements)?;
        Ok(Work { device, program, arguments: Arguments { operands, output, region, pieces: Vec::new() } })
    }

    /// Seconds of one launch, of `launches` that are waited for together: the best of many.
    fn best(&self, launches: u32) -> Result<f64, DeviceError> {
        let queue = self.device.queue();
        best(|| {
            (0..launches).try_for_each(|_| queue.launch(&self.program, &self.arguments))?;
            queue.synchronize()
        })
        .map(|seconds| seconds / f64::from(launches))
    }
}

/// Seconds of one launch when all threads launch at once, each on blocks of its own.
fn seconds<'a>(
    threads: usize,
    work: impl Fn() -> Result<Work<'a>, DeviceError> + Sync,
) -> Result<f64, DeviceError> {
    // Enough launches at once to hide what one launch costs.
    let once = work()?.best(1)?;
    let launches = (0.02 / once).clamp(1.0, 64.0) as u32;
    if threads == 1 {
        return work()?.best(launches);
    }
    let barrier = Barrier::new(threads);
    let one = || {
        let work = work();
        barrier.wait();
        work?.best(launches)
    };
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        let mut ended = running.into_iter().map(|thread| {
            // INVARIANT: a thread that panicked panics here, as it would have without being a thread.
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        // The slowest thread tells when all are done.
        ended.try_fold(0.0, |slowest: f64, seconds| Ok(slowest.max(seconds?)))
    })
}

fn copies(device: &dyn Device, elements: usize) -> Result<Copies, DeviceError> {
    let bytes = (elements * size_of::<f32>()) as f64;
    let (here, there) = (host_block(DType::F32, elements)?, room(device.memory(), DType::F32, elements)?);
    let (up, down) = (device.uploads(), device.downloads());
    let to = best(|| up.upload(&here, &there).and_then(|()| up.synchronize()))?;
    let from = best(|| down.download(&there, &here).and_then(|()| down.synchronize()))?;
    let (here, there) = (host_block(DType::F32, 1)?, room(device.memory(), DType::F32, 1)?);
    let latency_s = best(|| up.upload(&here, &there).and_then(|()| up.synchronize()))?;
    Ok(Copies { to_bytes_per_s: bytes / to, from_bytes_per_s: bytes / from, latency_s })
}

/// Seconds of the fastest of at least five runs, and as many as fit in a tenth of a second, after one that isn't counted.
fn best(mut work: impl FnMut() -> Result<(), DeviceError>) -> Result<f64, DeviceError> {
    work()?;
    let (started, mut runs, mut best) = (Instant::now(), 0, Duration::MAX);
    while runs < 5 || started.elapsed() < Duration::from_millis(100) {
        let start = Instant::now();
        work()?;
        best = best.min(start.elapsed());
        runs += 1;
    }
    // A clock may be too coarse for what was done.
    Ok(best.as_secs_f64().max(1e-9))
}

fn room(memory: &dyn Memory, dtype: DType, elements: usize) -> Result<Block, DeviceError> {
    let buffer = memory.allocate(elements * dtype.size())?;
    Ok(Block::contiguous(buffer, dtype, Shape::from([elements])))
}

/// Ones, on the host.
fn host_block(dtype: DType, elements: usize) -> Result<Block, DeviceError> {
    let shape = [elements];
    let made = match dtype {
        DType::F64 => Block::from_slice(shape, &vec![1.0f64; elements]),
        _ => Block::from_slice(shape, &vec![1.0f32; elements]),
    };
    match made {
        Some(block) => Ok(block),
        None => room(Host::new(None).memory(), dtype, elements),
    }
}

/// `x · 0.5`.
fn short() -> Arc<Expr> {
    let mut expr = Expr::default();
    let x = expr.push(NodeOp::Input(0), DType::F32);
    let half = expr.push(NodeOp::Const(Scalar::Float(0.5)), DType::F32);
    let product = expr.push(NodeOp::Binary(BinaryOp::Multiply, x, half), DType::F32);
    expr.output(product);
    Arc::new(expr)
}

/// `x ← x · 0.75 + 0.25`, again and again: it stays at 1.
fn long(dtype: DType) -> Arc<Expr> {
    let mut expr = Expr::default();
    let mut x = expr.push(NodeOp::Input(0), dtype);
    let factor = expr.push(NodeOp::Const(Scalar::Float(0.75)), dtype);
    let summand = expr.push(NodeOp::Const(Scalar::Float(0.25)), dtype);
    for _ in 0..STEPS {
        let product = expr.push(NodeOp::Binary(BinaryOp::Multiply, x, factor), dtype);
        x = expr.push(NodeOp::Binary(BinaryOp::Add, product, summand), dtype);
    }
    expr.output(x);
    Arc::new(expr)
}
