//! Who may use whom.

use crate::Findings;
use crate::scan::Source;

/// Modules that everything may use, and that use only each other.
const BASE: [&str; 14] = [
    "annotate", "block", "csr", "dtype", "ids", "key", "panics", "parts", "shape", "sync", "task", "token",
    "units", "value",
];

/// A module, and what it may use besides itself and [`BASE`]; the longest fitting name counts. DESIGN.md §1.
const TABLE: &[(&str, &[&str])] = &[
    ("annotate", &[]),
    ("block", &[]),
    ("csr", &[]),
    ("dtype", &[]),
    ("ids", &[]),
    ("key", &[]),
    ("panics", &[]),
    ("parts", &[]),
    ("shape", &[]),
    ("sync", &[]),
    ("task", &[]),
    ("token", &[]),
    ("units", &[]),
    ("value", &[]),
    // Values' bytes on disk: known to those who run, and knowing nothing of runs.
    ("store", &[]),
    ("graph", &[]),
    ("collections", &["graph"]),
    ("testing", &["graph", "collections"]),
    ("machine", &[]),
    ("settings", &["machine"]),
    // A plan names the kernels that it launches; a kernel is plain data, below every device.
    ("steps", &["machine", "graph", "kernel"]),
    // Pure, and below both who plays plans and who runs them.
    ("reactor", &["steps"]),
    ("simulate", &["steps", "machine", "reactor"]),
    // Which kernels there are, and which a backend lacks, is data: a reason that the plan shows.
    ("plan", &["graph", "machine", "steps", "simulate", "settings", "kernel"]),
    ("kernel", &["graph::device_source", "graph::op", "graph::expr", "graph::expr_ops", "graph::piece"]),
    ("device", &["kernel", "machine", "graph::op", "graph::expr", "graph::expr_ops", "graph::piece"]),
    (
        "device::sim",
        &[
            "device",
            "kernel",
            "machine",
            "graph::op",
            "graph::expr",
            "graph::expr_ops",
            "graph::piece",
            "simulate",
        ],
    ),
    // What chunks and pieces there are to be copied is the graph's business.
    ("device::conformance", &["device", "kernel", "graph"]),
    // A call runs a function that isn't Outcrop's own: what it gets and gives is the graph's business.
    (
        "exec",
        &[
            "steps",
            "store",
            "reactor",
            "device::contract",
            "kernel",
            "machine",
            "graph::op",
            "graph::custom",
            "graph::value_spec",
        ],
    ),
    ("report", &["steps", "exec", "store", "machine", "graph"]),
    (
        "error",
        &[
            "graph",
            "collections",
            "machine",
            "settings",
            "steps",
            "simulate",
            "plan",
            "kernel",
            "device",
            "exec",
            "store",
            "pipeline",
        ],
    ),
    (
        "session",
        &[
            "graph",
            "collections",
            "machine",
            "settings",
            "steps",
            "simulate",
            "plan",
            "kernel",
            "device",
            "exec",
            "store",
            "error",
            "report",
        ],
    ),
    ("pipeline", &["session", "settings", "collections", "graph", "error"]),
    (
        "cli",
        &[
            "graph",
            "collections",
            "machine",
            "settings",
            "steps",
            "simulate",
            "plan",
            "kernel",
            "device",
            "exec",
            "store",
            "error",
            "report",
            "session",
            "pipeline",
        ],
    ),
];

/// A foreign crate, and the paths below which it may be named.
const FOREIGN: &[(&str, &[&str])] = &[
    ("cudarc", &["src/device/cuda"]),
    ("wgpu", &["src/device/wgpu"]),
    ("ash", &["src/device/wgpu"]),
    ("pollster", &["src/device/wgpu"]),
    ("nvml_wrapper", &["src/device/probe/nvml.rs"]),
    ("tokio", &["src/exec/driver", "src/session", "src/cli"]),
];

