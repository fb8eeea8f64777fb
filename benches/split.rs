//! Pipelines over a single chunk of 2^24 `f32`s on two threads: against the same on one thread, and against hand-written
//! loops on two. `cargo bench --bench split [-- --json] [case]`.
//!
//! Times are the best of some interleaved runs, from the plan to the result. `speed-up` is at least what is promised where
//! arithmetic is the bound; where memory is, two cores may share what one can use, and the hand loop says what can be had.

#[macro_use]
mod hand;
mod table;

use std::hint::black_box;
use std::time::Instant;

use outcrop::collections::{Array, array::Over};
use outcrop::exec::Control;
use outcrop::kernel::math::Float;
use outcrop::session::{Prepared, Session};
use outcrop::settings::Config;
use table::Table;

const ELEMENTS: usize = 1 << 24;
const REPETITIONS: usize = 15;
const THREADS: usize = 2;

/// A hand-written loop over parts of two inputs.
type Hand = fn(&[f32], &[f32], &mut [f32]);

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

    fn hand_waves(x: &[f32], y: &[f32], out: &mut [f32]) {
        for ((out, &x), &y) in out.iter_mut().zip(x).zip(y) {
            *out = Float::sin(x) * Float::cos(y) + Float::exp(-x) * Float::sin(y);
        }
    }
}

fn main() {
    let table = Table::from_arguments("split");
    let values = |seed: u32| -> Vec<f32> {
        (0..ELEMENTS as u32).map(|at| (at.wrapping_mul(seed) >> 8) as f32 / 8_388_608.0).collect()
    };
    let (x, y) = (values(1_664_525), values(22_695_477));
    let one_chunk = |values: &[f32]| Array::from_slice([ELEMENTS], values).rechunk(&[ELEMENTS]);
    let (a, b) = (one_chunk(&x), one_chunk(&y));
    let cases: [(&str, Array, Hand, Option<f64>); 3] = [
        ("axpy 0.5x+y", &a * 0.5 + &b, hand_axpy, None),
        ("sqrt(x*x+y*y)*exp(-x)", (&a * &a + &b * &b).sqrt() * (-&a).exp(), hand_hypot_exp, None),
        ("sin x cos y + exp(-x) sin y", a.sin() * b.cos() + (-&a).exp() * b.sin(), hand_waves, Some(1.8)),
    ];
    for (name, array, hand, promised) in cases {
        if table.wants(name) {
            let mut out = vec![0.0; ELEMENTS];
            elementwise(&table, name, &array, promised, || by_hand(hand, &x, &y, black_box(&mut out)));
        }
    }
    let sum = (&a * &a).sum(&Over::all());
    if table.wants("sum of x*x") {
        let [one, two] = race([&mut runs(1, &sum), &mut runs(THREADS, &sum)]);
        table.figure("sum of x*x: two threads", two, "ms");
        table.figure("sum of x*x: speed-up", one / two, "x");
    }
}

fn elementwise(table: &Table, name: &str, array: &Array, promised: Option<f64>, mut hand: impl FnMut()) {
    let [one, two, by_hand] = race([&mut runs(1, array), &mut runs(THREADS, array), &mut hand]);
    table.figure(&format!("{name}: two threads"), two, "ms");
    match promised {
        Some(promised) => {
            table.row_at_least(&format!("{name}: speed-up"), one / two, "x", promised);
            table.figure(&format!("{name}: to the hand loop's"), two / by_hand, "x");
        }
        None => {
            table.figure(&format!("{name}: speed-up"), one / two, "x");
            table.row(&format!("{name}: to the hand loop's"), two / by_hand, "x", 1.2);
        }
    }
}

/// Runs of one plan in a session of so many threads.
fn runs(threads: usize, array: &Array) -> impl FnMut() + use<> {
    let session = Session::new(Config { threads: Some(threads), cpu_only: Some(true), ..Config::default() });
    let layer = array.layer().expect("a sound layer").clone();
    let prepared: Prepared = session.prepare(&[layer]).expect("a plan");
    move || {
        black_box(session.run(&prepared, &Control::new()).expect("a run"));
    }
}

/// Half of it on each of two threads.
fn by_hand(hand: Hand, x: &[f32], y: &[f32], out: &mut [f32]) {
    let half = ELEMENTS / THREADS;
    std::thread::scope(|scope| {
        for ((x, y), out) in x.chunks(half).zip(y.chunks(half)).zip(out.chunks_mut(half)) {
            scope.spawn(move || hand(x, y, out));
        }
    });
}

/// Best times in milliseconds, interleaved so that a busy machine hits all alike.
fn race<const N: usize>(mut all: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut best = [f64::INFINITY; N];
    for _ in 0..REPETITIONS {
        for (best, run) in best.iter_mut().zip(&mut all) {
            let start = Instant::now();
            run();
            *best = best.min(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    best
}
