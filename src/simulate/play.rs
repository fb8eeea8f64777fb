//! The play: events, ready items, and room.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::csr::Csr;
use crate::simulate::largest::Largest;

/// One step, as the play sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// What does it.
    pub engine: u16,
    /// Where its value and scratch lie.
    pub memory: u16,
    /// Bytes of its value, held until the last item that reads it is done.
    pub value: u64,
    /// Bytes that it holds only while it runs.
    pub scratch: u64,
    /// How long it takes.
    pub nanos: u64,
}

impl Item {
    fn bytes(&self) -> u64 {
        self.value + self.scratch
    }
}

/// Items in planned order, and what they run on.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The items; each comes after those that it reads.
    pub items: Vec<Item>,
    /// For each item, those whose values it reads, as often as it does.
    pub operands: Csr,
    /// Pairs `(earlier, later)` of items without a value between them.
    pub orderings: Vec<(u32, u32)>,
    /// For each engine, how many items it does at once.
    pub lanes: Vec<u32>,
    /// For each memory, what may be held; `u64::MAX` where there is no limit.
    pub budgets: Vec<u64>,
    /// For each memory, what is held from the start.
    pub held: Vec<u64>,
}

/// How a play went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// From the first start to the last end.
    pub nanos: u64,
    /// The items in the order in which they started.
    pub starts: Vec<u32>,
    /// The most that each memory held.
    pub peaks: Vec<u64>,
}

/// Plays a scene. All items start when each memory's budget is at least its [`sequential_peaks`]; else the play
/// ends where nothing more fits.
pub fn play(scene: &Scene) -> Played {
    let mut stage = Stage::new(scene);
    for item in 0..scene.items.len() as u32 {
        if stage.waiting[item as usize] == 0 {
            stage.make_ready(item);
        }
    }
    stage.start_all();
    while let Some(Reverse((now, item))) = stage.running.pop() {
        stage.now = now;
        stage.finish(item);
        stage.start_all();
    }
    Played { nanos: stage.now, starts: stage.starts, peaks: stage.peaks }
}

/// The most that each memory holds when items run one after the other. O(items + operands).
pub fn sequential_peaks(scene: &Scene) -> Vec<u64> {
    let mut peaks = scene.held.clone();
    for (item, held) in scene.items.iter().zip(profile(scene)) {
        let peak = &mut peaks[usize::from(item.memory)];
        *peak = held.max(*peak);
    }
    peaks
}

/// For each item, what its memory holds while it runs, when items run one after the other.
fn profile(scene: &Scene) -> Vec<u64> {
    let mut held = scene.held.clone();
    let mut unread = unread(scene);
    let mut profile = Vec::with_capacity(scene.items.len());
    for (at, item) in scene.items.iter().enumerate() {
        let memory = usize::from(item.memory);
        held[memory] += item.value;
        profile.push(held[memory] + item.scratch);
        for &value in scene.operands.of(at as u32) {
            unread[value as usize] -= 1;
            if unread[value as usize] == 0 {
                let value = &scene.items[value as usize];
                held[usize::from(value.memory)] -= value.value;
            }
        }
        if unread[at] == 0 {
            held[memory] -= item.value;
        }
    }
    profile
}

fn unread(scene: &Scene) -> Vec<u32> {
    let mut unread = vec![0; scene.items.len()];
    for item in 0..scene.items.len() as u32 {
        for &value in scene.operands.of(item) {
            unread[value as usize] += 1;
        }
    }
    unread
}

fn profiles(scene: &Scene) -> Vec<Option<Largest>> {
    let profile = profile(scene);
    let of = |(memory, &budget): (usize, &u64)| {
        let own = |(item, held): (&Item, &u64)| match usize::from(item.memory) == memory && item.bytes() > 0 {
            true => *held,
            false => 0,
        };
        let numbers = || -> Vec<u64> { scene.items.iter().zip(&profile).map(own).collect() };
        (budget < u64::MAX).then(|| Largest::new(&numbers()))
    };
    scene.budgets.iter().enumerate().map(of).collect()
}

struct Stage<'a> {
    scene: &'a Scene,
    followers: Csr,
    waiting: Vec<u32>,
    unread: Vec<u32>,
    started: Vec<bool>,
    /// For each engine, the ready items by the memory that they allocate in; those that allocate nothing are last.
    ready: Vec<Vec<BinaryHeap<Reverse<u32>>>>,
    free: Vec<u32>,
    running: BinaryHeap<Reverse<(u64, u32)>>,
    now: u64,
    held: Vec<u64>,
    peaks: Vec<u64>,
    /// For each memory, the most that it holds when items run one after the other.
    planned: Vec<u64>,
    /// For each memory with a limit, what it holds while each of its items runs in order.
    profiles: Vec<Option<Largest>>,
    /// For each memory, the farthest overtaker so far.
    farthest: Vec<u32>,
    /// For each memory, what overtakers hold.
    ahead: Vec<u64>,
    /// For each item, what it holds as an overtaker.
    owed: Vec<u64>,
    /// For each memory, the first item that allocates there and hasn't started.
    heads: Vec<u32>,
    starts: Vec<u32>,
}

