//! Named arrays over named dimensions, and the composite's part of the contract.

use std::collections::BTreeMap;

use outcrop::annotate::{Annotations, annotate};
use outcrop::block::Block;
use outcrop::collections::array::Index;
use outcrop::collections::manipulate::{Options, clone};
use outcrop::collections::{Array, Collection, Dataset, DatasetError, Delayed, Rename};
use outcrop::dtype::DType;
use outcrop::graph::layer::{Layer, Naming};
use outcrop::graph::layer_graph::LayerGraph;
use outcrop::session::Session;
use outcrop::settings::Config;
use outcrop::testing::check_collection;

type Values = BTreeMap<String, Block>;

fn session() -> Session {
    Session::new(Config { threads: Some(2), ..Config::default() })
}

fn grid() -> Array {
    Array::indices([4, 3], DType::F64).rechunk(&[2, 2])
}

fn weather() -> Dataset {
    let rain = annotate(Annotations::new().set("retries", 1).unwrap(), || grid() * 10.0);
    let height = Array::from_slice([3], &[1.0, 2.0, 3.0]);
    let dataset = Dataset::new("temperature", &["time", "x"], &grid()).unwrap();
    dataset.with("rain", &["time", "x"], &rain).unwrap().with("height", &["x"], &height).unwrap()
}

fn equal(a: &Values, b: &Values) -> bool {
    let tokens = |values: &Values| {
        values.iter().map(|(name, block)| (name.clone(), block.token())).collect::<Vec<_>>()
    };
    tokens(a) == tokens(b)
}

fn numbers(dataset: &Dataset) -> BTreeMap<String, Vec<f64>> {
    let values = session().compute(dataset).unwrap();
    values.iter().map(|(name, block)| (name.clone(), block.to_f64_vec().unwrap())).collect()
}

#[test]
fn the_contract_holds() {
    let session = session();
    let one = Dataset::new("only", &["time", "x"], &grid()).unwrap();
    let twice = one.with("again", &["time", "x"], one.array("only").unwrap()).unwrap();
    for dataset in [one, twice, weather(), weather().mean("time").unwrap()] {
        check_collection(&dataset, &session, equal).unwrap();
        check_collection(&session.persist(&dataset).unwrap(), &session, equal).unwrap();
    }
}

#[test]
fn case_c08_a_composite_rebuilds_through_a_rename_map_with_extra_entries() {
    let dataset =
        Dataset::new("a", &["x"], &Array::arange(0.0, 1.0, 6).rechunk(&[4]).named("first")).unwrap();
    let dataset = dataset.with("b", &["x"], &Array::arange(5.0, 1.0, 6).named("second")).unwrap();
    let under = |old: &str, new: &str| {
        let graph = dataset.graph().unwrap();
        let layer = graph.layer_named(old).unwrap().clone();
        let naming = Naming::Exact(new.into());
        let source = std::slice::from_ref(&layer);
        Layer::from_layers(source, layer.body(), layer.inputs().to_vec(), vec![], naming).unwrap()
    };
    let graph = LayerGraph::of([under("first", "one"), under("second", "second")]);
    let rename: Rename = [("first", "one"), ("third", "two"), ("one", "four")].into_iter().collect();
    let rebuilt = dataset.rebuild(&graph, &rename).unwrap();
    let keys: Vec<String> = rebuilt.keys().unwrap().iter().map(|key| key.unwrap().to_string()).collect();
    assert_eq!(keys, ["('one', 0)", "('one', 1)", "('second', 0)"]);
    assert_eq!(
        rebuilt.layer_names().unwrap().iter().map(|name| &**name).collect::<Vec<_>>(),
        ["one", "second"]
    );
    let (old, new) = session().compute(&(dataset.clone(), rebuilt.clone())).unwrap();
    assert!(equal(&old, &new));
    assert_eq!(rebuilt.dims_of("b").unwrap(), ["x"]);
    let error = dataset.rebuild_as(&graph, "one").unwrap_err().to_string();
    assert_eq!(error, "the collection has 2 names, first, second; rebuild it with a rename map");
    let lacks = LayerGraph::of([under("second", "second")]);
    let error = dataset.rebuild(&lacks, &rename).unwrap_err().to_string();
    assert_eq!(error, "the layer 'one' isn't in the graph; its outputs are second");
}

