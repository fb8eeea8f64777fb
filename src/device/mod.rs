//! Devices: where kernels run and blocks live.

pub mod caching;
pub mod conformance;
pub mod contract;
pub mod host;
pub mod probe;
pub mod sim;
#[cfg(feature = "wgpu")]
pub mod wgpu;
