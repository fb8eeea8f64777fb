//! Whole partitions: other cuts of the same items.

use std::any::Any;

use crate::collections::bag::create::at_least_one;
use crate::collections::bag::step::{Makes, Rule, Step, bytes_each, piece, share};
use crate::collections::bag::{Bag, partition};
use crate::graph::custom::Made;
use crate::graph::error::GraphError;
use crate::token::Tokenizer;
use crate::value::Object;

impl<T: Any + Send + Sync> Bag<T> {
    /// The partitions of all bags, one bag after the other. No bag at all is an error. O(bags).
    #[track_caller]
    pub fn concat(bags: &[&Bag<T>]) -> Bag<T> {
        let step = Step {
            name: "concat".into(),
            token: Tokenizer::new("concat").finish(),
            rule: Rule::Row,
            makes: Makes::Partitions(None),
            run: Box::new(|_| Ok(Made::Same(0))),
        };
        let inputs: Result<Vec<_>, GraphError> = bags.iter().map(|bag| bag.layer().cloned()).collect();
        Bag::keep(inputs.and_then(|inputs| step.layer(inputs)))
    }

    /// The same items in the same order in `partitions` partitions: neighbours are joined, or each is cut into
    /// neighbours as `numpy.array_split` cuts. How many items a partition has isn't known before it is there, so that
    /// unequal partitions stay unequal. 0 partitions is an error. O(1).
    #[track_caller]
    pub fn repartition(&self, partitions: usize) -> Bag<T>
    where
        T: Clone,
    {
        Bag::keep(self.layer().and_then(|layer| {
            at_least_one("repartition", partitions)?;
            let count = layer.spec().count();
            let all = bytes_each(layer.spec()).saturating_mul(count);
            let step = Step {
                name: "repartition".into(),
                token: Tokenizer::new("repartition").finish(),
                rule: Rule::Shares(partitions),
                makes: Makes::Partitions(Some(all.div_ceil(partitions))),
                run: Box::new(move |call| {
                    let (_, at, pieces) = share(call.block, partitions, count);
                    let mut items: Vec<T> = Vec::new();
                    for operand in 0..call.operands.len() {
                        let own = partition::<T>(call, operand)?;
                        items.extend_from_slice(&own[piece(at, pieces, own.len())]);
                    }
                    Ok(Made::Object(Object::new(items)))
                }),
            };
            step.layer(vec![layer.clone()])
        }))
    }
}
