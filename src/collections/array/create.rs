//! Arrays from values, sources and rules.

use std::sync::Arc;

use crate::annotate;
use crate::block::Block;
use crate::collections::array::Array;
use crate::collections::array::build::{MapBuilder, check_shape, rechunk};
use crate::collections::held::InMemory;
use crate::dtype::{DType, Element, Scalar};
use crate::graph::chunking::{AxisChunks, Chunking};
use crate::graph::error::GraphError;
use crate::graph::expr::NodeOp;
use crate::graph::expr_ops::{BinaryOp, Distribution};
use crate::graph::layer::{Layer, LayerBody, Naming};
use crate::graph::op::{Op, Source};
use crate::graph::value_spec::ValueSpec;
use crate::shape::Shape;

/// The block size that a user asks for along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkSize {
    /// Chosen by [`Chunking::automatic`].
    Auto,
    /// The whole axis in one block.
    Whole,
    /// So many elements.
    Elements(usize),
}

impl Array {
    /// An array of the given elements, in C order, as chunks chosen automatically. Its token says which array it is, not
    /// what is in it: to hash gigabytes would cost more than most work on them.
    #[track_caller]
    pub fn from_slice<T: Element>(shape: impl Into<Shape>, values: &[T]) -> Array {
        let shape = shape.into();
        let built = check_shape("from_slice", &shape).and_then(|()| {
            Block::from_slice(shape.clone(), values).ok_or_else(|| GraphError::ValueCount {
                values: values.len(),
                elements: shape.elements(),
                shape,
            })
        });
        Array::keep(built.and_then(|block| from_source(Arc::new(InMemory::new(block)), &[])))
    }

    /// An array over a host block, without a copy.
    #[track_caller]
    pub fn from_block(block: Block) -> Array {
        Array::keep(from_source(Arc::new(InMemory::new(block)), &[]))
    }

    /// An array over a file or whatever else a [`Source`] reads; `chunks` as for [`Array::rechunk_as`].
    #[track_caller]
    pub fn from_source(source: Arc<dyn Source>, chunks: &[ChunkSize]) -> Array {
        Array::keep(from_source(source, chunks))
    }

    /// Zeros.
    #[track_caller]
    pub fn zeros(shape: impl Into<Shape>, dtype: DType) -> Array {
        Array::keep(created(shape.into(), &[], |map, _| map.constant("zeros", Scalar::Int(0), dtype)))
    }

    /// Ones.
    #[track_caller]
    pub fn ones(shape: impl Into<Shape>, dtype: DType) -> Array {
        Array::keep(created(shape.into(), &[], |map, _| map.constant("ones", Scalar::Int(1), dtype)))
    }

    /// The same value everywhere. A value that the type can't hold is an error.
    #[track_caller]
    pub fn full(shape: impl Into<Shape>, value: impl Into<Scalar>, dtype: DType) -> Array {
        let value = value.into();
        Array::keep(created(shape.into(), &[], |map, _| map.constant("full", value, dtype)))
    }

    /// `start + step · i` for `i` in `0..length`, as `f64` (or `i64` when both are integers).
    #[track_caller]
    pub fn arange(start: impl Into<Scalar>, step: impl Into<Scalar>, length: usize) -> Array {
        let (start, step) = (start.into(), step.into());
        let dtype = start.dtype().promote(step.dtype()).promote(DType::I64);
        Array::keep(created([length].into(), &[], |map, _| {
            let index = map.expr.push(NodeOp::Index(0), DType::I64);
            let index = map.cast(index, dtype);
            let step = map.constant("arange", step, dtype)?;
            let start = map.constant("arange", start, dtype)?;
            let scaled = map.expr.push(NodeOp::Binary(BinaryOp::Multiply, index, step), dtype);
            Ok(map.expr.push(NodeOp::Binary(BinaryOp::Add, scaled, start), dtype))
        }))
    }

    /// Each element's position in C order: what NumPy's `arange(n).reshape(shape)` gives.
    #[track_caller]
    pub fn indices(shape: impl Into<Shape>, dtype: DType) -> Array {
        Array::keep(created(shape.into(), &[], |map, shape| {
            let mut linear = map.constant("arange", Scalar::Int(0), DType::I64)?;
            for (axis, &extent) in shape.iter().enumerate() {
                let extent = map.constant("arange", Scalar::Int(extent as i64), DType::I64)?;
                let index = map.expr.push(NodeOp::Index(axis as u8), DType::I64);
                let scaled = map.expr.push(NodeOp::Binary(BinaryOp::Multiply, linear, extent), DType::I64);
                linear = map.expr.push(NodeOp::Binary(BinaryOp::Add, scaled, index), DType::I64);
            }
            Ok(map.cast(linear, dtype))
        }))
    }

