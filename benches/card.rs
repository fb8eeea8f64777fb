//! What a real card reaches through Outcrop, each figure beside its bound, for `ci/test_gpu.sh`: large copies, a fused
//! kernel against the card's own copy rate, products of matrices, copies beside kernels, what a launch costs.
//! `cargo bench --bench card [-- --json] [case]`; without a card it says SKIPPED. Best of several.
//! `OUTCROP_BENCH_MIB` sets another size of blocks than 256 MiB.

mod table;

use std::sync::Arc;
use std::time::Instant;

use outcrop::block::Block;
use outcrop::device::contract::{Device, DeviceError, Memory, Program};
use outcrop::device::{open, probe};
use outcrop::dtype::{DType, Scalar};
use outcrop::graph::expr::{Expr, NodeOp};
use outcrop::graph::expr_ops::{BinaryOp, UnaryOp};
use outcrop::graph::op::Reduction;
use outcrop::graph::piece::Piece;
use outcrop::kernel::{Arguments, ArraySpec, Kernel, MapKernel, Operand, StateClass, StateSpec};
use outcrop::plan::capability::state_class;
use outcrop::shape::{Region, Shape};
use table::Table;

const REPETITIONS: usize = 7;

fn main() -> Result<(), DeviceError> {
    let table = Table::from_arguments("card");
    let machine = probe::inventory().machine;
    let cards: Vec<_> =
        machine.devices().filter(|(_, device)| device.is_gpu() && device.unusable.is_none()).collect();
    if cards.is_empty() {
        println!("SKIPPED card: this machine has no GPU that can be used");
    }
    for (id, info) in cards.into_iter().filter(|(_, info)| table.wants(&info.name)) {
        let Some(device) = open::open(info, None)? else { continue };
        println!("{}: {}, through {}", info.name, info.model, info.backend);
        let link = machine.link(outcrop::machine::MemoryId::HOST, machine.memory_of(id));
        Card {
            table: &table,
            device: &*device,
            name: &info.name,
            class: state_class(info.backend),
            elements: size(),
        }
        .measure(link.bytes_per_s)?;
    }
    Ok(())
}

/// Elements of a block of `f32`.
fn size() -> usize {
    let mebibytes = std::env::var("OUTCROP_BENCH_MIB").ok().and_then(|size| size.parse().ok()).unwrap_or(256);
    mebibytes << 18
}

struct Card<'a> {
    table: &'a Table,
    device: &'a dyn Device,
    name: &'a str,
    class: StateClass,
    elements: usize,
}

