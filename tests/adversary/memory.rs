//! What is asked of memory, against what runs at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use outcrop::annotate::{Annotations, annotate};
use outcrop::block::Block;
use outcrop::collections::{Array, Delayed};
use outcrop::session::Session;
use outcrop::settings::Config;
use outcrop::units::Bytes;

const BUDGET: u64 = 64 << 20;

fn tight() -> Session {
    Session::new(Config { threads: Some(4), memory: Some(Bytes(BUDGET)), ..Config::default() })
}

/// The most calls of `share` of the budget each that run at once; each reads what `argument` makes.
fn at_once(share: f64, argument: impl Fn(usize) -> Array) -> usize {
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let bytes = format!("{} B", (BUDGET as f64 * share) as u64);
    let wish = Annotations::new().set("memory", &*bytes).unwrap();
    let call = |at: usize| {
        let (running, most) = (running.clone(), most.clone());
        let x = argument(at);
        annotate(wish.clone(), || {
            Delayed::call("greedy", (&x,), move |x: &Block| {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                (0..200).for_each(|_| std::thread::yield_now());
                let sum: f64 = x.to_vec::<f64>().unwrap().iter().sum();
                running.fetch_sub(1, Ordering::SeqCst);
                sum
            })
        })
    };
    let calls: Vec<Delayed<f64>> = (0..12).map(call).collect();
    assert!(tight().compute(&calls).unwrap().iter().all(|sum| **sum > 0.0));
    most.load(Ordering::SeqCst)
}

#[test]
fn calls_that_ask_for_more_than_half_of_the_memory_run_one_by_one() {
    let small = |_| Array::ones([10], outcrop::dtype::DType::F64);
    assert_eq!(at_once(0.6, small), 1);
    let large = |at: usize| &Array::ones([1 << 20], outcrop::dtype::DType::F64) * (at as f64 + 1.0);
    assert_eq!(at_once(0.6, large), 1);
    // A view of the user's own array isn't in the book: all that is asked for is reserved.
    let held = vec![1.0f64; (BUDGET / 16) as usize];
    let mine = move |_| Array::from_slice([held.len()], &held);
    assert_eq!(at_once(0.6, mine), 1);
}

#[test]
fn only_what_is_asked_of_a_chain_is_held_to_the_end() {
    use outcrop::graph::keys::Keys;
    use outcrop::graph::layer_graph::{LayerGraph, NewLayer};
    use outcrop::graph::tasks::{Argument, Function, Task};
    use outcrop::key::Key;
    use outcrop::value::Object;
    let key = |at: i64| Key::new("t", [at]).unwrap();
    let next = Function::unregistered("next", |_| Ok(Object::new(1i64)));
    let task = |at: i64| Task {
        function: next.clone(),
        arguments: (at > 0).then(|| Argument::Key(key(at - 1))).into_iter().collect(),
    };
    let tasks = (0..1000).map(|at| (key(at), task(at))).collect();
    let chain = LayerGraph::from_collections("t", NewLayer::Tasks { tasks, bytes: 1 << 20 }, &()).unwrap();
    let last = chain.cull(&Keys::One(key(999))).unwrap();
    assert_eq!(last.len(), 1000);
    let prepared = tight().prepare_graph(&last, &outcrop::annotate::Overrides::new()).unwrap();
    assert_eq!(prepared.plan.memories[0].peak, Bytes(3 << 20));
    let merged = LayerGraph::merge(&[last, chain.cull(&Keys::One(key(2))).unwrap()]).unwrap();
    let prepared = tight().prepare_graph(&merged, &outcrop::annotate::Overrides::new()).unwrap();
    let done = tight().run(&prepared, &outcrop::exec::Control::new()).unwrap();
    let outcrop::exec::ResultValue::Values(values) = &done.results[0] else { panic!("an array") };
    assert_eq!(values.len(), 2);
}
