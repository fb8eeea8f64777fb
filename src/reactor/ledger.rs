//! The book of memory and resources: what is granted, and who may start.
//!
//! **Memory.** Steps may start in another order than planned, as long as that can never get a plan stuck. The rule
//! (a banker's rule, model-checked over all interleavings of several hundred thousand small plans, with failures):
//! for every step that isn't *done*, the bytes held when it runs in planned order stay within the budget. The first
//! step that hasn't started, the *head*, may always start once it fits; another one may overtake it only if adding
//! its bytes to the profile of all steps before its own place keeps the rule. Two limits on overtakers don't touch
//! the proof, since the head obeys neither: the next steps of the plan keep a claim on their bytes, so that a large
//! one isn't starved by small ones, and overtakers hold no more than some chunks for each worker, or than the plan's own
//! order holds at once, so that producers don't run away from slow consumers.
//!
//! *Held bytes* are those of values that are alive and of steps that run. The *profile* of a memory says for each
//! step how many bytes are held when it runs, if everything before it is done by then.
//!
//! **Several runs** share a memory: each keeps in *reserve* the most that it will still hold at once, and the reserves
//! of all stay within the budget. A run is admitted when its own fits; then it gets to its end whatever the others do.
//!
//! **Resources** are counted; a GPU's shares are a resource of each GPU.

use smallvec::SmallVec;

use crate::reactor::profile::Profile;
use crate::reactor::tasks::{Demand, Need, Tasks};

/// Overtakers may be ahead by at most this many of the usual allocations for each worker.
const AHEAD_PER_WORKER: u64 = 16;
/// How many of the next steps keep a claim on their bytes, for each worker.
const CLAIMS_PER_WORKER: usize = 2;
/// A plan that takes no more than this part of a budget keeps all of that in reserve, and needs no profile.
const SMALL_PART: u64 = 8;

/// What is granted, to all runs together.
#[derive(Clone, Debug)]
pub struct Ledger {
    memories: Vec<Account>,
    /// Amounts of resources that are free, in millionths.
    free: Vec<u64>,
    capacity: Vec<u64>,
    workers: usize,
}

/// What an attempt that was given up goes on holding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lost {
    /// Memory: room of its own, and values that it reads.
    pub(super) memory: Vec<Need>,
    /// Resources, by number, in millionths.
    pub(super) resources: SmallVec<[(u16, u64); 1]>,
}

#[derive(Clone, Debug, Default)]
struct Account {
    budget: Option<u64>,
    held: u64,
    peak: u64,
    /// What runs keep in reserve, together.
    reserved: u64,
    /// Held by attempts that were given up and still run.
    lost: u64,
}

/// What one run has of one memory.
#[derive(Clone, Debug)]
pub(super) struct Share {
    pub(super) held: u64,
    peak: u64,
    /// Held by overtakers that the head hasn't reached.
    pub(super) ahead: u64,
    /// Held by steps of bundles that aren't reported, but for the first of each: they come one after the other.
    pub(super) bundled: u64,
    /// What it keeps in reserve: at least what it will still hold at once.
    pub(super) reserve: u64,
    demand: Demand,
    pub(super) profile: Option<Profile>,
    /// The short way is closed until the head is past this step: one before it failed, and those after it that had
    /// started in order became overtakers that `ahead` doesn't count.
    pub(super) no_short_way_before: u32,
}

impl Share {
    pub(super) fn peak(&self) -> u64 {
        self.peak
    }

    pub(super) fn has_profile(&self) -> bool {
        self.profile.is_some()
    }
}

impl Ledger {
    /// A book with these budgets of memory (`None`: unknown, and so without limit), amounts of resources in millionths,
    /// and workers of the host pool.
    pub fn new(budgets: &[Option<u64>], resources: &[u64], workers: usize) -> Self {
        let account = |&budget: &Option<u64>| Account { budget, ..Account::default() };
        Ledger {
            memories: budgets.iter().map(account).collect(),
            free: resources.to_vec(),
            capacity: resources.to_vec(),
            workers,
        }
    }

    /// Memories beyond the budgets have no limit: there are at least so many.
    pub(super) fn extend(&mut self, memories: usize) {
        if self.memories.len() < memories {
            self.memories.resize_with(memories, Account::default);
        }
    }

