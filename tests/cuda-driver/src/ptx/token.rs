//! Cuts PTX text into words and punctuation.

use super::PtxError;

/// A word (name, directive, opcode, number, string) or one character of punctuation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Token<'a> {
    pub text: &'a str,
    pub line: u32,
}

/// The tokens of a text without its comments.
pub fn tokens(text: &str) -> Result<Vec<Token<'_>>, PtxError> {
    let bytes = text.as_bytes();
    let (mut at, mut line, mut found) = (0, 1, Vec::new());
    while at < bytes.len() {
        let rest = &bytes[at..];
        let length = match rest[0] {
            b'\n' => {
                line += 1;
                at += 1;
                continue;
            }
            c if c.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'/' if rest.get(1) == Some(&b'/') => {
                at += rest.iter().position(|c| *c == b'\n').unwrap_or(rest.len());
                continue;
            }
            b'/' if rest.get(1) == Some(&b'*') => {
                let end = text[at..].find("*/").ok_or(PtxError::new(line, "a comment without end"))?;
                line += text[at..at + end].matches('\n').count() as u32;
                at += end + 2;
                continue;
            }
            b'"' => {
                let end = rest[1..].iter().position(|c| *c == b'"');
                end.ok_or(PtxError::new(line, "a string without end"))? + 2
            }
            c if in_word(c) => rest.iter().position(|c| !in_word(*c)).unwrap_or(rest.len()),
            c if c.is_ascii() => 1,
            _ => return Err(PtxError::new(line, "a character that isn't ASCII")),
        };
        found.push(Token { text: &text[at..at + length], line });
        at += length;
    }
    Ok(found)
}

fn in_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'_' | b'$' | b'%' | b'.')
}

/// Reads tokens one after the other.
pub struct Cursor<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(tokens: Vec<Token<'a>>) -> Cursor<'a> {
        Cursor { tokens, at: 0 }
    }

    /// The text of the next token; empty at the end.
    pub fn peek(&self) -> &'a str {
        self.peek_after(0)
    }

    /// The text of the token `skip` after the next.
    pub fn peek_after(&self, skip: usize) -> &'a str {
        self.tokens.get(self.at + skip).map_or("", |token| token.text)
    }

    /// The next token's line, or the last one's.
    pub fn line(&self) -> u32 {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(0, |token| token.line)
    }

    pub fn take(&mut self) -> Result<&'a str, PtxError> {
        let text = self.peek();
        if text.is_empty() {
            return Err(self.error("the text ends early"));
        }
        self.at += 1;
        Ok(text)
    }

    /// Takes the next token when it is `text`.
    pub fn takes(&mut self, text: &str) -> bool {
        let is = self.peek() == text;
        self.at += usize::from(is);
        is
    }

    pub fn expect(&mut self, text: &str) -> Result<(), PtxError> {
        if self.takes(text) {
            return Ok(());
        }
        Err(self.error(format!("'{text}' expected, '{}' found", self.peek())))
    }

    /// Skips what stands on the line of the next token.
    pub fn skip_line(&mut self) {
        let line = self.line();
        while !self.peek().is_empty() && self.line() == line {
            self.at += 1;
        }
    }

    /// Skips up to and with the closing brace that matches the next opening one.
    pub fn skip_braces(&mut self) -> Result<(), PtxError> {
        while self.take()? != "{" {}
        let mut depth = 1;
        while depth > 0 {
            match self.take()? {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
        }
        Ok(())
    }

    pub fn error(&self, message: impl Into<String>) -> PtxError {
        PtxError::new(self.line(), message)
    }
}

/// A number as PTX writes it: decimal, `0x…`, `0b…`, octal `0…`, or the bits of a float, `0f…` and `0d…`.
pub fn number(text: &str) -> Option<u64> {
    let text = text.strip_suffix('U').unwrap_or(text);
    let digits = |skip: usize, radix| u64::from_str_radix(&text[skip..], radix).ok();
    match text.as_bytes() {
        [b'0', b'f' | b'F' | b'd' | b'D' | b'x' | b'X', ..] => digits(2, 16),
        [b'0', b'b' | b'B', ..] => digits(2, 2),
        [b'0', _, ..] => digits(1, 8),
        [b'0'..=b'9', ..] => digits(0, 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_punctuation_comments_and_lines() {
        let found = tokens("ld.v2 {%r1,$L}, // x\n[%rd1+-4]; /* a\n */ \"s t\"").expect("tokens");
        let texts: Vec<_> = found.iter().map(|t| (t.text, t.line)).collect();
        let first = ["ld.v2", "{", "%r1", ",", "$L", "}", ","].map(|t| (t, 1));
        let second = ["[", "%rd1", "+", "-", "4", "]", ";"].map(|t| (t, 2));
        assert_eq!(texts, [&first[..], &second[..], &[("\"s t\"", 3)]].concat());
    }

    #[test]
    fn numbers_of_every_kind() {
        let table = [
            ("12", Some(12)),
            ("0x1F", Some(31)),
            ("0f3F800000", Some(0x3f80_0000)),
            ("0d3FF0000000000000", Some(1.0f64.to_bits())),
            ("0b101", Some(5)),
            ("017", Some(15)),
            ("0", Some(0)),
            ("%r1", None),
            ("1.5", None),
        ];
        for (text, want) in table {
            assert_eq!(number(text), want, "{text}");
        }
    }
}
