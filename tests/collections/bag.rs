//! Bags against vectors, iterators and ordered maps.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use outcrop::annotate::{Annotations, annotate};
use outcrop::block::Block;
use outcrop::collections::array::Over;
use outcrop::collections::bag::FunctionName;
use outcrop::collections::manipulate::{self, Options, SplitEvery, bind, wait_on};
use outcrop::collections::{Array, Bag, Collection, Delayed};
use outcrop::device::sim::{FaultPlan, SimDevice};
use outcrop::dtype::DType;
use outcrop::graph::error::GraphError;
use outcrop::graph::layer_graph::{LayerGraph, NewLayer};
use outcrop::graph::op::Op;
use outcrop::graph::tasks::{Function, Task};
use outcrop::key::{Key, KeyPart};
use outcrop::machine::{Backend, DeviceId, Machine, MemoryId};
use outcrop::session::Session;
use outcrop::settings::Config;
use outcrop::units::Bytes;
use outcrop::value::Object;
use proptest::prelude::*;

fn session(threads: usize) -> Session {
    let config = Config { threads: Some(threads), ..Config::default() };
    Session::on(Machine::host_only(threads, Bytes(1 << 30)), config)
}

fn partitions() -> impl Strategy<Value = Vec<Vec<i64>>> {
    prop::collection::vec(prop::collection::vec(-20..20i64, 0..7), 1..12)
}

fn split_every() -> impl Strategy<Value = SplitEvery> {
    prop_oneof![Just(SplitEvery::Auto), Just(SplitEvery::Flat), (2..5usize).prop_map(SplitEvery::Values)]
}

/// Of `count` partitions, the number of items of each.
fn lengths<T: Clone + Send + Sync + 'static>(bag: &Bag<T>) -> Vec<usize> {
    session(1).compute(&bag.to_delayed().unwrap()).unwrap().iter().map(|own| own.len()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn item_by_item_methods_are_those_of_iterators(parts in partitions(), threads in 1..5usize) {
        let all = parts.concat();
        let bag = Bag::from_partitions(parts.clone());
        let doubled = bag.map("double", |x| x * 2);
        let even = bag.filter("even", |x| x % 2 == 0);
        let repeated = bag.flat_map("repeat", |x| vec![*x; x.rem_euclid(3) as usize]);
        let sums = bag.map_partitions("sums", |own| vec![own.iter().sum::<i64>()]);
        let pairs = bag.zip(&doubled);
        let halves = bag.try_map("halve", |x| if *x < 100 { Ok(x / 2) } else { Err("large") });
        let (doubled, even, repeated, sums, pairs, halves) =
            session(threads).compute(&(doubled, even, repeated, sums, pairs, halves)).unwrap();
        prop_assert_eq!(doubled, all.iter().map(|x| x * 2).collect::<Vec<_>>());
        prop_assert_eq!(even, all.iter().copied().filter(|x| x % 2 == 0).collect::<Vec<_>>());
        let expected = all.iter().flat_map(|x| vec![*x; x.rem_euclid(3) as usize]);
        prop_assert_eq!(repeated, expected.collect::<Vec<_>>());
        prop_assert_eq!(sums, parts.iter().map(|own| own.iter().sum()).collect::<Vec<i64>>());
        prop_assert_eq!(pairs, all.iter().map(|x| (*x, x * 2)).collect::<Vec<_>>());
        prop_assert_eq!(halves, all.iter().map(|x| x / 2).collect::<Vec<_>>());
    }

    #[test]
    fn folds_are_those_of_iterators(
        parts in partitions(),
        every in split_every(),
        taken in 0..50usize,
        threads in 1..5usize,
    ) {
        let all = parts.concat();
        let bag = Bag::from_partitions(parts);
        // Texts don't commute: the order of the items must be kept.
        let add = |mut text: String, x: &i64| { text += &format!("{x},"); text };
        let text = bag.fold("text", String::new(), add, |a, b| a + &b, every);
        let joined = bag.map("show", |x| x.to_string()).reduce("join", |a, b| a + &b, every);
        let (text, joined, count, sum, take) =
            session(threads).compute(&(text, joined, bag.count(), bag.sum(), bag.take(taken))).unwrap();
        prop_assert_eq!(&*text, &all.iter().map(|x| format!("{x},")).collect::<String>());
        prop_assert_eq!(&*joined, &all.iter().map(|x| x.to_string()).reduce(|a, b| a + &b));
        prop_assert_eq!((*count, *sum), (all.len(), all.iter().sum::<i64>()));
        prop_assert_eq!(&**take, &all[..taken.min(all.len())]);
    }

    #[test]
    fn groups_have_all_items_of_their_key_in_order(parts in partitions(), out in 1..6usize, threads in 1..5usize) {
        let all = parts.concat();
        let bag = Bag::from_partitions(parts);
        let key = |x: &i64| x.rem_euclid(7);
        let groups = bag.group_by("by rest", key, out);
        let folded = bag.fold_by("by rest", key, Vec::new(), |mut own, x| { own.push(*x); own }, |a, b| [a, b].concat(), out);
        let (groups, folded) =
            session(threads).compute(&(groups.to_delayed().unwrap(), folded.to_delayed().unwrap())).unwrap();
        let mut expected: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        all.iter().for_each(|x| expected.entry(key(x)).or_default().push(*x));
        for partition in &groups {
            prop_assert!(partition.is_sorted_by(|a, b| a.0 < b.0));
        }
        prop_assert_eq!(groups.len(), out);
        prop_assert_eq!(&groups, &folded);
        let found: Vec<(i64, Vec<i64>)> = groups.iter().flat_map(|own| own.to_vec()).collect();
        prop_assert_eq!(found.len(), expected.len());
        prop_assert_eq!(found.into_iter().collect::<BTreeMap<_, _>>(), expected);
    }

    #[test]
    fn other_cuts_have_the_same_items(parts in partitions(), out in 1..20usize, more in partitions()) {
        let bag = Bag::from_partitions(parts.clone());
        let cut = bag.repartition(out);
        let both = Bag::concat(&[&bag, &Bag::from_partitions(more.clone()), &bag]);
        prop_assert_eq!((cut.partitions().unwrap(), lengths(&cut).len()), (out, out));
        let (cut, both) = session(2).compute(&(cut, both)).unwrap();
        prop_assert_eq!(cut, parts.concat());
        prop_assert_eq!(both, [parts.concat(), more.concat(), parts.concat()].concat());
    }

    #[test]
    fn bags_go_to_arrays_and_delayed_values_and_come_back(parts in partitions()) {
        let bag = Bag::from_partitions(parts.clone());
        let own: Vec<usize> = parts.iter().map(Vec::len).collect();
        let array = bag.to_array(&own);
        let back = Bag::<i64>::from_array(&array);
        let again = Bag::from_delayed(&bag.to_delayed().unwrap());
        let whole = Delayed::call("all", (&bag,), |all: &[i64]| all.to_vec());
        let (array, back, again, whole) = session(2).compute(&(array, back, again, whole)).unwrap();
        let all = parts.concat();
        prop_assert_eq!(array.to_vec::<i64>().unwrap(), all.clone());
        prop_assert_eq!((&back, &again, &*whole), (&all, &all, &all));
    }
}

