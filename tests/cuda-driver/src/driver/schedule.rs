//! Streams: queues of work, who runs them, and who waits for what.
//!
//! Everything that a stream or event waits for is a [`Ticket`]: a stream, and how much of its work must be done.
//! Work is submitted after all that it waits for, so that there is always something that can run.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use super::lock;
use super::variables::{seeded, variable};

/// The `done`-th work of a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ticket {
    pub stream: u64,
    pub done: u64,
}

/// What a stream does at its place in the order.
pub type Action = Box<dyn FnOnce() + Send>;

struct Work {
    waits: Vec<Ticket>,
    action: Action,
}

#[derive(Default)]
struct Queue {
    pending: VecDeque<Work>,
    submitted: u64,
    done: u64,
    running: bool,
    closed: bool,
    device: usize,
}

struct State {
    queues: BTreeMap<u64, Queue>,
    seed: u64,
    /// Choices made so far among each device's streams.
    choices: BTreeMap<usize, u64>,
}

/// All streams of the process.
pub struct Schedule {
    state: Mutex<State>,
    changed: Condvar,
    /// Work is done by whoever waits, in an order that the seed decides, not by a thread for each stream.
    lazy: bool,
    /// Seed and most microseconds of what work waits before it starts.
    delays: Option<(u64, u64)>,
}

/// The process's schedule, as `OUTCROP_CUDA_SCHEDULE` and `OUTCROP_CUDA_DELAYS` say.
pub fn schedule() -> &'static Schedule {
    static SCHEDULE: OnceLock<Schedule> = OnceLock::new();
    SCHEDULE.get_or_init(|| {
        let mode = variable("OUTCROP_CUDA_SCHEDULE").unwrap_or_default();
        let seed = mode.strip_prefix("lazy:").and_then(|seed| seed.parse().ok());
        Schedule {
            state: Mutex::new(State {
                queues: BTreeMap::new(),
                seed: seed.unwrap_or(0),
                choices: BTreeMap::new(),
            }),
            changed: Condvar::new(),
            lazy: seed.is_some(),
            delays: variable("OUTCROP_CUDA_DELAYS").as_deref().and_then(seeded),
        }
    })
}

impl Schedule {
    /// Opens the stream of that number on a device, with a thread of its own unless work is done by who waits.
    pub fn open(&'static self, stream: u64, device: usize) {
        lock(&self.state).queues.insert(stream, Queue { device, ..Queue::default() });
        if !self.lazy {
            std::thread::spawn(move || self.serve(stream));
        }
    }

    /// Lets a stream end when its work is done.
    pub fn close(&self, stream: u64) {
        let mut state = lock(&self.state);
        if let Some(queue) = state.queues.get_mut(&stream) {
            queue.closed = true;
        }
        state.sweep(stream);
        self.changed.notify_all();
    }

    /// Appends work that starts when all that it waits for is done.
    pub fn submit(&self, stream: u64, waits: Vec<Ticket>, action: Action) -> Ticket {
        let mut state = lock(&self.state);
        let Some(queue) = state.queues.get_mut(&stream) else { return Ticket { stream, done: 0 } };
        queue.submitted += 1;
        queue.pending.push_back(Work { waits, action });
        let done = queue.submitted;
        self.changed.notify_all();
        Ticket { stream, done }
    }

    /// All that has been submitted to a stream.
    pub fn last(&self, stream: u64) -> Ticket {
        Ticket { stream, done: lock(&self.state).queues.get(&stream).map_or(0, |queue| queue.submitted) }
    }

    pub fn wait(&self, ticket: Ticket) {
        let mut state = lock(&self.state);
        while !state.is_done(ticket) {
            state = match self.lazy.then(|| state.choose(ticket)).flatten() {
                Some(stream) => self.run(state, stream),
                None => self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner()),
            };
        }
    }

    /// Whether that is done; where work is done by who waits, does one piece, so that asking again gets there.
    pub fn is_done(&self, ticket: Ticket) -> bool {
        let mut state = lock(&self.state);
        if !state.is_done(ticket)
            && let Some(stream) = self.lazy.then(|| state.choose(ticket)).flatten()
        {
            state = self.run(state, stream);
            return state.is_done(ticket);
        }
        state.is_done(ticket)
    }

    fn serve(&self, stream: u64) {
        let mut state = lock(&self.state);
        while state.queues.contains_key(&stream) {
            state = if state.can_run(stream) {
                self.run(state, stream)
            } else {
                self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner())
            };
        }
    }

    /// Does the first work of a stream that can run, without the lock.
    fn run<'s>(&'s self, mut state: MutexGuard<'s, State>, stream: u64) -> MutexGuard<'s, State> {
        let Some(queue) = state.queues.get_mut(&stream) else { return state };
        let Some(work) = queue.pending.pop_front() else { return state };
        queue.running = true;
        let number = queue.done;
        drop(state);
        if let Some((seed, most)) = self.delays {
            let micros = mixed(seed ^ mixed(stream ^ mixed(number))) % most.max(1);
            std::thread::sleep(Duration::from_micros(micros));
        }
        (work.action)();
        let mut state = lock(&self.state);
        if let Some(queue) = state.queues.get_mut(&stream) {
            queue.running = false;
            queue.done += 1;
        }
        state.sweep(stream);
        self.changed.notify_all();
        state
    }
}

impl State {
    fn is_done(&self, ticket: Ticket) -> bool {
        // A stream that has gone had done everything.
        self.queues.get(&ticket.stream).is_none_or(|queue| queue.done >= ticket.done)
    }

    fn can_run(&self, stream: u64) -> bool {
        self.queues.get(&stream).is_some_and(|queue| {
            let first = queue.pending.front();
            !queue.running && first.is_some_and(|work| work.waits.iter().all(|ticket| self.is_done(*ticket)))
        })
    }

    /// A stream that can run, by the seed: one of the device that is waited for, as long as there is any, so that
    /// what others do with other devices changes nothing.
    fn choose(&mut self, ticket: Ticket) -> Option<u64> {
        let device = self.queues.get(&ticket.stream)?.device;
        let able: Vec<u64> = self.queues.keys().copied().filter(|stream| self.can_run(*stream)).collect();
        let own = |stream: &u64| self.queues.get(stream).is_some_and(|queue| queue.device == device);
        let near: Vec<u64> = able.iter().copied().filter(own).collect();
        let able = if near.is_empty() { able } else { near };
        let choice = self.choices.entry(device).or_default();
        *choice += 1;
        let at = mixed(self.seed ^ mixed(*choice)) % (able.len().max(1) as u64);
        able.get(at as usize).copied()
    }

    fn sweep(&mut self, stream: u64) {
        let ended = |queue: &Queue| queue.closed && !queue.running && queue.pending.is_empty();
        if self.queues.get(&stream).is_some_and(ended) {
            self.queues.remove(&stream);
        }
    }
}

/// Mixes the bits of a number (the finalizer of SplitMix64, Steele, Lea and Flood 2014).
fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}
