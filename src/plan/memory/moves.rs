//! One walk over the tasks in planned order that keeps every memory within its budget.

use std::collections::BinaryHeap;

use crate::csr::Csr;
use crate::machine::{DeviceId, MemoryId};
use crate::plan::memory::view::{Mobility, View};
use crate::steps::{Step, StepKind};

/// What a walk makes of the tasks.
#[derive(Clone, Debug, Default)]
pub struct Moves {
    /// Tasks in planned order; those from the number of tasks on are added.
    pub order: Vec<u32>,
    /// Tasks that move values, and the value that each reads; one that reads a source again reads none.
    pub added: Vec<(Step, Option<u32>)>,
    /// The operands of the tasks that were there, in the same places.
    pub operands: Vec<(u32, u16)>,
}

impl Moves {
    /// Bytes that all moves together carry, planned copies not counted.
    pub fn bytes(&self) -> u64 {
        self.added.iter().map(|(step, _)| step.bytes).sum()
    }
}

/// A task doesn't fit, whatever moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The task.
    pub task: u32,
    /// The memory.
    pub memory: usize,
    /// Bytes that must be held there while it runs.
    pub needs: u64,
    /// Those among them that never move.
    pub fixed: u64,
}

/// Walks `order`, with `budgets` by memory, the disk's last.
///
/// # Errors
/// The first task that doesn't fit.
pub fn walk(view: &View<'_>, order: &[u32], budgets: &[u64]) -> Result<Moves, Refusal> {
    let mut walk = Walk::new(view, order, budgets);
    for (rank, &task) in order.iter().enumerate() {
        walk.now = rank as u32;
        match view.tasks.tasks[task as usize].kind {
            StepKind::Transfer => walk.copy_planned(task)?,
            _ => walk.run(task)?,
        }
    }
    Ok(walk.out)
}

/// Stands for no task, no rank.
const NONE: u32 = u32::MAX;

type Farthest = BinaryHeap<(u32, u32)>;

struct Walk<'a> {
    view: &'a View<'a>,
    order: &'a [u32],
    budgets: &'a [u64],
    /// Ranks of the tasks that read each datum, in order.
    uses: Csr,
    /// For each datum, the place in `uses` of the first that isn't past.
    next: Vec<usize>,
    /// The task whose value is the datum in a memory, at `datum * memories + memory`.
    at: Vec<u32>,
    /// The rank of the task that needs it there, in the same places.
    pins: Vec<u32>,
    held: Vec<u64>,
    /// Bytes held that never move.
    fixed: Vec<u64>,
    /// Next use and datum, by memory. Entries that are no longer true are dropped when they come up.
    farthest: Vec<Farthest>,
    /// The same of those that go for nothing.
    free: Vec<Farthest>,
    /// Planned copies that were made early.
    done: Vec<bool>,
    /// The rank of the task at hand.
    now: u32,
    /// Tasks of lower ranks are in the new order.
    passed: u32,
    out: Moves,
}

impl<'a> Walk<'a> {
    fn new(view: &'a View<'a>, order: &'a [u32], budgets: &'a [u64]) -> Self {
        let (count, memories) = (view.datum.len(), budgets.len());
        let reads = order.iter().zip(0u32..).flat_map(|(&task, rank)| {
            let operands = view.tasks.operands(task).iter();
            operands.map(move |&(value, _)| (view.datum[value as usize], rank))
        });
        let uses = Csr::new(count, reads);
        let next = (0..count as u32).map(|datum| uses.range(datum).start).collect();
        let mut held = vec![0; memories];
        held[0] = view.results;
        Walk {
            view,
            order,
            budgets,
            uses,
            next,
            at: vec![NONE; count * memories],
            pins: vec![NONE; count * memories],
            fixed: held.clone(),
            held,
            farthest: vec![BinaryHeap::new(); memories],
            free: vec![BinaryHeap::new(); memories],
            done: vec![false; count],
            now: 0,
            passed: 0,
            out: Moves {
                order: Vec::with_capacity(count),
                added: Vec::new(),
                operands: view.tasks.operands.clone(),
            },
        }
    }

    fn run(&mut self, task: u32) -> Result<(), Refusal> {
        let view = self.view;
        let step = &view.tasks.tasks[task as usize];
        let memory = usize::from(step.memory.0);
        for &(value, _) in view.tasks.operands(task) {
            let slot = self.slot(view.datum[value as usize], memory);
            self.pins[slot] = self.now;
        }
        for &(value, _) in view.tasks.operands(task) {
            let datum = view.datum[value as usize];
            if self.at[self.slot(datum, memory)] == NONE {
                self.bring(datum, memory)?;
            }
        }
        let terms = view.terms_of(step);
        if terms.memory > self.budgets[memory] {
            return Err(self.refusal(memory, terms.memory));
        }
        self.make_room(memory, step.allocated().saturating_add(terms.reserve))?;
        self.rewire(task, memory);
        self.out.order.push(task);
        self.passed = self.now + 1;
        self.put(task, memory, task, step.allocated());
        for &(value, _) in view.tasks.operands(task) {
            self.was_read(view.datum[value as usize], memory);
        }
        self.was_read(task, memory);
        Ok(())
    }

