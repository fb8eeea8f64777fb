//! Chunks that are on disk while the run that spilled them lasts.
//!
//! All chunks of a store are parts of one file without a name: it is gone, with its space, as soon as its process
//! is, however that ends. There is no folder to clean up, and none that can vanish. A file for each chunk costs more,
//! the smaller the chunks are (64 KiB: 0.2-0.4 GB/s against 3.3-4.0, into the page cache of ext4; from 16 MiB on they
//! are alike). A part that is freed is given back to the file system at once where that is possible (Linux), which
//! also spares writing what the disk hasn't got yet; elsewhere the space stays with the file, for later chunks.
//!
//! Chunks are compressed only where they shrink to less than half: compressing takes in 0.8 to 2 GB/s a thread, about
//! what a good disk does.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::StoreError;
use super::chunk::{self, Content, DecodeError, Header, Kind};
use super::figures::Figures;
use super::file::{punch, read_exact_at, write_all_at};
use super::space::{Extent, Space};
use crate::block::Block;
use crate::units::Bytes;

/// Parts begin at, and are, multiples of a page: what the file system gives and takes back.
const PAGE_BYTES: u64 = 1 << 12;
/// See [`chunk::encode`].
const WORTH: f32 = 0.5;

/// Keeps chunks on disk while it, or one of its chunks, is there. Threads may share it.
#[derive(Clone, Debug)]
pub struct SpillStore(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    folder: PathBuf,
    file: File,
    limit: Option<u64>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    space: Space,
    held: u64,
    held_peak: u64,
    figures: Figures,
}

/// A chunk on disk. Dropping it frees its space, which takes some 70 µs a MiB: not for under a lock.
#[derive(Debug)]
pub struct Spilled {
    header: Header,
    part: Part,
}

/// A part of the file, and how much of it is in use.
#[derive(Debug)]
struct Part {
    store: Arc<Inner>,
    extent: Extent,
    held: u64,
}

impl SpillStore {
    /// A store in a folder that is there, for at most `limit` bytes on disk; `None` leaves the limit to the disk.
    ///
    /// # Errors
    /// [`StoreError::Io`], when no file can be made there.
    pub fn new(folder: &Path, limit: Option<u64>) -> Result<Self, StoreError> {
        let file =
            tempfile::tempfile_in(folder).map_err(StoreError::io("make a file for spilling in", folder))?;
        Ok(SpillStore::on(file, folder, limit))
    }

    /// The system's folder for temporary files, or `/var/tmp` where the former is kept in memory: what is spilled
    /// there would stay in it.
    pub fn default_folder() -> PathBuf {
        let folder = std::env::temp_dir();
        let other = Path::new("/var/tmp");
        if is_in_memory(&folder) && other.is_dir() && !is_in_memory(other) { other.into() } else { folder }
    }

    fn on(file: File, folder: &Path, limit: Option<u64>) -> Self {
        SpillStore(Arc::new(Inner { folder: folder.to_owned(), file, limit, state: Mutex::default() }))
    }

    /// Writes a block in the host's memory. Several threads may write at once. O(bytes).
    ///
    /// # Errors
    /// [`StoreError::Full`], [`StoreError::Limit`] or [`StoreError::Io`]; nothing of the chunk is left on disk then,
    /// and other chunks stay as they are. [`StoreError::NotOnHost`].
    pub fn write(&self, block: &Block) -> Result<Spilled, StoreError> {
        self.write_content(&StoreError::on_host(block)?)
    }

    /// Writes an object's bytes. As [`write`](SpillStore::write).
    pub fn write_bytes(&self, type_name: &str, bytes: &[u8]) -> Result<Spilled, StoreError> {
        self.write_content(&Content::object(type_name, bytes))
    }

    /// Bytes on disk, in whole pages: by chunks that are kept, and by those being written.
    pub fn held_bytes(&self) -> u64 {
        self.0.state().held
    }

    /// The most bytes that were on disk at once, in whole pages.
    pub fn held_bytes_peak(&self) -> u64 {
        self.0.state().held_peak
    }

    /// What was written and read.
    pub fn figures(&self) -> Figures {
        self.0.state().figures
    }

