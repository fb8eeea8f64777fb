//! Annotations from the scope to the running task: precedence, functions of the key, terms, observers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use outcrop::annotate::{Annotations, KeyFunction, Overrides, Value, annotate};
use outcrop::collections::Array;
use outcrop::collections::array::{Index, Over};
use outcrop::device::sim::{Fault, FaultPlan, SimDevice};
use outcrop::dtype::DType;
use outcrop::error::ErrorClass;
use outcrop::exec::{Control, StepEvent};
use outcrop::graph::layer_graph::LayerGraph;
use outcrop::key::Key;
use outcrop::machine::{Backend, DeviceId, Machine, MemoryId};
use outcrop::plan::known::Known;
use outcrop::plan::{PlanError, plan};
use outcrop::session::Session;
use outcrop::settings::{Config, Settings};
use outcrop::steps::{Plan, SourceLayer, StepKind, Terms};

fn machine(name: &str) -> Machine {
    let path = format!("{}/examples/machines/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    Machine::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn settings() -> Settings {
    Config { threads: Some(2), ..Config::default() }.resolve(2)
}

fn with(key: &str, value: impl Into<Value>) -> Annotations {
    Annotations::new().set(key, value).unwrap()
}

fn by(name: &str, function: impl Fn(&Key) -> Value + Send + Sync + 'static) -> KeyFunction {
    KeyFunction::new(name, function)
}

fn row(key: &Key) -> i128 {
    key.index().unwrap()[0] as i128
}

/// Four blocks.
fn source() -> Array {
    Array::from_slice([64], &[1f32; 64]).rechunk(&[16])
}

/// `y`, twice the source, under annotations that the source doesn't have.
fn doubled(wish: Annotations) -> Array {
    let x = source();
    annotate(wish, || (&x * 2.0).named("y"))
}

fn planned_on(array: &Array, machine_name: &str, settings: &Settings) -> Result<Plan, PlanError> {
    let graph = LayerGraph::from_outputs(&[array.layer().unwrap().clone()]).unwrap();
    plan(&graph, &Known::none(), &machine(machine_name), settings)
}

fn planned(array: &Array) -> Plan {
    planned_on(array, "cpu-only", &settings()).unwrap()
}

fn refused(array: &Array) -> String {
    planned_on(array, "cpu-only", &settings()).unwrap_err().to_string()
}

fn layer_of<'p>(plan: &'p Plan, label: &str) -> &'p SourceLayer {
    let mut sources = plan.layers.iter().flat_map(|layer| &layer.sources);
    sources.find(|source| source.label.as_deref() == Some(label)).unwrap()
}

/// The terms of a layer's tasks by block; all tasks of a block must have the same.
fn terms_of<'p>(plan: &'p Plan, layer: &str, kind: StepKind) -> BTreeMap<u64, &'p Terms> {
    let of_layer =
        plan.steps.iter().filter(|s| s.kind == kind && plan.layers[s.layer as usize].name == layer);
    of_layer.map(|step| (step.block, &plan.terms[step.terms as usize])).collect()
}

fn retries(plan: &Plan, layer: &str, kind: StepKind) -> Vec<u32> {
    terms_of(plan, layer, kind).values().map(|terms| terms.retries).collect()
}

/// Session default < outer scope < inner scope (the layer's own) < override of the session < of the call.
#[test]
fn precedence_row_by_row() {
    let levels = [1u32, 2, 3, 4, 5];
    for mask in 0u32..32 {
        let given = |level: usize| match mask & (1 << level) {
            0 => Annotations::new(),
            _ => with("retries", levels[level]).set(&format!("level{level}"), true).unwrap(),
        };
        let x = source();
        let y = annotate(given(1), || annotate(given(2), || (&x * 2.0).named("y")));
        let overriding = |level: usize| match given(level).is_empty() {
            true => Overrides::new(),
            false => Overrides::new().with("y", given(level)).unwrap(),
        };
        let config = Config { threads: Some(1), overrides: overriding(3), ..Config::default() };
        let session = Session::on(machine("cpu-only"), config).with_annotations(given(0));
        let layers = [y.layer().unwrap().clone()];
        let prepared = session.prepare_with(&layers, &overriding(4)).unwrap();
        let source = layer_of(&prepared.plan, "y");
        let highest = (0..5).rev().find(|level| mask & (1 << level) != 0);
        assert_eq!(source.annotations.retries(), highest.map(|level| levels[level]), "levels {mask:05b}");
        assert_eq!(
            source.annotations.custom().len() as u32,
            mask.count_ones(),
            "no level hides another's keys"
        );
        let own = given(1).inner(&given(2));
        assert_eq!(source.given.as_ref().unwrap_or(&source.annotations), &own);
        assert_eq!(source.given.is_some(), own != source.annotations);
        let want = highest.map_or(0, |level| levels[level]);
        assert_eq!(retries(&prepared.plan, "y", StepKind::Map), [want; 4]);
    }
}

