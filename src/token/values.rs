//! Tokens of the standard types.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use super::{Token, Tokenize, Tokenizer};

/// Bytes, as Python's `bytes`; a `Vec<u8>` is a list of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bytes<'a>(pub &'a [u8]);

impl Tokenize for Bytes<'_> {
    fn tokenize(&self, fields: Tokenizer) -> Tokenizer {
        fields.bytes(self.0)
    }
}

macro_rules! tokenize_as {
    ($($type:ty => |$value:ident, $fields:ident| $add:expr),* $(,)?) => {
        $(impl Tokenize for $type {
            fn tokenize(&self, $fields: Tokenizer) -> Tokenizer {
                let $value = self;
                $add
            }
        })*
    };
}
tokenize_as!(
    bool => |value, fields| fields.bool(*value),
    f32 => |value, fields| fields.float(f64::from(*value)),
    f64 => |value, fields| fields.float(*value),
    str => |value, fields| fields.text(value),
    String => |value, fields| fields.text(value),
    // Python has no characters.
    char => |value, fields| fields.text(value.encode_utf8(&mut [0; 4])),
    Token => |value, fields| fields.token(*value),
    // Integers go by their value, whatever their width.
    i8 => |value, fields| fields.int((*value).into()),
    i16 => |value, fields| fields.int((*value).into()),
    i32 => |value, fields| fields.int((*value).into()),
    i64 => |value, fields| fields.int(*value),
    isize => |value, fields| fields.int(*value as i64),
    u8 => |value, fields| fields.int((*value).into()),
    u16 => |value, fields| fields.int((*value).into()),
    u32 => |value, fields| fields.int((*value).into()),
    u64 => |value, fields| i128::from(*value).tokenize(fields),
    usize => |value, fields| (*value as u64).tokenize(fields),
    i128 => |value, fields| match i64::try_from(*value) {
        Ok(value) => fields.int(value),
        Err(_) => fields.field(b'I', &value.to_le_bytes()),
    },
    u128 => |value, fields| match i128::try_from(*value) {
        Ok(value) => value.tokenize(fields),
        Err(_) => fields.field(b'U', &value.to_le_bytes()),
    },
);

macro_rules! tokenize_tuple {
    ($($name:ident)*) => {
        impl<$($name: Tokenize),*> Tokenize for ($($name,)*) {
            #[allow(non_snake_case)]
            fn tokenize(&self, fields: Tokenizer) -> Tokenizer {
                let ($($name,)*) = self;
                let values: [&dyn Tokenize; _] = [$($name),*];
                fields.tuple(values.into_iter())
            }
        }
    };
}
tokenize_tuple!();
tokenize_tuple!(A);
tokenize_tuple!(A B);
tokenize_tuple!(A B C);
tokenize_tuple!(A B C D);
tokenize_tuple!(A B C D E);
tokenize_tuple!(A B C D E F);

impl<T: Tokenize> Tokenize for [T] {
    fn tokenize(&self, fields: Tokenizer) -> Tokenizer {
        fields.list(self.iter())
    }
}

impl<T: Tokenize, const N: usize> Tokenize for [T; N] {
    fn tokenize(&self, fields: Tokenizer) -> Tokenizer {
        fields.list(self.iter())
    }
}

impl<T: Tokenize> Tokenize for Vec<T> {
    fn tokenize(&self, fields: Tokenizer) -> Tokenizer {
        fields.list(self.iter())
    }
}

impl<T: Tokenize> Tokenize for Option<T> {
    fn tokenize(&self, fields: Tokenizer) -> Tokenizer {
        match self {
            None => fields.field(b'n', &[]),
            Some(value) => fields.field(b'o', &[]).nested(value),
        }
    }
}

impl<T: Tokenize> Tokenize for BTreeSet<T> {
    fn tokenize(&self, fields: Tokenizer) -> Tokenizer {
        fields.set(self)
    }
}

impl<T: Tokenize, S> Tokenize for HashSet<T, S> {
    fn tokenize(&self, fields: Tokenizer) -> Tokenizer {
        fields.set(self)
    }
}

impl<K: Tokenize, V: Tokenize> Tokenize for BTreeMap<K, V> {
    fn tokenize(&self, fields: Tokenizer) -> Tokenizer {
        fields.map(self)
    }
}

impl<K: Tokenize, V: Tokenize, S> Tokenize for HashMap<K, V, S> {
    fn tokenize(&self, fields: Tokenizer) -> Tokenizer {
        fields.map(self)
    }
}

macro_rules! tokenize_pointer {
    ($($pointer:ty),*) => {
        $(impl<T: Tokenize + ?Sized> Tokenize for $pointer {
            fn tokenize(&self, fields: Tokenizer) -> Tokenizer {
                (**self).tokenize(fields)
            }
        })*
    };
}
tokenize_pointer!(&T, Arc<T>, Rc<T>, Box<T>);
