//! One value out of a whole bag, by a tree whose shape depends on the partitions alone.

use std::any::Any;
use std::iter::Sum;
use std::sync::Arc;

use crate::collections::bag::step::{Makes, Rule, Step, bytes_each};
use crate::collections::bag::{Bag, FunctionName, partition};
use crate::collections::delayed::Delayed;
use crate::collections::manipulate::SplitEvery;
use crate::graph::custom::Made;
use crate::graph::error::GraphError;
use crate::graph::layer::Layer;
use crate::graph::value_spec::ValueKind;
use crate::token::{Token, Tokenizer};
use crate::value::Object;

impl<T: Any + Send + Sync> Bag<T> {
    /// Folds every partition from `initial` on with `f`, in order, then joins the results of neighbours with `combine`,
    /// `split_every` at a time, until one is left. Every partition begins with `initial`, an empty one is `initial`: it
    /// should be what changes nothing in `combine`. A `split_every` below 2 is an error.
    #[track_caller]
    pub fn fold<R, F, C>(
        &self,
        name: impl FunctionName<R>,
        initial: R,
        f: F,
        combine: C,
        split_every: SplitEvery,
    ) -> Delayed<R>
    where
        R: Any + Send + Sync + Clone,
        F: Fn(R, &T) -> R + Send + Sync + 'static,
        C: Fn(R, R) -> R + Send + Sync + 'static,
    {
        let tree = Tree {
            token: Tokenizer::new("fold").token(name.token(&initial)).finish(),
            name: name.name().into(),
            bytes: size_of::<R>(),
        };
        let leaf = move |items: &[T]| items.iter().fold(initial.clone(), &f);
        let join = move |left: R, right: &R| combine(left, right.clone());
        Delayed::deferred(split_every.values().and_then(|every| tree.layer(self, every, leaf, join)))
    }

    /// Joins all items with `f`, neighbours first: within each partition in order, then the partitions' results,
    /// `split_every` at a time. `None` when there is no item. `f` should be associative, and need not be commutative. A
    /// `split_every` below 2 is an error.
    #[track_caller]
    pub fn reduce<F>(&self, name: impl FunctionName, f: F, split_every: SplitEvery) -> Delayed<Option<T>>
    where
        T: Clone,
        F: Fn(T, T) -> T + Send + Sync + 'static,
    {
        let tree = Tree {
            token: Tokenizer::new("reduce").token(name.token(&())).finish(),
            name: name.name().into(),
            bytes: size_of::<Option<T>>(),
        };
        let f = Arc::new(f);
        let within = f.clone();
        let leaf = move |items: &[T]| items.iter().cloned().reduce(&*within);
        let join = move |left: Option<T>, right: &Option<T>| match (left, right.clone()) {
            (Some(left), Some(right)) => Some(f(left, right)),
            (left, right) => left.or(right),
        };
        Delayed::deferred(split_every.values().and_then(|every| tree.layer(self, every, leaf, join)))
    }

    /// Number of items.
    #[track_caller]
    pub fn count(&self) -> Delayed<usize> {
        let tree = Tree::own("count", size_of::<usize>());
        let every = SplitEvery::Auto.values();
        Delayed::deferred(every.and_then(|every| tree.layer(self, every, <[T]>::len, |a: usize, b| a + b)))
    }

    /// Sum of all items, as [`Iterator::sum`] adds them; partitions first.
    #[track_caller]
    pub fn sum(&self) -> Delayed<T>
    where
        T: Clone + Sum<T> + for<'a> Sum<&'a T>,
    {
        let tree = Tree::own("sum", size_of::<T>());
        let leaf = |items: &[T]| items.iter().sum();
        let join = |left: T, right: &T| [left, right.clone()].into_iter().sum();
        Delayed::deferred(SplitEvery::Auto.values().and_then(|every| tree.layer(self, every, leaf, join)))
    }

    /// The first `items` items, over as many partitions as they take; all when there are fewer. All partitions are
    /// computed, since how many items one has isn't known before it is there, but at most `items` of each are kept. For
    /// items that the first partition is known to have, take them from [`Bag::partition`].
    #[track_caller]
    pub fn take(&self, items: usize) -> Delayed<Vec<T>>
    where
        T: Clone,
    {
        let leaf = move |own: &[T]| own[..items.min(own.len())].to_vec();
        let join = move |mut left: Vec<T>, right: &Vec<T>| {
            left.extend_from_slice(&right[..(items - left.len()).min(right.len())]);
            left
        };
        Delayed::deferred(self.layer().and_then(|layer| {
            let all = bytes_each(layer.spec()).saturating_mul(layer.spec().count());
            let tree = Tree {
                token: Tokenizer::new("take").int(items as i64).finish(),
                ..Tree::own("take", items.saturating_mul(size_of::<T>()).min(all))
            };
            tree.layer(self, SplitEvery::Auto.values()?, leaf, join)
        }))
    }
}

/// What the layers of one tree have in common.
struct Tree {
    name: Arc<str>,
    token: Token,
    bytes: usize,
}

impl Tree {
    /// Of a function of Outcrop's own.
    fn own(name: &str, bytes: usize) -> Self {
        Tree { name: name.into(), token: Tokenizer::new(name).finish(), bytes }
    }

    /// `leaf` of every partition, then `join` of every `every` neighbours from the left, level by level.
    fn layer<T, S>(
        self,
        bag: &Bag<T>,
        every: usize,
        leaf: impl Fn(&[T]) -> S + Send + Sync + 'static,
        join: impl Fn(S, &S) -> S + Send + Sync + 'static,
    ) -> Result<Arc<Layer>, GraphError>
    where
        T: Any + Send + Sync,
        S: Any + Send + Sync + Clone,
    {
        let Tree { name, token, bytes } = self;
        let leaves = Step {
            name: name.clone(),
            token,
            rule: Rule::Each,
            makes: Makes::Objects(bytes),
            run: Box::new(move |call| Ok(Made::Object(Object::new(leaf(partition(call, 0)?))))),
        };
        let mut layer = leaves.layer(vec![bag.layer()?.clone()])?;
        let join = Arc::new(join);
        while layer.spec().kind != ValueKind::Object {
            let join = join.clone();
            let level = Step {
                name: name.clone(),
                token,
                rule: Rule::Runs(every),
                makes: Makes::Objects(bytes),
                run: Box::new(move |call| {
                    let mut joined = call.object_operand::<S>(0)?.clone();
                    for operand in 1..call.operands.len() {
                        joined = join(joined, call.object_operand::<S>(operand)?);
                    }
                    Ok(Made::Object(Object::new(joined)))
                }),
            };
            layer = level.layer(vec![layer])?;
        }
        Ok(layer)
    }
}