#[test]
fn items_are_cut_as_by_array_split() {
    assert_eq!(lengths(&Bag::from_vec((0..10i64).collect(), 4)), [3, 3, 2, 2]);
    assert_eq!(lengths(&Bag::opaque(vec![1, 2], 5)), [1, 1]);
    assert_eq!(lengths(&Bag::<i64>::from_vec(vec![], 3)), [0]);
    assert_eq!(lengths(&Bag::opaque_partitions(vec![vec![], vec![1.5]])), [0, 1]);
    assert_eq!(lengths(&Bag::range(-3..4, 3)), [3, 2, 2]);
    assert_eq!(session(2).compute(&Bag::range(-3..4, 3)).unwrap(), (-3..4).collect::<Vec<_>>());
    let backwards = std::ops::Range { start: 4, end: -3 };
    assert_eq!(session(1).compute(&Bag::range(backwards, 3)).unwrap(), [0i64; 0]);
    let widest =
        Bag::range(i64::MIN..i64::MAX, usize::MAX >> 20).map_partitions("first", |own| own[..1].to_vec());
    assert_eq!(
        *session(1).compute(&widest.partition((usize::MAX >> 20) - 1)).unwrap(),
        [i64::MAX - (1 << 20)]
    );
    assert_eq!(session(2).compute(&Bag::from_fn("squares", 3, |at| vec![at; at])).unwrap(), [1, 2, 2]);
}

#[test]
fn an_array_of_several_axes_is_read_block_by_block() {
    let x = Array::indices([2, 4], DType::I64).rechunk(&[2, 2]);
    assert_eq!(session(2).compute(&Bag::<i64>::from_array(&x)).unwrap(), [0, 1, 4, 5, 2, 3, 6, 7]);
    let wrong = Bag::<f32>::from_array(&x).layer().unwrap_err();
    assert!(matches!(wrong.root(), GraphError::DType { dtype: DType::I64, .. }), "{wrong}");
}

