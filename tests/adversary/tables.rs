//! Explicit tasks: many, odd, wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use outcrop::annotate::{self, Annotations, KeyFunction, Overrides};
use outcrop::collections::manipulate::{Options, clone};
use outcrop::collections::{Array, Collection, Delayed};
use outcrop::exec::Control;
use outcrop::graph::cull::Part;
use outcrop::graph::custom::TaskError;
use outcrop::graph::error::GraphError;
use outcrop::graph::keys::Keys;
use outcrop::graph::layer::Layer;
use outcrop::graph::layer_graph::{LayerGraph, NewLayer};
use outcrop::graph::tasks::{Argument, Function, Task};
use outcrop::key::{Key, KeyPart};
use outcrop::units::Bytes;
use outcrop::value::{Object, Value};

use crate::host;

fn sum(values: &[Value]) -> Result<Object, TaskError> {
    let of = |value: &Value| match value {
        Value::Object(object) => *object.downcast::<i64>().unwrap(),
        Value::Block(block) => block.to_f64_vec().unwrap().iter().sum::<f64>() as i64,
    };
    Ok(Object::new(values.iter().map(of).sum::<i64>()))
}

fn task(arguments: Vec<Argument>) -> Task {
    Task { function: Function::registered("sum", 1, sum), arguments }
}

fn key(at: i64) -> Key {
    Key::new("t", [at]).unwrap()
}

fn table(tasks: Vec<(Key, Task)>, inputs: &[Arc<Layer>]) -> Result<LayerGraph, GraphError> {
    LayerGraph::from_collections("t", NewLayer::Tasks { tasks, bytes: 8 }, inputs)
}

fn values(graph: &LayerGraph, keys: &Keys) -> Vec<i64> {
    let session = host();
    let culled = graph.cull(keys).unwrap();
    let prepared = session.prepare_graph(&culled, &Overrides::new()).unwrap();
    let done = session.run(&prepared, &Control::new()).unwrap();
    let outcrop::exec::ResultValue::Values(values) = &done.results[0] else { panic!("an array") };
    values.iter().map(|value| *value.object::<i64>().unwrap()).collect()
}

#[test]
fn a_table_without_tasks_is_refused() {
    let error = table(Vec::new(), &[]).unwrap_err().to_string();
    assert!(error.contains("at least one value"), "{error}");
}

#[test]
fn inputs_beyond_what_a_task_can_number_are_refused_not_mixed_up() {
    let one = |i: usize| Delayed::literal(i as i64).layer().unwrap().clone();
    let inputs: Vec<Arc<Layer>> = (0..65_540).map(one).collect();
    let read = |at: usize| Argument::Key(inputs[at].key(0).unwrap());
    let good =
        table(vec![(key(0), task(vec![read(65_534)])), (key(1), task(vec![read(3)]))], &inputs[..65_535]);
    assert_eq!(values(&good.unwrap(), &Keys::One(key(0))), [65_534]);
    let error = table(vec![(key(0), task(vec![read(65_539)]))], &inputs).unwrap_err().to_string();
    assert!(error.contains("65535"), "{error}");
    // Every task reads another input: looking each up by name is no walk over all of them.
    let all = (0..65_000).map(|at| (key(at as i64), task(vec![read(at)]))).collect();
    table(all, &inputs[..65_535]).unwrap();
}

#[test]
fn chains_of_a_hundred_thousand_tasks_in_any_order() {
    let link = |at: i64| {
        (
            key(at),
            task(if at == 0 { vec![Argument::literal(1i64)] } else { vec![Argument::Key(key(at - 1))] }),
        )
    };
    let count = 100_000;
    let graph = table((0..count).rev().map(link).collect(), &[]).unwrap();
    assert_eq!(values(&graph, &Keys::One(key(count - 1))), [1]);
}

