//! What happens to annotations elsewhere, and must not here: a01 to a14.

use std::sync::Arc;
use std::time::Duration;

use outcrop::annotate::{Annotated, Annotations, KEYS, KeyFunction, Overrides, Value, annotate, current};
use outcrop::block::Block;
use outcrop::collections::Array;
use outcrop::collections::array::Over;
use outcrop::dtype::DType;
use outcrop::exec::Control;
use outcrop::graph::layer::Layer;
use outcrop::graph::layer_graph::LayerGraph;
use outcrop::graph::op::{Op, Sink, TransferError};
use outcrop::key::Key;
use outcrop::machine::Machine;
use outcrop::plan::effective::Effective;
use outcrop::plan::known::Known;
use outcrop::plan::{PlanError, plan};
use outcrop::session::Session;
use outcrop::settings::{Config, Settings};
use outcrop::shape::Region;
use outcrop::steps::{Plan, PlanLayer};
use serde_json::json;

use crate::allocated::allocated_bytes;

pub(super) fn machine(name: &str) -> Machine {
    let path = format!("{}/examples/machines/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    Machine::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap()
}

pub(super) fn config() -> Config {
    Config { threads: Some(2), ..Config::default() }
}

/// Amounts of every resource that the cases ask for.
pub(super) fn settings() -> Settings {
    Settings { resources: [("tape".to_owned(), 4.0), ("ink".to_owned(), 4.0)].into(), ..config().resolve(2) }
}

pub(super) fn with(key: &str, value: impl Into<Value>) -> Annotations {
    Annotations::new().set(key, value).unwrap()
}

fn from_json(pairs: serde_json::Value) -> Annotations {
    Annotations::from_pairs(pairs.as_object().unwrap().clone()).unwrap()
}

pub(super) fn by_row() -> KeyFunction {
    KeyFunction::new("by-row", |key: &Key| {
        Value::Int(key.index().and_then(|at| at.first().copied()).unwrap_or(0) as i128)
    })
}

/// Four blocks of ones.
pub(super) fn source() -> Array {
    Array::from_slice([64], &[1f32; 64]).rechunk(&[16])
}

fn graph(arrays: &[&Array]) -> LayerGraph {
    let layers: Vec<Arc<Layer>> = arrays.iter().map(|array| array.layer().unwrap().clone()).collect();
    LayerGraph::from_outputs(&layers).unwrap()
}

fn planned_on(machine_name: &str, arrays: &[&Array]) -> Result<Plan, PlanError> {
    plan(&graph(arrays), &Known::none(), &machine(machine_name), &settings())
}

/// The plan's layer that computes what the user calls `label`.
fn computes<'p>(plan: &'p Plan, label: &str) -> &'p PlanLayer {
    let has = |layer: &&PlanLayer| layer.sources.iter().any(|source| source.label.as_deref() == Some(label));
    plan.layers.iter().find(has).unwrap()
}

fn device<'p>(plan: &'p Plan, label: &str) -> &'p str {
    &plan.device_names[usize::from(computes(plan, label).device.0)]
}

/// `first` under one set, `second`, which reads it, under another.
pub(super) fn pair(first: &Annotations, second: &Annotations) -> Array {
    let x = source();
    let a = annotate(first.clone(), || (&x * 2.0).named("first"));
    annotate(second.clone(), || (&a + 1.0).named("second"))
}

pub(super) fn fused(plan: &Plan) -> bool {
    computes(plan, "first").name == computes(plan, "second").name
}

/// A sink that keeps nothing.
#[derive(Debug)]
struct Nowhere;

impl Sink for Nowhere {
    fn describe(&self) -> String {
        "nowhere".to_owned()
    }
    fn ordered(&self) -> bool {
        false
    }
    fn write(&self, _region: &Region, _block: &Block) -> Result<(), TransferError> {
        Ok(())
    }
    fn restart(&self) -> Result<(), TransferError> {
        Ok(())
    }
    fn finish(&self) -> Result<(), TransferError> {
        Ok(())
    }
}

fn stored(array: &Array) -> Array {
    let layer = array.layer().unwrap();
    let store = Op::Store(Arc::new(Nowhere));
    let layer = Layer::new(store, vec![layer.clone()], layer.chunks().clone(), layer.dtype());
    Array::from_layer(layer).named("stored")
}