    /// What a run that asks for this much of a memory keeps in reserve at first.
    fn reserve_of(&self, memory: usize, demand: &Demand) -> u64 {
        if self.needs_profile(memory, demand) { demand.peak } else { demand.total }
    }

    fn needs_profile(&self, memory: usize, demand: &Demand) -> bool {
        self.memories[memory].budget.is_some_and(|budget| demand.total > budget / SMALL_PART)
    }

    /// What a run lacks to be admitted: the memory, bytes that it needs, and bytes that are left; `None` when it fits.
    pub fn lacks(&self, tasks: &Tasks) -> Option<(usize, u64, u64)> {
        tasks.demands().iter().enumerate().find_map(|(memory, demand)| {
            let account = &self.memories[memory];
            let reserve = self.reserve_of(memory, demand);
            let left = account.left();
            (reserve > left).then_some((memory, reserve, left))
        })
    }

    /// Opens a run's share of each memory, whether or not it fits.
    pub(super) fn open(&mut self, tasks: &Tasks) -> Vec<Share> {
        let open = |(memory, demand): (usize, &Demand)| {
            let reserve = self.reserve_of(memory, demand);
            let profile = self.needs_profile(memory, demand).then(|| tasks.profile(memory as u16));
            let account = &mut self.memories[memory];
            account.reserved += reserve;
            account.held += demand.results;
            account.peak = account.peak.max(account.held);
            let (held, peak) = (demand.results, demand.results);
            Share {
                held,
                peak,
                ahead: 0,
                bundled: 0,
                reserve,
                demand: *demand,
                profile,
                no_short_way_before: 0,
            }
        };
        tasks.demands().iter().enumerate().map(open).collect()
    }

    /// Takes a run's shares back, all that it holds included.
    pub(super) fn close(&mut self, shares: &[Share]) {
        for (account, share) in self.memories.iter_mut().zip(shares) {
            account.held -= share.held;
            account.reserved -= share.reserve;
        }
    }

    /// Whether there is room for a step, and for running so far ahead; [`may_start`](Ledger::may_start) asks more.
    pub(super) fn has_room(&self, share: &Share, need: Need, is_head: bool) -> bool {
        let (account, bytes) = (&self.memories[usize::from(need.memory)], need.bytes());
        let fits = account.budget.is_none_or(|budget| account.held + account.lost + bytes <= budget);
        fits && (is_head || share.ahead + share.bundled + bytes <= reach(self.workers, share, bytes))
    }

    /// Whether a step may start now; what is kept in reserve is seen to. `head` is the first step of its run that hasn't
    /// started, `started` tells of others.
    pub(super) fn may_start(
        &mut self,
        share: &mut Share,
        tasks: &Tasks,
        step: u32,
        head: u32,
        started: impl Fn(u32) -> bool,
    ) -> bool {
        let Some(reserve) = self.reserve_to_start(share, tasks, step, head, started) else { return false };
        let account = &mut self.memories[usize::from(tasks.need(step).memory)];
        account.reserved = account.reserved - share.reserve + reserve;
        share.reserve = reserve;
        true
    }

    /// What a run has to keep in reserve for a step to start now; `None` where it may not. As
    /// [`may_start`](Ledger::may_start).
    pub(super) fn reserve_to_start(
        &self,
        share: &mut Share,
        tasks: &Tasks,
        step: u32,
        head: u32,
        started: impl Fn(u32) -> bool,
    ) -> Option<u64> {
        let need = tasks.need(step);
        let bytes = need.bytes();
        if bytes == 0 {
            return Some(share.reserve);
        }
        if !self.has_room(share, need, step == head) {
            return None;
        }
        let account = &self.memories[usize::from(need.memory)];
        let others = account.reserved - share.reserve + account.lost;
        let within =
            |reserve: u64| account.budget.is_none_or(|budget| others + reserve <= budget).then_some(reserve);
        if step == head {
            // With steps of the run under way it may be above what it keeps in reserve for a moment; with none it isn't.
            return within(share.reserve.max(share.held + bytes));
        }
        let (Some(budget), Some(profile)) = (account.budget, &mut share.profile) else {
            return Some(share.reserve);
        };
        let claims = claims(tasks, need.memory, head, step, CLAIMS_PER_WORKER * self.workers, started);
        if share.held + others + claims + bytes > budget {
            return None;
        }
        let short = share.demand.peak + share.ahead + bytes;
        if head >= share.no_short_way_before && others + short <= budget {
            return Some(share.reserve.max(short));
        }
        let before = profile.largest_before(step as usize).max(0) as u64;
        let remaining = profile.largest_before(tasks.len()).max(0) as u64;
        within(remaining.max(before + bytes).max(share.held + bytes))
    }

