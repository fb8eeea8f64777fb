//! What a task costs beside its own work: planning, running and memory of a million small calls on two threads.
//! `cargo bench --bench overhead [-- --json] [case]`; `OUTCROP_BENCH_TASKS` sets another number of calls, `OUTCROP_BENCH_THREADS`
//! of threads.
//!
//! Every call is a task of its own, with a key of its own, that bumps a counter; the counter is checked. Times
//! are the best of some runs, `plan` from the graph to the plan without verifying it, `run` from the plan to the
//! result, memory what the allocator was asked for: `plan holds` what the plan keeps, `planning takes` the most
//! beyond that while it is made, `run takes` the most beyond what was there before the run. `constrained` asks for
//! a priority and a custom resource on every task.
//!
//! The efficiency of calls that spin for a while is the time that two bare threads take for the same number of
//! spins, measured in between, to the time of the run; the shortest call with efficiency 0.5 is what the literature
//! calls the minimum effective task granularity (Slaughter et al., Task Bench, 2020).

mod heap;
mod shapes;
mod table;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use outcrop::annotate::{Annotations, Overrides, annotate};
use outcrop::collections::Delayed;
use outcrop::exec::Control;
use outcrop::graph::layer_graph::LayerGraph;
use outcrop::plan::verify::verify;
use outcrop::session::{Prepared, Session};
use outcrop::settings::Config;
use shapes::{Shape, graph, shapes, spin};
use table::Table;

const TASKS: usize = 1_000_000;
const REPETITIONS: usize = 5;
const THREADS: usize = 2;
/// Lengths of spinning calls, in microseconds.
const LENGTHS: [f64; 7] = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 20.0];

fn main() {
    let table = Table::from_arguments("overhead");
    let session = session();
    for (prefix, annotations, run_bound) in
        [("", Annotations::new(), 250.0), ("constrained ", constraints(), 500.0)]
    {
        for (name, shape) in shapes(tasks()) {
            let case = format!("{prefix}{name}");
            if table.wants(&case) {
                overhead(&table, &session, &case, shape, &annotations, run_bound);
            }
        }
    }
    for (name, shape) in shapes(tasks()) {
        let case = format!("metg {name}");
        if matches!(shape, Shape::Independent | Shape::Grid { .. }) && table.wants(&case) {
            granularity(&table, &session, &case, shape);
        }
    }
    if table.wants("latency") {
        table.row("latency of the result", latency(&session), "us", 50.0);
    }
    if table.wants("idle") {
        table.row("idle for 200 ms, time of the processor", idle(&session), "us", 100.0);
    }
}

fn session() -> Session {
    Session::new(Config {
        threads: Some(threads()),
        cpu_only: Some(true),
        resources: Some([("licence".to_owned(), 1000.0)].into()),
        verify: Some(false),
        ..Config::default()
    })
}

/// What every task of the constrained cases asks for.
fn constraints() -> Annotations {
    let priority = Annotations::new().with_priority(1.0);
    priority.and_then(|asked| asked.with_resource("licence", 1.0)).expect("both are well formed")
}

fn tasks() -> usize {
    number("OUTCROP_BENCH_TASKS").unwrap_or(TASKS)
}

fn threads() -> usize {
    number("OUTCROP_BENCH_THREADS").unwrap_or(THREADS)
}

fn number(variable: &str) -> Option<usize> {
    std::env::var(variable).ok().map(|value| value.parse().expect("a number"))
}

fn overhead(
    table: &Table,
    session: &Session,
    case: &str,
    shape: Shape,
    annotations: &Annotations,
    run_bound: f64,
) {
    let make = || annotate(annotations.clone(), || graph(shape, tasks(), 0));
    let (mut planned, mut verified, mut ran) = (Duration::MAX, Duration::MAX, Duration::MAX);
    for _ in 0..REPETITIONS {
        let (graph, counter) = make();
        let (prepared, plan) = timed(|| prepare(session, &graph));
        planned = planned.min(plan);
        let check = || verify(&prepared.plan, &graph, session.machine(), session.settings());
        let (checked, took) = timed(check);
        checked.expect("the plan keeps its rules");
        verified = verified.min(took);
        let (done, run) = timed(|| session.run(&prepared, &control()).expect("the calls don't fail"));
        drop(done);
        ran = ran.min(run);
        assert_eq!(counter.load(Ordering::Relaxed), tasks() as u64, "every call is made once");
    }
    let (graph, _) = make();
    let (prepared, plan_bytes, planning_bytes) = heap::measured(|| prepare(session, &graph));
    let (done, left_bytes, run_bytes) = heap::measured(|| session.run(&prepared, &control()));
    let traced = done.expect("the calls don't fail").trace.map_or(0, |trace| trace.bytes());
    let count = prepared.plan.steps.len() as f64;
    let ns = |took: Duration| took.as_secs_f64() * 1e9 / count;
    table.row(&format!("{case}: plan"), ns(planned), "ns", 250.0);
    table.row(&format!("{case}: verify"), ns(verified), "ns", 250.0);
    table.row(&format!("{case}: run"), ns(ran), "ns", run_bound);
    table.row(&format!("{case}: plan holds"), plan_bytes / count, "bytes", 100.0);
    table.row(&format!("{case}: planning takes"), (planning_bytes - plan_bytes) / count, "bytes", 100.0);
    // Results are what was asked for; the trace counts as what a task takes.
    let taken = run_bytes - left_bytes + traced as f64;
    table.row(&format!("{case}: run takes"), taken / count, "bytes", 100.0);
}

