//! One block: its threads in turn, their barriers, their warps.

use super::memory::Memory;
use super::thread::{Place, State, Thread};
use super::warp::{self, Lane};
use super::{Fault, Launch};
use crate::ptx::code::{Op, Vote};

/// The block that runs, and after it the next.
pub struct Block<'a> {
    place: Place<'a>,
    threads: Vec<Thread>,
    memory: Memory<'a>,
}

impl<'a> Block<'a> {
    pub fn new(launch: &'a Launch<'a>) -> Block<'a> {
        let count = launch.block.iter().product();
        let shared_bytes = launch.module.functions[launch.function].shared_bytes;
        Block {
            place: Place { launch, block: [0; 3] },
            threads: (0..count).map(|linear| Thread::new(launch, linear)).collect(),
            memory: Memory::new(launch, shared_bytes),
        }
    }

    /// Runs the block at `at` of the grid.
    pub fn run(&mut self, at: [u32; 3]) -> Result<(), Fault> {
        self.place.block = at;
        self.threads.iter_mut().for_each(|thread| thread.begin(self.place.launch));
        self.memory.begin();
        let mut backwards = false;
        while !self.is_done() {
            self.turn(backwards)?;
            let mut moved = self.threads.iter().any(|thread| thread.state == State::Ready);
            moved |= self.warps()?;
            let passed = self.barriers()?;
            backwards ^= passed;
            if !moved && !passed && !self.is_done() {
                return Err(self.stuck());
            }
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.threads.iter().all(|thread| thread.state == State::Done)
    }

    /// Lets every thread run that can.
    fn turn(&mut self, backwards: bool) -> Result<(), Fault> {
        let count = self.threads.len();
        for index in 0..count {
            let index = if backwards { count - 1 - index } else { index };
            if self.threads[index].state == State::Ready
                && let Err(fault) = self.threads[index].run(&mut self.memory, &self.place)
            {
                return Err(self.at_thread(index, fault));
            }
        }
        Ok(())
    }

    /// Does what the lanes of a warp do together, wherever all of them are there; says whether any did.
    fn warps(&mut self) -> Result<bool, Fault> {
        let mut any = false;
        for first in (0..self.threads.len()).step_by(32) {
            let lanes = first..self.threads.len().min(first + 32);
            for index in lanes.clone() {
                let State::Warp(members) = self.threads[index].state else { continue };
                if members >> (index - first) & 1 == 0 {
                    let fault = Fault::failed("calls for lanes of which it isn't one");
                    return Err(self.at_thread(index, fault));
                }
                let here = self.threads[index].place();
                let meets = |other: &usize| {
                    let thread = &self.threads[*other];
                    thread.state == State::Warp(members) && thread.place() == here
                };
                let member = |other: &usize| members >> (other - first) & 1 != 0;
                let awaited = |other: &usize| member(other) && self.threads[*other].state != State::Done;
                let group: Vec<usize> = lanes.clone().filter(awaited).collect();
                if group.iter().all(meets) {
                    self.together(&group)?;
                    any = true;
                }
            }
        }
        Ok(any)
    }

    fn together(&mut self, group: &[usize]) -> Result<(), Fault> {
        let launch = self.place.launch;
        let (function, at) = self.threads[group[0]].instruction(launch);
        let Op::Warp { kind, d, s, negated, .. } = &function.code[at].op else {
            return Err(Fault::failed("a warp meets where it can't"));
        };
        let lane = |index: &usize| Lane {
            lane: *index as u32 % 32,
            s: s.map(|source| self.threads[*index].source(source, launch)),
            negated: *negated,
        };
        let lanes: Vec<Lane> = group.iter().map(lane).collect();
        for (index, results) in group.iter().zip(warp::together(*kind, &lanes)?) {
            let thread = &mut self.threads[*index];
            thread.set(d[0], results[0]);
            thread.set(d[1], results[1]);
            thread.state = State::Ready;
        }
        Ok(())
    }

    /// Opens the barriers that all have reached; says whether any was.
    fn barriers(&mut self) -> Result<bool, Fault> {
        let (mut any, mut seen) = (false, 0u16);
        for index in 0..self.threads.len() {
            let State::Barrier(id, threads) = self.threads[index].state else { continue };
            if id > 15 {
                return Err(self.at_thread(index, Fault::failed(format!("waits at barrier {id} of 0 to 15"))));
            }
            if seen >> id & 1 != 0 {
                continue;
            }
            seen |= 1 << id;
            let waits = |thread: &Thread| matches!(thread.state, State::Barrier(at, _) if at == id);
            let waiting: Vec<usize> =
                (0..self.threads.len()).filter(|at| waits(&self.threads[*at])).collect();
            let awaited = threads.map_or(self.threads.len(), |threads| threads as usize);
            if waiting.len() < awaited {
                continue;
            }
            self.check_aligned(&waiting)?;
            self.open(&waiting);
            any = true;
        }
        Ok(any)
    }

    /// A warp's threads must wait at one and the same instruction (PTX ISA, `bar.sync`).
    fn check_aligned(&self, waiting: &[usize]) -> Result<(), Fault> {
        let at = |index: usize| self.threads[index].place();
        match waiting.windows(2).find(|pair| pair[0] / 32 == pair[1] / 32 && at(pair[0]) != at(pair[1])) {
            Some(pair) => {
                let fault = Fault::failed("waits at another barrier instruction than its warp");
                Err(self.at_thread(pair[1], fault))
            }
            None => Ok(()),
        }
    }

    fn open(&mut self, waiting: &[usize]) {
        let launch = self.place.launch;
        let reduction = |index: usize| {
            let (function, at) = self.threads[index].instruction(launch);
            match &function.code[at].op {
                Op::Barrier { reduce: Some((vote, d, predicate, negated)), .. } => {
                    let holds = (self.threads[index].source(*predicate, launch) != 0) != *negated;
                    Some((*vote, *d, holds))
                }
                _ => None,
            }
        };
        let reductions: Vec<Option<(Vote, u32, bool)>> =
            waiting.iter().map(|index| reduction(*index)).collect();
        let voters: Vec<_> = reductions.iter().flatten().map(|(_, _, holds)| (0, *holds)).collect();
        for (index, reduction) in waiting.iter().zip(&reductions) {
            let thread = &mut self.threads[*index];
            if let Some((vote, d, _)) = reduction {
                thread.set(Some(*d), u64::from(warp::count(*vote, &voters)));
            }
            thread.state = State::Ready;
        }
    }

    /// No thread can go on: one waits for others that have ended or wait elsewhere.
    fn stuck(&self) -> Fault {
        let waits = self.threads.iter().position(|thread| thread.state != State::Done).unwrap_or(0);
        let ended = self.threads.iter().filter(|thread| thread.state == State::Done).count();
        let message = format!("waits for threads that never come; {ended} of the block's threads have ended");
        self.at_thread(waits, Fault::failed(message))
    }

    fn at_thread(&self, index: usize, fault: Fault) -> Fault {
        let launch = self.place.launch;
        let (function, at) = self.threads[index].instruction(launch);
        let kernel = &launch.module.functions[launch.function].name;
        let line = function.code[at].line;
        let (block, thread) = (self.place.block, self.place.thread(index as u32));
        let message = format!(
            "kernel '{kernel}', block {block:?}, thread {thread:?}, PTX line {line}: {}",
            fault.message
        );
        Fault { message, ..fault }
    }
}
