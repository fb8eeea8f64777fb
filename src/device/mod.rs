//! Devices: where kernels run and blocks live.

pub mod contract;
#[cfg(feature = "wgpu")]
pub mod wgpu;
