//! `[outputs]` → store layers: an array's blocks to a file.

use std::path::Path;
use std::sync::Arc;

use super::check::{Format, Output};
use super::diagnostic::Problem;
use super::schema::Scale;
use super::sink::{FileSink, NpySink, PngSink};
use crate::collections::Array;
use crate::collections::array::{ChunkSize, Operand, Over};
use crate::dtype::{DType, Kind, Scalar};
use crate::graph::error::GraphError;
use crate::graph::expr_ops::UnaryOp;
use crate::graph::layer::{Layer, labelled};
use crate::graph::op::{Op, Sink};

/// An output: the layer that stores it, and the file.
#[derive(Debug, Clone)]
pub struct Stored {
    /// Stores every block of the array in the sink.
    pub layer: Arc<Layer>,
    /// The file; not yet created.
    pub sink: Arc<dyn FileSink>,
    /// Where the path stands in the pipeline file.
    pub span: Option<std::ops::Range<usize>>,
}

/// The store layer of an output, below the folder `out`.
///
/// # Errors
/// A picture of an array that isn't two-dimensional.
pub(super) fn store(output: &Output, array: &Array, out: &Path) -> Result<Stored, Problem> {
    let wrong = |error: GraphError| Problem::new(error.root().to_string(), output.layer_span.clone());
    let path = out.join(&output.path);
    labelled(&format!("write {}", output.path.display()), || match output.format {
        Format::Npy => {
            let layer = array.layer().map_err(wrong)?;
            let sink = Arc::new(NpySink::new(&path, layer.dtype(), layer.shape()));
            Ok(stored(layer, sink.clone(), sink, output))
        }
        Format::Png { scale, colormap } => {
            let shape = array.shape().map_err(wrong)?;
            let [height, width] = shape[..] else {
                let message = format!("a picture has two axes, but '{}' has shape {shape}", output.layer);
                let problem = Problem::new(message, output.path_span.clone());
                return Err(problem.help("choose a plane in a layer, such as x[0], or write a .npy file"));
            };
            let levels = levels(array, scale).and_then(|levels| in_rows(&levels)).map_err(wrong)?;
            let sink = Arc::new(PngSink::new(&path, height, width, colormap));
            Ok(stored(levels.layer().map_err(wrong)?, sink.clone(), sink, output))
        }
    })
}

fn stored(layer: &Arc<Layer>, op: Arc<dyn Sink>, sink: Arc<dyn FileSink>, output: &Output) -> Stored {
    let layer = Layer::new(Op::Store(op), vec![layer.clone()], layer.chunks().clone(), layer.dtype());
    Stored { layer, sink, span: output.path_span.clone() }
}

/// The grey levels of an array, by the rule of [`super::picture::level`]: NaN is 0.
fn levels(array: &Array, scale: Scale) -> Result<Array, GraphError> {
    let dtype = array.dtype()?;
    let float = array.astype(dtype.to_float());
    let levels = match scale {
        Scale::Range(low, high) => {
            stretched(&float, Scalar::Float(low).into(), Scalar::Float(high - low).into())
        }
        Scale::Clip if dtype.kind() == Kind::Integer => array.clip(0, 255),
        Scale::Clip => stretched(&float, Scalar::Float(0.0).into(), Scalar::Float(1.0).into()),
        Scale::Auto if dtype == DType::Bool => return self::levels(array, Scale::Clip),
        Scale::Auto => {
            let finite = float.unary(UnaryOp::IsFinite);
            let low = Array::select(&finite, &float, f64::INFINITY).min(&Over::all());
            let high = Array::select(&finite, &float, f64::NEG_INFINITY).max(&Over::all());
            let span = &high - &low;
            stretched(&float, low.into(), span.into())
        }
    };
    // A cast saturates, and takes NaN to 0.
    let levels = levels.astype(DType::U8);
    levels.layer().map(|_| levels.clone())
}

/// From `low` to `low + span` linearly to 0..=255, rounded to the nearest, what lies outside beyond that.
fn stretched(array: &Array, low: Operand, span: Operand) -> Array {
    let share = (array - low) / span;
    (share * 255.0 + 0.5).floor()
}

/// In blocks of whole rows, as an encoder takes them.
fn in_rows(levels: &Array) -> Result<Array, GraphError> {
    if levels.chunks()?.axes()[1].count() == 1 {
        return Ok(levels.clone());
    }
    let rows = levels.rechunk_as(&[ChunkSize::Auto, ChunkSize::Whole]);
    rows.layer().map(|_| rows.clone())
}
