//! One thread: its registers, its frames, and what each instruction does.

use super::memory::{Bytes, Memory, Own};
use super::{Fault, Launch};
use crate::driver::heap::Allocation;
use crate::ptx::code::{Address, Base, Carry, Flush, Function, LaneMask, Op, Source, Space, Special};
use crate::result;

pub struct Thread {
    /// Its number in the block.
    pub linear: u32,
    pub state: State,
    registers: Vec<u64>,
    frames: Vec<Frame>,
    local: Bytes,
    carry: bool,
    /// Instructions so far.
    steps: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum State {
    Ready,
    /// At the barrier of that number, for so many threads, or all.
    Barrier(u64, Option<u64>),
    /// At an instruction that its warp does together, with the lanes of that mask.
    Warp(u32),
    Done,
}

struct Frame {
    function: usize,
    at: usize,
    registers_at: usize,
    local_at: usize,
    parameters: Bytes,
}

enum Next {
    Instruction,
    Jump(usize),
    Frame,
    Stop(State),
}

/// Instructions that a thread does before others have their turn, so that one that waits for another by looking
/// at memory sees it.
const SLICE: u32 = 20_000;

/// Instructions after which a thread counts as one that never ends.
const LIMIT: u64 = 100_000_000;

/// Frames that calls may reach; hardware's stack would be full.
const DEPTH: usize = 256;

impl Thread {
    /// A thread that has no block yet.
    pub fn new(launch: &Launch<'_>, linear: u32) -> Thread {
        let function = &launch.module.functions[launch.function];
        let parameters = vec![0; function.parameter_bytes];
        Thread {
            linear,
            state: State::Done,
            registers: vec![0; function.registers],
            frames: vec![Frame {
                function: launch.function,
                at: 0,
                registers_at: 0,
                local_at: 0,
                parameters,
            }],
            local: vec![0; function.local_bytes],
            carry: false,
            steps: 0,
        }
    }

    /// Begins with a block: as if it were made anew, which would cost more than a short kernel does.
    pub fn begin(&mut self, launch: &Launch<'_>) {
        self.state = State::Ready;
        self.registers.fill(0);
        self.local.fill(Allocation::POISON);
        self.frames.truncate(1);
        let frame = self.frame_mut();
        frame.at = 0;
        frame.parameters[..launch.parameters.len()].copy_from_slice(launch.parameters);
        (self.carry, self.steps) = (false, 0);
    }

    /// Runs for a slice, or until it must wait.
    pub fn run(&mut self, memory: &mut Memory<'_>, place: &Place<'_>) -> Result<(), Fault> {
        let mut left = SLICE;
        while self.state == State::Ready && left > 0 {
            let frame = self.frame();
            let function = &place.launch.module.functions[frame.function];
            let (mut at, base) = (frame.at, frame.registers_at);
            let next = loop {
                let instruction = &function.code[at];
                left = left.saturating_sub(1);
                let executes = instruction
                    .guard
                    .is_none_or(|(register, holds)| (self.registers[base + register as usize] != 0) == holds);
                at += 1;
                if let Op::Compute { compute, flush: None, d, s } = &instruction.op {
                    if executes {
                        let value = |at: usize| s[at].of(&self.registers[base..], &function.constants);
                        let result = compute(value(0), value(1), value(2), value(3));
                        self.registers[base + *d as usize] = result;
                    }
                } else if executes {
                    self.frame_mut().at = at;
                    match self.execute(&instruction.op, function, base, memory, place)? {
                        Next::Instruction => {}
                        Next::Jump(target) => at = target,
                        other => break other,
                    }
                }
                if left == 0 {
                    self.frame_mut().at = at;
                    break Next::Frame;
                }
            };
            if let Next::Stop(state) = next {
                self.state = state;
            }
        }
        self.steps += u64::from(SLICE - left);
        if self.steps > LIMIT {
            let message = format!("a thread ran {LIMIT} instructions without an end");
            return Err(Fault { code: result::LAUNCH_TIMEOUT, message });
        }
        Ok(())
    }

    /// The instruction that it waits at, or has done last.
    pub fn instruction<'m>(&self, launch: &Launch<'m>) -> (&'m Function, usize) {
        let frame = self.frame();
        (&launch.module.functions[frame.function], frame.at.saturating_sub(1))
    }

