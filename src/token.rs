//! Content tokens: 128-bit hashes of type-tagged, length-prefixed content.
//!
//! Equal content gives an equal token in every process and on every platform; annotations are left out.

mod block;
mod unique;
mod values;

use std::fmt;

use smallvec::SmallVec;

pub use values::Bytes;

/// A content hash. Prints as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token([u8; 16]);

impl Token {
    /// The token of a value. O(bytes of the value); sets and maps also sort.
    pub fn of(value: &(impl Tokenize + ?Sized)) -> Self {
        value.tokenize(Tokenizer::new("value")).finish()
    }

    /// The token of these 128 bits, as [`bytes`](Token::bytes) gave them.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Token(bytes)
    }

    /// Its 128 bits.
    pub fn bytes(&self) -> [u8; 16] {
        self.0
    }

    /// The first 16 hexadecimal digits, for names that people read: among a million names, two are the same
    /// with a probability below 10^-7.
    pub fn short(&self) -> String {
        digits(&self.0[..8])
    }
}

/// Two digits a byte: names are made by the hundred thousand, which formatting byte by byte is too slow for.
fn digits(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(2 * bytes.len());
    for &byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)].into());
        text.push(DIGITS[usize::from(byte & 15)].into());
    }
    text
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&digits(&self.0))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A value with a content token.
///
/// The standard types are told apart as Python tells them apart: `true`, `1`, `1.0` and `"1"` differ, and so
/// do a list, a tuple, a set and a map, also when empty. Widths don't count: `1u8` is `1i64`, and an `f32` is
/// the `f64` of the same value. Borders count at every depth. Sets and maps have no order. `None` and
/// `Some(None)` differ.
///
/// A type of one's own says what it is and adds what tells it from others of its kind:
///
/// ```
/// use outcrop::token::{Token, Tokenize, Tokenizer};
///
/// struct Threshold {
///     field: String,
///     above: f64,
/// }
///
/// impl Tokenize for Threshold {
///     fn tokenize(&self, fields: Tokenizer) -> Tokenizer {
///         (&self.field, self.above).tokenize(fields.text("threshold"))
///     }
/// }
///
/// let above = |above| Token::of(&Threshold { field: "wind".into(), above });
/// assert_eq!(above(10.0), above(10.0));
/// assert_ne!(above(10.0), above(12.5));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no content token",
    label = "not `Tokenize`",
    note = "implement `outcrop::token::Tokenize`, or take the `opaque` form, whose values equal no others"
)]
pub trait Tokenize {
    /// Adds the value to `fields`: equal values the same fields, different values different ones. A type
    /// of several fields begins with a [text](Tokenizer::text) that names the type.
    fn tokenize(&self, fields: Tokenizer) -> Tokenizer;
}

/// Builds a [`Token`] from tagged fields. Every field carries its type and length, so that no two
/// different sequences of fields feed the same bytes.
///
/// A hasher is two kilobytes large, and most tokens are of a few short fields: these are gathered and hashed at once.
pub struct Tokenizer {
    pending: SmallVec<[u8; 256]>,
    hasher: Option<Box<blake3::Hasher>>,
}

/// Bytes that are gathered at most before a hasher takes them.
const PENDING_MAX: usize = 1 << 12;

impl Tokenizer {
    /// Starts the token of a `kind` of content.
    pub fn new(kind: &str) -> Self {
        Tokenizer { pending: SmallVec::new(), hasher: None }.text(kind)
    }

    /// Adds a text.
    pub fn text(self, text: &str) -> Self {
        self.field(b's', text.as_bytes())
    }

    /// Adds bytes.
    pub fn bytes(self, bytes: &[u8]) -> Self {
        self.field(b'y', bytes)
    }

    /// Adds an integer.
    pub fn int(self, value: i64) -> Self {
        self.field(b'i', &value.to_le_bytes())
    }

