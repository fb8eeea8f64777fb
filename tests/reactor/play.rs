//! Schedules of plans, event by event.

use std::sync::Arc;

use outcrop::ids::StepId;
use outcrop::reactor::{Command, Event, Failure, GrantId, Ledger, Reactor, RunId, Standing, Tasks};
use outcrop::steps::Plan;

use crate::plans::Random;

/// What a schedule may do besides running steps.
#[derive(Clone, Copy, Default)]
pub struct Trouble {
    pub failures: bool,
    /// Memory gives out where it should be there.
    pub shortage: bool,
    pub cancellations: bool,
    pub abandonment: bool,
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
pub fn play(plans: Vec<Plan>, random: &mut Random, trouble: Trouble, seed: u64) -> Vec<Command> {
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

impl Played {
    fn waits(&self, step: StepId, earlier: StepId) -> bool {
        self.plan.operands(step).iter().any(|operand| operand.step == earlier)
            || self.plan.orderings.contains(&(earlier, step))
    }

    /// The steps that may end: of a bundle, those that wait for none of the others.
    fn may_end(&self) -> Vec<(StepId, GrantId)> {
        let waits = |step: StepId| self.running.iter().any(|(other, _)| self.waits(step, *other));
        self.running.iter().filter(|(step, _)| !waits(*step)).copied().collect()
    }
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
            Event::Untried { .. } | Event::Poll { .. } | Event::Found { .. } => {}
        }
        self.reactor.on_events(&[event], &mut self.commands);
        if let Event::Failed { run, step, .. } | Event::Abandoned { run, step, .. } = event {
            self.put_back(run, step);
        }
        if self.random.below(5) == 0
            && let Some(ticket) = self.lost.pop()
        {
            self.reactor.on_events(&[Event::Found { ticket }], &mut self.commands);
        }
    }

    /// Those of a bundle that wait for a step that failed go back untried.
    fn put_back(&mut self, run: RunId, failed: StepId) {
        let follows =
            |played: &Played| played.running.iter().find(|(step, _)| played.waits(*step, failed)).copied();
        while let Some((step, grant)) = follows(self.run(run)) {
            self.run(run).running.retain(|(other, _)| *other != step);
            self.reactor.on_events(&[Event::Untried { run, step, grant }], &mut self.commands);
            self.put_back(run, step);
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
            for (step, grant) in played.may_end() {
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
            if busy >= workers {
                continue;
            }
            if self.reactor.could_start(lane) {
                polls.push(Event::Poll { lane, room: 1 + self.random.below(3) as u16, only: None });
            } else if self.random.below(8) == 0 {
                let mut commands = Vec::new();
                self.reactor.clone().on_events(&[Event::Poll { lane, room: 1, only: None }], &mut commands);
                let is_run = |command: &Command| matches!(command, Command::Run { .. });
                assert!(
                    !commands.iter().any(is_run),
                    "seed {}: nobody would be woken for {commands:?}",
                    self.seed
                );
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
