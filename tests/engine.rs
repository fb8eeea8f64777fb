//! The engine: timeouts, deadlines, cancellation, nested work, several runs at once.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::task::{Context, Waker};
use std::time::Duration;

use outcrop::annotate::{Annotations, Value, annotate};
use outcrop::collections::{Array, Delayed, array::Over};
use outcrop::error::{Error, ErrorClass};
use outcrop::exec::{Control, ExecError, StepError};
use outcrop::session::Session;
use outcrop::settings::Config;
use outcrop::task;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn session(threads: usize) -> Session {
    let resources = Some([("licence".to_owned(), 1.0)].into_iter().collect());
    Session::new(Config { threads: Some(threads), resources, ..Config::default() })
}

fn asking(key: &str, value: impl Into<Value>) -> Annotations {
    Annotations::new().set(key, value).unwrap()
}

fn exec_error(error: &Error) -> &ExecError {
    match error {
        Error::Exec(error) => error,
        other => panic!("{other}"),
    }
}

#[test]
fn a_function_that_asks_is_stopped_in_time() {
    let session = session(2);
    let endless = annotate(asking("timeout", "20 ms"), || {
        Delayed::<u64>::try_call("endless", (), || {
            loop {
                task::check()?;
                std::hint::spin_loop();
            }
            #[allow(unreachable_code)]
            Ok::<_, task::Stopped>(0)
        })
    });
    let error = session.compute(&endless).unwrap_err();
    let ExecError::Step { source, .. } = exec_error(&error) else { panic!("{error}") };
    assert!(matches!(**source, StepError::Timeout { .. }), "{error}");
    assert_eq!(
        session.compute(&Array::arange(0.0, 1.0, 10).sum(&Over::all())).unwrap().to_scalar(),
        Some(45.0)
    );
}

#[test]
fn a_function_that_never_asks_is_given_up_and_the_rest_goes_on() {
    let session = session(1);
    let release = Arc::new(AtomicBool::new(false));
    let held = release.clone();
    let licensed = asking("timeout", "20 ms").set("resources", serde_json::json!({"licence": 1})).unwrap();
    let endless = annotate(licensed, || {
        Delayed::<u64>::call("endless", (), move || {
            while !held.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            0
        })
    });
    let error = session.compute(&endless).unwrap_err();
    let ExecError::Step { source, .. } = exec_error(&error) else { panic!("{error}") };
    assert!(matches!(**source, StepError::Abandoned { .. }), "{error}");
    assert!(error.to_string().contains("outcrop::task::check()"), "{error}");
    // The only thread is gone, and another has taken its place.
    assert_eq!(session.compute(&Delayed::<u64>::call("plain", (), || 7)).unwrap(), 7.into());
    // What it holds can't be had, and nobody waits for it in vain.
    let wants = asking("resources", serde_json::json!({"licence": 1}));
    let licensed = || annotate(wants.clone(), || Delayed::<u64>::call("licensed", (), || 8));
    let error = session.compute(&licensed()).unwrap_err();
    assert!(matches!(exec_error(&error), ExecError::Starved), "{error}");
    release.store(true, Ordering::Relaxed);
    while session.compute(&licensed()).is_err() {
        std::thread::yield_now();
    }
    assert_eq!(session.compute(&licensed()).unwrap(), 8.into());
}

#[test]
fn a_deadline_ends_a_run() {
    let session = session(2);
    let endless = Delayed::<u64>::try_call("endless", (), || {
        loop {
            task::check()?;
        }
        #[allow(unreachable_code)]
        Ok::<_, task::Stopped>(0)
    });
    let prepared = session.prepare(&[endless.layer().unwrap().clone()]).unwrap();
    let control = Control::new().with_deadline(Duration::from_millis(20));
    let error = session.run(&prepared, &control).map(|_| ()).unwrap_err();
    assert!(matches!(exec_error(&error), ExecError::Deadline { .. }), "{error}");
}

#[test]
fn nested_work_finishes_with_one_thread_and_one_licence() -> Outcome {
    for threads in [1, 2] {
        let session = Arc::new(session(threads));
        let licence = || asking("resources", serde_json::json!({"licence": 1}));
        let inner = session.clone();
        let outer: Vec<Delayed<f64>> = (0..8)
            .map(|at| {
                let session = inner.clone();
                annotate(licence(), || {
                    Delayed::<f64>::try_call("outer", (), move || {
                        let x = Array::arange(0.0, 1.0, 100).rechunk(&[10]);
                        let innermost = session.clone();
                        let deepest =
                            annotate(asking("resources", serde_json::json!({"licence": 1})), || {
                                Delayed::<f64>::try_call("deepest", (), move || {
                                    innermost
                                        .compute(&Delayed::<f64>::call("one", (), || 1.0))
                                        .map(|one| *one)
                                })
                            });
                        let sum = x.sum(&Over::all());
                        let (sum, one) = session.compute(&(sum, deepest))?;
                        Ok::<_, Error>(sum.to_scalar::<f64>().unwrap_or(f64::NAN) + *one + f64::from(at))
                    })
                })
            })
            .collect();
        let values: Vec<f64> = session.compute(&outer)?.iter().map(|value| **value).collect();
        assert_eq!(values, (0..8).map(|at| 4951.0 + f64::from(at)).collect::<Vec<_>>());
    }
    Ok(())
}