#[test]
fn dimensions_select_reduce_and_combine_by_name() {
    let weather = weather();
    assert_eq!(weather.names(), ["temperature", "rain", "height"]);
    assert_eq!(weather.dims(), ["time", "x"]);
    assert_eq!(weather.sizes(), [("time", 4), ("x", 3)]);
    let row = numbers(&weather.isel("time", Index::At(-1)).unwrap());
    assert_eq!((&row["temperature"][..], &row["height"][..]), (&[9.0, 10.0, 11.0][..], &[1.0, 2.0, 3.0][..]));
    let part = weather.isel("x", Index::Range { start: Some(1), stop: None, step: None }).unwrap();
    assert_eq!(part.sizes(), [("time", 4), ("x", 2)]);
    assert_eq!(numbers(&part)["height"], [2.0, 3.0]);
    let folded = [
        (weather.sum("x"), [3.0, 12.0, 21.0, 30.0], 6.0),
        (weather.mean("x"), [1.0, 4.0, 7.0, 10.0], 2.0),
        (weather.min("x"), [0.0, 3.0, 6.0, 9.0], 1.0),
        (weather.max("x"), [2.0, 5.0, 8.0, 11.0], 3.0),
    ];
    for (dataset, temperature, height) in folded {
        let values = numbers(&dataset.unwrap());
        assert_eq!((&values["temperature"][..], &values["height"][..]), (&temperature[..], &[height][..]));
    }
    let doubled = weather.map(|array| array * 2.0).unwrap();
    let sum = weather.combine(&doubled, |a, b| a + b).unwrap();
    assert_eq!(numbers(&sum)["height"], [3.0, 6.0, 9.0]);
}

#[test]
fn functions_take_whole_datasets() {
    let total = Delayed::call("total", (&weather(),), |values: &Values| {
        values.values().flat_map(|block| block.to_f64_vec().unwrap()).sum::<f64>()
    });
    let copy = clone(&total, &Options::new()).unwrap();
    let (one, other) = session().compute(&(total, copy)).unwrap();
    assert_eq!((*one, *other), (66.0 * 11.0 + 6.0, 66.0 * 11.0 + 6.0));
}

#[test]
fn what_does_not_fit_is_refused_with_the_figures() {
    let (weather, row) = (weather(), Array::ones([4], DType::F64));
    let lonely = Dataset::new("temperature", &["time", "x"], &grid()).unwrap();
    let other = Dataset::new("temperature", &["x", "time"], &grid().rechunk(&[4, 3])).unwrap();
    let broken = &Array::ones([2], DType::F64) + &Array::ones([3], DType::F64);
    let table: [(Result<Dataset, DatasetError>, &str); 11] = [
        (
            weather.with("wind", &["x"], &row),
            "the dimension 'x' has extent 4 in the array 'wind' and 3 in 'temperature'; a dimension has one extent: \
             give one of them another name, or slice",
        ),
        (
            weather.with("rain", &["time"], &row),
            "the dataset has an array 'rain' already; give the other one another name",
        ),
        (
            weather.with("wind", &["time", "x"], &row),
            "the array 'wind' has shape (4,), and the dimensions (time, x) were named: name one for each axis, 1 in all",
        ),
        (
            Dataset::new("square", &["x", "x"], &Array::ones([2, 2], DType::F64)),
            "the array 'square' has the dimension 'x' twice; every axis needs a name of its own",
        ),
        (
            Dataset::new("", &["x"], &row),
            r#"the array '' over ["x"]: names of arrays and dimensions can't be empty"#,
        ),
        (
            Dataset::new("a", &[""], &row),
            r#"the array 'a' over [""]: names of arrays and dimensions can't be empty"#,
        ),
        (weather.sum("y"), "the dataset has no dimension 'y'; it has time, x"),
        (
            weather.combine(&lonely, |a, _| a.clone()),
            "only one of the datasets has an array 'rain'; the other has temperature",
        ),
        (
            lonely.combine(&other, |a, b| a + b),
            "the array 'temperature' is over (time, x) here and over (x, time) there",
        ),
        (weather.isel("x", Index::At(3)), "index 3 is out of bounds for axis 1 with extent 3"),
        (Dataset::new("a", &["x"], &broken), "shapes (2,) and (3,) don't broadcast together"),
    ];
    for (made, want) in table {
        let error = made.unwrap_err().to_string();
        assert!(error.ends_with(want), "{error}\nisn't\n{want}");
    }
    let place = format!("the array 'temperature': {}:{}: ", file!(), line!() + 1);
    assert!(weather.isel("x", Index::At(3)).unwrap_err().to_string().starts_with(&place));
    assert!(matches!(weather.array("wind"), Err(DatasetError::UnknownArray { .. })));
}
