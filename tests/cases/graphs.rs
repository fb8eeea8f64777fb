//! C: graphs, keys, collections. One test for each case of the specification; the property tests of the stages
//! go further.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use outcrop::annotate::{Annotations, annotate};
use outcrop::block::Block;
use outcrop::collections::array::{Index, Over};
use outcrop::collections::delayed::{Unzip, function};
use outcrop::collections::manipulate::{self, Options, SplitEvery, bind, checkpoint, wait_on};
use outcrop::collections::{Array, Bag, Collection, Collections, Delayed, Rename};
use outcrop::dtype::DType;
use outcrop::graph::cull::Part;
use outcrop::graph::custom::{Call, CustomOp, Made, TaskError};
use outcrop::graph::error::GraphError;
use outcrop::graph::keys::Keys;
use outcrop::graph::layer::{Layer, LayerBody, Naming};
use outcrop::graph::layer_graph::{LayerGraph, NewLayer, Outputs};
use outcrop::graph::op::Op;
use outcrop::graph::rule::Read;
use outcrop::graph::tasks::{Argument, Function, Task};
use outcrop::graph::value_spec::ValueSpec;
use outcrop::key::{Key, KeyPart};
use outcrop::session::Session;
use outcrop::settings::Config;
use outcrop::token::Token;
use outcrop::value::{Object, Value};

fn session() -> Session {
    Session::new(Config { threads: Some(2), ..Config::default() })
}

fn sum_of(values: &[Value]) -> Result<Object, TaskError> {
    Ok(Object::new(values.iter().filter_map(|value| value.object::<i64>()).sum::<i64>()))
}

fn task(arguments: Vec<Argument>) -> Task {
    Task { function: Function::registered("sum", 1, sum_of), arguments }
}

fn key(name: &str, part: i64) -> Key {
    Key::new(name, [part]).unwrap()
}

fn tasks(name: &str, tasks: Vec<(Key, Task)>) -> Result<LayerGraph, GraphError> {
    LayerGraph::from_collections(name, NewLayer::Tasks { tasks, bytes: 8 }, &())
}

#[test]
fn c01_cycles_missing_dependencies_and_duplicate_keys_are_refused_with_their_keys() {
    let reads = |at: i64| task(vec![Argument::Key(key("t", at))]);
    let message = |given| tasks("t", given).unwrap_err().to_string();
    let circle = message(vec![(key("t", 0), reads(2)), (key("t", 1), reads(0)), (key("t", 2), reads(1))]);
    assert!(circle.contains("('t', 0), ('t', 2), ('t', 1) wait for each other"), "{circle}");
    let own = message(vec![(key("t", 0), reads(0))]);
    assert!(own.contains("('t', 0) wait"), "{own}");
    let missing = message(vec![(key("t", 0), reads(7))]);
    assert!(missing.contains("('t', 0) reads ('t', 7)"), "{missing}");
    let double = message(vec![(key("t", 0), task(vec![])), (key("t", 0), reads(0))]);
    assert!(double.contains("('t', 0) is given twice"), "{double}");
    let foreign = message(vec![(key("other", 0), task(vec![]))]);
    assert!(foreign.contains("('other', 0)") && foreign.contains("'t'"), "{foreign}");

    let part = |name: &str, inputs: &[&str]| Part {
        name: name.to_owned(),
        layer: NewLayer::Tasks { tasks: vec![(Key::named(name).unwrap(), task(vec![]))], bytes: 8 },
        inputs: inputs.iter().map(|&input| input.to_owned()).collect(),
    };
    let message = |parts| LayerGraph::from_parts(parts).unwrap_err().to_string();
    let circle = message(vec![part("a", &["c"]), part("b", &["a"]), part("c", &["b"])]);
    assert!(circle.contains("a, c, b wait for each other"), "{circle}");
    let missing = message(vec![part("a", &["nowhere"])]);
    assert!(missing.contains("'a' reads 'nowhere'"), "{missing}");
    let double = message(vec![part("a", &[]), part("a", &[])]);
    assert!(double.contains("'a'"), "{double}");

    let one = Array::ones([3], DType::F32).named("x");
    let other = Array::zeros([3], DType::F32).named("x");
    let clash = LayerGraph::merge(&[one.graph().unwrap(), other.graph().unwrap()]).unwrap_err();
    assert!(matches!(&clash, GraphError::NameClash { name } if name == "x"), "{clash}");
    let within = LayerGraph::of([one.layer().unwrap().clone(), other.layer().unwrap().clone()]);
    assert!(matches!(within.validate(), Err(GraphError::NameClash { .. })));
}

