//! Devices: where kernels run and blocks live.

pub mod caching;
pub mod calibration;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod capacity;
pub mod conformance;
pub mod contract;
#[cfg(feature = "cuda")]
pub mod cuda;
pub mod host;
#[cfg(feature = "cuda")]
pub mod kernel_cache;
pub mod open;
pub mod probe;
pub mod sim;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod staging;
mod user_cache;
#[cfg(feature = "wgpu")]
pub mod wgpu;
