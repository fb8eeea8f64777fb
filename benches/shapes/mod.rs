//! Graphs of small calls, each with a key of its own.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use outcrop::graph::keys::Keys;
use outcrop::graph::layer_graph::LayerGraph;
use outcrop::graph::{Call, CustomOp, Layer, Made, Read, TaskError, ValueSpec};
use outcrop::token::{Token, Tokenizer};

/// What the calls of a graph read of each other.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Nothing.
    Independent,
    /// The upper and the left neighbour in rows of `side`.
    Grid {
        /// Calls in a row.
        side: usize,
    },
    /// Two others: a binary tree, leaves first.
    Tree,
    /// The one before.
    Chain,
}

/// All shapes of about `count` calls.
pub fn shapes(count: usize) -> [(&'static str, Shape); 4] {
    let side = count.isqrt();
    [
        ("independent", Shape::Independent),
        ("grid", Shape::Grid { side }),
        ("tree", Shape::Tree),
        ("chain", Shape::Chain),
    ]
}

/// Bytes that a value is said to take.
const BYTES: u64 = 8;

/// Bumps a counter, after spinning for a while.
#[derive(Debug)]
struct Bump {
    shape: Shape,
    count: usize,
    spins: u64,
    counter: Arc<AtomicU64>,
    token: Token,
}

impl CustomOp for Bump {
    fn name(&self) -> &str {
        "bump"
    }

    fn token(&self) -> Token {
        self.token
    }

    fn output(&self, _inputs: &[&ValueSpec]) -> Result<ValueSpec, String> {
        Ok(ValueSpec::objects(self.count, BYTES))
    }

    fn reads(&self, block: usize, output: &ValueSpec, inputs: &[&ValueSpec]) -> Vec<Read> {
        let mut reads = Vec::new();
        self.reads_into(block, output, inputs, &mut reads);
        reads
    }

    fn reads_into(&self, block: usize, _output: &ValueSpec, _inputs: &[&ValueSpec], into: &mut Vec<Read>) {
        let mut read = |block: Option<usize>| {
            into.extend(block.map(|block| Read { input: Read::OWN, block }));
        };
        match self.shape {
            Shape::Independent => {}
            Shape::Chain => read(block.checked_sub(1)),
            Shape::Grid { side } => {
                read(block.checked_sub(side));
                read((!block.is_multiple_of(side)).then(|| block - 1));
            }
            Shape::Tree => {
                // Numbered from the root: the children of n are 2n + 1 and 2n + 2.
                let last = self.count - 1;
                let child = 2 * (last - block) + 1;
                read(last.checked_sub(child));
                read(last.checked_sub(child + 1));
            }
        }
    }

    fn compute(&self, _call: &mut Call<'_>) -> Result<Made, TaskError> {
        spin(self.spins);
        self.counter.fetch_add(1, Ordering::Relaxed);
        Ok(Made::object(()))
    }
}

/// Takes a time that is proportional to `spins`.
pub fn spin(spins: u64) {
    for at in 0..spins {
        black_box(at);
    }
}

/// The graph of `count` calls, and what they count: all of the independent ones are asked for, of others the last.
pub fn graph(shape: Shape, count: usize, spins: u64) -> (LayerGraph, Arc<AtomicU64>) {
    let counter = Arc::new(AtomicU64::new(0));
    let token = Tokenizer::new("bump").token(Token::unique()).finish();
    let bump = Bump { shape, count, spins, counter: counter.clone(), token };
    let layer = Layer::custom(Arc::new(bump), vec![]).expect("the rule refuses nothing");
    let whole = LayerGraph::of([layer.clone()]);
    let graph = match shape {
        Shape::Independent => whole,
        _ => whole.cull(&Keys::One(layer.key(count - 1).expect("named"))).expect("the last call is there"),
    };
    (graph, counter)
}
