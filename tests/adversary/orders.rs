//! Barriers: nothing of what is bound begins early, whatever its layers read.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use outcrop::collections::manipulate::{Options, bind, checkpoint, clone, wait_on};
use outcrop::collections::{Array, Collection, Delayed};
use outcrop::collections::{Computed, Rename};
use outcrop::graph::error::GraphError;
use outcrop::graph::keys::Keys;
use outcrop::graph::layer_graph::{LayerGraph, NewLayer};
use outcrop::graph::tasks::{Argument, Function, Task};
use outcrop::key::Key;
use outcrop::value::Object;

use crate::host;

/// Two explicit tasks over `x`: one reads it, one reads nothing.
#[derive(Clone)]
struct Pair(LayerGraph, String);

impl Collection for Pair {
    type Value = usize;
    fn graph(&self) -> Result<LayerGraph, GraphError> {
        Ok(self.0.clone())
    }
    fn keys(&self) -> Result<Keys, GraphError> {
        let key = |at: i64| -> Result<Keys, GraphError> { Ok(Keys::One(Key::new(self.1.as_str(), [at])?)) };
        Ok(Keys::List(vec![key(0)?, key(1)?]))
    }
    fn rebuild(&self, graph: &LayerGraph, rename: &Rename) -> Result<Self, GraphError> {
        Ok(Pair(graph.clone(), rename.of(&self.1).to_owned()))
    }
    fn finalize(&self, _: &Computed) -> Result<usize, GraphError> {
        Ok(2)
    }
}

#[test]
fn a_task_that_reads_nothing_is_held_back_too() {
    let done = Arc::new(AtomicBool::new(false));
    let early = Arc::new(AtomicUsize::new(0));
    let (is_done, count) = (done.clone(), early.clone());
    let look = Function::unregistered("look", move |_| {
        count.fetch_add(usize::from(!is_done.load(Ordering::SeqCst)), Ordering::SeqCst);
        Ok(Object::new(0i64))
    });
    let x = Array::arange(0.0, 1.0, 4).named("x");
    let key = |at: i64| Key::new("pair", [at]).unwrap();
    let reads =
        Task { function: look.clone(), arguments: vec![Argument::Key(Key::block("x", &[0]).unwrap())] };
    let tasks = vec![(key(0), Task { function: look, arguments: vec![] }), (key(1), reads)];
    let pair = Pair(
        LayerGraph::from_collections("pair", NewLayer::Tasks { tasks, bytes: 8 }, &x).unwrap(),
        "pair".into(),
    );
    let slow = Delayed::call("slow", (), || std::thread::sleep(std::time::Duration::from_millis(0)));
    let mark = Delayed::call("mark", (&slow,), move |_: &()| done.store(true, Ordering::SeqCst));
    let bound = bind(&pair, &mark, &Options::new()).unwrap();
    let session = outcrop::session::Session::new(crate::config(1));
    session.compute(&(bound, mark)).unwrap();
    assert_eq!(early.load(Ordering::SeqCst), 0);
}

#[test]
fn one_seed_in_different_circumstances_gives_different_names() {
    let x = Array::arange(0.0, 1.0, 4).rechunk(&[2]);
    let y = &(&x + 1.0).named("y") * 2.0;
    let seeded = || Options::new().seed("one");
    let whole = clone(&y, &seeded()).unwrap();
    let again = clone(&y, &seeded()).unwrap();
    let shares = clone(&y, &seeded().omit(&x)).unwrap();
    let session = host();
    assert_eq!(whole.layer_names().unwrap(), again.layer_names().unwrap());
    let all = session.compute(&vec![whole.clone(), again.clone(), shares, y.clone()]).unwrap();
    all.iter().for_each(|one| assert_eq!(one.to_vec::<f64>().unwrap(), [2.0, 4.0, 6.0, 8.0]));
    let together = LayerGraph::of([whole, again].map(|one| one.layer().unwrap().clone()));
    together.validate().unwrap();
    assert_eq!(together.layer_count(), LayerGraph::of([y.layer().unwrap().clone()]).layer_count());
}

