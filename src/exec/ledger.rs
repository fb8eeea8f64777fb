//! The book of memory and resources: what is granted, and who may start.
//!
//! Steps may start in another order than planned, as long as that can never get the plan stuck. The rule
//! (a banker's rule, model-checked over all interleavings of several hundred thousand small plans): for
//! every step that isn't done, the bytes held when it runs in planned order stay within the budget. The
//! first step that hasn't started may always start once it fits; another one may overtake it only if
//! adding its bytes to the profile of all steps before its own place keeps the rule.
//!
//! *Held bytes* are those of values that are alive and of steps that run. The *profile* of a memory says
//! for each step how many bytes are held when it runs, if everything before it is done by then.

use crate::exec::profile::Profile;
use crate::ids::StepId;
use crate::steps::{Plan, millionths};

/// Overtakers may be ahead by at most this many of the largest allocations for each worker, so that
/// producers don't run away from slow consumers.
const AHEAD_PER_WORKER: u64 = 16;

/// What every step takes, per memory.
#[derive(Clone, Debug)]
pub struct Ledger {
    memories: Vec<Account>,
    /// Amounts of custom resources that are free, in millionths.
    free: Vec<u64>,
    capacity: Vec<u64>,
    workers: u64,
}

#[derive(Clone, Debug)]
struct Account {
    budget: Option<u64>,
    held: u64,
    peak: u64,
    /// Held by overtakers that the first unstarted step hasn't reached.
    ahead: u64,
    largest: u64,
    profile: Option<Profile>,
}

/// What one step takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Need {
    /// The memory that it allocates in.
    pub memory: u16,
    /// Bytes of its value; they stay until the last reader is done.
    pub value: u64,
    /// Bytes that it holds only while it runs.
    pub scratch: u64,
}

impl Need {
    fn bytes(self) -> u64 {
        self.value + self.scratch
    }
}

impl Ledger {
    /// The book of a plan before anything runs. `needs` is by step; `last_reader` says which step reads a
    /// value last in planned order (itself when nobody does).
    pub fn new(plan: &Plan, needs: &[Need], last_reader: &[StepId]) -> Self {
        let mut memories: Vec<Account> = plan
            .memories
            .iter()
            .map(|memory| Account {
                budget: memory.budget.map(|bytes| bytes.0),
                held: memory.results.0,
                peak: memory.results.0,
                ahead: 0,
                largest: 0,
                profile: None,
            })
            .collect();
        for need in needs {
            let account = &mut memories[usize::from(need.memory)];
            account.largest = account.largest.max(need.bytes());
        }
        for (at, account) in memories.iter_mut().enumerate() {
            // A memory that could hold everything at once needs no profile.
            let total: u64 = needs.iter().filter(|n| usize::from(n.memory) == at).map(|n| n.bytes()).sum();
            if account.budget.is_some_and(|budget| account.held + total > budget) {
                account.profile = Some(planned_profile(at as u16, account.held, needs, last_reader));
            }
        }
        let capacity: Vec<u64> = plan.resources.iter().map(|(_, amount)| millionths(*amount)).collect();
        Ledger { memories, free: capacity.clone(), capacity, workers: plan.threads as u64 }
    }

    /// Whether `step` may start now, `first` being the first step that hasn't started.
    pub fn may_start(&self, step: StepId, need: Need, first: StepId) -> bool {
        let account = &self.memories[usize::from(need.memory)];
        let (Some(budget), Some(profile)) = (account.budget, &account.profile) else { return true };
        let bytes = need.bytes();
        if bytes == 0 {
            return true;
        }
        if account.held + bytes > budget {
            return false;
        }
        if step == first {
            return true;
        }
        account.ahead + bytes <= AHEAD_PER_WORKER * self.workers * account.largest
            && profile.largest_before(step.index()) + bytes as i64 <= budget as i64
    }

