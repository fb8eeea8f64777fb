//! What a resume store knows in memory: its chunks, those that aren't safe yet, and its open files.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::StoreError;
use super::super::chunk::{self, Content, Damage, DecodeError, Header};
use super::super::figures::Figures;
use super::super::file::{read_exact_at, write_all_at};
use super::manifest::Record;
use super::note::ResumeNote;
use crate::token::Token;

/// See [`chunk::encode`]: space counts more here than time.
const WORTH: f32 = 0.9;
/// A file that is longer gets no more chunks.
const SEGMENT_BYTES: u64 = 256 << 20;
/// A flush is due after this many bytes, chunks, or this much time.
const FLUSH_BYTES: u64 = 64 << 20;
const FLUSH_CHUNKS: usize = 1024;
const FLUSH_AGE: Duration = Duration::from_secs(1);

/// What all threads share.
pub struct State {
    /// Every chunk that can be read.
    pub chunks: HashMap<Token, Record>,
    /// Those of them that aren't safe yet.
    pub pending: Pending,
    /// Files that no thread writes to.
    pub idle: Vec<Segment>,
    /// The number of the next file.
    pub next_segment: u32,
    /// What was written and read.
    pub figures: Figures,
    /// What was found wrong.
    pub notes: Vec<ResumeNote>,
}

/// Chunks that are written, and not in the manifest yet.
#[derive(Default)]
pub struct Pending {
    /// Where they are.
    pub records: Vec<Record>,
    /// Their bytes on disk.
    pub bytes: u64,
    /// When the first was written.
    since: Option<Instant>,
    /// Their files.
    pub files: BTreeMap<u32, Arc<File>>,
}

/// A file of chunks; whoever has it writes to it alone.
pub struct Segment {
    /// By which it is named.
    pub number: u32,
    file: Arc<File>,
    end: u64,
}

impl State {
    /// Of a store that was just opened.
    pub fn new(chunks: HashMap<Token, Record>, next_segment: u32, notes: Vec<ResumeNote>) -> Self {
        let (pending, idle) = (Pending::default(), Vec::new());
        State { chunks, pending, idle, next_segment, figures: Figures::default(), notes }
    }

    /// Adds a chunk that isn't safe yet.
    pub fn add(&mut self, record: Record, segment: &Segment) {
        self.chunks.insert(record.token, record);
        self.pending.records.push(record);
        self.pending.bytes += record.end() - record.offset;
        self.pending.since.get_or_insert_with(Instant::now);
        self.pending.files.insert(segment.number, segment.file.clone());
    }

    /// The chunks that are whole on disk for certain.
    pub fn safe(&self) -> Vec<Record> {
        let pending: HashSet<Token> = self.pending.records.iter().map(|record| record.token).collect();
        self.chunks.values().filter(|record| !pending.contains(&record.token)).copied().collect()
    }

    /// Forgets a chunk, unless it was written anew meanwhile, and notes why.
    pub fn lose(&mut self, record: &Record, error: &StoreError) {
        if self.chunks.get(&record.token) == Some(record) {
            self.chunks.remove(&record.token);
            self.notes.push(ResumeNote::Forgotten { token: record.token, error: error.clone() });
        }
        self.pending.records.retain(|pending| pending != record);
    }

    /// Forgets chunks whose files couldn't be synced, and writes no more to these.
    pub fn lose_all(&mut self, pending: &Pending, error: &StoreError) {
        self.idle.retain(|segment| !pending.files.contains_key(&segment.number));
        pending.records.iter().for_each(|record| self.lose(record, error));
    }
}

impl Pending {
    /// Whether it is time to flush.
    pub fn is_due(&self) -> bool {
        self.bytes >= FLUSH_BYTES
            || self.records.len() >= FLUSH_CHUNKS
            || self.since.is_some_and(|since| since.elapsed() >= FLUSH_AGE)
    }
}

impl Segment {
    /// A new file.
    pub fn make(number: u32, path: &Path) -> Result<Self, StoreError> {
        let file = File::options().read(true).write(true).create_new(true).open(path);
        let file = file.map_err(StoreError::writing(path, 0))?;
        Ok(Segment { number, file: Arc::new(file), end: 0 })
    }

    /// Whether it takes no more chunks.
    pub fn is_full(&self) -> bool {
        self.end >= SEGMENT_BYTES
    }

    /// Writes a chunk behind the others. After an error nothing of it is left.
    pub fn append(&mut self, token: Token, content: &Content, path: &Path) -> Result<Record, StoreError> {
        let needed = content.bytes();
        let header_bytes = Header::bytes_of(content.kind());
        let start = self.end + header_bytes as u64;
        let mut at = start;
        let write =
            |bytes: &[u8], at| write_all_at(&self.file, bytes, at).map_err(StoreError::writing(path, needed));
        let header = chunk::encode(content, WORTH, &mut |bytes| {
            write(bytes, at)?;
            at += bytes.len() as u64;
            Ok(())
        });
        let header = header.and_then(|header| {
            let bytes = header.to_bytes();
            write(&bytes, self.end).map(|()| bytes)
        });
        let header = header.inspect_err(|_| {
            // What can't be cut off is written over by the next chunk.
            let _ = self.file.set_len(self.end);
        })?;
        let record = Record {
            token,
            segment: self.number,
            offset: self.end,
            header_bytes: header_bytes as u32,
            stored_bytes: at - start,
            checksum: checksum_of(&header),
        };
        self.end = at;
        Ok(record)
    }
}

impl Record {
    /// The chunk's header, and the file to read on from.
    pub fn open(&self, path: &Path) -> Result<(Header, File), DecodeError> {
        let file = File::open(path)?;
        let mut bytes = vec![0; self.header_bytes as usize];
        read_exact_at(&file, &mut bytes, self.offset)?;
        let header = Header::from_bytes(&bytes)?;
        if checksum_of(&bytes) != self.checksum || header.stored_bytes != self.stored_bytes {
            return Err(Damage::Header.into());
        }
        Ok((header, file))
    }
}

/// The checksum that a header ends with.
fn checksum_of(header: &[u8]) -> u32 {
    header.last_chunk().copied().map_or(0, u32::from_le_bytes)
}

#[cfg(test)]
impl Segment {
    /// Puts another file in place of its own, to let it fail.
    pub fn replace_file(&mut self, file: impl Into<Arc<File>>) -> Arc<File> {
        std::mem::replace(&mut self.file, file.into())
    }
}
