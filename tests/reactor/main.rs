//! The reactor under thousands of random plans and schedules: it never exceeds a budget, never gets stuck,
//! runs every step once, and frees every value once, after its last reader.

mod plans;
mod play;

use std::sync::Arc;

use outcrop::machine::{DeviceId, MemoryId};
use outcrop::reactor::{Command, Event, Failure, Ledger, Reactor, Standing, Tasks};
use outcrop::steps::{Step, Terms};

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
