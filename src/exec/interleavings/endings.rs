//! Runs that are broken off: cancelled, failed, given up, left alone.

use std::future::Future;
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use shuttle::rand::Rng;
use shuttle::sync::atomic::{AtomicU64, Ordering};
use shuttle::thread;

use super::runs::{diamond, in_parts, nesting};
use super::stage::{Counted, Stage, asking, layer, machine, number};
use super::{ALWAYS, NEVER, RETRIES, explore};
use crate::annotate::annotate;
use crate::collections::Delayed;
use crate::device::sim::FaultPlan;
use crate::exec::engine::Outcome;
use crate::exec::{Control, ExecError, StepError};

/// It ended well, or because somebody cancelled.
fn is_right_or_cancelled(ended: &Result<Outcome, ExecError>, right: u64) {
    match ended {
        Ok(outcome) => assert_eq!(number(outcome), right),
        Err(error) => assert!(matches!(error, ExecError::Cancelled), "{error}"),
    }
}

#[test]
fn cancelled_at_any_time() {
    explore(NEVER, || cancelled_around(2, |stage| diamond(stage, 1)));
}

#[test]
fn cancelled_while_a_step_is_in_parts() {
    explore(NEVER, || cancelled_around(2, |stage| in_parts(stage, 5)));
}

/// A run whose result is 5 is cancelled by another thread.
fn cancelled_around(threads: usize, call: impl Fn(&Stage) -> Delayed<Counted>) {
    let stage = Stage::new(threads);
    let plan = stage.plan(&[layer(&call(&stage))]);
    let control = Control::new();
    let handle = control.clone();
    let canceller = thread::spawn(move || handle.cancel());
    is_right_or_cancelled(&stage.run(&plan, &control), 5);
    canceller.join().unwrap();
    drop(plan);
    stage.end();
}

#[test]
fn cancelled_while_a_retry_is_due() {
    explore(RETRIES, || {
        let stage = Stage::new(2);
        let failing = annotate(asking("retries", 2), || {
            Delayed::<Counted>::try_call("failing", (), || Err::<Counted, _>("trouble"))
        });
        let plan = stage.plan(&[layer(&failing)]);
        let control = Control::new();
        let handle = control.clone();
        let canceller = thread::spawn(move || handle.cancel());
        let error = stage.run(&plan, &control).map(|_| ()).unwrap_err();
        assert!(matches!(error, ExecError::Cancelled | ExecError::Step { attempts: 3, .. }), "{error}");
        canceller.join().unwrap();
        drop((plan, failing));
        stage.end();
    });
}

#[test]
fn a_future_is_dropped() {
    explore(NEVER, || {
        let stage = Stage::new(2);
        let plan = stage.plan(&[layer(&diamond(&stage, 1))]);
        {
            let mut running = pin!(stage.submit(&plan, &Control::new()));
            let _ = running.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }
        drop(plan);
        let after = stage.plan(&[layer(&diamond(&stage, 10))]);
        assert_eq!(number(&stage.run(&after, &Control::new()).unwrap()), 50);
        drop(after);
        // The other may have just been told to end.
        stage.settle();
        stage.leave();
    });
}

#[test]
fn a_step_panics() {
    explore(NEVER, || {
        let stage = Stage::new(2);
        let made = stage.counted(1);
        let top = Delayed::<Counted>::call("top", (), move || made.clone());
        let panics = Delayed::<Counted>::call("panics", (&top,), |_: &Counted| -> Counted {
            resume_unwind(Box::new("out of order"))
        });
        let beside = Delayed::<Counted>::call("beside", (&top,), Counted::clone);
        let both =
            Delayed::<Counted>::call("both", (&panics, &beside), |left: &Counted, _: &Counted| left.clone());
        let error = stage.number(&both).unwrap_err();
        let ExecError::Step { ref source, .. } = error else { panic!("{error}") };
        assert!(matches!(**source, StepError::Panic { .. }), "{error}");
        drop((top, panics, beside, both));
        stage.end();
    });
}

#[test]
fn a_deadline() {
    explore(ALWAYS, || {
        let stage = Stage::new(2);
        let plan = stage.plan(&[layer(&diamond(&stage, 1))]);
        match stage.run(&plan, &Control::new().with_deadline(Duration::from_millis(20))) {
            Ok(outcome) => assert_eq!(number(&outcome), 5),
            Err(error) => assert!(matches!(error, ExecError::Deadline { .. }), "{error}"),
        }
        drop(plan);
        stage.end();
    });
}

/// The first attempt never asks whether it should stop, and is given up; the second one isn't slow.
#[test]
fn an_attempt_is_given_up() {
    for play in [|| an_attempt_is_given_up_on(1), || an_attempt_is_given_up_on(2)] {
        explore(ALWAYS, play);
    }
}

