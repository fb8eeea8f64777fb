//! How fast the devices of this machine truly are: measured once, when the user asks for it, and kept.
//!
//! ```text
//! device ──▶ measure ──▶ kept (the user's cache) ──▶ the inventory's rates and links
//! ```

mod kept;
mod measure;

pub use kept::Calibration;
pub use measure::{Copies, Measured, measure};
