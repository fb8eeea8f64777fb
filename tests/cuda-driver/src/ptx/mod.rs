//! PTX text, as NVRTC makes it, to code that [`run`](crate::run) executes.
//!
//! [`token`] cuts the text, [`parse`] reads declarations, [`body`] a function's statements, and `lower` makes
//! one [`code::Instruction`] of each. What isn't known, opcode or modifier, is an error that names the line.

mod atomic;
mod body;
pub mod code;
mod control;
mod convert;
mod declaration;
mod float;
mod half;
mod integer;
mod lower;
mod modifiers;
mod move_data;
mod parse;
mod rounding;
mod statement;
mod token;
mod types;

pub use parse::parse;

/// Why a text isn't executable, and where.
#[derive(Debug, PartialEq)]
pub struct PtxError {
    /// The line, from 1.
    pub line: u32,
    /// What is wrong, or not known.
    pub message: String,
}

impl PtxError {
    fn new(line: u32, message: impl Into<String>) -> PtxError {
        PtxError { line, message: message.into() }
    }
}

impl std::fmt::Display for PtxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PTX line {}: {}", self.line, self.message)
    }
}
