//! One process that goes on for long: pipelines of all kinds, over and over, and its memory, threads and open files stay
//! what they were. A second of it in every run of the tests; `OUTCROP_SOAK_MINUTES=10` makes it minutes (`ci/soak.sh`).
#![cfg(target_os = "linux")]

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use outcrop::annotate::{Annotations, annotate};
use outcrop::collections::{Array, Delayed, array::Over};
use outcrop::exec::{Control, usage::resident_anonymous};
use outcrop::machine::Machine;
use outcrop::session::Session;
use outcrop::settings::Config;
use outcrop::task;
use outcrop::units::Bytes;

/// Resident anonymous memory may grow by this much after the warm-up: the C library's arenas settle slowly.
const MARGIN: u64 = 16 << 20;
/// Rounds before the figures count, whatever the time.
const WARM_UP_ROUNDS: u64 = 20;

/// What must stay.
#[derive(Clone, Copy, Debug)]
struct Figures {
    resident: u64,
    threads: usize,
    files: usize,
}

impl Figures {
    fn now() -> Self {
        let entries = |folder| std::fs::read_dir(folder).unwrap().count();
        Figures {
            resident: resident_anonymous().unwrap(),
            threads: entries("/proc/self/task"),
            files: entries("/proc/self/fd"),
        }
    }
}

#[test]
fn memory_threads_and_files_stay_what_they_were() {
    let minutes = std::env::var("OUTCROP_SOAK_MINUTES").ok().map(|text| text.parse::<f64>().unwrap());
    let length = minutes.map_or(Duration::from_secs(1), |minutes| Duration::from_secs_f64(minutes * 60.0));
    // Functions that panic are part of it.
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !std::thread::current().name().is_some_and(|name| name.starts_with("outcrop-")) {
            usual(panic);
        }
    }));
    let folder = tempfile::tempdir().unwrap();
    let lasting = Arc::new(session(2, None, folder.path()));
    let start = Figures::now();
    let (begun, mut rounds, mut warm, mut most) = (Instant::now(), 0, None, 0);
    while begun.elapsed() < length || rounds < 2 * WARM_UP_ROUNDS {
        round(&lasting, folder.path(), rounds);
        rounds += 1;
        if rounds >= WARM_UP_ROUNDS && begun.elapsed() >= length / 5 {
            let warm = warm.get_or_insert_with(Figures::now);
            let figures = settled(*warm);
            // When it was warm, an attempt that was given up may have been about to end.
            (warm.threads, warm.files) = (figures.threads, figures.files);
            most = most.max(figures.resident);
            assert!(figures.resident <= warm.resident + MARGIN, "round {rounds}: {figures:?}, warm {warm:?}");
        }
    }
    let (end, seconds) = (Figures::now(), begun.elapsed().as_secs_f64());
    println!(
        "{rounds} rounds in {seconds:.0} s: {start:?} at the start, {warm:?} warm, {end:?} at the end; most resident {}",
        Bytes(most)
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "something was left on disk");
}

/// The figures when threads and files are no more than those of `warm`: attempts that were given up may take a moment to
/// end.
fn settled(warm: Figures) -> Figures {
    let since = Instant::now();
    loop {
        let figures = Figures::now();
        if figures.threads <= warm.threads && figures.files <= warm.files {
            return figures;
        }
        assert!(since.elapsed() < Duration::from_secs(60), "{figures:?}, warm {warm:?}");
        std::thread::yield_now();
    }
}

fn round(lasting: &Arc<Session>, folder: &std::path::Path, number: u64) {
    plain(lasting);
    nested(lasting);
    failing(lasting);
    cancelled(lasting);
    dropped(lasting);
    timed_out(lasting);
    // Sessions that come and go bring threads and spill files with them.
    spilling(&session(2, Some(Bytes(400 << 10)), folder));
    if number.is_multiple_of(8) {
        late(lasting);
        given_up(&session(1, None, folder));
    }
}

