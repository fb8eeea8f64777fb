//! The host's tile machine against hand-written fused loops with the same functions and instruction set, on
//! one thread. `cargo bench --bench elementwise [-- --json] [case]`.
//!
//! Times are the best of many interleaved repetitions; `ratio` is ours to the hand loop's.

#[macro_use]
mod hand;

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use outcrop::block::Block;
use outcrop::device::contract::{Device, Program};
use outcrop::device::host::Host;
use outcrop::dtype::{DType, Scalar};
use outcrop::graph::expr::{Expr, NodeId, NodeOp};
use outcrop::graph::expr_ops::{BinaryOp as B, EdgeMode, Stencil, UnaryOp as U};
use outcrop::graph::op::Reduction;
use outcrop::kernel::math::Float;
use outcrop::kernel::{Arguments, ArraySpec, Kernel, MapKernel, Operand, StateClass, StateSpec};
use outcrop::shape::{Region, Shape};

const REPETITIONS: usize = 15;

/// Runs a case; our milliseconds and the hand loop's.
type Race = fn() -> (f64, f64);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let is_json = arguments.iter().any(|a| a == "--json");
    let wanted = arguments.iter().find(|a| !a.starts_with("--"));
    let cases: [(&str, Race); 8] = [
        ("axpy 0.5x+y f32 2^24", axpy),
        ("sqrt(x*x+y*y)*exp(-x) f32 2^24", hypot_exp),
        ("chain of 20 f32 2^24", chain),
        ("hillshade f32 4096x4096", hillshade),
        ("gradient axis 0 f32 4096x4096", || gradient(0)),
        ("gradient axis 1 f32 4096x4096", || gradient(1)),
        ("convolve 9 taps axis 1 f32 4096x4096", convolve),
        ("sum of x*x f32 2^24", sum_of_squares),
    ];
    if !is_json {
        println!("{:40} {:>10} {:>10} {:>7}", "case", "ms", "hand ms", "ratio");
    }
    for (name, run) in cases {
        if wanted.is_some_and(|wanted| !name.contains(wanted.as_str())) {
            continue;
        }
        let (ours, hand) = run();
        let ratio = ours / hand;
        if is_json {
            println!(
                "{{\"bench\":\"elementwise\",\"case\":\"{name}\",\"value\":{ours:.3},\"unit\":\"ms\",\
                 \"reach\":{hand:.3},\"peer\":\"hand loop\",\"ratio\":{ratio:.3}}}"
            );
        } else {
            println!("{name:40} {ours:10.2} {hand:10.2} {ratio:7.2}");
        }
    }
}

/// Best times of both, in milliseconds, interleaved so that a busy machine hits both alike.
fn race(mut ours: impl FnMut(), mut hand: impl FnMut()) -> (f64, f64) {
    let time = |f: &mut dyn FnMut()| {
        let start = Instant::now();
        f();
        start.elapsed()
    };
    let mut best = [Duration::MAX; 2];
    for _ in 0..REPETITIONS {
        best[0] = best[0].min(time(&mut ours));
        best[1] = best[1].min(time(&mut hand));
    }
    (best[0].as_secs_f64() * 1e3, best[1].as_secs_f64() * 1e3)
}

/// A kernel with inputs of one shape, ready to launch over its whole domain.
struct Ready {
    host: Host,
    program: Program,
    arguments: Arguments,
}

impl Ready {
    fn map(expr: Expr, inputs: &[&[f32]], shape: &Shape) -> Ready {
        let specs = inputs.iter().map(|_| ArraySpec { dtype: DType::F32, shape: shape.clone() }).collect();
        let kernel = Kernel::Map(MapKernel::new(&Arc::new(expr), specs, shape.clone()));
        Ready::new(&kernel, inputs, shape, DType::F32, shape)
    }

    fn new(kernel: &Kernel, inputs: &[&[f32]], shape: &Shape, dtype: DType, output: &Shape) -> Ready {
        let host = Host::new(None);
        let program = host.compiler().compile(kernel).expect("the kernel compiles");
        let region = Region::whole(shape);
        let block = |dtype: DType, shape: &Shape| {
            let buffer = host.memory().allocate(shape.elements() * dtype.size()).expect("memory");
            Block::contiguous(buffer, dtype, shape.clone())
        };
        let operands = inputs.iter().enumerate().map(|(i, values)| {
            let to = block(DType::F32, shape);
            let from = Block::from_slice(shape.clone(), values).expect("as many values as elements");
            host.queue().upload(&from, &to).expect("an upload");
            Operand { input: i as u16, block: to, region: region.clone() }
        });
        let operands = operands.collect();
        let output = block(dtype, output);
        Ready {
            program,
            arguments: Arguments { operands, output, region: region.clone(), pieces: vec![] },
            host,
        }
    }

    fn launch(&self) {
        self.host.queue().launch(&self.program, &self.arguments).expect("a launch");
    }

    fn result(&self) -> Vec<f32> {
        self.arguments.output.to_vec().expect("f32 on the host")
    }

