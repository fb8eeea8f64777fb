//! `--trace`: what is in the file, and where it may be.

use std::path::Path;

use serde_json::Value;

use crate::Scratch;

const PIPELINE: &str = "
[inputs.a]
random = \"normal\"
seed = 1
shape = [400, 100]
chunks = [100, 100]
dtype = \"f32\"

[[layer]]
name = \"x\"
expr = \"sqrt(abs(a) + 1)\"
annotate = { team = \"geo\" }

[[layer]]
name = \"y\"
expr = \"x - mean(x)\"

[outputs]
y = \"y.npy\"

[settings]
memory = \"100 KiB\"
";

/// The events of a trace, after a check of its form: names of tracks, then complete events that don't overlap.
pub fn read(path: &Path) -> Vec<Value> {
    let trace: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let (named, attempts): (Vec<_>, Vec<_>) = events.iter().partition(|event| event["ph"] == "M");
    let mut until = std::collections::BTreeMap::new();
    for event in &attempts {
        assert_eq!(event["ph"], "X");
        let worker = event["tid"].as_u64().unwrap();
        let is_it = |name: &&&Value| name["name"] == "thread_name" && name["tid"] == worker;
        assert_eq!(named.iter().filter(is_it).count(), 1, "a name for track {worker}");
        let (start, length) = (event["ts"].as_f64().unwrap(), event["dur"].as_f64().unwrap());
        let end = until.insert(worker, start + length).unwrap_or(0.0);
        assert!(start >= end - 0.001, "{event} overlaps the one before, which ended at {end}");
        assert!(event["args"]["key"].is_string() && event["args"]["failed"].is_boolean(), "{event}");
    }
    events.clone()
}

#[test]
fn a_trace_shows_every_step_on_the_track_of_its_worker() {
    let scratch = Scratch::new().with("p.toml", PIPELINE);
    let ran =
        scratch.outcrop(&["run", "p.toml", "--cpu-only", "--json", "--threads", "2", "--trace", "t.json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(scratch.names(), ["p.toml", "t.json", "y.npy"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let events = read(&scratch.path().join("t.json"));
    let attempts =
        report["layers"].as_array().unwrap().iter().map(|layer| layer["attempts"].as_u64().unwrap());
    let complete = events.iter().filter(|event| event["ph"] == "X");
    assert_eq!(attempts.sum::<u64>(), complete.clone().count() as u64);
    let track = |event: &Value| {
        let is_it = |name: &&Value| name["name"] == "thread_name" && name["tid"] == event["tid"];
        events.iter().find(is_it).unwrap()["args"]["name"].as_str().unwrap().to_owned()
    };
    let mut kinds = std::collections::BTreeSet::new();
    for event in complete.clone() {
        let kind = event["args"]["kind"].as_str().unwrap();
        kinds.insert(kind);
        match kind {
            "spill" => assert_eq!(track(event), "disk writer"),
            "reload" => assert_eq!(track(event), "disk reader"),
            _ => assert!(track(event).starts_with("host worker "), "{event}"),
        }
    }
    assert!(kinds.contains("spill") && kinds.contains("reload") && kinds.contains("store"), "{kinds:?}");
    let x = complete.clone().find(|event| event["name"] == "x").unwrap();
    assert_eq!(x["args"]["annotations"]["x"], serde_json::json!({"team": "geo"}));
    assert!(x["args"]["key"].as_str().unwrap().contains("'x'"), "{x}");
}

#[test]
fn a_trace_that_has_no_place_is_refused_before_anything_runs() {
    let scratch = Scratch::new().with("p.toml", PIPELINE);
    for place in ["no/such/t.json", "."] {
        let ran = scratch.outcrop(&["run", "p.toml", "--cpu-only", "--trace", place]);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains("cannot write"), "{}", ran.stderr);
        assert_eq!(scratch.names(), ["p.toml"]);
    }
}
