//! Layers whose values are there: what persisting leaves, and blocks of the user's own.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::block::Block;
use crate::collections::computed::Computed;
use crate::dtype::DType;
use crate::graph::block_set::BlockSet;
use crate::graph::custom::{Call, CustomOp, Made, TaskError};
use crate::graph::error::GraphError;
use crate::graph::layer::{Layer, LayerBody, Naming};
use crate::graph::op::{Op, Source, TransferError};
use crate::graph::rule::Read;
use crate::graph::value_spec::ValueSpec;
use crate::shape::{Region, Shape};
use crate::token::{Token, Tokenizer};
use crate::value::Value;

/// A layer that stands in for `layer`: the same name, content and annotations, the values held instead of made.
pub(super) fn held(layer: &Arc<Layer>, values: &Computed) -> Result<Arc<Layer>, GraphError> {
    let source = std::slice::from_ref(layer);
    let mut inputs = Vec::new();
    let op = match (values.array(layer.name()), values.values(layer.name())) {
        (Some(array), _) => Op::Load(Arc::new(InMemory::new(array.clone()))),
        (None, Some((blocks, values))) => {
            if *blocks != BlockSet::All {
                // The other values are made as before, in a layer that has given its name away.
                let (own, after) = (layer.inputs().to_vec(), layer.after().to_vec());
                let naming = Naming::Seeded(Token::unique());
                inputs.push(Layer::from_layers(source, layer.body(), own, after, naming)?);
            }
            let (token, spec) = (layer.token(), layer.spec().clone());
            Op::Custom(Arc::new(Held { token, spec, blocks: blocks.clone(), values: values.clone() }))
        }
        (None, None) => return Ok(layer.clone()),
    };
    let body = LayerBody { op, spec: layer.spec().clone() };
    Layer::from_layers(source, body, inputs, Vec::new(), Naming::Held)
}

/// A source over a host block.
#[derive(Debug)]
pub(super) struct InMemory {
    block: Block,
    handle: u64,
    content: OnceLock<Option<Token>>,
}

impl InMemory {
    pub(super) fn new(block: Block) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        InMemory { block, handle: NEXT.fetch_add(1, Ordering::Relaxed), content: OnceLock::new() }
    }
}

impl Source for InMemory {
    fn describe(&self) -> String {
        "memory".to_owned()
    }

    /// A handle, not the content: hashing gigabytes to name a layer would cost more than computing it.
    fn token(&self) -> Token {
        Tokenizer::new("memory").int(self.handle as i64).of_process().finish()
    }

    fn content(&self) -> Result<Token, TransferError> {
        let token = *self.content.get_or_init(|| self.block.token());
        token.ok_or_else(|| TransferError {
            place: self.describe(),
            problem: "the block isn't on the host".to_owned(),
        })
    }

    fn dtype(&self) -> DType {
        self.block.dtype()
    }

    fn shape(&self) -> Shape {
        self.block.shape().clone()
    }

    fn in_place(&self) -> bool {
        true
    }

    fn view(&self, region: &Region) -> Result<Block, TransferError> {
        Ok(self.block.part(region))
    }

    fn read(&self, _region: &Region, _into: &Block) -> Result<(), TransferError> {
        let problem = "blocks in memory are viewed, not read".to_owned();
        Err(TransferError { place: self.describe(), problem })
    }
}

/// Objects, or some blocks of an array, by their numbers; what isn't there is read from the one input.
struct Held {
    token: Token,
    spec: ValueSpec,
    blocks: BlockSet,
    values: Arc<[Value]>,
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} values held", self.values.len())
    }
}

impl CustomOp for Held {
    fn name(&self) -> &str {
        "held"
    }

    fn token(&self) -> Token {
        self.token
    }

    fn output(&self, _inputs: &[&ValueSpec]) -> Result<ValueSpec, String> {
        Ok(self.spec.clone())
    }

    fn reads(&self, block: usize, _output: &ValueSpec, _inputs: &[&ValueSpec]) -> Vec<Read> {
        if self.blocks.contains(block) { Vec::new() } else { vec![Read { input: 0, block }] }
    }

    fn reads_everything(&self) -> bool {
        self.blocks == BlockSet::All
    }

    fn compute(&self, call: &mut Call<'_>) -> Result<Made, TaskError> {
        let value = self.blocks.position(call.block).and_then(|at| self.values.get(at));
        match (value, &mut call.output) {
            (Some(Value::Object(object)), _) => Ok(Made::Object(object.clone())),
            (Some(Value::Block(block)), Some(output)) => match output.copy_from(block) {
                true => Ok(Made::Written),
                false => Err(TaskError::new(format!("a {} {} was persisted", block.dtype(), block.shape()))),
            },
            _ => Ok(Made::Same(0)),
        }
    }
}
