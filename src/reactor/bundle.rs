//! Which steps are given out together.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::ids::StepId;
use crate::reactor::event::{Command, GrantId, RunId};
use crate::reactor::pick::Picker;
use crate::reactor::run::NONE;
use crate::reactor::tasks::{Class, Tasks};
use crate::reactor::{BUNDLE_NANOSECONDS, Reactor, Slot, run, start};
use crate::steps::Lane;

/// Steps that come after those of the bundle at hand and wait for nothing else; the first in planned order on top.
pub(super) type Followers = BinaryHeap<Reverse<u32>>;

/// What steps of a bundle take together at most, on the disk's lanes: nobody else could take them, and whoever waits for
/// the memory of one waits for the others.
const DISK_NANOSECONDS: u32 = 200_000;

/// A bundle in the making.
struct Bundle<'a> {
    lane: Lane,
    /// What its steps may take together; `None` where they are under way together.
    limit: Option<u32>,
    /// Queue of its first step, from which others may come.
    queue: u16,
    resources: &'a [(u16, u64)],
    /// What its steps take together.
    nanoseconds: u32,
    /// What they hold together.
    bytes: u64,
    /// How many of them were ready, and so could have been others'.
    ready: usize,
}

impl Reactor {
    /// Gives out a bundle of one run's steps; whether there were any.
    pub(super) fn poll_run(&mut self, id: RunId, lane: Lane, room: u16, commands: &mut Vec<Command>) -> bool {
        let Some(Slot { tasks, run }) = self.runs[id.0 as usize].as_mut() else { return false };
        if run.phase != run::Phase::Running {
            return false;
        }
        let mut picker = Picker { id, tasks, run, ledger: &mut self.ledger, claim: &mut self.claim };
        let is_squeezed = !picker.run.squeezed.is_empty();
        let (picked, room) =
            if is_squeezed { (picker.pick_alone(lane), room.min(1)) } else { (picker.pick(lane), room) };
        let Some(mut step) = picked else { return false };
        let &Class { queue, takes, .. } = tasks.class(step);
        let resources = tasks.resources(step);
        let limit = limit(tasks, lane);
        let mut bundle = Bundle { lane, limit, queue, resources, nanoseconds: 0, bytes: 0, ready: 1 };
        let grant = if takes { self.grants.open(resources) } else { GrantId::NONE };
        picker.ledger.take(resources);
        let first = commands.len();
        let mut promised = first;
        loop {
            picker.met(step);
            start(picker.ledger, tasks, picker.run, step);
            if commands.len() > first {
                picker.run.bundle(tasks, step);
            }
            self.grants.add(grant);
            commands.push(Command::Run { run: id, step: StepId(step), grant });
            if commands.len() - first == usize::from(room) || !bundle.goes_on_after(&picker, step) {
                break;
            }
            if lane == 0 {
                picker.run.promise(tasks, step, &mut self.followers);
                promised += 1;
            }
            let Some(next) = bundle.next(&mut picker, &mut self.followers, self.workers) else { break };
            step = next;
        }
        let given = commands.len() - first;
        for command in &commands[first..promised] {
            if let Command::Run { step, .. } = *command {
                run.take_back(tasks, step.0);
            }
        }
        self.followers.clear();
        run.queue_mut(queue).learn_reach(given / bundle.ready);
        true
    }
}

impl<'a> Bundle<'a> {
    /// Takes a step in; whether others may come after it.
    fn goes_on_after(&mut self, picker: &Picker<'_>, step: u32) -> bool {
        let &Class { queue, alone, takes_custom, .. } = picker.tasks.class(step);
        let cost = picker.run.queue(queue).cost;
        self.nanoseconds = self.nanoseconds.saturating_add(cost);
        self.bytes = self.bytes.saturating_add(picker.tasks.need(step).bytes());
        !alone && self.limit.map_or(!takes_custom, |limit| cost > 0 && self.nanoseconds < limit)
    }

    /// The step that comes next, of those that are ready and of those that wait for this bundle alone.
    fn next(&mut self, picker: &mut Picker<'_>, followers: &mut Followers, workers: usize) -> Option<u32> {
        let ready = picker.run.ready(self.queue);
        // Others that look for steps are left some of those that are ready.
        let is_fair = self.lane != 0 || workers == 1 || self.ready <= ready / workers;
        let head = if is_fair { picker.run.queue(self.queue).head } else { NONE };
        loop {
            let follower = followers.peek().map_or(NONE, |&Reverse(step)| step);
            let step = head.min(follower);
            if step == NONE {
                return None;
            }
            if self.fits(picker, step) {
                self.ready += usize::from(step == head);
                if step == follower {
                    followers.pop();
                }
                return Some(step);
            }
            if step == head {
                return None;
            }
            followers.pop();
        }
    }

    fn fits(&self, picker: &mut Picker<'_>, step: u32) -> bool {
        let &Class { queue, lane, alone, .. } = picker.tasks.class(step);
        let cost = picker.run.queue(queue).cost;
        let need = picker.tasks.need(step);
        let share = &picker.run.shares[usize::from(need.memory)];
        let has_reach = picker.ledger.may_bundle(share, need.bytes(), self.bytes + need.bytes());
        let is_short =
            self.limit.is_none_or(|limit| cost > 0 && self.nanoseconds.saturating_add(cost) <= limit);
        lane == self.lane
            && !alone
            && is_short
            && has_reach
            && picker.tasks.resources(step) == self.resources
            && picker.has_memory(step)
    }
}

fn limit(tasks: &Tasks, lane: Lane) -> Option<u32> {
    match lane {
        0 => Some(BUNDLE_NANOSECONDS),
        _ if tasks.plan().lanes().of(lane).is_disk() => Some(DISK_NANOSECONDS),
        _ => None,
    }
}
