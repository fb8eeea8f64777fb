//! Bags from delayed values and arrays, and back.

use std::any::Any;

use crate::collections::array::Array;
use crate::collections::bag::step::{Makes, Rule, Step, bytes_each};
use crate::collections::bag::{Bag, partition};
use crate::collections::delayed::Delayed;
use crate::dtype::Element;
use crate::graph::chunking::AxisChunks;
use crate::graph::custom::{Made, TaskError};
use crate::graph::error::GraphError;
use crate::token::Tokenizer;
use crate::value::Object;

impl<T: Any + Send + Sync> Bag<T> {
    /// A bag whose partitions are these values. No value at all is an error. O(values).
    #[track_caller]
    pub fn from_delayed(partitions: &[Delayed<Vec<T>>]) -> Self {
        let step = Step {
            name: "from_delayed".into(),
            token: Tokenizer::new("from_delayed").finish(),
            rule: Rule::Row,
            makes: Makes::Partitions(None),
            run: Box::new(|_| Ok(Made::Same(0))),
        };
        let inputs: Result<Vec<_>, GraphError> = partitions.iter().map(|own| own.layer().cloned()).collect();
        Bag::keep(inputs.and_then(|inputs| step.layer(inputs)))
    }

    /// Every partition as a value of its own. O(partitions).
    ///
    /// # Errors
    /// As [`Bag::layer`].
    pub fn to_delayed(&self) -> Result<Vec<Delayed<Vec<T>>>, GraphError> {
        Ok((0..self.partitions()?).map(|at| self.partition(at)).collect())
    }

    /// One partition. A number that there isn't is an error. Nothing but what it is made of is computed.
    #[track_caller]
    pub fn partition(&self, partition: usize) -> Delayed<Vec<T>> {
        Delayed::deferred(self.layer().and_then(|layer| {
            let step = Step {
                name: "partition".into(),
                token: Tokenizer::new("partition").finish(),
                rule: Rule::Pick(partition),
                makes: Makes::Objects(bytes_each(layer.spec())),
                run: Box::new(|_| Ok(Made::Same(0))),
            };
            step.layer(vec![layer.clone()])
        }))
    }
}

impl<T: Element> Bag<T> {
    /// The elements of an array: one partition for each block, in C order of the blocks, and within a block in C order
    /// of its elements. An array of another type is an error.
    #[track_caller]
    pub fn from_array(array: &Array) -> Self {
        Bag::keep(array.layer().and_then(|layer| {
            let (op, dtype) = ("from_array", layer.dtype());
            if dtype != T::DTYPE {
                let hint = "the bag's items are of another type; convert the array first, with astype";
                return Err(GraphError::DType { op, dtype, hint });
            }
            let step = Step {
                name: op.into(),
                token: Tokenizer::new(op).finish(),
                rule: Rule::Each,
                makes: Makes::Partitions(None),
                run: Box::new(|call| {
                    let block = call.block_operand(0)?;
                    let wrong =
                        || TaskError::new(format!("a {} block came, not {}", block.dtype(), T::DTYPE));
                    Ok(Made::Object(Object::new(block.to_vec::<T>().ok_or_else(wrong)?)))
                }),
            };
            step.layer(vec![layer.clone()])
        }))
    }

    /// The items as an array along one axis, one block for each partition. `lengths` says how many items each partition
    /// has; another number of lengths than of partitions is an error, a wrong length its task's.
    #[track_caller]
    pub fn to_array(&self, lengths: &[usize]) -> Array {
        Array::deferred(self.layer().and_then(|layer| to_array::<T>(lengths)?.layer(vec![layer.clone()])))
    }
}

fn to_array<T: Element>(lengths: &[usize]) -> Result<Step, GraphError> {
    let elements = lengths.iter().fold(0, |all: usize, length| all.saturating_add(*length));
    if elements.saturating_mul(size_of::<T>()) > isize::MAX as usize {
        return Err(GraphError::TooLarge { op: "to_array", shape: [elements].into() });
    }
    Ok(Step {
        name: "to_array".into(),
        token: Tokenizer::new("to_array").finish(),
        rule: Rule::Each,
        makes: Makes::Blocks(AxisChunks::from_lengths(lengths), T::DTYPE),
        run: Box::new(|call| {
            let (block, length) = (call.block, call.spec.chunks.axes()[0].length(call.block));
            let output = call.output.take();
            let items = partition::<T>(call, 0)?;
            match output.is_some_and(|mut output| output.write(items)) {
                true => Ok(Made::Written),
                false => Err(TaskError::new(format!(
                    "partition {block} has {} items, and to_array was told that it has {length}",
                    items.len()
                ))),
            }
        }),
    })
}