    /// Whether a bundle may hold `bundle` bytes, with the `bytes` of its last step: what its steps make is freed only
    /// when it is reported, also in planned order. Others are left room for theirs.
    pub(super) fn may_bundle(&self, share: &Share, bytes: u64, bundle: u64) -> bool {
        let reach = reach(self.workers, share, bytes);
        let all = share.ahead.saturating_add(share.bundled).saturating_add(bytes);
        bytes == 0 || all <= reach && bundle.saturating_mul(self.workers as u64) <= reach
    }

    /// Gives back what a run keeps in reserve and can't need any more.
    pub(super) fn refresh(&mut self, shares: &mut [Share], steps: usize) {
        for (account, share) in self.memories.iter_mut().zip(shares) {
            if let Some(profile) = &mut share.profile {
                let reserve = (profile.largest_before(steps).max(0) as u64).max(share.held);
                account.reserved = account.reserved - share.reserve + reserve;
                share.reserve = reserve;
            }
        }
    }

    /// Grants a step its bytes.
    pub(super) fn start(&mut self, share: &mut Share, step: u32, need: Need, overtakes: bool) {
        let (account, bytes) = (&mut self.memories[usize::from(need.memory)], need.bytes());
        account.held += bytes;
        account.peak = account.peak.max(account.held);
        share.held += bytes;
        share.peak = share.peak.max(share.held);
        share.ahead += if overtakes { bytes } else { 0 };
        share.add(0, step as usize, bytes as i64);
    }

    /// A step is done: its scratch goes back, and itself needs no room any more.
    pub(super) fn finish(&mut self, share: &mut Share, step: u32, need: Need, overtakes: bool) {
        self.memories[usize::from(need.memory)].held -= need.scratch;
        share.held -= need.scratch;
        share.ahead -= if overtakes { need.scratch } else { 0 };
        share.add(0, step as usize, -(need.scratch as i64));
        if let Some(profile) = &mut share.profile {
            profile.remove(step as usize);
        }
    }

    /// A value is freed; `until` is the reader up to which the profile still counts it, `overtakes` whether its maker
    /// counts as an overtaker.
    pub(super) fn free(&mut self, share: &mut Share, value: Need, until: u32, overtakes: bool) {
        self.memories[usize::from(value.memory)].held -= value.value;
        share.held -= value.value;
        share.ahead -= if overtakes { value.value } else { 0 };
        share.add(0, until as usize + 1, -(value.value as i64));
    }

    /// A step failed: all it held goes back, and it will have to start again. `head` is the first that hadn't started.
    pub(super) fn fail(&mut self, share: &mut Share, step: u32, need: Need, overtakes: bool, head: u32) {
        let bytes = need.bytes();
        self.memories[usize::from(need.memory)].held -= bytes;
        share.held -= bytes;
        share.ahead -= if overtakes { bytes } else { 0 };
        share.add(0, step as usize, -(bytes as i64));
        if step < head {
            share.no_short_way_before = share.no_short_way_before.max(head);
        }
    }

    /// An attempt that was given up goes on running: what it holds is out of reach, for all runs.
    pub(super) fn lose(&mut self, lost: &Lost) {
        lost.memory.iter().for_each(|need| self.memories[usize::from(need.memory)].lost += need.bytes());
        lost.resources.iter().for_each(|&(at, amount)| self.capacity[usize::from(at)] -= amount);
    }

    /// It has come to its end after all.
    pub(super) fn find(&mut self, lost: &Lost) {
        lost.memory.iter().for_each(|need| self.memories[usize::from(need.memory)].lost -= need.bytes());
        lost.resources.iter().for_each(|&(at, amount)| {
            self.capacity[usize::from(at)] += amount;
            self.free[usize::from(at)] += amount;
        });
    }

