//! Runs that end well.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use shuttle::{future, thread};

use super::stage::{Counted, Stage, array, asking, layer, number};
use super::{ALWAYS, NEVER, RETRIES, explore};
use crate::annotate::annotate;
use crate::collections::array::Over;
use crate::collections::{Array, Delayed};
use crate::exec::Control;
use crate::parts;
use crate::task::Stopped;

/// A value, two that are made of it, and one that is made of these.
pub(super) fn diamond(stage: &Stage, number: u64) -> Delayed<Counted> {
    let made = stage.counted(number);
    let top = Delayed::<Counted>::call("top", (), move || made.clone());
    let side = |name: &str, times: u64| {
        Delayed::<Counted>::call(name, (&top,), move |top: &Counted| top.with(top.number * times))
    };
    let (left, right) = (side("left", 2), side("right", 3));
    Delayed::<Counted>::call("bottom", (&left, &right), |left: &Counted, right: &Counted| {
        left.with(left.number + right.number)
    })
}

#[test]
fn a_diamond() {
    for play in [|| a_diamond_on(1), || a_diamond_on(2), || a_diamond_on(3)] {
        explore(NEVER, play);
    }
}

fn a_diamond_on(threads: usize) {
    let stage = Stage::new(threads);
    assert_eq!(stage.number(&diamond(&stage, 1)).unwrap(), 5);
    stage.end();
}

#[test]
fn runs_of_two_priorities() {
    explore(NEVER, || {
        let stage = Stage::new(2);
        let other = stage.clone();
        let second = thread::spawn(move || {
            let plan = other.plan(&[layer(&diamond(&other, 10))]);
            number(&other.run(&plan, &Control::new().with_priority(1.0)).unwrap())
        });
        assert_eq!(stage.number(&diamond(&stage, 1)).unwrap(), 5);
        assert_eq!(second.join().unwrap(), 50);
        stage.end();
    });
}

#[test]
fn a_future_is_woken() {
    explore(NEVER, || {
        let stage = Stage::new(2);
        let plan = stage.plan(&[layer(&diamond(&stage, 1))]);
        let running = stage.submit(&plan, &Control::new());
        assert_eq!(number(&future::block_on(running).unwrap()), 5);
        drop(plan);
        stage.end();
    });
}

#[test]
fn an_attempt_fails_and_the_next_does_not() {
    explore(RETRIES, || {
        let stage = Stage::new(2);
        let (tries, made) = (AtomicU64::new(0), stage.counted(3));
        let moody = annotate(asking("retries", 2), || {
            Delayed::<Counted>::try_call("moody", (), move || match tries.fetch_add(1, Ordering::Relaxed) {
                2 => Ok(made.clone()),
                _ => Err("trouble"),
            })
        });
        let both = Delayed::<Counted>::call(
            "both",
            (&moody, &diamond(&stage, 1)),
            |moody: &Counted, diamond: &Counted| moody.with(moody.number + diamond.number),
        );
        drop(moody);
        assert_eq!(stage.number(&both).unwrap(), 8);
        drop(both);
        stage.end();
    });
}

/// A step in parts, of which each adds its number.
pub(super) fn in_parts(stage: &Stage, number: u64) -> Delayed<Counted> {
    let made = stage.counted(number);
    Delayed::<Counted>::try_call("in parts", (), move || {
        let sum = Arc::new(AtomicU64::new(0));
        let added = sum.clone();
        parts::share(2, move |part| {
            added.fetch_add(part as u64, Ordering::Relaxed);
            Ok::<_, Stopped>(())
        })?;
        assert_eq!(
            (Arc::strong_count(&sum), sum.load(Ordering::Relaxed)),
            (1, 1),
            "each part once, and all gone"
        );
        Ok::<_, Stopped>(made.with(made.number))
    })
}

/// Two steps whose parts idle workers take, beside others.
#[test]
fn steps_in_parts() {
    for play in [|| steps_in_parts_on(1), || steps_in_parts_on(2), || steps_in_parts_on(3)] {
        explore(NEVER, play);
    }
}

fn steps_in_parts_on(threads: usize) {
    let stage = Stage::new(threads);
    let both = Delayed::<Counted>::call(
        "both",
        (&in_parts(&stage, 2), &in_parts(&stage, 3)),
        |one: &Counted, other: &Counted| one.with(one.number + other.number),
    );
    assert_eq!(stage.number(&both).unwrap(), 5);
    drop(both);
    stage.end();
}

/// Work that steps submit, while they hold the only licence, that needs it too.
#[test]
fn nested_work() {
    for play in [|| nested_work_on(1), || nested_work_on(2), || nested_work_on(3)] {
        explore(NEVER, play);
    }
}

/// A step that runs a diamond.
pub(super) fn nesting(stage: &Stage, number: u64) -> Delayed<Counted> {
    let licensed = || asking("resources", serde_json::json!({"licence": 1}));
    let (engine, set) = (Arc::downgrade(&stage.engine), stage.set.clone());
    annotate(licensed(), || {
        Delayed::<Counted>::try_call("outer", (), move || {
            let Some(engine) = engine.upgrade() else { return Err("the engine is gone".to_owned()) };
            let stage = Stage { engine, set: set.clone() };
            let inner = annotate(licensed(), || diamond(&stage, number));
            let number = stage.number(&inner).map_err(|error| error.to_string())?;
            Ok(stage.counted(number))
        })
    })
}

fn nested_work_on(threads: usize) {
    let stage = Stage::new(threads);
    let (left, right) = (nesting(&stage, 1), nesting(&stage, 2));
    let sum = Delayed::<Counted>::call("sum", (&left, &right), |left: &Counted, right: &Counted| {
        left.with(left.number + right.number)
    });
    drop((left, right));
    assert_eq!(stage.number(&sum).unwrap(), 15);
    drop(sum);
    stage.end();
}

/// Steps so short that they are left to one worker, and one among them that takes its time.
#[test]
fn short_steps() {
    for play in [|| short_steps_on(2), || short_steps_on(3)] {
        explore(NEVER, play);
        explore(ALWAYS, play);
    }
}

fn short_steps_on(threads: usize) {
    let stage = Stage::new(threads);
    let x = Array::arange(0.0, 1.0, 12).rechunk(&[1]);
    let sum = ((&x * 2.0) + 1.0).sum(&Over::all());
    let plan = stage.plan(&[array(&sum)]);
    let outcome = stage.run(&plan, &Control::new()).unwrap();
    assert_eq!(outcome.results[0].array().unwrap().to_vec::<f64>().unwrap(), [144.0]);
    drop((outcome, plan));
    stage.end();
}

/// Whoever watches is told, and may be told late.
#[test]
fn a_run_that_is_watched() {
    explore(Duration::from_millis(500), || {
        let stage = Stage::new(2);
        let plan = stage.plan(&[layer(&diamond(&stage, 1))]);
        let most = Arc::new(AtomicU64::new(0));
        let seen = most.clone();
        let watch = move |finished: &[u64]| {
            seen.fetch_max(finished.iter().sum(), Ordering::Relaxed);
        };
        let outcome = stage.run(&plan, &Control::watched(watch).traced()).unwrap();
        assert_eq!(number(&outcome), 5);
        assert_eq!(most.load(Ordering::Relaxed), plan.steps.len() as u64);
        assert_eq!(outcome.record.trace.as_ref().unwrap().iter().count(), plan.steps.len());
        drop((outcome, plan));
        stage.end();
    });
}
