//! Random programs of array operations, calls, third-party operations and rewrites, against the same program on plain
//! vectors: on the host and on a simulated GPU that fails now and then, with one to four threads.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use outcrop::annotate::{Annotations, annotate};
use outcrop::block::Block;
use outcrop::collections::array::{Index, Over};
use outcrop::collections::manipulate::{Options, SplitEvery, bind, checkpoint, clone, wait_on};
use outcrop::collections::{Array, Delayed};
use outcrop::device::sim::{Fault, FaultPlan};
use outcrop::dtype::DType;
use outcrop::exec::Control;
use outcrop::graph::custom::{Call, CustomOp, Made, TaskError};
use outcrop::graph::layer_graph::{LayerGraph, NewLayer, Outputs};
use outcrop::graph::rule::Read;
use outcrop::graph::value_spec::ValueSpec;
use outcrop::ids::StepId;
use outcrop::session::{Prepared, Session};
use outcrop::steps::StepKind;
use outcrop::token::{Token, Tokenizer};

use crate::simulated;

const LENGTH: usize = 12;

#[derive(Clone, Debug)]
enum Step {
    Source(i8, usize),
    Add(usize, usize),
    Rechunk(usize, usize),
    Reverse(usize),
    Sum(usize),
    Running(usize),
    Call(usize),
    Clone(usize, bool),
    Bind(usize, usize),
    BindCall(usize, usize),
    WaitOn(usize, usize),
    Persist(usize),
    Checkpoint(usize, usize),
}

fn step() -> impl Strategy<Value = (Step, u8)> {
    let at = || 0..64usize;
    let step = prop_oneof![
        (any::<i8>(), 1..=LENGTH).prop_map(|(value, size)| Step::Source(value, size)),
        (at(), at()).prop_map(|(a, b)| Step::Add(a, b)),
        (at(), 1..=LENGTH).prop_map(|(a, size)| Step::Rechunk(a, size)),
        at().prop_map(Step::Reverse),
        at().prop_map(Step::Sum),
        at().prop_map(Step::Running),
        at().prop_map(Step::Call),
        (at(), any::<bool>()).prop_map(|(a, seeded)| Step::Clone(a, seeded)),
        (at(), at()).prop_map(|(a, b)| Step::Bind(a, b)),
        (at(), at()).prop_map(|(a, b)| Step::BindCall(a, b)),
        (at(), at()).prop_map(|(a, b)| Step::WaitOn(a, b)),
        at().prop_map(Step::Persist),
        (at(), at()).prop_map(|(a, b)| Step::Checkpoint(a, b)),
    ];
    (step, 0..6u8)
}

fn asked(wish: u8, is_array_op: bool) -> Annotations {
    let base = Annotations::new().set("retries", 3).unwrap();
    match wish {
        0 if is_array_op => base.set("device", "gpu").unwrap(),
        1 => base.set("device", "prefer-gpu").unwrap(),
        2 => base.set("device", "any").unwrap(),
        3 => base.with_priority(2.0).unwrap(),
        _ => base,
    }
}

/// Each block the sum of the one before and its own input, from left to right.
#[derive(Debug)]
struct Running;

impl CustomOp for Running {
    fn name(&self) -> &str {
        "running"
    }
    fn token(&self) -> Token {
        Tokenizer::new("running").finish()
    }
    fn output(&self, inputs: &[&ValueSpec]) -> Result<ValueSpec, String> {
        Ok(inputs[0].clone())
    }
    fn reads(&self, block: usize, _output: &ValueSpec, _inputs: &[&ValueSpec]) -> Vec<Read> {
        let own = block.checked_sub(1).map(|block| Read { input: Read::OWN, block });
        [Read { input: 0, block }].into_iter().chain(own).collect()
    }
    fn compute(&self, call: &mut Call<'_>) -> Result<Made, TaskError> {
        let mut sum = match call.operands.len() {
            2 => *call.block_operand(1)?.to_vec::<f64>().unwrap().last().unwrap(),
            _ => 0.0,
        };
        let mut values = call.block_operand(0)?.to_vec::<f64>().unwrap();
        for value in &mut values {
            sum += *value;
            *value = sum;
        }
        assert!(call.output.as_mut().unwrap().write(&values));
        Ok(Made::Written)
    }
}

