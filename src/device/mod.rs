//! Devices: where kernels run and blocks live.

pub mod caching;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod capacity;
pub mod conformance;
pub mod contract;
#[cfg(feature = "cuda")]
pub mod cuda;
pub mod host;
#[cfg(feature = "cuda")]
pub mod kernel_cache;
pub mod probe;
pub mod sim;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod staging;
#[cfg(feature = "wgpu")]
pub mod wgpu;
