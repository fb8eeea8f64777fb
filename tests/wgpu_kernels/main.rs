//! Kernels on a wgpu device, against a naive interpreter. Without an adapter each test says SKIPPED and
//! passes, unless the environment's `OUTCROP_REQUIRE` names `wgpu`.
#![cfg(feature = "wgpu")]

mod bench;
mod copies;
mod folds;
mod maps;
mod oracle;
mod sources;
mod stencils;
