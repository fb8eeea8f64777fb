//! What a run did and why, as data that serialises to the `--json` object and as tables that people read.

mod figures;
pub mod recovery;
mod resume;
pub mod trace;

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::annotate::Annotations;
use crate::exec::RunRecord;
use crate::graph::chunking::{AUTO_BLOCK_ELEMENTS, Chunking};
use crate::graph::expr::NodeOp;
use crate::graph::op::Op;
use crate::graph::value_spec::ValueKind;
use crate::machine::{Backend, Machine, MemoryId};
use crate::steps::{DISK, Plan, PlanLayer, TransferEdge};
use crate::units::{Bytes, format_seconds};
use recovery::Recovery;

pub use figures::{SpillReport, UseReport};
pub use resume::ResumeReport;

/// A whole run, or, with `run_s` absent, a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// What became of each layer.
    pub layers: Vec<LayerReport>,
    /// Copies between memories.
    pub transfers: TransferReport,
    /// The most bytes held at once, by memory.
    pub peak_bytes: BTreeMap<String, u64>,
    /// The limits, by memory, where there are any.
    pub budget_bytes: BTreeMap<String, u64>,
    /// Predicted seconds from start to end.
    pub predicted_s: f64,
    /// Seconds that planning took.
    pub plan_s: f64,
    /// Seconds that the run took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_s: Option<f64>,
    /// What was moved to disk and back, where the plan does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spill: Option<SpillReport>,
    /// What was really in use of the memories, where that is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory_use: Vec<UseReport>,
    /// The files written.
    pub outputs: Vec<String>,
    /// What was done about devices that were lost or too small, first to last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recoveries: Vec<Recovery>,
    /// What became of the resume directory, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<ResumeReport>,
}

/// One layer of the plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerReport {
    /// The user's name for it.
    pub name: String,
    /// Its operation.
    pub op: String,
    /// Where it ran.
    pub device: String,
    /// What drove the device.
    pub backend: String,
    /// What kind of place was asked for.
    pub class: String,
    /// Why it ran there.
    pub reason: String,
    /// Why it didn't run where it was asked to, if so.
    pub fallback: Option<String>,
    /// Steps that compute.
    pub tasks: u64,
    /// Blocks that an earlier run left, and that are read.
    pub recalled: u64,
    /// Blocks that are kept for later runs.
    pub kept: u64,
    /// Why its blocks aren't kept though they should be, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_kept: Option<String>,
    /// Attempts at them, failed ones included; transfers of its values count as its attempts.
    pub attempts: u64,
    /// Bytes of its result.
    pub bytes: u64,
    /// Element type of its result.
    pub dtype: String,
    /// Extents of its result.
    pub shape: Vec<usize>,
    /// How the result is cut.
    pub chunks: String,
    /// Whether it is a source or made by a rule, and cut as it would be when nobody says how.
    pub automatic_chunks: bool,
    /// Predicted seconds of its device's time.
    pub predicted_s: f64,
    /// Seconds of workers' time that it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy_s: Option<f64>,
    /// What governs its steps.
    pub annotations: serde_json::Value,
    /// The layers that were fused into it, each with what was asked for it.
    pub sources: Vec<SourceReport>,
}

/// A layer of the user's graph.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SourceReport {
    /// Its name.
    pub name: String,
    /// Its operation.
    pub op: String,
    /// What governs it: the session's default, what the layer was made with, and overrides.
    pub annotations: serde_json::Value,
    /// What the layer was made with, where that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given: Option<serde_json::Value>,
    /// Why it didn't run where it was asked to, if so.
    pub fallback: Option<String>,
}

/// Copies between memories.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TransferReport {
    /// Copies in all.
    pub count: u64,
    /// Bytes in all.
    pub bytes: u64,
    /// By pair of memories.
    pub edges: Vec<EdgeReport>,
}

