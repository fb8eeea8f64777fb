//! Kernels: what runs on the elements of a block.

pub mod math;
