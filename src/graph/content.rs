//! Content tokens for values that outlive the process: what sources hold is looked at, not where it came from.
//!
//! A layer's own [`token`](crate::graph::layer::Layer::token) serves names: a file goes by path, size and time there, and
//! an array in memory by a handle. Here both go by their bytes, so that a chunk that was kept is found again when a
//! file was copied, and isn't when a byte of it has changed. Annotations and names count for nothing.

use std::collections::HashMap;
use std::sync::Arc;

use crate::graph::layer::Layer;
use crate::graph::layer_graph::LayerGraph;
use crate::graph::op::{Op, TransferError};
use crate::ids::LayerId;
use crate::token::{Token, Tokenizer};

/// Part of every content token. Raised with any change after which an operation gives other bits.
pub const NUMERIC_VERSION: u32 = 1;

/// Why no later process can know a layer's values.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NotResumable {
    /// Its content, or that of a layer before it, is known to this process alone.
    #[error(
        "'{layer}' does what no other process can recognise; register its function under a name and a version, \
         ({op:?}, 1)"
    )]
    Opaque {
        /// The layer.
        layer: String,
        /// Its operation.
        op: String,
    },
    /// A source can't say what it holds.
    #[error("'{layer}' reads what can't be identified: {source}")]
    Source {
        /// The layer.
        layer: String,
        /// What the source said.
        source: TransferError,
    },
}

/// The content tokens of a graph's layers, by name.
#[derive(Clone, Debug, Default)]
pub struct Contents(HashMap<Arc<str>, Result<Token, NotResumable>>);

impl Contents {
    /// The content of a layer: operation, all that is before it, and how it is cut.
    ///
    /// # Errors
    /// Which layer, this one or one before it, no other process can know; `None` for a name that isn't there.
    pub fn of(&self, layer: &str) -> Option<Result<Token, &NotResumable>> {
        Some(self.0.get(layer)?.as_ref().copied())
    }
}

impl LayerGraph {
    /// The content tokens of all layers. O(layers + edges), and O(bytes) of the sources: a gigabyte takes about a
    /// second the first time, and nothing after that.
    pub fn contents(&self) -> Contents {
        let mut by_id: Vec<Result<Token, NotResumable>> = Vec::with_capacity(self.layer_count());
        for (id, layer) in self.layers() {
            by_id.push(content(self, id, layer, &by_id));
        }
        Contents(self.layers().map(|(_, layer)| layer.shared_name().clone()).zip(by_id).collect())
    }
}

fn content(
    graph: &LayerGraph,
    id: LayerId,
    layer: &Layer,
    before: &[Result<Token, NotResumable>],
) -> Result<Token, NotResumable> {
    let name = || layer.label().unwrap_or(layer.name()).to_owned();
    let own = match layer.op() {
        Op::Load(source) => {
            source.content().map_err(|source| NotResumable::Source { layer: name(), source })?
        }
        op => op.token(),
    };
    if !own.is_lasting() {
        return Err(NotResumable::Opaque { layer: name(), op: layer.op().name().to_owned() });
    }
    let mut fields = Tokenizer::new("content").int(NUMERIC_VERSION.into()).token(own);
    for input in graph.inputs(id) {
        fields = fields.token(before[input.index()].clone()?);
    }
    Ok(layer.spec().tokenize(fields).finish())
}
