//! The state of one run: which steps are where, and which may start next.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::ids::StepId;
use crate::reactor::bitmap::Bitmap;
use crate::reactor::bundle::Followers;
use crate::reactor::ledger::Share;
use crate::reactor::tasks::Tasks;

/// How a run stands towards others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Standing {
    /// Steps of runs of higher priority start first. Finite.
    pub priority: f64,
    /// 0 for a run that nobody waits for inside a step; else one more than that of the run whose step waits. Deeper runs
    /// go first: a step that waits holds memory.
    pub depth: u16,
}

#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) standing: Standing,
    pub(super) phase: Phase,
    /// By memory.
    pub(super) shares: Vec<Share>,
    pub(super) states: Vec<StepState>,
    waiting: Vec<u32>,
    unread: Vec<u32>,
    /// The last reader of each value that isn't done, as a place among its readers; empty where no memory has a profile.
    last_readers: Vec<u32>,
    pub(super) queues: Vec<Queue>,
    /// The first step that hasn't started.
    pub(super) head: u32,
    pub(super) unfinished: usize,
    pub(super) running: usize,
    pub(super) failures: HashMap<u32, u32>,
    /// Steps that memory gave out for, ascending: the first is tried again when nothing else of the run is under way.
    pub(super) squeezed: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It waits for room.
    Queued,
    /// There is room; its driver makes it ready.
    Begun,
    Running,
    /// Nothing new starts.
    Stopping,
    /// Nothing runs any more.
    Complete,
}

/// Where a step is, and whether the ledger counts its bytes as ahead of the head, or as a bundle's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StepState(u8);

impl StepState {
    pub(super) const WAITING: StepState = StepState(0);
    pub(super) const READY: StepState = StepState(1);
    pub(super) const RUNNING: StepState = StepState(2);
    pub(super) const BACKING_OFF: StepState = StepState(3);
    pub(super) const DONE: StepState = StepState(4);
    const AHEAD: u8 = 8;
    const BUNDLED: u8 = 16;

    pub(super) fn stage(self) -> StepState {
        StepState(self.0 & !(Self::AHEAD | Self::BUNDLED))
    }

    pub(super) fn is_bundled(self) -> bool {
        self.0 & Self::BUNDLED != 0
    }

    pub(super) fn bundled(self) -> StepState {
        StepState(self.0 | Self::BUNDLED)
    }

    pub(super) fn is_ahead(self) -> bool {
        self.0 & Self::AHEAD != 0
    }

    pub(super) fn ahead(self, ahead: bool) -> StepState {
        StepState(self.0 & !Self::AHEAD | if ahead { Self::AHEAD } else { 0 })
    }

    #[cfg(test)]
    pub(super) fn number(self) -> u64 {
        u64::from(self.0)
    }

    pub(super) fn has_started(self) -> bool {
        matches!(self.stage(), Self::RUNNING | Self::DONE)
    }
}

/// Ready steps of equal needs.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    ready: Bitmap,
    /// Its first step, or `NONE`.
    pub(super) head: u32,
    /// How often steps behind it took what it waits for.
    pub(super) bypasses: u32,
    /// What a step takes at most, of late, in nanoseconds; 0 before the first one is done.
    pub(super) cost: u32,
    /// How many steps one that is ready makes a bundle of, with those that wait for it alone: at most, of late.
    pub(super) reach: u32,
}

impl Queue {
    /// A step took this long. Long ones are remembered for a while: steps that look short are given out together, and
    /// nobody is woken for them.
    pub(super) fn learn(&mut self, nanoseconds: u32) {
        self.cost = nanoseconds.max(self.cost - self.cost / 8).max(1);
    }

    /// A bundle had this many steps for each one that was ready.
    pub(super) fn learn_reach(&mut self, steps: usize) {
        self.reach = (steps as u32).max(self.reach - self.reach.div_ceil(8)).max(1);
    }

    /// What its ready steps take together, and those that will be given out with them.
    pub(super) fn backlog(&self) -> u64 {
        let cost = if self.cost == 0 { u32::MAX } else { self.cost };
        self.ready.len() as u64 * u64::from(cost) * u64::from(self.reach)
    }
}

pub(super) const NONE: u32 = u32::MAX;

impl Run {
    pub(super) fn new(tasks: &Tasks, standing: Standing) -> Self {
        let count = tasks.len();
        let queue = |queue| Queue {
            ready: Bitmap::new(tasks.queues().len(queue)),
            head: NONE,
            bypasses: 0,
            cost: 0,
            reach: 1,
        };
        Run {
            standing,
            phase: Phase::Queued,
            shares: Vec::new(),
            states: vec![StepState::WAITING; count],
            waiting: tasks.waiting(),
            unread: (0..count as u32).map(|step| tasks.readers(step).len() as u32).collect(),
            last_readers: Vec::new(),
            queues: (0..tasks.queues().count()).map(queue).collect(),
            head: 0,
            unfinished: count,
            running: 0,
            failures: HashMap::new(),
            squeezed: Vec::new(),
        }
    }

    pub(super) fn start(&mut self, tasks: &Tasks) {
        self.phase = Phase::Running;
        if self.shares.iter().any(Share::has_profile) {
            let last = |&readers: &u32| readers.saturating_sub(1);
            self.last_readers = self.unread.iter().map(last).collect();
        }
        for step in 0..self.waiting.len() as u32 {
            if self.waiting[step as usize] == 0 {
                self.make_ready(tasks, step);
            }
        }
    }

