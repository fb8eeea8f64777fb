//! Many small runs of one engine at once, which end in every way that there is.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use outcrop::annotate::{Annotations, annotate};
use outcrop::collections::Delayed;
use outcrop::exec::Control;
use outcrop::session::Session;

use crate::config;

/// Ends the whole process when `play` takes too long: a hang must not look like a slow test.
fn watched(seed: u64, play: impl FnOnce()) {
    let (ended, has_ended) = mpsc::channel::<()>();
    let watchdog = std::thread::spawn(move || {
        if has_ended.recv_timeout(Duration::from_secs(120)) == Err(RecvTimeoutError::Timeout) {
            eprintln!("seed {seed}: it hangs");
            std::process::abort();
        }
    });
    play();
    drop(ended);
    watchdog.join().unwrap();
}

/// What the `at`-th run does.
fn run(session: &Arc<Session>, at: u64) {
    let inner = session.clone();
    let asked = match at % 8 {
        0 => Annotations::new().set("timeout", "1 ns").unwrap(),
        _ => Annotations::new(),
    };
    let call = annotate(asked, || {
        Delayed::<u64>::call("tiny", (), move || match at % 8 {
            1 => panic!("on purpose"),
            2 => inner.compute(&Delayed::<u64>::call("nested", (), || 1)).map_or(0, |value| *value),
            _ => 1,
        })
    });
    let prepared = session.prepare(&[call.layer().unwrap().clone()]).unwrap();
    let (control, nested) = (Control::new(), session.clone());
    let canceller = control.clone();
    let control = match at % 8 {
        3 => Control::new().observed(move |_| canceller.cancel()),
        4 => control.observed(|_| panic!("on purpose")),
        5 => control.observed(move |_| {
            let _ = nested.compute(&Delayed::<u64>::call("observed", (), || 1));
        }),
        6 => {
            control.cancel();
            control
        }
        _ => control,
    };
    let outcome = session.run(&prepared, &control);
    match at % 8 {
        0 | 1 | 6 => assert!(outcome.is_err(), "run {at}"),
        3 => {}
        _ => assert!(outcome.is_ok(), "run {at}: {:?}", outcome.err().map(|error| error.to_string())),
    }
}

#[test]
fn thousands_of_tiny_runs_end_however_they_end() {
    for threads in [1, 2] {
        watched(threads as u64, || {
            let session = Arc::new(Session::new(config(threads)));
            std::thread::scope(|scope| {
                for thread in 0..8 {
                    let session = &session;
                    scope.spawn(move || (0..64).for_each(|at| run(session, thread * 64 + at)));
                }
            });
        });
    }
}

#[test]
fn work_nested_fifty_deep_finishes_on_one_thread() {
    fn depth(session: &Arc<Session>, left: u64) -> u64 {
        let inner = session.clone();
        let call =
            Delayed::<u64>::call(
                "deeper",
                (),
                move || if left == 0 { 0 } else { 1 + depth(&inner, left - 1) },
            );
        session.compute(&call).map_or(u64::MAX / 2, |value| *value)
    }
    watched(50, || assert_eq!(depth(&Arc::new(Session::new(config(1))), 50), 50));
}

/// The last handle on a session is dropped inside one of its own tasks.
#[test]
fn a_session_may_end_inside_its_own_task() {
    watched(1, || {
        let session = Arc::new(Session::new(config(1)));
        let last = Mutex::new(Some(session.clone()));
        let (ended, has_ended) = mpsc::channel();
        let call = Delayed::<u64>::call("last", (), move || {
            drop(last.lock().unwrap().take());
            ended.send(()).unwrap();
            1
        });
        let other = std::thread::spawn(move || session.compute(&call).map(|value| *value));
        has_ended.recv().unwrap();
        let _ = other.join().unwrap();
    });
}
