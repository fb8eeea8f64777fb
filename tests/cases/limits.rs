//! Cases of resources and memory: what is granted, to whom, and that it comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use outcrop::annotate::{Annotations, annotate};
use outcrop::collections::{Array, Delayed};
use outcrop::dtype::DType;
use outcrop::exec::Control;
use outcrop::ids::StepId;
use outcrop::machine::{DeviceId, MemoryId};
use outcrop::reactor::{Command, Event, GrantId, Ledger, Reactor, RunId, Standing, Tasks};
use outcrop::session::Session;
use outcrop::settings::Config;
use outcrop::steps::{MemoryPlan, Plan, Step, StepKind, Terms};
use outcrop::task;
use outcrop::units::Bytes;
use serde_json::json;

use crate::annotations::{config, machine, with};

/// A machine of 2 licences and 2 seats, in memory of 64 MiB.
fn session(threads: usize) -> Session {
    let resources = Some([("licence".to_owned(), 2.0), ("seat".to_owned(), 2.0)].into());
    let memory = Some("64 MiB".parse().unwrap());
    Session::new(Config { threads: Some(threads), memory, resources, ..Config::default() })
}

fn takes(resources: serde_json::Value) -> Annotations {
    with("resources", resources)
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % n
    }
}

/// What tasks hold at the moment, as they say themselves.
#[derive(Default)]
struct Held {
    licences: AtomicU64,
    bytes: AtomicU64,
    most: [AtomicU64; 2],
}

/// One task's part of it, until it ends in whichever way.
struct Hold<'a> {
    held: &'a Held,
    amounts: [u64; 2],
}

impl Held {
    fn hold(&self, licences: u64, bytes: u64) -> Hold<'_> {
        let amounts = [licences, bytes];
        for ((held, amount), most) in [&self.licences, &self.bytes].iter().zip(amounts).zip(&self.most) {
            most.fetch_max(held.fetch_add(amount, Ordering::SeqCst) + amount, Ordering::SeqCst);
        }
        Hold { held: self, amounts }
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        let held = [&self.held.licences, &self.held.bytes];
        held.iter().zip(self.amounts).for_each(|(held, amount)| _ = held.fetch_sub(amount, Ordering::SeqCst));
    }
}

/// How a call of a random graph ends.
#[derive(Clone, Copy)]
enum Ending {
    Well,
    ErrorAtFirst,
    PanicAtFirst,
    Error,
}

/// A random graph of calls: each reads up to three earlier ones, asks for some of everything, and some fail.
fn random_calls(random: &mut Random, held: &Arc<Held>) -> Vec<Delayed<u64>> {
    let mut calls: Vec<Delayed<u64>> = Vec::new();
    for at in 0..3 + random.below(14) {
        let (licences, mebibytes) = (random.below(3), 1 + random.below(30));
        let ending = match random.below(24) {
            0..3 => Ending::ErrorAtFirst,
            3..6 => Ending::PanicAtFirst,
            6 => Ending::Error,
            _ => Ending::Well,
        };
        let reads = random.below(4).min(calls.len() as u64);
        let read = (0..reads).map(|_| calls[random.below(calls.len() as u64) as usize].clone());
        let read: Vec<Delayed<u64>> = read.collect();
        let asked = takes(json!({"licence": licences})).with_memory(Bytes(mebibytes << 20)).unwrap();
        let asked = asked.with_retries(1).unwrap();
        let (held, tries) = (held.clone(), AtomicUsize::new(0));
        let work = move |before: &[Arc<u64>]| {
            let _hold = held.hold(licences, mebibytes << 20);
            std::thread::yield_now();
            let is_first = tries.fetch_add(1, Ordering::SeqCst) == 0;
            match ending {
                Ending::ErrorAtFirst if is_first => Err("trouble".to_owned()),
                Ending::Error => Err("trouble again".to_owned()),
                Ending::PanicAtFirst if is_first => panic!("no way"),
                _ => Ok(before.iter().map(|before| **before).sum::<u64>() + at),
            }
        };
        let read: Vec<&Delayed<u64>> = read.iter().collect();
        calls.push(annotate(asked, || Delayed::<u64>::try_call("call", (read,), work)));
    }
    calls
}

/// What disturbs a run.
#[derive(Clone, Copy)]
enum Disturbance {
    None,
    /// It is cancelled when this many tasks have ended.
    Cancelled(usize),
    /// Its future is dropped.
    Dropped,
}