    /// Random numbers, `f32` or `f64`: Philox4x32-10 (Salmon et al., 2011) with the seed as key and the
    /// element's C-order position as counter, so that they don't depend on chunks or devices.
    #[track_caller]
    pub fn random(distribution: Distribution, shape: impl Into<Shape>, dtype: DType, seed: u64) -> Array {
        let hint = "random numbers are f32 or f64; convert those";
        Array::keep(if matches!(dtype, DType::F32 | DType::F64) {
            created(shape.into(), &[], |map, _| {
                Ok(map.expr.push(NodeOp::Random { seed, distribution }, dtype))
            })
        } else {
            Err(GraphError::DType { op: distribution.name(), dtype, hint })
        })
    }

    /// The same elements in blocks of the given sizes, one for each axis; 0 stands for the whole axis.
    #[track_caller]
    pub fn rechunk(&self, sizes: &[usize]) -> Array {
        let sizes: Vec<ChunkSize> = sizes
            .iter()
            .map(|&size| if size == 0 { ChunkSize::Whole } else { ChunkSize::Elements(size) })
            .collect();
        self.rechunk_as(&sizes)
    }

    /// The same elements in other blocks. A single size holds for every axis; none means automatic.
    ///
    /// Arrays made by a rule or loaded from a source are cut anew without a copy.
    #[track_caller]
    pub fn rechunk_as(&self, sizes: &[ChunkSize]) -> Array {
        let built = || {
            let layer = self.layer()?;
            let chunks = chunking(&layer.shape(), sizes)?;
            Ok(match layer.op() {
                // Cut anew, a source is still the same layer and asks for what it asked for. Where the scope asks
                // for something else, that is for a layer of its own.
                Op::Load(_) | Op::Map(_) if layer.inputs().is_empty() && scope_adds_nothing(layer) => {
                    let body =
                        LayerBody { op: layer.op().clone(), spec: ValueSpec::array(chunks, layer.dtype()) };
                    let (source, after) = (std::slice::from_ref(layer), layer.after().to_vec());
                    Layer::from_layers(source, body, Vec::new(), after, Naming::Content)?
                }
                _ => rechunk(layer, chunks),
            })
        };
        Array::keep(built())
    }
}

fn scope_adds_nothing(layer: &Layer) -> bool {
    let scope = annotate::current();
    scope.is_empty() || scope == *layer.annotations()
}

fn from_source(source: Arc<dyn Source>, sizes: &[ChunkSize]) -> Result<Arc<Layer>, GraphError> {
    let shape = source.shape();
    check_shape("load", &shape)?;
    let dtype = source.dtype();
    Ok(Layer::new(Op::Load(source), Vec::new(), chunking(&shape, sizes)?, dtype))
}

fn created(
    shape: Shape,
    sizes: &[ChunkSize],
    build: impl FnOnce(&mut MapBuilder, &Shape) -> Result<crate::graph::expr::NodeId, GraphError>,
) -> Result<Arc<Layer>, GraphError> {
    check_shape("create", &shape)?;
    let mut map = MapBuilder::default();
    let node = build(&mut map, &shape)?;
    let dtype = map.expr.node(node).dtype;
    map.expr.output(node);
    Ok(Layer::new(Op::Map(Arc::new(map.expr)), Vec::new(), chunking(&shape, sizes)?, dtype))
}

fn chunking(shape: &Shape, sizes: &[ChunkSize]) -> Result<Chunking, GraphError> {
    let sizes = match sizes {
        [] => vec![ChunkSize::Auto; shape.len()],
        [one] => vec![*one; shape.len()],
        many => many.to_vec(),
    };
    let argument = |problem| GraphError::Argument {
        op: "rechunk",
        argument: "chunks",
        value: format!("{sizes:?} for shape {shape}"),
        problem,
    };
    if sizes.len() != shape.len() {
        return Err(argument("give one size, or one for each axis"));
    }
    if sizes.contains(&ChunkSize::Elements(0)) {
        return Err(argument("a block has at least one element along every axis"));
    }
    let fixed: Vec<Option<usize>> = sizes
        .iter()
        .zip(shape.iter())
        .map(|(size, &extent)| match size {
            ChunkSize::Auto => None,
            ChunkSize::Whole => Some(extent),
            ChunkSize::Elements(n) => Some(*n),
        })
        .collect();
    if fixed.iter().all(Option::is_some) {
        let axes = fixed.iter().flatten().zip(shape.iter());
        return Ok(Chunking::new(axes.map(|(&size, &extent)| AxisChunks::regular(extent, size))));
    }
    Ok(Chunking::automatic(shape, &fixed))
}