#[test]
fn only_what_a_key_needs_is_called() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    let counted = Function::unregistered("counted", move |values| {
        count.fetch_add(1, Ordering::SeqCst);
        sum(values)
    });
    let parts: Vec<KeyPart> = vec![
        0.5.into(),
        KeyPart::from(b"\0\xff".to_vec()),
        KeyPart::Tuple(vec![1.into(), "a".into()].into()),
    ];
    let name = |at: usize| Key::new("t", [parts[at % 3].clone(), (at as i64).into()]).unwrap();
    let x = Array::arange(0.0, 1.0, 6).rechunk(&[2]).named("x");
    let block = |at: usize| Argument::Key(Key::block("x", &[at]).unwrap());
    let call = |arguments| Task { function: counted.clone(), arguments };
    let tasks = vec![
        (name(0), call(vec![Argument::Key(name(1)), Argument::Key(name(2)), Argument::Key(name(1))])),
        (name(1), call(vec![Argument::Key(name(3)), block(0), block(2), block(0)])),
        (name(2), call(vec![Argument::Key(name(3))])),
        (name(3), call(vec![Argument::literal(100i64)])),
        (name(4), call(vec![block(1)])),
    ];
    let graph = table(tasks, &[x.layer().unwrap().clone()]).unwrap();
    let diamond = 111 + 100 + 111;
    assert_eq!(values(&graph, &Keys::One(name(0))), [diamond]);
    assert_eq!(calls.load(Ordering::SeqCst), 4);
    assert_eq!(values(&graph, &Keys::One(name(4))), [5]);
    assert_eq!(calls.load(Ordering::SeqCst), 5);
    let (svg, dot) = (graph.to_svg(), graph.to_dot());
    assert!(svg.contains("</svg>") && dot.contains("digraph"));
}

#[test]
fn grids_name_keys_that_are_there_all_of_them() {
    let sparse = table(vec![(key(7), task(vec![])), (key(1), task(vec![]))], &[]).unwrap();
    let grid = |name: &str, grid: &[usize]| Keys::Grid { name: name.into(), grid: grid.into() };
    assert!(matches!(sparse.cull(&grid("t", &[2])), Err(GraphError::UnknownKey { .. })));
    let x = Array::arange(0.0, 1.0, 12).rechunk(&[2]).named("x").graph().unwrap();
    let last = x.cull(&Keys::One(Key::block("x", &[5]).unwrap())).unwrap();
    assert!(matches!(last.cull(&grid("x", &[6])), Err(GraphError::UnknownKey { .. })));
    assert!(matches!(x.cull(&grid("x", &[3, 2])), Err(GraphError::UnknownKey { .. })));
    assert!(x.cull(&grid("x", &[6])).is_ok());
}

#[test]
fn many_keys_many_outputs_and_long_paths_take_linear_time() {
    let count = 60_000;
    let arrays = ["a", "b"].map(|name| Array::arange(0.0, 1.0, count).rechunk(&[1]).named(name));
    let graph = LayerGraph::of(arrays.map(|one| one.layer().unwrap().clone()));
    // Keys of two layers in turn.
    let keys = (0..count).flat_map(|at| ["a", "b"].map(|name| Keys::One(Key::block(name, &[at]).unwrap())));
    assert_eq!(graph.cull(&Keys::List(keys.collect())).unwrap().len(), 2 * count);
    // Parts that come users first.
    let part = |at: usize| Part {
        name: format!("p{at}"),
        layer: NewLayer::Tasks {
            tasks: vec![(Key::named(format!("p{at}")).unwrap(), task(vec![]))],
            bytes: 1,
        },
        inputs: if at == 0 { Vec::new() } else { vec![format!("p{}", at - 1)] },
    };
    assert_eq!(LayerGraph::from_parts((0..count).rev().map(part).collect()).unwrap().layer_count(), count);
    // One part with many inputs.
    let lone = |at: usize| Part { inputs: Vec::new(), ..part(at) };
    let mut parts = vec![Part { inputs: (0..count).map(|at| format!("p{at}")).collect(), ..part(count) }];
    parts.extend((0..count).map(lone));
    assert_eq!(LayerGraph::from_parts(parts).unwrap().layer_count(), count + 1);
    // As many outputs.
    let values: Vec<Delayed<i64>> = (0..count).map(|at| Delayed::literal(at as i64)).collect();
    let copies = clone(&values, &Options::new()).unwrap();
    assert_eq!(copies.len(), count);
    // One task that reads all of them.
    let all = Delayed::call("all", (values.iter().collect::<Vec<_>>(),), |x: &[Arc<i64>]| x.len());
    let tasks = all.graph().unwrap().to_tasks().unwrap();
    assert_eq!((tasks.len(), tasks[count].reads.len()), (count + 1, count));
    assert_eq!(*host().compute(&all).unwrap(), count);
    // A message doesn't list what nobody can read.
    let nowhere = Overrides::new().with("nowhere", Annotations::new()).unwrap();
    let error = host().overriding(nowhere).compute(&values).unwrap_err().to_string();
    assert!(error.ends_with("and 59950 more") && error.len() < 2000, "{error}");
}

