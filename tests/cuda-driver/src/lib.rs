//! A CUDA driver without a GPU, for tests.
//!
//! The library exports the `cu*` functions that a program on cudarc calls and executes the PTX that the real NVRTC
//! makes, so that a CUDA path runs, races, leaks and fails where no card is. Load `libcuda_driver.so` by its path
//! and what asks for `libcuda.so` afterwards, as cudarc does first, finds it; or put a link called `libcuda.so.1` in a
//! folder on the library path. Cargo leaves the library beside the test binaries, in `target/<profile>/deps`.
//!
//! What is emulated: several devices; streams, each a thread; events; stream-ordered allocation; pinned memory;
//! peers. Every access of a kernel is checked: against live allocations of the right device, for alignment, in
//! shared, local and parameter memory; one that isn't allowed breaks the context, as on a card, and says on
//! standard error which kernel, thread and line it was. PTX that isn't known is refused when it is loaded.
//!
//! What isn't: time, caches, textures, graphs, managed memory, machine code, cooperative launches, calls by address.
//!
//! # Environment
//! | variable | meaning |
//! |---|---|
//! | `OUTCROP_CUDA_DEVICES` | a count, or `name=A,memory=2GiB,capability=8.6,multiprocessors=20;…` |
//! | `CUDA_VISIBLE_DEVICES`, `CUDA_DEVICE_ORDER` | as the driver treats them |
//! | `OUTCROP_CUDA_SCHEDULE` | `lazy:SEED`: work is done only when somebody waits, in an order by the seed |
//! | `OUTCROP_CUDA_DELAYS` | `SEED:MICROSECONDS`: all work starts up to so much later, by the seed |
//! | `OUTCROP_CUDA_FAULTS` | `0:oom=3;0:launch=2;0:refuse=1;1:lost=40;1:slow=500` ([`driver::faults::Kind`]) |
//!
//! With `lazy` a program that submits from one thread sees the same order at every run, and never a result that it
//! didn't wait for. [`api::testing`] has the functions by which tests ask what was counted and plan faults.

#![allow(non_snake_case, clippy::missing_safety_doc, clippy::not_unsafe_ptr_arg_deref)]

pub mod api;
pub mod driver;
mod ptx;
pub mod result;
mod run;
