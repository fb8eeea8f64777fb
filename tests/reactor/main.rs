//! The reactor under thousands of random plans and schedules: it never exceeds a budget, never gets stuck,
//! runs every step once, and frees every value once, after its last reader.

mod plans;
mod play;

use std::sync::Arc;

use outcrop::ids::StepId;
use outcrop::machine::{DeviceId, MemoryId};
use outcrop::reactor::{Command, Event, Failure, GrantId, Ledger, Reactor, Standing, Tasks};
use outcrop::steps::{Plan, Step, StepOperand, Terms};

use plans::{Random, random_plan, random_plans};
use play::{Trouble, play};

#[test]
fn no_schedule_exceeds_a_budget_or_gets_stuck() {
    for seed in 0..10_000 {
        let mut random = Random(seed);
        let plans = random_plans(&mut random, 1);
        play(plans, &mut random, Trouble::default(), seed);
    }
}

#[test]
fn failures_give_everything_back() {
    for seed in 0..10_000 {
        let mut random = Random(seed ^ 0xF00D);
        let plans = random_plans(&mut random, 1);
        play(plans, &mut random, Trouble { failures: true, ..Trouble::default() }, seed);
    }
}

#[test]
fn what_memory_gave_out_for_is_tried_again_alone_and_is_no_retry() {
    for seed in 0..10_000 {
        let mut random = Random(seed ^ 0x0DD);
        let count = 1 + random.below(2);
        let plans = random_plans(&mut random, count);
        let trouble = Trouble { failures: seed % 2 == 0, shortage: true, ..Trouble::default() };
        play(plans, &mut random, trouble, seed);
    }
}

#[test]
fn memory_that_gives_out_for_a_step_alone_ends_its_run() {
    let mut plan = random_plan(&mut Random(1));
    plan.terms.iter_mut().for_each(|terms| terms.retries = 9);
    let mut reactor = Reactor::new(Ledger::new(&[None, None], &[2_000_000], 1), 1);
    let mut commands = Vec::new();
    let lane = plan.steps.at(0).device.0;
    let tasks = Arc::new(Tasks::new(Arc::new(plan)));
    let run = reactor.submit(tasks, Standing::default(), &mut commands).unwrap();
    reactor.on_events(&[Event::Start(run)], &mut commands);
    commands.clear();
    for attempt in 0..2 {
        reactor.on_events(&[Event::Poll { lane, room: 1, only: None }], &mut commands);
        let Some(Command::Run { step, grant, .. }) = commands.pop() else { panic!("nothing started") };
        let why = Failure::OutOfMemory;
        reactor.on_events(&[Event::Failed { run, step, grant, why }], &mut commands);
        let ends = [Command::Abort { run, step }, Command::Complete(run)];
        assert_eq!(commands, if attempt == 0 { &[][..] } else { &ends });
    }
    reactor.release(run, &mut commands);
    assert!(reactor.ledger().is_settled());
}

#[test]
fn a_memory_that_the_book_does_not_know_has_no_limit() {
    let mut reactor = Reactor::new(Ledger::new(&[], &[2_000_000], 1), 1);
    let mut commands = Vec::new();
    let tasks = Arc::new(Tasks::new(Arc::new(random_plan(&mut Random(1)))));
    let run = reactor.submit(tasks, Standing::default(), &mut commands).unwrap();
    assert_eq!(commands, [Command::Begin(run)]);
}

#[test]
fn runs_share_one_book() {
    for seed in 0..10_000 {
        let mut random = Random(seed ^ 0xBEEF);
        let count = 2 + random.below(3);
        let plans = random_plans(&mut random, count);
        play(plans, &mut random, Trouble { failures: seed % 2 == 0, ..Trouble::default() }, seed);
    }
}

#[test]
fn whatever_happens_everything_comes_back() {
    for seed in 0..10_000 {
        let mut random = Random(seed ^ 0xCAFE);
        let count = 1 + random.below(4);
        let plans = random_plans(&mut random, count);
        let trouble = Trouble {
            failures: true,
            shortage: seed % 2 == 0,
            cancellations: true,
            abandonment: seed % 3 == 0,
        };
        play(plans, &mut random, trouble, seed);
    }
}

