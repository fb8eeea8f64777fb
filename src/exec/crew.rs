//! Workers that take parts of a step that another worker does.
//!
//! A worker whose step is [shared](crate::parts) offers its parts to the pool and wakes those who sleep. One of the host's
//! that has nothing else to do takes a part, and looks for steps again: steps come before parts, and one that becomes
//! ready waits no longer than a part takes. The owner takes parts too, and goes on when nobody is in the midst of one.

use std::cmp::Ordering::Greater;
use std::sync::Arc;

use crate::exec::active::Active;
use crate::exec::nested::Inside;
use crate::exec::pool::{Core, Pool, Slot};
use crate::exec::trace::Traced;
use crate::ids::StepId;
use crate::parts::{Crew, Shared, Stint};

/// A step under way whose parts may be taken.
pub(super) struct Offer {
    active: Arc<Active>,
    work: Arc<Shared>,
}

/// A part of a step that another worker than the step's did.
pub(super) struct Help {
    owner: u16,
    helper: u16,
    /// Nanoseconds since the run began.
    start: u64,
    busy: u64,
}

impl Crew for Inside {
    fn share(&self, work: &Arc<Shared>) {
        self.pool.offer(&self.active, work);
        while work.take(self.worker) {}
        let stints = work.wait();
        self.pool.withdraw(self, work, &stints);
    }
}

impl Pool {
    fn offer(&self, active: &Arc<Active>, work: &Arc<Shared>) {
        let mut core = self.lock();
        core.offers.push(Offer { active: active.clone(), work: work.clone() });
        self.wake_for_parts(&core, work.left().saturating_sub(1));
    }

    fn withdraw(&self, owner: &Inside, work: &Arc<Shared>, stints: &[Stint]) {
        let mut core = self.lock();
        core.offers.retain(|offer| !Arc::ptr_eq(&offer.work, work));
        let Some(run) = core.run_of(&owner.active) else { return };
        let Some(slot) = core.run(run) else { return };
        let helped = stints.iter().filter(|stint| stint.worker != owner.worker);
        slot.help.extend(helped.map(|stint| Help {
            owner: owner.worker,
            helper: stint.worker,
            start: stint.began.duration_since(owner.active.started).as_nanos() as u64,
            busy: (stint.ended - stint.began).as_nanos() as u64,
        }));
    }
}

impl Core {
    /// Work that has parts left: that of the deepest run, and then of the highest priority, comes first. Whoever waits
    /// for a run serves `only` that.
    pub(super) fn offered(&self, only: Option<&Arc<Active>>) -> Option<Arc<Shared>> {
        let rank = |offer: &Offer| (offer.active.depth, offer.active.options.priority);
        let is_for_me = |offer: &&Offer| only.is_none_or(|only| Arc::ptr_eq(only, &offer.active));
        let open = self.offers.iter().filter(is_for_me).filter(|offer| offer.work.left() > 0);
        let comes_first = |other: &Offer, best: &Offer| rank(other).partial_cmp(&rank(best)) == Some(Greater);
        let best = open.reduce(|best, other| if comes_first(other, best) { other } else { best });
        best.map(|offer| offer.work.clone())
    }
}

impl Slot {
    /// Enters in the books what others did of a step that `owner` was at in that time. They are parts of its attempt, and
    /// time of workers' like any other.
    #[cold]
    pub(super) fn note_help(&mut self, step: StepId, owner: u16, (start, busy): (u64, u64)) {
        let layer = self.active.plan.steps.class(step.index()).layer;
        let is_of_it = |help: &mut Help| help.owner == owner && (start..=start + busy).contains(&help.start);
        for Help { helper, start, busy, .. } in self.help.extract_if(.., is_of_it) {
            self.books.helped(layer, busy);
            if let Some(trace) = &mut self.books.record.trace {
                let nanoseconds = busy.min(u64::from(u32::MAX)) as u32;
                trace.push(Traced { step, worker: helper, start, nanoseconds, failed: false, is_part: true });
            }
        }
    }
}