#[test]
fn binding_in_both_directions_and_to_oneself() {
    let x = Array::arange(0.0, 1.0, 4).rechunk(&[2]);
    let y = &x * 2.0;
    let session = host();
    let down = bind(&y, &x, &Options::new()).unwrap();
    let up = bind(&x, &y, &Options::new()).unwrap();
    let own = bind(&y, &y, &Options::new()).unwrap();
    let twice =
        clone(&clone(&bind(&own, &own, &Options::new()).unwrap(), &Options::new()).unwrap(), &Options::new())
            .unwrap();
    let (waited, again) = wait_on(&(down.clone(), down.clone()), Default::default()).unwrap();
    let done = checkpoint(&(y.clone(), y.clone(), up.clone()), Default::default()).unwrap();
    let (a, b, c, d, e) = session.compute(&(down, up, own, twice, (waited, again, done))).unwrap();
    let twos = [0.0, 2.0, 4.0, 6.0];
    for one in [&a, &c, &d, &e.0, &e.1] {
        assert_eq!(one.to_vec::<f64>().unwrap(), twos);
    }
    assert_eq!(b.to_vec::<f64>().unwrap(), [0.0, 1.0, 2.0, 3.0]);
}

#[test]
fn what_waits_is_the_same_graph_every_time() {
    let parts: Vec<Array> = (0..40).map(|i| &Array::arange(0.0, 1.0, 4) + f64::from(i)).collect();
    let text = |waited: &Vec<Array>| {
        let graphs: Vec<LayerGraph> = waited.iter().map(|one| one.graph().unwrap()).collect();
        LayerGraph::merge(&graphs).unwrap().to_string()
    };
    let first = text(&wait_on(&parts, Default::default()).unwrap());
    assert_eq!(first, text(&wait_on(&parts, Default::default()).unwrap()));
}

#[test]
fn long_chains_of_barriers_are_built_run_and_dropped() {
    let x = Array::arange(0.0, 1.0, 4).rechunk(&[2]);
    let last = (0..5000).fold(x.clone(), |parent, _| bind(&x, &parent, &Options::new()).unwrap());
    assert_eq!(host().compute(&last).unwrap().to_vec::<f64>().unwrap(), [0.0, 1.0, 2.0, 3.0]);
    let longer = (0..100_000).fold(x.clone(), |parent, _| bind(&x, &parent, &Options::new()).unwrap());
    drop(longer);
}

#[test]
fn copies_share_what_is_omitted_and_what_waits_stays_held_back() {
    let x = (&Array::arange(0.0, 1.0, 8).rechunk(&[2]) + 1.0).named("x");
    let y = (&x * 2.0).named("y");
    let bound = bind(&y, &x, &Options::new().omit(&x)).unwrap();
    let graph = LayerGraph::of([bound.layer().unwrap().clone()]);
    assert_eq!(graph.layers().filter(|(_, layer)| layer.name() == "x").count(), 1);
    let two = bind(&bound, &(&x + 5.0), &Options::new().omit(&x)).unwrap();
    let three = clone(&two, &Options::new().omit(&bound)).unwrap();
    let session = host();
    for one in session.compute(&vec![bound, two, three, y]).unwrap() {
        assert_eq!(one.to_vec::<f64>().unwrap()[7], 16.0);
    }
}

#[test]
fn graphs_that_were_culled_are_whole_again_beside_whole_ones() {
    let x = (&Array::arange(0.0, 1.0, 8).rechunk(&[2]) + 1.0).named("x");
    let y = (&x * 2.0).named("y");
    let graph = y.graph().unwrap();
    let key = |at: usize| Keys::One(Key::block("y", &[at]).unwrap());
    let parts = [0, 3].map(|at| graph.cull(&key(at)).unwrap());
    let both = LayerGraph::merge(&parts).unwrap();
    assert_eq!(both.len(), parts[0].len() + parts[1].len());
    let session = host();
    let values = |graph: &LayerGraph| {
        let prepared = session.prepare_graph(graph, &outcrop::annotate::Overrides::new()).unwrap();
        session.run(&prepared, &outcrop::exec::Control::new()).unwrap().results
    };
    let outcrop::exec::ResultValue::Values(some) = &values(&both)[0] else { panic!("an array") };
    let some: Vec<f64> =
        some.iter().flat_map(|value| value.block().unwrap().to_vec::<f64>().unwrap()).collect();
    assert_eq!(some, [2.0, 4.0, 14.0, 16.0]);
    let whole = LayerGraph::merge(&[both, graph, parts[0].clone()]).unwrap();
    assert_eq!(values(&whole)[0].array().unwrap().to_vec::<f64>().unwrap()[7], 16.0);
    let inner = LayerGraph::merge(&[parts[1].clone(), x.graph().unwrap()]).unwrap();
    let results = values(&inner);
    assert_eq!(results[1].array().unwrap().to_vec::<f64>().unwrap().len(), 8);
}
