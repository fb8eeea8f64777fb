//! The threads of an engine, started when a plan first needs them.

use std::sync::{Arc, PoisonError};

use crate::exec::error::ExecError;
use crate::exec::pinning;
use crate::exec::pool::Pool;
use crate::exec::worker::Worker;
use crate::panics;
use crate::steps::{Lane, Plan};
use crate::sync::{Mutex, MutexGuard, thread};

#[derive(Default)]
pub(super) struct Threads(Mutex<Started>);

#[derive(Default)]
struct Started {
    /// For each lane, whether its workers are there.
    lanes: Vec<bool>,
    workers: u16,
    /// The cores to pin the host's workers to; empty when they aren't pinned.
    cores: Vec<usize>,
    handles: Vec<Handle>,
}

struct Handle {
    worker: Option<u16>,
    lane: Lane,
    /// Which of its lane's workers it is.
    seat: usize,
    thread: thread::JoinHandle<()>,
}

impl Threads {
    /// Starts what a plan needs and isn't there.
    pub(super) fn start(&self, pool: &Arc<Pool>, plan: &Plan) -> Result<(), ExecError> {
        let mut started = self.lock();
        if started.lanes.is_empty() {
            started.lanes = vec![false; pool.lanes().count()];
            if pool.limits().pin_threads {
                started.cores = pinning::cores();
            }
            let pool = pool.clone();
            started.spawn("outcrop-timer", None, (0, 0), move || pool.watch_time())?;
        }
        for lane in plan.steps.classes().iter().map(|step| plan.lanes().of_step(step)).chain([0]) {
            if started.lanes.get(usize::from(lane)).is_none_or(|is_there| *is_there) {
                continue;
            }
            for seat in 0..if lane == 0 { pool.limits().threads.max(1) } else { 1 } {
                started.worker(pool, lane, seat)?;
            }
            started.lanes[usize::from(lane)] = true;
        }
        Ok(())
    }

    /// Starts a worker in the place of one that has been given up.
    pub(super) fn replace(&self, pool: &Arc<Pool>, worker: u16) {
        let mut started = self.lock();
        let at = started.handles.iter().position(|handle| handle.worker == Some(worker));
        let (lane, seat) = at.map_or((0, 0), |at| {
            let Handle { lane, seat, .. } = started.handles.swap_remove(at);
            (lane, seat)
        });
        // Without another thread the lane has one less; the last one's absence can't be mended.
        let _ = started.worker(pool, lane, seat);
    }

    pub(super) fn join(&self) {
        let handles = std::mem::take(&mut self.lock().handles);
        let own = thread::current().id();
        for handle in handles.into_iter().filter(|handle| handle.thread.thread().id() != own) {
            // A worker's panic was told as the failure of its run.
            let _ = handle.thread.join();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Started> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Started {
    fn worker(&mut self, pool: &Arc<Pool>, lane: Lane, seat: usize) -> Result<(), ExecError> {
        let (pool, number) = (pool.clone(), self.workers);
        self.workers += 1;
        let cores = if lane == 0 { &self.cores[..] } else { &[] };
        let core = cores.get(seat % cores.len().max(1)).copied();
        self.spawn(&format!("outcrop-{number}"), Some(number), (lane, seat), move || {
            core.into_iter().for_each(pinning::pin);
            // Steps and destructors are caught one by one; a worker that is gone all the same would leave others waiting
            // for ever.
            let worker = Worker::new(pool.clone(), lane, number);
            if let Err(message) = panics::caught(|| worker.work()) {
                pool.close(&ExecError::Broken { message });
            }
        })
    }

    fn spawn(
        &mut self,
        name: &str,
        worker: Option<u16>,
        (lane, seat): (Lane, usize),
        body: impl FnOnce() + Send + 'static,
    ) -> Result<(), ExecError> {
        let thread = thread::Builder::new().name(name.to_owned()).spawn(body);
        let thread = thread.map_err(|error| ExecError::Start { message: error.to_string() })?;
        self.handles.push(Handle { worker, lane, seat, thread });
        Ok(())
    }
}
