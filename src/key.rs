//! Keys: how people and protocols name a block.

use std::fmt;

use crate::shape::Shape;

/// The name of one block of a collection: the layer's name, and the block's place in its grid. The engine
/// itself runs on dense ids; keys are for messages and traces.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    name: String,
    index: Shape,
}

/// A key without a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a key's name must not be empty")]
pub struct EmptyName;

impl Key {
    /// The key of a block.
    ///
    /// # Errors
    /// [`EmptyName`] for `""`.
    pub fn new(name: impl Into<String>, index: Shape) -> Result<Self, EmptyName> {
        let name = name.into();
        if name.is_empty() { Err(EmptyName) } else { Ok(Key { name, index }) }
    }

    /// The layer's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The block's place in the grid; empty for a scalar.
    pub fn index(&self) -> &[usize] {
        &self.index
    }
}

impl fmt::Display for Key {
    /// As Dask writes it: `('hillshade', 3, 0)`; a scalar's is `('mean',)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "('{}'", self.name)?;
        for at in self.index.iter() {
            write!(f, ", {at}")?;
        }
        f.write_str(if self.index.is_empty() { ",)" } else { ")" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_print_as_tuples() {
        let key = |name: &str, index: &[usize]| Key::new(name, index.into()).map(|key| key.to_string());
        assert_eq!(key("hillshade", &[3, 0]), Ok("('hillshade', 3, 0)".to_owned()));
        assert_eq!(key("2026-11-30 mean", &[]), Ok("('2026-11-30 mean',)".to_owned()));
        assert_eq!(key("", &[0]), Err(EmptyName));
    }
}