    fn race_exact(&self, out: &mut [f32], mut hand: impl FnMut(&mut [f32])) -> (f64, f64) {
        let times = race(|| self.launch(), || hand(black_box(&mut *out)));
        let ours = self.result();
        let differing = ours.iter().zip(&*out).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
        assert_eq!(differing, 0, "results differ from the hand loop's");
        times
    }
}

hand_loop! {
    fn hand_axpy(x: &[f32], y: &[f32], out: &mut [f32]) {
        for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
            *out = x * 0.5 + y;
        }
    }

    fn hand_hypot_exp(x: &[f32], y: &[f32], out: &mut [f32]) {
        for ((out, &x), &y) in out.iter_mut().zip(x).zip(y) {
            *out = Float::sqrt(x * x + y * y) * Float::exp(-x);
        }
    }

    fn hand_chain(x: &[f32], y: &[f32], out: &mut [f32]) {
        for ((out, &x), &y) in out.iter_mut().zip(x).zip(y) {
            let mut v = x;
            for k in 0..5 {
                let c = 0.25 + k as f32;
                v = (v * c + y) - x;
                v = Float::maximum(v, -c);
            }
            *out = v;
        }
    }

    fn hand_gradient_0(z: &[f32], width: usize, out: &mut [f32]) {
        let height = z.len() / width;
        for row in 0..height {
            let (up, down) = (row.saturating_sub(1), (row + 1).min(height - 1));
            let d = if row == 0 || row + 1 == height { 92.7f32 } else { 185.4 };
            let (above, below) = (&z[up * width..][..width], &z[down * width..][..width]);
            for ((out, a), b) in out[row * width..][..width].iter_mut().zip(above).zip(below) {
                *out = (b - a) / d;
            }
        }
    }

    fn hand_gradient_1(z: &[f32], width: usize, out: &mut [f32]) {
        for (z, out) in z.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
            for ((out, a), b) in out[1..width - 1].iter_mut().zip(z).zip(&z[2..]) {
                *out = (b - a) / 185.4;
            }
            out[0] = (z[1] - z[0]) / 92.7;
            out[width - 1] = (z[width - 1] - z[width - 2]) / 92.7;
        }
    }

    fn hand_convolve(z: &[f32], width: usize, weights: &[f32; 9], out: &mut [f32]) {
        let mut line = vec![0.0f32; width + 8];
        for (z, out) in z.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
            line[..4].fill(z[0]);
            line[4..width + 4].copy_from_slice(z);
            line[width + 4..].fill(z[width - 1]);
            for (i, out) in out.iter_mut().enumerate() {
                let taps: &[f32; 9] = line[i..i + 9].try_into().expect("nine");
                let mut sum = 0.0f32;
                for k in 0..9 {
                    sum = weights[k].mul_add(taps[8 - k], sum);
                }
                *out = sum;
            }
        }
    }

    fn hand_sum(x: &[f32], out: &mut f64) {
        let mut lanes = [0.0f64; 16];
        for x in x.chunks_exact(16) {
            for lane in 0..16 {
                lanes[lane] += f64::from(x[lane] * x[lane]);
            }
        }
        *out = lanes.iter().sum();
    }
}

fn values(n: usize) -> Vec<f32> {
    let mut state = 1u32;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 8_388_608.0
    };
    (0..n).map(next).collect()
}

fn terrain(side: usize) -> Vec<f32> {
    let noise = values(side * side);
    let hill = |i: usize| ((i / side) as f32 * 0.01).sin() * ((i % side) as f32 * 0.013).cos() * 900.0;
    noise.iter().enumerate().map(|(i, v)| hill(i) + 40.0 * v).collect()
}

/// Builds expressions with as little noise as Rust allows.
#[derive(Default)]
struct Builder(Expr);

impl Builder {
    fn input(&mut self, i: u16) -> NodeId {
        self.0.push(NodeOp::Input(i), DType::F32)
    }
    fn number(&mut self, x: f64) -> NodeId {
        self.0.push(NodeOp::Const(Scalar::Float(x)), DType::F32)
    }
    fn unary(&mut self, op: U, x: NodeId) -> NodeId {
        self.0.push(NodeOp::Unary(op, x), DType::F32)
    }
    fn binary(&mut self, op: B, x: NodeId, y: NodeId) -> NodeId {
        self.0.push(NodeOp::Binary(op, x, y), DType::F32)
    }
    fn stencil(&mut self, stencil: Stencil) -> NodeId {
        self.0.push(NodeOp::Stencil(0, stencil), DType::F32)
    }
    fn done(mut self, id: NodeId) -> Expr {
        self.0.output(id);
        self.0
    }
}

fn axpy() -> (f64, f64) {
    let (x, y) = (values(1 << 24), values(1 << 24));
    let mut b = Builder::default();
    let (a, half, c) = (b.input(0), b.number(0.5), b.input(1));
    let product = b.binary(B::Multiply, a, half);
    let sum = b.binary(B::Add, product, c);
    let ready = Ready::map(b.done(sum), &[&x, &y], &[1 << 24].into());
    ready.race_exact(&mut vec![1.0; 1 << 24], |out| hand_axpy(&x, &y, out))
}