#[test]
fn equal_content_and_registered_functions_are_one_layer() {
    let bag = || Bag::from_vec(vec![1i64, 2, 3], 2);
    let name =
        |layer: Result<&Arc<outcrop::graph::layer::Layer>, GraphError>| layer.unwrap().name().to_owned();
    assert_eq!(name(bag().layer()), name(bag().layer()));
    assert_ne!(name(bag().layer()), name(Bag::from_vec(vec![1i64, 2, 3], 3).layer()));
    assert_ne!(name(Bag::opaque(vec![1], 1).layer()), name(Bag::opaque(vec![1], 1).layer()));
    fn sum(bag: &Bag<i64>, by: impl FunctionName<i64>, from: i64, every: SplitEvery) -> Delayed<i64> {
        bag.fold(by, from, |a, b| a + b, |a, b| a + b, every)
    }
    let own = |by, from, every| name(sum(&bag(), by, from, every).layer());
    let first = own(("sum", 1), 0, SplitEvery::Auto);
    assert_eq!(first, own(("sum", 1), 0, SplitEvery::Auto));
    assert!(first.starts_with("sum-"), "{first}");
    // Version, initial value and tree are content.
    assert_ne!(first, own(("sum", 2), 0, SplitEvery::Auto));
    assert_ne!(first, own(("sum", 1), 1, SplitEvery::Auto));
    assert_ne!(first, own(("sum", 1), 0, SplitEvery::Values(2)));
    assert_ne!(
        name(sum(&bag(), "sum", 0, SplitEvery::Auto).layer()),
        name(sum(&bag(), "sum", 0, SplitEvery::Auto).layer())
    );
    // One name in two methods is two functions.
    let odd = bag().filter(("f", 1), |x| x % 2 == 1);
    assert_ne!(name(odd.layer()), name(bag().map(("f", 1), |x| x % 2 == 1).layer()));
    assert_eq!(name(bag().count().layer()), name(bag().count().layer()));
    let key = |x: &i64| x % 2;
    assert_eq!(
        name(bag().group_by(("odd", 1), key, 2).layer()),
        name(bag().group_by(("odd", 1), key, 2).layer())
    );
    assert_ne!(
        name(bag().group_by(("odd", 1), key, 2).layer()),
        name(bag().group_by(("odd", 1), key, 3).layer())
    );
}

#[test]
fn a_key_has_the_same_partition_in_every_process() {
    let groups = Bag::from_vec(vec!["a", "b", "c", "d", "e"], 2).group_by("self", |word| *word, 3);
    let words: Vec<Vec<&str>> = session(1)
        .compute(&groups.to_delayed().unwrap())
        .unwrap()
        .iter()
        .map(|own| own.iter().map(|(word, _)| *word).collect())
        .collect();
    assert_eq!(words, [vec!["c", "d", "e"], vec![], vec!["a", "b"]]);
}

#[test]
fn wrong_calls_are_carried_with_the_callers_line() {
    let bag = Bag::range(0..10, 3);
    let named = |error: GraphError, words: &[&str]| {
        let text = error.to_string();
        assert!(text.contains("tests/collections/bag.rs:"), "{text}");
        assert!(words.iter().all(|word| text.contains(word)), "{text}: {words:?}");
    };
    named(Bag::from_vec(vec![1], 0).layer().unwrap_err(), &["from_vec", "partitions = 0"]);
    named(Bag::<i64>::from_partitions(vec![]).layer().unwrap_err(), &["partitions = 0"]);
    named(Bag::range(0..3, 0).layer().unwrap_err(), &["range", "partitions = 0"]);
    named(bag.repartition(0).layer().unwrap_err(), &["repartition", "partitions = 0"]);
    named(bag.group_by("key", |x| *x, 0).layer().unwrap_err(), &["group_by", "partitions = 0"]);
    named(bag.map("", |x| *x).layer().unwrap_err(), &["name", "empty"]);
    named(bag.named("").layer().map(drop).unwrap_err(), &["empty"]);
    named(bag.zip(&bag.repartition(2)).layer().unwrap_err(), &["zip", "3 partitions beside 2"]);
    named(Bag::<i64>::concat(&[]).layer().unwrap_err(), &["concat", "at least one"]);
    named(bag.partition(3).layer().map(drop).unwrap_err(), &["partition 3 of 3"]);
    named(bag.to_array(&[4, 6]).layer().map(drop).unwrap_err(), &["2 lengths for 3 partitions"]);
    named(bag.to_array(&[usize::MAX, 1, 1]).layer().map(drop).unwrap_err(), &["to_array", "more elements"]);
    let below = bag.reduce("last", |_, b| b, SplitEvery::Values(1));
    named(below.layer().map(drop).unwrap_err(), &["split_every", "at least 2"]);
    // What is made of a wrong bag tells the first error.
    let wrong = bag.repartition(0).map("double", |x| x * 2).sum();
    named(wrong.layer().map(drop).unwrap_err(), &["repartition"]);
    assert!(session(1).compute(&wrong).unwrap_err().to_string().contains("partitions = 0"));
}