pub fn placed(source: &Source) -> Findings {
    let module = source.module();
    if module.is_empty() || row(&module).is_some() {
        return Vec::new();
    }
    vec![format!("{}: module '{}' has no row; give it one", source.at(0), module[0])]
}

pub fn arrows(source: &Source) -> Findings {
    let module = source.module();
    let Some((name, allowed)) = row(&module) else { return Vec::new() };
    let may = |path: &[String]| {
        let own = module.first() == path.first() && !name.contains("::");
        let below = |prefix: &&str| is_below(path, prefix);
        own || is_below(path, name) || BASE.iter().any(below) || allowed.iter().any(below)
    };
    let mut findings = Vec::new();
    for (line, path) in paths(source, &module) {
        // Macros of the crate are exported at its root.
        let is_macro = source.code[line].contains(&format!("{}!", path.join("::")));
        if !source.test[line] && !is_macro && !may(&path) {
            let at = source.at(line);
            findings.push(format!(
                "{at}: '{name}' must not use '{}'; move the code up or down, or pass the value in",
                path.join("::")
            ));
        }
    }
    findings
}

pub fn foreign(source: &Source) -> Findings {
    let mut findings = Vec::new();
    for (line, code) in source.code.iter().enumerate() {
        for (krate, homes) in FOREIGN {
            let home = homes.iter().any(|home| source.path.starts_with(home));
            let naga = *krate == "wgpu" && source.test[line] && source.path.starts_with("src/kernel");
            let naga = naga && !code.replace("wgpu::naga", "").contains("wgpu::");
            if !home && !naga && names_crate(code, krate) {
                let at = source.at(line);
                findings.push(format!(
                    "{at}: '{krate}' may stand only below {}; hide it there",
                    homes.join(", ")
                ));
            }
        }
    }
    findings
}

fn row(module: &[String]) -> Option<(&'static str, &'static [&'static str])> {
    TABLE.iter().filter(|(name, _)| is_below(module, name)).max_by_key(|(name, _)| name.len()).copied()
}

fn is_below(path: &[String], prefix: &str) -> bool {
    let mut parts = path.iter();
    prefix.split("::").all(|part| parts.next().is_some_and(|own| own == part))
}

/// Whether the crate is named at the head of a path: `wgpu::Device`, `use wgpu;`, not `device::wgpu::…`.
fn names_crate(code: &str, krate: &str) -> bool {
    code.match_indices(krate).any(|(at, _)| {
        let (before, after) = (&code[..at], &code[at + krate.len()..]);
        let own_word = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let head = !before.ends_with("::") || before.ends_with(" ::");
        let used = before.trim_end().ends_with("use")
            && !after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        own_word && head && (after.starts_with("::") || used)
    })
}

/// Every path that begins at the crate's root, with its line: `crate::…`, and `super::…` that climbs that far.
fn paths(source: &Source, module: &[String]) -> Vec<(usize, Vec<String>)> {
    let text = source.code.join("\n");
    let mut found = Vec::new();
    let heads = text.match_indices("crate::").map(|(at, _)| (at, at + "crate::".len()));
    let climbs = text.match_indices("super::").filter_map(|(at, _)| {
        let run = text[at..].split("super::").take_while(|part| part.is_empty()).count();
        let first = !text[..at].ends_with("super::");
        (first && run >= module.len()).then_some((at, at + run * "super::".len()))
    });
    for (at, start) in heads.chain(climbs) {
        let word = text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$');
        if !word {
            let line = text[..at].matches('\n').count();
            let mut expanded = Vec::new();
            expand(&text[start..], &mut Vec::new(), &mut expanded);
            found.extend(expanded.into_iter().map(|path| (line, path)));
        }
    }
    found
}

/// Reads `a::{b, c::d}` into its paths, and returns how many bytes it read.
fn expand(text: &str, prefix: &mut Vec<String>, found: &mut Vec<Vec<String>>) -> usize {
    let depth = prefix.len();
    let mut at = 0;
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        if text[at..].starts_with('{') {
            at += 1;
            loop {
                at += expand(&text[at..], prefix, found);
                at += text[at..].len() - text[at..].trim_start_matches([',', ' ', '\n']).len();
                if at >= text.len() || text[at..].starts_with('}') {
                    break;
                }
                if !text[at..].starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '{' || c == '*') {
                    break;
                }
            }
            at = (at + 1).min(text.len());
            break;
        }
        let word = text[at..].find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len() - at);
        if word > 0 && &text[at..at + word] != "self" {
            prefix.push(text[at..at + word].to_owned());
        }
        at += word + usize::from(word == 0 && text[at..].starts_with('*'));
        if !text[at..].starts_with("::") {
            found.push(prefix.clone());
            break;
        }
        at += 2;
    }
    prefix.truncate(depth);
    // `a as b` renames; the new name is no path.
    at + text[at..]
        .strip_prefix(" as ")
        .map_or(0, |rest| 4 + rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len()))
}

