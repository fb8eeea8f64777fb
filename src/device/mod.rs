//! Devices: where kernels run and blocks live.

pub mod contract;
