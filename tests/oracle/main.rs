//! Random programs, computed in several ways that must agree.

mod by_hand;
mod naive;
mod program;

use std::sync::{Arc, mpsc};
use std::time::Duration;

use outcrop::block::Block;
use outcrop::device::sim::{Fault, FaultPlan, SimDevice};
use outcrop::dtype::DType;
use outcrop::error::{Error, ErrorClass};
use outcrop::exec::Control;
use outcrop::graph::op::Reduction;
use outcrop::machine::{Backend, Machine, MemoryId};
use outcrop::plan::PlanError;
use outcrop::session::{Completed, Session};
use outcrop::settings::Config;

use naive::Whole;
use program::{Node, Program, Style};

const PROGRAMS: u64 = 400;
const ANY_DEVICE: &[&str] = &["prefer-gpu", "gpu", "any", "cpu"];
const NO_NEED: &[&str] = &["prefer-gpu", "any", "cpu"];

#[test]
fn random_programs_agree_however_they_run() {
    const AT_ONCE: usize = 4;
    let searchers: Vec<_> = (0..AT_ONCE)
        .map(|part| std::thread::spawn(move || search(seeds().skip(part).step_by(AT_ONCE))))
        .collect();
    let (mut tally, mut failures) = (Tally::default(), Vec::new());
    for searcher in searchers {
        let (seen, failed) = searcher.join().unwrap();
        tally.transfers += seen.transfers;
        tally.retried += seen.retried;
        failures.extend(failed);
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
    assert!(tally.transfers > 0 && tally.retried > 0, "nothing went to a GPU, or nothing failed: {tally:?}");
}

fn search(seeds: impl Iterator<Item = u64>) -> (Tally, Vec<String>) {
    let (mut tally, mut failures) = (Tally::default(), Vec::new());
    for seed in seeds {
        let program = Program::random(seed);
        let case = program.clone();
        let problem = match guarded(seed, move || std::panic::catch_unwind(|| check(seed, &case))) {
            Ok(Ok(seen)) => {
                tally.transfers += seen.transfers;
                tally.retried += seen.retried;
                continue;
            }
            Ok(Err(problem)) => problem,
            Err(panic) => format!("panicked: {:?}", panic.downcast_ref::<String>()),
        };
        failures.push(format!("seed {seed}: {problem}\n  {program:?}"));
    }
    (tally, failures)
}

/// What happened besides the values, so that the test can't become empty unnoticed.
#[derive(Debug, Default)]
struct Tally {
    transfers: u64,
    retried: u64,
}

/// Those of `OUTCROP_ORACLE_SEEDS=first..end` where it is set, to repeat a failure or to search further.
fn seeds() -> std::ops::Range<u64> {
    let given = std::env::var("OUTCROP_ORACLE_SEEDS").ok();
    let range = given.as_deref().and_then(|given| given.split_once(".."));
    range.map_or(0..PROGRAMS, |(first, end)| first.parse().unwrap()..end.parse().unwrap())
}

/// Runs it; after a minute ends the process and says which seed hangs.
pub fn guarded<T: Send + 'static>(seed: u64, body: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, wait) = mpsc::channel();
    std::thread::spawn(move || done.send(body()));
    match wait.recv_timeout(Duration::from_secs(60)) {
        Ok(value) => value,
        Err(_) => {
            eprintln!("seed {seed} hangs");
            std::process::abort()
        }
    }
}

fn check(seed: u64, program: &Program) -> Result<Tally, String> {
    let mut tally = Tally::default();
    let plain = program.build(Style { chunks: None, annotations: None, devices: &[] });
    let single = on_host(1, None);
    let reference = single.compute(&plain);
    let style = |annotations, devices| Style { chunks: Some(seed + 1), annotations, devices };
    let threads = 1 + (seed % 4) as usize;
    let chunked = run(&on_host(threads, None), program, style(Some(seed), NO_NEED));
    let reference = match (reference, &chunked) {
        (Err(_), Err(_)) => return Ok(tally),
        (Ok(reference), Ok(_)) => reference,
        (Err(error), Ok(_)) => return Err(format!("(a) fails and (b) doesn't: {error}")),
        (Ok(_), Err(error)) => return Err(format!("(b) fails and (a) doesn't: {error}")),
    };
    let wholes: Vec<Whole> = reference.iter().map(Whole::of).collect();
    for (at, node) in program.nodes.iter().enumerate() {
        naive::check(node, &wholes, &wholes[at]).map_err(|problem| format!("(a) node {at}: {problem}"))?;
    }
    let chunked = arrays(&chunked.map_err(|error| error.to_string())?);
    for (&at, got) in program.outputs.iter().zip(&chunked) {
        agrees(program, at, &wholes, &Whole::of(got))
            .map_err(|problem| format!("(b) node {at}: {problem}"))?;
    }
    for (label, faults) in
        [("(c)", FaultPlan::none()), ("(e)", FaultPlan::seeded(seed, 2000, 4, &[Fault::Fails]))]
    {
        let session = simulated(threads, seed.is_multiple_of(3), &faults);
        match run(&session, program, style(Some(seed + 7), ANY_DEVICE)) {
            Ok(done) => {
                same(label, &chunked, &arrays(&done))?;
                tally.transfers += done.report.transfers.count;
                let layers = &done.report.layers;
                tally.retried +=
                    layers.iter().map(|layer| layer.attempts.saturating_sub(layer.tasks)).sum::<u64>();
            }
            Err(error) if error.class() == ErrorClass::Unsatisfiable => {}
            Err(error) => return Err(format!("{label} {error}")),
        }
    }
    within_budget(program, style(Some(seed), NO_NEED), threads, &chunked)?;
    Ok(tally)
}

