//! NumPy's `.npy` format: inputs are memory-mapped, outputs written in any order by any number of threads.
//!
//! The format is that of NEP 1 (<https://numpy.org/neps/nep-0001-npy-format.html>), versions 1 to 3.

mod read;
mod write;

pub use read::{ByteOrder, NpyError, NpyFile, Order};
pub use write::NpyWriter;