#[test]
fn sizes_beyond_all_memory_are_refused_not_wrapped() {
    let huge: Vec<Delayed<i64>> =
        (0..5).map(|at| Delayed::literal(at as i64).sized(Bytes(u64::MAX))).collect();
    let error = host().compute(&huge).unwrap_err().to_string();
    assert!(error.contains("budget") || error.contains("memory"), "{error}");
    let all = Delayed::call("all", (huge.iter().collect::<Vec<_>>(),), |x: &[Arc<i64>]| x.len());
    assert!(host().compute(&all).is_err());
}

#[test]
fn a_declared_size_counts_whichever_handle_comes_first() {
    let value = Delayed::call("value", (), || 1i64);
    let sized = value.sized(Bytes(1 << 20));
    let session = host();
    for pair in [[value.clone(), sized.clone()], [sized, value]] {
        let layers = pair.map(|one| one.layer().unwrap().clone());
        assert!(session.prepare(&layers).unwrap().plan.memories[0].peak >= Bytes(1 << 20));
    }
}

#[test]
fn names_that_break_pictures_do_not() {
    let odd = "<&\"'>\n\u{1}\\ {x|y} ]]>";
    let x = Array::arange(0.0, 1.0, 4).named(odd);
    let y = Delayed::call("f<&>", (&x,), |_: &outcrop::block::Block| 1i64).named("y\"\\");
    let graph = y.graph().unwrap();
    let svg = graph.to_svg();
    assert!(!svg.contains('\u{1}') && !svg.contains("<&") && !svg.contains("{x|y} ]]>"), "{svg}");
    assert!(graph.to_dot().contains("digraph") && graph.to_string().contains("y\""));
}

#[test]
fn functions_of_the_key_see_the_keys_of_tasks_that_run_and_no_others() {
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let note = seen.clone();
    let by_key = KeyFunction::new("by-key", move |key: &Key| {
        note.lock().unwrap().push(key.clone());
        annotate::Value::Int(key.parts().len() as i128)
    });
    let name =
        |at: i64| Key::new("t", [KeyPart::Tuple(vec![at.into(), "a".into()].into()), 0.5.into()]).unwrap();
    let tasks =
        (0..4).map(|at| (name(at), task(if at == 0 { vec![] } else { vec![Argument::Key(name(at - 1))] })));
    let tasks = tasks.collect();
    let asked = Annotations::new().set("retries", by_key).unwrap();
    let graph = annotate::annotate(asked, || table(tasks, &[])).unwrap();
    let culled = graph.cull(&Keys::One(name(2))).unwrap();
    let prepared = host().prepare_graph(&culled, &Overrides::new()).unwrap();
    let mut seen = std::mem::take(&mut *seen.lock().unwrap());
    seen.sort();
    assert_eq!(seen, [name(0), name(1), name(2)]);
    assert!(prepared.plan.steps.iter().all(|step| prepared.plan.terms[step.terms as usize].retries == 2));
}