impl Card<'_> {
    fn measure(&self, link: f64) -> Result<(), DeviceError> {
        let bytes = (4 * self.elements) as f64;
        let host = Block::from_slice([self.elements], &vec![1f32; self.elements]).expect("as many values");
        let (x, y, z) = (self.room(DType::F32)?, self.room(DType::F32)?, self.room(DType::F32)?);
        let (up, down) = (self.device.uploads(), self.device.downloads());
        let to = best(|| up.upload(&host, &x).and_then(|()| up.synchronize()))?;
        let from = best(|| down.download(&x, &host).and_then(|()| down.synchronize()))?;
        self.at_least("copy to the card", bytes / to / 1e9, "GB/s", 0.85 * link / 1e9);
        self.at_least("copy from the card", bytes / from / 1e9, "GB/s", 0.85 * link / 1e9);

        let copy = self.compile(&Kernel::Copy { dtype: DType::F32 })?;
        let copied = self.seconds(&copy, &arguments(&[&x], &y, vec![Piece::cut(&whole(&x), &whole(&x))]))?;
        let copies = 2.0 * bytes / copied / 1e9;
        self.figure("copy on the card", copies, "GB/s");
        self.device.queue().upload(&host, &z)?;
        let fused = self.compile(&Kernel::Map(self.map(&fused(), 2)))?;
        let fused_s = self.seconds(&fused, &arguments(&[&x, &z], &y, Vec::new()))?;
        let rate = 3.0 * bytes / fused_s;
        self.at_least("fused sqrt(x² + z²) · 0.5", rate / 1e9, "GB/s", 0.9 * copies);

        self.sum("sum of all", [self.elements].into(), &x, copies)?;
        self.sum("sum of 8 columns", [self.elements / 8, 8].into(), &x, copies)?;
        self.products(DType::F32)?;
        self.products(DType::F64).or_else(|error| match error {
            DeviceError::Compile { .. } => Ok(()),
            other => Err(other),
        })?;
        self.overlap(&host, [&x, &y, &z], &fused, to, fused_s)?;

        let one = Block::contiguous(self.device.memory().allocate(4)?, DType::F32, [1].into());
        let kernel = Kernel::Map(MapKernel::new(&fused_of_one(), vec![spec(&one)], one.shape().clone()));
        let program = self.compile(&kernel)?;
        let target = Block::contiguous(self.device.memory().allocate(4)?, DType::F32, [1].into());
        let small = arguments(&[&one], &target, Vec::new());
        let many = best(|| {
            (0..1000).try_for_each(|_| self.device.queue().launch(&program, &small))?;
            self.device.queue().synchronize()
        })?;
        self.table.row(&format!("{} launch", self.name), many * 1e3, "µs", 5.0);
        Ok(())
    }

    /// Copies to the card while it computes: the time beside the longer of the two.
    fn overlap(
        &self,
        host: &Block,
        [x, y, z]: [&Block; 3],
        program: &Program,
        copy_s: f64,
        kernel_s: f64,
    ) -> Result<(), DeviceError> {
        let launches = (copy_s / kernel_s).ceil().max(1.0);
        let (queue, uploads) = (self.device.queue(), self.device.uploads());
        let target = self.room(DType::F32)?;
        let own = arguments(&[x, z], y, Vec::new());
        let both = best(|| {
            (0..launches as usize).try_for_each(|_| queue.launch(program, &own))?;
            uploads.upload(host, &target)?;
            uploads.synchronize()?;
            queue.synchronize()
        })?;
        let longer = copy_s.max(launches * kernel_s);
        self.at_least("overlap: longer of two, of both", longer / both, "", 0.9);
        Ok(())
    }

    /// Sums along the first axis, which reads every value once, beside the rate at which the card copies.
    fn sum(&self, case: &str, shape: Shape, x: &Block, copies: f64) -> Result<(), DeviceError> {
        let (reduction, dtype) = (Reduction::Sum, DType::F32);
        let state = StateSpec::new(self.class, reduction, dtype);
        let map = MapKernel::folded(
            &Arc::new(Expr::identity(dtype)),
            vec![ArraySpec { dtype, shape: shape.clone() }],
            shape.clone(),
        );
        let program = self.compile(&Kernel::Fold { map, reduction, axes: vec![0], state })?;
        let form: Shape = [state.planes, 1].into_iter().chain(shape[1..].iter().copied()).collect();
        let buffer = self.device.memory().allocate(form.elements() * state.dtype.size())?;
        let block = Block::contiguous(x.buffer.clone(), dtype, shape.clone());
        let arguments = Arguments {
            operands: vec![operand(0, &block)],
            output: Block::contiguous(buffer, state.dtype, form),
            region: Region::whole(&shape),
            pieces: Vec::new(),
        };
        let seconds = self.seconds(&program, &arguments)?;
        self.at_least(case, (4 * shape.elements()) as f64 / seconds / 1e9, "GB/s", 0.8 * copies);
        Ok(())
    }

    fn products(&self, dtype: DType) -> Result<(), DeviceError> {
        let side = 4096.min((self.elements as f64).sqrt() as usize / 64 * 64);
        let matrix = || {
            let buffer = self.device.memory().allocate(side * side * dtype.size())?;
            Ok::<Block, DeviceError>(Block::contiguous(buffer, dtype, [side, side].into()))
        };
        let program = self.compile(&Kernel::MatMul { dtype })?;
        let (a, b, c) = (matrix()?, matrix()?, matrix()?);
        let operands = (0..).zip([&a, &b]).map(|(input, block)| operand(input, block)).collect();
        let seconds = self.seconds(
            &program,
            &Arguments { operands, output: c.clone(), region: whole(&c), pieces: Vec::new() },
        )?;
        self.figure(
            &format!("matmul {dtype}, {side} cubed"),
            2.0 * (side as f64).powi(3) / seconds / 1e12,
            "TFLOP/s",
        );
        Ok(())
    }

    fn seconds(&self, program: &Program, arguments: &Arguments) -> Result<f64, DeviceError> {
        best(|| {
            self.device.queue().launch(program, arguments)?;
            self.device.queue().synchronize()
        })
    }

    fn compile(&self, kernel: &Kernel) -> Result<Program, DeviceError> {
        self.device.compiler().compile(kernel)
    }

    fn map(&self, expr: &Arc<Expr>, inputs: usize) -> MapKernel {
        let shape = Shape::from([self.elements]);
        MapKernel::new(expr, vec![ArraySpec { dtype: DType::F32, shape: shape.clone() }; inputs], shape)
    }

    fn room(&self, dtype: DType) -> Result<Block, DeviceError> {
        let memory: &dyn Memory = self.device.memory();
        Ok(Block::contiguous(memory.allocate(self.elements * dtype.size())?, dtype, [self.elements].into()))
    }

    fn figure(&self, case: &str, value: f64, unit: &str) {
        self.table.figure(&format!("{} {case}", self.name), value, unit);
    }

    fn at_least(&self, case: &str, value: f64, unit: &str, bound: f64) {
        self.table.row_at_least(&format!("{} {case}", self.name), value, unit, bound);
    }
}

