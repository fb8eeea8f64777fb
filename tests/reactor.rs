//! The reactor under thousands of random plans and schedules: it never exceeds a budget, never gets stuck,
//! runs every step once, and frees every value once, after its last reader.

use std::sync::Arc;

use outcrop::annotate::Annotations;
use outcrop::dtype::DType;
use outcrop::graph::chunking::Chunking;
use outcrop::graph::expr::Expr;
use outcrop::graph::op::Op;
use outcrop::ids::StepId;
use outcrop::machine::{DeviceId, MemoryId};
use outcrop::reactor::{Command, Event, Failure, GrantId, Ledger, Reactor, RunId, Standing, Tasks};
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

/// What a schedule may do besides running steps.
#[derive(Clone, Copy, Default)]
struct Trouble {
    failures: bool,
    /// Memory gives out where it should be there.
    shortage: bool,
    cancellations: bool,
    abandonment: bool,
}

/// One run as the test sees it.
struct Played {
    plan: Arc<Plan>,
    running: Vec<(StepId, GrantId)>,
    backing_off: Vec<StepId>,
    /// Steps that memory gave out for, and that haven't ended well since.
    squeezed: Vec<StepId>,
    begun: bool,
    ran: Vec<u32>,
    freed: Vec<u32>,
    stopped: bool,
    over: bool,
}

/// A schedule under way.
struct Play<'a> {
    seed: u64,
    random: &'a mut Random,
    trouble: Trouble,
    threads: usize,
    budgets: Vec<u64>,
    licences: u64,
    reactor: Reactor,
    runs: Vec<Played>,
    commands: Vec<Command>,
    trace: Vec<Command>,
    tickets: u64,
    /// Tickets of attempts that were given up and still run.
    lost: Vec<u64>,
}

/// Plays one schedule of some plans that the seed picks, checking after every event. Returns the trace.
fn play(plans: Vec<Plan>, random: &mut Random, trouble: Trouble, seed: u64) -> Vec<Command> {
    let threads = plans[0].threads;
    let budget = |memory: usize| plans.iter().map(|plan| plan.memories[memory].budget.unwrap().0).max();
    let budgets: Vec<u64> = (0..2).filter_map(budget).collect();
    let licences = plans.iter().map(|plan| (plan.resources[0].1 * 1e6) as u64).max().unwrap();
    let limits: Vec<Option<u64>> = budgets.iter().copied().map(Some).collect();
    let reactor = Reactor::new(Ledger::new(&limits, &[licences], threads), threads);
    let (runs, commands, trace, lost) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut play = Play {
        seed,
        random,
        trouble,
        threads,
        budgets,
        licences,
        reactor,
        runs,
        commands,
        trace,
        tickets: 0,
        lost,
    };
    plans.into_iter().for_each(|plan| play.submit(plan));
    play.obey();
    while !play.runs.iter().all(|run| run.over) {
        play.turn();
        play.check();
        play.obey();
    }
    play.finish()
}

