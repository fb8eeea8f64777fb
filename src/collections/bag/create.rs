//! Bags from values and from rules.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use crate::collections::bag::step::{Makes, Rule, Step, piece};
use crate::collections::bag::{Bag, FunctionName};
use crate::graph::custom::{Made, TaskError};
use crate::graph::error::GraphError;
use crate::graph::layer::Layer;
use crate::token::{Token, Tokenize, Tokenizer};
use crate::value::Object;

impl<T: Any + Send + Sync> Bag<T> {
    /// A bag of these items, by their content: equal items in equal partitions are one layer. They are cut as
    /// `numpy.array_split` cuts: lengths differ by at most one, longer partitions first. No partition is empty, so that
    /// there are at most as many as items; no items are one empty partition. 0 partitions is an error. O(bytes of the
    /// items).
    #[track_caller]
    pub fn from_vec(items: Vec<T>, partitions: usize) -> Self
    where
        T: Tokenize,
    {
        let token = Tokenizer::new("from_vec").nested(&items).finish();
        Bag::keep(cut("from_vec", items, partitions).and_then(|own| held("from_vec", token, own)))
    }

    /// As [`Bag::from_vec`], of items that nobody can tell from others. O(items).
    #[track_caller]
    pub fn opaque(items: Vec<T>, partitions: usize) -> Self {
        Bag::keep(cut("opaque", items, partitions).and_then(|own| held("opaque", Token::unique(), own)))
    }

    /// A bag of these partitions, by their content. No partitions is an error. O(bytes of the items).
    #[track_caller]
    pub fn from_partitions(partitions: Vec<Vec<T>>) -> Self
    where
        T: Tokenize,
    {
        let token = Tokenizer::new("from_partitions").nested(&partitions).finish();
        Bag::keep(held("from_partitions", token, partitions))
    }

    /// As [`Bag::from_partitions`], of items that nobody can tell from others. O(partitions).
    #[track_caller]
    pub fn opaque_partitions(partitions: Vec<Vec<T>>) -> Self {
        Bag::keep(held("opaque_partitions", Token::unique(), partitions))
    }

    /// A bag whose partitions `f` makes from their numbers, when they are computed: one file each, say. 0 partitions is
    /// an error. O(1).
    #[track_caller]
    pub fn from_fn<F>(name: impl FunctionName, partitions: usize, f: F) -> Self
    where
        F: Fn(usize) -> Vec<T> + Send + Sync + 'static,
    {
        let token = Tokenizer::new("from_fn").token(name.token(&())).finish();
        let bytes = size_of::<Vec<T>>();
        Bag::keep(source("from_fn", name.name(), token, partitions, bytes, move |at| Ok(Object::new(f(at)))))
    }
}

impl Bag<i64> {
    /// The integers of a range, cut as in [`Bag::from_vec`]. 0 partitions is an error. O(1).
    #[track_caller]
    pub fn range(range: Range<i64>, partitions: usize) -> Self {
        let length = (i128::from(range.end) - i128::from(range.start)).max(0) as usize;
        let count = partitions.min(length.max(1));
        let token = Tokenizer::new("range").int(range.start).int(range.end).finish();
        let bytes = length.div_ceil(count.max(1)).saturating_mul(size_of::<i64>());
        Bag::keep(source("range", "range", token, count, bytes, move |at| {
            let own = piece(at, count, length);
            let first = range.start;
            Ok(Object::new(own.map(|item| first.wrapping_add(item as i64)).collect::<Vec<i64>>()))
        }))
    }
}

/// Refuses 0 partitions.
pub(super) fn at_least_one(op: &'static str, partitions: usize) -> Result<(), GraphError> {
    if partitions > 0 {
        return Ok(());
    }
    let problem = "a bag has at least one partition, which may be empty";
    Err(GraphError::Argument { op, argument: "partitions", value: "0".to_owned(), problem })
}

fn cut<T>(op: &'static str, items: Vec<T>, partitions: usize) -> Result<Vec<Vec<T>>, GraphError> {
    at_least_one(op, partitions)?;
    let length = items.len();
    let count = partitions.min(length.max(1));
    let mut items = items.into_iter();
    Ok((0..count).map(|at| items.by_ref().take(piece(at, count, length).len()).collect()).collect())
}

fn held<T: Any + Send + Sync>(
    op: &'static str,
    token: Token,
    partitions: Vec<Vec<T>>,
) -> Result<Arc<Layer>, GraphError> {
    let bytes = partitions.iter().map(|own| std::mem::size_of_val(&**own)).max().unwrap_or(0);
    let partitions: Vec<Object> = partitions.into_iter().map(Object::new).collect();
    source(op, op, token, partitions.len(), bytes, move |at| {
        partitions.get(at).cloned().ok_or_else(|| TaskError::new(format!("there is no partition {at}")))
    })
}

fn source(
    op: &'static str,
    name: &str,
    token: Token,
    partitions: usize,
    bytes: usize,
    make: impl Fn(usize) -> Result<Object, TaskError> + Send + Sync + 'static,
) -> Result<Arc<Layer>, GraphError> {
    at_least_one(op, partitions)?;
    let step = Step {
        name: name.into(),
        token,
        rule: Rule::Source(partitions),
        makes: Makes::Partitions(Some(bytes)),
        run: Box::new(move |call| Ok(Made::Object(make(call.block)?))),
    };
    step.layer(Vec::new())
}
