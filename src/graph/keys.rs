//! The keys of a collection: nested, and written out only where somebody walks over them.

use std::collections::HashSet;
use std::sync::Arc;

use crate::key::{Key, KeyError};
use crate::shape::Shape;

/// Nested keys. Their nesting is the collection's own: a grid of blocks, a list of partitions, one list for each
/// member of a composite.
#[derive(Clone, Debug, PartialEq)]
pub enum Keys {
    /// One key.
    One(Key),
    /// The keys of all blocks of a layer, in C order; as cheap for 10^8 as for ten.
    Grid {
        /// The layer's name.
        name: Arc<str>,
        /// Blocks along each axis.
        grid: Shape,
    },
    /// Lists in lists.
    List(Vec<Keys>),
}

impl Keys {
    /// How many they are. O(lists).
    pub fn len(&self) -> usize {
        match self {
            Keys::One(_) => 1,
            Keys::Grid { grid, .. } => grid.elements(),
            Keys::List(lists) => lists.iter().map(Keys::len).sum(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The names that the keys have, each once, in order. O(lists).
    pub fn names(&self) -> Vec<&str> {
        let (mut names, mut seen) = (Vec::new(), HashSet::new());
        self.for_each_name(&mut |name| {
            if seen.insert(name) {
                names.push(name);
            }
        });
        names
    }

    fn for_each_name<'a>(&'a self, visit: &mut impl FnMut(&'a str)) {
        match self {
            Keys::One(key) => visit(key.name()),
            Keys::Grid { name, .. } => visit(name),
            Keys::List(lists) => lists.iter().for_each(|keys| keys.for_each_name(visit)),
        }
    }

    /// The keys one after the other, made on the way. The error is a grid's whose name is empty.
    pub fn iter(&self) -> Box<dyn Iterator<Item = Result<Key, KeyError>> + '_> {
        match self {
            Keys::One(key) => Box::new(std::iter::once(Ok(key.clone()))),
            Keys::Grid { name, grid } => {
                let key = |block| Key::block(name.clone(), &grid.unravel(block));
                Box::new((0..grid.elements()).map(key))
            }
            Keys::List(lists) => Box::new(lists.iter().flat_map(Keys::iter)),
        }
    }
}
