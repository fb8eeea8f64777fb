//! The clauses of the contract, one by one.

use std::collections::HashSet;
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::copies::{copied, marked, of_another_kind, replaced, tripwire, with_one_value};
use super::findings::Findings;
use crate::annotate::Annotations;
use crate::collections::{Collection, Computed, Rename, Runner, nested};
use crate::graph::error::GraphError;
use crate::graph::keys::Keys;
use crate::graph::layer::Layer;
use crate::graph::layer_graph::LayerGraph;
use crate::key::Key;

/// A name that no collection has.
const NOWHERE: &str = "no-such-layer";

/// The collection that is checked, and what it says about itself.
pub(super) struct Subject<'a, C: Collection, R> {
    pub(super) collection: &'a C,
    pub(super) runner: &'a R,
    pub(super) equal: &'a dyn Fn(&C::Value, &C::Value) -> bool,
    pub(super) said: Said,
    /// The layers that make its values.
    pub(super) layers: Vec<Arc<Layer>>,
    /// Its value, computed without its optimiser.
    pub(super) value: C::Value,
    computed: Computed,
}

/// What a collection says about itself.
pub(super) struct Said {
    pub(super) graph: LayerGraph,
    pub(super) keys: Keys,
    pub(super) names: Vec<Arc<str>>,
}

impl Said {
    fn of<C: Collection>(collection: &C, findings: &mut Findings) -> Option<Said> {
        let graph = findings.attempt(1, "graph()", || collection.graph());
        let keys = findings.attempt(2, "keys()", || collection.keys());
        let names = findings.attempt(3, "layer_names()", || collection.layer_names());
        Some(Said { graph: graph?, keys: keys?, names: names? })
    }
}

impl<'a, C, R> Subject<'a, C, R>
where
    C: Collection,
    R: Runner,
    R::Error: Display,
{
    /// Clauses 1 to 3, and the value. `None` when they leave nothing to go on with.
    pub(super) fn of(
        collection: &'a C,
        runner: &'a R,
        equal: &'a dyn Fn(&C::Value, &C::Value) -> bool,
        findings: &mut Findings,
    ) -> Option<Self> {
        let said = Said::of(collection, findings)?;
        let again = Said::of(collection, findings)?;
        findings.require(1, described(&said.graph) == described(&again.graph), || {
            "graph() gives another graph at the second call".to_owned()
        });
        findings
            .require(2, said.keys == again.keys, || "keys() gives other keys at the second call".to_owned());
        findings.require(3, said.names == again.names, || {
            "layer_names() gives other names at the second call".to_owned()
        });
        findings.attempt(1, "validate() of its graph", || said.graph.validate())?;
        let whole = keys_hold(&said, findings) & names_hold(&said, findings);
        let layers = said.names.iter().filter_map(|name| said.graph.layer_named(name).cloned()).collect();
        if !whole {
            return None;
        }
        let culled = findings.attempt(2, "culling the graph to keys()", || said.graph.cull(&said.keys))?;
        let computed = match runner.run_graph(&culled) {
            Ok(computed) => computed,
            Err(error) => {
                findings
                    .breach(6, format!("its graph can't be computed, so that nothing is finalised: {error}"));
                return None;
            }
        };
        let value =
            findings.attempt(6, "finalize() of its computed values", || collection.finalize(&computed))?;
        Some(Subject { collection, runner, equal, said, layers, value, computed })
    }

    /// Whether a value is the collection's own.
    pub(super) fn compare(&self, clause: u8, what: &str, value: &C::Value, findings: &mut Findings) {
        let equal =
            findings.caught(clause, "the comparison of two values", || (self.equal)(&self.value, value));
        findings.require(clause, equal != Some(false), || format!("{what} gives another value"));
    }
}