    fn write_content(&self, content: &Content) -> Result<Spilled, StoreError> {
        let started = Instant::now();
        let needed = content.bytes();
        let most = content.stored_bytes_max().next_multiple_of(PAGE_BYTES);
        let extent = self.0.state().space.take(most);
        let mut part = Part { store: self.0.clone(), extent, held: 0 };
        let mut written = 0;
        let header = chunk::encode(content, WORTH, &mut |bytes| {
            part.hold(written + bytes.len() as u64, needed)?;
            write_all_at(&self.0.file, bytes, extent.start + written)
                .map_err(StoreError::writing(&self.0.folder, needed))?;
            written += bytes.len() as u64;
            Ok::<(), StoreError>(())
        })?;
        part.shrink();
        self.0.state().figures.wrote(needed, written, started);
        Ok(Spilled { header, part })
    }
}

impl Spilled {
    /// What it is.
    pub fn kind(&self) -> &Kind {
        &self.header.kind
    }

    /// Bytes before compression.
    pub fn bytes(&self) -> u64 {
        self.header.raw_bytes
    }

    /// Bytes on disk.
    pub fn stored_bytes(&self) -> u64 {
        self.header.stored_bytes
    }

    /// Reads it into a host block of its type and shape, which may be strided. O(bytes).
    ///
    /// # Errors
    /// [`StoreError::Damaged`] or [`StoreError::Io`], and the block's elements are of no use then;
    /// [`StoreError::Mismatch`], [`StoreError::NotOnHost`].
    pub fn read(&self, into: &Block) -> Result<(), StoreError> {
        StoreError::on_host(into)?;
        self.read_with(&Kind::of(into), |header, read| chunk::decode_block(header, read, into))
    }

    /// Reads an object's bytes. As [`read`](Spilled::read).
    pub fn read_bytes(&self) -> Result<Vec<u8>, StoreError> {
        let wanted = Kind::Object { type_name: "any".to_owned() };
        self.read_with(&wanted, |header, read| chunk::decode_bytes(header, read))
    }

    fn read_with<R>(
        &self,
        wanted: &Kind,
        decode: impl FnOnce(&Header, &mut dyn FnMut(&mut [u8]) -> io::Result<()>) -> Result<R, DecodeError>,
    ) -> Result<R, StoreError> {
        let started = Instant::now();
        let store = &self.part.store;
        let mut at = self.part.extent.start;
        let mut read = |bytes: &mut [u8]| {
            read_exact_at(&store.file, bytes, at)?;
            at += bytes.len() as u64;
            Ok(())
        };
        let result = decode(&self.header, &mut read).map_err(|error| {
            StoreError::reading(&store.folder.join("(spilled chunks)"), self.kind(), wanted, error)
        })?;
        store.state().figures.read(self.bytes(), started);
        Ok(result)
    }
}

impl Part {
    /// Counts the part's first `bytes` as in use, if the limit allows it.
    fn hold(&mut self, bytes: u64, needed: u64) -> Result<(), StoreError> {
        let more = bytes.next_multiple_of(PAGE_BYTES) - self.held;
        let mut state = self.store.state();
        let held = state.held + more;
        if let Some(limit) = self.store.limit.filter(|limit| held > *limit) {
            return Err(StoreError::Limit {
                path: self.store.folder.clone(),
                needed: Bytes(needed),
                held: Bytes(state.held),
                limit: Bytes(limit),
            });
        }
        state.held = held;
        state.held_peak = state.held_peak.max(held);
        self.held += more;
        Ok(())
    }

    /// Gives back what isn't in use, and was never written.
    fn shrink(&mut self) {
        let rest = Extent { start: self.extent.start + self.held, length: self.extent.length - self.held };
        self.extent.length = self.held;
        self.store.state().space.give(rest);
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        punch(&self.store.file, self.extent.start, self.held);
        let mut state = self.store.state();
        state.held -= self.held;
        state.space.give(self.extent);
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a folder's files are in memory, as far as the system says so.
fn is_in_memory(folder: &Path) -> bool {
    #[cfg(target_os = "linux")]
    {
        // TMPFS_MAGIC of linux/magic.h; the field's type depends on the architecture.
        rustix::fs::statfs(folder).is_ok_and(|system| system.f_type == 0x0102_1994)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = folder;
        false
    }
}

#[cfg(test)]
mod tests;
