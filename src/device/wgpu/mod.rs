//! Vulkan, Metal and DX12 devices through wgpu.

pub mod adapters;
