//! Chunks in a folder that a later run goes on from.
//!
//! ```text
//! DIR/lock             held while a store is open
//! DIR/manifest         which chunks there are, and where: a journal of records with checksums
//! DIR/chunks-00000001  chunks one behind the other, each with its header
//! ```
//!
//! **What the manifest names is there**, at whatever instant the process or the machine stopped: chunks are written,
//! their files synced, then the folder, and only then are their records appended and the manifest synced. Many
//! chunks share these syncs, so that they cost next to nothing each: [`ResumeStore::flush`], which
//! [`ResumeStore::put`] calls itself after 64 MiB, 1024 chunks, or a second. What wasn't flushed is lost with the
//! process, and nothing else is.
//!
//! Each thread that writes has a file of its own, which is closed at 256 MiB; a store never writes to the files of
//! former ones. So a hundred thousand chunks are a few files, and no byte that a record names is ever written again.
//!
//! **What is removed when.** Nothing of itself: a chunk is named by its content's token, so that a changed pipeline
//! doesn't find old ones, and an undone change finds them again. [`ResumeStore::remove_unused`] drops all but the
//! tokens it is given; its space comes back then for files of former stores, and for this one's when the folder is
//! next opened or cleaned. Files without any chunk, as a killed run leaves them, are deleted when the folder is
//! opened. A file that isn't the store's own is never touched.

mod folder;
mod manifest;
mod note;
mod state;

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use self::folder::{Locked, segment_path};
use self::manifest::{Manifest, Record, sync_folder};
use self::state::{Pending, Segment, State};
use super::StoreError;
use super::chunk::{self, Content, DecodeError, Header, Kind};
use super::figures::Figures;
use super::file::read_exact_at;
use crate::block::Block;
use crate::token::Token;

pub use note::ResumeNote;

/// Keeps chunks in a folder. Threads may share it.
pub struct ResumeStore {
    folder: PathBuf,
    /// Locked before `state` where both are.
    manifest: Mutex<Manifest>,
    state: Mutex<State>,
    /// Files with this number and above are this store's.
    first_own: u32,
    lock: File,
}

