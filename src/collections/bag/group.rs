//! Items by key: a shuffle, in two layers. The first sorts the items of each partition into buckets, one for each
//! partition of the result; the second joins the buckets of one number.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::collections::bag::create::at_least_one;
use crate::collections::bag::step::{Makes, Rule, Step, bytes_each};
use crate::collections::bag::{Bag, FunctionName, partition};
use crate::graph::custom::{Call, Made, TaskError};
use crate::graph::error::GraphError;
use crate::graph::layer::Layer;
use crate::token::{Token, Tokenize, Tokenizer};
use crate::value::Object;

/// Of each bucket the keys, ascending, with what belongs to them.
type Buckets<K, A> = Vec<Vec<(K, A)>>;

impl<T: Any + Send + Sync> Bag<T> {
    /// All items of each key, in `partitions` partitions. A key's partition is its content token, read as a little-endian
    /// integer, modulo `partitions`: the same in every process, and for every bag. Equal keys must have equal tokens, as
    /// those of all standard types have. Within a partition the keys ascend, and the items of a key have the
    /// bag's order. 0 partitions is an error. O(1) to build; each new partition reads every old one.
    #[track_caller]
    pub fn group_by<K, F>(&self, name: impl FunctionName, key: F, partitions: usize) -> Bag<(K, Vec<T>)>
    where
        T: Clone,
        K: Any + Send + Sync + Clone + Ord + Tokenize,
        F: Fn(&T) -> K + Send + Sync + 'static,
    {
        let shuffle = Shuffle {
            method: "group_by",
            token: Tokenizer::new("group_by").token(name.token(&())).finish(),
            name: name.name().into(),
            partitions,
        };
        let add = |group: Option<Vec<T>>, item: &T| {
            let mut group = group.unwrap_or_default();
            group.push(item.clone());
            group
        };
        let join = |mut group: Vec<T>, more: &Vec<T>| {
            group.extend_from_slice(more);
            group
        };
        Bag::keep(shuffle.layer(self, key, add, join))
    }

    /// For each key the fold of its items, in `partitions` partitions, which are those of [`Bag::group_by`]. Within each
    /// partition of this bag a key's items are folded from `initial` on with `f`, in order; the results of the
    /// partitions that have the key are then joined with `combine`, from the first to the last. Only one value for each
    /// key and partition moves, where `group_by` moves every item. 0 partitions is an error. O(1) to build.
    #[track_caller]
    pub fn fold_by<K, R, G, F, C>(
        &self,
        name: impl FunctionName<R>,
        key: G,
        initial: R,
        f: F,
        combine: C,
        partitions: usize,
    ) -> Bag<(K, R)>
    where
        K: Any + Send + Sync + Clone + Ord + Tokenize,
        R: Any + Send + Sync + Clone,
        G: Fn(&T) -> K + Send + Sync + 'static,
        F: Fn(R, &T) -> R + Send + Sync + 'static,
        C: Fn(R, R) -> R + Send + Sync + 'static,
    {
        let shuffle = Shuffle {
            method: "fold_by",
            token: Tokenizer::new("fold_by").token(name.token(&initial)).finish(),
            name: name.name().into(),
            partitions,
        };
        let add = move |folded: Option<R>, item: &T| f(folded.unwrap_or_else(|| initial.clone()), item);
        let join = move |folded: R, more: &R| combine(folded, more.clone());
        Bag::keep(shuffle.layer(self, key, add, join))
    }
}

/// What both layers of a shuffle have in common.
struct Shuffle {
    method: &'static str,
    name: Arc<str>,
    token: Token,
    partitions: usize,
}

impl Shuffle {
    fn layer<T, K, A>(
        self,
        bag: &Bag<T>,
        key: impl Fn(&T) -> K + Send + Sync + 'static,
        add: impl Fn(Option<A>, &T) -> A + Send + Sync + 'static,
        join: impl Fn(A, &A) -> A + Send + Sync + 'static,
    ) -> Result<Arc<Layer>, GraphError>
    where
        T: Any + Send + Sync,
        K: Any + Send + Sync + Clone + Ord + Tokenize,
        A: Any + Send + Sync + Clone,
    {
        let Shuffle { method, name, token, partitions } = self;
        let layer = bag.layer()?.clone();
        at_least_one(method, partitions)?;
        let each = bytes_each(layer.spec());
        let all = each.saturating_mul(layer.spec().count());
        let sort = Step {
            name: name.clone(),
            // Another number of partitions has other buckets, though the values are as many.
            token: Tokenizer::new("sort").token(token).int(partitions as i64).finish(),
            rule: Rule::Each,
            makes: Makes::Partitions(Some(each)),
            run: Box::new(move |call| {
                let mut folded: BTreeMap<K, A> = BTreeMap::new();
                for item in partition::<T>(call, 0)? {
                    let key = key(item);
                    let own = add(folded.remove(&key), item);
                    folded.insert(key, own);
                }
                Ok(Made::Object(Object::new(buckets(folded, partitions))))
            }),
        };
        let gather = Step {
            name,
            token,
            rule: Rule::All(partitions),
            makes: Makes::Partitions(Some(all.div_ceil(partitions))),
            run: Box::new(move |call| Ok(Made::Object(Object::new(joined::<K, A>(call, &join)?)))),
        };
        gather.layer(vec![sort.layer(vec![layer])?])
    }
}

fn buckets<K: Tokenize, A>(folded: BTreeMap<K, A>, count: usize) -> Buckets<K, A> {
    let mut buckets: Buckets<K, A> = (0..count).map(|_| Vec::new()).collect();
    for (key, value) in folded {
        let place = u128::from_le_bytes(Token::of(&key).bytes()) % count as u128;
        buckets[place as usize].push((key, value));
    }
    buckets
}

/// The buckets of the value's number, of all operands, as one.
fn joined<K, A>(call: &Call<'_>, join: impl Fn(A, &A) -> A) -> Result<Vec<(K, A)>, TaskError>
where
    K: Any + Send + Sync + Clone + Ord,
    A: Any + Send + Sync + Clone,
{
    let mut joined: BTreeMap<&K, A> = BTreeMap::new();
    for operand in 0..call.operands.len() {
        for (key, value) in
            call.object_operand::<Buckets<K, A>>(operand)?.get(call.block).into_iter().flatten()
        {
            let own = match joined.remove(key) {
                Some(own) => join(own, value),
                None => value.clone(),
            };
            joined.insert(key, own);
        }
    }
    Ok(joined.into_iter().map(|(key, value)| (key.clone(), value)).collect())
}
