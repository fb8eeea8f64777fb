//! Random programs under random faults: a result is that of the run without faults, bit for bit, or there is a typed
//! error; nothing hangs, nothing leaks, and the session works on.
//!
//! `OUTCROP_SOAK` plays ten times as many; `OUTCROP_FAULT_SEEDS=first..end` those seeds alone.

#[allow(dead_code)]
#[path = "oracle/program.rs"]
mod program;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use outcrop::annotate::{Annotations, Overrides, annotate};
use outcrop::block::Block;
use outcrop::collections::array::Over;
use outcrop::collections::{Array, Delayed};
use outcrop::device::contract::Device;
use outcrop::device::host::Host;
use outcrop::device::sim::{Fault, FaultPlan, SimDevice};
use outcrop::dtype::DType;
use outcrop::error::{Error, ErrorClass};
use outcrop::exec::{Control, ResultValue};
use outcrop::graph::layer::Layer;
use outcrop::machine::{Backend, Machine, MemoryId};
use outcrop::report::Report;
use outcrop::session::Session;
use outcrop::settings::Config;
use outcrop::task;
use outcrop::units::Bytes;

use program::{Dice, Program, Style};

const SEEDS: u64 = 200;
/// Seeds beyond these that found something: a plan that spilled was followed by one that didn't.
const FOUND: [u64; 1] = [581];
const DEVICES: &[&str] = &["prefer-gpu", "prefer-gpu", "gpu", "any", "cpu"];
/// How long a simulated driver may be silent.
const SILENCE: Duration = Duration::from_millis(50);

#[test]
fn random_faults_change_no_result_and_leave_nothing_behind() {
    // Panics of the programs' own functions are part of the play.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let is_played = info.payload_as_str().is_some_and(|message| message.contains("played"));
        if !is_played {
            hook(info);
        }
    }));
    const AT_ONCE: usize = 2;
    let players: Vec<_> = (0..AT_ONCE)
        .map(|part| std::thread::spawn(move || play(seeds().skip(part).step_by(AT_ONCE))))
        .collect();
    let (mut tally, mut problems) = (Tally::default(), Vec::new());
    for player in players {
        let (seen, failed) = player.join().unwrap();
        tally.add(&seen);
        problems.extend(failed);
    }
    println!("{tally:?}");
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
    if std::env::var("OUTCROP_FAULT_SEEDS").is_err() {
        let all =
            [tally.equal, tally.errors, tally.lost, tally.too_small, tally.split, tally.hung, tally.failed];
        assert!(all.iter().all(|&count| count > 0), "something never happened: {tally:?}");
    }
}

/// What happened, so that the test can't become empty unnoticed.
#[derive(Clone, Debug, Default)]
struct Tally {
    /// Runs whose results were those without faults.
    equal: u64,
    /// Runs that ended with a typed error.
    errors: u64,
    /// Programs that no machine here can run even without faults.
    impossible: u64,
    /// Plans that were broken off because a device was lost, and those because one was too small, in runs that ended well.
    lost: u64,
    too_small: u64,
    /// Layers that were made in parts, in runs that ended well.
    split: u64,
    /// Devices that were lost because their driver said nothing.
    hung: u64,
    /// Attempts that failed in runs that ended well.
    failed: u64,
    taken_over: u64,
    computed_again: u64,
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.equal += other.equal;
        self.errors += other.errors;
        self.impossible += other.impossible;
        self.lost += other.lost;
        self.too_small += other.too_small;
        self.split += other.split;
        self.hung += other.hung;
        self.failed += other.failed;
        self.taken_over += other.taken_over;
        self.computed_again += other.computed_again;
    }

    fn of(report: &Report, failed: u64) -> Tally {
        let recoveries = || report.recoveries.iter();
        Tally {
            equal: 1,
            lost: recoveries().filter(|recovery| recovery.trouble == "lost").count() as u64,
            too_small: recoveries().filter(|recovery| recovery.trouble == "too small").count() as u64,
            split: recoveries().map(|recovery| recovery.split.len() as u64).sum(),
            hung: recoveries().filter(|recovery| recovery.message.contains("hasn't answered")).count() as u64,
            failed,
            taken_over: recoveries().map(|recovery| recovery.taken_over).sum(),
            computed_again: recoveries().map(|recovery| recovery.computed_again).sum(),
            ..Tally::default()
        }
    }
}

