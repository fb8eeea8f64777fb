//! Outcrop runs annotated numeric pipelines: lazy, chunked arrays whose layers say what they need (a GPU,
//! 2 GiB, two retries, a priority), a planner that gives each of them a device and makes every move of data
//! an explicit step, and an executor that runs the plan within its limits, with or without a GPU.
//!
//! **An annotation is a contract.** It survives every rewrite of the graph, is checked before anything runs,
//! is enforced while it runs, and the report shows how it was met.
//!
//! ```
//! use outcrop::annotate::{Annotations, annotate};
//! use outcrop::collections::{Array, array::Over};
//! use outcrop::session::Session;
//!
//! let x = Array::arange(0.0, 0.001, 100_000).rechunk(&[10_000]);
//! let wish = Annotations::new().set("device", "prefer-gpu")?.set("retries", 2)?;
//! let wave = annotate(wish, || x.sin() * x.cos());
//! let session = Session::new(Default::default());
//! let energy: f64 = session.compute(&(&wave * &wave).mean(&Over::all()))?.to_scalar().unwrap();
//! assert!((energy - 0.125).abs() < 1e-3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The way of the data
//!
//! ```text
//! collections      graph           plan (pure)                                   exec
//! Array, Bag,  ─▶  LayerGraph  ─▶  resolve ▸ fuse ▸ place ▸ fuse ▸ lower     ─▶  reactor (pure) ⇄ driver
//! Delayed,         + annotations   ▸ transfer ▸ order ▸ memory ▸ verify = Plan   │
//! Dataset, yours                   ▲                                             ▼
//!                                  Machine (a description) ◀── device::probe     devices: host, cuda, wgpu, sim
//! ```
//!
//! Each stage has a type of its own and never reaches back. [`plan`] is pure: equal graphs, machines and
//! settings give equal plans. [`exec`] is a pure state machine with a thin driver around it. Operations are
//! data ([`graph::op`], [`graph::expr`]), or somebody else's [rules and function](graph::custom); devices are a
//! few small traits ([`device::contract`]); what a device can't do is data too ([`kernel::capability`]), and so a
//! reason that a plan can show.
//!
//! # Where to begin
//!
//! - Pipelines in Rust: [`collections`], [`annotate`], [`session`]; [`collections::delayed`] and [`collections::bag`] for
//!   functions and objects.
//! - Order, copies and barriers between pipelines: [`collections::manipulate`].
//! - Graphs, keys, pictures: [`graph`].
//! - Collections and operations of one's own: [`collections::contract`], [`graph::custom`], [`testing`].
//! - Pipeline files: [`pipeline`], and `outcrop --help`.
//!
//! # Who may use whom
//!
//! From the bottom: [`dtype`], [`shape`], [`units`], [`token`], [`ids`], [`key`], [`csr`], [`block`], [`value`]
//! (a block or an object), [`annotate`]; [`store`] (their bytes on disk); then [`graph`]; then [`collections`] and [`kernel`] (kernels as data);
//! [`machine`]; [`steps`] (the plan, shared by planner and executor); [`plan`], [`device`], [`exec`]; [`report`];
//! [`session`], which names the concrete devices; [`pipeline`] (the file), and the command. [`testing`] is for third
//! parties, and nothing else uses it: it checks that a collection type of theirs meets the contract. `tests/tidy`
//! holds these arrows.
//!
//! # What is measured where
//!
//! Results depend on the logical chunks alone: not on threads, schedule, fusion or memory. Host, simulated
//! devices and CUDA give equal bits; wgpu is a numeric class of its own, within the tolerances that
//! `tests/wgpu_kernels` states. The README has the figures of speed and memory.
#![deny(missing_docs)]

pub mod annotate;
pub mod block;
pub mod cli;
pub mod collections;
pub mod csr;
pub mod device;
pub mod dtype;
pub mod error;
pub mod exec;
pub mod graph;
pub mod ids;
pub mod kernel;
pub mod key;
pub mod machine;
mod panics;
mod parts;
pub mod pipeline;
pub mod plan;
pub mod reactor;
pub mod report;
pub mod session;
pub mod settings;
pub mod shape;
pub mod simulate;
pub mod steps;
pub mod store;
mod sync;
pub mod task;
pub mod testing;
pub mod token;
pub mod units;
pub mod value;

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
