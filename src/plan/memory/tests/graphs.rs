//! Random task graphs, and what the pass must know beside them.

use std::sync::Arc;

use crate::dtype::DType;
use crate::graph::block_set::BlockSet;
use crate::graph::chunking::Chunking;
use crate::graph::op::{Op, Source, TransferError, WaitRule};
use crate::graph::value_spec::ValueKind;
use crate::machine::{DeviceId, Machine, MemoryId};
use crate::plan::memory::Scope;
use crate::plan::task_graph::TaskGraph;
use crate::settings::{Config, Settings};
use crate::shape::{Region, Shape};
use crate::steps::{OutputForm, PlanLayer, PlanOutput, Step, StepKind, Terms};
use crate::token::{Token, Tokenizer};
use crate::units::Bytes;

/// Layers of the samples: blocks, objects, a source.
const BLOCKS: u32 = 0;
const OBJECTS: u32 = 1;
const SOURCE: u32 = 2;

/// A random task graph.
pub struct Sample {
    pub tasks: TaskGraph,
    pub terms: Vec<Terms>,
    pub layers: Vec<PlanLayer>,
    pub outputs: Vec<PlanOutput>,
    pub machine: Machine,
    pub settings: Settings,
    random: Random,
}

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) % n.max(1)
    }
}

impl Sample {
    /// Tasks of one memory in the order given: bytes of the value, and the tasks read.
    pub fn of(tasks: &[(u64, &[u32])]) -> Sample {
        let mut sample = Sample::empty(1, 1);
        for (at, (bytes, reads)) in tasks.iter().enumerate() {
            sample.push(BLOCKS, StepKind::Map, MemoryId::HOST, at, *bytes, reads);
        }
        sample
    }

    fn empty(seed: u64, memories: usize) -> Sample {
        let mut machine = Machine::host_only(2, Bytes(1 << 40));
        if memories == 2 {
            let text = include_str!("../../../../examples/machines/one-gpu.toml");
            machine = Machine::from_toml(text).expect("an example");
        }
        let terms = |reserve| Terms { reserve, ..Terms::default() };
        Sample {
            tasks: TaskGraph::with_capacity(0),
            terms: (0..4).map(terms).collect(),
            layers: [BLOCKS, OBJECTS, SOURCE].map(layer).into(),
            outputs: Vec::new(),
            machine,
            settings: Config { threads: Some(2), ..Config::default() }.resolve(2),
            random: Random(seed),
        }
    }

    pub fn scope(&self) -> Scope<'_> {
        let Sample { layers, outputs, machine, settings, .. } = self;
        Scope { layers, outputs, machine, settings }
    }

    pub fn random(&mut self, n: u64) -> u64 {
        self.random.below(n)
    }

    pub fn results(&self) -> u64 {
        self.outputs.iter().map(|output| output.bytes.min(1 << 40)).sum()
    }

    pub fn is_fixed(&self, task: u32) -> bool {
        self.tasks.tasks[task as usize].layer == OBJECTS
    }

    pub fn fixed_bytes(&self) -> u64 {
        let all = self.tasks.tasks.iter().zip(0..);
        all.filter(|(_, at)| self.is_fixed(*at)).map(|(task, _)| task.bytes).sum()
    }

    /// A random topological order.
    pub fn order(&mut self) -> Vec<u32> {
        let count = self.tasks.tasks.len() as u32;
        let mut order: Vec<u32> = Vec::new();
        let mut left: Vec<u32> = (0..count).collect();
        while !left.is_empty() {
            let is_ready =
                |task: u32| self.tasks.operands(task).iter().all(|(value, _)| order.contains(value));
            let ready: Vec<usize> = (0..left.len()).filter(|&at| is_ready(left[at])).collect();
            // Mostly in order, else every value would be alive for long.
            let at = ready[self.random.below(ready.len().min(3) as u64) as usize];
            order.push(left.remove(at));
        }
        order
    }

    fn push(
        &mut self,
        layer: u32,
        kind: StepKind,
        memory: MemoryId,
        block: usize,
        bytes: u64,
        reads: &[u32],
    ) -> u32 {
        let step = Step {
            kind,
            layer,
            kernel: Step::NO_KERNEL,
            block: block as u64,
            device: DeviceId(memory.0),
            memory,
            bytes,
            output: Step::NO_OUTPUT,
            terms: 0,
        };
        self.tasks.push(step, reads.iter().map(|&value| (value, 0)))
    }

    /// The task whose value a task in `memory` reads: itself, or a copy as the transfer pass makes it.
    fn value_in(&mut self, value: u32, memory: MemoryId) -> u32 {
        let step = self.tasks.tasks[value as usize];
        if step.memory == memory {
            return value;
        }
        let copy = |task: u32| {
            let other = &self.tasks.tasks[task as usize];
            other.kind == StepKind::Transfer && other.block == step.block && other.memory == memory
        };
        let known = (0..self.tasks.tasks.len() as u32).find(|&task| copy(task));
        known.unwrap_or_else(|| {
            self.push(step.layer, StepKind::Transfer, memory, step.block as usize, step.bytes, &[value])
        })
    }
}

