//! Pieces of every type; memory; threads.

use outcrop::device::contract::{Device, DeviceError, Memory};
use outcrop::dtype::DType;
use outcrop::graph::chunking::Chunking;
use outcrop::graph::expr::{Expr, NodeOp};
use outcrop::graph::expr_ops::{Distribution, EdgeMode};
use outcrop::graph::op::{CopyRule, SliceAxis};
use outcrop::graph::piece::{Piece, PieceSource, copy_pieces, padded_pieces};
use outcrop::kernel::Kernel;
use outcrop::shape::{Region, Shape};

use crate::bench::{device, download, empty, open, run, upload};
use crate::maps::map_of;
use crate::oracle::{Array, Value, values};

/// What the pieces make of the blocks, element by element; `None` where nothing is written.
fn play(dtype: DType, shape: &Shape, blocks: &[Array], pieces: &[Piece]) -> Vec<Option<Value>> {
    let mut output = vec![None; shape.elements()];
    for piece in pieces {
        for e in 0..piece.shape.elements() {
            let e = piece.shape.unravel(e);
            let to: Vec<usize> = (0..e.len()).map(|a| piece.at[a] + e[a]).collect();
            let value = match &piece.from {
                PieceSource::Constant(value) => Value::Float(*value).cast(dtype),
                PieceSource::Operand { operand, start, axes } => {
                    let mut from: Vec<isize> = start.iter().map(|&at| at as isize).collect();
                    for (a, &(axis, step)) in axes.iter().enumerate() {
                        from[usize::from(axis)] += step * e[a] as isize;
                    }
                    let from: Vec<usize> = from.into_iter().map(|at| at as usize).collect();
                    blocks[usize::from(*operand)].at(&from)
                }
            };
            output[shape.ravel(&to)] = Some(value);
        }
    }
    output
}

fn check(dtype: DType, shape: &Shape, blocks: &[Array], pieces: Vec<Piece>) {
    let Some(device) = device() else { return };
    let operands: Vec<_> = blocks.iter().map(|array| (0, array.block())).collect();
    let want = play(dtype, shape, blocks, &pieces);
    let region = Region::whole(shape);
    let found =
        run(device, &Kernel::Copy { dtype }, &operands, (dtype, shape.clone()), &region, pieces).unwrap();
    for (e, (found, want)) in values(&found).into_iter().zip(want).enumerate() {
        assert!(
            want.is_none_or(|want| want == found),
            "{dtype} {shape}, element {e}: {found:?}, not {want:?}"
        );
    }
}

/// The blocks of a chunked array of element numbers.
fn blocks(dtype: DType, chunks: &Chunking, which: &[usize]) -> Vec<Array> {
    let whole = chunks.shape();
    let block = |&b: &usize| {
        let region = chunks.region_of(b);
        Array::new(dtype, region.shape.clone(), |e| {
            let local = region.shape.unravel(e);
            let at: Vec<usize> = (0..local.len()).map(|a| region.origin[a] + local[a]).collect();
            Value::Int((whole.ravel(&at) as i64 * 3) % if dtype == DType::Bool { 2 } else { 120 })
        })
    };
    which.iter().map(block).collect()
}

#[test]
fn slices_and_rechunks() {
    let input = Chunking::regular(&[11, 13].into(), &[4, 5]);
    let forward = SliceAxis::Range { start: 1, step: 2, length: 5 };
    let backward = SliceAxis::Range { start: 12, step: -3, length: 4 };
    let rules: [(CopyRule, Shape); 4] = [
        (CopyRule::Rechunk, [11, 13].into()),
        (CopyRule::Slice(vec![forward, backward]), [5, 4].into()),
        (CopyRule::Slice(vec![SliceAxis::At(7), backward]), [4].into()),
        (CopyRule::Slice(vec![SliceAxis::At(10), SliceAxis::At(0)]), Shape::default()),
    ];
    for dtype in DType::ALL {
        for (rule, shape) in &rules {
            let (which, pieces) = copy_pieces(rule, &input, &Region::whole(shape));
            check(dtype, shape, &blocks(dtype, &input, &which), pieces);
        }
    }
}

#[test]
fn padding_with_every_edge() {
    let input = Chunking::regular(&[9, 10].into(), &[4, 6]);
    for dtype in DType::ALL {
        for mode in [EdgeMode::Nearest, EdgeMode::Reflect, EdgeMode::Constant(1.0)] {
            let region = input.region_of(2);
            let (which, pieces) = padded_pieces(&input, &region, &[2, 3], &[mode, mode]);
            let shape: Shape = [region.shape[0] + 4, region.shape[1] + 6].into();
            check(dtype, &shape, &blocks(dtype, &input, &which), pieces);
        }
    }
}

#[test]
fn repeated_elements_and_transposed_axes() {
    for dtype in DType::ALL {
        let x = Array::new(dtype, [3, 4], |e| Value::Int(e as i64 % 5));
        let axes = [(1u8, 1isize), (0, 0), (0, 1)];
        let piece = Piece {
            at: [0, 1, 0].into(),
            shape: [4, 3, 3].into(),
            from: PieceSource::Operand { operand: 0, start: [0, 0].into(), axes: axes.into_iter().collect() },
        };
        check(dtype, &[4, 5, 3].into(), &[x], vec![piece]);
    }
}

