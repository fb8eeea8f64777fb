//! The checker: Outcrop's own collections pass it, and each way of breaking a clause is told by its number.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use outcrop::annotate::{Annotations, annotate};
use outcrop::collections::contract::rebuilt_layer;
use outcrop::collections::delayed::function;
use outcrop::collections::manipulate::{Options, clone};
use outcrop::collections::{
    Array, Bag, Collection, Computed, Delayed, Optimizer, Rename, array::Over, nested,
};
use outcrop::graph::error::GraphError;
use outcrop::graph::keys::Keys;
use outcrop::graph::layer::{Layer, Naming};
use outcrop::graph::layer_graph::LayerGraph;
use outcrop::key::Key;
use outcrop::session::Session;
use outcrop::settings::Config;
use outcrop::testing::{Breaches, check_collection};
use outcrop::token::{Token, Tokenizer};

fn session() -> Session {
    Session::new(Config { threads: Some(2), ..Config::default() })
}

#[test]
fn arrays_pass() {
    let x = Array::arange(0.0, 1.0, 60).rechunk(&[25]);
    let asked = Annotations::new().set("retries", 2).unwrap().set("owner", "me").unwrap();
    let y = annotate(asked, || x.sin() + 1.0);
    let session = session();
    for array in [&x, &y, &y.sum(&Over::all()), &Array::from_slice([2, 2], &[1.0, 2.0, 3.0, 4.0])] {
        check_collection(array, &session, |a, b| a.token() == b.token()).unwrap();
        let held = session.persist(array).unwrap();
        check_collection(&held, &session, |a, b| a.token() == b.token()).unwrap();
        let copy = clone(&held, &Options::new()).unwrap();
        assert_eq!(copy.token().unwrap(), array.token().unwrap(), "a copy of what is held has its content");
    }
}

#[test]
fn delayed_values_pass() {
    let session = session();
    let add = function("add", 1, |a: &i64, b: &i64| a + b);
    let x = Array::arange(0.0, 1.0, 10).rechunk(&[4]);
    let three = add.call((&Delayed::literal(1), &Delayed::literal(2)));
    let urgent = Annotations::new().with_priority(3.0).unwrap();
    let counted = annotate(urgent, || {
        Delayed::call("count", (&x, &three), |x: &outcrop::block::Block, n: &i64| {
            x.shape().elements() as i64 + n
        })
    });
    for value in [&three, &counted, &Delayed::opaque(4), &counted.named("mine")] {
        check_collection(value, &session, PartialEq::eq).unwrap();
    }
}

#[test]
fn bags_pass() {
    let session = session();
    let urgent = Annotations::new().with_priority(1.0).unwrap();
    let bag = annotate(urgent, || Bag::range(0..10, 3));
    for bag in [&bag, &Bag::from_vec(vec![3, 1, 2], 2), &Bag::from_partitions(vec![vec![], vec![1]])] {
        check_collection(bag, &session, PartialEq::eq).unwrap();
        check_collection(&session.persist(bag).unwrap(), &session, PartialEq::eq).unwrap();
    }
}

/// Several arrays as one collection, which may be told to break the contract.
#[derive(Clone)]
struct Many {
    layers: Arc<Mutex<Vec<Arc<Layer>>>>,
    fault: Fault,
    calls: Arc<AtomicUsize>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    GraphFails,
    GraphChanges,
    GraphClashes,
    NoKeys,
    KeyTwice,
    KeyOfNoLayer,
    KeysPanic,
    NameLacks,
    NameOfNoLayer,
    NameOfNoKey,
    IgnoresRename,
    IgnoresGraph,
    Flattens,
    RefusesExtraNames,
    ChangesTheOriginal,
    RebuildPanics,
    TakesWhatIsMissing,
    TakesAnyKind,
    RefusesWithoutName,
    PanicsOnMissing,
    FindsByOldName,
    FinalizesNothing,
    FinalizePanics,
    FinalizeCounts,
    TokenOfNames,
    TokenOfAnnotations,
    TokenConstant,
    TokenCounts,
    OptimizerCounts,
    OptimizerLosesAnnotations,
    OptimizerLosesKeys,
    KeysCompute,
    TokenComputes,
    FinalizeComputes,
}

impl Many {
    fn of(arrays: &[Array], fault: Fault) -> Self {
        let layers = arrays.iter().map(|array| array.layer().unwrap().clone()).collect();
        Many { layers: Arc::new(Mutex::new(layers)), fault, calls: Arc::default() }
    }

    fn layers(&self) -> Vec<Arc<Layer>> {
        self.layers.lock().unwrap().clone()
    }

    fn calls(&self) -> usize {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }

    fn compute_on_the_way(&self) {
        // Layers that tell are there to fail.
        let _ = nested::compute(&Array::from_layer(self.layers()[0].clone()), &session());
    }

