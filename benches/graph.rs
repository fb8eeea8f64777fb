//! How long graphs take to build and rewrite, and what they hold: no device is touched and nothing is computed.
//! `cargo bench --bench graph [-- --json] [case]`.
//!
//! Times are the best of many repetitions, without dropping what was built; `bound` is what is promised (CASES c05,
//! c12, c13, and the figures in the README).

mod heap;
mod table;

use std::hint::black_box;
use std::time::{Duration, Instant};

use outcrop::annotate::Annotations;
use outcrop::collections::delayed::function;
use outcrop::collections::manipulate::{self, Options, SplitEvery, bind, checkpoint};
use outcrop::collections::{Array, Collection, Delayed};
use outcrop::dtype::DType;
use outcrop::graph::keys::Keys;
use outcrop::graph::layer_graph::LayerGraph;
use outcrop::key::Key;
use outcrop::plan::fuse::fuse;
use outcrop::session::Session;
use outcrop::settings::Config;
use table::Table;

const REPETITIONS: usize = 30;
/// Calls in a chain of delayed calls.
const CALLS: usize = 100_000;

/// A case: its name, its unit, what is promised, and what measures it.
type Case = (&'static str, &'static str, f64, fn() -> f64);

const CASES: [Case; 13] = [
    ("build 11 layers, 1.1 M tasks", "ms", 5.0, || best(pyramid)),
    ("hold 11 layers, 1.1 M tasks", "KiB", 64.0, || held(pyramid) / 1024.0),
    ("cull 11 layers, 1.1 M tasks to one block", "ms", 1.0, cull_one),
    ("cull three layers of 10^8 blocks to one", "ms", 1.0, cull_wide),
    ("a delayed call", "us", 2.0, || call_time(impure_chain)),
    ("a registered delayed call", "us", 2.0, || call_time(pure_chain)),
    ("a delayed call", "bytes", 1024.0, || held(impure_chain) / CALLS as f64),
    ("index a chain of 10^5 calls", "ms", 200.0, index_chain),
    // Dask's scheduler costs 24 to 90 us a task on one machine.
    ("plan and run a chain of 10^5 calls, a call", "us", 24.0, run_chain),
    ("fuse a chain of 1,000 maps", "ms", 10.0, fuse_chain),
    ("clone 1,000 layers", "ms", 10.0, || over_chain(|x| manipulate::clone(x, &Options::new()).map(drop))),
    ("bind 1,000 layers", "ms", 10.0, || {
        let parent = Delayed::literal(0i64);
        let options = Options::new();
        best_of(&chain(), |x| bind(x, &parent, &options).map(drop))
    }),
    ("checkpoint 1.1 M tasks", "ms", 1.0, || {
        let pyramid = pyramid();
        best(|| checkpoint(&pyramid, SplitEvery::Auto))
    }),
];

fn main() {
    let table = Table::from_arguments("graph");
    for (name, unit, bound, run) in CASES.into_iter().filter(|(name, ..)| table.wants(name)) {
        table.row(name, run(), unit, bound);
    }
}

/// The best time in milliseconds.
fn best<T>(mut body: impl FnMut() -> T) -> f64 {
    let mut best = Duration::MAX;
    for _ in 0..REPETITIONS {
        let start = Instant::now();
        let built = black_box(body());
        best = best.min(start.elapsed());
        drop(built);
    }
    best.as_secs_f64() * 1e3
}

/// Bytes that a value holds.
fn held<T>(build: impl FnOnce() -> T) -> f64 {
    heap::measured(build).1
}

/// Ten elementwise layers with a stencil among them over 10^5 blocks each, and as many again by a rechunk.
fn pyramid() -> Array {
    let x = Array::zeros([100_000_000], DType::F32).rechunk(&[1000]);
    let smooth = (1..9).fold(x, |x, i| if i == 4 { x.gradient(1.0, 0) } else { &x + f64::from(i) });
    smooth.rechunk(&[999]).sqrt()
}

fn cull_one() -> f64 {
    let pyramid = pyramid();
    let graph = pyramid.graph().expect("well formed");
    assert!(graph.layer_count() == 11 && graph.len() > 1_100_000);
    let name = pyramid.layer().expect("well formed").shared_name().clone();
    let one = Keys::One(Key::block(name, &[50_000]).expect("named"));
    best(|| graph.cull(&one))
}

fn cull_wide() -> f64 {
    let x = Array::arange(0.0, 1.0, 1_000_000_000).rechunk(&[10]);
    let y = (&x + 1.0).gradient(1.0, 0);
    let graph = y.graph().expect("well formed");
    let name = y.layer().expect("well formed").shared_name().clone();
    let one = Keys::One(Key::block(name, &[77_000_000]).expect("named"));
    best(|| graph.cull(&one))
}

fn impure_chain() -> Delayed<i64> {
    let start = Delayed::literal(0);
    (0..CALLS).fold(start, |n, _| Delayed::call("next", (&n,), |n: &i64| n + 1))
}

fn pure_chain() -> Delayed<i64> {
    let next = function("next", 1, |n: &i64| n + 1);
    (0..CALLS).fold(Delayed::literal(0), |n, _| next.call((&n,)))
}

/// Microseconds of one call.
fn call_time(chain: fn() -> Delayed<i64>) -> f64 {
    let ms = (0..3).map(|_| {
        let start = Instant::now();
        let built = black_box(chain());
        let ms = start.elapsed().as_secs_f64() * 1e3;
        drop(built);
        ms
    });
    ms.fold(f64::INFINITY, f64::min) * 1e3 / CALLS as f64
}

fn index_chain() -> f64 {
    let chain = impure_chain();
    let index = || {
        let start = Instant::now();
        let graph = chain.graph().expect("well formed");
        assert_eq!(graph.layer_count(), CALLS + 1);
        start.elapsed().as_secs_f64() * 1e3
    };
    (0..3).map(|_| index()).fold(f64::INFINITY, f64::min)
}

fn run_chain() -> f64 {
    let chain = impure_chain();
    let session = Session::new(Config { threads: Some(2), ..Config::default() });
    let run = || {
        let start = Instant::now();
        assert_eq!(*session.compute(&chain).expect("runs"), CALLS as i64);
        start.elapsed().as_secs_f64() * 1e6
    };
    (0..3).map(|_| run()).fold(f64::INFINITY, f64::min) / CALLS as f64
}

fn chain() -> Array {
    (0..1000).fold(Array::zeros([1024], DType::F64), |x, i| &x + f64::from(i))
}

fn over_chain<E: std::fmt::Debug>(body: fn(&Array) -> Result<(), E>) -> f64 {
    best_of(&chain(), body)
}

fn best_of<E: std::fmt::Debug>(array: &Array, body: impl Fn(&Array) -> Result<(), E>) -> f64 {
    best(|| body(array).expect("well formed"))
}

fn fuse_chain() -> f64 {
    let layer = chain().layer().expect("the chain is well formed").clone();
    let graph = LayerGraph::from_outputs(&[layer]).expect("no name clashes");
    let annotations = vec![Annotations::new(); graph.layer_count()];
    best(|| fuse(&graph, &annotations, |_| false, |_, _| true))
}