/// Copies from one memory to another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EdgeReport {
    /// The memory read.
    pub from: String,
    /// The memory written.
    pub to: String,
    /// Copies.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Report {
    /// What a plan promises.
    pub fn of_plan(plan: &Plan, machine: &Machine, plan_s: f64) -> Self {
        let layers = plan.layers.iter().map(|layer| layer_report(layer, machine)).collect();
        let named = |f: fn(&crate::steps::MemoryPlan) -> Option<Bytes>| -> BTreeMap<String, u64> {
            let memories = plan.memory_names.iter().zip(&plan.memories);
            memories.filter_map(|(name, memory)| Some((name.clone(), f(memory)?.0))).collect()
        };
        Report {
            layers,
            transfers: transfers(plan, &plan.transfers),
            peak_bytes: named(|memory| Some(memory.peak)),
            budget_bytes: named(|memory| memory.budget),
            predicted_s: plan.predicted_s,
            plan_s,
            run_s: None,
            spill: None,
            memory_use: Vec::new(),
            outputs: plan.layers.iter().filter_map(sink).collect(),
            recoveries: Vec::new(),
            resume: None,
        }
    }

    /// What a run did.
    pub fn of_run(plan: &Plan, machine: &Machine, record: &RunRecord, plan_s: f64) -> Self {
        let mut report = Report::of_plan(plan, machine, plan_s);
        for (at, layer) in report.layers.iter_mut().enumerate() {
            layer.attempts = record.attempts[at];
            layer.busy_s = Some(record.busy_s[at]);
        }
        report.transfers = transfers(plan, &record.transfers);
        report.peak_bytes =
            plan.memory_names.iter().cloned().zip(record.peak_bytes.iter().copied()).collect();
        report.spill = record.spill.as_ref().map(SpillReport::of);
        report.memory_use = record.usage.iter().map(|usage| UseReport::of(usage, plan)).collect();
        report.run_s = Some(record.wall_s);
        report
    }
}

fn layer_report(layer: &PlanLayer, machine: &Machine) -> LayerReport {
    let device = machine.device(layer.device);
    let shape = layer.chunks.shape();
    let holds_nothing = matches!(layer.op, Op::Store(_) | Op::Wait(_));
    LayerReport {
        name: layer.name.clone(),
        op: operation(layer),
        device: device.name.clone(),
        backend: backend_name(device.backend).to_owned(),
        class: layer.class.to_owned(),
        reason: layer.reason.clone(),
        fallback: layer.fallback.clone(),
        tasks: layer.tasks,
        recalled: layer.recalled,
        kept: layer.kept,
        not_kept: layer.not_kept.clone(),
        attempts: 0,
        bytes: if holds_nothing { 0 } else { (shape.elements() * layer.dtype.size()) as u64 },
        dtype: if layer.is_array() { layer.dtype.to_string() } else { "object".to_owned() },
        shape: match layer.kind {
            ValueKind::Blocks => shape.to_vec(),
            ValueKind::Object => Vec::new(),
            ValueKind::Objects => vec![layer.chunks.blocks()],
        },
        chunks: match layer.kind {
            ValueKind::Blocks => layer.chunks.to_string(),
            ValueKind::Object => "one".to_owned(),
            ValueKind::Objects => format!("{} of them", layer.chunks.blocks()),
        },
        automatic_chunks: layer.is_array()
            && layer.inputs.is_empty()
            && layer.chunks == Chunking::automatic(&shape, &[]),
        predicted_s: layer.predicted_s,
        busy_s: None,
        annotations: layer.annotations.to_json(),
        sources: layer
            .sources
            .iter()
            .map(|source| SourceReport {
                name: source.label.clone().unwrap_or_else(|| source.name.clone()),
                op: source.op.to_string(),
                annotations: source.annotations.to_json(),
                given: source.given.as_ref().map(Annotations::to_json),
                fallback: source.fallback.clone(),
            })
            .collect(),
    }
}

/// `map` of one layer, `map of 5 layers` of several.
fn operation(layer: &PlanLayer) -> String {
    let name = match &layer.op {
        Op::Map(expr) if layer.inputs.is_empty() && expr.nodes().len() <= 4 => "create",
        Op::Map(expr) => {
            let stencil = expr.nodes().iter().find_map(|node| match &node.op {
                NodeOp::Stencil(_, stencil) => Some(stencil.name()),
                _ => None,
            });
            stencil.unwrap_or("map")
        }
        other => other.name(),
    }
    .to_owned();
    if layer.sources.len() > 1 { format!("{name} of {} layers", layer.sources.len()) } else { name }
}

fn sink(layer: &PlanLayer) -> Option<String> {
    match &layer.op {
        Op::Store(sink) => Some(sink.describe()),
        _ => None,
    }
}