    /// A copy that the plan has anyway, unless it was made early to give room.
    fn copy_planned(&mut self, task: u32) -> Result<(), Refusal> {
        let datum = self.view.datum[task as usize];
        if !self.done[task as usize] {
            self.bring(datum, usize::from(self.view.tasks.tasks[task as usize].memory.0))?;
        }
        self.passed = self.now + 1;
        self.was_read(datum, self.view.reads_in(task));
        Ok(())
    }

    /// Readers read the value that is in their memory.
    fn rewire(&mut self, task: u32, memory: usize) {
        let view = self.view;
        let first = view.tasks.offsets[task as usize] as usize;
        for (place, &(value, _)) in view.tasks.operands(task).iter().enumerate() {
            self.out.operands[first + place].0 = self.at[self.slot(view.datum[value as usize], memory)];
        }
    }

    /// Makes a datum present in a memory where it isn't.
    fn bring(&mut self, datum: u32, to: usize) -> Result<(), Refusal> {
        match self.source(datum, to) {
            Some(from) => self.copy(datum, from, to),
            // What is nowhere was dropped because its source can be read again.
            None if to == 0 => self.read_again(datum),
            None => {
                self.bring(datum, 0)?;
                self.copy(datum, 0, to)
            }
        }
    }

    /// The memory from which a datum can be copied straight to another.
    fn source(&self, datum: u32, to: usize) -> Option<usize> {
        let holds = |memory: &usize| self.at[self.slot(datum, *memory)] != NONE;
        let straight = |memory: &usize| {
            let link = |a: usize, b: usize| self.view.machine.link(MemoryId(a as u16), MemoryId(b as u16));
            to == 0 || !link(*memory, to).via_host
        };
        let mut devices = (1..self.view.disk).filter(|memory| holds(memory) && straight(memory));
        let host = Some(0).filter(holds).filter(|_| to != 0);
        let disk = Some(self.view.disk).filter(holds).filter(|_| to == 0);
        host.or_else(|| devices.next()).or(disk)
    }

    fn copy(&mut self, datum: u32, from: usize, to: usize) -> Result<(), Refusal> {
        let view = self.view;
        let planned =
            view.copies.get(&(datum, MemoryId(to as u16))).filter(|copy| !self.done[**copy as usize]);
        let bytes =
            planned.map_or(view.bytes[datum as usize], |&copy| view.tasks.tasks[copy as usize].allocated());
        let source = self.slot(datum, from);
        let pinned = std::mem::replace(&mut self.pins[source], self.now);
        self.make_room(to, bytes)?;
        self.pins[source] = pinned;
        let value = self.at[source];
        let copy = match planned {
            Some(&copy) => {
                self.out.operands[view.tasks.offsets[copy as usize] as usize].0 = value;
                self.done[copy as usize] = true;
                copy
            }
            None => self.add(self.moving(datum, from, to), Some(value)),
        };
        self.out.order.push(copy);
        self.put(datum, to, copy, bytes);
        self.offer(datum, from);
        Ok(())
    }

    fn moving(&self, datum: u32, from: usize, to: usize) -> Step {
        let view = self.view;
        let kind = match () {
            () if to == view.disk => StepKind::Spill,
            () if from == view.disk => StepKind::Reload,
            () => StepKind::Transfer,
        };
        let far_end = MemoryId(if to == 0 || to == view.disk { from } else { to } as u16);
        let is_there = |(device, _): &(DeviceId, _)| view.machine.memory_of(*device) == far_end;
        Step {
            kind,
            kernel: Step::NO_KERNEL,
            device: view.machine.devices().find(is_there).map_or(DeviceId::HOST, |(device, _)| device),
            memory: MemoryId(to as u16),
            bytes: view.bytes[datum as usize],
            output: Step::NO_OUTPUT,
            ..view.tasks.tasks[datum as usize]
        }
    }

    fn read_again(&mut self, datum: u32) -> Result<(), Refusal> {
        let step = self.view.tasks.tasks[datum as usize];
        // Loads take nothing beside their value, so that others' operands leave room for them.
        self.make_room(0, step.bytes.saturating_add(self.view.terms_of(&step).reserve))?;
        let load = self.add(step, None);
        self.out.order.push(load);
        self.put(datum, 0, load, step.bytes);
        Ok(())
    }

    fn add(&mut self, step: Step, source: Option<u32>) -> u32 {
        self.out.added.push((step, source));
        (self.view.datum.len() + self.out.added.len() - 1) as u32
    }

    fn make_room(&mut self, memory: usize, bytes: u64) -> Result<(), Refusal> {
        while self.held[memory].saturating_add(bytes) > self.budgets[memory] {
            let Some(datum) = self.victim(memory) else {
                return Err(self.refusal(memory, self.held[memory].saturating_add(bytes)));
            };
            let goes_for_nothing = self.goes_for_nothing(datum, memory);
            if !goes_for_nothing {
                self.copy(datum, memory, if memory == 0 { self.view.disk } else { 0 })?;
            }
            self.forget(datum, memory);
            if self.next_use(datum, None) == NONE {
                self.bury(datum);
            }
        }
        Ok(())
    }