#[test]
fn nested_work_beyond_what_is_left_is_refused_at_once() {
    let config = Config { threads: Some(2), memory: Some("8 MiB".parse().unwrap()), ..Config::default() };
    let session = Arc::new(Session::new(config));
    let inner = session.clone();
    let outer = annotate(asking("memory", "6 MiB"), || {
        Delayed::<String>::call("outer", (), move || {
            // Four MiB of a result, of the two that are left.
            let x = Array::arange(0.0, 1.0, 1 << 19);
            let error = inner.compute(&(&x.rechunk(&[1 << 17]) + 1.0)).unwrap_err();
            assert_eq!(error.class(), ErrorClass::Unsatisfiable, "{error}");
            error.to_string()
        })
    });
    let message = session.compute(&outer).unwrap();
    assert!(message.contains("at once, and 2.0 MiB can be had"), "{message}");
}

#[test]
fn runs_of_one_session_are_under_way_together() {
    let session = session(2);
    let meet = Arc::new(Barrier::new(2));
    let one = |name: &str| {
        let meet = meet.clone();
        Delayed::<bool>::call(name, (), move || {
            meet.wait();
            true
        })
    };
    let (left, right) = (one("left"), one("right"));
    std::thread::scope(|scope| {
        let other = scope.spawn(|| session.compute(&right).unwrap());
        assert!(*session.compute(&left).unwrap());
        assert!(*other.join().unwrap());
    });
}

#[test]
fn a_run_that_has_no_room_beside_others_waits_for_it() {
    let config = Config { threads: Some(2), memory: Some("8 MiB".parse().unwrap()), ..Config::default() };
    let session = Session::new(config);
    let under_way = Arc::new(AtomicUsize::new(0));
    let large = |name: &str| {
        let under_way = under_way.clone();
        annotate(asking("memory", "6 MiB"), || {
            Delayed::<usize>::call(name, (), move || {
                let count = under_way.fetch_add(1, Ordering::SeqCst);
                std::thread::yield_now();
                under_way.fetch_sub(1, Ordering::SeqCst);
                count
            })
        })
    };
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..6)
            .map(|at| {
                let (session, call) = (&session, large(&format!("large-{at}")));
                scope.spawn(move || session.compute(&call).unwrap())
            })
            .collect();
        assert!(runs.into_iter().all(|run| *run.join().unwrap() == 0), "two of 6 MiB at once in 8");
    });
}

#[test]
fn a_dropped_future_cancels_its_run() {
    let session = session(1);
    let (started, has_started) = mpsc::channel();
    let (ended, has_ended) = mpsc::channel();
    let call = Delayed::<u64>::try_call("waits", (), move || {
        started.send(()).map_err(|error| error.to_string())?;
        while task::check().is_ok() {
            std::thread::yield_now();
        }
        ended.send(()).map_err(|error| error.to_string())?;
        Ok::<_, String>(0)
    });
    let mut future = Box::pin(session.compute_async(&call));
    let mut context = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut future).poll(&mut context).is_pending());
    has_started.recv().unwrap();
    drop(future);
    has_ended.recv().unwrap();
    assert_eq!(session.compute(&Delayed::<u64>::call("after", (), || 3)).unwrap(), 3.into());
}

#[test]
fn a_future_wakes_whoever_awaits_it() {
    let session = session(2);
    let x = Array::arange(0.0, 1.0, 1000).rechunk(&[100]);
    let sum = x.sum(&Over::all());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (first, second) = runtime.block_on(async {
        let first = session.compute_async(&sum);
        let second = session.compute_async(&sum);
        tokio::join!(first, second)
    });
    assert_eq!(first.unwrap().to_scalar(), Some(499_500.0));
    assert_eq!(second.unwrap().to_scalar(), Some(499_500.0));
}

#[test]
fn the_attempts_before_the_last_are_told() {
    let session = session(1);
    let tries = Arc::new(AtomicUsize::new(0));
    let call = annotate(asking("retries", 2), || {
        let tries = tries.clone();
        Delayed::<u64>::try_call("moody", (), move || {
            Err::<u64, _>(format!("trouble {}", tries.fetch_add(1, Ordering::SeqCst) / 2))
        })
    });
    let message = session.compute(&call).unwrap_err().to_string();
    assert!(message.ends_with("trouble 1 (attempt 3 of 3; before: trouble 0)"), "{message}");
    assert_eq!(tries.load(Ordering::SeqCst), 3);
}

