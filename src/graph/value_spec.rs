//! What a layer's values are: blocks of an array, or objects.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::dtype::DType;
use crate::graph::chunking::{AxisChunks, Chunking};
use crate::key::{Key, KeyError, KeyPart};
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
    /// Their keys, where explicit tasks chose them. What passes values on keeps this, so that they are found as before.
    pub keys: Option<Arc<KeyTable>>,
}

/// Keys that were chosen one by one, in the place of numbers.
#[derive(Debug, PartialEq, Eq)]
pub struct KeyTable {
    parts: Vec<Box<[KeyPart]>>,
    places: HashMap<Box<[KeyPart]>, u32>,
}

impl ValueSpec {
    /// Blocks of an array.
    pub fn array(chunks: Chunking, dtype: DType) -> Self {
        ValueSpec { chunks, dtype, kind: ValueKind::Blocks, keys: None }
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
        ValueSpec { chunks, dtype: DType::U8, kind: ValueKind::Objects, keys: None }
    }

    /// Whether the values are blocks.
    pub fn is_array(&self) -> bool {
        self.kind == ValueKind::Blocks
    }

    /// How many values there are.
    pub fn count(&self) -> usize {
        self.chunks.blocks()
    }

    /// Where value `block` stands in the grid.
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

    /// The key of value `block` of a layer `name`.
    ///
    /// # Errors
    /// The name is empty.
    pub fn key(&self, name: &Arc<str>, block: usize) -> Result<Key, KeyError> {
        match self.keys.as_ref().map(|keys| keys.parts(block)) {
            None => Key::block(name.clone(), &self.index(block)),
            Some([]) => Key::named(name.clone()),
            Some(parts) => Key::new(name.clone(), parts.iter().cloned()),
        }
    }

    /// The value whose key has these parts, if there is one. O(1).
    pub fn find(&self, key: &Key) -> Option<usize> {
        match &self.keys {
            None => self.block_at(&key.index()?),
            Some(keys) => keys.place(key.parts()),
        }
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

impl KeyTable {
    /// The parts of each value's key, in order; all of them differ.
    pub fn new(parts: Vec<Box<[KeyPart]>>) -> Self {
        let places = parts.iter().enumerate().map(|(at, parts)| (parts.clone(), at as u32)).collect();
        KeyTable { parts, places }
    }

    /// The parts of one value's key; none for the plain name.
    pub fn parts(&self, value: usize) -> &[KeyPart] {
        self.parts.get(value).map_or(&[], |parts| parts)
    }

    /// The value whose key has these parts. O(1).
    pub fn place(&self, parts: &[KeyPart]) -> Option<usize> {
        self.places.get(parts).map(|&at| at as usize)
    }
}

impl fmt::Display for ValueSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ValueKind::Blocks => write!(f, "{} {} in {}", self.dtype, self.chunks.shape(), self.chunks),
            ValueKind::Object => f.write_str("one object"),
            ValueKind::Objects if self.count() == 1 => f.write_str("1 object"),
            ValueKind::Objects => write!(f, "{} objects", self.count()),
        }
    }
}
