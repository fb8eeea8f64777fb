//! Small random plans.

use std::sync::Arc;
use std::time::Duration;

use crate::collections::Array;
use crate::collections::array::Over;
use crate::dtype::DType;
use crate::graph::chunking::Chunking;
use crate::graph::expr::Expr;
use crate::graph::op::Op;
use crate::ids::StepId;
use crate::machine::{DeviceId, Machine, MemoryId};
use crate::session::Session;
use crate::settings::Config;
use crate::steps::{MemoryPlan, Plan, PlanLayer, Step, StepKind, StepOperand, Terms};
use crate::units::Bytes;

/// SplitMix64.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % n
    }
}

/// From `least` to `most` steps over two devices with memories of their own. A quarter of the steps allocate in the
/// other device's memory; some take a licence, some need scratch, some must come after another that they don't read.
pub(super) fn random(random: &mut Random, least: u64, most: u64) -> Plan {
    let count = least + random.below(most - least + 1);
    let tried = Terms { retries: 1, ..Terms::default() };
    let scratch = Terms { reserve: 1 + random.below(4), ..tried.clone() };
    let licence = Terms { resources: [(0, 1_000_000)].into_iter().collect(), ..tried.clone() };
    let mut plan = empty(2, vec![tried, scratch, licence]);
    for at in 0..count {
        for earlier in 0..at {
            let step = StepId(earlier as u32);
            match random.below(10) {
                0 if random.below(4) == 0 => plan.operands.extend([StepOperand { step, input: 0 }; 2]),
                0..3 => plan.operands.push(StepOperand { step, input: 0 }),
                3 if random.below(4) == 0 => plan.orderings.push((step, StepId(at as u32))),
                _ => {}
            }
        }
        plan.operand_offsets.push(plan.operands.len() as u32);
        let device = random.below(2) as u16;
        let memory = if random.below(4) == 0 { 1 - device } else { device };
        plan.steps.push(step(device, memory, random.below(6), random.below(3) as u32));
    }
    let results = [random.below(3), 0];
    let memory = |bytes| MemoryPlan { peak: Bytes(0), results: Bytes(bytes), budget: Some(Bytes(bytes)) };
    plan.memories = results.into_iter().map(memory).collect();
    plan
}

/// The plan, and attempts at some of its steps may be given up.
pub(super) fn impatient(mut plan: Plan, random: &mut Random) -> Plan {
    for terms in &mut plan.terms {
        terms.timeout = (random.below(3) > 0).then_some(Duration::from_secs(1));
    }
    plan
}

/// Three steps that start together with a fourth, and fail when it is done. What it holds wasn't there when they ran in
/// planned order, and the next steps' claims are those of the first two, which take nothing: whoever lets the last but
/// one step start by the plan's peak alone leaves no room for the third.
pub(super) fn failing_together() -> Plan {
    of_steps(&[
        (1, 0, 0, &[]),
        (2, 0, 0, &[]),
        (3, 1, 1, &[]),
        (4, 3, 0, &[]),
        (0, 0, 0, &[2, 3]),
        (0, 3, 0, &[]),
        (0, 0, 0, &[0, 1, 2, 5]),
    ])
}

/// The last reader of the first value reads it twice, and may be done before a step that comes before it in planned
/// order.
pub(super) fn reading_twice() -> Plan {
    of_steps(&[(0, 4, 0, &[]), (0, 0, 0, &[0]), (1, 3, 0, &[]), (0, 0, 0, &[0, 0])])
}

/// A plan of steps in one memory: device, bytes, terms (of the second kind need scratch) and what it reads.
fn of_steps(steps: &[(u16, u64, u32, &[u32])]) -> Plan {
    let tried = Terms { retries: 1, ..Terms::default() };
    let mut plan = empty(5, vec![tried.clone(), Terms { reserve: 3, ..tried }]);
    for &(device, bytes, terms, reads) in steps {
        plan.operands.extend(reads.iter().map(|&read| StepOperand { step: StepId(read), input: 0 }));
        plan.operand_offsets.push(plan.operands.len() as u32);
        plan.steps.push(step(device, 0, bytes, terms));
    }
    let memory = MemoryPlan { peak: Bytes(0), results: Bytes(0), budget: Some(Bytes(0)) };
    plan.memories = vec![memory; 2];
    plan
}

/// A plan that the memory pass made fit: one value is read at once and again at the end.
pub(super) fn spilling(random: &mut Random) -> Plan {
    let chunks = 3 + random.below(2) as usize;
    let blocks = 1usize << 17;
    let x = Array::arange(0.0, 1.0, chunks * blocks).rechunk(&[blocks]);
    let sums = (&x + 1.0).sum(&Over::all());
    let config = Config { memory: Some("3 MiB".parse().expect("a size")), ..Config::default() };
    let session = Session::on(Machine::host_only(super::WORKERS, Bytes(1 << 30)), config);
    let prepared = session.prepare(&[(&x - &sums).sum(&Over::all()).layer().expect("a layer").clone()]);
    let plan = prepared.expect("it fits").plan;
    assert!(plan.steps.iter().any(|step| step.kind == StepKind::Reload), "nothing is spilled");
    (*plan).clone()
}

fn empty(devices: usize, terms: Vec<Terms>) -> Plan {
    Plan {
        layers: vec![layer()],
        terms,
        operand_offsets: vec![0],
        device_names: (0..devices).map(|device| format!("device{device}")).collect(),
        memory_names: vec!["host".to_owned(), "gpu0".to_owned()],
        threads: super::WORKERS,
        resources: vec![("licence".to_owned(), 1.0)],
        ..Plan::default()
    }
}

fn step(device: u16, memory: u16, bytes: u64, terms: u32) -> Step {
    Step {
        kind: StepKind::Map,
        layer: 0,
        kernel: 0,
        block: 0,
        device: DeviceId(device),
        memory: MemoryId(memory),
        bytes,
        output: Step::NO_OUTPUT,
        terms,
    }
}

fn layer() -> PlanLayer {
    let op = Op::Map(Arc::new(Expr::identity(DType::F32)));
    PlanLayer::new("layer", op, DType::F32, Chunking::single(&[1].into()))
}