/// A chain of calls so short that they are given out together; `disturb` is what one of them does, by its place.
fn chain(
    length: usize,
    calls: &Arc<AtomicUsize>,
    disturb: impl Fn(usize) -> Result<(), String> + Clone + Send + Sync + 'static,
) -> Delayed<usize> {
    let mut last = Delayed::<usize>::literal(0);
    for at in 0..length {
        let (calls, disturb) = (calls.clone(), disturb.clone());
        last = Delayed::try_call("link", (&last,), move |before: &usize| {
            assert_eq!(*before, at, "every link reads the one before");
            calls.fetch_add(1, Ordering::SeqCst);
            disturb(at).map(|()| before + 1)
        });
    }
    last
}

#[test]
fn what_waits_for_a_short_call_that_fails_is_called_once_it_is_well() {
    for threads in 1..3 {
        let calls = Arc::new(AtomicUsize::new(0));
        let failed = Arc::new(AtomicUsize::new(0));
        let chain = annotate(asking("retries", 1), || {
            chain(300, &calls, move |at| match at % 100 == 77 && failed.load(Ordering::SeqCst) <= at / 100 {
                true if failed.fetch_add(1, Ordering::SeqCst) == 1 => panic!("no way"),
                true => Err("trouble".to_owned()),
                false => Ok(()),
            })
        });
        assert_eq!(session(threads).compute(&chain).unwrap(), 300.into());
        assert_eq!(calls.load(Ordering::SeqCst), 303, "three were called twice");
    }
}

#[test]
fn nothing_of_a_run_is_called_after_it_was_cancelled_however_short_it_is() {
    let session = session(2);
    for stop in [40, 41, 150] {
        let (calls, control) = (Arc::new(AtomicUsize::new(0)), Control::new());
        let handle = control.clone();
        let chain = chain(300, &calls, move |at| {
            if at == stop {
                handle.cancel();
            }
            Ok(())
        });
        let prepared = session.prepare(&[chain.layer().unwrap().clone()]).unwrap();
        let error = session.run(&prepared, &control).map(|_| ()).unwrap_err();
        assert!(matches!(exec_error(&error), ExecError::Cancelled), "{error}");
        assert_eq!(calls.load(Ordering::SeqCst), stop + 1);
    }
}

#[test]
fn a_trace_has_every_attempt() {
    let session = session(2);
    let x = Array::arange(0.0, 1.0, 1000).rechunk(&[10]);
    let prepared = session.prepare(&[x.sum(&Over::all()).layer().unwrap().clone()]).unwrap();
    let completed = session.run(&prepared, &Control::new().traced()).unwrap();
    let trace = completed.trace.expect("a trace was asked for");
    let mut steps: Vec<u32> = trace.iter().map(|attempt| attempt.step.0).collect();
    steps.sort_unstable();
    assert_eq!(steps, (0..prepared.plan.steps.len() as u32).collect::<Vec<_>>());
    assert!(trace.iter().all(|attempt| !attempt.failed && attempt.worker < 3));
}

#[test]
fn a_run_that_was_cancelled_before_it_began_does_nothing() {
    let session = session(1);
    let calls = Arc::new(AtomicUsize::new(0));
    let counts = calls.clone();
    let call = Delayed::<usize>::call("counts", (), move || counts.fetch_add(1, Ordering::SeqCst));
    let prepared = session.prepare(&[call.layer().unwrap().clone()]).unwrap();
    for _ in 0..100 {
        let control = Control::new();
        control.cancel();
        let error = session.run(&prepared, &control).map(|_| ()).unwrap_err();
        assert!(matches!(exec_error(&error), ExecError::Cancelled), "{error}");
    }
    assert_eq!(calls.load(Ordering::SeqCst), 0);
    assert_eq!(session.compute(&Delayed::<u64>::call("after", (), || 3)).unwrap(), 3.into());
}

/// The function cancels its own run: whatever waits for it never starts, however short it is.
#[test]
fn a_run_that_cancels_itself_starts_nothing_more() {
    let session = session(2);
    for _ in 0..200 {
        let control = Control::new();
        let handle = control.clone();
        let stops = Delayed::<u64>::call("stops", (), move || {
            handle.cancel();
            1
        });
        let after = Delayed::<u64>::call("after", (&stops,), |one: &u64| one + 1);
        let prepared = session.prepare(&[after.layer().unwrap().clone()]).unwrap();
        let error = session.run(&prepared, &control).map(|_| ()).unwrap_err();
        assert!(matches!(exec_error(&error), ExecError::Cancelled), "{error}");
    }
}