#[test]
fn tasks_that_fail_name_layer_key_and_figures() {
    let fails = |error: outcrop::error::Error, words: &[&str]| {
        let text = error.to_string();
        assert!(words.iter().all(|word| text.contains(word)), "{text}: {words:?}");
    };
    let bag = Bag::from_vec(vec![1, 2, 3, 4, 5i64], 2).named("numbers");
    let bad = bag.map("boom", |x| if *x == 4 { panic!("no fours") } else { *x }).named("boomed");
    fails(session(2).compute(&bad).unwrap_err(), &["layer 'boomed'", "('boomed', 1)", "panicked: no fours"]);
    let bad = bag.try_map("parse", |x| if *x == 5 { Err("five") } else { Ok(*x) });
    fails(session(2).compute(&bad).unwrap_err(), &["parse", "item 1: five"]);
    let bad = bag.zip(&bag.filter("odd", |x| x % 2 == 1));
    fails(session(1).compute(&bad).unwrap_err(), &["zip", "partition 0 has 3 items", "2 on the right"]);
    let bad = bag.to_array(&[3, 4]);
    fails(session(2).compute(&bad).unwrap_err(), &["to_array", "partition 1 has 2 items", "has 4"]);
    let other = Bag::<String>::from_layer(bag.layer().unwrap().clone()).unwrap();
    fails(session(1).compute(&other.count()).unwrap_err(), &["Vec<i64>", "Vec<alloc::string::String>"]);
}

#[test]
fn case_c14_no_function_runs_before_values_are_asked_for() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    fn count<T>(value: T) -> T {
        CALLS.fetch_add(1, Ordering::Relaxed);
        value
    }
    let source = Bag::from_fn("source", 4, |at| count(vec![at as i64, 7]));
    let bag =
        source.map("map", |x| count(*x)).filter("filter", |_| count(true)).flat_map("flat", |x| count([*x]));
    let bag =
        bag.map_partitions("whole", |own| count(own.to_vec())).try_map("try", |x| count(Ok::<_, String>(*x)));
    let folded = bag.fold("fold", 0, |a, x| count(a + x), |a, b| count(a + b), SplitEvery::Values(2));
    let groups = bag.group_by("key", |x| count(*x), 2);
    let counts = bag.fold_by("keys", |x| count(*x), 0, |n, _| count(n + 1), |a, b| count(a + b), 3);
    let largest = bag.reduce("max", |a, b| count(a.max(b)), SplitEvery::Auto);
    let all = (folded, groups, counts, largest, bag.take(3), bag.repartition(3).zip(&bag.repartition(3)));
    let copied = manipulate::clone(&all, &Options::new()).unwrap();
    let held_back = bind(&copied, &all.0, &Options::new()).unwrap();
    held_back.1.graph().unwrap().validate().unwrap();
    assert_eq!(CALLS.load(Ordering::Relaxed), 0);
    assert_eq!(*session(2).compute(&all).unwrap().0, 34);
    assert!(CALLS.load(Ordering::Relaxed) > 0);
}

