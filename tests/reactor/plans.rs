//! Random plans.

use std::sync::Arc;

use outcrop::dtype::DType;
use outcrop::graph::chunking::Chunking;
use outcrop::graph::expr::Expr;
use outcrop::graph::op::Op;
use outcrop::ids::StepId;
use outcrop::machine::{DeviceId, MemoryId};
use outcrop::steps::{MemoryPlan, Plan, PlanLayer, Step, StepKind, StepOperand, Terms};
use outcrop::units::Bytes;

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % n as u64) as usize
    }
}

pub fn layer() -> PlanLayer {
    let op = Op::Map(Arc::new(Expr::identity(DType::F32)));
    PlanLayer::new("layer", op, DType::F32, Chunking::single(&[1].into()))
}

pub fn retried() -> Terms {
    Terms { retries: 2, ..Terms::default() }
}

/// A random plan over two devices with memories of their own, whose budgets are its sequential peaks plus
/// a random slack.
pub fn random_plan(random: &mut Random) -> Plan {
    let count = 2 + random.below(12);
    let licence = Terms { resources: [(0, 1_000_000)].into_iter().collect(), reserve: 3, ..retried() };
    let mut plan = Plan {
        layers: vec![layer()],
        terms: vec![retried(), licence],
        operand_offsets: vec![0],
        device_names: vec!["host".to_owned(), "gpu0".to_owned()],
        memory_names: vec!["host".to_owned(), "gpu0".to_owned()],
        threads: 1 + random.below(3),
        resources: vec![("licence".to_owned(), 1.0 + random.below(2) as f64)],
        ..Plan::default()
    };
    for at in 0..count {
        for earlier in 0..at {
            if random.below(3) == 0 {
                plan.operands.push(StepOperand { step: StepId::at(earlier), input: 0 });
            }
        }
        plan.operand_offsets.push(plan.operands.len() as u32);
        let place = random.below(2) as u16;
        plan.steps.push(Step {
            kind: StepKind::Map,
            layer: 0,
            kernel: 0,
            block: 0,
            device: DeviceId(place),
            memory: MemoryId(place),
            bytes: 1 + random.below(5) as u64,
            output: Step::NO_OUTPUT,
            terms: random.below(2) as u32,
        });
    }
    let slack = [random.below(4) as u64, random.below(4) as u64];
    plan.memories = sequential_peaks(&plan)
        .into_iter()
        .zip(slack)
        .map(|(peak, slack)| MemoryPlan {
            peak: Bytes(peak),
            results: Bytes(0),
            budget: Some(Bytes(peak + slack)),
        })
        .collect();
    plan
}

fn sequential_peaks(plan: &Plan) -> Vec<u64> {
    let (mut held, mut peak) = (vec![0u64; 2], vec![0u64; 2]);
    let mut unread = plan.readers();
    for at in 0..plan.steps.len() {
        let step = plan.steps.at(at);
        let memory = usize::from(step.memory.0);
        held[memory] += step.bytes;
        peak[memory] = peak[memory].max(held[memory] + plan.terms[step.terms as usize].reserve);
        for operand in plan.operands(StepId::at(at)) {
            unread[operand.step.index()] -= 1;
            if unread[operand.step.index()] == 0 {
                let value = plan.step(operand.step);
                held[usize::from(value.memory.0)] -= value.bytes;
            }
        }
        if unread[at] == 0 {
            held[memory] -= step.bytes;
        }
    }
    peak
}

/// Some plans for one engine.
pub fn random_plans(random: &mut Random, count: usize) -> Vec<Plan> {
    let mut plans: Vec<Plan> = (0..count).map(|_| random_plan(random)).collect();
    let threads = plans[0].threads;
    plans.iter_mut().for_each(|plan| plan.threads = threads);
    plans
}
