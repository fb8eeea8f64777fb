//! Tokens → tree, by precedence climbing.

use super::error::{SyntaxError, SyntaxFault};
use super::token::{Token, is_word_part, is_word_start, tokens};
use super::tree::{
    BinaryOp, Index, IndexItem, Keyword, Kind, NOT_BINDING, Node, Span, UNARY_BINDING, UnaryOp,
};
use crate::dtype::{DType, Scalar};

/// Deeper trees are refused, so that whoever walks one may recurse.
pub const DEPTH_MAX: usize = 200;

/// Reads an expression.
///
/// # Errors
/// The first fault, with its span in `text`.
pub fn parse(text: &str) -> Result<Node, SyntaxError> {
    let mut parser = Parser { tokens: tokens(text)?, position: 0, end: text.trim_end().len(), nesting: 0 };
    if parser.tokens.is_empty() {
        return Err(SyntaxError::new(SyntaxFault::Empty, 0..text.len()));
    }
    let tree = parser.expression(0)?;
    match parser.peek() {
        None => Ok(tree.node),
        Some(_) => Err(parser.unexpected("an operator or the end")),
    }
}

/// Whether a layer or an input can have this name: a letter or `_`, then letters, digits and `_`.
pub fn is_identifier(name: &str) -> bool {
    name.starts_with(is_word_start) && name.chars().all(is_word_part)
}

/// Whether a name means something in every expression: `pi`, `True`, `np`, `f32`, `and`, ….
pub fn is_reserved(name: &str) -> bool {
    constant(name).is_some()
        || is_module(name)
        || ["and", "or", "not", "newaxis"].contains(&name)
        || PYTHON_WORDS.contains(&name)
}

const PYTHON_WORDS: [&str; 8] = ["if", "else", "lambda", "for", "in", "is", "while", "return"];

fn is_module(name: &str) -> bool {
    name == "np" || name == "numpy"
}

fn constant(name: &str) -> Option<Kind> {
    let float = |value| Some(Kind::Literal(Scalar::Float(value)));
    match name {
        "True" | "true" => Some(Kind::Literal(Scalar::Bool(true))),
        "False" | "false" => Some(Kind::Literal(Scalar::Bool(false))),
        "None" => Some(Kind::None),
        "pi" => float(std::f64::consts::PI),
        "e" => float(std::f64::consts::E),
        "inf" => float(f64::INFINITY),
        "nan" => float(f64::NAN),
        // Python's own names for NumPy's default types.
        "float" => Some(Kind::DType(DType::F64)),
        "int" => Some(Kind::DType(DType::I64)),
        _ => name.parse().ok().map(Kind::DType),
    }
}

/// A node and how many levels stand below it.
struct Tree {
    node: Node,
    depth: usize,
}

/// What stands between the parentheses of a call.
#[derive(Default)]
struct Arguments {
    positional: Vec<Node>,
    keywords: Vec<Keyword>,
    depth: usize,
}

struct Parser {
    tokens: Vec<(Token, Span)>,
    position: usize,
    /// Where the text ends.
    end: usize,
    /// Recursion of the parser itself.
    nesting: usize,
}

type Parsed<T> = Result<T, SyntaxError>;

impl Parser {
    /// An expression whose operators bind at least as tightly as `binding_min`.
    fn expression(&mut self, binding_min: u8) -> Parsed<Tree> {
        self.nesting += 1;
        if self.nesting > DEPTH_MAX {
            return Err(SyntaxError::new(SyntaxFault::Depth(DEPTH_MAX), self.here()));
        }
        let mut left = self.prefix(binding_min)?;
        let mut compared = false;
        while let Some(op) = self.binary_operator()? {
            if op.binding() < binding_min {
                break;
            }
            if op.is_comparison() && std::mem::replace(&mut compared, true) {
                return Err(SyntaxError::new(SyntaxFault::Chained, left.node.span.start..self.here().end));
            }
            self.position += 1;
            let right_min = if op == BinaryOp::Power { UNARY_BINDING } else { op.binding() + 1 };
            let right = self.expression(right_min)?;
            let span = left.node.span.start..right.node.span.end;
            let depth = left.depth.max(right.depth);
            left = tree(Kind::Binary(op, Box::new(left.node), Box::new(right.node)), span, depth)?;
        }
        self.nesting -= 1;
        Ok(left)
    }

