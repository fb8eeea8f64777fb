//! What a driver may ask of the reactor; nothing here changes it.

use crate::ids::StepId;
use crate::reactor::event::RunId;
use crate::reactor::ledger::Ledger;
use crate::reactor::run::{Phase, Run, StepState};
use crate::reactor::tasks::Tasks;
use crate::reactor::{BUNDLE_NANOSECONDS, Reactor, Slot};
use crate::steps::Lane;

/// What waking a worker takes, until it works: less than that is done sooner by those who are awake.
const WAKE_NANOSECONDS: u64 = 5_000;

impl Reactor {
    /// Ready steps of a lane, whether or not they may start.
    pub fn ready(&self, lane: Lane) -> usize {
        let slots = self.order.iter().filter_map(|id| self.runs[id.0 as usize].as_ref());
        let running = slots.filter(|slot| slot.run.phase == Phase::Running);
        running.map(|slot| ready_in(&slot.tasks, &slot.run, lane)).sum()
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

fn ready_in(tasks: &Tasks, run: &Run, lane: Lane) -> usize {
    let queues = tasks.queues().of_lane.get(usize::from(lane)).into_iter().flatten();
    let squeezed = run.squeezed.first().filter(|&&step| tasks.class(step).lane == lane);
    queues.map(|&queue| run.ready(queue)).sum::<usize>() + usize::from(squeezed.is_some())
}
