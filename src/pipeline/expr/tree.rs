//! The syntax tree.

use std::ops::Range;

use crate::dtype::{DType, Scalar};

/// Bytes of the expression's text, `start..end`.
pub type Span = Range<usize>;

/// A part of an expression, with the bytes it was read from.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of [`Node`].
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A number, `True`, `False`, `pi`, `e`, `inf` or `nan`. Never negative: `-1` is a unary minus.
    Literal(Scalar),
    /// `"reflect"`, without its quotes and escapes.
    Text(String),
    /// `f32`, `float32`, `np.float32`.
    DType(DType),
    /// `None`, as in `axis=None`.
    None,
    /// An input or a layer.
    Name(String),
    /// `[1, 2]`.
    List(Vec<Node>),
    /// `(0, 1)`, `(0,)`, `()`.
    Tuple(Vec<Node>),
    /// `-x`.
    Unary(UnaryOp, Box<Node>),
    /// `x + y`.
    Binary(BinaryOp, Box<Node>, Box<Node>),
    /// `where(c, a, b)`; a method's receiver is the first argument.
    Call {
        /// The name, without `np.`; a submodule of NumPy stays: `linalg.norm`.
        function: String,
        /// Where the name stands.
        function_span: Span,
        /// Positional arguments.
        arguments: Vec<Node>,
        /// Keyword arguments, each name once, in the order written.
        keywords: Vec<Keyword>,
    },
    /// `x[10:20, ::2]`; at least one item.
    Index {
        /// What is indexed.
        array: Box<Node>,
        /// One item an axis, besides `...` and `None`.
        items: Vec<IndexItem>,
    },
}

/// A keyword argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Keyword {
    /// The name.
    pub name: String,
    /// Where the name stands.
    pub name_span: Span,
    /// The value.
    pub value: Node,
}

/// One item between the brackets of an indexing.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexItem {
    /// What it is.
    pub kind: Index,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of [`IndexItem`].
#[derive(Clone, Debug, PartialEq)]
pub enum Index {
    /// An index, a mask or a list.
    At(Node),
    /// `start:stop:step`, each optional.
    Slice {
        /// First index.
        start: Option<Box<Node>>,
        /// One past the last.
        stop: Option<Box<Node>>,
        /// Step, may be negative.
        step: Option<Box<Node>>,
    },
    /// `...`
    Ellipsis,
    /// `None` or `np.newaxis`.
    NewAxis,
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-`
    Negate,
    /// `+`
    Plus,
    /// `~`: not of booleans, bitwise not of integers.
    Invert,
    /// `not`, elementwise `logical_not`.
    Not,
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `//`
    FloorDivide,
    /// `%`
    Remainder,
    /// `**`
    Power,
    /// `@`
    MatMul,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
}

/// How tightly `not` binds, on the scale of [`BinaryOp::binding`].
pub(super) const NOT_BINDING: u8 = 1;
/// How tightly `- + ~` bind.
pub(super) const UNARY_BINDING: u8 = 8;

impl BinaryOp {
    /// Every operator.
    pub const ALL: [BinaryOp; 17] = {
        use BinaryOp::*;
        [
            Add,
            Subtract,
            Multiply,
            Divide,
            FloorDivide,
            Remainder,
            Power,
            MatMul,
            Less,
            LessEqual,
            Greater,
            GreaterEqual,
            Equal,
            NotEqual,
            And,
            Or,
            Xor,
        ]
    };

    /// As it is written.
    pub const fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Subtract => "-",
            BinaryOp::Multiply => "*",
            BinaryOp::Divide => "/",
            BinaryOp::FloorDivide => "//",
            BinaryOp::Remainder => "%",
            BinaryOp::Power => "**",
            BinaryOp::MatMul => "@",
            BinaryOp::Less => "<",
            BinaryOp::LessEqual => "<=",
            BinaryOp::Greater => ">",
            BinaryOp::GreaterEqual => ">=",
            BinaryOp::Equal => "==",
            BinaryOp::NotEqual => "!=",
            BinaryOp::And => "&",
            BinaryOp::Or => "|",
            BinaryOp::Xor => "^",
        }
    }

    /// Whether it is one of `< <= > >= == !=`.
    pub const fn is_comparison(self) -> bool {
        use BinaryOp::*;
        matches!(self, Less | LessEqual | Greater | GreaterEqual | Equal | NotEqual)
    }

    /// How tightly it binds, by Python's table; higher is tighter.
    pub(super) const fn binding(self) -> u8 {
        use BinaryOp::*;
        match self {
            Less | LessEqual | Greater | GreaterEqual | Equal | NotEqual => 2,
            Or => 3,
            Xor => 4,
            And => 5,
            Add | Subtract => 6,
            Multiply | Divide | FloorDivide | Remainder | MatMul => 7,
            Power => 9,
        }
    }
}

impl UnaryOp {
    /// As it is written.
    pub const fn symbol(self) -> &'static str {
        match self {
            UnaryOp::Negate => "-",
            UnaryOp::Plus => "+",
            UnaryOp::Invert => "~",
            UnaryOp::Not => "not ",
        }
    }

    pub(super) const fn binding(self) -> u8 {
        match self {
            UnaryOp::Not => NOT_BINDING,
            _ => UNARY_BINDING,
        }
    }
}

impl Node {
    /// Visits this node and all below it, parents first, in the order written.
    pub fn visit<'a>(&'a self, visitor: &mut impl FnMut(&'a Node)) {
        visitor(self);
        match &self.kind {
            Kind::Literal(_) | Kind::Text(_) | Kind::DType(_) | Kind::None | Kind::Name(_) => {}
            Kind::List(items) | Kind::Tuple(items) => items.iter().for_each(|item| item.visit(visitor)),
            Kind::Unary(_, operand) => operand.visit(visitor),
            Kind::Binary(_, left, right) => {
                left.visit(visitor);
                right.visit(visitor);
            }
            Kind::Call { arguments, keywords, .. } => {
                arguments.iter().for_each(|argument| argument.visit(visitor));
                keywords.iter().for_each(|keyword| keyword.value.visit(visitor));
            }
            Kind::Index { array, items } => {
                array.visit(visitor);
                items.iter().for_each(|item| item.kind.visit(visitor));
            }
        }
    }

    /// The names of inputs and layers, with repetitions, and where they stand.
    pub fn names(&self) -> Vec<(&str, &Span)> {
        let mut names = Vec::new();
        self.visit(&mut |node| {
            if let Kind::Name(name) = &node.kind {
                names.push((name.as_str(), &node.span));
            }
        });
        names
    }
}

impl Index {
    fn visit<'a>(&'a self, visitor: &mut impl FnMut(&'a Node)) {
        match self {
            Index::At(node) => node.visit(visitor),
            Index::Slice { start, stop, step } => {
                [start, stop, step].into_iter().flatten().for_each(|node| node.visit(visitor));
            }
            Index::Ellipsis | Index::NewAxis => {}
        }
    }
}
