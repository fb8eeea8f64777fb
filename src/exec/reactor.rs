//! The pure state machine of execution.
//!
//! It knows which steps wait for what, which are ready, what may start, and when values are no longer
//! needed. Equal events give equal commands. No allocation for a step in steady state.

use crate::csr::Csr;
use crate::exec::bitmap::Bitmap;
use crate::exec::event::{Command, Event, Lane};
use crate::exec::ledger::{Ledger, Need};
use crate::ids::StepId;
use crate::steps::{Plan, Terms};

/// Ready steps that a poll looks at before it gives up: those behind may fit, but looking costs.
const SCAN_MAX: usize = 64;

/// A ready step that was overtaken this often for want of a resource gets it next.
const BYPASS_MAX: u32 = 64;

/// State of one run of one plan.
#[derive(Debug)]
pub struct Reactor {
    needs: Vec<Need>,
    lanes: Vec<Lane>,
    terms: Vec<Terms>,
    /// What governs each step, in `terms`.
    terms_of: Vec<u32>,
    operands: Csr,
    /// For each step, the steps that wait for it: those that read it, and those ordered after it.
    followers: Csr,
    /// Readers of each value, ascending.
    readers: Csr,
    /// The last reader of each value that isn't done, as a position among its readers.
    last_reader: Vec<u32>,
    waiting: Vec<u32>,
    unread: Vec<u32>,
    state: Vec<StepState>,
    ready: Vec<Bitmap>,
    first: u32,
    /// Steps whose bytes the ledger counts as ahead of `first`.
    ahead: Vec<bool>,
    /// For each lane, how often its steps overtook one that waits for a resource.
    bypasses: Vec<u32>,
    unfinished: usize,
    running: usize,
    stopping: bool,
    completed: bool,
    attempts: Vec<(StepId, u32)>,
    ledger: Ledger,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StepState {
    Waiting,
    Ready,
    Running,
    BackingOff,
    Done,
}

impl Reactor {
    /// The state before anything runs. O(steps + operands).
    pub fn new(plan: &Plan) -> Self {
        let count = plan.steps.len();
        let steps = (0..count as u32).map(StepId);
        let reads = steps.clone().flat_map(|id| plan.operands(id).iter().map(move |o| (o.step.0, id.0)));
        let orderings = plan.orderings.iter().map(|&(a, b)| (a.0, b.0));
        let readers = Csr::new(count, reads.clone());
        let followers = Csr::new(count, reads.clone().chain(orderings.clone()));
        let operands = Csr::new(count, reads.clone().map(|(a, b)| (b, a)));
        let mut waiting = vec![0; count];
        reads.chain(orderings).for_each(|(_, later)| waiting[later as usize] += 1);
        let need = |step: crate::steps::Step| Need {
            memory: step.memory.0,
            value: step.allocated(),
            scratch: plan.terms[step.terms as usize].reserve,
        };
        let needs: Vec<Need> = plan.steps.iter().map(need).collect();
        let last = |at: u32| StepId(readers.of(at).last().copied().unwrap_or(at));
        let last_reader: Vec<StepId> = (0..count as u32).map(last).collect();
        let lanes = plan.steps.iter().map(|step| step.device.0).collect::<Vec<_>>();
        let lane_count = plan.device_names.len().max(1);
        Reactor {
            ledger: Ledger::new(plan, &needs, &last_reader),
            needs,
            lanes,
            terms: plan.terms.clone(),
            terms_of: plan.steps.iter().map(|step| step.terms).collect(),
            unread: (0..count as u32).map(|at| readers.of(at).len() as u32).collect(),
            operands,
            followers,
            last_reader: (0..count as u32)
                .map(|at| (readers.of(at).len() as u32).saturating_sub(1))
                .collect(),
            readers,
            waiting,
            state: vec![StepState::Waiting; count],
            ready: (0..lane_count).map(|_| Bitmap::new(count)).collect(),
            first: 0,
            ahead: vec![false; count],
            bypasses: vec![0; lane_count],
            unfinished: count,
            running: 0,
            stopping: false,
            completed: false,
            attempts: Vec::new(),
        }
    }

    /// Takes events in, and appends what follows to `commands`.
    pub fn on_events(&mut self, events: &[Event], commands: &mut Vec<Command>) {
        for event in events {
            match *event {
                Event::Start => self.on_start(),
                Event::Poll { lane, room } => self.on_poll(lane, room, commands),
                Event::Finished(step) => self.on_finished(step, commands),
                Event::Failed { step, retryable } => self.on_failed(step, retryable, commands),
                Event::RetryDue(step) => {
                    if self.state[step.index()] == StepState::BackingOff {
                        self.make_ready(step.0);
                    }
                }
                Event::Cancel => self.stopping = true,
            }
        }
        let over = self.unfinished == 0 || (self.stopping && self.running == 0);
        if over && !self.completed {
            self.completed = true;
            commands.push(Command::Complete);
        }
    }

    /// Steps of a lane that are ready, whether or not they may start.
    pub fn ready(&self, lane: Lane) -> usize {
        if self.stopping { 0 } else { self.ready[usize::from(lane)].len() }
    }

    /// How often a step has been tried and failed.
    pub fn failures(&self, step: StepId) -> u32 {
        self.attempts.iter().find(|(id, _)| *id == step).map_or(0, |(_, failures)| *failures)
    }

    /// Steps that aren't done.
    pub fn unfinished(&self) -> usize {
        self.unfinished
    }