fn backend_name(backend: Backend) -> &'static str {
    match backend {
        Backend::Host => "host",
        Backend::Cuda => "cuda",
        Backend::Wgpu => "wgpu",
        Backend::Sim => "sim",
    }
}

fn transfers(plan: &Plan, edges: &[TransferEdge]) -> TransferReport {
    // A plan that was broken off may have spilled though this one doesn't: what it has no name for is the disk.
    let name = |memory: MemoryId| plan.memory_names.get(usize::from(memory.0)).map_or(DISK, String::as_str);
    TransferReport {
        count: edges.iter().map(|edge| edge.count).sum(),
        bytes: edges.iter().map(|edge| edge.bytes).sum(),
        edges: edges
            .iter()
            .map(|edge| EdgeReport {
                from: name(edge.from).to_owned(),
                to: name(edge.to).to_owned(),
                count: edge.count,
                bytes: edge.bytes,
            })
            .collect(),
    }
}

impl fmt::Display for Report {
    /// A table of layers, then transfers, memory and times. The text of a plan is the same on every run:
    /// measured times are left out of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_layers(f)?;
        self.write_fallbacks(f)?;
        self.write_changed(f)?;
        self.write_chunks(f)?;
        self.write_transfers(f)?;
        self.recoveries.iter().try_for_each(|recovery| write!(f, "{recovery}"))?;
        self.write_resume(f)?;
        self.write_memory(f)?;
        self.write_figures(f)?;
        let predicted = format_seconds(self.predicted_s);
        let Some(run_s) = self.run_s else { return writeln!(f, "time: predicted {predicted}") };
        let (plan_s, run_s) = (format_seconds(self.plan_s), format_seconds(run_s));
        writeln!(f, "time: planned in {plan_s}, ran in {run_s} (predicted {predicted})")?;
        self.outputs.iter().try_for_each(|output| writeln!(f, "wrote {output}"))
    }
}

impl Report {
    /// One line for people: how much work, where, how much memory.
    pub fn summary(&self) -> String {
        let mut devices: Vec<&str> = self.layers.iter().map(|layer| layer.device.as_str()).collect();
        devices.sort_unstable();
        devices.dedup();
        let tasks: u64 = self.layers.iter().map(|layer| layer.tasks).sum();
        let peaks = self.peak_bytes.iter().filter(|(_, peak)| **peak > 0);
        let place = |memory: &str| if memory == "disk" { "on" } else { "in" };
        let peaks: Vec<String> =
            peaks.map(|(memory, peak)| format!("{} {} {memory}", Bytes(*peak), place(memory))).collect();
        format!(
            "plan: {} layers, {tasks} tasks on {}; transfers: {}; peak {}; predicted {}",
            self.layers.len(),
            devices.join(" and "),
            self.transfers.count,
            if peaks.is_empty() { "0 B".to_owned() } else { peaks.join(", ") },
            format_seconds(self.predicted_s)
        )
    }