    /// The place of [`Thread::instruction`]: the function's number and the instruction's.
    pub fn place(&self) -> (usize, usize) {
        let frame = self.frame();
        (frame.function, frame.at.saturating_sub(1))
    }

    /// A source's value in the current frame.
    pub fn source(&self, source: Source, launch: &Launch<'_>) -> u64 {
        let frame = self.frame();
        let constants = &launch.module.functions[frame.function].constants;
        source.of(&self.registers[frame.registers_at..], constants)
    }

    /// Sets a register of the current frame, if there is one.
    pub fn set(&mut self, register: Option<u32>, value: u64) {
        if let Some(register) = register {
            let base = self.frame().registers_at;
            self.registers[base + register as usize] = value;
        }
    }

    fn frame(&self) -> &Frame {
        // INVARIANT: the last frame stays; a return from it ends the thread.
        self.frames.last().expect("a frame")
    }

    fn frame_mut(&mut self) -> &mut Frame {
        // INVARIANT: as above.
        self.frames.last_mut().expect("a frame")
    }

    #[inline]
    fn execute(
        &mut self,
        op: &Op,
        function: &Function,
        base: usize,
        memory: &mut Memory<'_>,
        place: &Place<'_>,
    ) -> Result<Next, Fault> {
        let value = |source: &Source| source.of(&self.registers[base..], &function.constants);
        match op {
            Op::Compute { compute, flush, d, s } => {
                let flush = flush.unwrap_or_default();
                let [a, b, c, e] = flushed(flush, [&s[0], &s[1], &s[2], &s[3]].map(value));
                self.registers[base + *d as usize] = finished(flush, compute(a, b, c, e));
            }
            Op::Branch { target } => return Ok(Next::Jump(*target)),
            Op::Load { space, bytes, signed, d, address } => {
                self.load((*space, usize::from(*bytes)), *signed, d, address, memory)?;
            }
            Op::Store { space, bytes, s, address } => {
                self.store((*space, usize::from(*bytes)), s, function, address, memory)?;
            }
            _ => return self.execute_rare(op, function, base, memory, place),
        }
        Ok(Next::Instruction)
    }

    fn execute_rare(
        &mut self,
        op: &Op,
        function: &Function,
        base: usize,
        memory: &mut Memory<'_>,
        place: &Place<'_>,
    ) -> Result<Next, Fault> {
        let value = |source: &Source| source.of(&self.registers[base..], &function.constants);
        match op {
            Op::Carry { kind, wide, reads, writes, d, s } => {
                let carry = *reads && self.carry;
                let (result, carry) = with_carry(*kind, *wide, [&s[0], &s[1], &s[2]].map(value), carry);
                self.carry = if *writes { carry } else { self.carry };
                self.set(Some(*d), result);
            }
            Op::Compare { compare, flush, combine, d, s } => {
                let flush = flush.unwrap_or_default();
                let [a, b, ..] = flushed(flush, [value(&s[0]), value(&s[1]), 0, 0]);
                let holds = compare(a, b, 0, 0);
                let both = combine.map(|(combine, c, negated)| {
                    let c = value(&c) ^ u64::from(negated);
                    [combine(holds, c, 0, 0), combine(holds ^ 1, c, 0, 0)]
                });
                let [first, second] = both.unwrap_or([holds, holds ^ 1]);
                self.set(d[0], first);
                self.set(d[1], second);
            }
            Op::Special { special, d } => {
                let value = place.special(*special, self);
                self.set(Some(*d), value);
            }
            Op::LocalAddress { offset, d } => {
                let address = self.frame().local_at as u64 + offset;
                self.set(Some(*d), address);
            }
            Op::Pack { d, s, bits } => {
                let part =
                    |(at, s): (usize, &Source)| (value(s) & (u64::MAX >> (64 - bits))) << (at as u32 * bits);
                let packed = s.iter().enumerate().map(part).fold(0, |all, part| all | part);
                self.set(Some(*d), packed);
            }
            Op::Unpack { d, s, bits } => {
                let value = value(s);
                for (at, d) in d.iter().enumerate() {
                    self.set(*d, value >> (at as u32 * bits) & (u64::MAX >> (64 - bits)));
                }
            }
            Op::Atomic { space, bytes, update, d, address, s: [b, c] } => {
                let (b, c) = (value(b), value(c));
                let at = self.place_of(*space, address);
                let mut own = self.own();
                let old =
                    memory.update(*space, at, usize::from(*bytes), &mut own, |old| update(old, b, c, 0))?;
                self.set(*d, old);
            }
            _ => return self.control(op, function, base, place.launch),
        }
        Ok(Next::Instruction)
    }

