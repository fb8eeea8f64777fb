//! Vulkan, Metal and DX12 devices through wgpu.
//!
//! Blocks are contiguous in C order, one buffer each, in the host's layout: 8- and 16-bit elements are packed
//! into words (`kernel::render` says how they are read and written). Kernels come as WGSL from
//! `kernel::render`; what they can't express, `kernel::capability` lists, and the planner asks there first.
//! Nothing here panics on an error of the driver: every call stands in error scopes, and what comes later or
//! from elsewhere is kept for the next call (`health`).

pub mod adapters;
mod compiler;
mod health;
mod memory;
mod open;
mod queue;

pub use open::{OpenError, Selector, WgpuDevice, open_adapter};