fn disturbed(session: &Session, calls: &[Delayed<u64>], disturbance: Disturbance) {
    let layers: Vec<_> = calls.iter().map(|call| call.layer().unwrap().clone()).collect();
    let prepared = session.prepare(&layers).unwrap();
    match disturbance {
        Disturbance::None => drop(session.run(&prepared, &Control::new())),
        Disturbance::Cancelled(after) => {
            let (control, ended) = (Control::new(), AtomicUsize::new(0));
            let canceller = control.clone();
            let control = control.observed(move |_| {
                if ended.fetch_add(1, Ordering::SeqCst) == after {
                    canceller.cancel();
                }
            });
            drop(session.run(&prepared, &control));
        }
        Disturbance::Dropped => {
            let mut future = Box::pin(session.compute_async(&calls[calls.len() - 1]));
            let waker = std::task::Waker::noop();
            let _ = future.as_mut().poll(&mut std::task::Context::from_waker(waker));
        }
    }
}

/// Random graphs, three at a time in one session of one to four threads, with failures, cancellations and dropped
/// futures. `OUTCROP_SOAK` plays fifty times as many.
#[test]
fn case_b02_no_more_is_granted_than_there_is_whatever_happens() {
    let seeds = if std::env::var_os("OUTCROP_SOAK").is_some() { 3_000 } else { 60 };
    for seed in 0..seeds {
        let mut random = Random(seed);
        let session = session(1 + random.below(4) as usize);
        let held = Arc::new(Held::default());
        let disturbance = |random: &mut Random| match random.below(6) {
            0 | 1 => Disturbance::Cancelled(random.below(5) as usize),
            2 => Disturbance::Dropped,
            _ => Disturbance::None,
        };
        let graphs: Vec<_> =
            (0..3).map(|_| (random_calls(&mut random, &held), disturbance(&mut random))).collect();
        std::thread::scope(|scope| {
            for (calls, disturbance) in &graphs {
                let session = &session;
                scope.spawn(move || disturbed(session, calls, *disturbance));
            }
        });
        // All of it can be had again.
        let whole = takes(json!({"licence": 2, "seat": 2})).with_memory(Bytes(64 << 20)).unwrap();
        let call = annotate(whole, || Delayed::<u64>::call("whole", (), || 1));
        assert_eq!(session.compute(&call).unwrap(), 1.into(), "seed {seed}");
        let most = |at: usize| held.most[at].load(Ordering::SeqCst);
        assert!(most(0) <= 2 && most(1) <= 64 << 20, "seed {seed}: {} licences, {} bytes", most(0), most(1));
        let left = (held.licences.load(Ordering::SeqCst), held.bytes.load(Ordering::SeqCst));
        assert_eq!(left, (0, 0), "seed {seed}: tasks still run");
    }
}

/// What a layer's tasks take beside memory.
fn takings(plan: &Plan, layer: &str) -> Vec<(String, u64)> {
    let is_it = |step: &Step| plan.layers[step.layer as usize].name == layer && step.kind.computes();
    let step = plan.steps.iter().find(is_it).expect("a step of the layer");
    let resources = &plan.terms[step.terms as usize].resources;
    resources.iter().map(|&(at, amount)| (plan.resources[usize::from(at)].0.clone(), amount)).collect()
}

/// A layer on one GPU.
fn on_gpu(name: &str, share: f64, device: &str) -> Array {
    let asked = with("gpu", share).set("workers", json!([device])).unwrap();
    let x = Array::arange(0.0, 1.0, 1 << 12).rechunk(&[1 << 10]).astype(DType::F32);
    annotate(asked, || &x + 1.0_f32).named(name)
}

#[test]
fn a_share_is_of_the_device_that_a_layer_is_placed_on() {
    let session = Session::on(machine("two-unequal-gpus"), config());
    let layers =
        [on_gpu("half", 0.5, "gpu0"), on_gpu("most", 0.75, "gpu1")].map(|x| x.layer().unwrap().clone());
    let plan = session.prepare(&layers).unwrap().plan;
    assert_eq!(takings(&plan, "half"), [("gpu:gpu0".to_owned(), 500_000)]);
    assert_eq!(takings(&plan, "most"), [("gpu:gpu1".to_owned(), 750_000)]);
    let shares: Vec<_> = plan.resources.iter().filter(|(name, _)| name.starts_with("gpu:")).collect();
    assert!(shares.len() == 2 && shares.iter().all(|(_, amount)| *amount == 1.0), "{shares:?}");
    let host = Session::on(machine("cpu-only"), config());
    let wish =
        annotate(with("gpu", 0.5).set("device", "prefer-gpu").unwrap(), || &Array::arange(0.0, 1.0, 8) + 1.0);
    let plan = host.prepare(&[wish.named("wish").layer().unwrap().clone()]).unwrap().plan;
    assert_eq!(takings(&plan, "wish"), [], "a fall-back takes no share");
}

