//! Values' bytes on disk: chunks that are spilled while a run lasts, and chunks that a later run goes on from.
//!
//! [`chunk`] is how one block's or one object's bytes are written: compressed where that helps, and checked when
//! they are read. [`spill`] keeps chunks in a file that is gone with its process. [`resume`] keeps them in a
//! folder so that whatever it says it has is there, whenever the process or the machine stopped.
//!
//! Everything here waits for the disk on the calling thread, and may be called from several threads at once.

pub mod chunk;
mod error;
mod figures;
mod file;
pub mod resume;
mod space;
pub mod spill;

pub use error::StoreError;
pub use figures::Figures;
