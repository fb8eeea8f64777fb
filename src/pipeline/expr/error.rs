//! What can be wrong with an expression's text.

use super::tree::Span;

/// An expression doesn't follow the grammar.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault}")]
pub struct SyntaxError {
    /// What is wrong.
    pub fault: SyntaxFault,
    /// Where, in bytes of the expression's text.
    pub span: Span,
}

/// The kinds of [`SyntaxError`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxFault {
    /// Nothing but white space.
    #[error("the expression is empty")]
    Empty,
    /// No token starts with this.
    #[error("unexpected character '{0}' in an expression")]
    Character(char),
    /// `1.2.3`, `0x`, `12ab`.
    #[error("'{0}' is no number")]
    Number(String),
    /// `2j`.
    #[error("'{0}' is a complex number; Outcrop computes with real numbers")]
    Complex(String),
    /// An integer literal beyond `i64`.
    #[error("the integer {0} doesn't fit 64 bits")]
    IntegerRange(String),
    /// A string without its closing quote.
    #[error("this string isn't closed")]
    UnclosedText,
    /// `"\q"`.
    #[error("unknown escape '\\{0}' in a string")]
    Escape(char),
    /// Another token stands here than can.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What may stand here.
        expected: &'static str,
        /// The token.
        found: String,
    },
    /// The text ends too early.
    #[error("the expression ends where {0} should follow")]
    End(&'static str),
    /// `(` without `)`.
    #[error("this '{0}' is never closed")]
    Unclosed(char),
    /// `)` without `(`.
    #[error("this '{0}' closes nothing")]
    Unopened(char),
    /// `a < b < c`.
    #[error("comparisons can't be chained")]
    Chained,
    /// `a and b`, `a or b`.
    #[error("'{0}' can't combine arrays")]
    Logical(&'static str),
    /// `a + not b`.
    #[error("'not' binds loosely and needs parentheses here")]
    LooseNot,
    /// `if`, `lambda`, `for`, `in`, `is`, …
    #[error("'{0}' isn't part of the expression language")]
    Python(String),
    /// `a = b`.
    #[error("an expression can't assign")]
    Assignment,
    /// `f(x=1, 2)`.
    #[error("a positional argument follows a keyword argument")]
    PositionalAfterKeyword,
    /// `f(x=1, x=2)`.
    #[error("the keyword argument '{0}' is given twice")]
    RepeatedKeyword(String),
    /// `(a + b)(c)`.
    #[error("only a function's name can be called")]
    NotCallable,
    /// `x.shape`.
    #[error("attribute '{0}' isn't known; methods need their parentheses")]
    Attribute(String),
    /// `x[]`.
    #[error("an index needs at least one item")]
    EmptyIndex,
    /// Nested too deep.
    #[error("the expression is nested more than {0} levels deep")]
    Depth(usize),
}

impl SyntaxError {
    pub(super) fn new(fault: SyntaxFault, span: Span) -> Self {
        SyntaxError { fault, span }
    }

    /// What the user can write instead, where that is known.
    pub fn hint(&self) -> Option<String> {
        use SyntaxFault::*;
        let hint = match &self.fault {
            Character('!') => "write '~' for not and '!=' for unequal",
            Character('“' | '”' | '‘' | '’' | '`') => "strings stand in straight quotes: \"reflect\"",
            Character('×' | '·') => "write '*' to multiply",
            Character('−' | '–') => "write '-' (the plain minus sign)",
            Character('?') => "write where(condition, a, b) to choose",
            Character(';') => "one layer holds one expression; add a [[layer]] for the next",
            Character('{' | '}') => "dicts and sets aren't part of the expression language",
            Number(text) if text.starts_with("0x") || text.starts_with("0b") => "write integers in decimal",
            IntegerRange(_) => "write it as a float: add '.0'",
            Escape(_) => "the escapes are \\\\ \\\" \\' \\n \\t",
            Chained => {
                "compare two at a time: (a < b) & (b < c). '&' and '|' bind tighter than comparisons, so each \
                 comparison needs parentheses"
            }
            Logical("and") => "write '&', with each comparison in parentheses: (a > 0) & (b > 0)",
            Logical(_) => "write '|', with each comparison in parentheses: (a > 0) | (b > 0)",
            Unexpected { found, .. } if found == "'&'" => "write one '&' for and",
            Unexpected { found, .. } if found == "'|'" => "write one '|' for or",
            LooseNot => "write (not x), or ~x for booleans",
            Python(word) if word == "if" || word == "else" => "write where(condition, a, b)",
            Python(word) if word == "lambda" || word == "for" => {
                "operations apply to whole arrays; no loop is needed"
            }
            Python(word) if word == "in" || word == "is" => "compare with == or !=",
            Assignment => {
                "a layer's value is the expression itself: its name stands in 'name'. Write '==' to compare"
            }
            PositionalAfterKeyword => "put the positional arguments first",
            Attribute(_) => "write a method as x.mean(axis=0), or a function as mean(x, axis=0)",
            Depth(_) => "give parts of it a layer of their own",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}
