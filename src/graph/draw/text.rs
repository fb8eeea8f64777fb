//! Text in pictures: what can't be seen is written out, what is too long is cut.

use std::fmt::Write as _;

/// The text with control characters, and those that turn the direction of writing, written as escapes: it stays on
/// its line, and XML can hold it.
pub(in crate::graph) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if turns || c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') {
            let _ = write!(shown, "{}", c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// At most `most` characters of the text; an ellipsis stands for the rest.
pub(super) fn clipped(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// Words in lines of at most `columns` characters, a dot between; at most `lines` of them.
pub(super) fn wrapped(words: &[String], columns: usize, lines: usize) -> Vec<String> {
    let mut wrapped: Vec<String> = Vec::new();
    for word in words {
        match wrapped.last_mut() {
            Some(line) if line.chars().count() + 3 + word.chars().count() <= columns => {
                line.push_str(" · ");
                line.push_str(word);
            }
            _ => wrapped.push(word.clone()),
        }
    }
    if wrapped.len() > lines {
        wrapped.truncate(lines);
        if let Some(last) = wrapped.last_mut() {
            last.push_str(" …");
        }
    }
    wrapped
}

/// About how wide a line is, in pixels, at `size` pixels a letter: no font of those that are asked for is wider.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let of = |c: char| match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' | '·' | '(' | ')' | '[' | ']' => {
            0.39
        }
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' | '—' => 1.0,
        'A'..='Z' | '+' | '=' | '<' | '>' | '~' | '×' | '#' => 0.84,
        c if c >= '\u{1100}' => 1.05,
        _ => 0.64,
    };
    size * text.chars().map(of).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_written_out() {
        assert_eq!(visible("a\nb\t\u{7}\u{202e}ü火"), "a\\nb\\t\\u{7}\\u{202e}ü火");
        assert_eq!(visible("\u{ffff}\r"), "\\u{ffff}\\r");
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(clipped("üüüü", 4), "üüüü");
        assert_eq!(clipped("üüüüü", 4), "üüü…");
        let words: Vec<String> = ["aa", "bb", "cc", "dddddd"].map(str::to_owned).into();
        assert_eq!(wrapped(&words, 8, 3), ["aa · bb", "cc", "dddddd"]);
        assert_eq!(wrapped(&words, 8, 2), ["aa · bb", "cc …"]);
    }
}
