//! What a run holds by the system's count, not only by its own ledger's. A process of its own: one test, so that
//! nothing else adds to the count.

#![cfg(target_os = "linux")]

use outcrop::collections::{Array, array::Over};
use outcrop::dtype::DType;
use outcrop::exec::Control;
use outcrop::graph::expr_ops::Distribution;
use outcrop::session::Session;
use outcrop::settings::Config;
use outcrop::units::Bytes;

const MIB: u64 = 1 << 20;
const BUDGET: u64 = 24 * MIB;
/// What isn't buffers: scratch of those who compute, spill and reload, their stacks, the records of some thousand steps.
const BESIDE: u64 = 8 * MIB;

fn status(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
}

/// Rows of 1 MiB in blocks become columns in blocks of 1 MiB, by pieces of 16 KiB most of which are spilled: 64 MiB,
/// in small buffers and large ones by turns.
#[test]
fn a_rechunk_of_more_than_its_budget_is_resident_within_it() {
    let side = 2048;
    let x = Array::random(Distribution::Normal, [2 * side, side], DType::F64, 2).rechunk(&[64, side]);
    let x = (x.sin() + 2.0).named("made").rechunk(&[2 * side, 32]).std(0, &Over::axis(0));
    let memory = Some(Bytes(BUDGET));
    let session =
        Session::new(Config { threads: Some(2), cpu_only: Some(true), memory, ..Config::default() });
    let prepared = session.prepare(&[x.layer().unwrap().clone()]).unwrap();
    // Without the record of the process's peak there is nothing to hold against the budget.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = status("VmRSS:");
    let report = session.run(&prepared, &Control::new()).unwrap().report;
    let grown = status("VmHWM:").saturating_sub(before);
    assert!(report.transfers.edges.iter().any(|edge| edge.to == "disk" && edge.bytes > BUDGET), "{report}");
    assert!(report.peak_bytes["host"] <= BUDGET, "{report}");
    assert!(grown <= BUDGET + BESIDE, "{} are resident for a budget of {}", Bytes(grown), Bytes(BUDGET));
    assert!(grown > BUDGET / 2, "{}: the system's count misses the run", Bytes(grown));
}
