//! What follows the name in a key.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::key::KeyError;
use crate::token::{Tokenize, Tokenizer};

/// One part of a key.
///
/// Parts of different types differ, also `1` and `1.0`. Floats are equal when their bits are, so that 0.0
/// and −0.0 name two things, and are ordered as [`f64::total_cmp`] says. Types are ordered as listed.
#[derive(Clone, Debug)]
pub enum KeyPart {
    /// An integer.
    Int(i64),
    /// A float; NaN is refused where the key is made.
    Float(f64),
    /// A string.
    Text(Arc<str>),
    /// Bytes.
    Bytes(Arc<[u8]>),
    /// A nested tuple; may be empty.
    Tuple(Arc<[KeyPart]>),
}

impl KeyPart {
    /// Whether NaN stands somewhere inside.
    pub(super) fn has_nan(&self) -> bool {
        match self {
            KeyPart::Float(value) => value.is_nan(),
            KeyPart::Tuple(parts) => parts.iter().any(KeyPart::has_nan),
            KeyPart::Int(_) | KeyPart::Text(_) | KeyPart::Bytes(_) => false,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            KeyPart::Int(_) => 0,
            KeyPart::Float(_) => 1,
            KeyPart::Text(_) => 2,
            KeyPart::Bytes(_) => 3,
            KeyPart::Tuple(_) => 4,
        }
    }
}

impl Ord for KeyPart {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (KeyPart::Int(a), KeyPart::Int(b)) => a.cmp(b),
            (KeyPart::Float(a), KeyPart::Float(b)) => a.total_cmp(b),
            (KeyPart::Text(a), KeyPart::Text(b)) => a.cmp(b),
            (KeyPart::Bytes(a), KeyPart::Bytes(b)) => a.cmp(b),
            (KeyPart::Tuple(a), KeyPart::Tuple(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for KeyPart {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for KeyPart {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for KeyPart {}

impl Hash for KeyPart {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.rank().hash(state);
        match self {
            KeyPart::Int(value) => value.hash(state),
            KeyPart::Float(value) => value.to_bits().hash(state),
            KeyPart::Text(value) => value.hash(state),
            KeyPart::Bytes(value) => value.hash(state),
            KeyPart::Tuple(parts) => parts.hash(state),
        }
    }
}

impl Tokenize for KeyPart {
    fn tokenize(&self, fields: Tokenizer) -> Tokenizer {
        match self {
            KeyPart::Int(value) => fields.int(*value),
            KeyPart::Float(value) => fields.float(*value),
            KeyPart::Text(value) => fields.text(value),
            KeyPart::Bytes(value) => fields.bytes(value),
            KeyPart::Tuple(parts) => fields.tuple(parts.iter()),
        }
    }
}

macro_rules! part_from {
    ($($from:ty => $variant:ident),*) => {
        $(impl From<$from> for KeyPart {
            fn from(value: $from) -> Self {
                KeyPart::$variant(value.into())
            }
        })*
    };
}
part_from!(
    u8 => Int, i16 => Int, u16 => Int, i32 => Int, u32 => Int, i64 => Int,
    f32 => Float, f64 => Float,
    &str => Text, String => Text, Arc<str> => Text,
    &[u8] => Bytes, Vec<u8> => Bytes,
    Vec<KeyPart> => Tuple, &[KeyPart] => Tuple
);

impl TryFrom<u64> for KeyPart {
    type Error = KeyError;

    fn try_from(value: u64) -> Result<Self, KeyError> {
        let whole = i64::try_from(value).map_err(|_| KeyError::TooLarge { value: value.to_string() });
        whole.map(KeyPart::Int)
    }
}

impl TryFrom<usize> for KeyPart {
    type Error = KeyError;

    fn try_from(value: usize) -> Result<Self, KeyError> {
        KeyPart::try_from(value as u64)
    }
}