fn whole(block: &Block) -> Region {
    Region::whole(block.shape())
}

fn spec(block: &Block) -> ArraySpec {
    ArraySpec { dtype: block.dtype(), shape: block.shape().clone() }
}

fn operand(input: u16, block: &Block) -> Operand {
    Operand { input, block: block.clone(), region: whole(block) }
}

fn arguments(inputs: &[&Block], output: &Block, pieces: Vec<Piece>) -> Arguments {
    let operands = (0..).zip(inputs).map(|(input, block)| operand(input, block)).collect();
    Arguments { operands, output: output.clone(), region: whole(output), pieces }
}

/// `sqrt(x·x + z·z) · 0.5`.
fn fused() -> Arc<Expr> {
    let mut expr = Expr::default();
    let mut push = |op| expr.push(op, DType::F32);
    let (x, z) = (push(NodeOp::Input(0)), push(NodeOp::Input(1)));
    let squares = [x, z].map(|side| push(NodeOp::Binary(BinaryOp::Multiply, side, side)));
    let sum = push(NodeOp::Binary(BinaryOp::Add, squares[0], squares[1]));
    let root = push(NodeOp::Unary(UnaryOp::Sqrt, sum));
    let half = push(NodeOp::Const(Scalar::Float(0.5)));
    let product = push(NodeOp::Binary(BinaryOp::Multiply, root, half));
    expr.output(product);
    Arc::new(expr)
}

/// `x · x`.
fn fused_of_one() -> Arc<Expr> {
    let mut expr = Expr::default();
    let x = expr.push(NodeOp::Input(0), DType::F32);
    let square = expr.push(NodeOp::Binary(BinaryOp::Multiply, x, x), DType::F32);
    expr.output(square);
    Arc::new(expr)
}

/// Seconds of the fastest run, after one that isn't counted.
fn best(mut work: impl FnMut() -> Result<(), DeviceError>) -> Result<f64, DeviceError> {
    work()?;
    let mut best = f64::MAX;
    for _ in 0..REPETITIONS {
        let started = Instant::now();
        work()?;
        best = best.min(started.elapsed().as_secs_f64());
    }
    Ok(best)
}
