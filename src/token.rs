//! Content tokens: 128-bit hashes of type-tagged, length-prefixed content.
//!
//! Equal content gives an equal token in every process and on every platform; annotations are left out.

use std::fmt;

/// A content hash. Prints as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token([u8; 16]);

impl Token {
    /// The first eight hexadecimal digits, for names that people read.
    pub fn short(&self) -> String {
        self.to_string()[..8].to_owned()
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Builds a [`Token`] from tagged fields. Every field carries its type and length, so that no two
/// different sequences of fields feed the same bytes.
pub struct Tokenizer(blake3::Hasher);

impl Tokenizer {
    /// Starts the token of a `kind` of content.
    pub fn new(kind: &str) -> Self {
        Tokenizer(blake3::Hasher::new()).text(kind)
    }

    /// Adds a text.
    pub fn text(self, text: &str) -> Self {
        self.field(b's', text.as_bytes())
    }

    /// Adds an integer.
    pub fn int(self, value: i64) -> Self {
        self.field(b'i', &value.to_le_bytes())
    }

    /// Adds a float, by its bits: −0.0 differs from 0.0.
    pub fn float(self, value: f64) -> Self {
        self.field(b'f', &value.to_bits().to_le_bytes())
    }

    /// Adds a truth value.
    pub fn bool(self, value: bool) -> Self {
        self.field(b'b', &[u8::from(value)])
    }

    /// Adds a list of extents or indices.
    pub fn ints(mut self, values: impl ExactSizeIterator<Item = i64>) -> Self {
        self = self.field(b'l', &(values.len() as u64).to_le_bytes());
        values.fold(self, Tokenizer::int)
    }

    /// Adds another token.
    pub fn token(self, token: Token) -> Self {
        self.field(b't', &token.0)
    }

    /// The token of all that was added.
    pub fn finish(self) -> Token {
        let mut short = [0; 16];
        short.copy_from_slice(&self.0.finalize().as_bytes()[..16]);
        Token(short)
    }

    fn field(mut self, tag: u8, bytes: &[u8]) -> Self {
        self.0.update(&[tag]);
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_borders_count() {
        let tokens = [
            Tokenizer::new("x").int(1).finish(),
            Tokenizer::new("x").float(1.0).finish(),
            Tokenizer::new("x").bool(true).finish(),
            Tokenizer::new("x").text("1").finish(),
            Tokenizer::new("x").float(0.0).finish(),
            Tokenizer::new("x").float(-0.0).finish(),
            Tokenizer::new("x").text("ab").text("c").finish(),
            Tokenizer::new("x").text("a").text("bc").finish(),
        ];
        for (i, a) in tokens.iter().enumerate() {
            assert!(tokens[..i].iter().all(|b| a != b), "token {i} collides");
        }
    }

    #[test]
    fn tokens_are_the_same_on_every_platform() {
        let token = Tokenizer::new("golden").text("outcrop").int(-1).float(0.5).finish();
        assert_eq!(token.to_string(), "2aec702619b16a0a33178229d1ad6127");
    }
}
