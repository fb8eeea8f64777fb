//! The generic functions over the collection: equal values, nothing lost, nothing expanded.

use std::fmt::Display;
use std::sync::Arc;

use super::clauses::Subject;
use super::copies::marked;
use super::findings::Findings;
use crate::annotate::Annotations;
use crate::collections::manipulate::{Options, SplitEvery, bind, checkpoint, clone, wait_on};
use crate::collections::{Array, Collection, Rename, Runner, nested};
use crate::dtype::DType;
use crate::graph::error::GraphError;
use crate::graph::op::Op;

/// Tries each of them on the collection over a graph in which every layer is annotated.
pub(super) fn check<C, R>(subject: &Subject<'_, C, R>, findings: &mut Findings)
where
    C: Collection,
    R: Runner,
    R::Error: Display,
{
    let Some(graph) = findings.attempt(4, "copying its graph", || marked(&subject.said.graph)) else {
        return;
    };
    let rebuild = || subject.collection.rebuild(&graph, &Rename::none());
    // A rebuild that fails was noted as such before.
    let Some(Ok(original)) = findings.caught(4, "rebuild()", rebuild) else { return };
    let before = findings.attempt(4, "the graph of a rebuilt collection", || needed_layers(&original));
    let Some(before) = before else { return };
    let parent = Array::ones([1], DType::F64);
    type Function<'a, C> = Box<dyn Fn() -> Result<C, GraphError> + 'a>;
    let functions: [(&str, Function<'_, C>); 5] = [
        ("clone()", Box::new(|| clone(&original, &Options::new()))),
        ("bind()", Box::new(|| bind(&original, &parent, &Options::new()))),
        ("bind() to itself", Box::new(|| bind(&original, &original, &Options::new()))),
        ("wait_on()", Box::new(|| wait_on(&original, SplitEvery::Auto))),
        ("optimize()", Box::new(|| nested::optimize(&original))),
    ];
    for (what, function) in functions {
        let clause = if what == "optimize()" { 8 } else { 4 };
        if let Some(made) = findings.attempt(clause, what, function) {
            kept(&made, &before, clause, what, findings);
            computes(subject, &made, what, findings);
        }
    }
    if let Some(held) = findings.attempt(4, "persist()", || nested::persist(&original, subject.runner)) {
        computes(subject, &held, "persist()", findings);
    }
    let computed = findings.attempt(4, "checkpoint()", || checkpoint(&original, SplitEvery::Auto));
    if let Some(done) = computed {
        findings.attempt(4, "computing a checkpoint of it", || nested::compute(&done, subject.runner));
    }
}

/// Whether all layers are still there as they were: as symbolic, and with their annotations.
fn kept<C: Collection>(made: &C, before: &[Made], clause: u8, what: &str, findings: &mut Findings) {
    let Some(after) = findings.attempt(clause, what, || needed_layers(made)) else { return };
    let expanded = !before.iter().any(|own| own.explicit) && after.iter().any(|own| own.explicit);
    findings.require(clause, !expanded, || format!("{what} made explicit tasks of a symbolic layer"));
    let mut left = after;
    for own in before {
        match left.iter().position(|other| other == own) {
            Some(at) => drop(left.swap_remove(at)),
            None => findings.breach(
                clause,
                format!("{what} lost a layer of the operation '{}' annotated [{}]", own.op, own.annotations),
            ),
        }
    }
}

/// Whether what a function gave has the collection's value.
fn computes<C, R>(subject: &Subject<'_, C, R>, made: &C, what: &str, findings: &mut Findings)
where
    C: Collection,
    R: Runner,
    R::Error: Display,
{
    let computing = format!("computing what {what} gives");
    if let Some(value) = findings.attempt(6, &computing, || nested::compute(made, subject.runner)) {
        subject.compare(6, what, &value, findings);
    }
}

/// What makes a collection's values: one operation, and what was asked for it.
#[derive(PartialEq)]
struct Made {
    op: Arc<str>,
    explicit: bool,
    annotations: Annotations,
}

/// Every layer that the keys need; of merged ones each on its own.
fn needed_layers(collection: &impl Collection) -> Result<Vec<Made>, GraphError> {
    let graph = collection.graph()?.cull(&collection.keys()?)?;
    let made = graph.layers().flat_map(|(_, layer)| {
        let explicit = matches!(layer.op(), Op::Tasks(_));
        let origins = layer.origins().into_iter();
        origins.map(move |own| Made { op: own.op, explicit, annotations: own.annotations })
    });
    Ok(made.collect())
}
