//! What a resume folder had to tell.

use std::fmt;
use std::path::PathBuf;

use super::super::StoreError;
use crate::token::Token;

/// Something was wrong with a resume folder, and is put right by computing chunks again.
#[derive(Clone, Debug)]
pub enum ResumeNote {
    /// The manifest had bytes that are no records, as a kill or a loss of power leaves them.
    Torn {
        /// How many.
        bytes: u64,
    },
    /// The manifest names chunks in a file that is gone or too short.
    Missing {
        /// The file.
        file: PathBuf,
        /// How many chunks.
        chunks: usize,
    },
    /// A chunk was damaged, or its file couldn't be read or synced.
    Forgotten {
        /// The chunk's content token.
        token: Token,
        /// Why.
        error: StoreError,
    },
}

impl fmt::Display for ResumeNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResumeNote::Torn { bytes } => {
                write!(f, "{bytes} bytes of the manifest are no records; what they named is computed again")
            }
            ResumeNote::Missing { file, chunks } => {
                write!(f, "{} is gone or too short; its {chunks} chunks are computed again", file.display())
            }
            ResumeNote::Forgotten { token, error } => write!(f, "chunk {token} is forgotten: {error}"),
        }
    }
}