/// (d): a budget of exactly the peak that the plan promises.
fn within_budget(program: &Program, style: Style, threads: usize, want: &[Block]) -> Result<(), String> {
    let layers = layers(program, style).map_err(|error| error.to_string())?;
    let peak =
        on_host(threads, None).prepare(&layers).map_err(|error| error.to_string())?.plan.memories[0].peak;
    let done = match run(&on_host(threads, Some(peak)), program, style) {
        // A `memory` annotation counts what views of sources save, and layers without steps.
        Err(Error::Plan(PlanError::Unsatisfiable(_))) => return Ok(()),
        done => done.map_err(|error| format!("(d) budget {peak}: {error}"))?,
    };
    same("(d)", want, &arrays(&done))?;
    let held = done.report.peak_bytes["host"];
    if held > peak.0 { Err(format!("(d) held {held} of {} bytes", peak.0)) } else { Ok(()) }
}

fn layers(program: &Program, style: Style) -> Result<Vec<Arc<outcrop::graph::layer::Layer>>, Error> {
    let arrays = program.build(style);
    program.outputs.iter().map(|&at| Ok(arrays[at].layer()?.clone())).collect()
}

fn run(session: &Session, program: &Program, style: Style) -> Result<Completed, Error> {
    // An error in a node that no output uses is an error too, as it is in the reference.
    for array in program.build(style) {
        array.layer()?;
    }
    session.run(&session.prepare(&layers(program, style)?)?, &Control::new())
}

fn arrays(done: &Completed) -> Vec<Block> {
    done.results.iter().map(|result| result.array().unwrap().clone()).collect()
}

fn same(label: &str, want: &[Block], got: &[Block]) -> Result<(), String> {
    for (at, (want, got)) in want.iter().zip(got).enumerate() {
        let (want, got) = (Whole::of(want), Whole::of(got));
        if !want.is_same(&got) {
            return Err(format!("{label} output {at}: {got:?}, not {want:?}"));
        }
    }
    Ok(())
}

/// Bit-equal across chunkings, unless rounding of a float fold is in it.
fn agrees(program: &Program, at: usize, reference: &[Whole], got: &Whole) -> Result<(), String> {
    let want = &reference[at];
    if (want.dtype, &want.shape) != (got.dtype, &got.shape) {
        return Err(format!("{:?} {:?}, not {:?} {:?}", got.dtype, got.shape, want.dtype, want.shape));
    }
    if !rounds(program, reference, at) {
        return if want.is_same(got) { Ok(()) } else { Err(format!("{got:?}, not {want:?}")) };
    }
    match &program.nodes[at] {
        Node::Reduce { of, reduction, mask, .. }
            if !rounds(program, reference, *of)
                && !mask.is_some_and(|mask| rounds(program, reference, mask)) =>
        {
            naive::close(*reduction, &reference[*of], want, got)
        }
        _ => Ok(()),
    }
}

/// Whether a fold that rounds is among what the node is computed from.
fn rounds(program: &Program, reference: &[Whole], at: usize) -> bool {
    let node = &program.nodes[at];
    let exact = matches!(node, Node::Reduce { reduction: Reduction::Min | Reduction::Max, .. });
    let folds = matches!(node, Node::Reduce { .. }) && !exact && reference[at].dtype.is_float();
    folds || naive::operands(node).into_iter().any(|operand| rounds(program, reference, operand))
}

pub fn on_host(threads: usize, memory: Option<outcrop::units::Bytes>) -> Session {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/machines/cpu-only.toml");
    let machine = Machine::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap();
    Session::on(machine, Config { threads: Some(threads), memory, ..Config::default() })
}

/// A described machine whose one or two GPUs are simulated, and take every element type.
pub fn simulated(threads: usize, two: bool, faults: &FaultPlan) -> Session {
    let name = if two { "two-unequal-gpus" } else { "one-gpu" };
    let path = format!("{}/examples/machines/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let mut machine = Machine::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap();
    for device in &mut machine.devices[1..] {
        device.backend = Backend::Sim;
        device.dtypes = DType::ALL.to_vec();
    }
    let gpus: Vec<SimDevice> = machine
        .devices()
        .skip(1)
        .map(|(id, info)| {
            let link = machine.link(MemoryId::HOST, machine.memory_of(id));
            SimDevice::new(info, Some(1 << 30), link, faults.clone())
        })
        .collect();
    let session = Session::on(machine, Config { threads: Some(threads), ..Config::default() });
    gpus.into_iter().fold(session, |session, gpu| session.with_device(Arc::new(gpu)))
}
