//! NVIDIA cards through the CUDA driver.
//!
//! Nothing of CUDA is needed to build: the driver and the compiler NVRTC are loaded when a device is opened, and where
//! one is missing, too old or broken that is an error which says so. Kernels are CUDA C++ that
//! [`kernel::cuda`](crate::kernel::cuda) renders, compiled without contraction, so that results have the host's bits.
//!
//! Each device has three streams: one computes, one copies in, one copies out, through pinned memory. Work on one
//! stream is done in order; between streams whoever submits work waits for what it needs.

mod compiler;
mod context;
mod driver;
mod kept;
mod memory;
pub mod nvrtc;
mod open;
pub(in crate::device) mod probe;
mod queue;
mod staging;

pub use compiler::OPTIONS;
pub use driver::DriverError;
pub use open::{CudaDevice, OpenError, Selector};