/// Collections beside what they must be.
#[derive(Default)]
struct State {
    arrays: Vec<(Array, Vec<f64>)>,
    calls: Vec<(Delayed<f64>, f64)>,
    marks: Vec<Delayed<()>>,
    /// What was bound, and to what.
    bound: Vec<(Array, Array)>,
}

impl State {
    fn array(&self, at: usize) -> &(Array, Vec<f64>) {
        &self.arrays[at % self.arrays.len()]
    }

    fn does(&mut self, step: &Step, session: &Session, wish: u8, number: usize) {
        match *step {
            Step::Source(value, size) => {
                let x = &Array::arange(0.0, 1.0, LENGTH).rechunk(&[size]) + f64::from(value);
                self.arrays.push((x, (0..LENGTH).map(|i| i as f64 + f64::from(value)).collect()));
            }
            Step::Add(a, b) => {
                let ((a, of_a), (b, of_b)) = (self.array(a), self.array(b));
                self.arrays.push((a + b, of_a.iter().zip(of_b).map(|(a, b)| a + b).collect()));
            }
            Step::Rechunk(a, size) => {
                let (a, values) = self.array(a);
                self.arrays.push((a.rechunk(&[size]), values.clone()));
            }
            Step::Reverse(a) => {
                let (a, values) = self.array(a);
                let back = Index::Range { start: None, stop: None, step: Some(-1) };
                self.arrays.push((a.slice(&[back]), values.iter().rev().copied().collect()));
            }
            Step::Sum(a) => {
                let (a, values) = self.array(a);
                let sum = &Array::zeros([LENGTH], DType::F64) + &a.sum(&Over::all());
                self.arrays.push((sum, vec![values.iter().sum(); LENGTH]));
            }
            Step::Running(a) => {
                let (a, values) = self.array(a);
                let op = NewLayer::Custom(Arc::new(Running));
                let graph = LayerGraph::from_collections(&format!("running{number}"), op, a).unwrap();
                let sums = values.iter().scan(0.0, |sum, value| {
                    *sum += value;
                    Some(*sum)
                });
                self.arrays.push((Array::from_layer(graph.output_layers()[0].clone()), sums.collect()));
            }
            Step::Call(a) => {
                let (a, values) = self.array(a);
                let call =
                    Delayed::call("total", (a,), |x: &Block| x.to_vec::<f64>().unwrap().iter().sum::<f64>());
                self.calls.push((call, values.iter().sum()));
            }
            Step::Checkpoint(a, b) => {
                let both = (self.array(a).0.clone(), self.array(b).0.clone());
                self.marks.push(checkpoint(&both, SplitEvery::Values(2)).unwrap());
            }
            _ => self.rewrites(step, session, wish),
        }
    }

    fn rewrites(&mut self, step: &Step, session: &Session, wish: u8) {
        match *step {
            Step::Clone(a, seeded) => {
                let (a, values) = self.array(a);
                let options = if seeded { Options::new().seed("same") } else { Options::new() };
                self.arrays.push((clone(a, &options).unwrap(), values.clone()));
            }
            Step::Bind(a, b) => {
                let ((a, values), (b, _)) = (self.array(a), self.array(b));
                let options = if wish == 5 { Options::new().seed("same") } else { Options::new() };
                let bound = bind(a, b, &options.split_every(SplitEvery::Values(2))).unwrap();
                let (b, values) = (b.clone(), values.clone());
                self.bound.push((bound.clone(), b));
                self.arrays.push((bound, values));
            }
            Step::BindCall(call, a) if !self.calls.is_empty() => {
                let (call, value) = &self.calls[call % self.calls.len()];
                let bound = bind(call, &self.array(a).0, &Options::new()).unwrap();
                self.calls.push((bound, *value));
            }
            Step::WaitOn(a, b) => {
                let ((a, of_a), (b, of_b)) = (self.array(a).clone(), self.array(b).clone());
                let (a, b) = wait_on(&(a, b), SplitEvery::Flat).unwrap();
                self.arrays.extend([(a, of_a), (b, of_b)]);
            }
            Step::Persist(a) => {
                let (a, values) = self.array(a);
                self.arrays.push((session.persist(a).unwrap(), values.clone()));
            }
            _ => {}
        }
    }
}

