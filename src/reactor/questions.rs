//! What a driver may ask of the reactor; nothing here changes what it does.

use crate::ids::StepId;
use crate::reactor::event::RunId;
use crate::reactor::ledger::{Ledger, Share};
use crate::reactor::run::{NONE, Phase, Run, StepState};
use crate::reactor::tasks::Tasks;
use crate::reactor::{BUNDLE_NANOSECONDS, Reactor, Slot};
use crate::steps::Lane;

/// What waking a worker takes, until it works: less than that is done sooner by those who are awake.
const WAKE_NANOSECONDS: u64 = 5_000;

impl Reactor {
    /// Whether a poll of this lane may find a step: always where it would, and hardly ever where it wouldn't.
    pub fn could_start(&mut self, lane: Lane) -> bool {
        // Of several runs one may keep more in reserve than it turns out to need.
        let is_exact = !self.stale || self.order.len() == 1 && self.queued.is_empty();
        let Reactor { order, runs, ledger, .. } = self;
        order.iter().any(|id| {
            let slot = runs[id.0 as usize].as_mut();
            slot.is_some_and(|Slot { tasks, run }| could_start(ledger, tasks, run, lane, is_exact))
        })
    }

    /// Whether a lane's ready steps are worth waking a worker for: it has to sleep less than they take.
    pub fn is_worth_waking(&self, lane: Lane) -> bool {
        let slots = self.order.iter().filter_map(|id| self.runs[id.0 as usize].as_ref());
        let running = slots.filter(|slot| slot.run.phase == Phase::Running);
        let backlog = |Slot { tasks, run }: &Slot| {
            let queues = tasks.queues().of_lane.get(usize::from(lane)).into_iter().flatten();
            queues.fold(0u64, |sum, &queue| sum.saturating_add(run.queue(queue).backlog()))
        };
        running.map(backlog).fold(0, u64::saturating_add) >= WAKE_NANOSECONDS
    }

    /// Whether steps like this one take no longer than a [bundle](BUNDLE_NANOSECONDS), as far as anybody knows.
    pub fn is_short(&self, run: RunId, step: StepId) -> bool {
        let slot = self.runs.get(run.0 as usize).and_then(Option::as_ref);
        let cost = slot.map_or(0, |Slot { tasks, run }| run.queue(tasks.class(step.0).queue).cost);
        cost > 0 && cost <= BUNDLE_NANOSECONDS
    }

    /// Steps of a run that aren't done.
    pub fn unfinished(&self, run: RunId) -> usize {
        self.run(run).map_or(0, |run| run.unfinished)
    }

    /// The steps of a run that are done, in planned order.
    pub fn done(&self, run: RunId) -> Vec<StepId> {
        let states = self.run(run).map_or(&[][..], |run| &run.states).iter().enumerate();
        states.filter(|(_, state)| state.stage() == StepState::DONE).map(|(at, _)| StepId::at(at)).collect()
    }

    /// The most bytes that a run held at once, by memory.
    pub fn peaks(&self, run: RunId) -> Vec<u64> {
        self.run(run).map_or_else(Vec::new, |run| run.shares.iter().map(|share| share.peak()).collect())
    }

    /// The book.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

fn could_start(ledger: &Ledger, tasks: &Tasks, run: &mut Run, lane: Lane, is_exact: bool) -> bool {
    let Run { ref queues, ref mut shares, ref states, head, .. } = *run;
    let of_lane = tasks.queues().of_lane.get(usize::from(lane)).into_iter().flatten();
    let mut steps = of_lane.map(|&queue| queues[usize::from(queue)].head).filter(|&step| step != NONE);
    match run.squeezed.first() {
        _ if run.phase != Phase::Running => false,
        // Alone, or after one that it waits for.
        Some(&step) => run.running == 0 && (tasks.class(step).lane == lane || steps.next().is_some()),
        None => steps.any(|step| {
            let need = tasks.need(step);
            let has_room = |share: &mut Share| {
                let started = |other: u32| states[other as usize].has_started();
                match is_exact {
                    true => ledger.reserve_to_start(share, tasks, step, head, started).is_some(),
                    false => ledger.has_room(share, need, step == head),
                }
            };
            ledger.has(tasks.resources(step))
                && (need.bytes() == 0 || has_room(&mut shares[usize::from(need.memory)]))
        }),
    }
}
