//! Expressions as a NumPy user writes them: text → tokens → syntax tree.
//!
//! The grammar is the part of Python that makes sense for arrays, with Python's precedence. From low to
//! high: `not`, comparisons (no chains), `|`, `^`, `&`, `+ -`, `* / // % @`, unary `- + ~`, `**`
//! (from the right), then calls, methods and indexing. Three spellings are folded into one:
//!
//! | written | read as |
//! |---|---|
//! | `np.sqrt(x)`, `numpy.sqrt(x)` | `sqrt(x)` |
//! | `x.mean(axis=0)` | `mean(x, axis=0)` |
//! | `x.T` | `transpose(x)` |
//!
//! `pi`, `e`, `inf` and `nan` are literals, and the names of element types (`f32`, `float32`, …) are element
//! types; neither can name a layer ([`is_reserved`]). What a function means is decided where the tree is
//! turned into layers, not here.

mod error;
mod parse;
mod print;
mod token;
mod tree;

pub use error::{SyntaxError, SyntaxFault};
pub use parse::{DEPTH_MAX, is_identifier, is_reserved, parse};
pub use tree::{BinaryOp, Index, IndexItem, Keyword, Kind, Node, Span, UnaryOp};

#[cfg(test)]
mod tests;