    /// Grants a step its bytes.
    pub fn start(&mut self, step: StepId, need: Need, overtakes: bool) {
        let account = &mut self.memories[usize::from(need.memory)];
        account.held += need.bytes();
        account.peak = account.peak.max(account.held);
        if overtakes {
            account.ahead += need.bytes();
        }
        if let Some(profile) = &mut account.profile {
            profile.add(0, step.index(), need.bytes() as i64);
        }
    }

    /// An overtaker is none any more: the first unstarted step has passed it, or it failed.
    pub fn passed(&mut self, need: Need) {
        let account = &mut self.memories[usize::from(need.memory)];
        account.ahead -= need.bytes();
    }

    /// A step is done: its scratch goes back, and itself needs no room any more.
    pub fn finish(&mut self, step: StepId, need: Need) {
        let account = &mut self.memories[usize::from(need.memory)];
        account.held -= need.scratch;
        if let Some(profile) = &mut account.profile {
            profile.add(0, step.index(), -(need.scratch as i64));
            profile.remove(step.index());
        }
    }

    /// The reader that was the last one in planned order is done: no step between it and the next such
    /// reader has to make room for the value.
    pub fn shorten(&mut self, value: Need, from: StepId, to: StepId) {
        if let Some(profile) = &mut self.memories[usize::from(value.memory)].profile {
            profile.add(to.index() + 1, from.index() + 1, -(value.value as i64));
        }
    }

    /// A value is freed; `until` is the reader up to which the profile still counts it.
    pub fn free(&mut self, value: Need, until: StepId) {
        let account = &mut self.memories[usize::from(value.memory)];
        account.held -= value.value;
        if let Some(profile) = &mut account.profile {
            profile.add(0, until.index() + 1, -(value.value as i64));
        }
    }

    /// A step failed: all it held goes back, and it will have to start again.
    pub fn fail(&mut self, step: StepId, need: Need) {
        let account = &mut self.memories[usize::from(need.memory)];
        account.held -= need.bytes();
        if let Some(profile) = &mut account.profile {
            profile.add(0, step.index(), -(need.bytes() as i64));
        }
    }

    /// Whether these amounts of resources are free.
    pub fn has(&self, resources: &[(u16, u64)]) -> bool {
        resources.iter().all(|&(at, amount)| self.free[usize::from(at)] >= amount)
    }

    /// Grants resources.
    pub fn take(&mut self, resources: &[(u16, u64)]) {
        resources.iter().for_each(|&(at, amount)| self.free[usize::from(at)] -= amount);
    }

    /// Takes resources back.
    pub fn give(&mut self, resources: &[(u16, u64)]) {
        resources.iter().for_each(|&(at, amount)| self.free[usize::from(at)] += amount);
    }

    /// Bytes held in a memory.
    pub fn held(&self, memory: usize) -> u64 {
        self.memories[memory].held
    }

    /// The most that was ever held in each memory.
    pub fn peaks(&self) -> Vec<u64> {
        self.memories.iter().map(|account| account.peak).collect()
    }

    /// Whether no resource is granted, and no step counts as an overtaker.
    pub fn is_settled(&self) -> bool {
        self.free == self.capacity && self.memories.iter().all(|account| account.ahead == 0)
    }
}

/// Bytes held while each step runs, in planned order.
fn planned_profile(memory: u16, base: u64, needs: &[Need], last_reader: &[StepId]) -> Profile {
    let mut change = vec![0i64; needs.len() + 1];
    for (at, need) in needs.iter().enumerate().filter(|(_, need)| need.memory == memory) {
        change[at] += need.bytes() as i64;
        change[at + 1] -= need.scratch as i64;
        change[last_reader[at].index() + 1] -= need.value as i64;
    }
    let mut held = base as i64;
    let values: Vec<i64> = change[..needs.len()]
        .iter()
        .map(|change| {
            held += change;
            held
        })
        .collect();
    Profile::new(&values)
}