/// Every pair of placement classes in a chain of three elementwise layers: two layers share a kernel only in
/// the same class or on the same device, and nobody is moved off the device that it asked for.
#[test]
fn a02_fusion_never_moves_a_stage_to_another_device() {
    let wishes = [json!({}), json!({"device": "cpu"}), json!({"device": "gpu"}), json!({"gpu": 0.5})];
    let home = ["host", "host", "gpu0", "gpu0"];
    for outer in 0..wishes.len() {
        for inner in 0..wishes.len() {
            let (edge, middle) = (from_json(wishes[outer].clone()), from_json(wishes[inner].clone()));
            let before = annotate(edge.clone(), || (source() * 2.0).named("before"));
            let between = annotate(middle, || (&before + 1.0).named("between"));
            let after = annotate(edge, || (&between * 3.0).named("after"));
            let plan = planned_on("one-gpu", &[&after]).unwrap();
            for (label, want) in [("before", home[outer]), ("between", home[inner]), ("after", home[outer])] {
                assert_eq!(device(&plan, label), want, "{label} in {plan}");
            }
            let on_gpu =
                plan.steps.iter().filter(|step| plan.device_names[usize::from(step.device.0)] == "gpu0");
            let gpu_layers = on_gpu.filter(|step| step.kernel != outcrop::steps::Step::NO_KERNEL);
            assert!(
                gpu_layers.map(|step| &plan.layers[step.layer as usize]).all(|layer| layer.class == "gpu")
            );
        }
    }
}

#[test]
fn a03_disjoint_workers_are_never_unrestricted() {
    let table = [
        (json!(["gpu0"]), json!(["gpu1"]), false),
        (json!(["host"]), json!(["gpu0"]), false),
        (json!(["gpu0", "gpu1"]), json!(["host"]), false),
        (json!(["gpu0"]), json!(["gpu0"]), true),
        (json!(["gpu*"]), json!(["gpu0", "gpu1"]), true),
    ];
    for (left, right, one_kernel) in table {
        let [first, second] = [&left, &right].map(|workers| from_json(json!({ "workers": workers })));
        for (a, b) in [(&first, &second), (&second, &first)] {
            let plan = planned_on("two-unequal-gpus", &[&pair(a, b)]).unwrap();
            assert_eq!(fused(&plan), one_kernel, "{left} with {right}: {plan}");
            for (label, wish) in [("first", a), ("second", b)] {
                let at = device(&plan, label);
                let allowed = machine("two-unequal-gpus").matching(wish.workers().unwrap());
                assert!(
                    allowed.contains(&computes(&plan, label).device),
                    "{label} on {at}, asked for {wish}"
                );
            }
        }
    }
    let empty = pair(&from_json(json!({"workers": ["gpu7"]})), &Annotations::new());
    assert!(matches!(planned_on("two-unequal-gpus", &[&empty]), Err(PlanError::Unsatisfiable(_))));
}

#[test]
fn a04_one_layers_preference_loosens_no_other_layer() {
    let hard = from_json(json!({"workers": ["gpu0"]}));
    let said = from_json(json!({"workers": ["gpu0"], "allow_other_workers": false}));
    let soft = from_json(json!({"workers": ["gpu0"], "allow_other_workers": true}));
    for strict in [&hard, &said] {
        for (first, second) in [(strict, &soft), (&soft, strict)] {
            assert_eq!(first.fused(second).unwrap_err().key, "allow_other_workers");
            let array = pair(first, second);
            assert!(!fused(&planned_on("one-gpu", &[&array]).unwrap()));
            let nowhere = planned_on("cpu-only", &[&array]).unwrap_err();
            let PlanError::Unsatisfiable(all) = &nowhere else { panic!("{nowhere}") };
            let strict_one = if first.allow_other_workers() { "second" } else { "first" };
            let refused: Vec<&str> = all.iter().map(|one| one.layer.as_str()).collect();
            assert_eq!(refused, [strict_one], "{nowhere}");
        }
        assert!(strict.fused(strict).is_ok());
    }
    assert!(hard.fused(&said).is_ok(), "absent counts as false");
    assert_eq!(device(&planned_on("cpu-only", &[&pair(&soft, &soft)]).unwrap(), "first"), "host");
}

