//! One chunk on disk: a block's or an object's bytes, compressed where that helps, and checked when they are read.
//!
//! A chunk is a [`Header`] and what it describes. Bytes are handled in pieces of 256 KiB, so that neither side needs
//! memory by the size of the chunk: contiguous blocks are written from their own memory and read into it, without
//! another copy. Numbers are little-endian on disk; the bytes of elements are the machine's own.
//!
//! **Compression** is LZ4, tried on a sample from the middle: as the bytes are, and with the first bytes of all words
//! of a piece together, then the second ones, and so on, as Blosc does it, which is what makes smooth floating-point
//! data compress at all. A piece that doesn't shrink is written as it is.
//!
//! **Checksums** are CRC-32 over what is on disk. It finds every flipped byte and every burst of up to 32 bits for
//! certain, and others with a probability of 1 - 2^-32; it runs at memory speed (56 GB/s, XXH3 at 31, on the machine
//! where both were measured) and is linked into Outcrop already.

mod decode;
mod encode;
mod header;
mod planes;

use std::cell::RefCell;
use std::fmt;

use crate::block::Block;
use crate::dtype::DType;
use crate::shape::Shape;

pub use decode::{DecodeError, decode_block, decode_bytes};
pub use encode::encode;
pub use header::{Encoding, Header};

/// Bytes that are handled at once. Part of the format: pieces are compressed one by one.
const PIECE_BYTES: usize = 1 << 18;

/// What a chunk is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A block of an array.
    Block {
        /// Element type.
        dtype: DType,
        /// Extents.
        shape: Shape,
    },
    /// An object's bytes, as its codec wrote them.
    Object {
        /// Rust's name of the object's type.
        type_name: String,
    },
}

impl Kind {
    /// The kind of a block.
    pub fn of(block: &Block) -> Self {
        Kind::Block { dtype: block.dtype(), shape: block.shape().clone() }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Block { dtype, shape } => write!(f, "a block of {dtype} {shape}"),
            Kind::Object { type_name } => write!(f, "an object of type {type_name}"),
        }
    }
}

/// What is to be written: a kind, and where its bytes lie.
#[derive(Clone, Debug)]
pub struct Content<'a> {
    kind: Kind,
    place: Place<'a>,
}

#[derive(Clone, Debug)]
enum Place<'a> {
    Bytes(&'a [u8]),
    Strided(&'a Block),
}

impl<'a> Content<'a> {
    /// A block in the host's memory; `None` when it is elsewhere.
    pub fn block(block: &'a Block) -> Option<Self> {
        let place = match block.contiguous_bytes() {
            Some(bytes) => Place::Bytes(bytes),
            None => Place::Strided(block.host_pointer().map(|_| block)?),
        };
        Some(Content { kind: Kind::of(block), place })
    }

    /// An object's bytes.
    pub fn object(type_name: &str, bytes: &'a [u8]) -> Self {
        Content { kind: Kind::Object { type_name: type_name.to_owned() }, place: Place::Bytes(bytes) }
    }

    /// What it is.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Bytes before compression.
    pub fn bytes(&self) -> u64 {
        match self.place {
            Place::Bytes(bytes) => bytes.len() as u64,
            Place::Strided(block) => block.layout.bytes() as u64,
        }
    }

    /// The most bytes that [`encode`] may hand out for it, without the header.
    pub fn stored_bytes_max(&self) -> u64 {
        self.bytes() + self.bytes().div_ceil(PIECE_BYTES as u64) * size_of::<u32>() as u64
    }
}

/// In what way bytes on disk aren't a chunk that was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// They don't begin as one.
    #[error("it doesn't begin with a chunk's header")]
    Magic,
    /// They are of a format that isn't known.
    #[error("its format is {found}, and {known} is known")]
    Version {
        /// The format that they say they have.
        found: u8,
        /// The format that is known.
        known: u8,
    },
    /// The header isn't what was written.
    #[error("its header doesn't fit its checksum")]
    Header,
    /// There are fewer bytes than were written.
    #[error("it ends too early")]
    Short,
    /// Pieces don't add up to the length that the header gives.
    #[error("its pieces don't add up to its {stored_bytes} bytes")]
    Length {
        /// Bytes on disk, by the header.
        stored_bytes: u64,
    },
    /// A piece can't be decompressed.
    #[error("a piece of it can't be decompressed")]
    Piece,
    /// The bytes aren't those that were written.
    #[error("its checksum is {found:08x}, and {stored:08x} was written")]
    Checksum {
        /// Of the bytes that are there.
        found: u32,
        /// Of those that were written.
        stored: u32,
    },
}

/// Memory that each thread keeps for the pieces it works on: at most four pieces.
#[derive(Default)]
struct Scratch {
    /// Bytes in C order.
    gathered: Vec<u8>,
    /// The same, by their place in their words.
    by_plane: Vec<u8>,
    /// What is on disk.
    packed: Vec<u8>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl Scratch {
    /// Lends the thread's scratch. Whoever asks while it is lent gets an empty one.
    fn lend<R>(work: impl FnOnce(&mut Scratch) -> R) -> R {
        let mut scratch = SCRATCH.take();
        let result = work(&mut scratch);
        SCRATCH.set(scratch);
        result
    }
}

/// The first `length` bytes of a buffer that grows to what is asked of it.
fn room(buffer: &mut Vec<u8>, length: usize) -> &mut [u8] {
    if buffer.len() < length {
        buffer.resize(length, 0);
    }
    &mut buffer[..length]
}

#[cfg(test)]
mod tests;