fn session(threads: usize, memory: Option<Bytes>, folder: &std::path::Path) -> Session {
    // Looking for devices each time would be a soak of their drivers.
    let machine = include_str!("../examples/machines/cpu-only.toml");
    let config =
        Config { threads: Some(threads), memory, spill_dir: Some(folder.into()), ..Config::default() };
    Session::on(Machine::from_toml(machine).unwrap(), config)
}

fn plain(session: &Session) {
    let x = Array::arange(0.0, 1.0, 100_000).rechunk(&[1000]);
    let sum = (&x + 1.0).sum(&Over::all());
    let prepared = session.prepare(&[sum.layer().unwrap().clone()]).unwrap();
    let completed = session.run(&prepared, &Control::new().traced()).unwrap();
    assert!(completed.trace.unwrap().len() >= 100);
}

fn spilling(session: &Session) {
    let a = Array::arange(0.0, 1.0, 160_000).rechunk(&[10_000]);
    let x = (&a + 1.0).sqrt();
    let centred = &x - x.mean(&Over::all());
    let total = (&centred * &centred).sum(&Over::all());
    let prepared = session.prepare(&[total.layer().unwrap().clone()]).unwrap();
    let report = session.run(&prepared, &Control::new()).unwrap().report;
    assert!(report.spill.is_some_and(|spill| spill.blocks_written > 0));
}

fn nested(session: &Arc<Session>) {
    let outer: Vec<Delayed<f64>> = (0..4)
        .map(|at| {
            let session = session.clone();
            Delayed::<f64>::try_call("outer", (), move || {
                let sum = Array::arange(f64::from(at), 1.0, 1000).rechunk(&[100]).sum(&Over::all());
                session.compute(&sum).map(|sum| sum.to_scalar::<f64>().unwrap_or(f64::NAN))
            })
        })
        .collect();
    assert_eq!(session.compute(&outer).unwrap().len(), 4);
}

fn failing(session: &Session) {
    let wish = Annotations::new().set("retries", 1).unwrap();
    let broken = annotate(wish, || {
        Delayed::<u64>::call("broken", (), || {
            let kept = vec![1u8; 1 << 20];
            assert!(kept.is_empty(), "{} bytes", kept.len());
            0
        })
    });
    assert!(session.compute(&broken).is_err());
}

/// A run that cancels itself.
fn cancelled(session: &Session) {
    let control = Control::new();
    let handle = control.clone();
    let stops = Delayed::<u64>::call("stops", (), move || {
        handle.cancel();
        1
    });
    let after = Delayed::<u64>::call("after", (&stops,), |one: &u64| one + 1);
    let prepared = session.prepare(&[after.layer().unwrap().clone()]).unwrap();
    assert!(session.run(&prepared, &control).is_err());
}

/// A future that is dropped while its run is under way.
fn dropped(session: &Session) {
    let x = Array::arange(0.0, 1.0, 10_000).rechunk(&[100]);
    let sum = x.sum(&Over::all());
    let mut future = pin!(session.compute_async(&sum));
    let _ = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
}

fn timed_out(session: &Session) {
    let wish = Annotations::new().set("timeout", "1 ms").unwrap();
    let endless = annotate(wish, || Delayed::<u64>::try_call("endless", (), until_told));
    assert!(session.compute(&endless).is_err());
}

fn late(session: &Session) {
    let endless = Delayed::<u64>::try_call("endless", (), until_told);
    let prepared = session.prepare(&[endless.layer().unwrap().clone()]).unwrap();
    let control = Control::new().traced().with_deadline(Duration::from_millis(2));
    assert!(session.run(&prepared, &control).is_err());
    assert!(control.take_trace().is_some());
}

/// A function that never asks, and ends when it is no longer waited for.
fn given_up(session: &Session) {
    let release = Arc::new(AtomicBool::new(false));
    let held = release.clone();
    let wish = Annotations::new().set("timeout", "1 ms").unwrap();
    let deaf = annotate(wish, || {
        Delayed::<u64>::call("deaf", (), move || {
            while !held.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            0
        })
    });
    assert!(session.compute(&deaf).is_err());
    release.store(true, Ordering::Relaxed);
}

fn until_told() -> Result<u64, task::Stopped> {
    loop {
        task::check()?;
        std::hint::spin_loop();
    }
}
