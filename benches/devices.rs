//! How long the inventory takes, in a process that has just begun: what every run waits for before it plans.
//! `cargo bench --bench devices [-- --json] [case]`. What is promised holds where no GPU is there; a driver's start is its own.

mod table;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use table::Table;

const REPETITIONS: usize = 15;

fn main() {
    let table = Table::from_arguments("devices");
    if !table.wants("inventory") {
        return;
    }
    let mut times: Vec<Duration> = (0..REPETITIONS).map(|_| once()).collect();
    times.sort();
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    table.row("inventory, by the command, median", milliseconds(times[REPETITIONS / 2]), "ms", 150.0);
    table.row("inventory, by the command, longest", milliseconds(times[REPETITIONS - 1]), "ms", 150.0);
}

fn once() -> Duration {
    let mut command = Command::new(env!("CARGO_BIN_EXE_outcrop"));
    command.args(["devices", "--json"]).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let status = command.status().expect("the command");
    assert!(status.success());
    start.elapsed()
}