    fn rebuilt(
        &self,
        old: &Arc<Layer>,
        graph: &LayerGraph,
        rename: &Rename,
    ) -> Result<Arc<Layer>, GraphError> {
        let name = rename.of(old.name());
        let found = rebuilt_layer(old, graph, rename);
        match self.fault {
            Fault::IgnoresRename => rebuilt_layer(old, graph, &Rename::none()).or(found),
            Fault::IgnoresGraph => found.map(|layer| layer.named(layer.name())),
            Fault::TakesWhatIsMissing => Ok(found.unwrap_or_else(|_| old.clone())),
            Fault::TakesAnyKind => graph.layer_named(name).cloned().ok_or_else(|| found.unwrap_err()),
            Fault::RefusesWithoutName => found.map_err(|_| GraphError::foreign("broken on purpose")),
            Fault::PanicsOnMissing => Ok(found.expect("a layer")),
            _ => found,
        }
    }
}

impl Collection for Many {
    type Value = Vec<Vec<f64>>;

    fn graph(&self) -> Result<LayerGraph, GraphError> {
        let mut layers = self.layers();
        match self.fault {
            Fault::GraphFails => return Err(GraphError::foreign("broken on purpose")),
            Fault::GraphChanges if self.calls() % 2 == 1 => layers.reverse(),
            Fault::GraphClashes => {
                layers.push(Array::zeros([1], outcrop::dtype::DType::F64).layer()?.named("a"))
            }
            _ => {}
        }
        Ok(LayerGraph::of(layers))
    }

    fn keys(&self) -> Result<Keys, GraphError> {
        let grid = |layer: &Arc<Layer>| Keys::Grid {
            name: layer.shared_name().clone(),
            grid: layer.chunks().grid(),
        };
        let mut keys: Vec<Keys> = self.layers().iter().map(grid).collect();
        match self.fault {
            Fault::NoKeys => keys.clear(),
            Fault::KeyTwice => keys.push(Keys::One(self.layers()[0].key(0)?)),
            Fault::KeyOfNoLayer => keys.push(Keys::One(Key::named("elsewhere")?)),
            Fault::KeysPanic => panic!("keys are confused"),
            Fault::Flattens
                if self.layers().iter().any(|layer| layer.name() != "a" && layer.name() != "b") =>
            {
                let one = |layer: &Arc<Layer>| layer.key(0).map(Keys::One);
                keys = self.layers().iter().map(one).collect::<Result<_, _>>()?;
            }
            Fault::KeysCompute => self.compute_on_the_way(),
            _ => {}
        }
        Ok(Keys::List(keys))
    }

    fn layer_names(&self) -> Result<Vec<Arc<str>>, GraphError> {
        let mut names: Vec<Arc<str>> =
            self.layers().iter().map(|layer| layer.shared_name().clone()).collect();
        match self.fault {
            Fault::NameLacks => drop(names.pop()),
            Fault::NameOfNoLayer => names.push("elsewhere".into()),
            Fault::NameOfNoKey => names.push(self.layers()[0].inputs()[0].shared_name().clone()),
            _ => {}
        }
        Ok(names)
    }

    fn rebuild(&self, graph: &LayerGraph, rename: &Rename) -> Result<Self, GraphError> {
        if self.fault == Fault::RebuildPanics {
            panic!("not this graph");
        }
        if self.fault == Fault::RefusesExtraNames && rename.of("no-such-layer") != "no-such-layer" {
            return Err(GraphError::foreign("broken on purpose"));
        }
        let layers = self.layers();
        let layers =
            layers.iter().map(|old| self.rebuilt(old, graph, rename)).collect::<Result<Vec<_>, _>>()?;
        if self.fault == Fault::ChangesTheOriginal {
            *self.layers.lock().unwrap() = layers.clone();
        }
        Ok(Many { layers: Arc::new(Mutex::new(layers)), ..self.clone() })
    }

    fn finalize(&self, values: &Computed) -> Result<Self::Value, GraphError> {
        let mut all = Vec::new();
        for layer in self.layers() {
            let name = if self.fault == Fault::FindsByOldName {
                layer.name().replace("-checked", "")
            } else {
                layer.name().to_owned()
            };
            let missing = || GraphError::MissingLayer { name: name.clone(), have: vec![] };
            all.push(
                values.array(&name).ok_or_else(missing).map(|block| block.to_f64_vec().unwrap_or_default()),
            );
        }
        match self.fault {
            Fault::FinalizesNothing => return Ok(all.into_iter().filter_map(Result::ok).collect()),
            Fault::FinalizePanics => panic!("no value"),
            Fault::FinalizeCounts => all.push(Ok(vec![self.calls() as f64])),
            Fault::FinalizeComputes => self.compute_on_the_way(),
            _ => {}
        }
        all.into_iter().collect()
    }

    fn token(&self) -> Result<Token, GraphError> {
        let mut fields = Tokenizer::new("many");
        for layer in self.layers() {
            fields = match self.fault {
                Fault::TokenConstant => fields,
                Fault::TokenOfNames => fields.token(layer.token()).text(layer.name()),
                Fault::TokenOfAnnotations => {
                    fields.token(layer.token()).text(&layer.annotations().to_string())
                }
                Fault::TokenCounts => fields.token(layer.token()).int(self.calls() as i64),
                _ => fields.token(layer.token()),
            };
        }
        if self.fault == Fault::TokenComputes {
            self.compute_on_the_way();
        }
        Ok(fields.finish())
    }

