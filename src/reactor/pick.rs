//! Which ready step of a run starts next.

use smallvec::SmallVec;

use crate::reactor::event::RunId;
use crate::reactor::ledger::Ledger;
use crate::reactor::run::{NONE, Run};
use crate::reactor::tasks::Tasks;
use crate::steps::Lane;

/// A queue that was passed over this often for want of a resource gets it next. Plans that are explored whole have few
/// steps.
const BYPASS_MAX: u32 = if cfg!(test) { 1 } else { 64 };

/// A queue that was passed over too often: nobody else gets what it waits for.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) run: RunId,
    pub(super) queue: u16,
    wanted: SmallVec<[(u16, u64); 1]>,
}

/// A run, and what it takes from.
pub(super) struct Picker<'a> {
    pub(super) id: RunId,
    pub(super) tasks: &'a Tasks,
    pub(super) run: &'a mut Run,
    pub(super) ledger: &'a mut Ledger,
    pub(super) claim: &'a mut Option<Claim>,
}

impl Picker<'_> {
    /// The first ready step of the lane that may start.
    pub(super) fn pick(&mut self, lane: Lane) -> Option<u32> {
        let queues = &self.tasks.queues().of_lane[usize::from(lane)];
        let mut rejected = 0u64;
        let mut short: Option<u16> = None;
        loop {
            let (mut best, mut at, mut step) = (0u16, 0usize, NONE);
            for (place, &queue) in queues.iter().enumerate() {
                let head = self.run.queue(queue).head;
                if head < step && rejected & (1 << place) == 0 {
                    (best, at, step) = (queue, place, head);
                }
            }
            if step == NONE {
                return None;
            }
            let resources = self.tasks.resources(step);
            if !self.ledger.has(resources) {
                short = short.or(Some(best));
            } else if self.has_memory(step) {
                if !self.is_claimed(best, resources) {
                    self.count_bypass(short, resources);
                    return Some(step);
                }
            } else if self.claim.as_ref().is_some_and(|claim| claim.is_of(self.id, best)) {
                // It lacks memory too: a claim would hold up those that can make room.
                *self.claim = None;
            }
            rejected |= 1 << at;
        }
    }

    /// Where a step waits to be tried alone: that one, once nothing of the run is under way; where it has to wait for
    /// steps before it, one of those.
    pub(super) fn pick_alone(&mut self, lane: Lane) -> Option<u32> {
        let &step = self.run.squeezed.first()?;
        if self.run.running > 0 {
            return None;
        }
        // The first step that hasn't started may always start, so one of the two may.
        if !(self.ledger.has(self.tasks.resources(step)) && self.has_memory(step)) {
            return self.pick(lane);
        }
        (self.tasks.class(step).lane == lane).then_some(step)
    }

    pub(super) fn has_memory(&mut self, step: u32) -> bool {
        let need = self.tasks.need(step);
        if need.bytes() == 0 {
            return true;
        }
        let share = &mut self.run.shares[usize::from(need.memory)];
        let (head, states) = (self.run.head, &self.run.states);
        let started = |other: u32| states[other as usize].has_started();
        self.ledger.may_start(share, self.tasks, step, head, started)
    }

    /// The head of its queue has started: a claim of the queue is met.
    pub(super) fn met(&mut self, step: u32) {
        let queue = self.tasks.class(step).queue;
        if self.claim.as_ref().is_some_and(|claim| claim.is_of(self.id, queue)) {
            *self.claim = None;
        }
    }

    /// Whether another queue has a claim on what this one would take.
    fn is_claimed(&self, queue: u16, resources: &[(u16, u64)]) -> bool {
        let Some(claim) = self.claim.as_ref().filter(|claim| !claim.is_of(self.id, queue)) else {
            return false;
        };
        let is_short = |resource: u16| {
            let mut wanted = claim.wanted.iter();
            wanted.any(|&(other, amount)| other == resource && self.ledger.is_short_of(other, amount))
        };
        resources.iter().any(|&(resource, _)| is_short(resource))
    }

    /// A queue that lacked resources is passed over by a step that takes some of them.
    fn count_bypass(&mut self, short: Option<u16>, resources: &[(u16, u64)]) {
        let Some(number) = short else { return };
        let queue = self.run.queue_mut(number);
        let wanted = self.tasks.resources(queue.head);
        if resources.iter().any(|(taken, _)| wanted.iter().any(|(resource, _)| resource == taken)) {
            queue.bypasses += 1;
            if queue.bypasses >= BYPASS_MAX && self.claim.is_none() {
                *self.claim = Some(Claim { run: self.id, queue: number, wanted: wanted.into() });
            }
        }
    }
}

impl Claim {
    fn is_of(&self, run: RunId, queue: u16) -> bool {
        (self.run, self.queue) == (run, queue)
    }
}