    fn prefix(&mut self, binding_min: u8) -> Parsed<Tree> {
        let op = match self.peek() {
            Some(Token::Symbol("-")) => UnaryOp::Negate,
            Some(Token::Symbol("+")) => UnaryOp::Plus,
            Some(Token::Symbol("~")) => UnaryOp::Invert,
            Some(Token::Word(word)) if word == "not" => UnaryOp::Not,
            _ => return self.postfix(),
        };
        let start = self.here();
        if op == UnaryOp::Not && binding_min > NOT_BINDING {
            return Err(SyntaxError::new(SyntaxFault::LooseNot, start));
        }
        self.position += 1;
        let operand = self.expression(op.binding())?;
        let span = start.start..operand.node.span.end;
        tree(Kind::Unary(op, Box::new(operand.node)), span, operand.depth)
    }

    /// An atom with its calls, methods and indexings.
    fn postfix(&mut self) -> Parsed<Tree> {
        let mut left = self.atom()?;
        loop {
            left = match self.peek() {
                Some(Token::Symbol("[")) => self.indexing(left)?,
                Some(Token::Symbol(".")) => self.method(left)?,
                Some(Token::Symbol("(")) => {
                    return Err(SyntaxError::new(SyntaxFault::NotCallable, left.node.span));
                }
                _ => return Ok(left),
            };
        }
    }

    fn atom(&mut self) -> Parsed<Tree> {
        let span = self.here();
        let Some(token) = self.peek().cloned() else {
            return Err(SyntaxError::new(SyntaxFault::End("an operand"), span));
        };
        let kind = match token {
            Token::Integer(value) => Kind::Literal(Scalar::Int(value)),
            Token::Float(value) => Kind::Literal(Scalar::Float(value)),
            Token::Text(text) => Kind::Text(text),
            Token::Symbol("(") => return self.parenthesis(),
            Token::Symbol("[") => return self.list(),
            Token::Symbol(close @ (")" | "]")) if self.position == 0 => {
                return Err(SyntaxError::new(SyntaxFault::Unopened(first_char(close)), span));
            }
            Token::Symbol(_) => return Err(self.unexpected("an operand")),
            Token::Word(word) => return self.word(word, span),
        };
        self.position += 1;
        tree(kind, span, 0)
    }

    /// A name, a constant or a call, after an optional `np.`.
    fn word(&mut self, word: String, span: Span) -> Parsed<Tree> {
        self.reject_python_word(&word)?;
        self.position += 1;
        let (mut name, mut name_span) = (word, span.clone());
        if is_module(&name) && self.accept(".") {
            (name, name_span) = self.expect_word()?;
            while self.peek() == Some(&Token::Symbol(".")) && self.calls_after_path() {
                self.position += 1;
                let (part, part_span) = self.expect_word()?;
                name = format!("{name}.{part}");
                name_span.end = part_span.end;
            }
        }
        let whole = span.start..name_span.end;
        if self.peek() == Some(&Token::Symbol("(")) {
            let arguments = self.arguments()?;
            let span = whole.start..self.previous_end();
            return call(name, name_span, arguments, span);
        }
        let kind = match constant(&name) {
            Some(kind) => kind,
            None if name == "newaxis" => Kind::None,
            None => Kind::Name(name),
        };
        tree(kind, whole, 0)
    }

    /// Whether `.a.b(` follows: then the dots belong to a function of a submodule, `np.linalg.norm(…)`.
    fn calls_after_path(&self) -> bool {
        let mut rest = self.tokens[self.position..].iter().map(|(token, _)| token);
        loop {
            match rest.next() {
                Some(Token::Symbol(".") | Token::Word(_)) => {}
                Some(Token::Symbol("(")) => return true,
                _ => return false,
            }
        }
    }

    /// `.mean(axis=0)` or `.T` behind `receiver`.
    fn method(&mut self, receiver: Tree) -> Parsed<Tree> {
        self.position += 1;
        let (name, name_span) = self.expect_word()?;
        let start = receiver.node.span.start;
        let mut arguments = match self.peek() {
            Some(Token::Symbol("(")) => self.arguments()?,
            _ if name == "T" => Arguments::default(),
            _ => return Err(SyntaxError::new(SyntaxFault::Attribute(name), name_span)),
        };
        arguments.depth = arguments.depth.max(receiver.depth);
        arguments.positional.insert(0, receiver.node);
        let function = if name == "T" { "transpose".to_owned() } else { name };
        let span = start..self.previous_end();
        call(function, name_span, arguments, span)
    }