/// Every key that may be a function, beside a plain value and beside nothing, on either side.
#[test]
fn a05_functions_beside_plain_values_work_fused_or_not() {
    let tape = KeyFunction::new("by-row", |_| Value::Table(vec![("tape".to_owned(), 1.into())]));
    let hour = KeyFunction::new("by-row", |_| Value::Duration(Duration::from_secs(3600)));
    let table: [(&str, KeyFunction, Value, bool); 6] = [
        ("priority", by_row(), 5.into(), true),
        ("retries", by_row(), 1.into(), true),
        ("memory", by_row(), "1 KiB".into(), true),
        ("resources", tape, json!({"tape": 2}).into(), true),
        ("timeout", hour, "1 h".into(), false),
        ("note", by_row(), "plain".into(), true),
    ];
    let config = Config { resources: Some(settings().resources), ..config() };
    let session = Session::on(machine("cpu-only"), config);
    for (key, function, plain, fuses_with_itself) in table {
        let (function, plain) = (with(key, function), with(key, plain));
        let custom = !KEYS.contains(&key);
        let none = Annotations::new();
        let pairs = [
            (&function, &plain, custom),
            (&plain, &function, custom),
            (&function, &none, custom),
            (&none, &function, custom),
            (&function, &function, fuses_with_itself),
        ];
        for (first, second, one_kernel) in pairs {
            let array = pair(first, second);
            let prepared = session.prepare(&[array.layer().unwrap().clone()]).unwrap();
            assert_eq!(fused(&prepared.plan), one_kernel, "{first} then {second}");
            let done = session.run(&prepared, &Control::new()).unwrap();
            assert_eq!(done.results[0].array().unwrap().to_vec::<f32>().unwrap(), [3.0; 64]);
            let shown = serde_json::to_string(&done.report).unwrap();
            assert!(shown.contains(&format!("\"{key}\":\"by-row(key)\"")), "{shown}");
        }
    }
}

/// One value of each key, and a second one.
pub(super) fn values_of_all_keys() -> Vec<(&'static str, Value, Value)> {
    vec![
        ("priority", 1.into(), (-2.5).into()),
        ("retries", 3.into(), 0.into()),
        ("device", "gpu".into(), "any".into()),
        ("gpu", 0.5.into(), 1.into()),
        ("memory", "2 GiB".into(), 0.into()),
        ("resources", json!({"tape": 1}).into(), json!({"ink": 2, "tape": 0}).into()),
        ("workers", "gpu0".into(), json!(["gpu*", "host"]).into()),
        ("allow_other_workers", true.into(), false.into()),
        ("timeout", "1 s".into(), "2 h".into()),
        ("checkpoint", true.into(), false.into()),
        ("note", json!({"deep": [1, null]}).into(), by_row().into()),
    ]
}

#[test]
fn a07_nested_scopes_keep_both_names_and_the_inner_value() {
    let mut sets = vec![Annotations::new(), Annotations::fresh(), with("device", "cpu")];
    for (key, first, second) in values_of_all_keys() {
        sets.extend([with(key, first), with(key, second)]);
    }
    sets.extend(["priority", "retries", "memory", "timeout"].map(|key| with(key, by_row())));
    sets.push(with("resources", by_row()));
    for a in &sets {
        for b in &sets {
            for c in &sets {
                let nest = |outer: &Annotations, middle: &Annotations, inner: &Annotations| {
                    let within = || annotate(inner.clone(), current);
                    annotate(outer.clone(), || annotate(middle.clone(), within))
                };
                let nested = nest(a, b, c);
                assert_eq!(nested, a.inner(&b.inner(c)), "{a} / {b} / {c}");
                assert_eq!(nested, a.inner(b).inner(c), "{a} / {b} / {c}");
            }
        }
    }
    let resources = |pairs| from_json(json!({ "resources": pairs }));
    let outer = resources(json!({"tape": 1, "ink": 2}));
    let merged = outer.inner(&resources(json!({"tape": 0, "paper": 3})));
    assert_eq!(merged, resources(json!({"tape": 0, "ink": 2, "paper": 3})));
    assert_eq!(outer.inner(&Annotations::fresh()).resources().len(), 0);
    // An explicit 0 asks for nothing, so that nobody has to declare the resource.
    let undeclared = planned_on("cpu-only", &[&pair(&resources(json!({"paper": 0})), &Annotations::new())]);
    assert!(undeclared.is_ok());
}