#[test]
fn c02_keys_are_strings_or_tuples_that_begin_with_one() {
    let tuple = |parts: Vec<KeyPart>| Key::try_from(KeyPart::from(parts));
    for (refused, shown) in [
        (Key::try_from(KeyPart::from("")), "''"),
        (tuple(vec![]), "()"),
        (tuple(vec![1i64.into(), "x".into()]), "(1, 'x')"),
        (tuple(vec!["".into(), 0i64.into()]), "('', 0)"),
        (Key::try_from(KeyPart::from(1.5)), "1.5"),
    ] {
        let error = refused.unwrap_err().to_string();
        assert!(error.starts_with(shown), "{error}");
    }
    let accepted = tuple(vec!["x".into(), 0i64.into(), "part".into(), 1.5.into()]).unwrap();
    assert_eq!(accepted.to_string(), "('x', 0, 'part', 1.5)");
    assert!(Array::zeros([2], DType::F32).named("").layer().is_err());
    assert!(Delayed::literal(1i64).named("").layer().is_err());
}

#[test]
fn c03_a_literal_that_equals_a_key_stays_a_literal() {
    let length = Function::unregistered("length", |values| {
        let text = values[0].object::<String>().map(String::len);
        Ok(Object::new(text))
    });
    let literal = Argument::literal("x".to_owned());
    let given = vec![
        (Key::new("t", ["x"]).unwrap(), task(vec![])),
        (Key::new("t", ["n"]).unwrap(), Task { function: length, arguments: vec![literal] }),
    ];
    let graph = tasks("t", given).unwrap();
    let n = Key::new("t", ["n"]).unwrap();
    assert_eq!(graph.key_dependencies(&n).unwrap().unwrap(), []);
    let x = Delayed::literal("x".to_owned()).named("x");
    let y = Delayed::call(
        "length",
        (&x, outcrop::collections::delayed::Literal::new("x".to_owned())),
        |a: &String, b: &String| (a.clone(), b.clone()),
    );
    assert_eq!(*session().compute(&y).unwrap(), ("x".to_owned(), "x".to_owned()));
}

#[test]
fn c04_culling_keeps_what_is_needed_and_commutes_with_merging() {
    let x = Array::arange(0.0, 1.0, 100).rechunk(&[10]);
    let y = (&x + 1.0).slice(&[Index::Range { start: Some(25), stop: Some(45), step: None }]);
    let z = (&x * 2.0).sum(&Over::all());
    let names = |graph: &LayerGraph| -> HashSet<String> {
        graph.keys().map(|key| key.unwrap().to_string()).collect()
    };
    let culled = |graph: &LayerGraph, keys: &Keys| graph.cull(keys).unwrap();
    let (of_y, of_z) = (y.keys().unwrap(), z.keys().unwrap());
    let (graph_y, graph_z) = (y.graph().unwrap(), z.graph().unwrap());
    let both = Keys::List(vec![of_y.clone(), of_z.clone()]);
    let cull_of_merge = culled(&LayerGraph::merge(&[graph_y.clone(), graph_z.clone()]).unwrap(), &both);
    let merge_of_cull = LayerGraph::merge(&[culled(&graph_y, &of_y), culled(&graph_z, &of_z)]).unwrap();
    assert_eq!(names(&cull_of_merge), names(&merge_of_cull));
    // Elements 25..45 lie in blocks 2, 3 and 4 of ten.
    let small = culled(&graph_y, &of_y);
    assert_eq!(small.len(), y.keys().unwrap().len() + 3 + 3);
    for key in small.keys() {
        let key = key.unwrap();
        let reads = small.key_dependencies(&key).unwrap().unwrap();
        assert!(reads.iter().all(|read| small.contains(read)), "{key} reads what isn't there");
        assert_eq!(graph_y.key_dependencies(&key).unwrap().unwrap(), reads);
    }
}