#[test]
fn case_c06_copies_of_every_kind_of_layer_compute_equal_values_and_stay_symbolic() {
    let asked = Annotations::new().set("retries", 3).unwrap();
    let bag = annotate(asked.clone(), || Bag::from_vec((0..30i64).collect(), 5).map("add", |x| x + 1));
    let array = bag.to_array(&[6; 5]);
    let all = (
        Bag::concat(&[&bag, &bag.filter("even", |x| x % 2 == 0)]).repartition(3),
        bag.zip(&bag.flat_map("same", |x| [*x])),
        bag.group_by("rest", |x| x % 4, 3),
        bag.fold_by("rests", |x| x % 4, 0, |n, x| n + x, |a, b| a + b, 2),
        (bag.fold("sum", 0, |a, x| a + x, |a, b| a + b, SplitEvery::Values(2)), bag.take(7), bag.count()),
        (Bag::<i64>::from_array(&array), Bag::from_delayed(&bag.to_delayed().unwrap())),
    );
    let session = session(2);
    let expected = session.compute(&all).unwrap();
    let parent = Delayed::call("first", (), || 1i64);
    let cloned = manipulate::clone(&all, &Options::new()).unwrap();
    let bound = bind(&all, &parent, &Options::new()).unwrap();
    let waited = wait_on(&all, SplitEvery::Auto).unwrap();
    let held = session.persist(&all).unwrap();
    for copy in [&cloned, &bound, &waited, &held] {
        assert_eq!(session.compute(copy).unwrap(), expected);
        assert!(!matches!(copy.0.layer().unwrap().op(), Op::Tasks(_)));
    }
    for copy in [&cloned, &bound, &waited] {
        assert_eq!(
            copy.0.layer().unwrap().op().name(),
            if std::ptr::eq(copy, &waited) { "pass" } else { "repartition" }
        );
        let graph = copy.1.graph().unwrap();
        let kept = graph.layers().filter(|(_, layer)| *layer.annotations() == asked).count();
        assert_eq!(kept, 2, "{graph:?}");
    }
}

#[test]
fn a_bag_of_a_million_partitions_is_built_copied_and_culled_as_rules() {
    const MANY: usize = 1_000_000;
    let bag = Bag::range(0..i64::MAX, MANY);
    let mapped = bag.map("double", |x| x / 2).zip(&bag.filter("odd", |x| x % 2 == 1)).repartition(2 * MANY);
    let groups = mapped.group_by("key", |pair| pair.0 % 10, MANY);
    let copied = manipulate::clone(&groups, &Options::new()).unwrap();
    assert_eq!((copied.partitions().unwrap(), copied.graph().unwrap().layer_count()), (MANY, 7));
    assert_eq!(bag.count().graph().unwrap().layer_count(), 9);
    // One partition needs one of each layer.
    let one = Bag::from_fn("squares", MANY, |at| vec![at * at]).map("add", |x| x + 1).repartition(MANY / 2);
    assert_eq!(*session(1).compute(&one.partition(3)).unwrap(), [37, 50]);
}

#[test]
fn bags_arrays_and_delayed_values_share_what_they_are_made_of() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let bag = Bag::range(0..12, 3).map("count", |x| {
        CALLS.fetch_add(1, Ordering::Relaxed);
        *x as f64
    });
    let mean = bag.to_array(&[4, 4, 4]).mean(&Over::all());
    let report = Delayed::call("report", (&bag, &mean), |all: &[f64], mean: &Block| {
        format!("{} items, mean {}", all.len(), mean.to_scalar::<f64>().unwrap_or(f64::NAN))
    });
    let (items, mean, report) = session(2).compute(&(bag.clone(), mean, report)).unwrap();
    assert_eq!((items.len(), mean.to_scalar::<f64>(), &**report), (12, Some(5.5), "12 items, mean 5.5"));
    assert_eq!(CALLS.load(Ordering::Relaxed), 12);
    // What is persisted isn't made again.
    let held = session(2).persist(&bag).unwrap();
    assert_eq!(CALLS.load(Ordering::Relaxed), 24);
    assert_eq!(*session(2).compute(&held.sum()).unwrap(), 66.0);
    assert_eq!(CALLS.load(Ordering::Relaxed), 24);
}

#[test]
fn declared_bytes_reach_the_plan_and_pass_on() {
    let bag = Bag::range(0..12, 3).map("text", |x| "x".repeat(*x as usize)).sized(Bytes(1 << 20));
    let bytes = |layer: &outcrop::graph::layer::Layer| layer.chunks().largest_block();
    assert_eq!(bytes(bag.layer().unwrap()), 1 << 20);
    assert_eq!(bytes(bag.filter("all", |_| true).layer().unwrap()), 1 << 20);
    assert_eq!(bytes(bag.repartition(6).layer().unwrap()), 1 << 19);
    let small = Session::on(Machine::host_only(1, Bytes(1 << 18)), Config::default());
    assert!(small.compute(&bag).is_err());
    assert_eq!(session(2).compute(&bag).unwrap().len(), 12);
}

