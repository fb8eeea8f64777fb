//! What the functions of a bag are known by.

use crate::token::{Token, Tokenize, Tokenizer};

/// The name of the functions of one call, as the first argument of [`Bag::map`](super::Bag::map) and its like.
///
/// - `"double"`: what people call it. Nobody can tell the function from another: every call makes a layer of its own.
/// - `("double", 1)`: registered under a name and a version, as [`function`](crate::collections::delayed::function)
///   does for calls. The function is pure, and known to other runs and processes; equal calls on equal bags are one
///   layer. Whoever changes what it computes changes the version. `L`, the values that are given along with the
///   functions, are part of the call's content, so they have to have tokens.
///
/// ```
/// use outcrop::collections::Bag;
/// let numbers = Bag::range(0..100, 4);
/// let key = |bag: &Bag<i64>| bag.layer().unwrap().name().to_owned();
/// let double = || numbers.map(("double", 1), |n| n * 2);
/// assert_eq!(key(&double()), key(&double()));
/// let triple = || numbers.map("triple", |n| n * 3);
/// assert_ne!(key(&triple()), key(&triple()));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` doesn't name a function",
    label = "a name comes first",
    note = "`\"double\"`, or with a version where the function is pure: `(\"double\", 1)`"
)]
pub trait FunctionName<L: ?Sized = ()> {
    /// What people call it; the layer's name starts with it.
    fn name(&self) -> &str;

    /// Identifies the functions, given along with `literal`.
    fn token(&self, literal: &L) -> Token;
}

impl<L: ?Sized> FunctionName<L> for &str {
    fn name(&self) -> &str {
        self
    }

    fn token(&self, _literal: &L) -> Token {
        Token::unique()
    }
}

impl<L: Tokenize + ?Sized> FunctionName<L> for (&str, u32) {
    fn name(&self) -> &str {
        self.0
    }

    fn token(&self, literal: &L) -> Token {
        Tokenizer::new("function").text(self.0).int(self.1.into()).nested(literal).finish()
    }
}
