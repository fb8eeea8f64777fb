//! Launches in parts give the bits of launches as a whole.

use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;
use crate::device::contract::Device;
use crate::device::host::Host;
use crate::dtype::{DType, Scalar};
use crate::graph::expr::{Expr, NodeOp};
use crate::graph::expr_ops::{BinaryOp, Distribution, EdgeMode, Stencil, UnaryOp};
use crate::graph::op::Reduction;
use crate::graph::piece::{Piece, PieceSource};
use crate::kernel::{ArraySpec, Kernel, MapKernel, Operand, StateClass, StateSpec};
use crate::parts::{Crew, Shared};
use crate::shape::{Region, Shape};
use crate::sync::AtomicBool;
use crate::task::{self, Current};

#[test]
fn spans_follow_each_other_and_none_is_empty() {
    for (elements, count) in [(2 * STEP, 2), (5 * STEP + 1, 5), (1 << 26, 77), (7 * STEP - 1, 6)] {
        let spans: Vec<_> = (0..count).map(|at| span(elements, count, at)).collect();
        assert!(spans.iter().all(|span| !span.is_empty()));
        assert!(spans.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!((spans[0].start, spans[count - 1].end), (0, elements));
    }
}

#[test]
fn small_work_is_one_part() {
    assert_eq!(count(1000, usize::MAX), 1);
    assert_eq!(count(1 << 20, PART), 1);
    assert_eq!(count(1 << 20, 3 * PART), 3);
}

/// Several threads, of which the one that has the work comes last.
#[derive(Default)]
struct Threads {
    parts: AtomicUsize,
}

impl Crew for Threads {
    fn share(&self, work: &Arc<Shared>) {
        self.parts.store(work.left(), Ordering::Relaxed);
        std::thread::scope(|scope| (1..4).for_each(|at| drop(scope.spawn(move || while work.take(at) {}))));
        while work.take(0) {}
        work.wait();
    }
}

/// Launches as a whole and in parts; both outputs' bytes, and in how many parts.
fn both(
    kernel: &Kernel,
    operands: &[Operand],
    output: (DType, &Shape),
    gaps: bool,
) -> (Vec<u8>, Vec<u8>, usize) {
    let host = Host::new(None);
    let program = host.compiler().compile(kernel).unwrap();
    let (dtype, shape) = output;
    let crew = Arc::new(Threads::default());
    let run = |crew: Option<Arc<dyn Crew>>, fill: u8| {
        let cancelled = Arc::new(AtomicBool::new(false));
        let _entered = task::enter(Current { cancelled, limit: None, owner: Arc::new(()), crew });
        let own: Shape = shape.iter().map(|&extent| extent + usize::from(gaps)).collect();
        let buffer = host.memory().allocate(own.elements() * dtype.size()).unwrap();
        // SAFETY: the buffer has that many bytes, and nobody else knows it.
        unsafe { buffer.host_pointer().unwrap().write_bytes(fill, own.elements() * dtype.size()) };
        let output = Block::contiguous(buffer, dtype, own).part(&Region::whole(shape));
        let region = Region::whole(&domain(kernel).unwrap_or_else(|| shape.clone()));
        let pieces = pieces(kernel, operands, shape);
        let arguments = Arguments { operands: operands.to_vec(), output: output.clone(), region, pieces };
        host.queue().launch(&program, &arguments).unwrap();
        dense_bytes(&output)
    };
    let whole = run(None, 0x55);
    let split = run(Some(crew.clone()), 0xAA);
    (whole, split, crew.parts.load(Ordering::Relaxed))
}

fn domain(kernel: &Kernel) -> Option<Shape> {
    match kernel {
        Kernel::Map(map) | Kernel::Fold { map, .. } => Some(map.shape.clone()),
        _ => None,
    }
}

/// For a copy of two operands: the first transposed, beside the second backwards, and a constant below.
fn pieces(kernel: &Kernel, operands: &[Operand], shape: &Shape) -> Vec<Piece> {
    if !matches!(kernel, Kernel::Copy { .. }) {
        return vec![];
    }
    let (rows, left) = (shape[0] - 1, shape[1] / 2);
    let right = shape[1] - left;
    let from = |operand: u16, start: [usize; 2], axes: [(u8, isize); 2]| PieceSource::Operand {
        operand,
        start: start.into(),
        axes: axes.into_iter().collect(),
    };
    assert_eq!(*operands[0].block.shape(), Shape::from([left, rows]));
    vec![
        Piece { at: [0, 0].into(), shape: [rows, left].into(), from: from(0, [0, 0], [(1, 1), (0, 1)]) },
        Piece {
            at: [0, left].into(),
            shape: [rows, right].into(),
            from: from(1, [rows - 1, 0], [(0, -1), (1, 1)]),
        },
        Piece { at: [rows, 0].into(), shape: [1, shape[1]].into(), from: PieceSource::Constant(2.5) },
    ]
}

fn dense_bytes(block: &Block) -> Vec<u8> {
    let dense = Block::contiguous(
        Host::new(None).memory().allocate(block.layout.bytes()).unwrap(),
        block.dtype(),
        block.shape().clone(),
    );
    copy_block(block, &dense, 0..block.shape().elements()).ok().unwrap();
    dense.contiguous_bytes().unwrap().to_vec()
}

/// Numbers of very different sizes, so that the order in which they are added shows in the sum.
fn operand(input: u16, dtype: DType, shape: &Shape, gaps: bool) -> Operand {
    let own: Shape = shape.iter().map(|&extent| extent + usize::from(gaps)).collect();
    let value = |at: usize| {
        let mixed = (at as u64 + u64::from(input)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let size = [1.0, 1e-3, 1e5, 3e7][(mixed >> 60) as usize % 4];
        ((mixed >> 20) as u32 as f64 / 4e9 - 0.5) * size
    };
    let block = match dtype {
        DType::F64 => Block::from_slice(own.clone(), &(0..own.elements()).map(value).collect::<Vec<f64>>()),
        DType::F32 => {
            let values: Vec<f32> = (0..own.elements()).map(|at| value(at) as f32).collect();
            Block::from_slice(own.clone(), &values)
        }
        _ => {
            let values: Vec<i32> =
                (0..own.elements()).map(|at| (value(at) as i32).rem_euclid(1000)).collect();
            Block::from_slice(own.clone(), &values)
        }
    };
    Operand { input, block: block.unwrap().part(&Region::whole(shape)), region: Region::whole(shape) }
}

fn map_kernel(expr: Expr, inputs: &[(DType, &Shape)], shape: &Shape) -> MapKernel {
    let spec = |(dtype, shape): &(DType, &Shape)| ArraySpec { dtype: *dtype, shape: (*shape).clone() };
    MapKernel::new(&Arc::new(expr), inputs.iter().map(spec).collect(), shape.clone())
}

fn fold(dtype: DType, reduction: Reduction, axes: &[usize], shape: &Shape) -> (Kernel, DType, Shape) {
    let mut expr = Expr::identity(dtype);
    if dtype == DType::F64 {
        let value = expr.outputs()[0];
        let least = expr.push(NodeOp::Const(Scalar::Float(-1e6)), dtype);
        let mask = expr.push(NodeOp::Binary(BinaryOp::GreaterEqual, value, least), DType::Bool);
        expr.output(mask);
    }
    let state = StateSpec::new(StateClass::Double, reduction, dtype);
    let map = map_kernel(expr, &[(dtype, shape)], shape);
    let kept = (0..shape.len()).map(|axis| if axes.contains(&axis) { 1 } else { shape[axis] });
    let form = match reduction {
        Reduction::Count { bins } => [bins as usize].into(),
        _ => std::iter::once(state.planes).chain(kept).collect(),
    };
    (Kernel::Fold { map, reduction, axes: axes.to_vec(), state }, state.dtype, form)
}

/// A shape of rank 1 to 4 with about 800,000 elements, and some extents that nothing divides.
fn shape() -> impl Strategy<Value = Shape> {
    let extents = prop_oneof![Just(1usize), 2..8usize, 60..1100usize];
    (prop::collection::vec(extents, 0..3), 0..4usize).prop_map(|(mut extents, place)| {
        let others: usize = extents.iter().product();
        extents.insert(place.min(extents.len()), 800_000 / others + 1);
        extents.into_iter().collect()
    })
}

fn cases(cases: u32) -> ProptestConfig {
    let failure_persistence = None;
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence,
        max_shrink_iters: 30,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn folds(
        shape in shape(),
        folded: [bool; 4],
        which in 0..7usize,
        dtype in prop_oneof![Just(DType::F32), Just(DType::F64), Just(DType::I32)],
        gaps: bool,
    ) {
        let reduction = [
            Reduction::Sum,
            Reduction::Mean,
            Reduction::Var { ddof: 1 },
            Reduction::Std { ddof: 0 },
            Reduction::Min,
            Reduction::Max,
            Reduction::Count { bins: 700 },
        ][which];
        let is_count = matches!(reduction, Reduction::Count { .. });
        let dtype = if is_count { DType::I32 } else { dtype };
        let all = 0..shape.len();
        let axes: Vec<usize> =
            all.clone().filter(|&axis| is_count || folded[axis]).collect();
        let axes = if axes.is_empty() { all.collect() } else { axes };
        let (kernel, state, form) = fold(dtype, reduction, &axes, &shape);
        let (whole, split, parts) = both(&kernel, &[operand(0, dtype, &shape, gaps)], (state, &form), gaps);
        prop_assert!(whole == split, "{reduction:?} of {dtype} {shape} over {axes:?} in {parts} parts");
    }

    #[test]
    fn maps(shape in shape(), stretched: [bool; 4], gaps: bool, which in 0..6usize) {
        let mut expr = Expr::default();
        let x = expr.push(NodeOp::Input(0), DType::F32);
        let y = expr.push(NodeOp::Input(1), DType::F32);
        let axis = which % shape.len();
        let last = match which {
            0 => expr.push(NodeOp::Random { distribution: Distribution::Normal, seed: 7 }, DType::F32),
            1 => {
                let weights = vec![0.25, 0.5, 0.25, 1.0, -1.0].into();
                let convolve = Stencil::Convolve { axis: axis as u8, weights, mode: EdgeMode::Reflect };
                expr.push(NodeOp::Stencil(0, convolve), DType::F32)
            }
            2 => {
                let gradient = Stencil::Gradient { axis: axis as u8, spacing: 0.5 };
                expr.push(NodeOp::Stencil(0, gradient), DType::F32)
            }
            3 => {
                let index = expr.push(NodeOp::Index(axis as u8), DType::I64);
                expr.push(NodeOp::Cast(index), DType::F32)
            }
            _ => expr.push(NodeOp::Unary(UnaryOp::Exp, x), DType::F32),
        };
        let sum = expr.push(NodeOp::Binary(BinaryOp::Add, last, x), DType::F32);
        let product = expr.push(NodeOp::Binary(BinaryOp::Multiply, sum, y), DType::F32);
        expr.output(product);
        let row: Shape =
            shape.iter().zip(stretched).map(|(&extent, stretch)| if stretch { 1 } else { extent }).collect();
        let kernel = Kernel::Map(map_kernel(expr, &[(DType::F32, &shape), (DType::F32, &row)], &shape));
        let operands = [operand(0, DType::F32, &shape, gaps), operand(1, DType::F32, &row, false)];
        let (whole, split, parts) = both(&kernel, &operands, (DType::F32, &shape), gaps);
        prop_assert!(parts > 1, "{shape}");
        prop_assert!(whole == split, "map {which} over {shape} in {parts} parts");
    }

    #[test]
    fn states(cells in 1_000_000..1_100_000usize, which in 0..5usize, gaps: bool) {
        let reduction =
            [Reduction::Sum, Reduction::Mean, Reduction::Var { ddof: 1 }, Reduction::Min, Reduction::Max][which];
        let state = StateSpec::new(StateClass::Double, reduction, DType::F64);
        let form = Shape::from([state.planes, cells]);
        let operands: Vec<Operand> = (0..5).map(|at| operand(at, DType::F64, &form, gaps)).collect();
        let (whole, split, parts) =
            both(&Kernel::Combine { reduction, state }, &operands, (DType::F64, &form), gaps);
        prop_assert!(whole == split, "{reduction:?} of {cells} cells in {parts} parts");
        prop_assert!(gaps || parts > 1);
        let kernel = Kernel::Finish { reduction, state, output: DType::F64 };
        let (whole, split, _) = both(&kernel, &operands[..1], (DType::F64, &[cells].into()), gaps);
        prop_assert!(whole == split, "{reduction:?} of {cells} cells");
    }

    #[test]
    fn copies(rows in 900..1300usize, left in 700..900usize, gaps: bool) {
        let shape = Shape::from([rows, 2 * left]);
        let operands = [
            operand(0, DType::F64, &[left, rows - 1].into(), gaps),
            operand(1, DType::F64, &[rows - 1, left].into(), gaps),
        ];
        let kernel = Kernel::Copy { dtype: DType::F64 };
        let (whole, split, parts) = both(&kernel, &operands, (DType::F64, &shape), gaps);
        prop_assert!(parts > 1);
        prop_assert!(whole == split, "{shape} in {parts} parts");
    }
}

#[test]
fn folds_are_cut_whichever_axes_are_kept() {
    for (shape, axes) in [
        (vec![1_000_003], vec![0]),
        (vec![3, 400_001], vec![1]),
        (vec![1021, 1023], vec![0]),
        (vec![1021, 1023], vec![1]),
        (vec![1021, 1023], vec![0, 1]),
        (vec![1000, 3, 401], vec![0, 2]),
        (vec![5, 1001, 211], vec![1]),
    ] {
        let shape: Shape = shape.into_iter().collect();
        for dtype in [DType::F32, DType::F64] {
            let (kernel, state, form) = fold(dtype, Reduction::Var { ddof: 0 }, &axes, &shape);
            let (whole, split, parts) =
                both(&kernel, &[operand(0, dtype, &shape, false)], (state, &form), false);
            assert!(parts > 1, "{shape} over {axes:?}");
            assert!(whole == split, "{dtype} {shape} over {axes:?} in {parts} parts");
        }
    }
}

#[test]
fn blocks_are_copied_in_parts() {
    let shape = Shape::from([1999, 2001]);
    let from = operand(0, DType::F64, &shape, true).block;
    let host = Host::new(None);
    let to = Block::contiguous(host.memory().allocate(from.layout.bytes()).unwrap(), DType::F64, shape);
    let crew = Arc::new(Threads::default());
    let cancelled = Arc::new(AtomicBool::new(false));
    let current =
        Current { cancelled: cancelled.clone(), limit: None, owner: Arc::new(()), crew: Some(crew.clone()) };
    let _entered = task::enter(current);
    host.queue().download(&from, &to).unwrap();
    assert!(crew.parts.load(Ordering::Relaxed) > 1);
    assert!(dense_bytes(&from) == to.contiguous_bytes().unwrap());
    cancelled.store(true, Ordering::Relaxed);
    let stopped = host.queue().download(&from, &to);
    assert!(matches!(stopped, Err(DeviceError::Stopped(task::Stopped::Cancelled))));
}