    pub(super) fn queue(&self, queue: u16) -> &Queue {
        &self.queues[usize::from(queue)]
    }

    pub(super) fn queue_mut(&mut self, queue: u16) -> &mut Queue {
        &mut self.queues[usize::from(queue)]
    }

    /// Ready steps of a queue.
    pub(super) fn ready(&self, queue: u16) -> usize {
        self.queues[usize::from(queue)].ready.len()
    }

    pub(super) fn make_ready(&mut self, tasks: &Tasks, step: u32) {
        let state = &mut self.states[step as usize];
        *state = StepState::READY;
        let queue = &mut self.queues[usize::from(tasks.class(step).queue)];
        queue.ready.insert(tasks.queues().place(step));
        queue.head = queue.head.min(step);
    }

    /// Takes the head of its queue out.
    pub(super) fn take(&mut self, tasks: &Tasks, step: u32) {
        let number = usize::from(tasks.class(step).queue);
        let queue = &mut self.queues[number];
        debug_assert_eq!(queue.head, step);
        let place = tasks.queues().place(step);
        queue.ready.remove(place);
        queue.bypasses = 0;
        let next = queue.ready.next_from(place);
        queue.head = next.map_or(NONE, |place| tasks.queues().step(number, place));
    }

    /// Moves the head past every step that has started.
    pub(super) fn advance(&mut self, tasks: &Tasks) {
        while let Some(&state) = self.states.get(self.head as usize)
            && state.has_started()
        {
            if state.is_ahead() {
                let need = tasks.need(self.head);
                let held = if state.stage() == StepState::RUNNING { need.bytes() } else { need.value };
                self.shares[usize::from(need.memory)].passed(held);
                self.states[self.head as usize] = state.ahead(false);
            }
            self.head += 1;
        }
    }

    /// One reader of a value is done: whether it was the last.
    pub(super) fn was_read(&mut self, tasks: &Tasks, value: u32, reader: u32) -> bool {
        let at = value as usize;
        self.unread[at] -= 1;
        if self.unread[at] == 0 {
            return true;
        }
        if let Some(place) = self.last_readers.get_mut(at) {
            // The profile counts a value up to its last reader, in planned order, that isn't done.
            let readers = tasks.readers(value);
            let last = *place as usize;
            let is_open = |&reader: &u32| self.states[reader as usize].stage() != StepState::DONE;
            // Where none is open this one reads the value more than once, and frees it next.
            if readers[last] == reader
                && let Some(last) = readers[..last].iter().rposition(is_open)
            {
                let need = tasks.need(value);
                self.shares[usize::from(need.memory)].shorten(need, reader, readers[last]);
                *place = last as u32;
            }
        }
        false
    }

    pub(super) fn is_unread(&self, value: u32) -> bool {
        self.unread[value as usize] == 0
    }

    /// The steps that wait for `step` wait for one less.
    pub(super) fn release_followers(&mut self, tasks: &Tasks, step: u32) {
        for at in tasks.followers().range(step) {
            let follower = tasks.followers().item(at);
            self.waiting[follower as usize] -= 1;
            // One of a bundle has started already.
            if self.waiting[follower as usize] == 0 && self.states[follower as usize] == StepState::WAITING {
                self.make_ready(tasks, follower);
            }
        }
    }

    /// Until it is [taken back](Run::take_back), `step` counts as done for those that wait for it: those that wait for
    /// nothing else are added to `free`.
    pub(super) fn promise(&mut self, tasks: &Tasks, step: u32, free: &mut Followers) {
        for at in tasks.followers().range(step) {
            let follower = tasks.followers().item(at);
            self.waiting[follower as usize] -= 1;
            if self.waiting[follower as usize] == 0 {
                free.push(Reverse(follower));
            }
        }
    }

    /// The end of a promise.
    pub(super) fn take_back(&mut self, tasks: &Tasks, step: u32) {
        for at in tasks.followers().range(step) {
            self.waiting[tasks.followers().item(at) as usize] += 1;
        }
    }

    /// A step that has just started is one of a bundle, and not the first.
    pub(super) fn bundle(&mut self, tasks: &Tasks, step: u32) {
        let need = tasks.need(step);
        self.shares[usize::from(need.memory)].bundled += need.bytes();
        self.states[step as usize] = self.states[step as usize].bundled();
    }

    /// It has ended.
    pub(super) fn unbundle(&mut self, tasks: &Tasks, step: u32) {
        if self.states[step as usize].is_bundled() {
            let need = tasks.need(step);
            self.shares[usize::from(need.memory)].bundled -= need.bytes();
        }
    }

    /// A step that had started waits again, for what it waited for before or for its turn.
    pub(super) fn put_back(&mut self, tasks: &Tasks, step: u32) {
        self.states[step as usize] = StepState::WAITING;
        if self.waiting[step as usize] == 0 {
            self.make_ready(tasks, step);
        }
    }

    /// The step is tried again, alone.
    pub(super) fn squeeze(&mut self, step: u32) {
        let at = self.squeezed.partition_point(|&other| other < step);
        self.squeezed.insert(at, step);
    }

    pub(super) fn failures(&self, step: StepId) -> u32 {
        self.failures.get(&step.0).copied().unwrap_or(0)
    }
}
