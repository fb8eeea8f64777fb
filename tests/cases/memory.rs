//! Memory and moves: budgets that hold, producers that don't run ahead, moves that are all told.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use outcrop::collections::Array;
use outcrop::collections::array::Over;
use outcrop::dtype::DType;
use outcrop::error::ErrorClass;
use outcrop::exec::Control;
use outcrop::graph::expr_ops::Distribution;
use outcrop::session::{Completed, Session};
use outcrop::settings::Config;
use outcrop::steps::StepKind;
use outcrop::units::Bytes;

fn session(memory: Option<u64>) -> Session {
    Session::new(Config { threads: Some(2), memory: memory.map(Bytes), ..Config::default() })
}

fn run(array: &Array, memory: Option<u64>) -> Completed {
    let session = session(memory);
    let prepared = session.prepare(&[array.layer().unwrap().clone()]).unwrap();
    session.run(&prepared, &Control::new()).unwrap()
}

fn values(completed: &Completed) -> Vec<f64> {
    completed.results[0].array().unwrap().to_vec().unwrap()
}

/// Blocks of a function's, which nothing is fused with.
fn made(shape: &[usize], blocks: &[usize]) -> Array {
    let x = Array::random(Distribution::Uniform, shape, DType::F64, 3).rechunk(blocks);
    x.map_blocks("made", |block| block.to_vec::<f64>().unwrap_or_default())
}

#[test]
fn case_e03_budgets_are_kept_and_refused_only_below_one_working_set() {
    let columns = made(&[96, 96], &[4, 96]).rechunk(&[96, 4]).max(&Over::axis(0));
    let free = run(&columns, None);
    let peak = free.report.peak_bytes["host"];
    for share in [100, 70, 50, 30] {
        let completed = run(&columns, Some(peak * share / 100));
        assert_eq!(values(&completed), values(&free), "{share} %");
        assert!(completed.report.peak_bytes["host"] <= peak * share / 100, "{share} %");
    }
    // A column and its pieces, beside the result.
    let working_set = (2 * 96 * 4 + 96) * 8;
    assert_eq!(values(&run(&columns, Some(working_set))), values(&free));
    let layers = [columns.layer().unwrap().clone()];
    let refused = session(Some(working_set - 1)).prepare(&layers).map(|_| ()).unwrap_err();
    assert_eq!(refused.class(), ErrorClass::Unsatisfiable, "{refused}");
}

#[test]
fn case_e06_producers_stay_near_their_consumers() {
    let x = made(&[10_000 * 64], &[64]);
    let range = x.max(&Over::all()) - x.min(&Over::all());
    let completed = run(&range, None);
    let chunks = completed.report.peak_bytes["host"] as f64 / (64.0 * 8.0);
    assert!(chunks <= 40.0, "{chunks} chunks at once");
}

#[test]
fn case_e08_moves_in_the_report_are_those_made() {
    let x = made(&[1 << 14], &[1 << 9]);
    let array = (&x - &x.mean(&Over::all())).abs().sum(&Over::all());
    let peak = run(&array, None).report.peak_bytes["host"];
    let session = session(Some(peak / 2));
    let prepared = session.prepare(&[array.layer().unwrap().clone()]).unwrap();
    let seen: Arc<Mutex<BTreeMap<&str, (u64, u64)>>> = Arc::default();
    let (plan, counts) = (prepared.plan.clone(), seen.clone());
    let control = Control::new().observed(move |event| {
        let to = match event.kind {
            StepKind::Spill => "disk",
            StepKind::Reload => "host",
            _ => return,
        };
        let mut counts = counts.lock().unwrap();
        let moved = counts.entry(to).or_default();
        *moved = (moved.0 + 1, moved.1 + plan.step(event.step).bytes);
    });
    let report = session.run(&prepared, &control).unwrap().report;
    let edges = report.transfers.edges.iter();
    let told: BTreeMap<&str, (u64, u64)> =
        edges.map(|edge| (edge.to.as_str(), (edge.count, edge.bytes))).collect();
    let seen = seen.lock().unwrap();
    assert!(seen["disk"].0 > 0 && seen["host"].0 > 0, "{seen:?}");
    assert_eq!(*seen, told);
    let all = seen.values().fold((0, 0), |all, moved| (all.0 + moved.0, all.1 + moved.1));
    assert_eq!((report.transfers.count, report.transfers.bytes), all);
}