    /// The book.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    fn on_start(&mut self) {
        for step in 0..self.waiting.len() as u32 {
            if self.waiting[step as usize] == 0 {
                self.make_ready(step);
            }
        }
    }

    fn make_ready(&mut self, step: u32) {
        self.state[step as usize] = StepState::Ready;
        self.ready[usize::from(self.lanes[step as usize])].insert(step);
    }

    fn on_poll(&mut self, lane: Lane, room: u16, commands: &mut Vec<Command>) {
        if self.stopping {
            return;
        }
        for _ in 0..room {
            let Some(step) = self.pick(lane) else { return };
            self.start(step);
            commands.push(Command::Run(StepId(step)));
        }
    }

    /// The first ready step of the lane that may start. A step that was passed over too often for want of a
    /// resource holds back those that would take it.
    fn pick(&mut self, lane: Lane) -> Option<u32> {
        let ready = &self.ready[usize::from(lane)];
        let bypasses = &mut self.bypasses[usize::from(lane)];
        let mut held_back: Option<u32> = None;
        let mut next = ready.next_from(0);
        for _ in 0..SCAN_MAX {
            let step = next?;
            let resources = &self.terms[self.terms_of[step as usize] as usize].resources;
            let claimed = held_back.is_some_and(|other| {
                let wanted = &self.terms[self.terms_of[other as usize] as usize].resources;
                *bypasses >= BYPASS_MAX && resources.iter().any(|(r, _)| wanted.iter().any(|(w, _)| r == w))
            });
            let fits = self.ledger.has(resources);
            if fits
                && !claimed
                && self.ledger.may_start(StepId(step), self.needs[step as usize], StepId(self.first))
            {
                *bypasses = if held_back.is_some() { bypasses.saturating_add(1) } else { 0 };
                return Some(step);
            }
            if !fits && held_back.is_none() {
                held_back = Some(step);
            }
            next = ready.next_from(step + 1);
        }
        None
    }

    fn start(&mut self, step: u32) {
        let at = step as usize;
        self.ready[usize::from(self.lanes[at])].remove(step);
        self.state[at] = StepState::Running;
        self.running += 1;
        self.ahead[at] = step != self.first;
        self.ledger.start(StepId(step), self.needs[at], self.ahead[at]);
        self.ledger.take(&self.terms[self.terms_of[at] as usize].resources);
        if step == self.first {
            self.advance();
        }
    }

    /// Moves `first` past every step that has started.
    fn advance(&mut self) {
        let started = |state: StepState| matches!(state, StepState::Running | StepState::Done);
        while self.state.get(self.first as usize).is_some_and(|state| started(*state)) {
            self.no_longer_ahead(self.first);
            self.first += 1;
        }
    }

    fn no_longer_ahead(&mut self, step: u32) {
        if std::mem::take(&mut self.ahead[step as usize]) {
            self.ledger.passed(self.needs[step as usize]);
        }
    }

    fn on_finished(&mut self, step: StepId, commands: &mut Vec<Command>) {
        let at = step.index();
        debug_assert_eq!(self.state[at], StepState::Running);
        self.state[at] = StepState::Done;
        self.running -= 1;
        self.unfinished -= 1;
        self.ledger.finish(step, self.needs[at]);
        self.ledger.give(&self.terms[self.terms_of[at] as usize].resources);
        for index in self.operands.range(step.0) {
            self.was_read(self.operands.item(index), step, commands);
        }
        if self.unread[at] == 0 {
            self.ledger.free(self.needs[at], step);
            commands.push(Command::Free(step));
        }
        for index in self.followers.range(step.0) {
            let follower = self.followers.item(index);
            self.waiting[follower as usize] -= 1;
            if self.waiting[follower as usize] == 0 {
                self.make_ready(follower);
            }
        }
    }

    /// One reader of a value is done. The profile counts a value up to its last reader, in planned order,
    /// that isn't done.
    fn was_read(&mut self, value: u32, reader: StepId, commands: &mut Vec<Command>) {
        let at = value as usize;
        self.unread[at] -= 1;
        if self.unread[at] == 0 {
            self.ledger.free(self.needs[at], reader);
            commands.push(Command::Free(StepId(value)));
            return;
        }
        let readers = self.readers.of(value);
        let mut last = self.last_reader[at] as usize;
        if readers[last] == reader.0 {
            while self.state[readers[last] as usize] == StepState::Done && last > 0 {
                last -= 1;
            }
            self.ledger.shorten(self.needs[at], reader, StepId(readers[last]));
            self.last_reader[at] = last as u32;
        }
    }

    fn on_failed(&mut self, step: StepId, retryable: bool, commands: &mut Vec<Command>) {
        let at = step.index();
        debug_assert_eq!(self.state[at], StepState::Running);
        self.running -= 1;
        self.ledger.fail(step, self.needs[at]);
        self.no_longer_ahead(step.0);
        self.ledger.give(&self.terms[self.terms_of[at] as usize].resources);
        let failures = match self.attempts.iter_mut().find(|(id, _)| *id == step) {
            Some((_, failures)) => {
                *failures += 1;
                *failures
            }
            None => {
                self.attempts.push((step, 1));
                1
            }
        };
        self.state[at] = StepState::BackingOff;
        self.first = self.first.min(step.0);
        if self.stopping {
            return;
        }
        if retryable && failures <= self.terms[self.terms_of[at] as usize].retries {
            commands.push(Command::Retry { step, attempt: failures });
        } else {
            self.stopping = true;
            commands.push(Command::Abort(step));
        }
    }
}
