//! What a memory budget costs, on two threads: time, bytes spilled, what is held. `cargo bench --bench memory
//! [-- --json] [case]`; values are spilled to where a run spills, and `OUTCROP_BENCH_MIB` sets another size of arrays.
//!
//! `map-reduce` reads blocks twice, for their mean and to be centred by it; `rechunk` turns rows into columns and
//! reduces these. Both make their blocks of random numbers by some transcendental functions. Budgets are shares of the
//! peak that is planned without one; times are to the time without one, best of interleaved repetitions. `held` is
//! what the run's ledger says, to the budget; `resident` is what the process's memory grew by at most, to the budget
//! (Linux). What fits must not spill, and nothing may hold more than its budget: both are asserted.
//!
//! `ten times the budget` is one array through a rechunk. `spill-bound` computes next to nothing: the bytes that it
//! writes and reads back, to its time, against a plain loop that writes as many to a file of its own, waits for the
//! disk, and reads them back. `10,000 chunks` are made, read twice and stored, by a sink as fast as can be or a slow
//! one.

mod table;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use outcrop::block::Block;
use outcrop::collections::Array;
use outcrop::collections::array::Over;
use outcrop::dtype::DType;
use outcrop::exec::Control;
use outcrop::graph::expr_ops::Distribution;
use outcrop::graph::layer::Layer;
use outcrop::graph::op::{Op, Sink, TransferError};
use outcrop::report::Report;
use outcrop::session::{Prepared, Session};
use outcrop::settings::Config;
use outcrop::shape::Region;
use outcrop::store::spill::SpillStore;
use outcrop::units::Bytes;
use table::Table;

const THREADS: usize = 2;
const REPETITIONS: usize = 3;
const ARRAY_MIB: usize = 256;
const BLOCK_BYTES: usize = 4 << 20;
/// Budgets in percent of the unconstrained peak, and the times promised.
const MAP_REDUCE: [(u64, f64); 4] = [(100, 1.05), (70, 1.1), (50, 1.2), (30, 1.6)];
const RECHUNK: [(u64, f64); 4] = [(100, 1.05), (70, 1.1), (50, 1.2), (30, 1.3)];

fn main() {
    let table = Table::from_arguments("memory");
    for (case, array, budgets) in [("map-reduce", map_reduce(), MAP_REDUCE), ("rechunk", rechunk(), RECHUNK)]
    {
        if table.wants(case) {
            shares(&table, case, &array, &budgets);
        }
    }
    if table.wants("ten times the budget") {
        ten_times(&table);
    }
    if table.wants("spill-bound") {
        spill_bound(&table);
    }
    if table.wants("10,000 chunks") {
        let chunks = stored_range(Duration::ZERO);
        table.row("10,000 chunks: held at once", chunks, "chunks", 40.0);
        let chunks = stored_range(Duration::from_micros(20));
        table.row("10,000 chunks, slow sink: held at once", chunks, "chunks", 40.0);
    }
}

fn session(memory: Option<u64>) -> Session {
    let memory = memory.map(Bytes);
    Session::new(Config { threads: Some(THREADS), cpu_only: Some(true), memory, ..Config::default() })
}

fn prepare(session: &Session, array: &Array) -> Prepared {
    let layer = array.layer().expect("the array is well formed").clone();
    session.prepare(&[layer]).expect("the plan fits")
}

fn run(session: &Session, prepared: &Prepared) -> Report {
    session.run(prepared, &Control::new()).expect("nothing fails").report
}

fn elements() -> usize {
    let mib =
        std::env::var("OUTCROP_BENCH_MIB").map_or(ARRAY_MIB, |mib| mib.parse().expect("a number of MiB"));
    (mib << 20) / 8
}

/// Blocks that cost some arithmetic. What is read twice, or cut anew, is a value of its own.
fn made(x: &Array) -> Array {
    (((x.sin() + 2.0).log() * x.cos()).exp() + x.tanh()).named("made")
}

fn map_reduce() -> Array {
    let x = Array::random(Distribution::Normal, [elements()], DType::F64, 1).rechunk(&[BLOCK_BYTES / 8]);
    let x = made(&x);
    (&x - &x.mean(&Over::all())).abs().sum(&Over::all())
}

