//! A third party's layers are as symbolic as Outcrop's own: 10^8 blocks cost what ten cost.

use outcrop::collections::manipulate::{Options, SplitEvery, bind, checkpoint, clone, wait_on};
use outcrop::collections::{Array, Collection};
use outcrop::graph::block_set::BlockSet;
use outcrop::graph::op::Op;
use outcrop::graph::{Keys, LayerGraph, Outputs};
use outcrop::session::Session;
use outcrop::token::Tokenizer;
use third_party::{Delay, Ragged, delayed};

const PARTITIONS: usize = 100_000_000;

fn huge() -> Ragged {
    let token = Tokenizer::new("triangle").finish();
    let rows = Ragged::new("", PARTITIONS, token, |at| vec![vec![(at % 10) as f64; at % 3]]).unwrap();
    rows.anomaly().unwrap()
}

/// The operations of a graph, and how many values each makes, none of them written out.
fn operations(graph: &LayerGraph) -> Vec<(String, usize)> {
    let line = |layer: &outcrop::graph::layer::Layer| {
        assert!(!matches!(layer.op(), Op::Tasks(_)) || layer.spec().count() == 1, "{layer:?}");
        (layer.op().name().to_owned(), layer.spec().count())
    };
    graph.layers().map(|(_, layer)| line(layer)).collect()
}

#[test]
fn generic_functions_keep_rules_as_rules() {
    let rows = huge();
    let own = [("value", 1), ("rows", PARTITIONS), ("anomaly", PARTITIONS)];
    let own: Vec<(String, usize)> = own.map(|(op, count)| (op.to_owned(), count)).to_vec();
    assert_eq!(operations(&rows.graph().unwrap()), own);
    let copy = clone(&rows, &Options::new()).unwrap();
    assert_eq!(operations(&copy.graph().unwrap()), own);
    let bound = bind(&rows, &Array::arange(0.0, 1.0, 3), &Options::new()).unwrap();
    let slow = delayed(&rows, &Delay::of(Default::default())).unwrap();
    let waited = wait_on(&(rows.clone(), slow.clone()), SplitEvery::Auto).unwrap();
    let done = checkpoint(&rows, SplitEvery::Auto).unwrap();
    for graph in [bound.graph(), slow.graph(), waited.0.graph(), waited.1.graph(), done.graph()] {
        let all = operations(&graph.unwrap());
        assert!(own.iter().all(|layer| all.contains(layer)), "{all:?}");
    }
}

#[test]
fn one_block_is_culled_to_what_it_reads() {
    let slow = delayed(&huge(), &Delay::of(Default::default())).unwrap();
    let last = slow.partitions().key(PARTITIONS / 2).unwrap();
    let culled = slow.graph().unwrap().cull(&Keys::One(last)).unwrap();
    let kept: Vec<(String, Vec<usize>)> = culled
        .layers()
        .map(|(id, layer)| match culled.kept(id) {
            BlockSet::Some(blocks) => (layer.op().name().to_owned(), blocks.to_vec()),
            BlockSet::All => panic!("all of {layer:?}"),
        })
        .filter(|(_, blocks)| !blocks.is_empty())
        .collect();
    let at = PARTITIONS / 2;
    let want = [("rows", vec![at - 1, at, at + 1]), ("anomaly", vec![at]), ("delay", vec![at])];
    assert_eq!(kept, want.map(|(op, blocks)| (op.to_owned(), blocks)));
    let computed =
        outcrop::collections::Runner::run_graph(&Session::new(Default::default()), &culled).unwrap();
    let key = slow.partitions().key(at).unwrap();
    // Partition 5·10^7 is [0, 0]; beside it stand [9] and [].
    assert_eq!(*computed.object::<Vec<Vec<f64>>>(&key).unwrap(), [[-3.0, -3.0]]);
    assert_eq!(slow.output_layers().unwrap().len(), 2);
}
