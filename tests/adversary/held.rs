//! Values that were persisted, beside the layers that they stand in for.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use outcrop::collections::Computed;
use outcrop::collections::manipulate::{Options, bind, clone};
use outcrop::collections::{Array, Collection, Delayed, Rename};
use outcrop::dtype::DType;
use outcrop::graph::error::GraphError;
use outcrop::graph::keys::Keys;
use outcrop::graph::layer_graph::LayerGraph;
use outcrop::key::Key;
use outcrop::value::Value;

use crate::host;

#[test]
fn the_persisted_and_the_original_are_both_computed_right_in_either_order() {
    let session = host();
    let x = (&Array::arange(0.0, 1.0, 1000).rechunk(&[100]) * 3.0).named("x");
    let want: Vec<f64> = (0..1000).map(|i| f64::from(i) * 3.0).collect();
    let held = session.persist(&x).unwrap();
    for pair in [(x.clone(), held.clone()), (held.clone(), x.clone())] {
        let (a, b) = session.compute(&pair).unwrap();
        assert_eq!(a.to_vec::<f64>().unwrap(), want);
        assert_eq!(b.to_vec::<f64>().unwrap(), want);
    }
    let (sum, all) = session.compute(&(&x + 1.0, held.clone())).unwrap();
    assert_eq!(all.to_vec::<f64>().unwrap(), want);
    assert_eq!(sum.to_vec::<f64>().unwrap()[999], 2998.0);
    let three = session.compute(&vec![x.clone(), held, &x + 0.0]).unwrap();
    three.iter().for_each(|all| assert_eq!(all.to_vec::<f64>().unwrap(), want));
}

#[test]
fn what_is_persisted_is_made_no_second_time() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    let made = Delayed::call("made", (), move || count.fetch_add(1, Ordering::SeqCst) as i64);
    let session = host();
    let held = session.persist(&made).unwrap();
    let next = Delayed::call("next", (&made,), |x: &i64| x + 10);
    assert_eq!(*session.compute(&(next.clone(), held.clone())).unwrap().0, 10);
    assert_eq!(*session.compute(&(held.clone(), next)).unwrap().1, 10);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    let sized = held.sized(outcrop::units::Bytes(1 << 10));
    assert_eq!(*session.compute(&(made.clone(), sized)).unwrap().1, 0);
    let copy = clone(&held, &Options::new()).unwrap();
    let (a, b, c) = session.compute(&(copy, held, made)).unwrap();
    assert_eq!((*a, *b, *c, calls.load(Ordering::SeqCst)), (0, 0, 0, 1));
}

/// Some blocks of an array, as they stand.
#[derive(Clone)]
struct Some2 {
    graph: LayerGraph,
    keys: Vec<Key>,
}

impl Some2 {
    fn of(array: &Array, blocks: &[usize]) -> Self {
        let layer = array.layer().unwrap();
        Some2 {
            graph: LayerGraph::of([layer.clone()]),
            keys: blocks.iter().map(|&b| layer.key(b).unwrap()).collect(),
        }
    }
}

impl Collection for Some2 {
    type Value = Vec<Vec<f64>>;
    fn graph(&self) -> Result<LayerGraph, GraphError> {
        Ok(self.graph.clone())
    }
    fn keys(&self) -> Result<Keys, GraphError> {
        Ok(Keys::List(self.keys.iter().cloned().map(Keys::One).collect()))
    }
    fn rebuild(&self, graph: &LayerGraph, rename: &Rename) -> Result<Self, GraphError> {
        let keys = self.keys.iter().map(|key| Key::new(rename.of(key.name()), key.parts().iter().cloned()));
        Ok(Some2 { graph: graph.clone(), keys: keys.collect::<Result<_, _>>()? })
    }
    fn finalize(&self, values: &Computed) -> Result<Self::Value, GraphError> {
        let value = |key: &Key| match values.find(key) {
            Some(Value::Block(block)) => block.to_vec::<f64>().unwrap(),
            other => panic!("{key}: {other:?}"),
        };
        Ok(self.keys.iter().map(value).collect())
    }
}

#[test]
fn permutations_repetitions_and_parts_of_a_layers_blocks() {
    let session = host();
    let x = Array::arange(0.0, 1.0, 6).rechunk(&[2]).named("x");
    let twice = Some2::of(&x, &[2, 0, 2]);
    assert_eq!(session.compute(&twice).unwrap(), [[4.0, 5.0], [0.0, 1.0], [4.0, 5.0]]);
    let all = Some2::of(&x, &[2, 1, 0]);
    assert_eq!(session.compute(&all).unwrap(), [[4.0, 5.0], [2.0, 3.0], [0.0, 1.0]]);
    let (some, whole) = session.compute(&(Some2::of(&x, &[1]), x.clone())).unwrap();
    assert_eq!((some, whole.to_vec::<f64>().unwrap().len()), (vec![vec![2.0, 3.0]], 6));
}

#[test]
fn a_part_that_was_persisted_does_not_stand_in_for_the_whole() {
    let session = host();
    for x in [
        Array::arange(0.0, 1.0, 6).rechunk(&[2]).named("x"),
        (&Array::ones([6], DType::F64).rechunk(&[2]) + 1.0).named("y"),
    ] {
        let part = session.persist(&Some2::of(&x, &[1])).unwrap();
        let want = session.compute(&x).unwrap().to_vec::<f64>().unwrap();
        let (some, whole) = session.compute(&(part.clone(), x.clone())).unwrap();
        assert_eq!((&some[0][..], whole.to_vec::<f64>().unwrap()), (&want[2..4], want.clone()));
        let (whole, some) = session.compute(&(x.clone(), part)).unwrap();
        assert_eq!((&some[0][..], whole.to_vec::<f64>().unwrap()), (&want.clone()[2..4], want));
    }
}

#[test]
fn binding_and_cloning_what_is_persisted_and_what_contains_it() {
    let session = host();
    let x = Array::arange(0.0, 1.0, 6).rechunk(&[2]);
    let held = session.persist(&x).unwrap();
    let itself = bind(&held, &held, &Options::new()).unwrap();
    let of_parent = bind(&x, &(&held * 2.0), &Options::new()).unwrap();
    let (a, b, c) = session.compute(&(itself, of_parent, x)).unwrap();
    assert!([a, b, c].iter().all(|one| one.to_vec::<f64>().unwrap() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]));
}

#[test]
fn outputs_that_stand_in_for_each_other_are_copied_out() {
    let session = host();
    let x = (&Array::arange(0.0, 1.0, 100).rechunk(&[10]) * 3.0).named("x");
    let held = session.persist(&x).unwrap();
    for pair in [[&x, &held], [&held, &x]] {
        let layers = pair.map(|one| one.layer().unwrap().clone());
        let prepared = session.prepare(&layers).unwrap();
        let done = session.run(&prepared, &outcrop::exec::Control::new()).unwrap();
        for result in &done.results {
            assert_eq!(result.array().unwrap().to_vec::<f64>().unwrap()[99], 297.0);
        }
    }
}

#[test]
fn parts_that_were_persisted_one_by_one_are_whole_together() {
    let session = host();
    let x = (&Array::arange(0.0, 1.0, 6).rechunk(&[2]) + 1.0).named("x");
    let [a, b] = [0, 2].map(|block| session.persist(&Some2::of(&x, &[block])).unwrap());
    let (a, b, c) = session.compute(&(a, b, Some2::of(&x, &[1]))).unwrap();
    assert_eq!((a, b, c), (vec![vec![1.0, 2.0]], vec![vec![5.0, 6.0]], vec![vec![3.0, 4.0]]));
}
