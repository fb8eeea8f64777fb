//! Item by item: within each partition, which keeps its place and the order of its items.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::collections::bag::step::{Makes, Rule, Step};
use crate::collections::bag::{Bag, FunctionName, partition};
use crate::graph::custom::{Made, TaskError};
use crate::graph::error::GraphError;
use crate::graph::layer::Layer;
use crate::token::Tokenizer;
use crate::value::Object;

impl<T: Any + Send + Sync> Bag<T> {
    /// `f` of every item.
    #[track_caller]
    pub fn map<U, F>(&self, name: impl FunctionName, f: F) -> Bag<U>
    where
        U: Any + Send + Sync,
        F: Fn(&T) -> U + Send + Sync + 'static,
    {
        Bag::keep(self.each("map", name, move |items| Ok(items.iter().map(&f).collect::<Vec<U>>())))
    }

    /// As [`Bag::map`], of a function that may fail: an error is the task's, with its retries, and says which item of
    /// the partition it was.
    #[track_caller]
    pub fn try_map<U, E, F>(&self, name: impl FunctionName, f: F) -> Bag<U>
    where
        U: Any + Send + Sync,
        E: fmt::Display,
        F: Fn(&T) -> Result<U, E> + Send + Sync + 'static,
    {
        let run = move |items: &[T]| {
            let one = |(at, item)| f(item).map_err(|error| TaskError::new(format!("item {at}: {error}")));
            items.iter().enumerate().map(one).collect()
        };
        Bag::keep(self.each("try_map", name, run))
    }

    /// The items for which `f` holds. A partition of which none is left stays, empty.
    #[track_caller]
    pub fn filter<F>(&self, name: impl FunctionName, f: F) -> Bag<T>
    where
        T: Clone,
        F: Fn(&T) -> bool + Send + Sync + 'static,
    {
        let run = move |items: &[T]| Ok(items.iter().filter(|item| f(item)).cloned().collect::<Vec<T>>());
        Bag::keep(self.each("filter", name, run))
    }

    /// All items of what `f` makes of every item, one after the other.
    #[track_caller]
    pub fn flat_map<I, F>(&self, name: impl FunctionName, f: F) -> Bag<I::Item>
    where
        I: IntoIterator,
        I::Item: Any + Send + Sync,
        F: Fn(&T) -> I + Send + Sync + 'static,
    {
        Bag::keep(
            self.each("flat_map", name, move |items| Ok(items.iter().flat_map(&f).collect::<Vec<I::Item>>())),
        )
    }

    /// `f` of every partition, as a whole.
    #[track_caller]
    pub fn map_partitions<U, F>(&self, name: impl FunctionName, f: F) -> Bag<U>
    where
        U: Any + Send + Sync,
        F: Fn(&[T]) -> Vec<U> + Send + Sync + 'static,
    {
        Bag::keep(self.each("map_partitions", name, move |items| Ok(f(items))))
    }

    /// Pairs of the items at the same place of two bags. Bags with unequal numbers of partitions are an error; two
    /// partitions with unequal numbers of items are their task's.
    #[track_caller]
    pub fn zip<U>(&self, other: &Bag<U>) -> Bag<(T, U)>
    where
        T: Clone,
        U: Any + Send + Sync + Clone,
    {
        let step = Step {
            name: "zip".into(),
            token: Tokenizer::new("zip").finish(),
            rule: Rule::Each,
            makes: Makes::Partitions(None),
            run: Box::new(|call| {
                let (left, right) = (partition::<T>(call, 0)?, partition::<U>(call, 1)?);
                if left.len() != right.len() {
                    return Err(TaskError::new(format!(
                        "partition {} has {} items on the left and {} on the right; zip takes equal numbers",
                        call.block,
                        left.len(),
                        right.len()
                    )));
                }
                let pairs: Vec<(T, U)> = left.iter().cloned().zip(right.iter().cloned()).collect();
                Ok(Made::Object(Object::new(pairs)))
            }),
        };
        let inputs = self.layer().and_then(|left| Ok(vec![left.clone(), other.layer()?.clone()]));
        Bag::keep(inputs.and_then(|inputs| step.layer(inputs)))
    }

    fn each<U: Any + Send + Sync>(
        &self,
        method: &str,
        name: impl FunctionName,
        run: impl Fn(&[T]) -> Result<Vec<U>, TaskError> + Send + Sync + 'static,
    ) -> Result<Arc<Layer>, GraphError> {
        let step = Step {
            name: name.name().into(),
            token: Tokenizer::new(method).token(name.token(&())).finish(),
            rule: Rule::Each,
            makes: Makes::Partitions(None),
            run: Box::new(move |call| Ok(Made::Object(Object::new(run(partition(call, 0)?)?)))),
        };
        step.layer(vec![self.layer()?.clone()])
    }
}
