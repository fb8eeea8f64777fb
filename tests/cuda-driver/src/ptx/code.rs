//! What a module is once it is read: functions of compact instructions.

/// A source: a register of the frame, or one of the function's constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Source(u32);

impl Source {
    const CONSTANT: u32 = 1 << 31;

    pub fn register(index: u32) -> Source {
        Source(index)
    }

    pub fn constant(index: usize) -> Source {
        Source(index as u32 | Source::CONSTANT)
    }

    /// Its value in a frame.
    pub fn of(self, registers: &[u64], constants: &[u64]) -> u64 {
        if self.0 & Source::CONSTANT == 0 {
            registers[self.0 as usize]
        } else {
            constants[(self.0 & !Source::CONSTANT) as usize]
        }
    }
}

/// What an arithmetic instruction computes of its sources' bits. Bits above its type are zero in the result.
pub type Compute = fn(u64, u64, u64, u64) -> u64;

/// What happens to `f32` values around a [`Compute`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flush {
    /// Sources that are subnormal count as zero, bit by source.
    pub sources: u8,
    /// A subnormal result becomes zero.
    pub result: bool,
    /// The result is clamped to [0, 1], NaN to 0.
    pub saturate: bool,
}

/// An instruction with its guard.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// Executed where the register is as the flag says.
    pub guard: Option<(u32, bool)>,
    pub op: Op,
    /// The line in the text.
    pub line: u32,
}

#[derive(Clone, Debug)]
pub enum Op {
    Compute {
        compute: Compute,
        flush: Option<Flush>,
        d: u32,
        s: [Source; 4],
    },
    /// With the condition code, which holds one carry: `add.cc`, `addc`, `sub.cc`, `madc` and their like.
    Carry {
        kind: Carry,
        wide: bool,
        reads: bool,
        writes: bool,
        d: u32,
        s: [Source; 3],
    },
    /// `setp` with a second destination or combined with a predicate.
    Compare {
        compare: Compute,
        flush: Option<Flush>,
        combine: Option<(Compute, Source, bool)>,
        d: [Option<u32>; 2],
        s: [Source; 2],
    },
    Special {
        special: Special,
        d: u32,
    },
    /// The address of what the frame has in local memory.
    LocalAddress {
        offset: u64,
        d: u32,
    },
    /// Several registers to one, lowest first, each `bits` wide.
    Pack {
        d: u32,
        s: Vec<Source>,
        bits: u32,
    },
    Unpack {
        d: Vec<Option<u32>>,
        s: Source,
        bits: u32,
    },
    Load {
        space: Space,
        bytes: u8,
        /// The bits of the destinations when the value is extended with its sign.
        signed: Option<u64>,
        d: Vec<Option<u32>>,
        address: Address,
    },
    Store {
        space: Space,
        bytes: u8,
        s: Vec<Source>,
        address: Address,
    },
    Atomic {
        space: Space,
        bytes: u8,
        /// What becomes of the old value, from it and the operands.
        update: Compute,
        d: Option<u32>,
        address: Address,
        s: [Source; 2],
    },
    Branch {
        target: usize,
    },
    BranchTable {
        index: Source,
        targets: Vec<usize>,
    },
    Call {
        function: usize,
        /// Offset in the caller's parameters, in the callee's, length.
        arguments: Vec<(usize, usize, usize)>,
        results: Vec<(usize, usize, usize)>,
    },
    Return,
    Exit,
    Trap,
    Barrier {
        id: Source,
        threads: Option<Source>,
        reduce: Option<(Vote, u32, Source, bool)>,
    },
    Warp {
        kind: Warp,
        d: [Option<u32>; 2],
        s: [Source; 3],
        negated: bool,
        members: Source,
    },
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Carry {
    Add,
    Subtract,
    MultiplyLow,
    MultiplyHigh,
}

/// What the lanes of a warp do together.
#[derive(Clone, Copy, Debug)]
pub enum Warp {
    ShuffleUp,
    ShuffleDown,
    ShuffleXor,
    ShuffleIndex,
    Vote(Vote),
    /// The operation, on 32 bits.
    Reduce(Compute),
    MatchAny,
    Synchronize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Vote {
    All,
    Any,
    Uniform,
    Ballot,
    Count,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Space {
    Generic,
    Global,
    Shared,
    Local,
    Param,
}

#[derive(Clone, Copy, Debug)]
pub struct Address {
    pub base: Base,
    pub offset: i64,
}

#[derive(Clone, Copy, Debug)]
pub enum Base {
    Register(u32),
    /// From the start of the space.
    Start,
    /// From what the frame has in local memory.
    Frame,
}

/// What a thread may ask about itself; the number is the dimension.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Special {
    Thread(u8),
    Threads(u8),
    Block(u8),
    Blocks(u8),
    Lane,
    Warp,
    Warps,
    /// The lanes below, up to, above, from, or of one's own lane: `%lanemask_lt` and its like.
    LaneMask(LaneMask),
    Clock,
    ActiveLanes,
    DynamicShared,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LaneMask {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Default)]
pub struct Function {
    pub name: String,
    pub code: Vec<Instruction>,
    pub constants: Vec<u64>,
    pub registers: usize,
    /// Offset and bytes of each parameter, in order.
    pub parameters: Vec<(usize, usize)>,
    /// Bytes of parameters, results and those of its calls.
    pub parameter_bytes: usize,
    pub local_bytes: usize,
    /// Bytes of static shared memory; the module's own included.
    pub shared_bytes: usize,
    /// Threads that a block may have, when the text says so.
    pub max_threads: Option<u32>,
    pub is_entry: bool,
}

/// A variable in the memory of the device.
#[derive(Debug, PartialEq)]
pub struct Variable {
    pub name: String,
    pub address: u64,
    pub bytes: usize,
    /// The first bytes; what follows is zero.
    pub start: Vec<u8>,
    pub constant: bool,
}

#[derive(Debug, Default)]
pub struct Module {
    pub functions: Vec<Function>,
    pub variables: Vec<Variable>,
    /// The architecture that the text is for: 75 for `sm_75`.
    pub target: u32,
}

/// Where dynamic shared memory begins; static shared memory begins at 0 and lies below.
pub const DYNAMIC_SHARED: u64 = 1 << 20;

/// Where a generic address means shared memory, and 2^32 bytes on.
pub const SHARED_WINDOW: u64 = 1 << 56;

/// Where a generic address means the thread's local memory, and 2^32 bytes on.
pub const LOCAL_WINDOW: u64 = 2 << 56;