/// A reactor with steps that wait for nothing but these amounts of two resources, in millions, and bytes.
fn reactor(capacity: [u64; 2], steps: &[([u64; 2], u64)], budget: u64, threads: usize) -> (Reactor, RunId) {
    let mut plan = reactor_plan();
    for &(amounts, bytes) in steps {
        let resources = (0..).zip(amounts).filter(|(_, amount)| *amount > 0).collect();
        plan.terms.push(Terms { resources, ..Terms::default() });
        plan.operand_offsets.push(0);
        let terms = plan.terms.len() as u32 - 1;
        plan.steps.push(Step { bytes, terms, ..plan_step() });
    }
    plan.threads = threads;
    let mut reactor = Reactor::new(Ledger::new(&[Some(budget)], &capacity, threads), threads);
    let mut commands = Vec::new();
    let tasks = Arc::new(Tasks::new(Arc::new(plan)));
    let run = reactor.submit(tasks, Standing::default(), &mut commands).unwrap();
    reactor.on_events(&[Event::Start(run)], &mut commands);
    (reactor, run)
}

/// The steps that start when nobody reports anything.
fn all_that_start(reactor: &mut Reactor) -> Vec<(StepId, GrantId)> {
    let mut started = Vec::new();
    loop {
        let mut commands = Vec::new();
        reactor.on_events(&[Event::Poll { lane: 0, room: 1, only: None }], &mut commands);
        match commands.first() {
            Some(&Command::Run { step, grant, .. }) => started.push((step, grant)),
            _ => return started,
        }
    }
}

fn steps_of(started: &[(StepId, GrantId)]) -> Vec<u32> {
    started.iter().map(|(step, _)| step.0).collect()
}

const ONE: u64 = 1_000_000;

#[test]
fn case_b03_who_waits_for_two_gpus_holds_up_nobody_else() {
    // One holds a device; the next wants both; then one wants the free device, and one only memory.
    let steps = [([ONE, 0], 1), ([ONE, ONE], 1), ([0, ONE], 1), ([0, 0], 8)];
    let (mut reactor, _) = reactor([ONE, ONE], &steps, 1 << 20, 4);
    assert_eq!(steps_of(&all_that_start(&mut reactor)), [0, 2, 3]);
}

#[test]
fn case_b04_small_requests_do_not_starve_a_large_one() {
    // A large one that needs all behind two small ones, and a thousand small ones behind it.
    let mut steps = vec![([ONE / 2, 0], 1); 2];
    steps.push(([ONE, 0], 1));
    steps.extend(vec![([ONE / 2, 0], 1); 1000]);
    let (mut reactor, run) = reactor([ONE, 0], &steps, 1 << 20, 4);
    let mut running = all_that_start(&mut reactor);
    let mut passed = 0;
    while !running.is_empty() {
        let (step, grant) = running.remove(0);
        if step.0 == 2 {
            assert!(passed <= 100, "{passed} went before it");
            return;
        }
        passed += 1;
        let finished = Event::Finished { run, step, grant, nanoseconds: 50_000 };
        reactor.on_events(&[finished], &mut Vec::new());
        running.extend(all_that_start(&mut reactor));
    }
    panic!("the large one never ran");
}

#[test]
fn case_b11_half_shares_share_a_device_and_no_share_is_split() {
    let halves = [([ONE / 2, 0], 1); 3];
    let (mut two, _) = reactor([ONE, ONE], &halves, 1 << 20, 4);
    assert_eq!(steps_of(&all_that_start(&mut two)), [0, 1], "a third half waits");
    // A quarter is left of each device: together that would be a half.
    let (mut split, _) =
        reactor([ONE, ONE], &[([750_000, 0], 1), ([0, 750_000], 1), ([ONE / 2, 0], 1)], 1 << 20, 4);
    assert_eq!(steps_of(&all_that_start(&mut split)), [0, 1]);
}

