//! Functions of the user's over blocks.

use std::fmt;
use std::sync::Arc;

use crate::block::Block;
use crate::collections::array::Array;
use crate::collections::function_name::FunctionName;
use crate::dtype::Element;
use crate::graph::custom::{Call, CustomOp, Made, TaskError};
use crate::graph::layer::Layer;
use crate::graph::rule::Read;
use crate::graph::value_spec::ValueSpec;
use crate::token::{Token, Tokenizer};

impl Array {
    /// `f` over every block: from a block to as many elements, in C order, of any type. The result has this array's
    /// shape and chunks. The function runs on the host, sees one block at a time, and is told nothing of its neighbours.
    ///
    /// Another number of elements is an error of the block's task. For a function that changes shapes or reads other
    /// blocks, define a [`CustomOp`].
    ///
    /// ```
    /// use outcrop::collections::Array;
    /// use outcrop::session::Session;
    ///
    /// let x = Array::from_slice([5], &[3.0, 1.0, 2.0, 9.0, 8.0]).rechunk(&[3]);
    /// let sorted = x.map_blocks("sorted", |block| {
    ///     let mut values = block.to_vec::<f64>().unwrap_or_default();
    ///     values.sort_by(f64::total_cmp);
    ///     values
    /// });
    /// let session = Session::new(Default::default());
    /// assert_eq!(session.compute(&sorted)?.to_vec::<f64>(), Some(vec![1.0, 2.0, 3.0, 8.0, 9.0]));
    /// # Ok::<(), outcrop::error::Error>(())
    /// ```
    #[track_caller]
    pub fn map_blocks<U, F>(&self, name: impl FunctionName, f: F) -> Array
    where
        U: Element,
        F: Fn(&Block) -> Vec<U> + Send + Sync + 'static,
    {
        let op = MapBlocks { name: name.name().to_owned(), token: name.token(&()), run: f };
        Array::keep(self.layer().and_then(|layer| {
            crate::key::Key::named(name.name())?;
            Layer::custom(Arc::new(op), vec![layer.clone()])
        }))
    }
}

/// Applies a function to each block.
struct MapBlocks<F> {
    name: String,
    token: Token,
    run: F,
}

impl<F> fmt::Debug for MapBlocks<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl<U: Element, F: Fn(&Block) -> Vec<U> + Send + Sync> CustomOp for MapBlocks<F> {
    fn name(&self) -> &str {
        &self.name
    }

    fn token(&self) -> Token {
        Tokenizer::new("map_blocks").text(U::DTYPE.name()).token(self.token).finish()
    }

    fn output(&self, inputs: &[&ValueSpec]) -> Result<ValueSpec, String> {
        match inputs {
            [array] if array.is_array() => Ok(ValueSpec::array(array.chunks.clone(), U::DTYPE)),
            _ => Err("it maps the blocks of one array".to_owned()),
        }
    }

    fn reads(&self, block: usize, _output: &ValueSpec, _inputs: &[&ValueSpec]) -> Vec<Read> {
        vec![Read { input: 0, block }]
    }

    fn reads_everything(&self) -> bool {
        true
    }

    fn compute(&self, call: &mut Call<'_>) -> Result<Made, TaskError> {
        let values = (self.run)(call.block_operand(0)?);
        call.write(&values)
    }
}