#[test]
fn defaults_and_overrides_rename_nothing() {
    let y = (source() * 2.0).named("y");
    let names =
        |plan: &Plan| plan.layers.iter().map(|layer| layer.sources[0].name.clone()).collect::<Vec<_>>();
    let plain = planned(&y);
    let overrides = Overrides::new().with("*", with("team", "geo")).unwrap();
    let changed = Settings { annotations: with("retries", 3), overrides, ..settings() };
    assert_eq!(names(&plain), names(&planned_on(&y, "cpu-only", &changed).unwrap()));
}

#[test]
fn a_fresh_scope_ignores_the_default_but_no_override() {
    let fresh = Annotations::fresh().set("note", 1).unwrap();
    let y = doubled(fresh);
    let overrides = Overrides::new().with("y", with("team", "geo")).unwrap();
    let settings = Settings { annotations: with("retries", 3), overrides, ..settings() };
    let plan = planned_on(&y, "cpu-only", &settings).unwrap();
    assert_eq!(layer_of(&plan, "y").annotations.to_string(), "fresh note=1 team=\"geo\"");
}

#[test]
fn an_override_can_place_a_layer() {
    let y = doubled(with("gpu", 0.5));
    let overrides = Overrides::new().with("[xy]", with("device", "cpu")).unwrap();
    let plan = planned_on(&y, "one-gpu", &Settings { overrides, ..settings() }).unwrap();
    assert!(plan.layers.iter().all(|layer| layer.device == DeviceId::HOST), "{plan}");
}

#[test]
fn an_override_without_a_layer_is_an_error_that_lists_them() {
    let y = (source() * 2.0).named("y");
    let overrides = Overrides::new().with("y", with("a", 1)).unwrap().with("slope*", with("a", 1)).unwrap();
    let error = planned_on(&y, "cpu-only", &Settings { overrides, ..settings() }).unwrap_err();
    assert!(
        matches!(&error, PlanError::Override { pattern, layers } if pattern == "slope*" && layers.contains(&"y".to_owned()))
    );
    assert_eq!(outcrop::error::Error::from(error).class(), ErrorClass::User);
    assert!(Overrides::new().with("a[", Annotations::new()).is_err());
}

#[test]
fn functions_give_each_task_its_terms() {
    let by_row = |f: fn(&Key) -> Value| by("by-row", f);
    let wish = with("retries", by_row(|key| Value::Int(row(key))))
        .set("timeout", by_row(|key| Value::Text(format!("{} s", row(key) + 1))))
        .unwrap()
        .set("memory", by_row(|key| Value::Int((row(key) % 2) << 20)))
        .unwrap()
        .set(
            "resources",
            by_row(|key| Value::Table(vec![("tape".into(), Value::Float(row(key) as f64 / 2.0))])),
        )
        .unwrap();
    let y = doubled(wish);
    let declared = Settings { resources: [("tape".to_owned(), 2.0)].into(), ..settings() };
    let plan = planned_on(&y, "cpu-only", &declared).unwrap();
    let terms = terms_of(&plan, "y", StepKind::Map);
    for (block, terms) in terms {
        assert_eq!(u64::from(terms.retries), block);
        assert_eq!(terms.timeout, Some(std::time::Duration::from_secs(block + 1)));
        // The block itself is counted anyway; what it reads is a view of the user's array, and isn't.
        assert_eq!(terms.reserve, if block % 2 == 1 { (1 << 20) - 64 } else { 0 });
        let tape: Vec<(u16, u64)> = if block == 0 { vec![] } else { vec![(0, block * 500_000)] };
        assert_eq!(terms.resources.as_slice(), tape);
    }
    assert_eq!(plan.terms.len(), 5, "four of 'y', one of the source");
    assert!(plan.memories[0].peak.0 >= 1 << 20);
}

#[test]
fn layers_without_functions_have_one_entry() {
    let plan = planned(&doubled(with("retries", 2)));
    assert_eq!(plan.terms.len(), 2);
    assert_eq!(retries(&plan, "y", StepKind::Map), [2; 4]);
}