fn hypot_exp() -> (f64, f64) {
    let (x, y) = (values(1 << 24), values(1 << 24));
    let mut b = Builder::default();
    let (p, q) = (b.input(0), b.input(1));
    let (pp, qq) = (b.binary(B::Multiply, p, p), b.binary(B::Multiply, q, q));
    let sum = b.binary(B::Add, pp, qq);
    let root = b.unary(U::Sqrt, sum);
    let minus = b.unary(U::Negative, p);
    let exp = b.unary(U::Exp, minus);
    let result = b.binary(B::Multiply, root, exp);
    let ready = Ready::map(b.done(result), &[&x, &y], &[1 << 24].into());
    ready.race_exact(&mut vec![1.0; 1 << 24], |out| hand_hypot_exp(&x, &y, out))
}

fn chain() -> (f64, f64) {
    let (x, y) = (values(1 << 24), values(1 << 24));
    let mut b = Builder::default();
    let (p, q) = (b.input(0), b.input(1));
    let mut v = p;
    for k in 0..5 {
        let c = 0.25 + f64::from(k);
        let (up, down) = (b.number(c), b.number(-c));
        let product = b.binary(B::Multiply, v, up);
        let sum = b.binary(B::Add, product, q);
        let difference = b.binary(B::Subtract, sum, p);
        v = b.binary(B::Maximum, difference, down);
    }
    let ready = Ready::map(b.done(v), &[&x, &y], &[1 << 24].into());
    ready.race_exact(&mut vec![1.0; 1 << 24], |out| hand_chain(&x, &y, out))
}

fn hillshade() -> (f64, f64) {
    let z = terrain(4096);
    let mut b = Builder::default();
    let gx = b.stencil(Stencil::Gradient { axis: 1, spacing: 74.4 });
    let gy = b.stencil(Stencil::Gradient { axis: 0, spacing: 92.7 });
    let steepness = b.binary(B::Hypot, gx, gy);
    let slope = b.unary(U::Atan, steepness);
    let aspect = b.binary(B::Atan2, gx, gy);
    let azimuth = b.number(5.497787);
    let turned = b.binary(B::Subtract, azimuth, aspect);
    let (cos_turned, cos_slope, sin_slope) =
        (b.unary(U::Cos, turned), b.unary(U::Cos, slope), b.unary(U::Sin, slope));
    let (sin_alt, zero, one) = (b.number(0.70710677), b.number(0.0), b.number(1.0));
    let level = b.binary(B::Multiply, sin_alt, cos_slope);
    let tilted = b.binary(B::Multiply, sin_alt, sin_slope);
    let facing = b.binary(B::Multiply, tilted, cos_turned);
    let light = b.binary(B::Add, level, facing);
    let low = b.binary(B::Maximum, light, zero);
    let result = b.binary(B::Minimum, low, one);
    let ready = Ready::map(b.done(result), &[&z], &[4096, 4096].into());
    ready.race_exact(&mut vec![1.0; 1 << 24], |out| hand::hillshade(&z, 4096, 0..4096, out))
}

fn gradient(axis: u8) -> (f64, f64) {
    let z = terrain(4096);
    let mut b = Builder::default();
    let result = b.stencil(Stencil::Gradient { axis, spacing: 92.7 });
    let ready = Ready::map(b.done(result), &[&z], &[4096, 4096].into());
    let hand = if axis == 0 { hand_gradient_0 } else { hand_gradient_1 };
    ready.race_exact(&mut vec![1.0; 1 << 24], |out| hand(&z, 4096, out))
}

fn convolve() -> (f64, f64) {
    let z = terrain(4096);
    let weights = [0.01f32, 0.04, 0.11, 0.2, 0.28, 0.2, 0.11, 0.04, 0.01];
    let mut b = Builder::default();
    let wide: Arc<[f64]> = weights.iter().map(|&w| f64::from(w)).collect();
    let result = b.stencil(Stencil::Convolve { axis: 1, weights: wide, mode: EdgeMode::Nearest });
    let ready = Ready::map(b.done(result), &[&z], &[4096, 4096].into());
    ready.race_exact(&mut vec![1.0; 1 << 24], |out| hand_convolve(&z, 4096, &weights, out))
}

fn sum_of_squares() -> (f64, f64) {
    let x = values(1 << 24);
    let mut b = Builder::default();
    let p = b.input(0);
    let square = b.binary(B::Multiply, p, p);
    let state = StateSpec::new(StateClass::Double, Reduction::Sum, DType::F32);
    let shape: Shape = [1 << 24].into();
    let spec = ArraySpec { dtype: DType::F32, shape: shape.clone() };
    let map = MapKernel::new(&Arc::new(b.done(square)), vec![spec], shape.clone());
    let kernel = Kernel::Fold { map, reduction: Reduction::Sum, axes: vec![0], state };
    let ready = Ready::new(&kernel, &[&x], &shape, DType::F64, &[1, 1].into());
    let mut out = 0.0;
    let times = race(|| ready.launch(), || hand_sum(black_box(&x), black_box(&mut out)));
    let ours: f64 = ready.arguments.output.to_scalar().expect("one f64");
    assert!((ours / out - 1.0).abs() < 1e-12, "{ours} and {out}");
    times
}