fn prepare(session: &Session, graph: &LayerGraph) -> Prepared {
    session.prepare_graph(graph, &Overrides::new()).expect("the host has all that is asked for")
}

/// Every call shows in the trace.
fn control() -> Control {
    Control::new().traced()
}

fn timed<T>(body: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let made = body();
    (made, start.elapsed())
}

/// Efficiencies by length of a call, and the length at which it is one half.
fn granularity(table: &Table, session: &Session, case: &str, shape: Shape) {
    let spins_per_us = spins_per_us();
    let efficiencies = LENGTHS.map(|length_us| {
        let side = ((0.3e6 * threads() as f64 / length_us).min(tasks() as f64).sqrt() as usize).max(10);
        let shape = if let Shape::Grid { .. } = shape { Shape::Grid { side } } else { shape };
        efficiency(session, shape, side * side, (length_us * spins_per_us) as u64)
    });
    let crossing = LENGTHS.iter().zip(&efficiencies).position(|(_, &efficiency)| efficiency >= 0.5);
    let half = match crossing {
        // Efficiency is near proportional to the length where overhead outweighs it.
        Some(0) => LENGTHS[0] * 0.5 / efficiencies[0],
        Some(at) => {
            let part = (0.5 - efficiencies[at - 1]) / (efficiencies[at] - efficiencies[at - 1]);
            LENGTHS[at - 1] * (LENGTHS[at] / LENGTHS[at - 1]).powf(part)
        }
        None => f64::INFINITY,
    };
    table.row(case, half, "us", 0.5);
    for (length, efficiency) in LENGTHS.into_iter().zip(efficiencies) {
        let bound = if length < 20.0 { length / (length + 0.5) } else { 0.95 };
        table.row_at_least(&format!("{case}: efficiency at {length} us"), efficiency, "of 1", bound);
    }
}

fn efficiency(session: &Session, shape: Shape, count: usize, spins: u64) -> f64 {
    let (mut ideal, mut ran) = (Duration::MAX, Duration::MAX);
    for _ in 0..3 {
        ideal = ideal.min(bare(count as u64 * spins));
        let (graph, counter) = graph(shape, count, spins);
        let prepared = prepare(session, &graph);
        let (done, took) = timed(|| session.run(&prepared, &control()));
        drop(done.expect("the calls don't fail"));
        ran = ran.min(took);
        assert_eq!(counter.load(Ordering::Relaxed), count as u64, "every call is made once");
    }
    ideal.as_secs_f64() / ran.as_secs_f64()
}

/// Two threads that do nothing but spin, `spins` together.
fn bare(spins: u64) -> Duration {
    let work = || {
        std::thread::scope(|scope| {
            (0..threads()).for_each(|_| drop(scope.spawn(|| spin(spins / threads() as u64))));
        });
    };
    timed(work).1
}

/// How often a thread spins in a microsecond while the others do too.
fn spins_per_us() -> f64 {
    const SPINS: u64 = 100_000_000;
    let best = (0..5).map(|_| bare(SPINS)).fold(Duration::MAX, Duration::min);
    SPINS as f64 / threads() as f64 / (best.as_secs_f64() * 1e6)
}

/// Microseconds from the end of the last task until `compute` returns: the median of many runs.
fn latency(session: &Session) -> f64 {
    let mut samples: Vec<f64> = (0..301).map(|_| latency_once(session)).collect();
    samples.sort_unstable_by(f64::total_cmp);
    samples[samples.len() / 2]
}

fn latency_once(session: &Session) -> f64 {
    let ended = Arc::new(Mutex::new(Instant::now()));
    let end = ended.clone();
    let call = Delayed::call("end", (), move || *end.lock().expect("no panic") = Instant::now());
    session.compute(&call).expect("the call doesn't fail");
    let returned = Instant::now();
    let ended = *ended.lock().expect("no panic");
    (returned - ended).as_secs_f64() * 1e6
}

/// Microseconds of processor time that the process takes while a session does nothing, some time after a run.
fn idle(session: &Session) -> f64 {
    let (graph, _) = graph(Shape::Chain, 1000, 0);
    drop(session.run(&prepare(session, &graph), &control()).expect("the calls don't fail"));
    // The last look at a run comes after it.
    std::thread::sleep(Duration::from_millis(200));
    let before = process_us();
    std::thread::sleep(Duration::from_millis(200));
    process_us() - before
}

fn process_us() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes the time to the place given, and nothing else.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    assert_eq!(status, 0, "the clock of the process is there");
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}
