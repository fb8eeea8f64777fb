//! A collection of explicit tasks whose keys aren't numbers.

use std::sync::Arc;

use outcrop::collections::contract::rebuilt_layer;
use outcrop::collections::{Collection, Computed, Rename};
use outcrop::graph::tasks::{Argument, Function, Task};
use outcrop::graph::{GraphError, Keys, Layer, LayerGraph, NewLayer};
use outcrop::key::{Key, KeyPart};
use outcrop::session::Session;
use outcrop::testing::check_collection;
use outcrop::value::Object;
use third_party::{Delay, Ragged, delayed};

/// Numbers by the names of regions.
#[derive(Clone)]
struct Regions(Arc<Layer>);

const REGIONS: [&str; 3] = ["north", "south", "both"];

impl Regions {
    fn new() -> Result<Self, GraphError> {
        let constant =
            |value: i64| Function::registered(&format!("the {value}"), 1, move |_| Ok(Object::new(value)));
        let sum = Function::registered("sum", 1, |values| {
            Ok(Object::new(values.iter().filter_map(|value| value.object::<i64>()).sum::<i64>()))
        });
        let key = |region: &str| Key::new("regions", [KeyPart::from(region), KeyPart::from(2.5)]);
        let both = [key("south")?, key("north")?].map(Argument::Key).to_vec();
        let tasks = vec![
            (key("both")?, Task { function: sum, arguments: both }),
            (key("north")?, Task { function: constant(3), arguments: vec![] }),
            (key("south")?, Task { function: constant(4), arguments: vec![] }),
        ];
        let graph = LayerGraph::from_collections("regions", NewLayer::Tasks { tasks, bytes: 8 }, &())?;
        Ok(Regions(graph.output_layers()[0].clone()))
    }

    fn key(&self, region: &str) -> Result<Key, GraphError> {
        Ok(Key::new(self.0.shared_name().clone(), [KeyPart::from(region), KeyPart::from(2.5)])?)
    }
}

impl Collection for Regions {
    type Value = Vec<i64>;

    fn graph(&self) -> Result<LayerGraph, GraphError> {
        Ok(LayerGraph::of([self.0.clone()]))
    }

    fn keys(&self) -> Result<Keys, GraphError> {
        let keys = REGIONS.map(|region| Ok(Keys::One(self.key(region)?)));
        Ok(Keys::List(keys.into_iter().collect::<Result<_, GraphError>>()?))
    }

    fn rebuild(&self, graph: &LayerGraph, rename: &Rename) -> Result<Self, GraphError> {
        Ok(Regions(rebuilt_layer(&self.0, graph, rename)?))
    }

    fn finalize(&self, values: &Computed) -> Result<Vec<i64>, GraphError> {
        REGIONS.iter().map(|region| Ok(*values.object::<i64>(&self.key(region)?)?)).collect()
    }
}

#[test]
fn keys_of_any_parts_go_through_every_generic_function() {
    let session = Session::new(Default::default());
    let regions = Regions::new().unwrap();
    check_collection(&regions, &session, PartialEq::eq).unwrap();
    let held = session.persist(&regions).unwrap();
    check_collection(&held, &session, PartialEq::eq).unwrap();
    let slow = delayed(&regions, &Delay::of(Default::default())).unwrap();
    let (one, two, three) = session.compute(&(regions, slow, held)).unwrap();
    assert_eq!((&one, &two, &three), (&vec![3, 4, 7], &one, &one));
}

#[test]
fn numbered_objects_do_not_take_the_place_of_named_ones() {
    let regions = Regions::new().unwrap();
    let rows = Ragged::from_rows("", vec![vec![]; 3], 1).unwrap();
    let graph = LayerGraph::of([rows.partitions().named("regions")]);
    let error = regions.rebuild(&graph, &Rename::none()).map(drop).unwrap_err();
    assert_eq!(error.to_string(), "the layer 'regions' makes 3 objects under other keys, not 3 objects");
}

#[test]
fn a_layer_without_tasks_is_refused() {
    let none = NewLayer::Tasks { tasks: Vec::new(), bytes: 8 };
    let error = LayerGraph::from_collections("none", none, &()).unwrap_err();
    assert_eq!(error.to_string(), "tasks: tasks = []: a layer makes at least one value");
}