impl Play<'_> {
    fn submit(&mut self, plan: Plan) {
        let plan = Arc::new(plan);
        let tasks = Arc::new(Tasks::new(plan.clone()));
        let standing = Standing { priority: self.random.below(2) as f64, depth: 0 };
        let id = self.reactor.submit(tasks, standing, &mut self.commands).expect("every plan fits alone");
        assert_eq!(id, RunId(self.runs.len() as u32));
        let none = vec![0; plan.steps.len()];
        self.runs.push(Played {
            plan,
            running: Vec::new(),
            backing_off: Vec::new(),
            squeezed: Vec::new(),
            begun: false,
            ran: none.clone(),
            freed: none,
            stopped: false,
            over: false,
        });
    }

    fn run(&mut self, run: RunId) -> &mut Played {
        &mut self.runs[run.0 as usize]
    }

    fn obey(&mut self) {
        while !self.commands.is_empty() {
            for command in std::mem::take(&mut self.commands) {
                self.trace.push(command);
                match command {
                    Command::Begin(run) => self.run(run).begun = true,
                    Command::Run { run, step, grant } => {
                        let seed = self.seed;
                        let played = self.run(run);
                        // Since one waits to be tried alone, steps run one by one.
                        assert!(played.squeezed.is_empty() || played.running.is_empty(), "seed {seed}");
                        played.running.push((step, grant));
                    }
                    Command::Free { run, value } => self.run(run).freed[value.index()] += 1,
                    Command::Retry { run, step, .. } => self.run(run).backing_off.push(step),
                    Command::Abort { run, .. } | Command::Starve(run) => self.run(run).stopped = true,
                    Command::Complete(run) => {
                        let seed = self.seed;
                        let played = self.run(run);
                        assert!(played.running.is_empty() && !played.over, "seed {seed}");
                        played.over = true;
                        self.reactor.release(run, &mut self.commands);
                    }
                }
            }
        }
    }

    /// One event out of those that may happen.
    fn turn(&mut self) {
        let mut choices = self.happenings();
        let is_idle = choices.iter().all(|choice| matches!(choice, Event::Cancel(_)));
        if is_idle {
            let polls = [0, 1].map(|lane| Event::Poll { lane, room: 1, only: None });
            self.reactor.on_events(&polls, &mut self.commands);
            assert!(!self.commands.is_empty(), "seed {}: nothing runs and nothing may start", self.seed);
            return;
        }
        choices.extend(self.polls());
        let event = choices[self.random.below(choices.len())];
        let done = |run: &mut Played, step: StepId| run.running.retain(|(other, _)| *other != step);
        match event {
            Event::Start(run) => self.run(run).begun = false,
            Event::Finished { run, step, .. } => {
                done(self.run(run), step);
                self.run(run).squeezed.retain(|&other| other != step);
                self.run(run).ran[step.index()] += 1;
            }
            Event::Failed { run, step, why, .. } => {
                done(self.run(run), step);
                if why == Failure::OutOfMemory {
                    self.run(run).squeezed.push(step);
                }
            }
            Event::Abandoned { run, step, ticket, .. } => {
                done(self.run(run), step);
                self.run(run).squeezed.retain(|&other| other != step);
                self.lost.push(ticket);
            }
            Event::RetryDue { run, step } => self.run(run).backing_off.retain(|&other| other != step),
            Event::Cancel(run) => {
                self.run(run).stopped = true;
                self.run(run).begun = false;
            }
            Event::Poll { .. } | Event::Found { .. } => {}
        }
        self.reactor.on_events(&[event], &mut self.commands);
        if self.random.below(5) == 0
            && let Some(ticket) = self.lost.pop()
        {
            self.reactor.on_events(&[Event::Found { ticket }], &mut self.commands);
        }
    }

    fn happenings(&mut self) -> Vec<Event> {
        let mut choices = Vec::new();
        for (at, played) in self.runs.iter().enumerate().filter(|(_, played)| !played.over) {
            let run = RunId(at as u32);
            if played.begun {
                choices.push(Event::Start(run));
                continue;
            }
            for &(step, grant) in &played.running {
                choices.push(Event::Finished { run, step, grant, nanoseconds: 1_000 });
                let fails = self.trouble.failures && self.reactor.failures(run, step) < 2;
                let why = Failure::Retryable;
                // One that fails for want of memory when it is alone is the end of its run.
                let is_first = self.trouble.shortage && !played.squeezed.contains(&step);
                choices.extend((fails && played.squeezed.is_empty()).then_some(Event::Failed {
                    run,
                    step,
                    grant,
                    why,
                }));
                let why = Failure::OutOfMemory;
                choices.extend(is_first.then_some(Event::Failed { run, step, grant, why }));
                if self.trouble.abandonment && self.random.below(30) == 0 {
                    self.tickets += 1;
                    choices.push(Event::Abandoned {
                        run,
                        step,
                        grant,
                        ticket: self.tickets,
                        retryable: true,
                    });
                }
            }
            choices.extend(played.backing_off.iter().map(|&step| Event::RetryDue { run, step }));
            if self.trouble.cancellations && self.random.below(20) == 0 {
                choices.push(Event::Cancel(run));
            }
        }
        choices
    }

    /// Workers that are free where something is ready.
    fn polls(&mut self) -> Vec<Event> {
        let mut polls = Vec::new();
        for lane in 0..2u16 {
            let on_lane = |played: &Played| {
                let mut steps = played.running.iter().map(|(step, _)| played.plan.step(*step).device.0);
                steps.by_ref().filter(|device| *device == lane).count()
            };
            let busy: usize = self.runs.iter().map(on_lane).sum();
            let workers = if lane == 0 { self.threads } else { 1 };
            if busy < workers && self.reactor.ready(lane) > 0 {
                polls.push(Event::Poll { lane, room: 1 + self.random.below(3) as u16, only: None });
            }
        }
        polls
    }

    fn check(&self) {
        let (seed, ledger) = (self.seed, self.reactor.ledger());
        for (memory, budget) in self.budgets.iter().enumerate() {
            let held = ledger.held(memory);
            assert!(held <= *budget, "seed {seed}: {held} of {budget} held in memory {memory}");
        }
        if self.trouble.abandonment {
            return;
        }
        let started = self.commands.iter().filter_map(|command| match command {
            Command::Run { grant, .. } => Some(*grant),
            _ => None,
        });
        let running = self.runs.iter().flat_map(|run| &run.running).map(|(_, grant)| *grant);
        let grants = running.chain(started).filter(|grant| *grant != GrantId::NONE).map(|grant| grant.0);
        let granted = grants.collect::<std::collections::HashSet<_>>().len() as u64;
        assert_eq!(ledger.free_resources()[0] + granted * 1_000_000, self.licences, "seed {seed}");
    }

    fn finish(mut self) -> Vec<Command> {
        let seed = self.seed;
        for ticket in std::mem::take(&mut self.lost) {
            self.reactor.on_events(&[Event::Found { ticket }], &mut self.commands);
        }
        for run in self.runs.iter().filter(|run| !run.stopped) {
            assert!(run.ran.iter().all(|&times| times == 1), "seed {seed}: {:?}", run.ran);
            assert!(run.freed.iter().all(|&times| times == 1), "seed {seed}: {:?}", run.freed);
        }
        let ledger = self.reactor.ledger();
        assert!(ledger.is_settled(), "seed {seed}: not all was given back");
        assert_eq!(ledger.free_resources(), [self.licences], "seed {seed}: capacity isn't the total again");
        self.trace
    }
}

/// Some plans for one engine.
fn random_plans(random: &mut Random, count: usize) -> Vec<Plan> {
    let mut plans: Vec<Plan> = (0..count).map(|_| random_plan(random)).collect();
    let threads = plans[0].threads;
    plans.iter_mut().for_each(|plan| plan.threads = threads);
    plans
}

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
