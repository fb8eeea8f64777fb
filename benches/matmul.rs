//! Products of square matrices on one thread against the crate `matrixmultiply`, in the same sitting, best of several.
//! `cargo bench --bench matmul [-- --json]`; `OUTCROP_BENCH_SIDE` sets another side than 1,024.
//!
//! Ours sums in an order that is part of the kernel's definition, so that every device gives the same bits; a library's
//! order is its own.

mod table;

use std::time::Instant;

use outcrop::block::Block;
use outcrop::device::contract::Device;
use outcrop::device::host::Host;
use outcrop::dtype::{DType, Element};
use outcrop::kernel::{Arguments, Kernel, Operand};
use outcrop::shape::Region;
use table::Table;

const REPETITIONS: usize = 7;

/// How much longer than the library it may take.
const BOUND: f64 = 1.3;

fn main() {
    let table = Table::from_arguments("matmul");
    let side = std::env::var("OUTCROP_BENCH_SIDE").ok().and_then(|side| side.parse().ok()).unwrap_or(1024);
    measure(
        &table,
        side,
        |x| x as f32,
        |n, a, b, c| {
            let down = n as isize;
            // SAFETY: three square matrices of that side, without gaps.
            unsafe { matrixmultiply::sgemm(n, n, n, 1.0, a, down, 1, b, down, 1, 0.0, c, down, 1) }
        },
    );
    measure(
        &table,
        side,
        |x| x,
        |n, a, b, c| {
            let down = n as isize;
            // SAFETY: as above.
            unsafe { matrixmultiply::dgemm(n, n, n, 1.0, a, down, 1, b, down, 1, 0.0, c, down, 1) }
        },
    );
}

fn measure<T: Element>(
    table: &Table,
    side: usize,
    from: impl Fn(f64) -> T,
    library: impl Fn(usize, *const T, *const T, *mut T),
) {
    let case = format!("{} {side} cubed", T::DTYPE);
    if !table.wants(&case) {
        return;
    }
    let values = |seed: usize| -> Vec<T> {
        (0..side * side).map(|at| from(((at * 31 + seed) % 97) as f64 * 0.01 - 0.5)).collect()
    };
    let (a, b, mut c) = (values(1), values(2), values(3));
    let block = |values: &[T]| Block::from_slice([side, side], values).expect("as many values as elements");
    let (left, right, output) = (block(&a), block(&b), block(&c));
    let host = Host::new(None);
    let program = host.compiler().compile(&Kernel::MatMul { dtype: T::DTYPE }).expect("a kernel");
    let operand = |(input, block): (u16, &Block)| {
        let region = Region::whole(block.shape());
        Operand { input, block: block.clone(), region }
    };
    let operands = (0..).zip([&left, &right]).map(operand).collect();
    let region = Region::whole(output.shape());
    let arguments = Arguments { operands, output, region, pieces: Vec::new() };
    let (mut ours, mut theirs) = (f64::MAX, f64::MAX);
    for _ in 0..REPETITIONS {
        let started = Instant::now();
        host.queue().launch(&program, &arguments).expect("a product");
        ours = ours.min(started.elapsed().as_secs_f64());
        let started = Instant::now();
        library(side, a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
        theirs = theirs.min(started.elapsed().as_secs_f64());
    }
    let rate = |seconds: f64| 2.0 * (side as f64).powi(3) / seconds / 1e9;
    assert!(T::DTYPE == DType::F32 || T::DTYPE == DType::F64);
    table.figure(&format!("{case}, ours"), rate(ours), "GFLOP/s");
    table.figure(&format!("{case}, matrixmultiply"), rate(theirs), "GFLOP/s");
    table.row(&format!("{case}, of matrixmultiply's time"), ours / theirs, "", BOUND);
}
