//! What must hold in every state.

use super::*;
use crate::reactor::ledger::Share;
use state::Lost;

impl Scene {
    /// No more is held than the budget, and the book says what the steps that run, the values that are alive and the
    /// attempts that were given up make. What runs that go on keep in reserve fits beside what is lost; runs that can't go
    /// on have been told so.
    pub(super) fn check(&self, state: &State) {
        let (name, ledger) = (self.name(), state.reactor.ledger());
        let slots = || state.reactor.runs.iter().flatten();
        for (memory, budget) in self.budgets.iter().enumerate() {
            let sum = |of: fn(&Share) -> u64, is_meant: fn(Phase) -> bool| {
                let slots = slots().filter(|slot| is_meant(slot.run.phase));
                slots.filter_map(|slot| slot.run.shares.get(memory)).map(of).sum::<u64>()
            };
            let (held, reserved, lost) =
                (ledger.held(memory), ledger.reserved(memory), self.lost(&state.lost, memory));
            let going_on =
                sum(|share| share.reserve, |phase| !matches!(phase, Phase::Stopping | Phase::Complete));
            let told = || {
                format!(
                    "{name}: memory {memory}: {held} held, {reserved} reserved, {lost} lost\n{}",
                    state.told()
                )
            };
            assert!(held <= *budget && reserved <= *budget, "{}", told());
            assert!(going_on + lost <= *budget, "{going_on} by runs that go on, {}", told());
            let sums = (sum(|share| share.held, |_| true), sum(|share| share.reserve, |_| true));
            assert_eq!(sums, (held, reserved), "{}", told());
            assert_eq!(ledger.lost(memory), lost, "{}", told());
        }
        let has_more = |share: &Share| share.held > share.reserve;
        let is_short = slots().any(|slot| slot.run.shares.iter().any(has_more));
        assert!(!is_short, "{name}: a run holds more than it keeps in reserve\n{}", state.told());
        // Reserves that are stale are looked at when a worker asks.
        let next = state.reactor.queued.first().and_then(|id| state.reactor.runs[id.0 as usize].as_ref());
        let waits = next.is_none_or(|slot| state.reactor.stale || ledger.lacks(&slot.tasks).is_some());
        assert!(waits, "{name}: there is room, and a run isn't told\n{}", state.told());
        assert_eq!(ledger.free_resources(), [self.free(state)], "{name}: licences\n{}", state.told());
        for slot in slots() {
            if slot.run.phase == Phase::Running {
                self.check_run(state, slot);
            }
            let is_over = matches!(slot.run.phase, Phase::Stopping | Phase::Complete);
            let could = self.could_go_on(state, &slot.tasks, slot.run.phase != Phase::Queued);
            assert!(is_over || could, "{name}: a run starves and isn't told\n{}", state.told());
        }
        if state.is_over() {
            assert!(ledger.is_settled(), "{name}: not all was given back\n{}", state.told());
            let came = self.tasks.iter().zip(&state.runs).filter(|(_, run)| !run.is_late);
            for (tasks, run) in came.filter(|(_, run)| !run.is_stopped) {
                assert_eq!(run.freed, (1 << tasks.len()) - 1, "{name}: values that weren't freed");
            }
        }
    }

    /// Bytes that given-up attempts hold of a memory: room of their own, and each value that they read once.
    fn lost(&self, lost: &[Lost], memory: usize) -> u64 {
        let mut values = HashSet::new();
        let bytes = |lost: &Lost| {
            let tasks = &self.tasks[lost.at];
            let own = tasks.need(lost.step.0);
            let operands = tasks.plan().operands(lost.step).iter().map(|operand| operand.step.0);
            let read =
                operands.filter(|value| values.insert((lost.at, *value))).map(|value| tasks.need(value));
            let read = read.filter(|need| usize::from(need.memory) == memory).map(|need| need.value);
            read.sum::<u64>() + if usize::from(own.memory) == memory { own.bytes() } else { 0 }
        };
        lost.iter().map(bytes).sum()
    }

    /// Millionths of licences that given-up attempts hold.
    fn lost_licences(&self, lost: &[Lost]) -> u64 {
        let takes = lost.iter().filter(|lost| lost.takes);
        takes.flat_map(|lost| self.tasks[lost.at].resources(lost.step.0)).map(|(_, amount)| amount).sum()
    }

    /// Millionths of licences that neither steps that run nor given-up attempts hold.
    fn free(&self, state: &State) -> u64 {
        let mut grants = HashSet::new();
        let mut taken = self.lost_licences(&state.lost);
        for (world, tasks) in state.runs.iter().zip(&self.tasks) {
            for (step, _) in world.running.iter().filter(|(_, grant)| grants.insert(grant.0)) {
                taken += tasks.resources(step.0).iter().map(|(_, amount)| amount).sum::<u64>();
            }
        }
        self.licences - taken
    }

