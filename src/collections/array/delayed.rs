//! Arrays out of delayed blocks.

use std::sync::Arc;

use crate::block::Block;
use crate::collections::array::Array;
use crate::collections::array::build::check_shape;
use crate::collections::delayed::Delayed;
use crate::dtype::DType;
use crate::graph::chunking::Chunking;
use crate::graph::custom::{Call, CustomOp, Made, TaskError};
use crate::graph::error::GraphError;
use crate::graph::layer::{Layer, LayerBody, Naming};
use crate::graph::op::Op;
use crate::graph::rule::Read;
use crate::graph::value_spec::ValueSpec;
use crate::shape::Shape;
use crate::token::{Token, Tokenizer};

impl Array {
    /// The array that a delayed block will be, as one block: a function of the user's made it on the host, and it is
    /// copied. A block of another shape or type is its task's error. `rechunk` cuts it.
    ///
    /// ```
    /// use outcrop::block::Block;
    /// use outcrop::collections::{Array, Delayed};
    /// use outcrop::{dtype::DType, session::Session};
    ///
    /// let row = Delayed::try_call("row", (), || Block::from_slice([3], &[1.0, 2.0, 3.0]).ok_or("three"));
    /// let doubled = &Array::from_delayed(&row, [3], DType::F64) * 2.0;
    /// let session = Session::new(Default::default());
    /// assert_eq!(session.compute(&doubled)?.to_vec::<f64>(), Some(vec![2.0, 4.0, 6.0]));
    /// # Ok::<(), outcrop::error::Error>(())
    /// ```
    #[track_caller]
    pub fn from_delayed(block: &Delayed<Block>, shape: impl Into<Shape>, dtype: DType) -> Array {
        Array::keep(from_delayed(block, shape.into(), dtype))
    }
}

fn from_delayed(block: &Delayed<Block>, shape: Shape, dtype: DType) -> Result<Arc<Layer>, GraphError> {
    check_shape("from_delayed", &shape)?;
    let spec = ValueSpec::array(Chunking::single(&shape), dtype);
    let op = Op::Custom(Arc::new(Filled { spec: spec.clone() }));
    Ok(Layer::of(LayerBody { op, spec }, vec![block.layer()?.clone()], Naming::Content))
}

/// A block filled from an object that is one.
#[derive(Debug)]
struct Filled {
    spec: ValueSpec,
}

impl CustomOp for Filled {
    fn name(&self) -> &str {
        "from_delayed"
    }

    /// Shape and type are the layer's.
    fn token(&self) -> Token {
        Tokenizer::new("from_delayed").finish()
    }

    fn output(&self, _inputs: &[&ValueSpec]) -> Result<ValueSpec, String> {
        Ok(self.spec.clone())
    }

    fn reads(&self, _block: usize, _output: &ValueSpec, _inputs: &[&ValueSpec]) -> Vec<Read> {
        vec![Read { input: 0, block: 0 }]
    }

    fn reads_everything(&self) -> bool {
        true
    }

    fn compute(&self, call: &mut Call<'_>) -> Result<Made, TaskError> {
        let output = call.output.take();
        let block = call.object_operand::<Block>(0)?;
        match output.is_some_and(|mut output| output.copy_from(block)) {
            true => Ok(Made::Written),
            false => Err(TaskError::new(format!(
                "the value is a {} block {}, and from_delayed was told that it is {}",
                block.dtype(),
                block.shape(),
                self.spec
            ))),
        }
    }
}