/// A random graph of 5 to 35 tasks. Some values are objects, some come from a source, some are results.
pub fn sample(seed: u64, memories: usize) -> Sample {
    let mut sample = Sample::empty(seed, memories);
    let mut values: Vec<u32> = Vec::new();
    for block in 0..5 + sample.random(30) as usize {
        let memory = MemoryId(sample.random(memories as u64) as u16);
        let mut reads = Vec::new();
        for _ in 0..sample.random(4) {
            if let Some(&value) = values.get(sample.random(values.len() as u64 + 1) as usize) {
                let may_travel = !sample.is_fixed(value) || memory == MemoryId::HOST;
                if may_travel {
                    reads.push(sample.value_in(value, memory));
                }
            }
        }
        reads.sort_unstable();
        reads.dedup();
        let on_host = memory == MemoryId::HOST;
        let (layer, kind) = match sample.random(10) {
            0 if on_host => (OBJECTS, StepKind::Call),
            1 | 2 if on_host && reads.is_empty() => (SOURCE, StepKind::Load),
            _ => (BLOCKS, StepKind::Map),
        };
        let bytes = sample.random(9);
        let task = sample.push(layer, kind, memory, block, bytes, &reads);
        if kind != StepKind::Load {
            sample.tasks.tasks[task as usize].terms = sample.random(4) as u32;
        }
        values.push(task);
        if layer == BLOCKS && sample.random(8) == 0 {
            keep(&mut sample, task);
        }
    }
    sample
}

/// Makes a value a result.
fn keep(sample: &mut Sample, task: u32) {
    let step = sample.tasks.tasks[task as usize];
    let kept = sample.value_in(task, MemoryId::HOST);
    sample.tasks.tasks[kept as usize].output = sample.outputs.len() as u32;
    let form = OutputForm::Values(BlockSet::none());
    let (shape, dtype) = (Shape::from([1]), DType::U8);
    sample.outputs.push(PlanOutput { layer: step.layer, dtype, shape, form, bytes: step.bytes });
}

fn layer(number: u32) -> PlanLayer {
    let name = ["blocks", "objects", "source"][number as usize];
    let op = if number == SOURCE {
        Op::Load(Arc::new(Nothing))
    } else {
        Op::Wait(WaitRule { blocks: BlockSet::All, every: 1 })
    };
    PlanLayer {
        kind: if number == OBJECTS { ValueKind::Objects } else { ValueKind::Blocks },
        predicted_s: 1e-3,
        ..PlanLayer::new(name, op, DType::U8, Chunking::automatic(&Shape::from([1]), &[]))
    }
}

/// A source that nobody reads.
#[derive(Debug)]
struct Nothing;

impl Source for Nothing {
    fn describe(&self) -> String {
        "nothing".to_owned()
    }
    fn token(&self) -> Token {
        Tokenizer::new("nothing").finish()
    }
    fn content(&self) -> Result<Token, TransferError> {
        Ok(self.token())
    }
    fn dtype(&self) -> DType {
        DType::U8
    }
    fn shape(&self) -> Shape {
        Shape::default()
    }
    fn in_place(&self) -> bool {
        false
    }
    fn view(&self, _region: &Region) -> Result<crate::block::Block, TransferError> {
        Err(TransferError { place: self.describe(), problem: "is empty".to_owned() })
    }
    fn read(&self, _region: &Region, _into: &crate::block::Block) -> Result<(), TransferError> {
        Err(TransferError { place: self.describe(), problem: "is empty".to_owned() })
    }
}
