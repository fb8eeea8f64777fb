//! The threads that drive runs, in orders that a seed decides: thousands of schedules of small runs.
//!
//! What runs is the executor itself, on [shuttle](https://docs.rs/shuttle)'s threads: see [`sync`](crate::sync). Whoever
//! waits for something that nobody will tell is found at once, as a deadlock. In each schedule all who wait are told,
//! results are right, the book is settled, no value is alive in the end, and all threads have ended. Time stops where a
//! test says: so that looks at all runs now and then, which would also wake whom nobody woke, aren't what helps.
//!
//! `cargo test --lib --features interleavings interleavings` runs them. A failure names its seed:
//! `OUTCROP_SEED=17 cargo test --lib --features interleavings interleavings::TEST` has it again. `OUTCROP_SOAK` makes it
//! many more schedules.

mod devices;
mod endings;
mod runs;
mod stage;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, FailurePersistence, Runner};

/// Seeds of each test, and schedules of each seed.
const SEEDS: u64 = 50;
const SOAK_SEEDS: u64 = 500;
const SCHEDULES: usize = 20;
/// Where the order of threads changes in a schedule of every other seed, at most.
const CHANGES: usize = 3;

/// Time stands still: nothing is due ever.
const NEVER: Duration = Duration::ZERO;
/// Retries are due, and no look at all runs.
const RETRIES: Duration = Duration::from_millis(45);
/// Everything is due some time.
const ALWAYS: Duration = Duration::from_secs(600);

/// Plays a scene in many schedules. In each, time stops at `end`.
fn explore(end: Duration, scene: impl Fn() + Send + Sync + Copy + 'static) {
    let only = std::env::var("OUTCROP_SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    let seeds = if std::env::var_os("OUTCROP_SOAK").is_some() { SOAK_SEEDS } else { SEEDS };
    for seed in only.map_or(0..seeds, |seed| seed..seed + 1) {
        let play = move || {
            crate::sync::begin(end);
            scene();
        };
        let mut config = Config::new();
        config.stack_size = 512 << 10;
        config.silence_warnings = true;
        config.failure_persistence = FailurePersistence::None;
        let run = catch_unwind(AssertUnwindSafe(|| {
            if seed.is_multiple_of(2) {
                Runner::new(RandomScheduler::new_from_seed(seed, SCHEDULES), config).run(play)
            } else {
                Runner::new(PctScheduler::new_from_seed(seed, CHANGES, SCHEDULES), config).run(play)
            }
        }));
        if let Err(panic) = run {
            eprintln!("to have this again: OUTCROP_SEED={seed}");
            resume_unwind(panic);
        }
    }
}
