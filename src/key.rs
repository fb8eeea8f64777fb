//! Keys: how people and protocols name a block or any other value.
//!
//! A key is a non-empty string, or a tuple of a non-empty string (the *name*) and one or more parts. All keys
//! of a collection share its name. The engine runs on dense ids; keys are for messages, traces and protocols.
//! A string that reads like a key is none until a key is made of it: the types differ.

mod display;
mod part;

use std::sync::Arc;

use smallvec::SmallVec;

use crate::token::{Tokenize, Tokenizer};

pub use part::KeyPart;

/// The name of one value: a string, or a tuple of a string and parts. Cheap to clone. Keys are ordered by
/// name, then part by part; the plain string comes before its tuples.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    name: Arc<str>,
    /// Empty for the plain string.
    parts: SmallVec<[KeyPart; 2]>,
}

/// What was given is no key. The message shows it as Python would write it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The string, or the tuple's first part, is `''`.
    #[error("{value} is no key: its name is empty; a key is {RULE}")]
    EmptyName {
        /// What was given.
        value: String,
    },
    /// Neither a string nor a tuple that begins with one.
    #[error("{value} is no key: it doesn't begin with a name; a key is {RULE}")]
    NoName {
        /// What was given.
        value: String,
    },
    /// A tuple of a name alone.
    #[error("{value} is no key: nothing follows the name; give the plain string {name}, or add a part")]
    NoParts {
        /// What was given.
        value: String,
        /// Its name, quoted.
        name: String,
    },
    /// A part is NaN, which differs from itself and so can't be found again.
    #[error("{value} is no key: NaN equals nothing, so that nothing could be found under it; use a string")]
    Nan {
        /// What was given.
        value: String,
    },
    /// An integer part beyond 64 bits with sign.
    #[error("{value} can't be part of a key: integers go up to {}; use a string", i64::MAX)]
    TooLarge {
        /// What was given.
        value: String,
    },
}

/// What messages say a key is.
const RULE: &str = "a non-empty string, or a tuple of a non-empty string and one or more parts (integers, \
                    floats, strings, bytes, nested tuples)";

impl Key {
    /// The plain string.
    ///
    /// # Errors
    /// [`KeyError::EmptyName`] for `""`.
    pub fn named(name: impl Into<Arc<str>>) -> Result<Self, KeyError> {
        Key { name: name.into(), parts: SmallVec::new() }.checked()
    }

    /// The tuple of a name and one or more parts.
    ///
    /// # Errors
    /// When the name is empty, there is no part, or one is NaN.
    pub fn new<P: Into<KeyPart>>(
        name: impl Into<Arc<str>>,
        parts: impl IntoIterator<Item = P>,
    ) -> Result<Self, KeyError> {
        let key = Key { name: name.into(), parts: parts.into_iter().map(P::into).collect() };
        if !key.parts.is_empty() {
            return key.checked();
        }
        let name = key.to_string();
        let value = format!("({name},)");
        Err(if key.name.is_empty() {
            KeyError::EmptyName { value }
        } else {
            KeyError::NoParts { value, name }
        })
    }

    /// The key of a block at `index` of a collection's grid. A scalar's only block has the plain string.
    ///
    /// # Errors
    /// When the name is empty, or an index is beyond `i64`.
    pub fn block(name: impl Into<Arc<str>>, index: &[usize]) -> Result<Self, KeyError> {
        let parts = index.iter().map(|&at| KeyPart::try_from(at)).collect::<Result<_, _>>()?;
        Key { name: name.into(), parts }.checked()
    }

    /// The string, or the tuple's first part.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What follows the name; empty for the plain string.
    pub fn parts(&self) -> &[KeyPart] {
        &self.parts
    }

    /// The place in a grid, when all parts are non-negative integers; empty for the plain string.
    pub fn index(&self) -> Option<SmallVec<[usize; 4]>> {
        let at = |part: &KeyPart| match *part {
            KeyPart::Int(value) => usize::try_from(value).ok(),
            _ => None,
        };
        self.parts.iter().map(at).collect()
    }

    /// The same parts under another name.
    ///
    /// # Errors
    /// [`KeyError::EmptyName`] for `""`.
    pub fn renamed(&self, name: impl Into<Arc<str>>) -> Result<Self, KeyError> {
        Key { name: name.into(), parts: self.parts.clone() }.checked()
    }

    fn checked(self) -> Result<Self, KeyError> {
        let value = || self.to_string();
        if self.name.is_empty() {
            Err(KeyError::EmptyName { value: value() })
        } else if self.parts.iter().any(KeyPart::has_nan) {
            Err(KeyError::Nan { value: value() })
        } else {
            Ok(self)
        }
    }
}

/// The way in for values of any type, from a protocol or another language.
impl TryFrom<KeyPart> for Key {
    type Error = KeyError;

    fn try_from(value: KeyPart) -> Result<Self, KeyError> {
        match &value {
            KeyPart::Text(name) => Key::named(name.clone()),
            KeyPart::Tuple(items) => match &items[..] {
                [KeyPart::Text(name), parts @ ..] => Key::new(name.clone(), parts.iter().cloned()),
                _ => Err(KeyError::NoName { value: value.to_string() }),
            },
            _ => Err(KeyError::NoName { value: value.to_string() }),
        }
    }
}

impl Tokenize for Key {
    /// Differs from the token of the string or tuple that reads the same.
    fn tokenize(&self, fields: Tokenizer) -> Tokenizer {
        fields.text("key").text(&self.name).list(self.parts.iter())
    }
}

#[cfg(test)]
mod tests;