fn rechunk() -> Array {
    turned(elements())
}

/// Rows of 32 KiB in blocks of some, turned into columns in blocks of some.
fn turned(elements: usize) -> Array {
    let (columns, block) = (4096, BLOCK_BYTES / 8);
    let rows = elements / columns;
    let x = Array::random(Distribution::Normal, [rows, columns], DType::F64, 2);
    made(&x.rechunk(&[block / columns, 0])).rechunk(&[0, block / rows]).std(0, &Over::axis(0))
}

/// A case under budgets of some shares of its peak.
fn shares(table: &Table, case: &str, array: &Array, budgets: &[(u64, f64)]) {
    let free = session(None);
    let unlimited = prepare(&free, array);
    let peak = unlimited.plan.memories[0].peak.0;
    let limited: Vec<(u64, Session)> =
        budgets.iter().map(|&(share, _)| (peak * share / 100, session(Some(peak * share / 100)))).collect();
    let plans: Vec<(Prepared, f64)> =
        limited.iter().map(|(_, session)| timed(|| prepare(session, array))).collect();
    let mut least = f64::MAX;
    let mut best: Vec<(f64, Option<Report>)> = vec![(f64::MAX, None); budgets.len()];
    let mut resident = vec![0f64; budgets.len()];
    for _ in 0..REPETITIONS {
        least = least.min(timed(|| run(&free, &unlimited)).1);
        for (at, (budget, session)) in limited.iter().enumerate() {
            let before = forget_resident_peak();
            let (report, seconds) = timed(|| run(session, &plans[at].0));
            resident[at] = resident[at].max(resident_growth(before) / *budget as f64);
            best[at] = (best[at].0.min(seconds), Some(report));
        }
    }
    table.figure(&format!("{case}: without a budget"), least * 1e3, "ms");
    for (at, &(share, bound)) in budgets.iter().enumerate() {
        let name = |what: &str| format!("{case} at {share} %: {what}");
        let (seconds, report) = (best[at].0, best[at].1.as_ref().expect("it ran"));
        let held = report.peak_bytes["host"] as f64 / limited[at].0 as f64;
        assert!(held <= 1.0, "{case} at {share} % holds {held} of its budget");
        let spilled = spilled(report);
        assert!(share < 100 || spilled == 0.0, "{case} fits, and spills");
        table.row(&name("time to unconstrained"), seconds / least, "x", bound);
        table.figure(&name("planning"), plans[at].1 * 1e3, "ms");
        table.figure(&name("spilled"), spilled / (1 << 20) as f64, "MiB");
        table.row(&name("held to budget"), held, "x", 1.0);
        table.row(&name("resident to budget"), resident[at], "x", 1.0);
    }
}

/// One array ten times the budget through a rechunk.
fn ten_times(table: &Table) {
    let elements = 2 * elements();
    let (array, budget) = (turned(elements), (elements * 8 / 10) as u64);
    let session = session(Some(budget));
    let (prepared, planned) = timed(|| prepare(&session, &array));
    let before = forget_resident_peak();
    let (report, seconds) = timed(|| run(&session, &prepared));
    let name = |what: &str| format!("ten times the budget: {what}");
    assert!(report.peak_bytes["host"] <= budget);
    table.figure(&name("planning"), planned * 1e3, "ms");
    table.figure(&name("run"), seconds * 1e3, "ms");
    table.figure(&name("spilled"), spilled(&report) / (1 << 20) as f64, "MiB");
    table.row(&name("held to budget"), report.peak_bytes["host"] as f64 / budget as f64, "x", 1.0);
    table.row(&name("resident to budget"), resident_growth(before) / budget as f64, "x", 1.0);
}