    /// Whether what is lost leaves a run enough, were it alone.
    pub(super) fn could_run(&self, state: &State, tasks: &Tasks) -> bool {
        let fits = |(memory, demand): (usize, &Demand)| {
            let budget = self.budgets[memory];
            let reserve = if demand.total > budget / 8 { demand.peak } else { demand.total };
            reserve + self.lost(&state.lost, memory) <= budget
        };
        tasks.demands().iter().enumerate().all(fits) && self.could_give(state, tasks)
    }

    /// One that was admitted has its memory in reserve.
    pub(super) fn could_go_on(&self, state: &State, tasks: &Tasks, is_admitted: bool) -> bool {
        if is_admitted { self.could_give(state, tasks) } else { self.could_run(state, tasks) }
    }

    pub(super) fn could_give(&self, state: &State, tasks: &Tasks) -> bool {
        tasks.most_of(0) + self.lost_licences(&state.lost) <= self.licences
    }

    /// Whether what the runs of a state need of each memory fits beside what is lost.
    pub(super) fn has_room(&self, lost: &[Lost], state: &State) -> bool {
        let mut reactor = state.reactor.clone();
        reactor.refresh();
        let mut budgets = self.budgets.iter().enumerate();
        budgets.all(|(memory, budget)| reactor.ledger.reserved(memory) + self.lost(lost, memory) <= *budget)
    }

    fn check_run(&self, state: &State, Slot { tasks, run }: &Slot) {
        let mut ledger = state.reactor.ledger.clone();
        // What runs that have stopped keep in reserve comes back.
        let stopping = state.reactor.runs.iter().flatten().filter(|slot| slot.run.phase == Phase::Stopping);
        stopping.for_each(|slot| ledger.close(&slot.run.shares));
        for (memory, share) in run.shares.iter().enumerate() {
            let mut share = share.clone();
            let held = held_now(tasks, run, memory);
            assert_eq!(share.held, held, "{}: held in memory {memory}\n{}", self.name(), state.told());
            let needs = needs(tasks, run, memory);
            if let Some(profile) = &mut share.profile {
                for to in 0..=tasks.len() {
                    let largest = needs[..to].iter().flatten().max().copied();
                    let told = profile.largest_before(to);
                    assert!(
                        largest.map_or(told < 0, |largest| largest == told),
                        "{}: profile of memory {memory} up to {to} is {told}, not {largest:?}\n{}",
                        self.name(),
                        state.told()
                    );
                }
            }
            let most = needs.iter().flatten().max().map_or(0, |most| *most as u64).max(share.held);
            assert!(
                run.running > 0 || share.reserve >= most,
                "{}: {} in reserve of {most} needed of memory {memory}\n{}",
                self.name(),
                share.reserve,
                state.told()
            );
        }
        let head = run.head;
        if run.running == 0 && head < tasks.len() as u32 {
            let share = &mut run.shares[usize::from(tasks.need(head).memory)].clone();
            assert!(
                ledger.may_start(share, tasks, head, head, |_| false),
                "{}: nothing runs, and the head {head} doesn't fit\n{}",
                self.name(),
                state.told()
            );
        }
    }
}

/// The last reader of a value, in planned order, that isn't done.
fn last_reader(tasks: &Tasks, run: &Run, value: u32) -> Option<u32> {
    let is_open = |reader: &&u32| run.states[**reader as usize].stage() != StepState::DONE;
    tasks.readers(value).iter().filter(is_open).max().copied()
}

/// Bytes that a run holds, worked out from where its steps are.
fn held_now(tasks: &Tasks, run: &Run, memory: usize) -> u64 {
    let mut held = tasks.demands()[memory].results;
    for step in 0..tasks.len() as u32 {
        let need = tasks.need(step);
        if usize::from(need.memory) == memory {
            held += match run.states[step as usize].stage() {
                StepState::RUNNING => need.bytes(),
                StepState::DONE if last_reader(tasks, run, step).is_some() => need.value,
                _ => 0,
            };
        }
    }
    held
}

/// For each step that isn't done, the bytes held when it runs once all before it are done, worked out from scratch. Steps
/// that allocate elsewhere count though they are done: no more is held at one than at the next that isn't.
fn needs(tasks: &Tasks, run: &Run, memory: usize) -> Vec<Option<i64>> {
    let mut needs = Vec::new();
    for at in 0..tasks.len() as u32 {
        let mut held = tasks.demands()[memory].results;
        for step in 0..tasks.len() as u32 {
            let (need, stage) = (tasks.need(step), run.states[step as usize].stage());
            if usize::from(need.memory) != memory {
                continue;
            }
            let is_read_later = last_reader(tasks, run, step).is_some_and(|last| last >= at);
            held += match stage {
                StepState::DONE if is_read_later => need.value,
                StepState::DONE => 0,
                _ if step == at => need.bytes(),
                StepState::RUNNING if step > at => need.bytes(),
                _ if step < at && is_read_later => need.value,
                _ => 0,
            };
        }
        let is_done = run.states[at as usize].stage() == StepState::DONE;
        let is_elsewhere = usize::from(tasks.need(at).memory) != memory;
        needs.push((!is_done || is_elsewhere).then_some(held as i64));
    }
    needs
}
