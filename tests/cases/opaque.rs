//! Annotations that nobody but their owner understands: a10.

use std::sync::{Arc, Mutex};

use outcrop::annotate::{Annotations, Value};
use outcrop::exec::{Control, StepEvent};
use outcrop::report::trace;
use outcrop::session::{Completed, Session};
use serde_json::json;

use crate::annotations::{by_row, config, fused, machine, pair, with};

/// Any custom value beside any other: one kernel, and both values in the report, the trace and before the observer.
#[test]
fn a10_opaque_annotations_never_keep_layers_apart() {
    let values: [Option<Value>; 6] = [
        None,
        Some("red".into()),
        Some(json!({"deep": [1, {"er": null}]}).into()),
        Some(Value::Null),
        Some(0.5.into()),
        Some(by_row().into()),
    ];
    let note = |value: &Option<Value>| value.clone().map_or(Annotations::new(), |value| with("note", value));
    let session = Session::on(machine("cpu-only"), config());
    for left in &values {
        for right in &values {
            let array = pair(&note(left), &note(right));
            let prepared = session.prepare(&[array.layer().unwrap().clone()]).unwrap();
            assert!(fused(&prepared.plan), "{left:?} with {right:?}");
            let heard: Arc<Mutex<Vec<Vec<Annotations>>>> = Arc::default();
            let told = heard.clone();
            let control = Control::new().observed(move |event: &StepEvent<'_>| {
                let sources = event.sources().iter().map(|source| source.annotations.clone());
                told.lock().unwrap().push(sources.collect());
            });
            let Completed { report, plan, trace, .. } = session.run(&prepared, &control.traced()).unwrap();
            let mut text = Vec::new();
            trace::write(&plan, &trace.unwrap(), &mut text).unwrap();
            let events: serde_json::Value = serde_json::from_slice(&text).unwrap();
            let both = |event: &&serde_json::Value| {
                let shown = |name: &str| event["args"]["annotations"].get(name).cloned().unwrap_or(json!({}));
                shown("first") == note(left).to_json() && shown("second") == note(right).to_json()
            };
            let steps = events["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X");
            assert!(steps.filter(both).count() >= 4, "{left:?} with {right:?}: {events}");
            let sources = &report.layers.last().unwrap().sources;
            assert_eq!(sources[0].annotations, note(left).to_json());
            assert_eq!(sources[1].annotations, note(right).to_json());
            assert!(heard.lock().unwrap().contains(&vec![note(left), note(right)]));
        }
    }
}