#[test]
fn a_priority_by_row_orders_the_tasks() {
    let y = doubled(with("priority", by("by-row", |key| Value::Int(row(key)))));
    let plan = planned(&y);
    let maps = plan.steps.iter().filter(|step| step.kind == StepKind::Map);
    assert_eq!(maps.map(|step| step.block).collect::<Vec<_>>(), [3, 2, 1, 0]);
}

#[test]
fn functions_are_called_in_planning_once_for_each_needed_block() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let counted = by("counted", |key| {
        CALLS.fetch_add(1, Ordering::SeqCst);
        Value::Int(row(key))
    });
    let y = doubled(with("priority", counted));
    let part = y.slice(&[Index::Range { start: Some(20), stop: Some(40), step: None }]);
    let graph = LayerGraph::from_outputs(&[part.layer().unwrap().clone()]).unwrap();
    let _ = (graph.to_string(), y.layer().unwrap().name().to_owned());
    assert_eq!(CALLS.load(Ordering::SeqCst), 0, "nothing is called while a graph is built or shown");
    plan(&graph, &Known::none(), &machine("cpu-only"), &settings()).unwrap();
    assert_eq!(CALLS.load(Ordering::SeqCst), 2, "blocks 1 and 2");
}

#[test]
fn a_reductions_tasks_have_the_terms_of_the_block_that_they_end_in() {
    let x = Array::indices([8, 8], DType::F32).rechunk(&[4, 2]);
    let sum = annotate(with("retries", by("by-row", |key| Value::Int(row(key) + 1))), || {
        x.sum(&Over::axis(1)).named("sum")
    });
    let plan = planned(&sum);
    assert_eq!(retries(&plan, "sum", StepKind::Fold), [1, 1, 1, 1, 2, 2, 2, 2]);
    assert_eq!(retries(&plan, "sum", StepKind::Finish), [1, 2]);
}

#[test]
fn one_function_over_several_layers_fuses_where_its_values_may_be_joined() {
    let chain = |key: &str, function: KeyFunction| {
        let (wish, x) = (with(key, function), source());
        annotate(wish, || {
            let a = (&x * 2.0).named("a");
            (&a + 1.0).named("b")
        })
    };
    let by_name = |key: &Key| Value::Int(if key.name() == "a" { 7 } else { row(key) });
    let fused = planned(&chain("priority", by("by-name", by_name)));
    assert_eq!(fused.layers.len(), 2, "{fused}");
    let maps = fused.steps.iter().filter(|step| step.kind == StepKind::Map);
    assert_eq!(maps.map(|step| step.block).collect::<Vec<_>>(), [0, 1, 2, 3], "all have the larger one, 7");
    assert_eq!(planned(&chain("retries", by("by-row", |key| Value::Int(row(key))))).layers.len(), 2);
    let apart = planned(&chain("retries", by("by-name", by_name)));
    assert_eq!(apart.layers.len(), 3, "they disagree in three blocks: {apart}");
    assert_eq!(retries(&apart, "a", StepKind::Map), [7; 4]);
    assert_eq!(retries(&apart, "b", StepKind::Map), [0, 1, 2, 3]);
}

#[test]
fn results_are_checked_as_plain_values_are() {
    let said = |key: &str, function: fn(&Key) -> Value| refused(&doubled(with(key, by("by-row", function))));
    let mut all = [
        said("priority", |key| Value::Float(if row(key) == 2 { f64::NAN } else { 0.0 })),
        said("retries", |_| Value::Int(-1)),
        said("timeout", |_| Value::Int(3)),
        said("memory", |_| Value::Text("2 gigs".to_owned())),
        said("resources", |_| Value::Table(vec![("GPU".to_owned(), Value::Float(0.5))])),
        said("note", |_| Value::Float(f64::INFINITY)),
        said("note", |_| Value::Function(KeyFunction::new("again", |_| Value::Null))),
        said("memory", |key| Value::Int(if row(key) == 3 { 1 << 50 } else { 1 })),
        said("resources", |key| Value::Table(vec![("tape".to_owned(), Value::Int(row(key)))])),
    ]
    .to_vec();
    // As a panic, but without its message on stderr.
    all.push(said("priority", |key| std::panic::resume_unwind(Box::new(format!("no row {}", row(key))))));
    insta::assert_snapshot!(all.join("\n\n"));
}