    /// Adds a float, by its bits: −0.0 differs from 0.0. All NaNs are one, since platforms differ in the NaN
    /// that they compute.
    pub fn float(self, value: f64) -> Self {
        let value = if value.is_nan() { f64::NAN } else { value };
        self.field(b'f', &value.to_bits().to_le_bytes())
    }

    /// Adds a truth value.
    pub fn bool(self, value: bool) -> Self {
        self.field(b'b', &[u8::from(value)])
    }

    /// Adds a list of extents or indices.
    pub fn ints(self, values: impl ExactSizeIterator<Item = i64>) -> Self {
        let fields = self.head(b'l', values.len());
        values.fold(fields, Tokenizer::int)
    }

    /// Adds another token.
    pub fn token(self, token: Token) -> Self {
        self.field(b't', &token.0)
    }

    /// Adds the values of a list.
    pub fn list<T: Tokenize>(self, values: impl ExactSizeIterator<Item = T>) -> Self {
        let fields = self.head(b'L', values.len());
        values.fold(fields, |fields, value| fields.nested(&value))
    }

    /// Adds the values of a tuple; those of different types as `&dyn Tokenize`.
    pub fn tuple<T: Tokenize>(self, values: impl ExactSizeIterator<Item = T>) -> Self {
        let fields = self.head(b'T', values.len());
        values.fold(fields, |fields, value| fields.nested(&value))
    }

    /// Adds a set: distinct values in any order.
    pub fn set<T: Tokenize>(self, values: impl IntoIterator<Item = T>) -> Self {
        let mut tokens: Vec<Token> = values.into_iter().map(|value| Token::of(&value)).collect();
        tokens.sort_unstable();
        let fields = self.head(b'S', tokens.len());
        tokens.into_iter().fold(fields, Tokenizer::token)
    }

    /// Adds a map: entries with distinct keys in any order.
    pub fn map<K: Tokenize, V: Tokenize>(self, entries: impl IntoIterator<Item = (K, V)>) -> Self {
        let token = |(key, value): (K, V)| (Token::of(&key), Token::of(&value));
        let mut tokens: Vec<(Token, Token)> = entries.into_iter().map(token).collect();
        tokens.sort_unstable();
        let fields = self.head(b'M', tokens.len());
        tokens.into_iter().fold(fields, |fields, (key, value)| fields.token(key).token(value))
    }

    /// Adds a value in brackets, so that what it is made of can't be taken for what follows.
    pub fn nested(self, value: &(impl Tokenize + ?Sized)) -> Self {
        value.tokenize(self.field(b'(', &[])).field(b')', &[])
    }

    /// The token of all that was added.
    pub fn finish(self) -> Token {
        let hash = match self.hasher {
            None => blake3::hash(&self.pending),
            Some(mut hasher) => hasher.update(&self.pending).finalize(),
        };
        let mut short = [0; 16];
        short.copy_from_slice(&hash.as_bytes()[..16]);
        Token(short)
    }

    /// Begins a group of `length` values.
    fn head(self, tag: u8, length: usize) -> Self {
        self.field(tag, &(length as u64).to_le_bytes())
    }

    fn field(mut self, tag: u8, bytes: &[u8]) -> Self {
        if self.pending.len() + bytes.len() > PENDING_MAX {
            return self.streamed(tag, bytes.len(), |hasher| {
                hasher.update(bytes);
            });
        }
        self.pending.push(tag);
        self.pending.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.pending.extend_from_slice(bytes);
        self
    }

    /// A field whose `length` bytes `feed` hands over piece by piece.
    fn streamed(mut self, tag: u8, length: usize, feed: impl FnOnce(&mut blake3::Hasher)) -> Self {
        self.pending.push(tag);
        self.pending.extend_from_slice(&(length as u64).to_le_bytes());
        let hasher = self.hasher.get_or_insert_with(|| Box::new(blake3::Hasher::new()));
        hasher.update(&self.pending);
        self.pending.clear();
        feed(hasher);
        self
    }
}

#[cfg(test)]
mod tests;