#[test]
fn equal_seeds_give_equal_traces() {
    for seed in 0..500 {
        let run = || {
            let mut random = Random(seed);
            let plans = random_plans(&mut random, 3);
            play(plans, &mut random, Trouble { failures: true, ..Trouble::default() }, seed)
        };
        assert_eq!(run(), run(), "seed {seed}");
    }
}

/// An attempt that may be given up must be its worker's only one, wherever it stands in its queue.
#[test]
fn a_step_with_a_timeout_is_no_part_of_a_bundle() {
    let mut plan = random_plan(&mut Random(1));
    let timed = Terms { timeout: Some(std::time::Duration::from_secs(1)), ..Terms::default() };
    plan.terms = vec![Terms::default(), timed];
    let step = Step { device: DeviceId(0), memory: MemoryId(0), bytes: 1, terms: 0, ..plan.steps.at(0) };
    plan.steps = outcrop::steps::Steps::with_capacity(5);
    [0, 0, 0, 1, 0].iter().for_each(|&terms| plan.steps.push(Step { terms, ..step }));
    (plan.operand_offsets, plan.operands) = (vec![0; 6], Vec::new());
    let mut reactor = Reactor::new(Ledger::new(&[None, None], &[1], 1), 1);
    let mut commands = Vec::new();
    let tasks = Arc::new(Tasks::new(Arc::new(plan)));
    let run = reactor.submit(tasks, Standing::default(), &mut commands).unwrap();
    reactor.on_events(&[Event::Start(run)], &mut commands);
    let mut bundles = Vec::new();
    for _ in 0..4 {
        commands.clear();
        reactor.on_events(&[Event::Poll { lane: 0, room: 9, only: None }], &mut commands);
        let given: Vec<Command> = std::mem::take(&mut commands);
        bundles.push(given.len());
        for command in given {
            let Command::Run { step, grant, .. } = command else { panic!("{command:?}") };
            reactor.on_events(&[Event::Finished { run, step, grant, nanoseconds: 10 }], &mut commands);
        }
    }
    // The first one tells how long they take.
    assert_eq!(bundles, [1, 2, 1, 1]);
}

/// A plan of one class of short steps on the host: what each one reads.
fn short_steps(reads: &[&[u32]]) -> Plan {
    let mut plan = random_plan(&mut Random(1));
    let step = Step { device: DeviceId(0), memory: MemoryId(0), bytes: 1, terms: 0, ..plan.steps.at(0) };
    plan.terms = vec![Terms { retries: 1, ..Terms::default() }];
    plan.steps = reads.iter().map(|_| step).collect();
    (plan.operand_offsets, plan.operands) = (vec![0], Vec::new());
    for reads in reads {
        let operand = |&step: &u32| StepOperand { input: 0, step: StepId(step) };
        plan.operands.extend(reads.iter().map(operand));
        plan.operand_offsets.push(plan.operands.len() as u32);
    }
    plan
}

/// The bundles in which a plan's steps are given out, one worker of `workers` asking after the other's report.
fn bundles(plan: Plan, workers: usize) -> Vec<Vec<u32>> {
    let mut reactor = Reactor::new(Ledger::new(&[None, None], &[1], workers), workers);
    let (mut commands, mut bundles) = (Vec::new(), Vec::new());
    let tasks = Arc::new(Tasks::new(Arc::new(plan)));
    let run = reactor.submit(tasks, Standing::default(), &mut commands).unwrap();
    reactor.on_events(&[Event::Start(run)], &mut commands);
    loop {
        commands.clear();
        reactor.on_events(&[Event::Poll { lane: 0, room: 64, only: None }], &mut commands);
        let mut bundle = Vec::new();
        for command in std::mem::take(&mut commands) {
            let Command::Run { step, grant, .. } = command else { panic!("{command:?}") };
            bundle.push(step.0);
            reactor.on_events(&[Event::Finished { run, step, grant, nanoseconds: 1_000 }], &mut commands);
        }
        bundles.push(bundle);
        if commands.contains(&Command::Complete(run)) {
            return bundles;
        }
    }
}

