//! What can go wrong with chunks on disk.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::chunk::{Content, Damage, DecodeError, Kind};
use crate::block::Block;
use crate::token::Token;
use crate::units::Bytes;

/// Writing or reading chunks on disk failed. Whatever was written before is still there, unless the error says that
/// it is damaged.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The operating system refused.
    #[error("can't {doing} {}: {source}; {}", path.display(), advice(source))]
    Io {
        /// What was tried, as a verb: `read`, `open`.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Its answer.
        source: Arc<io::Error>,
    },
    /// The disk, or the user's part of it, is full. What had been written of the chunk is freed again.
    #[error(
        "no room for {needed} more in {}: {source}; free space there, or name a folder on another disk",
        path.display()
    )]
    Full {
        /// The file or folder.
        path: PathBuf,
        /// Size of the chunk that was to be written, before compression.
        needed: Bytes,
        /// The operating system's answer.
        source: Arc<io::Error>,
    },
    /// The store's own limit would be exceeded.
    #[error(
        "no room for {needed} more in {}: {held} of at most {limit} are in use; raise the limit",
        path.display()
    )]
    Limit {
        /// The store's folder.
        path: PathBuf,
        /// Size of the chunk that was to be written, before compression.
        needed: Bytes,
        /// Bytes on disk, by chunks that are kept or being written.
        held: Bytes,
        /// The limit.
        limit: Bytes,
    },
    /// The bytes on disk aren't those that were written.
    #[error("{} is damaged: {damage}; what it held must be computed again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        damage: Damage,
    },
    /// The chunk is whole and is something else than what was asked for.
    #[error("{} holds {found} where {wanted} was asked for; it must be computed again", path.display())]
    Mismatch {
        /// The file.
        path: PathBuf,
        /// What is there.
        found: Box<Kind>,
        /// What was asked for.
        wanted: Box<Kind>,
    },
    /// Only the host's memory can be written to disk, and read into.
    #[error("{kind} isn't in the host's memory; copy it there first")]
    NotOnHost {
        /// The block.
        kind: Box<Kind>,
    },
    /// Another store, in this process or another one, uses the folder.
    #[error("another run uses {}; wait for it to end, or name another folder", folder.display())]
    InUse {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder holds something else, which isn't touched.
    #[error(
        "{} is no folder of Outcrop's: {problem}; name an empty or a new folder",
        folder.display()
    )]
    Foreign {
        /// The folder.
        folder: PathBuf,
        /// What shows it.
        problem: String,
    },
    /// The folder was written by another version of Outcrop.
    #[error(
        "{} was written in format {found}, and this Outcrop knows format {known}; \
         use the Outcrop that wrote it, or name another folder",
        folder.display()
    )]
    Version {
        /// The folder.
        folder: PathBuf,
        /// The format that it says it has.
        found: u32,
        /// The format that is known.
        known: u32,
    },
    /// The store has no such chunk.
    #[error("{} has no chunk {token}; it must be computed", folder.display())]
    Unknown {
        /// The folder.
        folder: PathBuf,
        /// The chunk's content token.
        token: Token,
    },
}

impl StoreError {
    /// Whether it is this chunk's bytes that are lost, so that computing it again helps: they are unknown, damaged,
    /// of something else, or can't be read.
    pub fn is_lost_chunk(&self) -> bool {
        match self {
            StoreError::Damaged { .. } | StoreError::Mismatch { .. } | StoreError::Unknown { .. } => true,
            StoreError::Io { doing, .. } => *doing == READ,
            _ => false,
        }
    }

    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
        move |source| StoreError::Io { doing, path: path.to_owned(), source: Arc::new(source) }
    }

    /// Like [`StoreError::io`], for what takes space on disk.
    pub(super) fn writing(path: &Path, needed: u64) -> impl FnOnce(io::Error) -> StoreError {
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                StoreError::Full { path: path.to_owned(), needed: Bytes(needed), source: Arc::new(source) }
            }
            _ => StoreError::io("write", path)(source),
        }
    }

    /// For a chunk in `path` that holds `found`.
    pub(super) fn reading(path: &Path, found: &Kind, wanted: &Kind, error: DecodeError) -> StoreError {
        let path = path.to_owned();
        match error {
            DecodeError::Io(source) => StoreError::io(READ, &path)(source),
            DecodeError::Damaged(damage) => StoreError::Damaged { path, damage },
            DecodeError::Mismatch => StoreError::Mismatch {
                path,
                found: Box::new(found.clone()),
                wanted: Box::new(wanted.clone()),
            },
        }
    }

    /// The block as what is to be written, when it is on the host.
    pub(super) fn on_host(block: &Block) -> Result<Content<'_>, StoreError> {
        Content::block(block).ok_or_else(|| StoreError::NotOnHost { kind: Box::new(Kind::of(block)) })
    }
}

/// What was tried when a chunk's bytes can't be read.
pub(super) const READ: &str = "read";

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "make the folder, or name another one",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "make it writable, or name another folder"
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => "name a folder",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free space there, or name a folder on another disk"
        }
        _ => "check the disk, or name a folder on another one",
    }
}