#[test]
fn a_function_that_fails_is_tried_again_as_its_layer_asks() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let twice = Annotations::new().set("retries", 1).unwrap();
    let bag = annotate(twice, || {
        Bag::range(0..3, 1).try_map("flaky", |x| match CALLS.fetch_add(1, Ordering::Relaxed) {
            1 => Err("not this time"),
            _ => Ok(x + 1),
        })
    });
    assert_eq!(session(1).compute(&bag).unwrap(), [1, 2, 3]);
    assert_eq!(CALLS.load(Ordering::Relaxed), 5);
}

#[test]
fn bags_stand_between_arrays_on_a_gpu() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/machines/one-gpu.toml");
    let mut machine = Machine::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap();
    machine.devices[1].backend = Backend::Sim;
    let link = machine.link(MemoryId::HOST, machine.memory_of(DeviceId(1)));
    let gpu = SimDevice::new(machine.device(DeviceId(1)), Some(1 << 30), link, FaultPlan::default());
    let session = Session::on(machine, Config::default()).with_device(Arc::new(gpu));
    let on_gpu = Annotations::new().set("device", "gpu").unwrap();
    let x = annotate(on_gpu.clone(), || &Array::arange(0.0, 1.0, 8).rechunk(&[3]) * 2.0);
    let bag = Bag::<f64>::from_array(&x).filter("small", |x| *x < 12.0);
    let array = bag.to_array(&[3, 3, 0]);
    let y = annotate(on_gpu, || &array + 1.0);
    let (bag, y) = session.compute(&(bag, y)).unwrap();
    assert_eq!(bag, [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
    assert_eq!(y.to_vec::<f64>().unwrap(), [1.0, 3.0, 5.0, 7.0, 9.0, 11.0]);
}

#[test]
fn a_delayed_block_is_an_array() {
    let block = Delayed::call("block", (), || Block::from_slice([2, 3], &[1i32, 2, 3, 4, 5, 6]).unwrap());
    let array = Array::from_delayed(&block, [2, 3], DType::I32).rechunk(&[2, 1]);
    let (sum, bag) = session(2).compute(&(array.sum(&Over::all()), Bag::<i32>::from_array(&array))).unwrap();
    assert_eq!((sum.to_scalar::<i64>(), bag), (Some(21), vec![1, 4, 2, 5, 3, 6]));
    let wrong = Array::from_delayed(&block, [3, 2], DType::I32);
    let error = session(1).compute(&wrong).unwrap_err().to_string();
    assert!(error.contains("i32 block (2, 3)") && error.contains("i32 (3, 2)"), "{error}");
}

#[test]
fn floats_fold_to_equal_bits_on_any_number_of_threads() {
    let bag = Bag::range(1..2000, 37).map("inverse", |x| 1.0 / *x as f64);
    let parts: Vec<f64> = lengths(&bag)
        .iter()
        .scan(0, |end, length| {
            *end += length;
            Some((*end - length + 1..*end + 1).map(|x| 1.0 / x as f64).sum())
        })
        .collect();
    let level = |sums: Vec<f64>| {
        sums.chunks(3).map(|own| own.iter().copied().reduce(|a, b| a + b).unwrap()).collect()
    };
    let expected: Vec<f64> = (0..4).fold(parts, |sums, _| level(sums));
    for threads in 1..5 {
        let sum = bag.fold("sum", 0.0, |a, x| a + x, |a, b| a + b, SplitEvery::Values(3));
        assert_eq!(vec![*session(threads).compute(&sum).unwrap()], expected);
    }
}

#[test]
fn layers_of_others_are_bags_when_their_objects_are_numbered() {
    let made = Function::unregistered("made", |_| Ok(Object::new(vec![7i64])));
    let layer = |parts: [KeyPart; 2]| {
        let task =
            |part| (Key::new("tasks", [part]).unwrap(), Task { function: made.clone(), arguments: vec![] });
        let tasks = parts.map(task).into();
        let graph = LayerGraph::from_collections("tasks", NewLayer::Tasks { tasks, bytes: 8 }, &()).unwrap();
        graph.output_layers()[0].clone()
    };
    let bag = Bag::<i64>::from_layer(layer([0.into(), 1.into()])).unwrap();
    assert_eq!(*session(1).compute(&bag.sum()).unwrap(), 14);
    let error = Bag::<i64>::from_layer(layer([0.into(), 2.into()])).unwrap_err().to_string();
    assert!(error.contains("numbered from 0"), "{error}");
    assert!(Bag::<f64>::from_layer(Array::zeros([3], DType::F64).layer().unwrap().clone()).is_err());
}