    fn control(
        &mut self,
        op: &Op,
        function: &Function,
        base: usize,
        launch: &Launch<'_>,
    ) -> Result<Next, Fault> {
        let value = |source: &Source| source.of(&self.registers[base..], &function.constants);
        Ok(match op {
            Op::BranchTable { index, targets } => {
                let index = value(index) as u32 as usize;
                let target = targets.get(index).copied();
                Next::Jump(
                    target.ok_or_else(|| Fault::failed(format!("no label {index} in the branch's list")))?,
                )
            }
            Op::Call { function, arguments, .. } => {
                self.call(&launch.module.functions[*function], *function, arguments)?;
                Next::Frame
            }
            Op::Return if self.frames.len() > 1 => {
                self.leave(launch);
                Next::Frame
            }
            Op::Return | Op::Exit => Next::Stop(State::Done),
            Op::Trap => return Err(Fault::failed("executes a trap")),
            Op::Barrier { id, threads, .. } => {
                Next::Stop(State::Barrier(value(id), threads.as_ref().map(value)))
            }
            Op::Warp { members, .. } => Next::Stop(State::Warp(value(members) as u32)),
            _ => Next::Instruction,
        })
    }

    fn call(
        &mut self,
        callee: &Function,
        index: usize,
        arguments: &[(usize, usize, usize)],
    ) -> Result<(), Fault> {
        if self.frames.len() == DEPTH {
            return Err(Fault::failed(format!("calls reach {DEPTH} frames")));
        }
        let mut parameters = vec![0; callee.parameter_bytes];
        for (from, to, length) in arguments {
            let own = &self.frame().parameters[*from..from + length];
            parameters[*to..to + length].copy_from_slice(own);
        }
        let (registers_at, local_at) = (self.registers.len(), self.local.len().next_multiple_of(16));
        self.registers.resize(registers_at + callee.registers, 0);
        self.local.resize(local_at + callee.local_bytes, Allocation::POISON);
        self.frames.push(Frame { function: index, at: 0, registers_at, local_at, parameters });
        Ok(())
    }

    /// Back to the caller, with the results that its call names.
    fn leave(&mut self, launch: &Launch<'_>) {
        let Some(left) = self.frames.pop() else { return };
        self.registers.truncate(left.registers_at);
        self.local.truncate(left.local_at);
        let (function, at) = self.instruction(launch);
        if let Op::Call { results, .. } = &function.code[at].op {
            for (to, from, length) in results {
                let result = &left.parameters[*from..from + length];
                self.frame_mut().parameters[*to..to + length].copy_from_slice(result);
            }
        }
    }

    fn load(
        &mut self,
        (space, bytes): (Space, usize),
        signed: Option<u64>,
        d: &[Option<u32>],
        address: &Address,
        memory: &mut Memory<'_>,
    ) -> Result<(), Fault> {
        let at = self.place_of(space, address);
        // The lanes are read before any is written: the address may be one of them.
        let mut values = [0; 4];
        for (lane, value) in values.iter_mut().enumerate().take(d.len()) {
            let whole = if lane == 0 { bytes * d.len() } else { bytes };
            *value = memory.read(space, at + (lane * bytes) as u64, bytes, whole, &mut self.own())?;
            if let Some(mask) = signed {
                let shift = 64 - 8 * bytes as u32;
                *value = ((*value << shift) as i64 >> shift) as u64 & mask;
            }
        }
        for (d, value) in d.iter().zip(values) {
            self.set(*d, value);
        }
        Ok(())
    }

    fn store(
        &mut self,
        (space, bytes): (Space, usize),
        s: &[Source],
        function: &Function,
        address: &Address,
        memory: &mut Memory<'_>,
    ) -> Result<(), Fault> {
        let at = self.place_of(space, address);
        let (base, count) = (self.frame().registers_at, s.len());
        for (lane, s) in s.iter().enumerate() {
            let value = s.of(&self.registers[base..], &function.constants);
            // The first lane's check is of the whole vector, so that none is written where one can't be.
            let whole = if lane == 0 { bytes * count } else { bytes };
            memory.write(space, at + (lane * bytes) as u64, value, bytes, whole, &mut self.own())?;
        }
        Ok(())
    }

