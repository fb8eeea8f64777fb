//! What the box of a layer shows.

use serde_json::Value as Json;

use super::text::{clipped, visible, wrapped};
use crate::annotate::{Annotations, DeviceWish, GpuShare};
use crate::graph::block_set::BlockSet;
use crate::graph::layer::Layer;
use crate::graph::op::Op;
use crate::units::Bytes;

/// Characters of a line.
const COLUMNS: usize = 40;
/// Lines of annotations.
const ANNOTATION_LINES: usize = 3;

/// A layer in words.
pub(super) struct Card {
    pub(super) look: Look,
    /// What the user calls it, else its name.
    pub(super) title: String,
    /// Operation, values, number of tasks.
    pub(super) facts: Vec<String>,
    /// What was asked for it.
    pub(super) wishes: Vec<String>,
    /// All of it, uncut, the full name first.
    pub(super) tooltip: String,
    /// Whether it is asked of the graph.
    pub(super) is_output: bool,
}

/// How a layer looks: by its part in the graph, else by the device that its annotations ask for. In the order of
/// the legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Look {
    Source,
    Host,
    Gpu,
    PreferGpu,
    Any,
    Wait,
    Sink,
}

impl Card {
    pub(super) fn new(layer: &Layer, kept: &BlockSet, is_output: bool) -> Self {
        let name = visible(layer.name());
        let title = layer.label().map_or_else(|| name.clone(), visible);
        let count = layer.spec().count();
        let tasks = match kept {
            BlockSet::All => counted(count, "task"),
            BlockSet::Some(blocks) => format!("{} of {}", blocks.len(), counted(count, "task")),
        };
        let facts = [visible(&layer.op().to_string()), layer.spec().to_string(), tasks];
        let words: Vec<String> = wishes(layer.annotations()).iter().map(|word| visible(word)).collect();
        let mut tooltip = vec![name];
        tooltip.extend(facts.iter().chain(&words).map(|line| clipped(line, 400)));
        let short: Vec<String> = words.iter().map(|word| clipped(word, COLUMNS)).collect();
        Card {
            look: Look::of(layer),
            title: clipped(&title, COLUMNS - 6),
            facts: facts.iter().map(|fact| clipped(fact, COLUMNS + 6)).collect(),
            wishes: wrapped(&short, COLUMNS, ANNOTATION_LINES),
            tooltip: tooltip.join("\n"),
            is_output,
        }
    }
}

impl Look {
    fn of(layer: &Layer) -> Self {
        match (layer.op(), layer.annotations().asks_for()) {
            (Op::Load(_), _) => Look::Source,
            (Op::Store(_), _) => Look::Sink,
            (Op::Wait(_), _) => Look::Wait,
            (_, None | Some(DeviceWish::Cpu)) => Look::Host,
            (_, Some(DeviceWish::Gpu)) => Look::Gpu,
            (_, Some(DeviceWish::PreferGpu)) => Look::PreferGpu,
            (_, Some(DeviceWish::Any)) => Look::Any,
        }
    }

    /// In the legend.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Look::Source => "source",
            Look::Host => "host",
            Look::Gpu => "GPU",
            Look::PreferGpu => "GPU preferred",
            Look::Any => "any device",
            Look::Wait => "wait",
            Look::Sink => "sink",
        }
    }

    /// Fill and border: light and dark tints of Okabe and Ito's palette, which people tell apart who are blind to
    /// some colours (<https://jfly.uni-koeln.de/color/>). Black text on any fill has a contrast above 12:1.
    pub(super) const fn colours(self) -> (&'static str, &'static str) {
        match self {
            Look::Source => ("#d5efe5", "#00694e"),
            Look::Host => ("#eceff2", "#56616b"),
            Look::Gpu => ("#fbd3b0", "#a84a00"),
            Look::PreferGpu => ("#fdf3b4", "#7d6b00"),
            Look::Any => ("#cfe7f8", "#005a94"),
            Look::Wait => ("#ffffff", "#56616b"),
            Look::Sink => ("#f2dbea", "#8a3d6d"),
        }
    }
}

/// `1 task`, `2 tasks`.
pub(super) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The annotations in words, one phrase for each.
fn wishes(annotations: &Annotations) -> Vec<String> {
    let Json::Object(pairs) = annotations.to_json() else { return Vec::new() };
    let fresh = annotations.is_fresh().then(|| "nothing from further out".to_owned());
    pairs.iter().map(|(key, value)| phrase(annotations, key, value)).chain(fresh).collect()
}

fn phrase(annotations: &Annotations, key: &str, value: &Json) -> String {
    match (key, value) {
        ("device", _) => match annotations.device() {
            Some(DeviceWish::Cpu) => "on the host".to_owned(),
            Some(DeviceWish::Gpu) => "on a GPU".to_owned(),
            Some(DeviceWish::PreferGpu) => "on a GPU where one fits".to_owned(),
            Some(DeviceWish::Any) | None => "on any device".to_owned(),
        },
        ("gpu", _) => match annotations.gpu() {
            Some(GpuShare::Whole(count)) => format!("{count} GPUs"),
            Some(GpuShare::Fraction(share)) if share < 1.0 => format!("{share} of a GPU"),
            Some(GpuShare::Fraction(_)) | None => "a whole GPU".to_owned(),
        },
        ("memory", Json::Number(bytes)) => {
            format!("{} of memory", Bytes(bytes.as_u64().unwrap_or_default()))
        }
        ("retries", Json::Number(_)) => {
            let count = annotations.retries().unwrap_or(0);
            format!("{count} {}", if count == 1 { "retry" } else { "retries" })
        }
        ("workers", Json::Array(_)) => format!("on {}", annotations.workers().unwrap_or(&[]).join(" or ")),
        ("resources", Json::Object(_)) => {
            let amounts = annotations.resources().iter().map(|(name, amount)| format!("{amount} × {name}"));
            amounts.collect::<Vec<_>>().join(", ")
        }
        ("allow_other_workers", Json::Bool(true)) => "or on others".to_owned(),
        ("allow_other_workers", Json::Bool(false)) => "on no others".to_owned(),
        ("checkpoint", Json::Bool(true)) => "kept to resume from".to_owned(),
        ("checkpoint", Json::Bool(false)) => "not kept".to_owned(),
        (_, Json::String(text)) => format!("{key} {text}"),
        _ => format!("{key} {value}"),
    }
}