#[test]
fn case_e06_producers_stay_within_a_constant_of_their_consumers() {
    // The first takes a resource that is gone: all others overtake it, and are never read.
    let mut steps = vec![([ONE, 0], 1), ([ONE, 0], 1)];
    steps.extend(vec![([0, 0], 1); 10_000]);
    for threads in [1, 4] {
        let (mut reactor, _) = reactor([ONE, 0], &steps, 1 << 30, threads);
        let live = all_that_start(&mut reactor).len();
        assert!(live <= 20 * threads, "{live} live on {threads} threads");
    }
}

/// A plan of no steps in one memory.
fn reactor_plan() -> Plan {
    let session = Session::on(machine("cpu-only"), config());
    let whole = session.prepare(&[Array::arange(0.0, 1.0, 8).layer().unwrap().clone()]).unwrap().plan;
    Plan {
        layers: whole.layers.clone(),
        operand_offsets: vec![0],
        device_names: vec!["host".to_owned()],
        memory_names: vec!["host".to_owned()],
        memories: vec![MemoryPlan { peak: Bytes(0), results: Bytes(0), budget: Some(Bytes(1)) }],
        resources: vec![("one".to_owned(), 1.0), ("two".to_owned(), 1.0)],
        ..Plan::default()
    }
}

fn plan_step() -> Step {
    Step {
        kind: StepKind::Map,
        layer: 0,
        kernel: 0,
        block: 0,
        device: DeviceId::HOST,
        memory: MemoryId::HOST,
        bytes: 0,
        output: Step::NO_OUTPUT,
        terms: 0,
    }
}

#[test]
fn case_b06_however_a_task_ends_what_it_took_comes_back() {
    let session = session(2);
    let all = || takes(json!({"licence": 2})).with_memory(Bytes(60 << 20)).unwrap();
    let timed = all().set("timeout", "1 ms").unwrap();
    let failing =
        annotate(all(), || Delayed::<u64>::try_call("fails", (), || Err::<u64, _>("no".to_owned())));
    let panicking = annotate(all(), || Delayed::<u64>::call("panics", (), || -> u64 { panic!("no") }));
    let late = annotate(timed, || {
        Delayed::<u64>::try_call("late", (), || {
            while task::check().is_ok() {
                std::thread::yield_now();
            }
            task::check().map(|()| 0)
        })
    });
    for call in [failing, panicking, late] {
        session.compute(&call).unwrap_err();
        let next = annotate(all(), || Delayed::<u64>::call("next", (), || 5));
        assert_eq!(session.compute(&next).unwrap(), 5.into());
    }
    let cancelled = annotate(all(), || {
        Delayed::<u64>::try_call("cancelled", (), || {
            while task::check().is_ok() {
                std::thread::yield_now();
            }
            task::check().map(|()| 0)
        })
    });
    let control = Control::new().with_deadline(Duration::from_millis(5));
    let prepared = session.prepare(&[cancelled.layer().unwrap().clone()]).unwrap();
    assert!(session.run(&prepared, &control).is_err());
    let next = annotate(all(), || Delayed::<u64>::call("next", (), || 5));
    assert_eq!(session.compute(&next).unwrap(), 5.into());
}

#[test]
fn case_b08_no_retries_is_one_attempt() {
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = tries.clone();
    let call = annotate(with("retries", 0), || {
        Delayed::<u64>::try_call("once", (), move || {
            counted.fetch_add(1, Ordering::SeqCst);
            Err::<u64, _>("no".to_owned())
        })
    });
    session(1).compute(&call).unwrap_err();
    assert_eq!(tries.load(Ordering::SeqCst), 1);
}

#[test]
fn case_b07_nested_work_takes_what_its_parent_lends() {
    let resources = Some([("licence".to_owned(), 1.0)].into());
    let session = Arc::new(Session::new(Config { threads: Some(1), resources, ..Config::default() }));
    let inner = session.clone();
    let outer = annotate(takes(json!({"licence": 1})), || {
        Delayed::<u64>::try_call("outer", (), move || {
            let call = annotate(takes(json!({"licence": 1})), || Delayed::<u64>::call("inner", (), || 3));
            inner.compute(&call).map(|value| *value + 1)
        })
    });
    assert_eq!(session.compute(&outer).unwrap(), 4.into());
}

#[test]
fn case_b10_a_function_on_a_gpu_is_refused_before_anything_runs() {
    let session = Session::on(machine("one-gpu"), config());
    let call = annotate(with("device", "gpu"), || Delayed::<u64>::call("kernel", (), || 1));
    let error = session.prepare(&[call.layer().unwrap().clone()]).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("kernel"), "{error}");
}