impl<'a> Stage<'a> {
    fn new(scene: &'a Scene) -> Self {
        let count = scene.items.len();
        let reads =
            (0..count as u32).flat_map(|item| scene.operands.of(item).iter().map(move |&v| (v, item)));
        let edges = reads.chain(scene.orderings.iter().copied());
        let mut waiting = vec![0; count];
        edges.clone().for_each(|(_, later)| waiting[later as usize] += 1);
        let memories = scene.budgets.len();
        let mut stage = Stage {
            scene,
            followers: Csr::new(count, edges),
            waiting,
            unread: unread(scene),
            started: vec![false; count],
            ready: vec![vec![BinaryHeap::new(); memories + 1]; scene.lanes.len()],
            free: scene.lanes.clone(),
            running: BinaryHeap::new(),
            now: 0,
            held: scene.held.clone(),
            peaks: scene.held.clone(),
            planned: sequential_peaks(scene),
            profiles: profiles(scene),
            farthest: vec![0; memories],
            ahead: vec![0; memories],
            owed: vec![0; count],
            heads: vec![0; memories],
            starts: Vec::with_capacity(count),
        };
        (0..memories).for_each(|memory| stage.advance(memory));
        stage
    }

    fn make_ready(&mut self, item: u32) {
        let what = &self.scene.items[item as usize];
        let memory = if what.bytes() == 0 { self.held.len() } else { usize::from(what.memory) };
        self.ready[usize::from(what.engine)][memory].push(Reverse(item));
    }

    fn start_all(&mut self) {
        for engine in 0..self.free.len() {
            while self.free[engine] > 0 {
                let firsts = self.ready[engine].iter().enumerate();
                let firsts = firsts.filter_map(|(memory, ready)| Some((ready.peek()?.0, memory)));
                let Some((item, memory)) = firsts.filter(|(item, _)| self.may_start(*item)).min() else {
                    break;
                };
                self.ready[engine][memory].pop();
                self.start(item);
            }
        }
    }

    fn may_start(&self, item: u32) -> bool {
        let what = &self.scene.items[item as usize];
        let (memory, bytes) = (usize::from(what.memory), what.bytes());
        bytes == 0
            || self.held[memory].saturating_add(bytes) <= self.scene.budgets[memory]
                && (self.heads[memory] == item || self.may_overtake(item, memory, bytes))
    }

    fn may_overtake(&self, item: u32, memory: usize, bytes: u64) -> bool {
        let (ahead, budget) = (self.ahead[memory].saturating_add(bytes), self.scene.budgets[memory]);
        let largest = |profile: &Largest| {
            let to = self.farthest[memory].max(item);
            profile.of(self.heads[memory] as usize, to as usize)
        };
        self.planned[memory].saturating_add(ahead) <= budget
            || self.profiles[memory]
                .as_ref()
                .is_some_and(|profile| largest(profile).saturating_add(ahead) <= budget)
    }

    fn start(&mut self, item: u32) {
        let what = self.scene.items[item as usize];
        let memory = usize::from(what.memory);
        self.started[item as usize] = true;
        self.starts.push(item);
        self.free[usize::from(what.engine)] -= 1;
        self.running.push(Reverse((self.now + what.nanos, item)));
        self.held[memory] += what.bytes();
        self.peaks[memory] = self.peaks[memory].max(self.held[memory]);
        if self.heads[memory] == item {
            self.heads[memory] += 1;
            self.advance(memory);
        } else {
            self.ahead[memory] += what.bytes();
            self.owed[item as usize] = what.bytes();
            self.farthest[memory] = self.farthest[memory].max(item);
        }
    }

    /// Moves a memory's head past all that has started or allocates elsewhere; overtakers that it passes are none
    /// any more.
    fn advance(&mut self, memory: usize) {
        while let Some(item) = self.scene.items.get(self.heads[memory] as usize) {
            let allocates = usize::from(item.memory) == memory && item.bytes() > 0;
            if allocates && !self.started[self.heads[memory] as usize] {
                break;
            }
            if allocates {
                self.give_back(self.heads[memory], u64::MAX);
            }
            self.heads[memory] += 1;
        }
    }

    /// An overtaker holds so much less, or is none any more.
    fn give_back(&mut self, item: u32, bytes: u64) {
        let owed = &mut self.owed[item as usize];
        let bytes = bytes.min(*owed);
        *owed -= bytes;
        self.ahead[usize::from(self.scene.items[item as usize].memory)] -= bytes;
    }

    fn release(&mut self, item: u32, bytes: u64) {
        self.held[usize::from(self.scene.items[item as usize].memory)] -= bytes;
        self.give_back(item, bytes);
    }

    fn finish(&mut self, item: u32) {
        let (scene, what) = (self.scene, self.scene.items[item as usize]);
        self.free[usize::from(what.engine)] += 1;
        self.release(item, what.scratch);
        for &value in scene.operands.of(item) {
            self.unread[value as usize] -= 1;
            if self.unread[value as usize] == 0 {
                self.release(value, scene.items[value as usize].value);
            }
        }
        if self.unread[item as usize] == 0 {
            self.release(item, what.value);
        }
        for at in self.followers.range(item) {
            let follower = self.followers.item(at);
            self.waiting[follower as usize] -= 1;
            if self.waiting[follower as usize] == 0 {
                self.make_ready(follower);
            }
        }
    }
}