#[test]
fn c05_one_of_many_blocks_costs_one_block() {
    let blocks = 100_000_000;
    let x = Array::arange(0.0, 1.0, blocks * 10).rechunk(&[10]);
    let y = (&x + 1.0).gradient(1.0, 0);
    let graph = y.graph().unwrap();
    let name = y.layer().unwrap().name().to_owned();
    assert_eq!(graph.len(), 3 * blocks);
    let one = graph.cull(&Keys::One(Key::block(name, &[77_000_000]).unwrap())).unwrap();
    assert_eq!(one.len(), 1 + 3 + 3);
    let part = y.slice(&[Index::Range { start: Some(5), stop: Some(7), step: None }]);
    assert_eq!(session().compute(&part).unwrap().to_vec::<f64>().unwrap(), [1.0, 1.0]);
}

/// Collections made of every kind of layer, with annotations on each.
fn every_kind() -> (Vec<Array>, Vec<Delayed<i64>>) {
    let wish = |priority: f64| Annotations::new().with_priority(priority).unwrap();
    let x = annotate(wish(1.0), || Array::indices([6, 4], DType::F64).rechunk(&[2, 4]));
    let loaded = annotate(wish(2.0), || Array::from_slice([6, 4], &[2.0; 24]).rechunk(&[3, 2]));
    let map = annotate(wish(3.0), || &x * &loaded + 1.0);
    let stencil = annotate(wish(4.0), || map.gradient(1.0, 0));
    let slice = annotate(wish(5.0), || {
        stencil.slice(&[Index::Range { start: None, stop: None, step: Some(2) }, Index::At(1)])
    });
    let reduced = annotate(wish(6.0), || map.mean(&Over::axis(1)));
    let length = annotate(wish(7.0), || {
        Delayed::call("length", (&slice, &reduced), |a: &Block, b: &Block| {
            (a.shape().elements() + b.shape().elements()) as i64
        })
    });
    let add = function("add", 1, |a: &i64, b: &i64| a + b);
    let pair = annotate(wish(8.0), || Delayed::call("pair", (&length,), |n: &i64| (*n, n + 1)));
    let (first, second) = annotate(wish(9.0), || pair.unzip());
    let pure = annotate(wish(10.0), || add.call((&first, &second)));
    let done = checkpoint(&(slice.clone(), pure.clone()), SplitEvery::Values(2)).unwrap();
    let waited = annotate(wish(11.0), || Delayed::call("after", (&done, &pure), |(): &(), n: &i64| n * 2));
    (vec![map, slice, reduced], vec![pure, waited])
}

fn flat(values: (Vec<Block>, Vec<Arc<i64>>)) -> (Vec<Vec<f64>>, Vec<i64>) {
    (
        values.0.iter().map(|block| block.to_f64_vec().unwrap()).collect(),
        values.1.iter().map(|n| **n).collect(),
    )
}

/// For each layer, what it does and what was asked for it; how often each.
fn asked(collections: &impl Outputs) -> BTreeMap<(String, String), usize> {
    let graph = LayerGraph::of(collections.output_layers().unwrap());
    let mut asked = BTreeMap::new();
    for (_, layer) in graph.layers() {
        let one = (format!("{} {}", layer.op().name(), layer.spec()), layer.annotations().to_string());
        *asked.entry(one).or_insert(0) += 1;
    }
    asked
}

fn names(collections: &impl Outputs) -> HashSet<String> {
    let graph = LayerGraph::of(collections.output_layers().unwrap());
    graph.layers().map(|(_, layer)| layer.name().to_owned()).collect()
}

#[test]
fn c06_copies_of_every_kind_of_layer_are_equal_annotated_and_symbolic() {
    let originals = every_kind();
    let parent = Delayed::literal(1i64);
    let clone = manipulate::clone(&originals, &Options::new()).unwrap();
    let bound = bind(&originals, &parent, &Options::new()).unwrap();
    let waited = wait_on(&originals, SplitEvery::Auto).unwrap();
    let session = session();
    let all = (originals.clone(), clone.clone(), bound.clone(), waited);
    let (original, a, b, c) = session.compute(&all).unwrap();
    let want = flat(original);
    for copy in [a, b, c] {
        assert_eq!(flat(copy), want);
    }
    assert_eq!(flat(session.compute(&session.persist(&originals).unwrap()).unwrap()), want);
    assert!(names(&originals).is_disjoint(&names(&clone)));
    assert!(names(&originals).is_disjoint(&names(&bound)));
    assert_eq!(asked(&clone), asked(&originals));
    // Beside the copies there is what they wait for: the parent, and the task that waits for it.
    let mut beside = asked(&bound);
    for (one, count) in asked(&originals) {
        *beside.get_mut(&one).unwrap() -= count;
    }
    beside.retain(|_, count| *count > 0);
    let beside: Vec<String> = beside.into_keys().map(|(op, annotations)| op + &annotations).collect();
    assert_eq!(beside, ["value one object", "wait one object"]);
}

