//! A third party's collection keeps the contract, and every generic function takes it.

use std::collections::BTreeMap;

use outcrop::annotate::{Annotations, annotate};
use outcrop::collections::manipulate::{Options, SplitEvery, bind, checkpoint, clone, wait_on};
use outcrop::collections::{Array, Collection, Dataset, Delayed, delayed::Whole};
use outcrop::session::Session;
use outcrop::settings::Config;
use outcrop::testing::check_collection;
use third_party::{Ragged, RaggedRows};

fn session() -> Session {
    Session::new(Config { threads: Some(2), ..Config::default() })
}

fn rows() -> Ragged {
    let rows = vec![vec![1.0], vec![], vec![2.0, 3.0], vec![4.0, 5.0, 6.0], vec![7.0]];
    let asked = Annotations::new().set("retries", 2).unwrap().set("owner", "us").unwrap();
    annotate(asked, || Ragged::from_rows("kelvin", rows, 2)).unwrap()
}

#[test]
fn ragged_rows_keep_the_contract() {
    let session = session();
    let urgent = Annotations::new().with_priority(2.0).unwrap();
    let anomaly = annotate(urgent, || rows().anomaly()).unwrap();
    let single = Ragged::from_rows("", vec![vec![0.5]], 1).unwrap();
    for ragged in [&rows(), &anomaly, &anomaly.anomaly().unwrap(), &single] {
        check_collection(ragged, &session, PartialEq::eq).unwrap();
        check_collection(&session.persist(ragged).unwrap(), &session, PartialEq::eq).unwrap();
        check_collection(&clone(ragged, &Options::new()).unwrap(), &session, PartialEq::eq).unwrap();
    }
}

#[test]
fn windows_read_their_neighbours() {
    let value = session().compute(&rows().anomaly().unwrap()).unwrap();
    // The partitions are [1], [2 3 4 5 6], [7]; their windows have the means 21 / 6, 28 / 7 and 27 / 6.
    let want: [&[f64]; 5] = [&[-2.5], &[], &[-2.0, -1.0], &[0.0, 1.0, 2.0], &[2.5]];
    assert_eq!(value.rows, want);
    assert_eq!(value.header.unit, "kelvin");
}

#[test]
fn it_nests_with_other_collections_in_every_generic_function() {
    let session = session();
    let array = Array::arange(0.0, 1.0, 7).rechunk(&[3]);
    let dataset = Dataset::new("a", &["x"], &array).unwrap();
    let longest = Delayed::call("longest", (Whole(&rows()),), |value: &RaggedRows| {
        value.rows.iter().map(Vec::len).max().unwrap_or(0)
    });
    let by_name = BTreeMap::from([("plain", rows()), ("anomaly", rows().anomaly().unwrap())]);
    let all = (by_name, vec![array.clone(), &array + 1.0], dataset, longest);
    let copies = clone(&all, &Options::new().seed("copies")).unwrap();
    let bound = bind(&copies, &array, &Options::new().omit(&all.1).split_every(SplitEvery::Flat)).unwrap();
    let waited = wait_on(&bound, SplitEvery::Values(2)).unwrap();
    session.compute(&checkpoint(&waited, SplitEvery::Auto).unwrap()).unwrap();
    let held = session.persist(&waited).unwrap();
    let (one, other, third) = session.compute(&(all, waited, held)).unwrap();
    for made in [&other, &third] {
        assert_eq!(one.0, made.0);
        let tokens = |blocks: &[outcrop::block::Block]| blocks.iter().map(|b| b.token()).collect::<Vec<_>>();
        assert_eq!(tokens(&one.1), tokens(&made.1));
        assert_eq!(one.2["a"], made.2["a"]);
        assert_eq!((*one.3, *made.3), (3, 3));
    }
}

#[test]
fn provided_methods_work() {
    let session = session();
    let optimized = rows().anomaly().unwrap().optimize().unwrap();
    assert_eq!(optimized.compute(&session).unwrap(), rows().anomaly().unwrap().compute(&session).unwrap());
    assert!(optimized.visualize().unwrap().contains("anomaly"));
}