    /// Whether what runs keep in reserve and what is lost fit together.
    pub(super) fn is_within(&self) -> bool {
        let fits =
            |account: &Account| account.budget.is_none_or(|budget| account.reserved + account.lost <= budget);
        self.memories.iter().all(fits)
    }

    /// Whether the resources that a run takes can be had at all.
    pub(super) fn could_give(&self, tasks: &Tasks) -> bool {
        (0u16..).zip(&self.capacity).all(|(at, capacity)| tasks.most_of(at) <= *capacity)
    }

    /// Whether a run would fit in memory, were it alone.
    pub(super) fn could_hold(&self, tasks: &Tasks) -> bool {
        tasks.demands().iter().enumerate().all(|(memory, demand)| {
            let account = &self.memories[memory];
            let room = account.budget.map_or(u64::MAX, |budget| budget.saturating_sub(account.lost));
            self.reserve_of(memory, demand) <= room
        })
    }

    /// Whether these amounts of resources are free.
    pub fn has(&self, resources: &[(u16, u64)]) -> bool {
        resources.iter().all(|&(at, amount)| self.free[usize::from(at)] >= amount)
    }

    pub(super) fn is_short_of(&self, resource: u16, amount: u64) -> bool {
        self.free[usize::from(resource)] < amount
    }

    pub(super) fn take(&mut self, resources: &[(u16, u64)]) {
        resources.iter().for_each(|&(at, amount)| self.free[usize::from(at)] -= amount);
    }

    pub(super) fn give(&mut self, resources: &[(u16, u64)]) {
        resources.iter().for_each(|&(at, amount)| self.free[usize::from(at)] += amount);
    }

    /// Bytes held in a memory.
    pub fn held(&self, memory: usize) -> u64 {
        self.memories[memory].held
    }

    /// The limit of a memory.
    pub fn budget(&self, memory: usize) -> Option<u64> {
        self.memories[memory].budget
    }

    /// What runs keep in reserve of a memory.
    pub fn reserved(&self, memory: usize) -> u64 {
        self.memories[memory].reserved
    }

    /// Amounts of resources that are free, in millionths.
    pub fn free_resources(&self) -> &[u64] {
        &self.free
    }

    /// Whether nothing is granted and nothing reserved.
    pub fn is_settled(&self) -> bool {
        self.free == self.capacity
            && self.memories.iter().all(|account| account.held == 0 && account.reserved == 0)
    }
}

impl Account {
    fn left(&self) -> u64 {
        self.budget.map_or(u64::MAX, |budget| budget.saturating_sub(self.reserved + self.lost))
    }
}

impl Share {
    /// The reader that was the last one in planned order is done: no step between it and the next such reader has to
    /// make room for the value.
    pub(super) fn shorten(&mut self, value: Need, from: u32, to: u32) {
        self.add(to as usize + 1, from as usize + 1, -(value.value as i64));
    }

    /// The head has passed an overtaker, which holds this much.
    pub(super) fn passed(&mut self, bytes: u64) {
        self.ahead -= bytes;
    }

    fn add(&mut self, from: usize, to: usize, amount: i64) {
        if let Some(profile) = &mut self.profile {
            profile.add(from, to, amount);
        }
    }
}

/// How many bytes may be held out of planned order. A plan that holds many values even in that order isn't kept from as
/// many more.
fn reach(workers: usize, share: &Share, bytes: u64) -> u64 {
    let chunks = AHEAD_PER_WORKER * workers as u64 * share.demand.usual.max(bytes);
    chunks.max(share.demand.planned)
}

/// Bytes that the next unstarted steps will take, of those before `step`. Looks at a bounded number of steps: claims that
/// it misses cost fairness, not safety.
fn claims(
    tasks: &Tasks,
    memory: u16,
    head: u32,
    step: u32,
    count: usize,
    started: impl Fn(u32) -> bool,
) -> u64 {
    const LOOK_MAX: usize = 256;
    let unstarted = (head..step).take(LOOK_MAX).filter(|&other| !started(other)).take(count);
    let needs = unstarted.map(|other| tasks.need(other)).filter(|need| need.memory == memory);
    needs.map(Need::bytes).sum()
}
