//! NumPy's basic indexing.

use std::sync::Arc;

use crate::collections::array::Array;
use crate::graph::chunking::{AxisChunks, Chunking};
use crate::graph::error::GraphError;
use crate::graph::layer::Layer;
use crate::graph::op::{CopyRule, Op, SliceAxis};

/// The cuts of a slice are stored one by one; more than this along an axis would take gigabytes.
const SLICED_BLOCKS_MAX: usize = 1 << 26;

/// One entry of an index expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// One element; the axis goes. Negative counts from the end.
    At(i64),
    /// `start:stop:step`, with Python's defaults and clamping.
    Range {
        /// First element.
        start: Option<i64>,
        /// One past the last.
        stop: Option<i64>,
        /// Distance; not 0.
        step: Option<i64>,
    },
    /// All axes that the other entries don't name.
    Ellipsis,
}

impl Array {
    /// NumPy's basic indexing, `x[entries]`; axes that aren't named are taken whole.
    #[track_caller]
    pub fn slice(&self, entries: &[Index]) -> Array {
        Array::keep(slice(self, entries))
    }
}

fn slice(array: &Array, entries: &[Index]) -> Result<Arc<Layer>, GraphError> {
    let layer = array.layer()?;
    let shape = layer.shape();
    let named = entries.iter().filter(|entry| **entry != Index::Ellipsis).count();
    let ellipses = entries.len() - named;
    if named > shape.len() {
        return Err(GraphError::TooManyIndices { given: named, axes: shape.len(), shape });
    }
    if ellipses > 1 {
        let problem = "an index may have one ellipsis";
        let value = format!("{ellipses} ellipses");
        return Err(GraphError::Argument { op: "slice", argument: "index", value, problem });
    }
    let whole = Index::Range { start: None, stop: None, step: None };
    let mut axes = Vec::with_capacity(shape.len());
    for entry in entries {
        match entry {
            Index::Ellipsis => axes.extend(std::iter::repeat_n(whole, shape.len() - named)),
            other => axes.push(*other),
        }
    }
    axes.resize(shape.len(), whole);
    let resolved = axes
        .iter()
        .enumerate()
        .map(|(axis, entry)| resolve(*entry, axis, shape[axis]))
        .collect::<Result<Vec<_>, _>>()?;
    let untouched = |(axis, slice): (usize, &SliceAxis)| {
        *slice == SliceAxis::Range { start: 0, step: 1, length: shape[axis] }
    };
    if resolved.iter().enumerate().all(untouched) {
        return Ok(layer.clone());
    }
    let blocks_max = resolved.iter().zip(layer.chunks().axes()).map(|(slice, own)| match slice {
        SliceAxis::Range { length, .. } => (*length).min(own.count()),
        SliceAxis::At(_) => 1,
    });
    if blocks_max.max().is_some_and(|blocks| blocks > SLICED_BLOCKS_MAX) {
        let problem = "a slice may cross at most 2^26 blocks along an axis; use larger chunks";
        let value = format!("shape {shape} in {}", layer.chunks());
        return Err(GraphError::Argument { op: "slice", argument: "index", value, problem });
    }
    let chunks = resolved.iter().zip(layer.chunks().axes()).filter_map(|(slice, own)| cuts(*slice, own));
    let chunks = Chunking::new(chunks);
    Ok(Layer::new(Op::Copy(CopyRule::Slice(resolved)), vec![layer.clone()], chunks, layer.dtype()))
}

fn resolve(entry: Index, axis: usize, extent: usize) -> Result<SliceAxis, GraphError> {
    let n = extent as i64;
    match entry {
        Index::At(index) => {
            let resolved = if index < 0 { index + n } else { index };
            if (0..n).contains(&resolved) {
                Ok(SliceAxis::At(resolved as usize))
            } else {
                Err(GraphError::Index { index, axis, extent })
            }
        }
        Index::Range { start, stop, step } => {
            let step = step.unwrap_or(1);
            if step == 0 || step == i64::MIN {
                let problem = if step == 0 { "a slice's step can't be zero" } else { "is out of range" };
                return Err(GraphError::Argument {
                    op: "slice",
                    argument: "step",
                    value: step.to_string(),
                    problem,
                });
            }
            let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
            let clamp =
                |bound: i64| (if bound < 0 { bound.saturating_add(n) } else { bound }).clamp(low, high);
            let start = start.map_or(if step > 0 { low } else { high }, clamp);
            let stop = stop.map_or(if step > 0 { high } else { low }, clamp);
            let distance = if step > 0 { stop - start } else { start - stop };
            let length = if distance <= 0 { 0 } else { (distance - 1) / step.abs() + 1 };
            let start = if length == 0 { 0 } else { start };
            Ok(SliceAxis::Range { start: start as usize, step: step as isize, length: length as usize })
        }
        Index::Ellipsis => Ok(SliceAxis::Range { start: 0, step: 1, length: extent }),
    }
}

/// The result's cuts along an axis: where the input's blocks end, so that every block comes from one.
fn cuts(slice: SliceAxis, own: &AxisChunks) -> Option<AxisChunks> {
    let SliceAxis::Range { start, step, length } = slice else { return None };
    if start == 0 && step == 1 && length == own.extent() {
        return Some(own.clone());
    }
    let mut lengths = Vec::new();
    let mut done = 0;
    while done < length {
        let from = (start as isize + step * done as isize) as usize;
        let block = own.find(from);
        let room = if step > 0 {
            (own.start(block) + own.length(block) - from).div_ceil(step as usize)
        } else {
            (from - own.start(block)) / step.unsigned_abs() + 1
        };
        lengths.push(room.min(length - done));
        done += lengths[lengths.len() - 1];
    }
    Some(if lengths.is_empty() { AxisChunks::regular(0, 1) } else { AxisChunks::from_lengths(&lengths) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_clamp_as_python_does() {
        let range = |start, stop, step| resolve(Index::Range { start, stop, step }, 0, 10).unwrap();
        let want = |start, step, length| SliceAxis::Range { start, step, length };
        assert_eq!(range(None, None, Some(-1)), want(9, -1, 10));
        assert_eq!(range(Some(-3), None, None), want(7, 1, 3));
        assert_eq!(range(Some(20), Some(-100), Some(-3)), want(9, -3, 4));
        assert_eq!(range(Some(5), Some(2), None), want(0, 1, 0));
        assert_eq!(range(Some(1), Some(8), Some(3)), want(1, 3, 3));
        assert!(resolve(Index::At(10), 0, 10).is_err());
        assert_eq!(resolve(Index::At(-10), 0, 10).unwrap(), SliceAxis::At(0));
    }

    #[test]
    fn cuts_follow_the_input() {
        let own = AxisChunks::regular(10, 4);
        let range = |start, step, length| SliceAxis::Range { start, step, length };
        assert_eq!(cuts(range(2, 1, 6), &own), Some(AxisChunks::from_lengths(&[2, 4])));
        assert_eq!(cuts(range(9, -1, 10), &own), Some(AxisChunks::from_lengths(&[2, 4, 4])));
        assert_eq!(cuts(SliceAxis::At(3), &own), None);
    }
}
