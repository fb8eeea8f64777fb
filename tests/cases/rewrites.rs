//! Annotations through every rewrite of a graph: a01, and a06, the same inside somebody else's scope.

use std::collections::BTreeMap;

use outcrop::annotate::{Annotations, annotate};
use outcrop::collections::array::{Index, Over};
use outcrop::collections::manipulate::{self, Options, SplitEvery, bind, wait_on};
use outcrop::collections::{Array, Collection, Delayed};
use outcrop::graph::layer::Layer;
use outcrop::graph::layer_graph::LayerGraph;
use outcrop::graph::op::Op;
use outcrop::plan::known::Known;
use outcrop::plan::plan;
use outcrop::report::Report;
use outcrop::session::Session;
use outcrop::settings::Config;
use outcrop::steps::StepKind;

use crate::annotations::{config, machine, settings, source, values_of_all_keys, with};

/// Every key with two values each, as a set of annotations.
fn wishes() -> impl Iterator<Item = Annotations> {
    values_of_all_keys().into_iter().flat_map(|(key, first, second)| [with(key, first), with(key, second)])
}

/// Two maps, a slice and a mean under `wish`, over a source that has none.
fn annotated(wish: &Annotations) -> Array {
    let x = source();
    annotate(wish.clone(), || {
        let first = (&x * 2.0).named("first");
        let second = (&first + 1.0).named("second");
        let part =
            second.slice(&[Index::Range { start: Some(10), stop: Some(50), step: None }]).named("part");
        part.mean(&Over::all()).named("mean")
    })
}

const NAMED: [&str; 4] = ["first", "second", "part", "mean"];

/// What became of the array in each rewrite.
fn rewritten(array: &Array) -> BTreeMap<&'static str, LayerGraph> {
    let graph = array.graph().unwrap();
    let other = (source() * 5.0).named("other");
    let of = |array: Array| array.graph().unwrap();
    let parent = Delayed::literal(1i64);
    let cpu_only = Config { cpu_only: Some(true), resources: Some(settings().resources), ..config() };
    let session = Session::on(machine("cpu-only"), cpu_only);
    BTreeMap::from([
        ("as it is", graph.clone()),
        ("clone", of(manipulate::clone(array, &Options::new()).unwrap())),
        ("bind", of(bind(array, &parent, &Options::new()).unwrap())),
        ("wait_on", of(wait_on(array, SplitEvery::Auto).unwrap())),
        ("wait_on others", of(wait_on(&(array.clone(), other.clone()), SplitEvery::Auto).unwrap().0)),
        ("cull", graph.cull(&array.keys().unwrap()).unwrap()),
        ("merge", LayerGraph::merge(&[graph, other.graph().unwrap()]).unwrap()),
        ("persist", of(session.persist(array).unwrap())),
    ])
}

/// For each layer of the user's, what was asked for it, how often.
fn asked(graph: &LayerGraph) -> BTreeMap<(String, String), usize> {
    let mut asked = BTreeMap::new();
    for (_, layer) in graph.layers() {
        let label = layer.label().unwrap_or("").to_owned();
        *asked.entry((label, layer.annotations().to_string())).or_insert(0) += 1;
    }
    asked
}

/// A barrier between several layers computes none of them: it carries what they agree on.
#[test]
fn a01_annotations_survive_every_rewrite() {
    for wish in wishes() {
        for (rewrite, graph) in rewritten(&annotated(&wish)) {
            let kept = |label: &str| {
                let is_it =
                    |layer: &Layer| layer.label() == Some(label) && !matches!(layer.op(), Op::Wait(_));
                let mut of_label = graph.layers().filter(|(_, layer)| is_it(layer)).peekable();
                of_label.peek().is_some() && of_label.all(|(_, layer)| *layer.annotations() == wish)
            };
            let there: &[&str] = if rewrite == "persist" { &["mean"] } else { &NAMED };
            assert!(there.iter().all(|label| kept(label)), "{rewrite} under {wish}:\n{graph}");
            // In the plan, by fusion and lowering, and so for every task.
            let plan = plan(&graph, &Known::none(), &machine("one-gpu"), &settings()).unwrap();
            let sources = plan.layers.iter().flat_map(|layer| &layer.sources);
            let mut of_user = sources.filter(|source| {
                &*source.op != "wait" && source.label.as_deref().is_some_and(|l| NAMED.contains(&l))
            });
            assert!(of_user.all(|source| source.annotations == wish), "{rewrite} under {wish}:\n{plan}");
            // In what is written out, which other programs read.
            let report = Report::of_plan(&plan, &machine("one-gpu"), 0.0);
            let written: serde_json::Value =
                serde_json::from_str(&serde_json::to_string(&report).unwrap()).unwrap();
            let sources = written["layers"].as_array().unwrap().iter();
            let sources = sources.flat_map(|layer| layer["sources"].as_array().unwrap());
            let of_user = sources.filter(|source| {
                source["op"] != "wait" && NAMED.iter().any(|label| source["name"] == **label)
            });
            let of_user: Vec<_> = of_user.collect();
            assert!(!of_user.is_empty());
            assert!(
                of_user.iter().all(|source| source["annotations"] == wish.to_json()),
                "{rewrite}: {written}"
            );
            let computing =
                plan.steps.iter().filter(|step| !matches!(step.kind, StepKind::Transfer | StepKind::Wait));
            for step in computing {
                let (layer, terms) = (&plan.layers[step.layer as usize], &plan.terms[step.terms as usize]);
                let is_users = NAMED.contains(&layer.name.as_str());
                let retries = wish.retries().filter(|_| is_users).unwrap_or(0);
                assert_eq!((terms.retries, terms.timeout), (retries, wish.timeout().filter(|_| is_users)));
            }
        }
    }
}

#[test]
fn a06_a_rewrite_inside_a_scope_leaves_annotations_as_they_were() {
    let intruder = || with("retries", 9).set("device", "cpu").unwrap().set("team", "intruder").unwrap();
    for wish in wishes().chain([Annotations::new()]) {
        let array = annotated(&wish);
        let outside = rewritten(&array);
        let inside = annotate(intruder(), || rewritten(&array));
        for (rewrite, graph) in &outside {
            let others = |graph: &LayerGraph| {
                let mut asked = asked(graph);
                // Made anew in `rewritten`, and so rightly under the scope: the other array, the parent.
                asked.retain(|(label, _), _| NAMED.contains(&label.as_str()));
                asked
            };
            assert_eq!(others(&inside[rewrite]), others(graph), "{rewrite} under {wish}");
            let plans = || plan(graph, &Known::none(), &machine("one-gpu"), &settings()).unwrap().to_string();
            assert_eq!(annotate(intruder(), plans), plans(), "planning reads no scope");
        }
    }
}