fn seeds() -> impl Iterator<Item = u64> + Clone {
    let given = std::env::var("OUTCROP_FAULT_SEEDS").ok();
    let range = given.as_deref().and_then(|given| given.split_once(".."));
    let all = if std::env::var_os("OUTCROP_SOAK").is_some() { 10 * SEEDS } else { SEEDS };
    let range = range.map(|(first, end)| first.parse().unwrap()..end.parse().unwrap());
    let found = if range.is_some() || all > FOUND[0] { &[][..] } else { &FOUND };
    range.unwrap_or(0..all).chain(found.iter().copied())
}

fn play(seeds: impl Iterator<Item = u64>) -> (Tally, Vec<String>) {
    let (mut tally, mut problems) = (Tally::default(), Vec::new());
    for seed in seeds {
        let played = guarded(seed, move || std::panic::catch_unwind(|| check(seed)));
        match played {
            Ok(Ok(seen)) => tally.add(&seen),
            Ok(Err(problem)) => problems.push(format!("seed {seed}: {problem}")),
            Err(_) => problems.push(format!("seed {seed}: panicked")),
        }
    }
    (tally, problems)
}

/// Runs it; after a minute ends the process and says which seed hangs.
fn guarded<T: Send + 'static>(seed: u64, body: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, wait) = mpsc::channel();
    std::thread::spawn(move || done.send(body()));
    match wait.recv_timeout(Duration::from_secs(60)) {
        Ok(value) => value,
        Err(mpsc::RecvTimeoutError::Disconnected) => panic!("the player of seed {seed} is gone"),
        Err(mpsc::RecvTimeoutError::Timeout) => {
            eprintln!("seed {seed} hangs");
            std::process::abort()
        }
    }
}

/// A session whose devices are at hand.
struct Stage {
    session: Session,
    host: Arc<Host>,
    gpus: Vec<Arc<SimDevice>>,
}

impl Stage {
    /// Each memory has so many bytes in truth, whatever the machine says.
    fn new(
        machine: &Machine,
        threads: usize,
        memory: Option<Bytes>,
        truth: &[u64],
        faults: &[FaultPlan],
    ) -> Stage {
        let config =
            Config { threads: Some(threads), memory, device_timeout: Some(SILENCE), ..Config::default() };
        let gpus: Vec<Arc<SimDevice>> = machine
            .devices()
            .skip(1)
            .zip(faults)
            .map(|((id, info), faults)| {
                let link = machine.link(MemoryId::HOST, machine.memory_of(id));
                let bytes = truth[usize::from(machine.memory_of(id).0)];
                Arc::new(SimDevice::new(info, Some(bytes), link, faults.clone()))
            })
            .collect();
        let host = Arc::new(Host::new(memory.map(|bytes| bytes.0 + (1 << 20))));
        let session = Session::on(machine.clone(), config).with_device(host.clone());
        let session = gpus.iter().fold(session, |session, gpu| session.with_device(gpu.clone()));
        Stage { session, host, gpus }
    }

    /// Everything is given back, and the session works on.
    fn check_afterwards(self) -> Result<(), String> {
        self.gpus.iter().for_each(|gpu| gpu.release());
        let sum = Array::arange(0.0, 1.0, 10).rechunk(&[3]).sum(&Over::all());
        let sum = self.session.compute(&sum).map_err(|error| format!("afterwards: {error}"))?;
        if sum.to_scalar::<f64>() != Some(45.0) {
            return Err("afterwards: a wrong sum".to_owned());
        }
        drop(sum);
        // A call that hung gives back what it held when it returns; a book that isn't settled never has room for all.
        let budget = self.session.settings().memory;
        let memory = budget.or(self.session.machine().memories[0].bytes).unwrap();
        let all = annotate(Annotations::new().set("memory", format!("{} B", memory.0)).unwrap(), || {
            Delayed::<u64>::call("all", (), || 7)
        });
        while self.session.compute(&all).is_err() {
            std::thread::yield_now();
        }
        let used =
            || self.gpus.iter().map(|gpu| gpu.memory().used()).sum::<usize>() + self.host.memory().used();
        while used() > 0 {
            std::thread::yield_now();
        }
        Ok(())
    }
}

