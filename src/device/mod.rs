//! Devices: where kernels run and blocks live.

pub mod contract;
pub mod host;
