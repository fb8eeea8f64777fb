//! Workers that take parts of a step: the calls below cut themselves up, and their parts wait for each other.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use crate::annotate::{Annotations, annotate};
use crate::collections::{Array, Delayed, array::Over};
use crate::dtype::DType;
use crate::error::Error;
use crate::exec::{Control, ExecError, StepError};
use crate::graph::expr_ops::Distribution;
use crate::parts;
use crate::session::Session;
use crate::settings::Config;
use crate::task::Stopped;

fn session(threads: usize) -> Session {
    Session::new(Config { threads: Some(threads), ..Config::default() })
}

/// Of two parts, neither of which ends before the other has begun.
fn meeting(name: &str) -> Delayed<usize> {
    Delayed::try_call(name, (), || {
        let (met, barrier) = (Arc::new(AtomicUsize::new(0)), Barrier::new(2));
        let count = met.clone();
        parts::share(2, move |_| {
            barrier.wait();
            count.fetch_add(1, Ordering::SeqCst);
            Ok::<_, Stopped>(())
        })?;
        Ok::<_, Stopped>(met.load(Ordering::SeqCst))
    })
}

/// The engine is as it was: both workers are there.
fn is_settled(session: &Session) {
    assert_eq!(*session.compute(&meeting("afterwards")).unwrap(), 2);
}

fn step_error(error: &Error) -> &StepError {
    match error {
        Error::Exec(ExecError::Step { source, .. }) => source,
        other => panic!("{other}"),
    }
}

#[test]
fn an_idle_worker_takes_parts_and_is_in_the_books() {
    let session = session(2);
    let prepared = session.prepare(&[meeting("meeting").layer().unwrap().clone()]).unwrap();
    for _ in 0..100 {
        let completed = session.run(&prepared, &Control::new().traced()).unwrap();
        let trace: Vec<_> = completed.trace.unwrap().iter().collect();
        let (parts, attempts): (Vec<_>, Vec<_>) = trace.into_iter().partition(|record| record.is_part);
        let [part, attempt] = [parts, attempts].map(|records| match records[..] {
            [record] => record,
            _ => panic!("one of each: {records:?}"),
        });
        assert_ne!(part.worker, attempt.worker);
        assert_eq!(part.step, attempt.step);
        assert!(attempt.start <= part.start);
        let busy_s = completed.report.layers[0].busy_s.unwrap();
        let both = f64::from(part.nanoseconds) + f64::from(attempt.nanoseconds);
        assert!((busy_s * 1e9 - both).abs() < 1.0, "{busy_s} s, and {both} ns");
        assert_eq!(completed.report.layers[0].attempts, 1);
    }
}

#[test]
fn a_single_thread_has_nobody_to_share_with() {
    let session = session(1);
    let alone = Delayed::<bool>::call("alone", (), parts::has_crew);
    assert!(!*session.compute(&alone).unwrap());
}

#[test]
fn a_nested_run_is_helped_by_whoever_waits_for_it() {
    let session = Arc::new(session(2));
    for _ in 0..50 {
        let inner = session.clone();
        let outer = Delayed::<usize>::call("outer", (), move || *inner.compute(&meeting("inner")).unwrap());
        assert_eq!(*session.compute(&outer).unwrap(), 2);
    }
}

#[test]
fn a_panic_in_a_part_is_the_steps() {
    let session = session(2);
    let panics = Delayed::<u64>::try_call("panics", (), || {
        let barrier = Barrier::new(2);
        parts::share(100, move |part| {
            if part < 2 {
                barrier.wait();
                panic!("in the midst");
            }
            Ok::<_, Stopped>(())
        })?;
        Ok::<_, Stopped>(0)
    });
    let error = session.compute(&panics).unwrap_err();
    let StepError::Panic { message } = step_error(&error) else { panic!("{error}") };
    assert_eq!(message, "in the midst");
    is_settled(&session);
}

#[test]
fn cancellation_ends_with_the_parts_under_way() {
    let session = session(2);
    for _ in 0..20 {
        let (control, begun) = (Control::new(), Arc::new(AtomicUsize::new(0)));
        let (handle, count) = (control.clone(), begun.clone());
        let long = Delayed::<u64>::try_call("long", (), move || {
            let (handle, count) = (handle.clone(), count.clone());
            parts::share(100_000, move |_| {
                count.fetch_add(1, Ordering::SeqCst);
                handle.cancel();
                Ok::<_, Stopped>(())
            })?;
            Ok::<_, Stopped>(0)
        });
        let prepared = session.prepare(&[long.layer().unwrap().clone()]).unwrap();
        let error = session.run(&prepared, &control).map(|_| ()).unwrap_err();
        assert!(matches!(error, Error::Exec(ExecError::Cancelled)), "{error}");
        assert!(begun.load(Ordering::SeqCst) <= 2, "each of two may have begun before it knew");
    }
    is_settled(&session);
}

#[test]
fn a_timeout_ends_with_the_parts_under_way() {
    let session = session(2);
    let limited = Annotations::new().set("timeout", "20 ms").unwrap();
    let endless = annotate(limited, || {
        Delayed::<u64>::try_call("endless", (), || {
            parts::share(usize::MAX >> 32, |_| {
                std::thread::yield_now();
                Ok::<_, Stopped>(())
            })?;
            Ok::<_, Stopped>(0)
        })
    });
    let error = session.compute(&endless).unwrap_err();
    assert!(matches!(step_error(&error), StepError::Timeout { .. }), "{error}");
    is_settled(&session);
}

#[test]
fn parts_that_ignore_their_timeout_are_given_up_and_their_threads_come_back() {
    let session = session(2);
    let release = Arc::new(AtomicBool::new(false));
    let limited = Annotations::new().set("timeout", "20 ms").unwrap();
    let held = release.clone();
    let deaf = annotate(limited, || {
        Delayed::<u64>::try_call("deaf", (), move || {
            let held = held.clone();
            parts::share(2, move |_| {
                while !held.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
                Ok::<_, Stopped>(())
            })?;
            Ok::<_, Stopped>(0)
        })
    });
    let error = session.compute(&deaf).unwrap_err();
    assert!(matches!(step_error(&error), StepError::Abandoned { .. }), "{error}");
    // The owner's place is taken; whoever helped is stuck in its part.
    assert_eq!(*session.compute(&Delayed::<u64>::call("plain", (), || 7)).unwrap(), 7);
    release.store(true, Ordering::Relaxed);
    is_settled(&session);
}

#[test]
fn results_do_not_depend_on_threads() {
    let results = |threads: usize| {
        let session = session(threads);
        let noise = Array::random(Distribution::Normal, [1000, 1201], DType::F64, 5).rechunk(&[1000, 1201]);
        let y = &(&noise.sin() * 1e6) + &noise.abs().sqrt();
        let columns = session.compute(&y.mean(&Over::axis(0))).unwrap();
        let total = session.compute(&y.std(1, &Over::all())).unwrap();
        let turned = session.compute(&y.rechunk(&[1000, 600]).rechunk(&[1000, 1201])).unwrap();
        [columns, total, turned].map(|block| block.contiguous_bytes().map(<[u8]>::to_vec))
    };
    let one = results(1);
    assert!(one.iter().all(Option::is_some));
    for threads in [2, 4, 7] {
        assert!(results(threads) == one, "{threads} threads");
    }
}