    /// The datum that isn't needed for the longest time, or one that goes for nothing and isn't for half as long.
    fn victim(&mut self, memory: usize) -> Option<u32> {
        let mut farthest = std::mem::take(&mut self.farthest[memory]);
        let mut free = std::mem::take(&mut self.free[memory]);
        let first = self.pop(&mut farthest, memory, |_, _| true);
        let other = self.pop(&mut free, memory, |walk, datum| walk.goes_for_nothing(datum, memory));
        let is_far = |next: u32| {
            first.is_some_and(|(first, _)| u64::from(next - self.now) * 2 >= u64::from(first - self.now))
        };
        let chosen = match other {
            Some((next, datum)) if is_far(next) => {
                farthest.extend(first);
                Some(datum)
            }
            _ => {
                free.extend(other);
                first.map(|(_, datum)| datum)
            }
        };
        (self.farthest[memory], self.free[memory]) = (farthest, free);
        chosen
    }

    /// The first entry that is true, of a datum that the task at hand doesn't need.
    fn pop(
        &mut self,
        heap: &mut Farthest,
        memory: usize,
        fits: impl Fn(&Self, u32) -> bool,
    ) -> Option<(u32, u32)> {
        while let Some((next, datum)) = heap.pop() {
            let slot = self.slot(datum, memory);
            let is_true = self.at[slot] != NONE && self.next_use(datum, Some(memory)) == next;
            // What is pinned comes back once it has been read.
            if is_true && self.pins[slot] != self.now && fits(self, datum) {
                return Some((next, datum));
            }
        }
        None
    }

    fn goes_for_nothing(&self, datum: u32, memory: usize) -> bool {
        let elsewhere = |other: usize| other != memory && self.at[self.slot(datum, other)] != NONE;
        self.view.mobility[datum as usize] == Mobility::ReadAgain || (0..=self.view.disk).any(elsewhere)
    }

    fn put(&mut self, datum: u32, memory: usize, value: u32, bytes: u64) {
        let slot = self.slot(datum, memory);
        self.at[slot] = value;
        self.held[memory] += bytes;
        if self.view.mobility[datum as usize] == Mobility::Fixed {
            self.fixed[memory] += bytes;
        }
        self.offer(datum, memory);
    }

    /// Makes a datum a candidate to give its room, where it takes some.
    fn offer(&mut self, datum: u32, memory: usize) {
        let moves = self.view.mobility[datum as usize] != Mobility::Fixed;
        if moves
            && self.budgets[memory] < u64::MAX
            && memory != self.view.disk
            && self.held_by(datum, memory) > 0
        {
            let next = self.next_use(datum, Some(memory));
            self.farthest[memory].push((next, datum));
            if self.goes_for_nothing(datum, memory) {
                self.free[memory].push((next, datum));
            }
        }
    }

    fn was_read(&mut self, datum: u32, memory: usize) {
        if self.next_use(datum, None) == NONE {
            self.bury(datum);
        } else if self.at[self.slot(datum, memory)] != NONE {
            self.offer(datum, memory);
        }
    }

    /// Nobody needs the datum any more.
    fn bury(&mut self, datum: u32) {
        for memory in 0..=self.view.disk {
            self.forget(datum, memory);
        }
    }

    fn forget(&mut self, datum: u32, memory: usize) {
        let (slot, bytes) = (self.slot(datum, memory), self.held_by(datum, memory));
        self.held[memory] -= bytes;
        if self.view.mobility[datum as usize] == Mobility::Fixed {
            self.fixed[memory] -= bytes;
        }
        self.at[slot] = NONE;
    }

    /// Bytes that a datum takes in a memory.
    fn held_by(&self, datum: u32, memory: usize) -> u64 {
        match self.at[self.slot(datum, memory)] {
            NONE => 0,
            value => match self.view.tasks.tasks.get(value as usize) {
                Some(step) => step.allocated(),
                None => self.view.bytes[datum as usize],
            },
        }
    }

    /// The rank of the next task that reads a datum, of those that read it in one memory or of all.
    fn next_use(&mut self, datum: u32, memory: Option<usize>) -> u32 {
        let end = self.uses.range(datum).end;
        let mut first = self.next[datum as usize];
        while first < end && self.is_past(self.uses.item(first)) {
            first += 1;
        }
        self.next[datum as usize] = first;
        let is_here =
            |rank: u32| memory.is_none_or(|memory| self.view.reads_in(self.order[rank as usize]) == memory);
        let mut ranks = (first..end).map(|place| self.uses.item(place));
        ranks.find(|&rank| is_here(rank) && !self.is_past(rank)).unwrap_or(NONE)
    }

    fn is_past(&self, rank: u32) -> bool {
        rank < self.passed || self.done[self.order[rank as usize] as usize]
    }

    fn slot(&self, datum: u32, memory: usize) -> usize {
        datum as usize * self.budgets.len() + memory
    }

    fn refusal(&self, memory: usize, needs: u64) -> Refusal {
        Refusal { task: self.order[self.now as usize], memory, needs, fixed: self.fixed[memory] }
    }
}
