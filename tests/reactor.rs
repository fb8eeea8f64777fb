//! The reactor under thousands of random plans and schedules: it never exceeds a budget, never gets stuck,
//! runs every step once, and frees every value once, after its last reader.

use std::sync::Arc;

use outcrop::annotate::Annotations;
use outcrop::dtype::DType;
use outcrop::exec::event::{Command, Event};
use outcrop::exec::reactor::Reactor;
use outcrop::graph::chunking::Chunking;
use outcrop::graph::expr::Expr;
use outcrop::graph::op::Op;
use outcrop::ids::StepId;
use outcrop::machine::{DeviceId, MemoryId};
use outcrop::steps::{MemoryPlan, Plan, PlanLayer, Step, StepKind, StepOperand, Terms};
use outcrop::units::Bytes;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % n as u64) as usize
    }
}

fn layer() -> PlanLayer {
    PlanLayer {
        name: "layer".to_owned(),
        root: "x".into(),
        sources: Vec::new(),
        op: Op::Map(Arc::new(Expr::identity(DType::F32))),
        dtype: DType::F32,
        chunks: Chunking::single(&[1].into()),
        kind: outcrop::graph::value_spec::ValueKind::Blocks,
        keys: None,
        inputs: Vec::new(),
        device: DeviceId::HOST,
        class: "host",
        reason: String::new(),
        fallback: None,
        annotations: Annotations::new(),
        kept_as: None,
        not_kept: None,
        tasks: 0,
        recalled: 0,
        kept: 0,
        predicted_s: 0.0,
    }
}

fn retried() -> Terms {
    Terms { retries: 2, ..Terms::default() }
}

/// A random plan over two devices with memories of their own, whose budgets are its sequential peaks plus
/// a random slack.
fn random_plan(random: &mut Random) -> Plan {
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

/// Plays one schedule that the seed picks, checking after every event. Returns the trace.
fn play(plan: &Plan, random: &mut Random, failures: bool, seed: u64) -> Vec<Command> {
    let mut reactor = Reactor::new(plan);
    let (mut commands, mut trace) = (Vec::new(), Vec::new());
    let mut running: Vec<StepId> = Vec::new();
    let mut backing_off: Vec<StepId> = Vec::new();
    let (mut freed, mut ran) = (vec![0; plan.steps.len()], vec![0; plan.steps.len()]);
    let mut done = false;
    reactor.on_events(&[Event::Start], &mut commands);
    while !done {
        let mut choices: Vec<Event> = Vec::new();
        for lane in 0..2u16 {
            let busy = running.iter().filter(|&&step| plan.step(step).device.0 == lane).count();
            let workers = if lane == 0 { plan.threads } else { 1 };
            if busy < workers && reactor.ready(lane) > 0 {
                choices.push(Event::Poll { lane, room: 1 });
            }
        }
        for &step in &running {
            choices.push(Event::Finished(step));
            if failures && reactor.failures(step) < 2 {
                choices.push(Event::Failed { step, retryable: true });
            }
        }
        choices.extend(backing_off.iter().map(|&step| Event::RetryDue(step)));
        assert!(!choices.is_empty(), "seed {seed}: stuck with {} steps left", reactor.unfinished());
        let event = choices[random.below(choices.len())];
        match event {
            Event::Finished(step) => {
                running.retain(|&other| other != step);
                ran[step.index()] += 1;
            }
            Event::Failed { step, .. } => running.retain(|&other| other != step),
            Event::RetryDue(step) => backing_off.retain(|&other| other != step),
            _ => {}
        }
        reactor.on_events(&[event], &mut commands);
        let only_polls = running.is_empty() && backing_off.is_empty();
        if only_polls && matches!(event, Event::Poll { .. }) && commands.is_empty() {
            let started = (0..2).any(|lane| {
                reactor.on_events(&[Event::Poll { lane, room: 1 }], &mut commands);
                !commands.is_empty()
            });
            assert!(started, "seed {seed}: nothing runs and nothing may start");
        }
        for command in commands.drain(..) {
            trace.push(command);
            match command {
                Command::Run(step) => running.push(step),
                Command::Free(value) => freed[value.index()] += 1,
                Command::Retry { step, .. } => backing_off.push(step),
                Command::Abort(step) => panic!("seed {seed}: step {} aborted", step.0),
                Command::Complete => done = true,
            }
        }
        for (memory, need) in plan.memories.iter().enumerate() {
            let (held, budget) = (reactor.ledger().held(memory), need.budget.unwrap().0);
            assert!(held <= budget, "seed {seed}: {held} of {budget} held in memory {memory}");
        }
    }
    assert!(ran.iter().all(|&times| times == 1), "seed {seed}: {ran:?}");
    assert!(freed.iter().all(|&times| times == 1), "seed {seed}: {freed:?}");
    assert_eq!((reactor.ledger().held(0), reactor.ledger().held(1)), (0, 0), "seed {seed}");
    assert!(reactor.ledger().is_settled(), "seed {seed}: resources weren't given back");
    trace
}

#[test]
fn no_schedule_exceeds_a_budget_or_gets_stuck() {
    for seed in 0..20_000 {
        let mut random = Random(seed);
        let plan = random_plan(&mut random);
        play(&plan, &mut random, false, seed);
    }
}

#[test]
fn failures_give_everything_back() {
    for seed in 0..20_000 {
        let mut random = Random(seed ^ 0xF00D);
        let plan = random_plan(&mut random);
        play(&plan, &mut random, true, seed);
    }
}

#[test]
fn equal_seeds_give_equal_traces() {
    for seed in 0..500 {
        let run = || {
            let mut random = Random(seed);
            let plan = random_plan(&mut random);
            play(&plan, &mut random, true, seed)
        };
        assert_eq!(run(), run(), "seed {seed}");
    }
}

#[test]
fn a_step_without_retries_is_tried_once() {
    let mut plan = random_plan(&mut Random(1));
    plan.terms.iter_mut().for_each(|terms| *terms = Terms { reserve: terms.reserve, ..Terms::default() });
    let mut reactor = Reactor::new(&plan);
    let mut commands = Vec::new();
    let lane = plan.steps.at(0).device.0;
    reactor.on_events(&[Event::Start, Event::Poll { lane, room: 1 }], &mut commands);
    let Some(Command::Run(step)) = commands.pop() else { panic!("nothing started") };
    reactor.on_events(&[Event::Failed { step, retryable: true }], &mut commands);
    assert_eq!(commands, [Command::Abort(step), Command::Complete]);
    assert!(reactor.ledger().is_settled());
}