/// The rate of a pipeline that is bound by the disk, to a plain loop's.
fn spill_bound(table: &Table) {
    let x = Array::random(Distribution::Uniform, [2 * elements()], DType::F64, 3).rechunk(&[BLOCK_BYTES / 8]);
    let x = x.map_blocks("same", |block| block.to_vec::<f64>().unwrap_or_default());
    let array = (&x - &x.max(&Over::all())).min(&Over::all());
    let peak = prepare(&session(None), &array).plan.memories[0].peak.0;
    let session = session(Some(peak / 10));
    let prepared = prepare(&session, &array);
    let (mut ours, mut cached, mut disk) = (0f64, 0f64, 0f64);
    for _ in 0..REPETITIONS {
        let (report, seconds) = timed(|| run(&session, &prepared));
        let bytes = spilled(&report);
        ours = ours.max(2.0 * bytes / seconds / 1e9);
        cached = cached.max(plain_rate(bytes as usize, false));
        disk = disk.max(plain_rate(bytes as usize, true));
    }
    table.row_at_least("spill-bound: rate to the disk's", ours, "GB/s", 0.8 * disk);
    table.row_at_least("spill-bound: rate to the page cache's", ours, "GB/s", 0.8 * cached);
}

/// GB/s of writing so many bytes in blocks one after the other, and reading them back.
fn plain_rate(bytes: usize, to_disk: bool) -> f64 {
    let mut block: Vec<u8> = (0..BLOCK_BYTES).map(|at| ((at * at) >> 7) as u8).collect();
    let file = tempfile::tempfile_in(SpillStore::default_folder()).expect("the folder can be written to");
    let starts = || (0..bytes / BLOCK_BYTES).map(|at| (at * BLOCK_BYTES) as u64);
    let ((), seconds) = timed(|| {
        starts().for_each(|at| file.write_all_at(&block, at).expect("there is room"));
        if to_disk {
            file.sync_data().expect("the disk works");
        }
        starts().for_each(|at| read(&file, &mut block, at));
    });
    2.0 * bytes as f64 / seconds / 1e9
}

fn read(file: &File, block: &mut [u8], at: u64) {
    file.read_exact_at(block, at).expect("it was written");
}

/// The most chunks that a map-reduce of 10,000 holds while it also stores them.
fn stored_range(pause: Duration) -> f64 {
    let elements = 512;
    let x = Array::random(Distribution::Uniform, [10_000 * elements], DType::F64, 4).rechunk(&[elements]);
    let x = made(&x);
    let range = x.max(&Over::all()) - x.min(&Over::all());
    let layer = x.layer().expect("the array is well formed").clone();
    let (chunks, dtype) = (layer.chunks().clone(), layer.dtype());
    let sink = Layer::new(Op::Store(Arc::new(Slow(pause))), vec![layer], chunks, dtype);
    let range = range.layer().expect("the array is well formed").clone();
    let session = session(None);
    let prepared = session.prepare(&[range, sink]).expect("the plan fits");
    let chunks = run(&session, &prepared).peak_bytes["host"] as f64 / (elements * 8) as f64;
    assert!(chunks <= 40.0, "{chunks} chunks are held at once");
    chunks
}

/// A sink that takes blocks in order, each of them for a while.
#[derive(Debug)]
struct Slow(Duration);

impl Sink for Slow {
    fn describe(&self) -> String {
        "nowhere".to_owned()
    }
    fn ordered(&self) -> bool {
        true
    }
    fn write(&self, _region: &Region, _block: &Block) -> Result<(), TransferError> {
        let started = Instant::now();
        while started.elapsed() < self.0 {
            std::hint::spin_loop();
        }
        Ok(())
    }
    fn restart(&self) -> Result<(), TransferError> {
        Ok(())
    }
    fn finish(&self) -> Result<(), TransferError> {
        Ok(())
    }
}

fn spilled(report: &Report) -> f64 {
    let written = report.transfers.edges.iter().filter(|edge| edge.to == "disk");
    written.map(|edge| edge.bytes).sum::<u64>() as f64
}

fn timed<T>(body: impl FnOnce() -> T) -> (T, f64) {
    let started = Instant::now();
    let made = body();
    (made, started.elapsed().as_secs_f64())
}

/// Lets the system's record of the process's peak begin anew; bytes that are resident.
fn forget_resident_peak() -> f64 {
    // Elsewhere than on Linux there is no such record, and growth is 0.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    status_bytes("VmRSS:")
}

fn resident_growth(before: f64) -> f64 {
    status_bytes("VmHWM:") - before
}

fn status_bytes(field: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kib.map_or(0.0, |kib| kib * 1024.0)
}