impl ResumeStore {
    /// Opens a folder, or makes one. O(chunks).
    ///
    /// # Errors
    /// [`StoreError::InUse`] when another store has it open; [`StoreError::Foreign`] when it holds something else, or
    /// its manifest's head is damaged, and [`StoreError::Version`], and nothing in it is changed then;
    /// [`StoreError::Io`], [`StoreError::Full`].
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let Locked { lock, opened } = folder::lock(folder)?;
        let mut notes = Vec::new();
        if opened.lost_bytes > 0 {
            notes.push(ResumeNote::Torn { bytes: opened.lost_bytes });
        }
        let records = opened.records.into_iter().map(|record| (record.token, record)).collect();
        let (chunks, next_segment) = folder::with_files(folder, records, &mut notes)?;
        Ok(ResumeStore {
            folder: folder.to_owned(),
            manifest: Mutex::new(opened.manifest),
            state: Mutex::new(State::new(chunks, next_segment, notes)),
            first_own: next_segment,
            lock,
        })
    }

    /// Whether the chunk is there, as far as the manifest and the lengths of files tell.
    pub fn contains(&self, token: Token) -> bool {
        self.state().chunks.contains_key(&token)
    }

    /// Number of chunks.
    pub fn chunks(&self) -> usize {
        self.state().chunks.len()
    }

    /// Keeps a block of the host's memory under its content's token; one that is there already is left as it is. It
    /// is safe after the next flush, which this call makes when it is due. O(bytes).
    ///
    /// # Errors
    /// [`StoreError::Full`], [`StoreError::Io`], also of the flush; see there. [`StoreError::NotOnHost`].
    pub fn put(&self, token: Token, block: &Block) -> Result<(), StoreError> {
        self.put_content(token, &StoreError::on_host(block)?)
    }

    /// Keeps an object's bytes. As [`put`](ResumeStore::put).
    pub fn put_bytes(&self, token: Token, type_name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.put_content(token, &Content::object(type_name, bytes))
    }

    /// Reads a chunk into a host block of its type and shape, which may be strided. O(bytes).
    ///
    /// # Errors
    /// All of them but [`StoreError::NotOnHost`] mean that the chunk must be computed again: it is forgotten, a note
    /// says so, and the block's elements are of no use.
    pub fn read(&self, token: Token, into: &Block) -> Result<(), StoreError> {
        StoreError::on_host(into)?;
        self.read_with(token, &Kind::of(into), |header, read| chunk::decode_block(header, read, into))
    }

    /// Reads the bytes of an object of this type. As [`read`](ResumeStore::read).
    pub fn read_bytes(&self, token: Token, type_name: &str) -> Result<Vec<u8>, StoreError> {
        let wanted = Kind::Object { type_name: type_name.to_owned() };
        self.read_with(token, &wanted, |header, read| {
            if header.kind == wanted { chunk::decode_bytes(header, read) } else { Err(DecodeError::Mismatch) }
        })
    }

    /// Makes safe what was put before: after it, neither a kill nor a loss of power loses it.
    ///
    /// # Errors
    /// [`StoreError::Full`] or [`StoreError::Io`]. Chunks whose own files couldn't be synced are forgotten; where it
    /// was the manifest, the next flush tries again. What was safe before stays so.
    pub fn flush(&self) -> Result<(), StoreError> {
        let started = Instant::now();
        let mut manifest = self.manifest.lock().unwrap_or_else(PoisonError::into_inner);
        let pending = std::mem::take(&mut self.state().pending);
        if pending.records.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.sync(&pending) {
            self.state().lose_all(&pending, &error);
            return Err(error);
        }
        let all = || self.state().safe();
        if let Err(error) = manifest.append(&pending.records, all) {
            self.state().pending.records.extend(pending.records);
            return Err(error);
        }
        self.state().figures.write_seconds += started.elapsed().as_secs_f64();
        Ok(())
    }

    /// Drops all chunks but those of these tokens, and returns how many there were. O(chunks).
    ///
    /// # Errors
    /// As [`flush`](ResumeStore::flush); no chunk is dropped then.
    pub fn remove_unused(&self, used: &HashSet<Token>) -> Result<usize, StoreError> {
        self.flush()?;
        let mut manifest = self.manifest.lock().unwrap_or_else(PoisonError::into_inner);
        let kept: Vec<Record> =
            self.state().safe().into_iter().filter(|record| used.contains(&record.token)).collect();
        *manifest = Manifest::replace(&self.folder, kept.iter().copied())?;
        let mut state = self.state();
        let before = state.chunks.len();
        state.chunks.retain(|token, _| used.contains(token));
        state.pending.records.retain(|record| used.contains(&record.token));
        let removed = before - state.chunks.len();
        drop(state);
        self.free(&kept);
        Ok(removed)
    }

    /// What was found wrong with the folder and its chunks since the last call.
    pub fn take_notes(&self) -> Vec<ResumeNote> {
        std::mem::take(&mut self.state().notes)
    }

    /// What was written and read.
    pub fn figures(&self) -> Figures {
        self.state().figures
    }

    fn put_content(&self, token: Token, content: &Content) -> Result<(), StoreError> {
        let started = Instant::now();
        if self.contains(token) {
            return Ok(());
        }
        let mut segment = self.segment()?;
        let record = segment.append(token, content, &segment_path(&self.folder, segment.number));
        let mut state = self.state();
        if let Ok(record) = &record {
            state.add(*record, &segment);
            state.figures.wrote(content.bytes(), record.end() - record.offset, started);
        }
        if !segment.is_full() {
            state.idle.push(segment);
        }
        let is_due = state.pending.is_due();
        drop(state);
        record?;
        if is_due { self.flush() } else { Ok(()) }
    }

    /// A file to write to, for the caller alone.
    fn segment(&self) -> Result<Segment, StoreError> {
        let mut state = self.state();
        if let Some(segment) = state.idle.pop() {
            return Ok(segment);
        }
        let number = state.next_segment;
        state.next_segment += 1;
        drop(state);
        Segment::make(number, &segment_path(&self.folder, number))
    }

    /// Syncs the files of chunks, and the folder that names them.
    fn sync(&self, pending: &Pending) -> Result<(), StoreError> {
        for (number, file) in &pending.files {
            let path = segment_path(&self.folder, *number);
            file.sync_data().map_err(StoreError::writing(&path, pending.bytes))?;
        }
        sync_folder(&self.folder).map_err(StoreError::writing(&self.folder, pending.bytes))
    }

    fn read_with<R>(
        &self,
        token: Token,
        wanted: &Kind,
        decode: impl FnOnce(&Header, &mut dyn FnMut(&mut [u8]) -> std::io::Result<()>) -> Result<R, DecodeError>,
    ) -> Result<R, StoreError> {
        let started = Instant::now();
        let record = self.state().chunks.get(&token).copied();
        let record = record.ok_or_else(|| StoreError::Unknown { folder: self.folder.clone(), token })?;
        let path = segment_path(&self.folder, record.segment);
        let mut found = wanted.clone();
        let result = record.open(&path).and_then(|(header, file)| {
            let mut at = record.offset + u64::from(record.header_bytes);
            found = header.kind.clone();
            let value = decode(&header, &mut |bytes| {
                read_exact_at(&file, bytes, at)?;
                at += bytes.len() as u64;
                Ok(())
            })?;
            Ok((value, header.raw_bytes))
        });
        let mut state = self.state();
        match result {
            Ok((value, raw_bytes)) => {
                state.figures.read(raw_bytes, started);
                Ok(value)
            }
            Err(error) => {
                let error = StoreError::reading(&path, &found, wanted, error);
                state.lose(&record, &error);
                Err(error)
            }
        }
    }

    /// Deletes files of former stores that hold nothing of what is kept, and frees what lies between the kept parts
    /// of the others.
    fn free(&self, kept: &[Record]) {
        let mut parts: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
        for record in kept {
            parts.entry(record.segment).or_default().push((record.offset, record.end()));
        }
        let numbers = folder::segments(&self.folder).unwrap_or_default();
        for number in numbers.into_iter().filter(|number| *number < self.first_own) {
            let parts = parts.remove(&number).unwrap_or_default();
            folder::free_between(&segment_path(&self.folder, number), parts);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ResumeStore {
    fn drop(&mut self) {
        // Whoever must know calls `flush` before.
        let _ = self.flush();
        // Closing isn't enough: a process that is just being started holds the file too, until it runs its program.
        let _ = self.lock.unlock();
    }
}

#[cfg(test)]
mod tests;