    fn own(&mut self) -> Own<'_> {
        let Thread { local, frames, .. } = self;
        // INVARIANT: as in `frame`.
        let frame = frames.last_mut().expect("a frame");
        Own { local, parameters: &mut frame.parameters }
    }

    /// The address in its space; shared, local and parameter addresses have 32 bits.
    fn place_of(&self, space: Space, address: &Address) -> u64 {
        let frame = self.frame();
        let base = match address.base {
            Base::Register(register) => self.registers[frame.registers_at + register as usize],
            Base::Start => 0,
            Base::Frame => frame.local_at as u64,
        };
        let at = base.wrapping_add(address.offset as u64);
        if matches!(space, Space::Generic | Space::Global) { at } else { at & 0xffff_ffff }
    }
}

/// Where in the grid a block is.
pub struct Place<'a> {
    pub launch: &'a Launch<'a>,
    pub block: [u32; 3],
}

impl Place<'_> {
    /// The thread's coordinates in its block.
    pub fn thread(&self, linear: u32) -> [u32; 3] {
        let [x, y, _] = self.launch.block;
        [linear % x, linear / x % y, linear / x / y]
    }

    fn special(&self, special: Special, thread: &Thread) -> u64 {
        let lane = thread.linear % 32;
        let below = (1u64 << lane) - 1;
        u64::from(match special {
            Special::Thread(axis) => self.thread(thread.linear)[usize::from(axis)],
            Special::Threads(axis) => self.launch.block[usize::from(axis)],
            Special::Block(axis) => self.block[usize::from(axis)],
            Special::Blocks(axis) => self.launch.grid[usize::from(axis)],
            Special::Lane => lane,
            Special::Warp => thread.linear / 32,
            Special::Warps => self.launch.block.iter().product::<u32>().div_ceil(32),
            // Lanes run one by one, so that a lane is converged with itself alone.
            Special::ActiveLanes | Special::LaneMask(LaneMask::Equal) => 1 << lane,
            Special::LaneMask(LaneMask::Less) => below as u32,
            Special::LaneMask(LaneMask::LessOrEqual) => (below << 1 | 1) as u32,
            Special::LaneMask(LaneMask::Greater) => !(below << 1 | 1) as u32,
            Special::LaneMask(LaneMask::GreaterOrEqual) => !below as u32,
            Special::Clock => return thread.steps,
            Special::DynamicShared => self.launch.dynamic_shared_bytes as u32,
        })
    }
}

fn flushed(flush: Flush, mut sources: [u64; 4]) -> [u64; 4] {
    for (at, source) in sources.iter_mut().enumerate() {
        if flush.sources >> at & 1 != 0 {
            *source = flush_bits(*source);
        }
    }
    sources
}

fn finished(flush: Flush, result: u64) -> u64 {
    let result = if flush.result { flush_bits(result) } else { result };
    if !flush.saturate {
        return result;
    }
    let value = f32::from_bits(result as u32);
    u64::from(if value > 0.0 { value.min(1.0) } else { 0.0 }.to_bits())
}

/// A subnormal `f32` is zero of its sign.
fn flush_bits(bits: u64) -> u64 {
    if f32::from_bits(bits as u32).is_subnormal() { bits & 0x8000_0000 } else { bits }
}

/// The result, and the carry or borrow out of it.
fn with_carry(kind: Carry, wide: bool, [a, b, c]: [u64; 3], carry: bool) -> (u64, bool) {
    let bits = if wide { 64 } else { 32 };
    let mask = u128::from(u64::MAX >> (64 - bits));
    let [a, b, c] = [a, b, c].map(|value| u128::from(value) & mask);
    let sum = match kind {
        Carry::Add => a + b + u128::from(carry),
        Carry::Subtract => a.wrapping_sub(b).wrapping_sub(u128::from(carry)),
        Carry::MultiplyLow => ((a * b) & mask) + c + u128::from(carry),
        Carry::MultiplyHigh => ((a * b) >> bits) + c + u128::from(carry),
    };
    ((sum & mask) as u64, sum >> bits & 1 != 0)
}
