//! What the timer's thread does when things are due.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::exec::active::Active;
use crate::exec::error::ExecError;
use crate::exec::pool::{Pool, Slot};
use crate::ids::StepId;
use crate::reactor::{Event, RunId};
use crate::steps::Lane;
use crate::sync::now;

/// How often those who watch are told, and memory is looked at.
pub(super) const GLANCE: Duration = Duration::from_millis(50);

/// What the timer tells.
pub(super) enum Due {
    Retry(Weak<Active>, RunId, StepId),
    /// A look at all runs under way.
    Glance,
    Deadline(Weak<Active>, RunId, Duration),
    /// An attempt, by ticket, should have ended.
    Overdue(u64),
    /// A look at whether a device's worker is stuck.
    Look(Lane),
}

impl Pool {
    /// The timer's thread.
    pub(super) fn watch_time(self: &Arc<Self>) {
        while let Some(due) = self.timer.next() {
            match due {
                Due::Retry(active, run, step) => {
                    if let Some(active) = active.upgrade() {
                        self.tell(run, &active, Event::RetryDue { run, step });
                    }
                }
                Due::Deadline(active, run, limit) => {
                    if let Some(active) = active.upgrade() {
                        let mut core = self.lock();
                        if core.is_run(run, &active) {
                            core.fail(run, ExecError::Deadline { limit });
                        }
                        drop(core);
                        active.control.flag().store(true, Ordering::Release);
                        self.tell(run, &active, Event::Cancel(run));
                    }
                }
                Due::Overdue(ticket) => self.give_up(ticket),
                Due::Look(lane) => self.look(lane),
                Due::Glance => self.glance(),
            }
        }
    }

    /// Looks at the runs under way, and comes back later while there are any.
    fn glance(&self) {
        let mut core = self.lock();
        core.brief.doubt();
        self.wake_others(&mut core);
        let runs: Vec<(Arc<Active>, Option<Vec<u64>>)> = core
            .slots()
            .map(|Slot { active, books, .. }| {
                (active.clone(), active.control.is_watched().then(|| books.finished.clone()))
            })
            .collect();
        core.is_looked_at = !runs.is_empty();
        drop(core);
        for (active, finished) in &runs {
            finished.iter().for_each(|finished| active.control.watch(finished));
            if let Some(meter) = active.meter.get() {
                meter.look(&active.devices, |memory| self.lock().reactor.ledger().held(memory));
            }
        }
        if !runs.is_empty() {
            self.timer.set(now() + GLANCE, Due::Glance);
        }
    }
}