#[test]
fn c07_copies_of_named_layers_keep_readable_names_and_never_collide() {
    let x = Array::ones([3], DType::F32).named("mean-of-2026-11-30");
    let named = |array: &Array| array.layer().unwrap().name().to_owned();
    let clone = manipulate::clone(&x, &Options::new()).unwrap();
    assert!(named(&clone).starts_with("mean-of-2026-11-30-"), "{}", named(&clone));
    let again = manipulate::clone(&clone, &Options::new()).unwrap();
    assert_eq!(named(&again).len(), named(&clone).len(), "names must not grow with every copy");
    let seeded = |seed: u64| named(&manipulate::clone(&x, &Options::new().seed(seed)).unwrap());
    assert_eq!(seeded(7), seeded(7));
    let all: HashSet<String> = (0..1_000_000).map(|seed| Token::of(&(seed as u64)).short()).collect();
    assert_eq!(all.len(), 1_000_000);
    let copies: HashSet<String> = (0..10_000).map(seeded).collect();
    assert_eq!(copies.len(), 10_000);
}

#[test]
fn c08_a_collection_with_two_names_rebuilds_through_a_rename_map() {
    #[derive(Clone)]
    struct Pair(Array, Array);
    impl Collection for Pair {
        type Value = (Block, Block);
        fn graph(&self) -> Result<LayerGraph, GraphError> {
            LayerGraph::merge(&[self.0.graph()?, self.1.graph()?])
        }
        fn keys(&self) -> Result<Keys, GraphError> {
            Ok(Keys::List(vec![self.0.keys()?, self.1.keys()?]))
        }
        fn rebuild(&self, graph: &LayerGraph, rename: &Rename) -> Result<Self, GraphError> {
            Ok(Pair(self.0.rebuild(graph, rename)?, self.1.rebuild(graph, rename)?))
        }
        fn finalize(&self, values: &outcrop::collections::Computed) -> Result<Self::Value, GraphError> {
            Ok((self.0.finalize(values)?, self.1.finalize(values)?))
        }
    }
    let (x, y) = (Array::ones([3], DType::F64).named("x"), Array::zeros([4], DType::F64).named("y"));
    let pair = Pair(x.clone(), y.clone());
    let z = Array::full([3], 5.0, DType::F64).named("z");
    let graph = LayerGraph::merge(&[z.graph().unwrap(), y.graph().unwrap()]).unwrap();
    let rename: Rename = [("x", "z"), ("nobody", "else")].into_iter().collect();
    let rebuilt = pair.rebuild(&graph, &rename).unwrap();
    assert_eq!(rebuilt.keys().unwrap().names(), ["z", "y"]);
    let (first, second) = session().compute(&rebuilt).unwrap();
    assert_eq!(
        (first.to_vec::<f64>().unwrap(), second.to_vec::<f64>().unwrap()),
        (vec![5.0; 3], vec![0.0; 4])
    );
    assert_eq!(session().compute(&pair).unwrap().0.to_vec::<f64>().unwrap(), [1.0; 3]);
    let error = pair.rebuild(&z.graph().unwrap(), &rename).err().unwrap();
    assert!(matches!(&error, GraphError::MissingLayer { name, .. } if name == "y"), "{error}");
    assert!(matches!(pair.rebuild_as(&graph, "w"), Err(GraphError::SeveralNames { .. })));
}

/// Waits before it passes a value on.
#[derive(Debug)]
struct Delay;