#[test]
fn a08_bad_values_are_refused_where_given() {
    let nan = || Value::Float(f64::NAN);
    let table_with = |name: &str, value: Value| Value::Table(vec![(name.to_owned(), value)]);
    let bad: Vec<(&str, Vec<Value>)> = vec![
        ("priority", vec![nan(), f64::INFINITY.into(), f64::NEG_INFINITY.into(), "1".into(), true.into()]),
        ("retries", vec![(-1).into(), 2.5.into(), nan(), "2".into(), (1u64 << 32).into(), json!([1]).into()]),
        ("device", vec!["GPU".into(), "tpu".into(), "".into(), 1.into(), json!(["gpu"]).into()]),
        ("gpu", vec![0.into(), (-0.5).into(), 1.5.into(), nan(), f64::INFINITY.into(), "all".into()]),
        ("memory", vec!["2 gigs".into(), "-1 GiB".into(), (-1).into(), 1.5.into(), nan(), true.into()]),
        ("memory", vec![f64::INFINITY.into(), "".into(), "GiB".into(), json!({"host": 1}).into()]),
        (
            "resources",
            [-1.0, f64::NAN, f64::INFINITY].map(|amount| table_with("tape", amount.into())).to_vec(),
        ),
        ("resources", vec![1.into(), "tape".into(), json!([1]).into(), table_with("", 1.into())]),
        ("resources", vec![json!({"tape": "one"}).into(), json!({"tape": {"deep": 1}}).into()]),
        ("resources", vec![json!({"GPU": 0}).into(), json!({"gpu": 1.5}).into(), table_with("Gpu", nan())]),
        ("resources", vec![json!({"ink": 1, "tape": null}).into(), table_with("tape", by_row().into())]),
        ("workers", vec![json!([]).into(), json!(["gpu0", 1]).into(), "gpu[".into(), "".into(), 1.into()]),
        ("workers", vec![json!(["gpu0", ["gpu1"]]).into(), Value::List(vec![by_row().into()])]),
        ("allow_other_workers", vec![1.into(), "yes".into(), Value::Null]),
        ("timeout", vec!["soon".into(), "-1 s".into(), 30.into(), "0 s".into(), Duration::ZERO.into()]),
        ("note", vec![nan(), Value::List(vec![1.into(), nan()]), table_with("deep", f64::INFINITY.into())]),
        (
            "note",
            vec![Value::List(vec![by_row().into()]), table_with("deep", table_with("er", by_row().into()))],
        ),
    ];
    for (key, value) in
        bad.into_iter().flat_map(|(key, values)| values.into_iter().map(move |value| (key, value)))
    {
        let error =
            Annotations::new().set(key, value.clone()).expect_err(&format!("{key} = {value}")).to_string();
        assert!(error.contains(&format!("'{key}'")) && error.contains(&value.to_string()), "{error}");
        let pairs = [("x-first", Value::from(1)), (key, value)];
        assert_eq!(Annotations::from_pairs(pairs).unwrap_err().to_string(), error);
    }
    for key in ["", "prority", "Retries", "work_ers", "memry"] {
        assert!(Annotations::new().set(key, 1).is_err(), "'{key}'");
    }
}