fn machine(dice: &mut Dice) -> Machine {
    let name = dice.pick(&["one-gpu", "two-unequal-gpus"]);
    let path = format!("{}/examples/machines/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let mut machine = Machine::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap();
    for device in &mut machine.devices[1..] {
        device.backend = Backend::Sim;
        device.dtypes = DType::ALL.to_vec();
    }
    machine
}

/// Faults of a program's own functions: at which calls, and which.
#[derive(Clone)]
struct Moods {
    calls: Arc<AtomicUsize>,
    moods: Vec<u64>,
}

impl Moods {
    fn new(dice: &mut Dice, is_moody: bool) -> Moods {
        let mood = |dice: &mut Dice| if is_moody && dice.one_in(6) { dice.below(3) as u64 + 1 } else { 0 };
        Moods { calls: Arc::default(), moods: (0..64).map(|_| mood(dice)).collect() }
    }

    fn next(&self) -> u64 {
        self.moods.get(self.calls.fetch_add(1, Ordering::Relaxed)).copied().unwrap_or(0)
    }
}

/// The program's outputs, each also through a function that may panic and then a device; and a call that may fail or loop.
fn outputs(program: &Program, seed: u64, moods: &Moods) -> Result<Vec<Arc<Layer>>, Error> {
    let arrays = program.build(Style { chunks: Some(seed), annotations: Some(seed), devices: DEVICES });
    for array in &arrays {
        array.layer()?;
    }
    let mut outputs = Vec::new();
    for &at in &program.outputs {
        let moods = moods.clone();
        let through = arrays[at].astype(DType::F64).map_blocks(("moody", 1), move |block| {
            assert_ne!(moods.next(), 1, "played");
            block.to_vec::<f64>().unwrap()
        });
        let wish = Annotations::new().set("device", "prefer-gpu").unwrap();
        let back = annotate(wish, || &through * 0.5);
        outputs.push(arrays[at].layer()?.clone());
        outputs.push(back.layer()?.clone());
    }
    let moods = moods.clone();
    let call = annotate(Annotations::new().set("timeout", "20 ms").unwrap(), || {
        Delayed::<u64>::try_call("moody-call", (), move || match moods.next() {
            2 => Err("played".to_owned()),
            3 => loop {
                task::check().map_err(|stopped| stopped.to_string())?;
            },
            _ => Ok(11),
        })
    });
    outputs.push(call.layer()?.clone());
    Ok(outputs)
}

fn faults(dice: &mut Dice) -> FaultPlan {
    use Fault::{Exhausted, Fails, Hangs, Lost, OutOfMemory};
    let kinds = dice.pick(&[
        &[Fails][..],
        &[OutOfMemory],
        &[Fails, OutOfMemory],
        &[Exhausted],
        &[Lost],
        &[Fails, OutOfMemory, Lost],
        &[Hangs],
        &[Fails, OutOfMemory, OutOfMemory, Exhausted, Lost, Hangs],
    ]);
    let one_in = dice.pick(&[3, 8, 20]);
    FaultPlan::seeded(dice.next(), 500, one_in, kinds)
}

fn check(seed: u64) -> Result<Tally, String> {
    let program = Program::random(seed);
    let dice = &mut Dice(seed ^ 0xFA17);
    let mut machine = machine(dice);
    let threads = 1 + dice.below(3);
    let retries = dice.pick(&[0, 0, 2, 30]);
    let tight = dice.pick(&[0, 0, 5, 8]);
    let is_moody = dice.one_in(3);
    let retrying = Annotations::new().set("retries", retries).unwrap();
    let overrides = Overrides::new().with("*", retrying).unwrap();
    let calm = || outputs(&program, seed, &Moods::new(&mut Dice(0), false));
    let Ok(layers) = calm() else { return Ok(Tally { impossible: 1, ..Tally::default() }) };
    let none = vec![FaultPlan::none(); machine.devices.len() - 1];
    let ample = vec![1 << 30; machine.memories.len()];
    let stage = Stage::new(&machine, threads, None, &ample, &none);
    let peaks = match stage.session.prepare_with(&layers, &overrides) {
        Ok(prepared) => prepared.plan.memories.iter().map(|memory| memory.peak.0).collect::<Vec<_>>(),
        Err(_) => return Ok(Tally { impossible: 1, ..Tally::default() }),
    };
    let part = |peak: u64| Bytes((peak * tight / 10).max(1 << 12));
    let memory = (tight > 0).then(|| part(peaks[0]));
    if tight > 0 {
        for (memory, &peak) in machine.memories[1..].iter_mut().zip(&peaks[1..]) {
            memory.bytes = Some(part(peak));
        }
    }
    let stage = Stage::new(&machine, threads, memory, &ample, &none);
    let want = match run(&stage, &layers, &overrides) {
        Ok((results, ..)) => results,
        Err(error) if error.class() == ErrorClass::Unsatisfiable => {
            return Ok(Tally { impossible: 1, ..Tally::default() });
        }
        Err(error) => return Err(format!("without faults: {error}")),
    };
    stage.check_afterwards()?;
    let struck: Vec<FaultPlan> = none.iter().map(|_| faults(dice)).collect();
    let scarce = dice.pick(&[0, 0, 0, 2, 4, 7]);
    let truth: Vec<u64> = peaks.iter().map(|peak| (peak * scarce / 10).max(8)).collect();
    let truth = if scarce > 0 { &truth } else { &ample };
    let stage = Stage::new(&machine, threads, memory, truth, &struck);
    let moods = Moods::new(dice, is_moody);
    let layers = outputs(&program, seed, &moods).map_err(|error| error.to_string())?;
    let tally = match run(&stage, &layers, &overrides) {
        Ok((got, report, failed)) if got == want => Tally::of(&report, failed),
        Ok((got, report, _)) => return Err(format!("{got:?}, not {want:?}\n{report}")),
        Err(error) if is_typed(&error, is_moody) => Tally { errors: 1, ..Tally::default() },
        Err(error) => return Err(format!("{:?}: {error}", error.class())),
    };
    stage.check_afterwards()?;
    Ok(tally)
}

/// What may come of faults, and nothing else.
fn is_typed(error: &Error, is_moody: bool) -> bool {
    match error.class() {
        ErrorClass::DeviceLost | ErrorClass::Resource => true,
        ErrorClass::User => is_moody && matches!(error, Error::Exec(_)),
        ErrorClass::Unsatisfiable | ErrorClass::Cancelled | ErrorClass::Bug => false,
    }
}

/// Results as bytes, which NaNs have too; the report; and how many attempts failed.
type Seen = (Vec<Vec<u8>>, Report, u64);

fn run(stage: &Stage, layers: &[Arc<Layer>], overrides: &Overrides) -> Result<Seen, Error> {
    let prepared = stage.session.prepare_with(layers, overrides)?;
    let failed = Arc::new(AtomicU64::new(0));
    let told = failed.clone();
    let control = Control::new().observed(move |event| {
        told.fetch_add(u64::from(event.outcome.is_err()), Ordering::Relaxed);
    });
    let completed = stage.session.run(&prepared, &control)?;
    let bits = |block: &Block| -> Vec<u8> {
        block.contiguous_bytes().map_or_else(|| format!("{block:?}").into_bytes(), <[u8]>::to_vec)
    };
    let result = |result: &ResultValue| match result {
        ResultValue::Array(block) => bits(block),
        ResultValue::Values(values) => format!("{} values", values.len()).into_bytes(),
    };
    let results = completed.results.iter().map(result).collect();
    Ok((results, completed.report, failed.load(Ordering::Relaxed)))
}
