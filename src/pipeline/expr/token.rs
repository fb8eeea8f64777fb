//! Text → tokens.

use winnow::Parser;
use winnow::combinator::{alt, opt};
use winnow::error::EmptyError;
use winnow::token::{one_of, take_while};

use super::error::{SyntaxError, SyntaxFault};
use super::tree::Span;

/// One token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Integer(i64),
    Float(f64),
    Text(String),
    Word(String),
    Symbol(&'static str),
}

impl Token {
    /// As an error message names it.
    pub(super) fn describe(&self) -> String {
        match self {
            Token::Integer(value) => format!("the number {value}"),
            Token::Float(value) => format!("the number {value:?}"),
            Token::Text(_) => "a string".to_owned(),
            Token::Word(word) => format!("'{word}'"),
            Token::Symbol(symbol) => format!("'{symbol}'"),
        }
    }
}

/// Longer symbols stand before their beginnings.
const SYMBOLS: [&str; 26] = [
    "...", "**", "//", "<=", ">=", "==", "!=", "+", "-", "*", "/", "%", "@", "<", ">", "&", "|", "^", "~",
    "(", ")", "[", "]", ",", ":", "=",
];

/// All tokens with their spans; white space and `# …` comments are left out.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Span)>, SyntaxError> {
    let mut rest = text;
    let mut tokens = Vec::new();
    loop {
        skip_space(&mut rest);
        let start = text.len() - rest.len();
        let Some(first) = rest.chars().next() else { return Ok(tokens) };
        let token = match first {
            '"' | '\'' => quoted(&mut rest, start)?,
            _ if starts_number(rest) => numeral(&mut rest, start)?,
            _ if is_word_start(first) => Token::Word(scan(&mut rest, word).unwrap_or_default().to_owned()),
            _ => symbol(&mut rest).ok_or_else(|| {
                SyntaxError::new(SyntaxFault::Character(first), start..start + first.len_utf8())
            })?,
        };
        tokens.push((token, start..text.len() - rest.len()));
    }
}

pub(super) fn is_word_start(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

pub(super) fn is_word_part(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

type Scan<O> = Result<O, EmptyError>;

fn scan<'i>(rest: &mut &'i str, mut parser: impl Parser<&'i str, &'i str, EmptyError>) -> Option<&'i str> {
    parser.parse_next(rest).ok()
}

fn skip_space(rest: &mut &str) {
    loop {
        *rest = rest.trim_start();
        if !rest.starts_with('#') {
            return;
        }
        *rest = rest.find('\n').map_or("", |newline| &rest[newline..]);
    }
}

fn word<'i>(input: &mut &'i str) -> Scan<&'i str> {
    take_while(1.., is_word_part).parse_next(input)
}

fn starts_number(rest: &str) -> bool {
    let digits = rest.strip_prefix('.').unwrap_or(rest);
    digits.starts_with(|c: char| c.is_ascii_digit())
}

fn digits<'i>(input: &mut &'i str) -> Scan<&'i str> {
    (one_of('0'..='9'), take_while(0.., ('0'..='9', '_'))).take().parse_next(input)
}

/// `1`, `1_000`, `1.5e-3`, `1.`, `.5`.
fn number<'i>(input: &mut &'i str) -> Scan<&'i str> {
    let mantissa = alt(((digits, opt(('.', opt(digits)))).void(), ('.', digits).void()));
    let exponent = (one_of(['e', 'E']), opt(one_of(['+', '-'])), digits);
    (mantissa, opt(exponent)).take().parse_next(input)
}

fn numeral(rest: &mut &str, start: usize) -> Result<Token, SyntaxError> {
    let begin = *rest;
    let digits = scan(rest, number).unwrap_or_default();
    // Anything that sticks to the number belongs to the mistake: `12ab`, `1.2.3`, `2j`.
    let tail = scan(rest, take_while(0.., |c| is_word_part(c) || c == '.')).unwrap_or_default();
    let whole = &begin[..digits.len() + tail.len()];
    let fail = |fault: fn(String) -> SyntaxFault| {
        Err(SyntaxError::new(fault(whole.to_owned()), start..start + whole.len()))
    };
    if tail == "j" || tail == "J" {
        return fail(SyntaxFault::Complex);
    }
    // `1...` can only mean an ellipsis after an index, which lacks its comma.
    let spelled = digits.split(['.', 'e', 'E']).all(|part| !part.ends_with('_') && !part.contains("__"));
    if !tail.is_empty() || !spelled {
        return fail(SyntaxFault::Number);
    }
    let plain = digits.replace('_', "");
    if plain.bytes().all(|byte| byte.is_ascii_digit()) {
        return plain.parse().map(Token::Integer).or_else(|_| fail(SyntaxFault::IntegerRange));
    }
    plain.parse().map(Token::Float).or_else(|_| fail(SyntaxFault::Number))
}

fn quoted(rest: &mut &str, start: usize) -> Result<Token, SyntaxError> {
    let begin = *rest;
    let mut chars = begin.char_indices();
    let quote = chars.next().map(|(_, quote)| quote);
    let mut text = String::new();
    while let Some((at, c)) = chars.next() {
        match c {
            _ if Some(c) == quote => {
                *rest = &begin[at + c.len_utf8()..];
                return Ok(Token::Text(text));
            }
            '\n' => break,
            '\\' => match chars.next() {
                Some((_, c @ ('\\' | '"' | '\''))) => text.push(c),
                Some((_, 'n')) => text.push('\n'),
                Some((_, 't')) => text.push('\t'),
                Some((end, c)) => {
                    let span = start + at..start + end + c.len_utf8();
                    return Err(SyntaxError::new(SyntaxFault::Escape(c), span));
                }
                None => break,
            },
            _ => text.push(c),
        }
    }
    let line = begin.lines().next().unwrap_or_default();
    Err(SyntaxError::new(SyntaxFault::UnclosedText, start..start + line.len()))
}

fn symbol(rest: &mut &str) -> Option<Token> {
    if let Some(after) = rest.strip_prefix('.').filter(|after| after.starts_with(is_word_start)) {
        *rest = after;
        return Some(Token::Symbol("."));
    }
    let symbol = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol))?;
    *rest = &rest[symbol.len()..];
    Some(Token::Symbol(symbol))
}