/// Threads and interleaved tasks build under different scopes; each layer has its own builder's annotations.
#[test]
fn a09_scopes_do_not_leak_between_threads_and_tasks() {
    let wish = |id: u32| with("priority", id).set("builder", format!("{id}")).unwrap();
    let check = |array: &Array, id: u32| {
        let annotations = array.layer().unwrap().annotations().clone();
        assert_eq!(
            (annotations.priority(), &annotations.custom()["builder"]),
            (Some(id.into()), &json!(id.to_string()))
        );
    };
    let barrier = std::sync::Barrier::new(8);
    std::thread::scope(|threads| {
        for id in 0..8 {
            let barrier = &barrier;
            threads.spawn(move || {
                annotate(wish(id), || {
                    for _ in 0..50 {
                        barrier.wait();
                        check(&(source() + 1.0), id);
                    }
                });
                assert!(current().is_empty());
            });
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let build = |id: u32| {
            async move {
                let mut array = source() + 1.0;
                for _ in 0..50 {
                    tokio::task::yield_now().await;
                    array = annotate(with("retries", id), || &array * 2.0);
                    check(&array, id);
                    assert_eq!(array.layer().unwrap().annotations().retries(), Some(id));
                }
                id
            }
            .annotated(wish(id))
        };
        let tasks: Vec<_> = (0..8).map(|id| tokio::spawn(build(id))).collect();
        for (id, task) in tasks.into_iter().enumerate() {
            assert_eq!(task.await.unwrap(), id as u32);
            assert!(current().is_empty(), "nothing is in force between polls");
        }
    });
}

#[test]
fn a11_the_same_expression_with_and_without_annotations_exists_twice() {
    let x = source();
    for (key, value, other) in values_of_all_keys() {
        let built = |wish: Annotations| annotate(wish, || &x * 2.0);
        let arrays = [built(Annotations::new()), built(with(key, value.clone())), built(with(key, other))];
        let graph = graph(&arrays.iter().collect::<Vec<_>>());
        let names: Vec<&str> = graph.layers().map(|(_, layer)| layer.name()).collect();
        assert_eq!(arrays.iter().filter(|array| names.contains(&array.layer().unwrap().name())).count(), 3);
        let kept: Vec<Annotations> =
            graph.outputs().iter().map(|&output| graph.layer(output).annotations().clone()).collect();
        let given: Vec<Annotations> =
            arrays.iter().map(|array| array.layer().unwrap().annotations().clone()).collect();
        assert_eq!(kept, given, "{key}");
        let again = built(with(key, value));
        assert_eq!(again.layer().unwrap().name(), arrays[1].layer().unwrap().name(), "equal work is shared");
    }
}

#[test]
fn a12_a_sinks_annotations_do_not_move_its_inputs() {
    let x = source();
    let home = |wish: &Annotations| {
        let y = annotate(wish.clone(), || (&x * 2.0).named("y"));
        let plan = planned_on("two-unequal-gpus", &[&stored(&y)]).unwrap();
        (device(&plan, "y").to_owned(), computes(&plan, "y").annotations.clone())
    };
    let wishes = [Annotations::new(), with("device", "cpu"), with("workers", "gpu1"), with("gpu", 0.5)];
    for wish in &wishes {
        let (alone, own) = home(wish);
        for (key, value, other) in values_of_all_keys() {
            for of_sink in [with(key, value), with(key, other)] {
                let y = annotate(wish.clone(), || (&x * 2.0).named("y"));
                let sink = annotate(of_sink.clone(), || stored(&y));
                let plan = planned_on("two-unequal-gpus", &[&sink]).unwrap();
                assert_eq!(device(&plan, "y"), alone, "{wish} stored under {of_sink}");
                assert_eq!(computes(&plan, "y").annotations, own);
                assert_eq!(device(&plan, "stored"), "host");
                assert_eq!(computes(&plan, "stored").sources[0].annotations, of_sink);
            }
        }
    }
}

/// Making annotated layers of 10^8 blocks, looking annotations up, merging and overriding them allocates as much
/// as it does on ten blocks, which is little.
#[test]
fn a13_annotations_of_a_layer_of_many_blocks_cost_nothing_for_a_block() {
    let asked = |blocks: usize| {
        let before = allocated_bytes();
        let wish = with("retries", 2).set("note", by_row()).unwrap().set("memory", "1 GiB").unwrap();
        let y = annotate(wish, || {
            let x = Array::zeros([blocks], DType::F32).rechunk(&[1]);
            ((&x + 1.0) * 2.0).named("y").sum(&Over::all())
        });
        let graph = graph(&[&y]);
        for (_, layer) in graph.layers() {
            let annotations = layer.annotations();
            assert_eq!((annotations.retries(), annotations.has_functions()), (Some(2), true));
            let key = Key::block("y", &[blocks - 1]).unwrap();
            assert_eq!(annotations.for_key(&key).unwrap().custom()["note"], json!(blocks - 1));
        }
        let overrides = Overrides::new().with("*", with("note", 1).set("priority", 3).unwrap()).unwrap();
        let settings = Settings { annotations: with("team", "geo"), overrides, ..settings() };
        let effective = Effective::new(&graph, &settings).unwrap();
        assert!(effective.all().iter().all(|annotations| annotations.priority() == Some(3.0)));
        allocated_bytes() - before
    };
    asked(10);
    let (few, many) = (asked(10), asked(100_000_000));
    assert!(many < few + 1024 && many < 1 << 20, "{few} bytes on ten blocks, {many} on 10^8");
}

#[test]
fn a14_a_sessions_annotations_are_the_default_of_its_layers() {
    let session = |wish: Annotations| Session::on(machine("cpu-only"), config()).with_annotations(wish);
    for (value, other) in
        [(json!("geo"), json!("bio")), (json!({"deep": [1]}), json!(null)), (json!(3), json!(4))]
    {
        let default = with("team", value.clone());
        let plain = (source() * 2.0).named("plain");
        let own = annotate(with("team", other.clone()), || (source() * 3.0).named("own"));
        let fresh = annotate(Annotations::fresh(), || (source() * 4.0).named("fresh"));
        let layers = [&plain, &own, &fresh].map(|array| array.layer().unwrap().clone());
        let session = session(default);
        let prepared = session.prepare(&layers).unwrap();
        let report = session.run(&prepared, &Control::new()).unwrap().report;
        let team = |name: &str| {
            let sources = report.layers.iter().flat_map(|layer| &layer.sources);
            sources.into_iter().find(|source| source.name == name).unwrap().annotations.get("team").cloned()
        };
        assert_eq!((team("plain"), team("own"), team("fresh")), (Some(value), Some(other), None));
    }
}
