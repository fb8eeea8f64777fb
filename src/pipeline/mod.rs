//! The pipeline file: TOML with NumPy-like expressions, read and checked; and the files it names.
//!
//! ```text
//! text ─▶ schema::read ─▶ File ─▶ apply_override* ─▶ check ─▶ Checked (layers in topological order)
//!                                                      └──▶ problems, rendered by diagnostic
//! ```
//!
//! Nothing here opens a file until asked to: [`npy`] maps inputs, [`npy`] and [`picture`] write outputs under
//! a temporary name first ([`staged`]).

pub mod check;
pub mod diagnostic;
pub mod expr;
pub mod npy;
pub mod picture;
pub mod schema;
pub mod staged;
