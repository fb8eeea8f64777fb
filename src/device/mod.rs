//! Devices: where kernels run and blocks live.

pub mod contract;
pub mod probe;
#[cfg(feature = "wgpu")]
pub mod wgpu;