#[test]
fn a_layer_is_placed_and_kept_whole() {
    for key in ["device", "gpu", "workers", "allow_other_workers", "checkpoint"] {
        let error = Annotations::new().set(key, by("by-row", |_| Value::Null)).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!(
                "annotation '{key}' can't be by-row(key): a layer is placed and kept whole"
            )),
            "{error}"
        );
    }
    let json = with("priority", by("by-row", |_| Value::Null)).to_json();
    assert_eq!(json, serde_json::json!({ "priority": "by-row(key)" }));
}

#[test]
fn names_over_a_functions_resources() {
    let function = by("by-row", |_| Value::Table(vec![("a".into(), 1.into()), ("b".into(), 1.into())]));
    let both = with("resources", function).with_resource("b", 0.0).unwrap().with_resource("c", 2.0).unwrap();
    assert!(both.has_functions());
    let plain = both.for_key(&Key::block("y", &[0]).unwrap()).unwrap();
    assert_eq!(plain.to_string(), r#"resources={"a": 1.0, "b": 0.0, "c": 2.0}"#);
}

#[test]
fn copies_are_tried_again_but_take_no_resources() {
    let wish = with("retries", 3).set("device", "gpu").unwrap().set("memory", "1 MiB").unwrap();
    let y = doubled(wish.with_resource("tape", 1.0).unwrap());
    let declared = Settings { resources: [("tape".to_owned(), 2.0)].into(), ..settings() };
    let plan = planned_on(&y, "one-gpu", &declared).unwrap();
    let own = terms_of(&plan, "y", StepKind::Map)[&0];
    let copy = terms_of(&plan, "y", StepKind::Transfer)[&0];
    assert!(own.reserve > 0 && own.resources.as_slice() == [(0, 1_000_000)]);
    assert_eq!(copy, &Terms { retries: 3, ..Terms::default() });
}

/// A machine with one simulated GPU that fails as told.
fn simulated(faults: FaultPlan) -> Session {
    let mut machine = machine("one-gpu");
    machine.devices[1].backend = Backend::Sim;
    let link = machine.link(MemoryId::HOST, machine.memory_of(DeviceId(1)));
    let gpu = SimDevice::new(machine.device(DeviceId(1)), Some(1 << 30), link, faults);
    Session::on(machine, Config { threads: Some(2), ..Config::default() }).with_device(Arc::new(gpu))
}

#[test]
fn an_observer_hears_of_every_attempt() {
    let wish = with("retries", 1).set("device", "gpu").unwrap().set("team", "geo").unwrap();
    let y = annotate(wish, || (Array::ones([8], DType::F32) + 1.0).named("y"));
    let session = simulated(FaultPlan::none().with(1, Fault::Fails));
    let prepared = session.prepare(&[y.layer().unwrap().clone()]).unwrap();
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let control = Control::new().observed({
        let heard = heard.clone();
        move |event: &StepEvent<'_>| {
            let custom: Vec<String> = event
                .sources()
                .iter()
                .map(|source| source.annotations.custom()["team"].to_string())
                .collect();
            let (name, key) = (&event.layer().name, event.key().unwrap());
            let outcome = if event.outcome.is_ok() { "done" } else { "failed" };
            let (kind, device, attempt) = (event.kind.name(), event.device, event.attempt);
            let line =
                format!("{kind} {name} {key} on {device}: attempt {attempt} {outcome} {}", custom.join(" "));
            heard.lock().unwrap().push(line);
        }
    });
    let done = session.run(&prepared, &control).unwrap();
    let want = [
        "map y ('y', 0) on gpu0: attempt 1 done \"geo\" \"geo\"",
        "copy y ('y', 0) on gpu0: attempt 1 failed \"geo\" \"geo\"",
        "copy y ('y', 0) on gpu0: attempt 2 done \"geo\" \"geo\"",
    ];
    assert_eq!(*heard.lock().unwrap(), want);
    assert_eq!(done.report.layers.iter().map(|layer| layer.attempts).sum::<u64>(), 3);
}

#[test]
fn an_observer_that_panics_is_not_called_again() {
    let y = source() * 2.0;
    let session = Session::on(machine("cpu-only"), Config { threads: Some(2), ..Config::default() });
    let prepared = session.prepare(&[y.layer().unwrap().clone()]).unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let control = Control::new().observed(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        std::panic::resume_unwind(Box::new(()));
    });
    let done = session.run(&prepared, &control).unwrap();
    assert_eq!(done.report.layers.iter().map(|layer| layer.attempts).sum::<u64>(), 8);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}
