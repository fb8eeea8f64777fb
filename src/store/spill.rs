//! Chunks that are on disk while the run that spilled them lasts.
//!
//! All chunks of a store are parts of one file without a name: it is gone, with its space, as soon as its process
//! is, however that ends. There is no folder to clean up, and none that can vanish. A file for each chunk costs more,
//! the smaller the chunks are (64 KiB: 0.2-0.4 GB/s against 3.3-4.0, into the page cache of ext4; from 16 MiB on they
//! are alike). What is freed is given back to the file system where that is possible (Linux), which also spares writing
//! what the disk hasn't got yet: in stretches of a MiB, since a call takes longer than a small part is worth. Till then,
//! and elsewhere, it is the first to be used again.
//!
//! Chunks are compressed only where they shrink to less than half: compressing takes in 0.8 to 2 GB/s a thread, about
//! what a good disk does. Where chunks of one type and shape don't shrink, ever fewer are tried.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::StoreError;
use super::chunk::{self, Content, DecodeError, Encoding, Header, Kind};
use super::figures::Figures;
use super::file::{punch, read_exact_at, write_all_at};
use super::space::{Extent, Space};
use crate::block::Block;
use crate::units::Bytes;

/// Parts begin at, and are, multiples of a page: what the file system gives and takes back.
const PAGE_BYTES: u64 = 1 << 12;
/// Stretches of free space of this length are given back to the file system.
const STRETCH_BYTES: u64 = 1 << 20;
/// See [`chunk::encode`].
const WORTH: f32 = 0.5;
/// Of chunks that don't shrink, one of so many is tried at least.
const UNTRIED_MAX: u32 = 15;

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
    /// What is free and takes no space on disk, as far as the file system can.
    space: Space,
    /// What is free and takes space: parts of less than a stretch.
    worn: Space,
    worn_bytes: u64,
    held: u64,
    held_peak: u64,
    luck: HashMap<Kind, Luck>,
    figures: Figures,
}

/// How well chunks of a kind were compressed, of late.
#[derive(Debug, Default)]
struct Luck {
    /// How many aren't tried before the next one.
    untried: u32,
    /// How many weren't before the last one that didn't shrink; doubled for each.
    pause: u32,
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
    /// Whether it takes space on disk from the start.
    is_worn: bool,
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

    /// Bytes on disk, in whole pages, of chunks that are kept and of those being written.
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
        let is_tried = self.0.state().is_tried(content);
        let (most, worth) =
            if is_tried { (content.stored_bytes_max(), WORTH) } else { (content.bytes(), 0.0) };
        let mut part = Part::take(&self.0, most.next_multiple_of(PAGE_BYTES));
        let (start, mut written) = (part.extent.start, 0);
        let header = chunk::encode(content, worth, &mut |bytes| {
            part.hold(written + bytes.len() as u64, needed)?;
            write_all_at(&self.0.file, bytes, start + written)
                .map_err(StoreError::writing(&self.0.folder, needed))?;
            written += bytes.len() as u64;
            Ok::<(), StoreError>(())
        })?;
        part.shrink();
        let mut state = self.0.state();
        state.figures.wrote(needed, written, started);
        if is_tried {
            state.learn(content, header.encoding != Encoding::Raw);
        }
        drop(state);
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
    fn take(store: &Arc<Inner>, bytes: u64) -> Self {
        let mut state = store.state();
        let worn = state.worn.take_free(bytes);
        let is_worn = worn.is_some();
        state.worn_bytes -= if is_worn { bytes } else { 0 };
        let extent = worn.unwrap_or_else(|| state.space.take(bytes));
        Part { store: store.clone(), extent, is_worn, held: 0 }
    }

    /// Counts the part's first `bytes` as in use, if the limit allows it.
    fn hold(&mut self, bytes: u64, needed: u64) -> Result<(), StoreError> {
        let more = bytes.next_multiple_of(PAGE_BYTES) - self.held;
        let mut state = self.store.state();
        while self.store.limit.is_some_and(|limit| state.held + state.worn_bytes + more > limit)
            && let Some(worn) = state.take_worn(0)
        {
            drop(state);
            state = self.store.give_back(worn);
        }
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

    /// Gives back what isn't in use, and was never written here.
    fn shrink(&mut self) {
        let rest = Extent { start: self.extent.start + self.held, length: self.extent.length - self.held };
        self.extent.length = self.held;
        let mut state = self.store.state();
        if self.is_worn {
            state.wear(rest);
        } else {
            state.space.give(rest);
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.shrink();
        let mut state = self.store.state();
        state.held -= self.held;
        state.wear(self.extent);
        // A store that holds nothing takes no space.
        let least = if state.held == 0 { 0 } else { STRETCH_BYTES };
        while let Some(worn) = state.take_worn(least) {
            drop(state);
            state = self.store.give_back(worn);
        }
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the disk space of a free part back.
    fn give_back(&self, worn: Extent) -> MutexGuard<'_, State> {
        punch(&self.file, worn.start, worn.length);
        let mut state = self.state();
        state.space.give(worn);
        state
    }
}

impl State {
    /// A part that takes space on disk is free.
    fn wear(&mut self, part: Extent) {
        self.worn_bytes += part.length;
        self.worn.give(part);
    }

    /// The longest free part that takes space on disk, of `least` bytes at least.
    fn take_worn(&mut self, least: u64) -> Option<Extent> {
        let longest = self.worn.longest().filter(|part| part.length >= least)?;
        self.worn_bytes -= longest.length;
        self.worn.take_free(longest.length)
    }

    /// Whether it is worth trying to compress a content.
    fn is_tried(&mut self, content: &Content) -> bool {
        let luck = self.luck.entry(content.kind().clone()).or_default();
        let is_tried = luck.untried == 0;
        luck.untried = luck.untried.saturating_sub(1);
        is_tried
    }

    /// One was tried.
    fn learn(&mut self, content: &Content, has_shrunk: bool) {
        let luck = self.luck.entry(content.kind().clone()).or_default();
        let pause = if has_shrunk { 0 } else { (2 * luck.pause + 1).min(UNTRIED_MAX) };
        *luck = Luck { untried: pause, pause };
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