    fn optimizer(&self) -> Option<Arc<dyn Optimizer>> {
        let name = match self.fault {
            Fault::OptimizerCounts => format!("many{}", self.calls()),
            _ => "many".to_owned(),
        };
        Some(Arc::new(Improves(name, self.fault)))
    }
}

struct Improves(String, Fault);

impl Optimizer for Improves {
    fn name(&self) -> &str {
        &self.0
    }

    fn optimize(&self, graph: &LayerGraph, _keys: &Keys) -> Result<LayerGraph, GraphError> {
        match self.1 {
            Fault::OptimizerLosesAnnotations => graph.with_outputs(|layer| {
                let naming = Naming::Exact(layer.shared_name().clone());
                Ok(Layer::of(layer.body(), layer.inputs().to_vec(), naming))
            }),
            Fault::OptimizerLosesKeys => Ok(LayerGraph::of(graph.output_layers().iter().take(1).cloned())),
            _ => Ok(graph.clone()),
        }
    }
}

fn breaches(fault: Fault) -> Result<(), Breaches> {
    let x = Array::arange(0.0, 1.0, 10).rechunk(&[4]);
    let y = annotate(Annotations::new().set("retries", 1).unwrap(), || (&x + 1.0).named("b"));
    let many = Many::of(&[(&x * 2.0).named("a"), y], fault);
    check_collection(&many, &session(), PartialEq::eq)
}

#[test]
fn a_composite_that_keeps_the_contract_passes() {
    breaches(Fault::None).unwrap();
}

#[test]
fn each_broken_clause_is_told_by_its_number() {
    // A type that breaks one clause can't always keep the others: what can't be rebuilt can't refuse properly either.
    let table: [(Fault, &[u8], &str); 34] = [
        (Fault::GraphFails, &[1], "graph() failed: broken on purpose"),
        (Fault::GraphChanges, &[1], "another graph at the second call"),
        (Fault::GraphClashes, &[1], "both named 'a'"),
        (Fault::NoKeys, &[2, 3], "keys() gives no key"),
        (Fault::KeyTwice, &[2], "the key ('a', 0) comes twice"),
        (Fault::KeyOfNoLayer, &[2, 3], "the key 'elsewhere' isn't in the graph"),
        (Fault::KeysPanic, &[2], "keys() panicked: keys are confused"),
        (Fault::NameLacks, &[3], "keys have the name 'b', which layer_names() lacks"),
        (Fault::NameOfNoLayer, &[3], "'elsewhere', which isn't a layer of the graph"),
        (Fault::NameOfNoKey, &[3], "and no key has this name"),
        (Fault::IgnoresRename, &[4, 5], "the layers' names are a, b, not a-checked, b-checked"),
        (Fault::IgnoresGraph, &[4], "'a-checked' isn't the layer of the graph that was given"),
        (Fault::Flattens, &[4, 6], "the keys aren't the old ones under the new names"),
        (Fault::RefusesExtraNames, &[4], "rebuild() with no name replaced failed"),
        (Fault::ChangesTheOriginal, &[4, 5, 6], "changed the collection that it was called on"),
        (Fault::RebuildPanics, &[4, 5], "panicked: not this graph"),
        (Fault::TakesWhatIsMissing, &[5], "over a graph without 'b' is no error"),
        (Fault::TakesAnyKind, &[5], "in which 'a' has values of another kind is no error"),
        (Fault::RefusesWithoutName, &[5], "the error doesn't name 'a'"),
        (Fault::PanicsOnMissing, &[5], "over a graph without 'a' panicked"),
        (Fault::FindsByOldName, &[6], "finalize() of a rebuilt collection failed"),
        (Fault::FinalizesNothing, &[6], "a value though none was computed"),
        (Fault::FinalizePanics, &[6], "panicked: no value"),
        (Fault::FinalizeCounts, &[6, 8], "at the second call gives another value"),
        (Fault::TokenOfNames, &[7], "depends on the layers' names"),
        (Fault::TokenOfAnnotations, &[7], "depends on annotations"),
        (Fault::TokenConstant, &[7], "the same over layers of other content"),
        (Fault::TokenCounts, &[7], "another token at the second call"),
        (Fault::OptimizerCounts, &[8], "another name at the second call"),
        (Fault::OptimizerLosesAnnotations, &[8], "annotations [retries=1] got lost"),
        (Fault::OptimizerLosesKeys, &[8], "the key ('b', 2) isn't in the graph"),
        (Fault::KeysCompute, &[9], "keys() computes values"),
        (Fault::TokenComputes, &[9], "token() computes values"),
        (Fault::FinalizeComputes, &[9], "finalize() computes values"),
    ];
    for (fault, clauses, says) in table {
        let found = breaches(fault).unwrap_err();
        let mut told: Vec<u8> = found.0.iter().map(|breach| breach.clause).collect();
        told.sort_unstable();
        told.dedup();
        assert_eq!(told, clauses, "{fault:?}: {found}");
        assert!(found.to_string().contains(says), "{fault:?}: {found}");
    }
}