    fn write_layers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = ["layer", "op", "device", "class", "tasks", "result", "bytes", "why"].map(str::to_owned);
        let mut rows = vec![header];
        for layer in &self.layers {
            let device = if layer.backend == layer.device {
                layer.device.clone()
            } else {
                format!("{} ({})", layer.device, layer.backend)
            };
            rows.push([
                layer.name.clone(),
                layer.op.clone(),
                device,
                layer.class.clone(),
                layer.tasks.to_string(),
                format!("{} {}", layer.dtype, layer.chunks),
                if layer.bytes == 0 { "-".to_owned() } else { Bytes(layer.bytes).to_string() },
                if layer.fallback.is_some() {
                    "fallback: see below".to_owned()
                } else {
                    layer.reason.clone()
                },
            ]);
        }
        write_table(f, &rows)?;
        self.layers.iter().try_for_each(|layer| write_fused(f, layer))
    }

    /// Every reason once, with the user's layers that it holds for, fused or not.
    fn write_fallbacks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for layer in self.layers.iter().flat_map(|layer| &layer.sources) {
            let Some(reason) = layer.fallback.as_deref() else { continue };
            let at = reasons.iter().position(|(other, _)| *other == reason).unwrap_or_else(|| {
                reasons.push((reason, Vec::new()));
                reasons.len() - 1
            });
            if !reasons[at].1.contains(&layer.name.as_str()) {
                reasons[at].1.push(&layer.name);
            }
        }
        reasons.iter().try_for_each(|(reason, layers)| {
            writeln!(f, "fallback to the host: {}: {reason}", layers.join(", "))
        })
    }

    /// Annotations that aren't those the layers were made with, with the layers that they hold for.
    fn write_changed(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut changes: Vec<(String, Vec<&str>)> = Vec::new();
        for layer in self.layers.iter().flat_map(|layer| &layer.sources) {
            let Some(given) = &layer.given else { continue };
            let change = format!("{} (given with the layer: {})", pairs(&layer.annotations), pairs(given));
            let at = changes.iter().position(|(other, _)| *other == change).unwrap_or_else(|| {
                changes.push((change, Vec::new()));
                changes.len() - 1
            });
            if !changes[at].1.contains(&layer.name.as_str()) {
                changes[at].1.push(&layer.name);
            }
        }
        changes
            .iter()
            .try_for_each(|(change, layers)| writeln!(f, "annotations of {}: {change}", layers.join(", ")))
    }

    fn write_transfers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let copies = |count: u64| format!("{count} {}", if count == 1 { "copy" } else { "copies" });
        if self.transfers.count == 0 {
            return writeln!(f, "transfers: none");
        }
        writeln!(f, "transfers: {}, {}", copies(self.transfers.count), Bytes(self.transfers.bytes))?;
        for edge in &self.transfers.edges {
            writeln!(f, "  {} → {}: {}, {}", edge.from, edge.to, copies(edge.count), Bytes(edge.bytes))?;
        }
        Ok(())
    }

    /// What went to disk, and memory in excess of what was granted.
    fn write_figures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moved = self.spill.iter().filter(|spill| spill.blocks_written > 0);
        moved.into_iter().try_for_each(|spill| writeln!(f, "{spill}"))?;
        let mut over = self.memory_use.iter().filter(|one| one.excess_bytes.is_some());
        over.try_for_each(|one| writeln!(f, "{one}"))
    }

    /// Chunks that nobody asked for are said.
    fn write_chunks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chosen = self.layers.iter().filter(|layer| layer.automatic_chunks);
        let names: Vec<&str> = chosen.map(|layer| layer.name.as_str()).collect();
        if names.is_empty() {
            return Ok(());
        }
        writeln!(
            f,
            "chunks chosen automatically (at most {AUTO_BLOCK_ELEMENTS} elements): {}",
            names.join(", ")
        )
    }

    fn write_memory(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (memory, peak) in &self.peak_bytes {
            let used = memory == "host" || *peak > 0;
            match self.budget_bytes.get(memory).filter(|_| used) {
                Some(budget) => writeln!(f, "memory {memory}: peak {} of {}", Bytes(*peak), Bytes(*budget))?,
                None if used => writeln!(f, "memory {memory}: peak {}, no limit known", Bytes(*peak))?,
                None => {}
            }
        }
        Ok(())
    }
}

/// Annotations as `key = value`, or "none".
fn pairs(annotations: &serde_json::Value) -> String {
    let entries = annotations.as_object().into_iter().flatten();
    let pairs: Vec<String> = entries.map(|(key, value)| format!("{key} = {value}")).collect();
    if pairs.is_empty() { "none".to_owned() } else { pairs.join(", ") }
}

/// The user's layers that became a part of another one.
fn write_fused(f: &mut fmt::Formatter<'_>, layer: &LayerReport) -> fmt::Result {
    let mut names: Vec<&str> = Vec::new();
    for source in &layer.sources {
        if source.name != layer.name && !names.contains(&source.name.as_str()) {
            names.push(&source.name);
        }
    }
    if names.is_empty() { Ok(()) } else { writeln!(f, "fused into {}: {}", layer.name, names.join(", ")) }
}

/// Columns as wide as their widest cell, two spaces apart, the last one ragged.
fn write_table<const N: usize>(f: &mut fmt::Formatter<'_>, rows: &[[String; N]]) -> fmt::Result {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    for row in rows {
        for (column, cell) in row.iter().enumerate() {
            if column + 1 == N {
                writeln!(f, "{cell}")?;
            } else {
                write!(f, "{cell}{:pad$}", "", pad = widths[column] - cell.chars().count() + 2)?;
            }
        }
    }
    Ok(())
}