impl CustomOp for Delay {
    fn name(&self) -> &str {
        "delay"
    }
    fn token(&self) -> Token {
        Token::of("delay")
    }
    fn output(&self, inputs: &[&ValueSpec]) -> Result<ValueSpec, String> {
        Ok(ValueSpec::clone(inputs[0]))
    }
    fn reads(&self, block: usize, _output: &ValueSpec, _inputs: &[&ValueSpec]) -> Vec<Read> {
        vec![Read { input: 0, block }]
    }
    fn compute(&self, _call: &mut Call<'_>) -> Result<Made, TaskError> {
        DELAYED.fetch_add(1, Ordering::SeqCst);
        Ok(Made::Same(0))
    }
}

static DELAYED: AtomicUsize = AtomicUsize::new(0);

/// The seed's function; `tests/third-party` has it with a real delay, over collections of its own.
fn delayed<C: Collections>(collections: &C) -> Result<C, GraphError> {
    let mut slow = BTreeMap::new();
    for layer in collections.output_layers()? {
        let body = LayerBody { op: Op::Custom(Arc::new(Delay)), spec: layer.spec().clone() };
        let behind = Layer::from_layers(
            std::slice::from_ref(&layer),
            body,
            vec![layer.clone()],
            vec![],
            Naming::Content,
        )?;
        slow.insert(layer.shared_name().clone(), behind);
    }
    let rename = slow.iter().map(|(old, new)| (old.clone(), new.shared_name().clone())).collect();
    collections.rebuild_each(&LayerGraph::of(slow.into_values()), &rename)
}

#[test]
fn c09_a_delay_before_every_block_of_any_collection_beside_the_original() {
    let wish = Annotations::new().with_retries(2).unwrap();
    let originals = annotate(wish.clone(), || {
        let x = Array::arange(0.0, 1.0, 10).rechunk(&[3]) * 2.0;
        let bag = Bag::from_vec(vec![1i64, 2, 3], 2).map("double", |n| n * 2);
        let call = Delayed::call("length", (&x,), |x: &Block| x.shape().elements());
        (vec![x], bag, call)
    });
    let slow = delayed(&originals).unwrap();
    let ((arrays, bag, call), slow_values) = session().compute(&(originals.clone(), slow.clone())).unwrap();
    assert_eq!(DELAYED.load(Ordering::SeqCst), 4 + 2 + 1);
    assert_eq!(arrays[0].to_vec::<f64>(), slow_values.0[0].to_vec::<f64>());
    assert_eq!((bag, call), (slow_values.1, slow_values.2));
    let outputs = slow.output_layers().unwrap();
    assert!(outputs.iter().all(|layer| *layer.annotations() == wish && matches!(layer.op(), Op::Custom(_))));
    assert_eq!(beyond(&asked(&slow), &asked(&originals)), 3);
}

/// How many layers ask in `all` beyond those in `some`, which must all be there.
fn beyond(all: &BTreeMap<(String, String), usize>, some: &BTreeMap<(String, String), usize>) -> usize {
    assert!(some.iter().all(|(one, count)| all.get(one) >= Some(count)));
    all.values().sum::<usize>() - some.values().sum::<usize>()
}

#[test]
fn c10_a_call_over_a_whole_collection_bound_to_another() {
    let x = Array::arange(0.0, 1.0, 100).rechunk(&[7]);
    let ran = Arc::new(AtomicUsize::new(0));
    let counter = ran.clone();
    let first =
        Delayed::call("first", (&(&x * 2.0),), move |_: &Block| counter.fetch_add(1, Ordering::SeqCst));
    let seen = ran.clone();
    let second =
        Delayed::call("second", (&x,), move |x: &Block| (seen.load(Ordering::SeqCst), x.shape().elements()));
    let bound = bind(&second, &first, &Options::new()).unwrap();
    bound.graph().unwrap().validate().unwrap();
    assert_eq!(*session().compute(&bound).unwrap(), (1, 100));
    // The unbound original is still there, and needs nothing of the other.
    assert!(!names(&second).iter().any(|name| name.starts_with("first")));
    assert!(matches!(bind(&second, &Vec::<Array>::new(), &Options::new()), Err(GraphError::BindToNothing)));
    let one = Options::new().split_every(SplitEvery::Values(1));
    assert!(matches!(bind(&second, &first, &one), Err(GraphError::Argument { op: "split_every", .. })));
}