/// Clauses 4 to 9; whether the collection could be computed.
pub(super) fn check<C, R>(subject: &Subject<'_, C, R>, findings: &mut Findings) -> bool
where
    C: Collection,
    R: Runner,
    R::Error: Display,
{
    rebuilds(subject, findings);
    refuses(subject, findings);
    finalizes(subject, findings);
    tokens(subject, findings);
    let computes = optimizes(subject, findings);
    is_lazy(subject, findings);
    if let Some(now) = Said::of(subject.collection, findings) {
        let said = &subject.said;
        let same = (&now.keys, &now.names) == (&said.keys, &said.names)
            && described(&now.graph) == described(&said.graph);
        findings.require(4, same, || "rebuild() changed the collection that it was called on".to_owned());
    }
    computes
}

/// Clause 2.
fn keys_hold(said: &Said, findings: &mut Findings) -> bool {
    let mut seen: HashSet<Key> = HashSet::new();
    let mut whole = true;
    for key in said.keys.iter() {
        let problem = match key {
            Err(error) => format!("keys() has what is no key: {error}"),
            Ok(key) if !said.graph.contains(&key) => format!("the key {key} isn't in the graph"),
            Ok(key) if seen.contains(&key) => format!("the key {key} comes twice"),
            Ok(key) => {
                seen.insert(key);
                continue;
            }
        };
        findings.breach(2, problem);
        whole = false;
    }
    findings.require(2, !said.keys.is_empty(), || "keys() gives no key".to_owned());
    whole && !said.keys.is_empty()
}

/// Clause 3.
fn names_hold(said: &Said, findings: &mut Findings) -> bool {
    let mut problems = Vec::new();
    let of_keys = said.keys.names();
    for (at, name) in said.names.iter().enumerate() {
        if said.graph.layer_named(name).is_none() {
            problems.push(format!("layer_names() has '{name}', which isn't a layer of the graph"));
        } else if !of_keys.contains(&&**name) {
            problems.push(format!("layer_names() has '{name}', and no key has this name"));
        }
        if said.names[..at].contains(name) {
            problems.push(format!("layer_names() has '{name}' twice"));
        }
    }
    let missing = of_keys.iter().filter(|name| !said.names.iter().any(|own| **own == ***name));
    problems.extend(missing.map(|name| format!("keys have the name '{name}', which layer_names() lacks")));
    let whole = problems.is_empty();
    problems.into_iter().for_each(|problem| findings.breach(3, problem));
    whole
}

/// Clause 4: all names replaced, some of them, none.
fn rebuilds<C: Collection, R>(subject: &Subject<'_, C, R>, findings: &mut Findings) {
    let Said { graph, names, .. } = &subject.said;
    let all: Vec<Arc<str>> = graph.layers().map(|(_, layer)| layer.shared_name().clone()).collect();
    let mut tries: Vec<(&str, &[Arc<str>])> = vec![("all names replaced", &all), ("no name replaced", &[])];
    if names.len() > 1 {
        tries.push(("one of several names replaced", &names[..1]));
    }
    for (what, replaced) in tries {
        let name = |layer: &Layer| match replaced.contains(layer.shared_name()) {
            true => renamed(layer.name()),
            false => layer.shared_name().clone(),
        };
        let what = format!("rebuild() with {what}");
        let made = copied(graph, name, |layer| Ok(layer.annotations().clone()));
        let Some(made) = findings.attempt(4, "copying its graph", || made) else { continue };
        // The old layers are there too where they can be, so that taking them is seen.
        let old: &[Arc<Layer>] = if replaced.len() == all.len() { graph.output_layers() } else { &[] };
        let other = LayerGraph::of(made.output_layers().iter().chain(old).cloned());
        // Names that aren't the collection's must not matter, nor those that aren't even the graph's.
        let extra = [(Arc::from(NOWHERE), Arc::from("nor-this-one"))];
        let rename: Rename = replaced.iter().map(|name| (name.clone(), renamed(name))).chain(extra).collect();
        let rebuilt = findings.attempt(4, &what, || subject.collection.rebuild(&other, &rename));
        if let Some(rebuilt) = rebuilt {
            is_over(&rebuilt, &subject.said, &other, &rename, &what, findings);
        }
    }
}

/// Whether a rebuilt collection is the same over `graph`.
pub(super) fn is_over<C: Collection>(
    rebuilt: &C,
    said: &Said,
    graph: &LayerGraph,
    rename: &Rename,
    what: &str,
    findings: &mut Findings,
) {
    let Some(now) = Said::of(rebuilt, findings) else { return };
    findings.require(4, now.keys == with_names(&said.keys, rename), || {
        format!(
            "{what}: the keys aren't the old ones under the new names: {:?} became {:?}",
            said.keys, now.keys
        )
    });
    let names: Vec<&str> = said.names.iter().map(|name| rename.of(name)).collect();
    let found: Vec<&str> = now.names.iter().map(|name| &**name).collect();
    findings.require(4, names == found, || {
        format!("{what}: the layers' names are {}, not {}", found.join(", "), names.join(", "))
    });
    for name in names {
        let same = match (graph.layer_named(name), now.graph.layer_named(name)) {
            (Some(given), Some(found)) => Arc::ptr_eq(given, found),
            _ => false,
        };
        findings.require(4, same, || format!("{what}: '{name}' isn't the layer of the graph that was given"));
    }
}

/// Clause 5.
fn refuses<C: Collection, R>(subject: &Subject<'_, C, R>, findings: &mut Findings) {
    let Subject { collection, said, layers, .. } = subject;
    let mut must_refuse = |what: &str, name: &str, graph: &LayerGraph, rename: &Rename| {
        let what = format!("rebuild() over a graph {what}");
        match findings.caught(5, &what, || collection.rebuild(graph, rename).map(drop)) {
            Some(Ok(())) => findings.breach(5, format!("{what} is no error")),
            Some(Err(error)) => findings.require(5, error.to_string().contains(&format!("'{name}'")), || {
                format!("{what}: the error doesn't name '{name}': {error}")
            }),
            None => {}
        }
    };
    for layer in layers {
        let name = layer.name();
        let without = replaced(layers, name, None);
        must_refuse(&format!("without '{name}'"), name, &without, &Rename::none());
        let rename = Rename::one(name, NOWHERE);
        must_refuse("without the new name", NOWHERE, &said.graph, &rename);
        let other = replaced(layers, name, Some(of_another_kind(layer)));
        must_refuse(&format!("in which '{name}' has values of another kind"), name, &other, &Rename::none());
        let fewer = replaced(layers, name, Some(with_one_value(layer)));
        if said.keys.iter().flatten().any(|key| !fewer.contains(&key)) {
            must_refuse(&format!("in which '{name}' lacks keys"), name, &fewer, &Rename::none());
        }
    }
}

/// Clause 6.
fn finalizes<C, R>(subject: &Subject<'_, C, R>, findings: &mut Findings)
where
    C: Collection,
    R: Runner,
    R::Error: Display,
{
    let Subject { collection, runner, said, computed, .. } = subject;
    let nothing = findings.caught(6, "finalize() of no values", || collection.finalize(&Computed::default()));
    findings.require(6, !matches!(nothing, Some(Ok(_))), || {
        "finalize() gives a value though none was computed".to_owned()
    });
    if let Some(value) =
        findings.attempt(6, "finalize() at the second call", || collection.finalize(computed))
    {
        subject.compare(6, "finalize() at the second call", &value, findings);
    }
    let name = |layer: &Layer| renamed(layer.name());
    let Ok(other) = copied(&said.graph, name, |layer| Ok(layer.annotations().clone())) else { return };
    let rename: Rename = said.names.iter().map(|name| (name.clone(), renamed(name))).collect();
    // That it can't be rebuilt is clause 4's business.
    let Some(Ok(rebuilt)) = findings.caught(4, "rebuild()", || collection.rebuild(&other, &rename)) else {
        return;
    };
    let what = "finalize() of a rebuilt collection";
    let Some(keys) = findings.attempt(2, "keys()", || rebuilt.keys()) else { return };
    let Ok(culled) = other.cull(&keys) else { return };
    let values = findings.attempt(6, "computing a rebuilt collection", || runner.run_graph(&culled));
    let value = values.and_then(|values| findings.attempt(6, what, || rebuilt.finalize(&values)));
    if let Some(value) = value {
        subject.compare(6, what, &value, findings);
    }
}

/// Clause 7.
fn tokens<C: Collection, R>(subject: &Subject<'_, C, R>, findings: &mut Findings) {
    let Subject { collection, said, layers, .. } = subject;
    let own = findings.attempt(7, "token()", || collection.token());
    let again = findings.attempt(7, "token()", || collection.token());
    findings.require(7, own == again, || "token() gives another token at the second call".to_owned());
    let same = |layer: &Layer| layer.shared_name().clone();
    let tripped = Arc::default();
    let graphs = [
        copied(&said.graph, same, |_| Ok(Annotations::new())),
        marked(&said.graph),
        copied(&said.graph, |layer| renamed(layer.name()), |_| Ok(Annotations::new())),
        Ok(LayerGraph::of(layers.iter().map(|layer| tripwire(layer, &tripped)))),
    ];
    let rename: Rename = said.names.iter().map(|name| (name.clone(), renamed(name))).collect();
    let mut token = |graph: Result<LayerGraph, GraphError>, rename: &Rename| {
        let rebuilt = findings.caught(4, "rebuild()", || collection.rebuild(&graph?, rename))?.ok()?;
        findings.attempt(7, "token()", || rebuilt.token())
    };
    let [plain, marked, named, other] = graphs;
    let plain = token(plain, &Rename::none());
    let (marked, other) = (token(marked, &Rename::none()), token(other, &Rename::none()));
    let named = token(named, &rename);
    let mut differ = |one: Option<_>, problem: &str| {
        let equal = plain.zip(one).is_none_or(|(a, b)| a == b);
        findings.require(7, equal, || problem.to_owned());
    };
    differ(marked, "token() depends on annotations");
    differ(named, "token() depends on the layers' names");
    findings.require(7, plain.zip(other).is_none_or(|(a, b)| a != b), || {
        "token() is the same over layers of other content".to_owned()
    });
}

/// Clause 8; whether the collection could be computed.
fn optimizes<C, R>(subject: &Subject<'_, C, R>, findings: &mut Findings) -> bool
where
    C: Collection,
    R: Runner,
    R::Error: Display,
{
    let optimizer = || subject.collection.optimizer().map(|own| own.name().to_owned());
    let name = findings.caught(8, "optimizer()", optimizer);
    let again = findings.caught(8, "optimizer()", optimizer);
    findings.require(8, name == again, || {
        "optimizer() has another name at the second call, so that collections don't share it".to_owned()
    });
    let value = findings.attempt(8, "computing it with its optimiser", || {
        nested::compute(subject.collection, subject.runner)
    });
    if let Some(value) = &value {
        subject.compare(8, "computing it with its optimiser", value, findings);
    }
    value.is_some()
}

/// Clause 9, over layers that tell when they are computed.
fn is_lazy<C: Collection, R>(subject: &Subject<'_, C, R>, findings: &mut Findings) {
    let tripped = Arc::new(AtomicBool::new(false));
    let graph = LayerGraph::of(subject.layers.iter().map(|layer| tripwire(layer, &tripped)));
    let mut quiet = |what: &str| {
        findings.require(9, !tripped.swap(false, Ordering::Relaxed), || format!("{what} computes values"));
    };
    let rebuild = || subject.collection.rebuild(&graph, &Rename::none());
    let Some(Ok(lazy)) = Findings::default().caught(9, "rebuild()", rebuild) else {
        return quiet("rebuild()");
    };
    quiet("rebuild()");
    // What these give was asked before; here only that they ask nothing counts.
    let mut scratch = Findings::default();
    scratch.caught(9, "", || lazy.graph().map(drop));
    quiet("graph()");
    scratch.caught(9, "", || lazy.keys().map(drop));
    quiet("keys()");
    scratch.caught(9, "", || lazy.layer_names().map(drop));
    quiet("layer_names()");
    scratch.caught(9, "", || lazy.token().map(drop));
    quiet("token()");
    scratch.caught(9, "", || nested::optimize(&lazy).map(drop));
    quiet("optimizer()");
    scratch.caught(9, "", || lazy.finalize(&subject.computed).map(drop));
    quiet("finalize()");
}

fn renamed(name: &str) -> Arc<str> {
    format!("{name}-checked").into()
}

fn with_names(keys: &Keys, rename: &Rename) -> Keys {
    match keys {
        // No new name is empty, so that no key stays by mistake.
        Keys::One(key) => Keys::One(key.renamed(rename.of(key.name())).unwrap_or_else(|_| key.clone())),
        Keys::Grid { name, grid } => Keys::Grid { name: rename.of(name).into(), grid: grid.clone() },
        Keys::List(lists) => Keys::List(lists.iter().map(|keys| with_names(keys, rename)).collect()),
    }
}

/// The layers of a graph as text: names, content, annotations.
fn described(graph: &LayerGraph) -> Vec<String> {
    let line = |layer: &Layer| format!("{} {} [{}]", layer.name(), layer.token(), layer.annotations());
    graph.layers().map(|(_, layer)| line(layer)).collect()
}
