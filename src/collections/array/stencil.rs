//! Neighbourhood operations along one axis.

use std::sync::Arc;

use crate::collections::array::Array;
use crate::collections::array::build::MapBuilder;
use crate::dtype::DType;
use crate::graph::error::GraphError;
use crate::graph::expr::NodeOp;
use crate::graph::expr_ops::{EdgeMode, Stencil};
use crate::graph::layer::Layer;

impl Array {
    /// NumPy's `gradient(x, spacing, axis=axis)`: central differences inside, one-sided at both ends.
    /// Integers are converted to floats.
    #[track_caller]
    pub fn gradient(&self, spacing: f64, axis: i64) -> Array {
        Array::keep(gradient(self, spacing, axis))
    }

    /// SciPy's `convolve1d(x, weights, axis, mode)` for an odd number of weights. Integers are converted to
    /// floats.
    #[track_caller]
    pub fn convolve1d(&self, weights: &[f64], axis: i64, mode: EdgeMode) -> Array {
        Array::keep(convolve1d(self, weights, axis, mode))
    }

    /// SciPy's `gaussian_filter1d(x, sigma, axis)` with `truncate=4`: weights `exp(−k²/2σ²)`, normalised,
    /// out to the nearest integer to `4σ`.
    #[track_caller]
    pub fn gaussian_filter1d(&self, sigma: f64, axis: i64, mode: EdgeMode) -> Array {
        let refused = |problem| GraphError::Argument {
            op: "gaussian_filter1d",
            argument: "sigma",
            value: sigma.to_string(),
            problem,
        };
        if !(sigma.is_finite() && sigma > 0.0 && sigma < 1e6) {
            return Array::keep(Err(refused("must be a positive number of elements below a million")));
        }
        Array::keep(convolve1d(self, &gaussian_weights(sigma), axis, mode))
    }
}

/// Weights of a normalised Gaussian of standard deviation `sigma`, as SciPy computes them.
pub fn gaussian_weights(sigma: f64) -> Vec<f64> {
    const TRUNCATE: f64 = 4.0;
    let radius = (TRUNCATE * sigma + 0.5) as i64;
    let weights: Vec<f64> =
        (-radius..=radius).map(|k| libm::exp(-0.5 / (sigma * sigma) * (k * k) as f64)).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

fn gradient(array: &Array, spacing: f64, axis: i64) -> Result<Arc<Layer>, GraphError> {
    const OP: &str = "gradient";
    let layer = array.layer()?;
    let axis = resolve_axis(OP, axis, layer)?;
    if !spacing.is_finite() || spacing == 0.0 {
        let problem = "must be finite and not zero";
        return Err(GraphError::Argument {
            op: OP,
            argument: "spacing",
            value: spacing.to_string(),
            problem,
        });
    }
    let extent = layer.shape()[axis];
    if extent < 2 {
        return Err(GraphError::TooShort { op: OP, axis, extent, needed: 2 });
    }
    stencil(OP, array, Stencil::Gradient { axis: axis as u8, spacing })
}

fn convolve1d(array: &Array, weights: &[f64], axis: i64, mode: EdgeMode) -> Result<Arc<Layer>, GraphError> {
    const OP: &str = "convolve1d";
    let layer = array.layer()?;
    let axis = resolve_axis(OP, axis, layer)?;
    let refused = |problem| GraphError::Argument {
        op: OP,
        argument: "weights",
        value: format!("{} weights", weights.len()),
        problem,
    };
    if weights.len().is_multiple_of(2) {
        return Err(refused("must be odd in number, so that one is in the middle"));
    }
    if weights.iter().any(|weight| !weight.is_finite()) {
        return Err(refused("must be finite"));
    }
    stencil(OP, array, Stencil::Convolve { axis: axis as u8, weights: weights.into(), mode })
}

fn stencil(op: &'static str, array: &Array, stencil: Stencil) -> Result<Arc<Layer>, GraphError> {
    let result = array.dtype()?.to_float();
    let dtype = if result == DType::F16 { DType::F32 } else { result };
    let float = array.astype(dtype);
    let mut map = MapBuilder::default();
    map.input(float.layer()?);
    let node = map.expr.push(NodeOp::Stencil(0, stencil), dtype);
    let node = map.cast(node, result);
    map.finish(op, node)
}

/// The axis counted from the front; negative ones count from the end.
pub(super) fn resolve_axis(op: &'static str, axis: i64, layer: &Layer) -> Result<usize, GraphError> {
    let shape = layer.shape();
    let axes = shape.len() as i64;
    let resolved = if axis < 0 { axis + axes } else { axis };
    if (0..axes).contains(&resolved) {
        Ok(resolved as usize)
    } else {
        Err(GraphError::Axis { op, axis, axes: shape.len(), shape })
    }
}