#[test]
fn c11_tokens_tell_types_and_collections_apart_and_nothing_else() {
    let tokens = [
        Token::of(&1i64),
        Token::of(&1.0f64),
        Token::of(&true),
        Token::of("1"),
        Token::of(&vec![1i64]),
        Token::of(&(1i64,)),
        Token::of(&std::collections::BTreeSet::from([1i64])),
        Token::of(&BTreeMap::from([(1i64, 1i64)])),
        Token::of(&0.0f64),
        Token::of(&-0.0f64),
    ];
    assert_eq!(tokens.iter().collect::<HashSet<_>>().len(), tokens.len());
    let annotated =
        annotate(Annotations::new().with_retries(2).unwrap(), || Array::ones([3], DType::F32) + 1.0);
    let plain = Array::ones([3], DType::F32) + 1.0;
    assert_eq!(annotated.token().unwrap(), plain.token().unwrap());
    assert_ne!(annotated.layer().unwrap().name(), plain.layer().unwrap().name());
}

#[test]
fn c12_a_chain_of_calls_builds_and_runs_without_recursion() {
    let links = 100_000;
    let mut chain = Delayed::literal(0i64);
    for _ in 0..links {
        chain = Delayed::call("next", (&chain,), |n: &i64| n + 1);
    }
    assert_eq!(chain.graph().unwrap().layer_count(), links + 1);
    assert_eq!(*session().compute(&chain).unwrap(), links as i64);
}

#[test]
fn c12_many_independent_calls_are_computed_at_once() {
    let links: usize = 70_000;
    let base = Delayed::literal(1i64);
    let calls: Vec<Delayed<usize>> =
        (0..links).map(|at| Delayed::call("each", (&base,), move |n: &i64| at + *n as usize)).collect();
    let values = session().compute(&calls).unwrap();
    assert!(values.iter().enumerate().all(|(at, value)| **value == at + 1));
    let total =
        Delayed::call("total", (calls.iter().take(5000).collect::<Vec<_>>(),), |all: &[Arc<usize>]| {
            all.iter().map(|n| **n).sum::<usize>()
        });
    assert_eq!(*session().compute(&total).unwrap(), 5000 * 5001 / 2);
    let done = checkpoint(&calls[..5000].to_vec(), SplitEvery::Auto).unwrap();
    session().compute(&done).unwrap();
    let every: Vec<&Delayed<usize>> = calls.iter().collect();
    let refused = Delayed::call("too many", (every,), |all: &[Arc<usize>]| all.len());
    let error = refused.layer().unwrap_err().to_string();
    assert!(error.contains("65534"), "{error}");
}

#[test]
fn c13_a_chain_of_a_thousand_layers_becomes_one_kernel() {
    let chain = (0..1000).fold(Array::zeros([1024], DType::F64), |x, i| &x + f64::from(i));
    let prepared = session().prepare(&[chain.layer().unwrap().clone()]).unwrap();
    assert_eq!((prepared.plan.layers.len(), prepared.plan.kernels.len()), (1, 1));
    assert_eq!(prepared.plan.layers[0].sources.len(), 1001);
    let value = session().compute(&chain).unwrap().to_vec::<f64>().unwrap();
    assert_eq!(value, vec![499_500.0; 1024]);
}

#[test]
fn c14_nothing_runs_while_a_graph_is_built_or_looked_at() {
    let ran = Arc::new(AtomicUsize::new(0));
    let counter = ran.clone();
    let x = Array::arange(0.0, 1.0, 10);
    let call = Delayed::call("count", (&x,), move |_: &Block| counter.fetch_add(1, Ordering::SeqCst));
    let copies = manipulate::clone(&(call.clone(), x), &Options::new()).unwrap();
    let waited = wait_on(&copies, SplitEvery::Auto).unwrap();
    let graph = waited.0.graph().unwrap();
    graph.validate().unwrap();
    let _ = (graph.to_string(), graph.len(), graph.to_tasks().unwrap(), waited.0.optimize().unwrap());
    let session = session();
    session.prepare(&waited.output_layers().unwrap()).unwrap();
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    session.compute(&waited).unwrap();
    assert_eq!(ran.load(Ordering::SeqCst), 1);
    let symbolic = |layer: &Arc<Layer>| !matches!(layer.op(), Op::Tasks(table) if table.len() > 1);
    assert!(graph.layers().all(|(_, layer)| symbolic(layer)));
}
