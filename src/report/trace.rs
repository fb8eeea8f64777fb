//! A run's trace in the trace-event format, which Perfetto and Chrome's `about:tracing` show.
//!
//! One track for each worker, named by what it serves, and one complete event (`"ph": "X"`) for each attempt at a step:
//! its layer's name, when it began and how long it took (microseconds), its kind, its key, whether it failed, and the
//! annotations of the layers that it computes. A part that another worker took of it is an event like it, with `part`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Map, Value, json};

use crate::exec::Trace;
use crate::exec::trace::Traced;
use crate::machine::DeviceId;
use crate::steps::{Lane, LaneOf, Plan, PlanLayer};

/// Writes the attempts at the steps of a plan, as one JSON object. O(attempts) time, and memory for the layers and the
/// workers. Many small writes: `to` should be buffered.
///
/// # Errors
/// Those of `to`.
pub fn write(plan: &Plan, trace: &Trace, mut to: impl Write) -> io::Result<()> {
    write!(to, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let process = json!({"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "outcrop"}});
    write!(to, "\n{process}")?;
    for (worker, name) in tracks(plan, trace) {
        let named =
            json!({"ph": "M", "pid": 1, "tid": worker, "name": "thread_name", "args": {"name": name}});
        write!(to, ",\n{named}")?;
    }
    let layers: Vec<Words> = plan.layers.iter().map(Words::of).collect();
    let mut free_from = BTreeMap::new();
    for attempt in trace.iter() {
        // Steps of a device are under way together, and share the wait for it: they are shown one after the other.
        // Parts are known when the whole attempt is over, which isn't in the order of what their workers did.
        let free: &mut u64 = free_from.entry(attempt.worker).or_default();
        let start = if attempt.is_part { attempt.start } else { attempt.start.max(*free) };
        if !attempt.is_part {
            *free = start + u64::from(attempt.nanoseconds);
        }
        write_attempt(plan, &layers, &attempt, start, &mut to)?;
    }
    write!(to, "\n]}}\n")?;
    to.flush()
}

fn write_attempt(
    plan: &Plan,
    layers: &[Words],
    attempt: &Traced,
    start: u64,
    to: &mut impl Write,
) -> io::Result<()> {
    let step = plan.step(attempt.step);
    let Words { name, annotations } = &layers[step.layer as usize];
    let key = plan.key(attempt.step).map_or(Value::Null, |key| key.to_string().into());
    write!(
        to,
        ",\n{{\"ph\":\"X\",\"pid\":1,\"tid\":{},\"ts\":{},\"dur\":{},\"name\":{name},\"cat\":\"{kind}\",\
         \"args\":{{\"kind\":\"{kind}\",\"key\":{key},\"failed\":{}{part}{annotations}}}}}",
        attempt.worker,
        microseconds(start),
        microseconds(attempt.nanoseconds.into()),
        attempt.failed,
        kind = step.kind.name(),
        part = if attempt.is_part { ",\"part\":true" } else { "" },
    )
}

/// What is the same for all steps of a layer, as JSON.
struct Words {
    name: String,
    /// `,"annotations":{…}`, by source; nothing where there are none.
    annotations: String,
}

impl Words {
    fn of(layer: &PlanLayer) -> Self {
        let named = layer.sources.iter().filter(|source| !source.annotations.is_empty());
        let named = named.map(|source| {
            let name = source.label.clone().unwrap_or_else(|| source.name.clone());
            (name, source.annotations.to_json())
        });
        let all: Map<String, Value> = named.collect();
        let annotations =
            if all.is_empty() { String::new() } else { format!(",\"annotations\":{}", Value::Object(all)) };
        Words { name: Value::from(layer.name.as_str()).to_string(), annotations }
    }
}

/// Workers that did something, with the names of their tracks.
fn tracks(plan: &Plan, trace: &Trace) -> Vec<(u16, String)> {
    let mut lanes: BTreeMap<u16, Lane> = BTreeMap::new();
    for attempt in trace.iter() {
        lanes.entry(attempt.worker).or_insert_with(|| plan.lanes().of_step(&plan.step(attempt.step)));
    }
    let device = |id: DeviceId| &plan.device_names[usize::from(id.0)];
    let mut of_host = 0..;
    let name = |(worker, lane): (u16, Lane)| {
        let name = match plan.lanes().of(lane) {
            LaneOf::Device(DeviceId::HOST) => format!("host worker {}", of_host.next().unwrap_or(worker)),
            LaneOf::Device(id) => device(id).clone(),
            LaneOf::In(id) => format!("copies to {}", device(id)),
            LaneOf::Out(id) => format!("copies from {}", device(id)),
            LaneOf::Writer => "disk writer".to_owned(),
            LaneOf::Reader => "disk reader".to_owned(),
        };
        (worker, name)
    };
    lanes.into_iter().map(name).collect()
}

/// With the nanoseconds as decimals.
fn microseconds(nanoseconds: u64) -> String {
    format!("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000)
}
