//! What a layer's values are: blocks of an array, or objects.

use std::fmt;

use crate::dtype::DType;
use crate::graph::chunking::{AxisChunks, Chunking};
use crate::shape::Shape;
use crate::token::Tokenizer;

/// What kind of values a layer makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// Blocks of an array.
    Blocks,
    /// One object, whose key is the layer's name.
    Object,
    /// Objects numbered from 0.
    Objects,
}

/// The objects of a layer count as at most so many bytes together, 1 PiB: beyond what any machine has, and little
/// enough that sums over a plan's layers don't overflow.
const OBJECTS_BYTES_MAX: usize = 1 << 50;

/// The values of a layer.
///
/// Objects are opaque: a layer of them counts as an array of bytes, cut into one block for each object, as many
/// bytes long as was declared. What plans and reserves memory needs to know no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueSpec {
    /// How they are cut, and how many they are.
    pub chunks: Chunking,
    /// Element type; objects are bytes.
    pub dtype: DType,
    /// What they are.
    pub kind: ValueKind,
}

impl ValueSpec {
    /// Blocks of an array.
    pub fn array(chunks: Chunking, dtype: DType) -> Self {
        ValueSpec { chunks, dtype, kind: ValueKind::Blocks }
    }

    /// One object that takes about `bytes`.
    pub fn object(bytes: u64) -> Self {
        ValueSpec { kind: ValueKind::Object, ..ValueSpec::objects(1, bytes) }
    }

    /// `count` objects that take about `bytes` each.
    pub fn objects(count: usize, bytes: u64) -> Self {
        let count = count.max(1);
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).clamp(1, (OBJECTS_BYTES_MAX / count).max(1));
        let chunks = Chunking::new([AxisChunks::regular(count * bytes, bytes)]);
        ValueSpec { chunks, dtype: DType::U8, kind: ValueKind::Objects }
    }

    /// Whether the values are blocks.
    pub fn is_array(&self) -> bool {
        self.kind == ValueKind::Blocks
    }

    /// How many values there are.
    pub fn count(&self) -> usize {
        self.chunks.blocks()
    }

    /// Where value `block` stands: the parts of its key.
    pub fn index(&self, block: usize) -> Shape {
        match self.kind {
            ValueKind::Object => Shape::default(),
            ValueKind::Blocks | ValueKind::Objects => self.chunks.grid().unravel(block),
        }
    }

    /// The value with this index, if there is one.
    pub fn block_at(&self, index: &[usize]) -> Option<usize> {
        let grid = match self.kind {
            ValueKind::Object => Shape::default(),
            ValueKind::Blocks | ValueKind::Objects => self.chunks.grid(),
        };
        let inside = grid.len() == index.len() && grid.iter().zip(index).all(|(count, at)| at < count);
        inside.then(|| grid.ravel(index))
    }

    /// Type, shape and cuts, as part of a content token.
    pub(crate) fn tokenize(&self, fields: Tokenizer) -> Tokenizer {
        let kind = match self.kind {
            ValueKind::Blocks => self.dtype.name(),
            ValueKind::Object => "object",
            ValueKind::Objects => "objects",
        };
        self.chunks.axes().iter().fold(fields.text(kind), |fields, axis| match axis {
            AxisChunks::Regular { extent, size } => fields.int(*extent as i64).int(*size as i64),
            AxisChunks::Irregular { bounds } => fields.ints(bounds.iter().map(|&bound| bound as i64)),
        })
    }
}

impl fmt::Display for ValueSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ValueKind::Blocks => write!(f, "{} {} in {}", self.dtype, self.chunks.shape(), self.chunks),
            ValueKind::Object => f.write_str("object"),
            ValueKind::Objects => write!(f, "{} objects", self.count()),
        }
    }
}
