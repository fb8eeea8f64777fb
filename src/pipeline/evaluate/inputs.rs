//! `[inputs.NAME]` → arrays.

use std::path::Path;
use std::sync::Arc;

use super::super::check::{Fill, Input, Source};
use super::super::diagnostic::Problem;
use super::super::npy::NpyFile;
use super::super::schema::{AxisChunk, Chunks, Distribution as Written};
use super::super::source::NpySource;
use super::Outcome;
use crate::collections::Array;
use crate::collections::array::ChunkSize;
use crate::graph::expr_ops::Distribution;
use crate::graph::layer::labelled;

/// The array of an input. Problems have spans of the file, not of an expression.
pub(super) fn array(input: &Input, folder: &Path) -> Outcome<Array> {
    let name = input.name.value.as_str();
    let sizes = sizes(&input.chunks.value);
    let array = match &input.source {
        Source::Npy { path, cast } => {
            // A path of the command line is relative to the current folder.
            let file = if path.span.is_some() { folder.join(&path.value) } else { path.value.clone().into() };
            let file = NpyFile::open(&file)
                .map_err(|error| Problem::new(format!("input '{name}': {error}"), path.span.clone()))?;
            if let Chunks::PerAxis(axes) = &input.chunks.value
                && axes.len() != file.shape.len()
            {
                let (given, shape) = (axes.len(), &file.shape);
                let message =
                    format!("{given} chunk extents for {} axes: '{name}' has shape {shape}", shape.len());
                return Err(Problem::new(message, input.chunks.span.clone()));
            }
            let label = format!("read {}", path.value);
            let read = || Array::from_source(Arc::new(NpySource::new(file)), &sizes);
            match cast {
                Some(dtype) => {
                    let read = labelled(&label, read);
                    labelled(name, || read.astype(dtype.value))
                }
                None => read(),
            }
        }
        Source::Generated { fill, shape, dtype } => {
            let (shape, dtype) = (shape.clone(), *dtype);
            let whole = match *fill {
                Fill::Constant(value) => Array::full(shape, value, dtype),
                Fill::Arange => Array::indices(shape, dtype),
                Fill::Random { distribution: Written::Normal, seed } => {
                    Array::random(Distribution::Normal, shape, dtype, seed)
                }
                Fill::Random { distribution: Written::Uniform, seed } => {
                    Array::random(Distribution::Uniform, shape, dtype, seed)
                }
            };
            whole.rechunk_as(&sizes)
        }
    };
    let problem = |error: crate::graph::error::GraphError| {
        Problem::new(format!("input '{name}': {}", error.root()), input.name.span.clone())
    };
    array.layer().map_err(problem)?;
    Ok(array.named(name))
}

fn sizes(chunks: &Chunks) -> Vec<ChunkSize> {
    let size = |axis: &AxisChunk| match axis {
        AxisChunk::Auto => ChunkSize::Auto,
        AxisChunk::Whole => ChunkSize::Whole,
        AxisChunk::Size(elements) => ChunkSize::Elements(*elements),
    };
    match chunks {
        Chunks::Every(AxisChunk::Auto) => Vec::new(),
        Chunks::Every(axis) => vec![size(axis)],
        Chunks::PerAxis(axes) => axes.iter().map(size).collect(),
    }
}
