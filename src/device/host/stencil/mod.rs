//! Stencils: tiles of neighbourhoods, read straight from the blocks of an input.
//!
//! A convolution's element starts from +0 and takes its taps in ascending order, each by one fused
//! multiply-add in the node's type; the weights are rounded to that type. A gradient is the difference of two
//! elements, divided: by twice the spacing inside, by the spacing at the two ends.

mod bound;
mod loops;

use self::loops::StencilFn;
use super::isa::Isa;
use crate::dtype::DType;
use crate::graph::expr_ops::{EdgeMode, Stencil};

pub(super) use bound::BoundStencil;

/// A stencil, compiled.
pub(super) struct StencilCode {
    input: u16,
    axis: usize,
    radius: usize,
    mode: EdgeMode,
    dtype: DType,
    run: StencilFn,
    /// How far from the element each tap reads.
    reach: Vec<isize>,
    /// One for each tap of a convolution; the two divisors, inside and at the ends, of a gradient. As elements
    /// of the type.
    factors: Vec<u8>,
    is_gradient: bool,
}

impl StencilCode {
    /// Compiles, or says what it can't do.
    pub fn new(input: u16, stencil: &Stencil, dtype: DType, isa: Isa) -> Result<Self, String> {
        let (reach, factors): (Vec<isize>, Vec<f64>) = match stencil {
            Stencil::Gradient { spacing, .. } => (vec![-1, 1], vec![2.0 * spacing, *spacing]),
            Stencil::Convolve { weights, .. } => {
                let radius = stencil.radius() as isize;
                ((0..weights.len() as isize).map(|k| radius - k).collect(), weights.to_vec())
            }
        };
        let is_gradient = matches!(stencil, Stencil::Gradient { .. });
        let (run, factors) = match dtype {
            DType::F32 => {
                let narrow = factors.iter().flat_map(|&x| (x as f32).to_ne_bytes()).collect();
                (loops::stencil_fn::<f32>(isa, is_gradient), narrow)
            }
            DType::F64 => {
                let wide = factors.iter().flat_map(|x| x.to_ne_bytes()).collect();
                (loops::stencil_fn::<f64>(isa, is_gradient), wide)
            }
            other => return Err(format!("{} of {other}: stencils take f32 and f64", stencil.name())),
        };
        Ok(StencilCode {
            input,
            axis: stencil.axis(),
            radius: stencil.radius(),
            mode: stencil.mode(),
            dtype,
            run,
            reach,
            factors,
            is_gradient,
        })
    }

    /// Elements that each element is made of.
    pub fn taps(&self) -> usize {
        self.reach.len()
    }
}
