//! Runs under budgets below what their plans hold at once: equal values, never above the budget, spills shown.

use outcrop::collections::{Array, array::Over};
use outcrop::dtype::DType;
use outcrop::error::ErrorClass;
use outcrop::exec::Control;
use outcrop::graph::expr_ops::Distribution;
use outcrop::session::{Completed, Session};
use outcrop::settings::Config;
use outcrop::units::Bytes;

fn session(memory: Option<u64>, threads: usize) -> Session {
    Session::new(Config { threads: Some(threads), memory: memory.map(Bytes), ..Config::default() })
}

fn run(array: &Array, session: &Session) -> Completed {
    let prepared = session.prepare(&[array.layer().unwrap().clone()]).unwrap();
    session.run(&prepared, &Control::new()).unwrap()
}

fn peak(array: &Array, threads: usize) -> u64 {
    let prepared = session(None, threads).prepare(&[array.layer().unwrap().clone()]).unwrap();
    prepared.plan.memories[0].peak.0
}

/// Blocks that are made once and read twice: for the mean, and to be centred by it.
fn centred() -> Array {
    let x = Array::random(Distribution::Uniform, [1 << 16], DType::F64, 7).rechunk(&[1 << 10]);
    let x = x.map_blocks("squared", |block| {
        block.to_vec::<f64>().unwrap_or_default().iter().map(|x| x * x).collect::<Vec<f64>>()
    });
    (&x - &x.mean(&Over::all())).abs().sum(&Over::all())
}

/// Three passes over the same blocks.
fn standardised() -> Array {
    let x = Array::random(Distribution::Normal, [256, 64], DType::F64, 8).rechunk(&[8, 64]);
    let x = x.map_blocks("doubled", |block| {
        block.to_vec::<f64>().unwrap_or_default().iter().map(|x| x * 2.0).collect::<Vec<f64>>()
    });
    let (mean, std) = (x.mean(&Over::axis(0)), x.std(0, &Over::axis(0)));
    ((&x - &mean) / &std).sum(&Over::axis(1))
}

/// Rows that are made once, summed by columns: every column reads every row.
fn turned() -> Array {
    let x = Array::random(Distribution::Uniform, [128, 128], DType::F64, 9).rechunk(&[4, 128]);
    let x = x.map_blocks("halved", |block| {
        block.to_vec::<f64>().unwrap_or_default().iter().map(|x| x / 2.0).collect::<Vec<f64>>()
    });
    x.rechunk(&[128, 4]).std(0, &Over::axis(0))
}

#[test]
fn budgets_below_the_peak_give_equal_values() {
    for (name, array) in [("means", centred()), ("standardised", standardised()), ("turned", turned())] {
        let unlimited = run(&array, &session(None, 2));
        let expected = unlimited.results[0].array().unwrap().to_vec::<f64>().unwrap();
        let peak = peak(&array, 2);
        for share in [100, 70, 50, 30] {
            let budget = peak * share / 100;
            for threads in [1, 2] {
                let session = session(Some(budget), threads);
                let completed = run(&array, &session);
                let values = completed.results[0].array().unwrap().to_vec::<f64>().unwrap();
                assert_eq!(values, expected, "{name} at {share} %, {threads} threads");
                let report = &completed.report;
                assert!(report.peak_bytes["host"] <= budget, "{name} at {share} %: {report}");
                let spilled = report.transfers.edges.iter().any(|edge| edge.to == "disk");
                assert_eq!(spilled, share < 100, "{name} at {share} %: {report}");
            }
        }
    }
}

#[test]
fn a_budget_below_one_working_set_is_refused_before_anything_runs() {
    let array = centred();
    let session = session(Some(peak(&array, 2) / 100), 2);
    let error = session.prepare(&[array.layer().unwrap().clone()]).map(|_| ()).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Unsatisfiable, "{error}");
}
