//! Where the bytes of a TOML string's value stand in the file.

use std::ops::Range;

/// The way from an expression's bytes to the file's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextMap {
    /// The whole string with its quotes.
    whole: Range<usize>,
    /// Position in the file of each byte of the value and of its end; empty when it couldn't be followed.
    positions: Vec<usize>,
}

impl TextMap {
    /// Follows the string that stands at `whole` of `file` and has the value `value`. Line breaks that TOML
    /// drops and escapes count for the character that follows or that they stand for.
    pub fn new(file: &str, whole: Range<usize>, value: &str) -> Self {
        let positions = file
            .get(whole.clone())
            .and_then(|raw| follow(raw, value))
            .map(|positions| positions.into_iter().map(|at| whole.start + at).collect())
            .unwrap_or_default();
        TextMap { whole, positions }
    }

    /// The bytes of the file for bytes of the value; the whole string where they can't be told.
    pub fn file_span(&self, span: &Range<usize>) -> Range<usize> {
        match (self.positions.get(span.start), self.positions.get(span.end)) {
            (Some(&start), Some(&end)) => start..end,
            _ => self.whole.clone(),
        }
    }

    /// The whole string, quotes included.
    pub fn whole(&self) -> Range<usize> {
        self.whole.clone()
    }
}

/// Positions in `raw` of every byte of `value` and of its end, or `None` when the two don't agree.
fn follow(raw: &str, value: &str) -> Option<Vec<usize>> {
    let delimiter = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| raw.starts_with(quote))?;
    let content_end = raw.len().checked_sub(delimiter.len())?;
    let mut at = delimiter.len();
    if delimiter.len() == 3 {
        at += line_break(&raw[at..]);
    }
    let escapes = delimiter.starts_with('"');
    let mut positions = Vec::with_capacity(value.len() + 1);
    for c in value.chars() {
        while escapes && raw[at..].starts_with('\\') && dropped(&raw[at + 1..]) > 0 {
            at += 1 + dropped(&raw[at + 1..]);
        }
        positions.extend(std::iter::repeat_n(at, c.len_utf8()));
        at += match raw[at..].chars().next()? {
            '\\' if escapes => escape_length(&raw[at..])?,
            '\r' if c == '\n' => line_break(&raw[at..]),
            raw_char if raw_char == c => {
                // Inside a character the bytes count up.
                let first = positions.len() - c.len_utf8();
                positions[first..].iter_mut().enumerate().for_each(|(byte, position)| *position += byte);
                c.len_utf8()
            }
            _ => return None,
        };
    }
    (at <= content_end).then(|| {
        positions.push(at);
        positions
    })
}

fn line_break(text: &str) -> usize {
    if text.starts_with("\r\n") { 2 } else { usize::from(text.starts_with('\n')) }
}

/// Length of the white space that a backslash before it drops: it must hold a line break.
fn dropped(after_backslash: &str) -> usize {
    let space = after_backslash.len() - after_backslash.trim_start_matches([' ', '\t', '\r', '\n']).len();
    if after_backslash[..space].contains('\n') { space } else { 0 }
}

fn escape_length(text: &str) -> Option<usize> {
    Some(match text.chars().nth(1)? {
        'x' => 4,
        'u' => 6,
        'U' => 10,
        other => 1 + other.len_utf8(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Maps the value's `needle` back and returns what stands there in the file.
    fn mapped<'a>(file: &'a str, needle: &str) -> &'a str {
        let table = toml::de::DeTable::parse(file).unwrap();
        let item = &table.get_ref()["e"];
        let value = item.get_ref().as_str().unwrap();
        let start = value.find(needle).unwrap();
        &file[TextMap::new(file, item.span(), value).file_span(&(start..start + needle.len()))]
    }

    #[test]
    fn every_kind_of_string_maps_back() {
        assert_eq!(mapped("e = \"sqrt(gx)\"", "gx"), "gx");
        assert_eq!(mapped("e = 'sqrt(gx)'", "gx"), "gx");
        assert_eq!(mapped("e = '''\nsqrt(\ngx)'''", "gx"), "gx");
        assert_eq!(mapped("e = \"\"\"\n  sqrt(\\\n     gx)\"\"\"", "gx"), "gx");
        assert_eq!(mapped("e = \"f(\\\"a\\\", gx)\"", "gx"), "gx");
        assert_eq!(mapped("e = \"f(\\\"a\\\", gx)\"", "\"a\""), "\\\"a\\\"");
        assert_eq!(mapped("e = \"ä\\u0020\\x41 gx\"", "A"), "\\x41");
        assert_eq!(mapped("e = \"\"\"\r\na +\r\ngx\"\"\"", "gx"), "gx");
        assert_eq!(mapped("e = \"\"\"a\"\"\"\"\"", "\"\""), "\"\"");
    }

    #[test]
    fn disagreement_falls_back_to_the_whole_string() {
        let map = TextMap::new("e = 'abc'", 4..9, "xyz");
        assert_eq!(map.file_span(&(1..2)), 4..9);
        assert_eq!(TextMap::new("e = 'abc'", 4..9, "abc").file_span(&(1..99)), 4..9);
    }
}
