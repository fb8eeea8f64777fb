//! How long graphs take to build and rewrite: no device is touched and nothing is computed.
//! `cargo bench --bench graph [-- --json] [case]`.
//!
//! Times are the best of many repetitions; `bound` is what the test cases promise (CASES c13).

use std::hint::black_box;
use std::time::{Duration, Instant};

use outcrop::collections::Array;
use outcrop::dtype::DType;
use outcrop::graph::layer_graph::LayerGraph;
use outcrop::plan::fuse::fuse;

const REPETITIONS: usize = 30;

/// Runs a case; its milliseconds.
type Case = fn() -> f64;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let is_json = arguments.iter().any(|a| a == "--json");
    let wanted = arguments.iter().find(|a| !a.starts_with("--"));
    let cases: [(&str, f64, Case); 1] = [("fuse a chain of 1,000 maps", 10.0, fuse_chain)];
    if !is_json {
        println!("{:40} {:>10} {:>10} {:>7}", "case", "ms", "bound ms", "ratio");
    }
    for (name, bound, run) in cases {
        if wanted.is_some_and(|wanted| !name.contains(wanted.as_str())) {
            continue;
        }
        let ours = run();
        let ratio = ours / bound;
        if is_json {
            println!(
                "{{\"bench\":\"graph\",\"case\":\"{name}\",\"value\":{ours:.4},\"unit\":\"ms\",\
                 \"reach\":{bound:.3},\"peer\":\"bound\",\"ratio\":{ratio:.4}}}"
            );
        } else {
            println!("{name:40} {ours:10.3} {bound:10.1} {ratio:7.3}");
        }
    }
}

/// The best time in milliseconds.
fn best<T>(mut body: impl FnMut() -> T) -> f64 {
    let mut best = Duration::MAX;
    for _ in 0..REPETITIONS {
        let start = Instant::now();
        black_box(body());
        best = best.min(start.elapsed());
    }
    best.as_secs_f64() * 1e3
}

fn fuse_chain() -> f64 {
    let chain = (0..1000).fold(Array::zeros([1024], DType::F64), |x, i| &x + f64::from(i));
    let layer = chain.layer().expect("the chain is well formed").clone();
    let graph = LayerGraph::from_outputs(&[layer]).expect("no name clashes");
    best(|| fuse(&graph, |_, _| true))
}
