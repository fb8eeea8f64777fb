//! A delay before every block of any collection, the original beside it.

use std::time::Duration;

use outcrop::annotate::{Annotations, annotate};
use outcrop::collections::{Array, Collection, Collections, Dataset, Delayed};
use outcrop::graph::{LayerGraph, Outputs};
use outcrop::session::Session;
use outcrop::settings::Config;
use third_party::{Delay, Ragged, delayed};

/// Delays, checks the graphs, and computes original and variant side by side.
fn side_by_side<C: Collections + Clone>(original: &C, blocks: usize) -> (C::Values, C::Values) {
    let delay = Delay::of(Duration::from_millis(10));
    let slow = delayed(original, &delay).unwrap();
    let (old, new) = (original.output_layers().unwrap(), slow.output_layers().unwrap());
    for (old, new) in old.iter().zip(&new) {
        assert_eq!((new.op().name(), new.spec()), ("delay", old.spec()));
        assert_eq!(new.annotations(), old.annotations());
    }
    // The variant is the original and as many layers again as there are outputs, and nothing lost an annotation.
    let mut before = annotated(&LayerGraph::of(old.clone()));
    before.extend(old.iter().map(|layer| ("delay".to_owned(), layer.annotations().to_string())));
    before.sort();
    assert_eq!(annotated(&LayerGraph::of(new)), before);
    let session = Session::new(Config { threads: Some(2), ..Config::default() });
    let values = session.compute(&(original.clone(), slow)).unwrap();
    assert_eq!(delay.passed(), blocks);
    values
}

fn annotated(graph: &LayerGraph) -> Vec<(String, String)> {
    let line = |layer: &outcrop::graph::layer::Layer| {
        (layer.op().name().to_owned(), layer.annotations().to_string())
    };
    let mut lines: Vec<_> = graph.layers().map(|(_, layer)| line(layer)).collect();
    lines.sort();
    lines
}

fn asked() -> Annotations {
    Annotations::new().set("retries", 1).unwrap().set("priority", 2.0).unwrap().set("owner", "us").unwrap()
}

#[test]
fn case_c09_a_delay_before_every_block_of_any_collection() {
    let array = annotate(asked(), || Array::arange(0.0, 1.0, 10).rechunk(&[4]).sin());
    let value = annotate(asked(), || Delayed::call("three", (), || 3));
    let rows = annotate(asked(), || Ragged::from_rows("m", vec![vec![1.0], vec![2.0, 3.0]], 1)).unwrap();
    let rows = rows.anomaly().unwrap();
    let dataset = Dataset::new("a", &["x"], &array).unwrap().with("b", &["x"], &(&array * 2.0)).unwrap();

    let (fast, slow) = side_by_side(&array, 3);
    assert_eq!(fast, slow);
    let (fast, slow) = side_by_side(&value, 1);
    assert_eq!((*fast, *slow), (3, 3));
    let (fast, slow) = side_by_side(&rows, 3);
    assert_eq!(fast, slow);
    let (fast, slow) = side_by_side(&dataset, 6);
    assert!(fast.len() == 2 && fast.iter().all(|(name, block)| slow[name] == *block));
    let ((one, two), (other, another)) = side_by_side(&(array, rows.clone()), 6);
    assert!(one == other && two == another);
    assert_eq!(rows.layer_names().unwrap().len(), 2);
}
