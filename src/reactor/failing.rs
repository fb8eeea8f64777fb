//! What the reactor does about attempts that fail or are given up.

use crate::ids::StepId;
use crate::reactor::event::{Command, Failure, GrantId, RunId};
use crate::reactor::grants::Resources;
use crate::reactor::run::{Phase, StepState};
use crate::reactor::tasks::{Need, Tasks};
use crate::reactor::{Reactor, Slot};

/// What an attempt that was given up goes on holding.
#[derive(Clone, Debug)]
pub(super) struct Lost {
    pub(super) run: RunId,
    /// Room of its own.
    own: Need,
    /// Values that it reads, and their room.
    reads: Vec<(StepId, Need)>,
    resources: Resources,
    /// By which it might still lend.
    grant: GrantId,
}

impl Reactor {
    /// Bytes that an attempt at a step holds, the values that it reads among them.
    pub fn holds(&self, run: RunId, step: StepId) -> u64 {
        let slot = self.runs.get(run.0 as usize).and_then(Option::as_ref);
        slot.map_or(0, |Slot { tasks, .. }| {
            let reads = read_by(tasks, step).into_iter().map(|(_, need)| need);
            reads.chain([tasks.need(step.0)]).map(Need::bytes).sum()
        })
    }

    /// How often a step has been tried and failed.
    pub fn failures(&self, run: RunId, step: StepId) -> u32 {
        self.run(run).map_or(0, |run| run.failures(step))
    }

    /// Every step of a run that was tried and failed, and how often.
    pub fn all_failures(&self, run: RunId) -> Vec<(StepId, u32)> {
        let failures = self.run(run).into_iter().flat_map(|run| &run.failures);
        failures.map(|(&step, &failures)| (StepId(step), failures)).collect()
    }

    /// A step of a run that hasn't begun was tried before, in a run that this one goes on from.
    pub fn charge(&mut self, run: RunId, step: StepId, failures: u32) {
        if let Some(Slot { run, .. }) = self.slot(run) {
            run.failures.insert(step.0, failures);
        }
    }

    pub(super) fn on_failed(
        &mut self,
        id: RunId,
        step: u32,
        grant: GrantId,
        why: Failure,
        commands: &mut Vec<Command>,
    ) {
        self.unstart(id, step, grant);
        let Some(Slot { tasks, run }) = self.runs[id.0 as usize].as_mut() else { return };
        run.states[step as usize] = StepState::BACKING_OFF;
        // One that is in the list starts only by being its first, alone.
        let was_alone = run.squeezed.first() == Some(&step);
        if run.phase == Phase::Running && why == Failure::OutOfMemory && !was_alone {
            return run.squeeze(step);
        }
        run.squeezed.retain(|&other| other != step);
        // What goes on elsewhere, or in parts, has the retries left that it had.
        let failures = run.failures.entry(step).or_insert(0);
        *failures += u32::from(why != Failure::OutOfMemory);
        let attempt = *failures;
        let retries = tasks.plan().terms[tasks.class(step).terms as usize].retries;
        if run.phase == Phase::Running {
            if why == Failure::Retryable && attempt <= retries {
                commands.push(Command::Retry { run: id, step: StepId(step), attempt });
                return;
            }
            commands.push(Command::Abort { run: id, step: StepId(step) });
        }
        self.stop(id, commands);
    }

    pub(super) fn on_untried(&mut self, id: RunId, step: u32, grant: GrantId, commands: &mut Vec<Command>) {
        self.unstart(id, step, grant);
        let Some(Slot { tasks, run }) = self.slot(id) else { return };
        run.put_back(tasks, step);
        self.complete_if_over(id, commands);
    }

    /// Gives back what a step took when it started.
    fn unstart(&mut self, id: RunId, step: u32, grant: GrantId) {
        self.ledger.give(&self.grants.close(grant));
        let Some(Slot { tasks, run }) = self.runs[id.0 as usize].as_mut() else { return };
        let (need, at) = (tasks.need(step), step as usize);
        debug_assert_eq!(run.states[at].stage(), StepState::RUNNING);
        run.unbundle(tasks, step);
        let ahead = run.states[at].is_ahead();
        self.ledger.fail(&mut run.shares[usize::from(need.memory)], step, need, ahead, run.head);
        run.running -= 1;
        run.head = run.head.min(step);
        self.stale = true;
    }

    pub(super) fn on_abandoned(
        &mut self,
        id: RunId,
        step: StepId,
        grant: GrantId,
        ticket: u64,
        retryable: bool,
        commands: &mut Vec<Command>,
    ) {
        let resources = self.grants.give_up(grant);
        if let Some(Slot { tasks, .. }) = self.slot(id) {
            let (own, reads) = (tasks.need(step.0), read_by(tasks, step));
            let lost = Lost { run: id, own, reads, resources, grant };
            self.ledger.lose(&self.held_alone(&lost), &lost.resources);
            self.lost.insert(ticket, lost);
        }
        // A run isn't ended for want of what others no longer need.
        self.refresh();
        let can_go_on = retryable && self.ledger.is_within();
        let why = if can_go_on { Failure::Retryable } else { Failure::Final };
        self.on_failed(id, step.0, GrantId::NONE, why, commands);
        self.starve(commands);
    }

    pub(super) fn on_found(&mut self, ticket: u64, commands: &mut Vec<Command>) {
        if let Some(lost) = self.lost.remove(&ticket) {
            self.ledger.find(&self.held_alone(&lost), &lost.resources);
            self.grants.found(lost.grant);
            self.admit(commands);
        }
    }

    /// Memory that no other attempt of those that are lost holds. Several may read one value, which is there once: were
    /// it counted for each, more could be lost of a run than it had, and others would lack it.
    fn held_alone(&self, lost: &Lost) -> Vec<Need> {
        let others = self.lost.values().filter(|other| other.run == lost.run);
        let reads = lost.reads.iter();
        let alone = reads.filter(|read| !others.clone().any(|other| other.reads.contains(read)));
        alone.map(|(_, need)| *need).chain([lost.own]).collect()
    }

    /// Ends the runs that can't do with what abandoned attempts leave.
    fn starve(&mut self, commands: &mut Vec<Command>) {
        for at in 0..self.runs.len() {
            let id = RunId(at as u32);
            let Some(Slot { tasks, run }) = self.runs[at].as_ref() else { continue };
            let is_over = matches!(run.phase, Phase::Stopping | Phase::Complete);
            // One that was admitted has its memory in reserve.
            let has_room = run.phase != Phase::Queued || self.ledger.lacks_alone(tasks).is_none();
            if !(is_over || has_room && self.ledger.could_give(tasks)) {
                commands.push(Command::Starve(id));
                self.stop(id, commands);
            }
        }
    }
}

/// The values that a step reads, and their room: each once.
fn read_by(tasks: &Tasks, step: StepId) -> Vec<(StepId, Need)> {
    let mut values: Vec<StepId> = tasks.plan().operands(step).iter().map(|operand| operand.step).collect();
    values.sort_unstable();
    values.dedup();
    values.into_iter().map(|value| (value, Need { scratch: 0, ..tasks.need(value.0) })).collect()
}