#[test]
fn use_trees_are_read() {
    let source = Source::new(
        "src/exec/state.rs",
        "use crate::{plan::cost, graph::{self, op::Op as O}};\nfn f() { super::super::simulate::run(); }\nuse super::event;",
    );
    let read: Vec<_> =
        paths(&source, &source.module()).into_iter().map(|(line, p)| (line, p.join("::"))).collect();
    let want = [(0, "plan::cost"), (0, "graph"), (0, "graph::op::Op"), (1, "simulate::run")];
    assert_eq!(read, want.map(|(line, path)| (line, path.to_owned())));
}

#[test]
fn arrows_are_held() {
    let table = [
        ("src/graph/op.rs", "use crate::plan::Plan;", 1),
        ("src/graph/op.rs", "use crate::{dtype::DType, graph::expr};", 0),
        ("src/graph/op.rs", "// use crate::plan::Plan;", 0),
        ("src/graph/op.rs", "#[cfg(test)]\nmod tests {\n    use crate::plan::Plan;\n}", 0),
        ("src/kernel/render.rs", "use crate::graph::{expr, op};", 0),
        ("src/kernel/render.rs", "use crate::graph::layer;", 1),
        ("src/device/sim/mod.rs", "use crate::simulate::play;", 0),
        ("src/device/host/mod.rs", "use crate::simulate::play;", 1),
        ("src/exec/reactor.rs", "use crate::device::contract::Queue;", 0),
        ("src/exec/reactor.rs", "use crate::device::host::Host;", 1),
        ("src/exec/reactor.rs", "use super::super::plan::Plan;", 1),
        ("src/lib.rs", "use crate::plan::Plan;", 0),
    ];
    for (path, text, want) in table {
        assert_eq!(arrows(&Source::new(path, text)).len(), want, "{path}: {text}");
    }
    assert_eq!(placed(&Source::new("src/helpers2/mod.rs", "")).len(), 1);
}

#[test]
fn foreign_crates_are_seen_at_the_head_of_a_path() {
    let table = [
        ("src/plan/mod.rs", "use wgpu::Device;", 1),
        ("src/plan/mod.rs", "use crate::device::wgpu::adapters;", 0),
        ("src/device/wgpu/memory.rs", "let x: wgpu::Buffer;", 0),
        ("src/kernel/render.rs", "#[cfg(test)]\nmod tests { use wgpu::naga::Module; }", 0),
        ("src/kernel/render.rs", "use wgpu::naga::Module;", 1),
        ("src/exec/driver.rs", "use tokio::sync::mpsc;", 0),
        ("src/exec/reactor.rs", "use tokio::sync::mpsc;", 1),
        ("src/exec/reactor.rs", "let s = \"tokio::x\"; // tokio::y", 0),
    ];
    for (path, text, want) in table {
        assert_eq!(foreign(&Source::new(path, text)).len(), want, "{path}: {text}");
    }
}