#[test]
fn a_bundle_goes_on_with_those_that_wait_for_it_alone() {
    let chain: Vec<Vec<u32>> = (0..50u32).map(|at| at.checked_sub(1).into_iter().collect()).collect();
    let chain: Vec<&[u32]> = chain.iter().map(Vec::as_slice).collect();
    let lengths: Vec<usize> = bundles(short_steps(&chain), 2).iter().map(Vec::len).collect();
    // The first tells how long they take. What a bundle makes is freed when it is reported: sixteen values at most.
    assert_eq!(lengths, [1, 16, 16, 16, 1]);
    // In planned order: a sum comes right after its two terms, and before other steps that are ready.
    let tree: [&[u32]; 7] = [&[], &[], &[0, 1], &[], &[], &[3, 4], &[2, 5]];
    assert_eq!(bundles(short_steps(&tree), 1), [vec![0], vec![1, 2, 3, 4, 5, 6]]);
    // Others that may look for steps are left those that are ready, not those that wait for the bundle.
    let pairs: [&[u32]; 6] = [&[], &[], &[], &[0], &[1], &[2]];
    assert_eq!(bundles(short_steps(&pairs), 2), [vec![0], vec![1, 2, 4, 5], vec![3]]);
}

#[test]
fn what_waits_for_a_failed_step_of_its_bundle_goes_back_untried() {
    let chain: [&[u32]; 4] = [&[], &[0], &[1], &[2]];
    let mut reactor = Reactor::new(Ledger::new(&[Some(100), None], &[1], 1), 1);
    let tasks = Arc::new(Tasks::new(Arc::new(short_steps(&chain))));
    let mut commands = Vec::new();
    let run = reactor.submit(tasks, Standing::default(), &mut commands).unwrap();
    let poll = Event::Poll { lane: 0, room: 64, only: None };
    reactor.on_events(&[Event::Start(run), poll], &mut commands);
    let grant = GrantId::NONE;
    let finished = |step| Event::Finished { run, step: StepId(step), grant, nanoseconds: 10 };
    let ran = |commands: &[Command]| -> Vec<u32> {
        let step = |command: &Command| match command {
            Command::Run { step, .. } => Some(step.0),
            _ => None,
        };
        commands.iter().filter_map(step).collect()
    };
    reactor.on_events(&[finished(0), poll], &mut commands);
    assert_eq!(ran(&commands), [0, 1, 2, 3]);
    commands.clear();
    let failed = Event::Failed { run, step: StepId(1), grant, why: Failure::Retryable };
    let untried = [2, 3].map(|step| Event::Untried { run, step: StepId(step), grant });
    reactor.on_events(&[failed, untried[0], untried[1], poll], &mut commands);
    assert_eq!(commands, [Command::Retry { run, step: StepId(1), attempt: 1 }]);
    let retried = Event::RetryDue { run, step: StepId(1) };
    commands.clear();
    reactor.on_events(&[retried, poll], &mut commands);
    assert_eq!(ran(&commands), [1, 2, 3]);
    commands.clear();
    reactor.on_events(&[finished(1), finished(2), finished(3)], &mut commands);
    assert_eq!(commands.last(), Some(&Command::Complete(run)));
    reactor.release(run, &mut commands);
    assert!(reactor.ledger().is_settled());
}

#[test]
fn a_step_without_retries_is_tried_once() {
    let mut plan = random_plan(&mut Random(1));
    plan.terms.iter_mut().for_each(|terms| *terms = Terms { reserve: terms.reserve, ..Terms::default() });
    let mut reactor = Reactor::new(Ledger::new(&[None, None], &[2_000_000], 1), 1);
    let mut commands = Vec::new();
    let lane = plan.steps.at(0).device.0;
    let tasks = Arc::new(Tasks::new(Arc::new(plan)));
    let run = reactor.submit(tasks, Standing::default(), &mut commands).unwrap();
    reactor.on_events(&[Event::Start(run), Event::Poll { lane, room: 1, only: None }], &mut commands);
    let Some(Command::Run { step, grant, .. }) = commands.pop() else { panic!("nothing started") };
    commands.clear();
    reactor.on_events(&[Event::Failed { run, step, grant, why: Failure::Retryable }], &mut commands);
    assert_eq!(commands, [Command::Abort { run, step }, Command::Complete(run)]);
    reactor.release(run, &mut commands);
    assert!(reactor.ledger().is_settled());
}