fn build(program: &[(Step, u8)], session: &Session) -> State {
    let mut state = State::default();
    annotate(asked(4, true), || state.does(&Step::Source(1, 5), session, 4, 0));
    for (number, (step, wish)) in program.iter().enumerate() {
        annotate(asked(*wish, !matches!(step, Step::Running(_) | Step::Call(_))), || {
            state.does(step, session, *wish, number);
        });
    }
    state
}

/// The places, in the order in which steps were done, of all that each layer of the graph took part in, moves of its
/// values left out.
fn places(prepared: &Prepared, done: &[StepId]) -> HashMap<String, Vec<usize>> {
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    let moves = |step: StepId| prepared.plan.step(step).kind == StepKind::Transfer;
    for (place, step) in done.iter().enumerate().filter(|(_, step)| !moves(**step)) {
        for source in &prepared.plan.layer_of(*step).sources {
            places.entry(source.name.clone()).or_default().push(place);
        }
    }
    places
}

fn names(array: &Array) -> Vec<String> {
    LayerGraph::of(array.output_layers().unwrap())
        .layers()
        .map(|(_, layer)| layer.name().to_owned())
        .collect()
}

/// Nothing of what is bound, but what its parents share with it, is done before its parents are.
fn holds_back(session: &Session, bound: &Array, parent: &Array) {
    let layers = [bound, parent].map(|one| one.layer().unwrap().clone());
    let prepared = session.prepare(&layers).unwrap();
    let done = Arc::new(Mutex::new(Vec::new()));
    let seen = done.clone();
    let control = Control::new().observed(move |event| {
        if event.outcome.is_ok() {
            seen.lock().unwrap().push(event.step);
        }
    });
    session.run(&prepared, &control).unwrap();
    let done = std::mem::take(&mut *done.lock().unwrap());
    let place: HashMap<StepId, usize> = done.iter().copied().zip(0..).collect();
    for (earlier, later) in &prepared.plan.orderings {
        assert!(place[earlier] < place[later], "{earlier:?} and {later:?}");
    }
    let (places, parents) = (places(&prepared, &done), names(parent));
    let ready = places[parent.layer().unwrap().name()].iter().max().copied();
    let barrier = LayerGraph::of(bound.output_layers().unwrap());
    let barrier: Vec<String> =
        barrier.layers().filter(|(_, l)| l.op().name() == "wait").map(|(_, l)| l.name().to_owned()).collect();
    for name in names(bound).iter().filter(|name| !parents.contains(name) && !barrier.contains(name)) {
        if let Some(first) = places.get(name).and_then(|own| own.iter().min()) {
            assert!(Some(*first) > ready, "{name} began before {parent:?} was done");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn programs_give_what_plain_vectors_give(
        program in proptest::collection::vec(step(), 1..14),
        threads in 1..5usize,
        faults in proptest::collection::vec(1..40u64, 0..3),
    ) {
        let mut plan = FaultPlan::none();
        for at in faults {
            plan = plan.with(at, Fault::Fails);
        }
        let session = simulated(threads, plan);
        let state = build(&program, &session);
        let arrays: Vec<Array> = state.arrays.iter().map(|(array, _)| array.clone()).collect();
        let calls: Vec<Delayed<f64>> = state.calls.iter().map(|(call, _)| call.clone()).collect();
        let (values, sums, _) = session.compute(&(arrays.clone(), calls, state.marks.clone())).unwrap();
        for ((value, (_, want)), array) in values.iter().zip(&state.arrays).zip(&arrays) {
            prop_assert_eq!(&value.to_vec::<f64>().unwrap(), want, "{:?}", array);
        }
        for (sum, (_, want)) in sums.iter().zip(&state.calls) {
            prop_assert_eq!(**sum, *want);
        }
        // One by one, nothing else being there.
        let (last, want) = state.arrays.last().unwrap();
        prop_assert_eq!(&session.compute(last).unwrap().to_vec::<f64>().unwrap(), want);
        let clean = simulated(threads, FaultPlan::none());
        state.bound.iter().for_each(|(bound, parent)| holds_back(&clean, bound, parent));
    }
}