#[test]
fn memory_is_bounded_and_comes_back() {
    let Ok(device) = open(4 << 20) else { return println!("SKIPPED wgpu: no adapter") };
    let device = &device;
    let half = device.memory().allocate(2 << 20).unwrap();
    let refused = device.memory().allocate(3 << 20).unwrap_err();
    let DeviceError::OutOfMemory { requested, used, capacity, .. } = refused else { panic!("{refused}") };
    assert_eq!((requested, used, capacity), (3 << 20, 2 << 20, Some(4 << 20)));
    let memory = device.wgpu_memory();
    assert!(matches!(memory.allocate(memory.buffer_bytes_max() + 1), Err(DeviceError::Failed { .. })));
    // The next small task works, and everything comes back.
    let x = Array::new(DType::F32, [1000], |e| Value::Int(e as i64));
    let inputs = [x];
    let map = map_of(Expr::identity(DType::F32), &inputs, [1000]);
    crate::bench::check_map(device, &map, &inputs, &Region::whole(&map.shape), 0.0);
    drop(half);
    device.queue().synchronize().unwrap();
    assert_eq!(memory_used(device), 0);
    assert!(memory.peak() >= 2 << 20 && memory.peak() <= 4 << 20);
}

fn memory_used(device: &dyn Device) -> usize {
    device.memory().used()
}

#[test]
fn blocks_of_another_device_are_refused() {
    let (Ok(one), Ok(two)) = (open(1 << 20), open(1 << 20)) else {
        return println!("SKIPPED wgpu: no adapter");
    };
    let host = Array::new(DType::F32, [4], |_| Value::Int(1)).block();
    let block = upload(&one, &host).unwrap();
    assert!(matches!(two.queue().download(&block, &host), Err(DeviceError::Failed { .. })));
    assert!(matches!(one.queue().download(&host, &host), Err(DeviceError::Failed { .. })));
    let wrong = empty(&one, DType::I32, &[4].into()).unwrap();
    assert!(matches!(one.queue().upload(&host, &wrong), Err(DeviceError::Failed { .. })));
}

#[test]
fn two_threads_share_a_device() {
    let Some(device) = device() else { return };
    std::thread::scope(|scope| {
        for thread in 0..2i64 {
            scope.spawn(move || {
                for round in 0..20 {
                    let x = Array::new(DType::I16, [333], |e| Value::Int(e as i64 * (thread + 1) + round));
                    let host = x.block();
                    let block = upload(device, &host).unwrap();
                    assert_eq!(download(device, &block).unwrap().to_vec::<i16>(), host.to_vec::<i16>());
                    let inputs = [x];
                    let map = map_of(Expr::identity(DType::I16), &inputs, [333]);
                    crate::bench::check_map(device, &map, &inputs, &Region::whole(&map.shape), 0.0);
                }
            });
        }
    });
}

#[test]
fn strided_host_blocks_and_large_ones_travel() {
    let Some(device) = device() else { return };
    let big = Array::new(DType::U8, [(33 << 20) + 5], |e| Value::Int((e % 255) as i64)).block();
    let block = upload(device, &big).unwrap();
    assert!(download(device, &block).unwrap().contiguous_bytes() == big.contiguous_bytes());
    let whole = Array::new(DType::I64, [40, 50], |e| Value::Int(e as i64)).block();
    let part = whole.part(&Region { origin: [3, 4].into(), shape: [30, 41].into() });
    let block = upload(device, &part).unwrap();
    assert_eq!(download(device, &block).unwrap().to_vec::<i64>(), part.to_vec::<i64>());
}

#[test]
fn random_numbers_are_philox() {
    let Some(device) = device() else { return };
    let numbers = |distribution, region: &Region| -> Vec<f32> {
        let mut expr = Expr::default();
        let root = expr.push(NodeOp::Random { seed: 0x0123_4567_89ab_cdef, distribution }, DType::F32);
        expr.output(root);
        let map = map_of(expr, &[], [100_000, 70_000]);
        let output = (DType::F32, region.shape.clone());
        run(device, &Kernel::Map(map), &[], output, region, Vec::new()).unwrap().to_vec().unwrap()
    };
    // Positions beyond 2^32 too.
    let region = Region { origin: [99_990, 69_000].into(), shape: [9, 1000].into() };
    let (uniform, normal) = (numbers(Distribution::Uniform, &region), numbers(Distribution::Normal, &region));
    for e in 0..9000 {
        let position = (99_990 + e as u64 / 1000) * 70_000 + 69_000 + e as u64 % 1000;
        let words = philox(position, 0x0123_4567_89ab_cdef);
        let unit = |word: u32, add: u32| f64::from((word >> 8) + add) / f64::from(1 << 24);
        assert_eq!(f64::from(uniform[e]), unit(words[0], 0));
        let want = (-2.0 * unit(words[0], 1).ln()).sqrt() * (std::f64::consts::TAU * unit(words[1], 0)).cos();
        assert!((f64::from(normal[e]) - want).abs() < 2e-6, "{e}: {} {want}", normal[e]);
    }
}

/// Philox4x32-10 with 64-bit products.
fn philox(position: u64, seed: u64) -> [u32; 4] {
    let mut c = [position as u32, (position >> 32) as u32, 0, 0];
    let mut k = [seed as u32, (seed >> 32) as u32];
    for _ in 0..10 {
        let a = u64::from(c[0]) * 0xD251_1F53;
        let b = u64::from(c[2]) * 0xCD9E_8D57;
        c = [(b >> 32) as u32 ^ c[1] ^ k[0], b as u32, (a >> 32) as u32 ^ c[3] ^ k[1], a as u32];
        k = [k[0].wrapping_add(0x9E37_79B9), k[1].wrapping_add(0xBB67_AE85)];
    }
    c
}
