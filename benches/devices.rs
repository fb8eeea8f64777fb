//! What a run waits for before its first kernel: the inventory, in a process that has just begun, and compiled kernels that
//! were kept on disk. `cargo bench --bench devices [-- --json] [case]`. What is promised of the inventory holds where no GPU
//! is there; a driver's start is its own.

mod table;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use outcrop::device::kernel_cache::KernelCache;
use table::Table;

const REPETITIONS: usize = 15;

fn main() {
    let table = Table::from_arguments("devices");
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    if table.wants("inventory") {
        let mut times: Vec<Duration> = (0..REPETITIONS).map(|_| once()).collect();
        times.sort();
        table.row("inventory, by the command, median", milliseconds(times[REPETITIONS / 2]), "ms", 150.0);
        table.row("inventory, by the command, longest", milliseconds(times[REPETITIONS - 1]), "ms", 150.0);
    }
    if table.wants("cache") {
        let mut times = hits();
        times.sort();
        table.row("kernel cache, a hit, median", milliseconds(times[times.len() / 2]), "ms", 1.0);
        table.row("kernel cache, a hit, longest", milliseconds(times[times.len() - 1]), "ms", 1.0);
    }
}

/// Hits of kernels of 128 KiB, more than any has, by keys of 32 KiB, as long as the longest source.
fn hits() -> Vec<Duration> {
    const KERNELS: usize = 100;
    let folder = tempfile::tempdir().expect("a folder");
    let cache = KernelCache::at(folder.path());
    let keys: Vec<String> = (0..KERNELS).map(|at| format!("{at:032768}")).collect();
    keys.iter().for_each(|key| cache.keep(key, key.repeat(4).as_bytes()));
    let hit = |key: &String| {
        let start = Instant::now();
        assert_eq!(cache.find(key).map(|image| image.len()), Some(4 * key.len()));
        start.elapsed()
    };
    keys.iter().map(hit).collect()
}

fn once() -> Duration {
    let mut command = Command::new(env!("CARGO_BIN_EXE_outcrop"));
    command.args(["devices", "--json"]).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let status = command.status().expect("the command");
    assert!(status.success());
    start.elapsed()
}