fn an_attempt_is_given_up_on(threads: usize) {
    const GOES_ON: u64 = 100;
    let stage = Stage::new(threads);
    let (tries, made) = (Arc::new(AtomicU64::new(0)), stage.counted(1));
    let signal = tries.clone();
    let terms = asking("timeout", "20 ms").set("retries", 3).unwrap();
    let stuck = annotate(terms, || {
        Delayed::<Counted>::call("stuck", (), move || {
            if signal.fetch_add(1, Ordering::SeqCst) == 0 {
                while signal.load(Ordering::SeqCst) < GOES_ON {
                    thread::yield_now();
                }
            }
            made.clone()
        })
    });
    let both = Delayed::<Counted>::call(
        "both",
        (&stuck, &diamond(&stage, 1)),
        |stuck: &Counted, diamond: &Counted| stuck.with(stuck.number + diamond.number),
    );
    drop(stuck);
    let ended = stage.number(&both);
    tries.fetch_add(GOES_ON, Ordering::SeqCst);
    // Later attempts may come too late as well: it is always much later.
    match ended {
        Ok(number) => assert_eq!(number, 6),
        Err(error) => assert!(matches!(error, ExecError::Step { .. }), "{error}"),
    }
    drop(both);
    stage.settle();
    // Those who were given up are nobody's; they end when they like.
    let pool = Arc::downgrade(&stage.engine.pool);
    drop(stage);
    while pool.strong_count() > 0 {
        thread::yield_now();
    }
}

#[test]
fn the_engine_is_dropped_under_way() {
    // Of runs that have room beside each other, and of one that waits for another.
    for play in [|| the_engine_is_dropped("1 KiB"), || the_engine_is_dropped("700 KiB")] {
        explore(NEVER, play);
    }
}

fn the_engine_is_dropped(memory: &str) {
    let stage = Stage::on(machine("cpu-only"), 2, Some(1 << 20), FaultPlan::none());
    let runs: Vec<_> = [1, 10]
        .map(|number| {
            let diamond = annotate(asking("memory", memory), || diamond(&stage, number));
            (number, stage.submit(&stage.plan(&[layer(&diamond)]), &Control::new()))
        })
        .into_iter()
        .collect();
    let waiters: Vec<_> = runs
        .into_iter()
        .map(|(number, running)| thread::spawn(move || is_right_or_cancelled(&running.wait(), 5 * number)))
        .collect();
    // Whoever waits has a handle on the pool, and no engine.
    let Stage { engine, set } = stage;
    drop(engine);
    waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    set.is_empty();
}

/// Outer steps wait for runs of their own when somebody cancels the outer run.
#[test]
fn cancelled_while_nested_work_is_under_way() {
    for threads in [1, 2] {
        explore(NEVER, move || cancelled_around(threads, |stage| nesting(stage, 1)));
    }
}

#[test]
fn the_engine_is_dropped_while_a_step_waits() {
    for play in [|| the_engine_is_dropped_around(1), || the_engine_is_dropped_around(2)] {
        explore(NEVER, play);
    }
}

fn the_engine_is_dropped_around(threads: usize) {
    let stage = Stage::new(threads);
    let running = stage.submit(&stage.plan(&[layer(&nesting(&stage, 1))]), &Control::new());
    let waiter = thread::spawn(move || {
        // A step that begins just then finds no engine.
        if let Err(error) = running.wait() {
            assert!(matches!(error, ExecError::Cancelled | ExecError::Step { .. }), "{error}");
        }
    });
    let pool = Arc::downgrade(&stage.engine.pool);
    drop(stage);
    waiter.join().unwrap();
    // The step may have been the last to have the engine: then its own worker isn't waited for.
    while pool.strong_count() > 0 {
        thread::yield_now();
    }
}

/// A run waits for room that another has, and either is cancelled.
#[test]
fn a_run_waits_for_room() {
    explore(NEVER, || {
        let stage = Stage::on(machine("cpu-only"), 2, Some(1 << 20), FaultPlan::none());
        let (first, second) = (Control::new(), Control::new());
        let handles = [first.clone(), second.clone()];
        let other = stage.clone();
        let large = |stage: &Stage, number| {
            let call = annotate(asking("memory", "700 KiB"), || diamond(stage, number));
            stage.plan(&[layer(&call)])
        };
        let plan = large(&stage, 1);
        let waiter = thread::spawn(move || {
            let plan = large(&other, 10);
            is_right_or_cancelled(&other.run(&plan, &second), 50);
        });
        let canceller = thread::spawn(move || handles[shuttle::rand::thread_rng().gen_range(0..2)].cancel());
        is_right_or_cancelled(&stage.run(&plan, &first), 5);
        waiter.join().unwrap();
        canceller.join().unwrap();
        drop(plan);
        stage.end();
    });
}