    fn arguments(&mut self) -> Parsed<Arguments> {
        let mut arguments = Arguments::default();
        self.bracketed(")", |parser| {
            let value_depth = match parser.keyword_name() {
                Some((name, name_span)) => {
                    if arguments.keywords.iter().any(|keyword| keyword.name == name) {
                        return Err(SyntaxError::new(SyntaxFault::RepeatedKeyword(name), name_span));
                    }
                    let value = parser.expression(0)?;
                    arguments.keywords.push(Keyword { name, name_span, value: value.node });
                    value.depth
                }
                None => {
                    let value = parser.expression(0)?;
                    if !arguments.keywords.is_empty() {
                        return Err(SyntaxError::new(SyntaxFault::PositionalAfterKeyword, value.node.span));
                    }
                    arguments.positional.push(value.node);
                    value.depth
                }
            };
            arguments.depth = arguments.depth.max(value_depth);
            Ok(())
        })?;
        Ok(arguments)
    }

    /// Consumes `name =`, if that is what follows.
    fn keyword_name(&mut self) -> Option<(String, Span)> {
        let (Token::Word(name), span) = self.tokens.get(self.position)? else { return None };
        let (Token::Symbol("="), _) = self.tokens.get(self.position + 1)? else { return None };
        let keyword = (name.clone(), span.clone());
        self.position += 2;
        Some(keyword)
    }

    /// A parenthesised expression, whose span then includes the parentheses, or a tuple.
    fn parenthesis(&mut self) -> Parsed<Tree> {
        let start = self.here().start;
        let mut items = Vec::new();
        let mut depth = 0;
        let trailing_comma = self.bracketed(")", |parser| {
            let item = parser.expression(0)?;
            depth = depth.max(item.depth);
            items.push(item.node);
            Ok(())
        })?;
        let span = start..self.previous_end();
        match items.pop() {
            Some(only) if items.is_empty() && !trailing_comma => {
                Ok(Tree { node: Node { kind: only.kind, span }, depth })
            }
            last => {
                items.extend(last);
                tree(Kind::Tuple(items), span, depth)
            }
        }
    }

    fn list(&mut self) -> Parsed<Tree> {
        let start = self.here().start;
        let mut items = Vec::new();
        let mut depth = 0;
        self.bracketed("]", |parser| {
            let item = parser.expression(0)?;
            depth = depth.max(item.depth);
            items.push(item.node);
            Ok(())
        })?;
        tree(Kind::List(items), start..self.previous_end(), depth)
    }

    fn indexing(&mut self, array: Tree) -> Parsed<Tree> {
        let open = self.here().start;
        let mut items = Vec::new();
        let mut depth = array.depth;
        self.bracketed("]", |parser| {
            items.push(parser.index_item(&mut depth)?);
            Ok(())
        })?;
        let span = array.node.span.start..self.previous_end();
        if items.is_empty() {
            return Err(SyntaxError::new(SyntaxFault::EmptyIndex, open..span.end));
        }
        tree(Kind::Index { array: Box::new(array.node), items }, span, depth)
    }

    fn index_item(&mut self, depth: &mut usize) -> Parsed<IndexItem> {
        let start = self.here().start;
        if self.accept("...") {
            return Ok(IndexItem { kind: Index::Ellipsis, span: start..self.previous_end() });
        }
        let mut part = |parser: &mut Self| -> Parsed<Option<Box<Node>>> {
            if let None | Some(Token::Symbol(":" | "," | "]")) = parser.peek() {
                return Ok(None);
            }
            let part = parser.expression(0)?;
            *depth = (*depth).max(part.depth);
            Ok(Some(Box::new(part.node)))
        };
        let first = part(self)?;
        let kind = if self.accept(":") {
            let stop = part(self)?;
            let step = if self.accept(":") { part(self)? } else { None };
            Index::Slice { start: first, stop, step }
        } else {
            match first {
                Some(node) if node.kind == Kind::None => Index::NewAxis,
                Some(node) => Index::At(*node),
                None => return Err(self.unexpected("an index")),
            }
        };
        Ok(IndexItem { kind, span: start..self.previous_end() })
    }

    /// Reads an opening bracket, items with commas between, and the closing one; says whether a comma stood
    /// last.
    fn bracketed(
        &mut self,
        close: &'static str,
        mut item: impl FnMut(&mut Self) -> Parsed<()>,
    ) -> Parsed<bool> {
        let open = self.here();
        let opened = if close == ")" { '(' } else { '[' };
        self.position += 1;
        let mut trailing_comma = false;
        loop {
            if self.accept(close) {
                return Ok(trailing_comma);
            }
            if self.peek().is_none() {
                return Err(SyntaxError::new(SyntaxFault::Unclosed(opened), open));
            }
            item(self)?;
            trailing_comma = self.accept(",");
            let goes_on = trailing_comma || self.peek().is_none_or(|token| *token == Token::Symbol(close));
            if !goes_on {
                return Err(self.unexpected(if close == ")" { "',' or ')'" } else { "',' or ']'" }));
            }
        }
    }

    /// The operator that follows, not yet consumed.
    fn binary_operator(&self) -> Parsed<Option<BinaryOp>> {
        let logical = |word| Err(SyntaxError::new(SyntaxFault::Logical(word), self.here()));
        match self.peek() {
            Some(Token::Symbol(symbol)) => Ok(BinaryOp::ALL.into_iter().find(|op| op.symbol() == *symbol)),
            Some(Token::Word(word)) if word == "and" => logical("and"),
            Some(Token::Word(word)) if word == "or" => logical("or"),
            Some(Token::Word(word)) => self.reject_python_word(word).map(|()| None),
            _ => Ok(None),
        }
    }

    fn reject_python_word(&self, word: &str) -> Parsed<()> {
        match word {
            "and" => Err(SyntaxError::new(SyntaxFault::Logical("and"), self.here())),
            "or" => Err(SyntaxError::new(SyntaxFault::Logical("or"), self.here())),
            _ if PYTHON_WORDS.contains(&word) => {
                Err(SyntaxError::new(SyntaxFault::Python(word.to_owned()), self.here()))
            }
            _ => Ok(()),
        }
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.position).map(|(token, _)| token)
    }

    /// The span of the next token, or the end of the text.
    fn here(&self) -> Span {
        self.tokens.get(self.position).map_or(self.end..self.end, |(_, span)| span.clone())
    }

    fn previous_end(&self) -> usize {
        let before = self.position.checked_sub(1).and_then(|previous| self.tokens.get(previous));
        before.map_or(0, |(_, span)| span.end)
    }

    fn accept(&mut self, symbol: &'static str) -> bool {
        let found = self.peek() == Some(&Token::Symbol(symbol));
        self.position += usize::from(found);
        found
    }

    fn expect_word(&mut self) -> Parsed<(String, Span)> {
        match self.tokens.get(self.position) {
            Some((Token::Word(word), span)) => {
                self.position += 1;
                Ok((word.clone(), span.clone()))
            }
            _ => Err(self.unexpected("a name")),
        }
    }

    fn unexpected(&self, expected: &'static str) -> SyntaxError {
        let fault = match self.peek() {
            None => SyntaxFault::End(expected),
            Some(Token::Symbol("=")) => SyntaxFault::Assignment,
            Some(Token::Symbol(close @ (")" | "]"))) if self.nothing_open() => {
                SyntaxFault::Unopened(first_char(close))
            }
            Some(token) => SyntaxFault::Unexpected { expected, found: token.describe() },
        };
        SyntaxError::new(fault, self.here())
    }

    /// Whether every bracket before this point is closed.
    fn nothing_open(&self) -> bool {
        let before = self.tokens[..self.position].iter();
        let level: i64 =
            before.map(|(token, _)| i64::from(is_open(token)) - i64::from(is_close(token))).sum();
        level <= 0
    }
}

fn is_open(token: &Token) -> bool {
    matches!(token, Token::Symbol("(" | "["))
}

fn is_close(token: &Token) -> bool {
    matches!(token, Token::Symbol(")" | "]"))
}

fn first_char(symbol: &str) -> char {
    symbol.chars().next().unwrap_or_default()
}

fn call(function: String, function_span: Span, arguments: Arguments, span: Span) -> Parsed<Tree> {
    let Arguments { positional, keywords, depth } = arguments;
    tree(Kind::Call { function, function_span, arguments: positional, keywords }, span, depth)
}

/// A node above others of this depth.
fn tree(kind: Kind, span: Span, depth_below: usize) -> Parsed<Tree> {
    let depth = depth_below + 1;
    if depth > DEPTH_MAX {
        return Err(SyntaxError::new(SyntaxFault::Depth(DEPTH_MAX), span));
    }
    Ok(Tree { node: Node { kind, span }, depth })
}
