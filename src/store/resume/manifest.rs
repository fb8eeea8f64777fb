//! The journal of a resume folder: which chunks are whole on disk, and where.
//!
//! A head, and records of one length, each with a checksum. A record is appended only after its chunk was synced, so
//! whatever prefix of the file survives tells the truth; a record that was torn is no record.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::super::StoreError;
use super::super::file::write_all_at;
use crate::token::Token;

/// Its file's name.
pub const MANIFEST: &str = "manifest";
/// The name of a manifest that isn't whole yet.
pub const UNFINISHED: &str = "manifest.new";

const MAGIC: [u8; 8] = *b"OCRESUME";
const VERSION: u32 = 1;
const HEAD_BYTES: usize = 16;
const RECORD_BYTES: usize = 48;

/// A chunk that is whole on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Of its content.
    pub token: Token,
    /// The number of the file that it is in.
    pub segment: u32,
    /// Where its header begins.
    pub offset: u64,
    /// Bytes of its header.
    pub header_bytes: u32,
    /// Bytes behind the header.
    pub stored_bytes: u64,
    /// Its header's checksum, which covers that of the bytes.
    pub checksum: u32,
}

/// The open journal.
pub struct Manifest {
    folder: PathBuf,
    file: File,
    length: u64,
    /// A sync failed, after which nobody knows what of the file is on disk.
    is_unsure: bool,
}

/// What an existing journal says.
pub struct Opened {
    /// The journal, ready for more.
    pub manifest: Manifest,
    /// Its records, oldest first.
    pub records: Vec<Record>,
    /// Bytes that are no records.
    pub lost_bytes: u64,
}

impl Record {
    /// One past its last byte.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(u64::from(self.header_bytes)).saturating_add(self.stored_bytes)
    }

    fn to_bytes(self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..16].copy_from_slice(&self.token.bytes());
        bytes[16..20].copy_from_slice(&self.segment.to_le_bytes());
        bytes[20..28].copy_from_slice(&self.offset.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.header_bytes.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.stored_bytes.to_le_bytes());
        bytes[40..44].copy_from_slice(&self.checksum.to_le_bytes());
        let checksum = crc32fast::hash(&bytes[..44]);
        bytes[44..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// `None` when it isn't what was written.
    fn from_bytes(bytes: &[u8; RECORD_BYTES]) -> Option<Record> {
        let number = |range: std::ops::Range<usize>| {
            bytes[range].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
        };
        if number(44..48) != u64::from(crc32fast::hash(&bytes[..44])) {
            return None;
        }
        let mut token = [0; 16];
        token.copy_from_slice(&bytes[..16]);
        Some(Record {
            token: Token::from_bytes(token),
            segment: number(16..20) as u32,
            offset: number(20..28),
            header_bytes: number(28..32) as u32,
            stored_bytes: number(32..40),
            checksum: number(40..44) as u32,
        })
    }
}

impl Manifest {
    /// Opens a folder's journal and cuts off what follows its last record; `None` when there is no journal.
    pub fn open(folder: &Path) -> Result<Option<Opened>, StoreError> {
        let path = folder.join(MANIFEST);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::io("read", &path)(error)),
        };
        check_head(folder, &bytes)?;
        let (whole, _) = bytes[HEAD_BYTES..].as_chunks::<RECORD_BYTES>();
        let read: Vec<Option<Record>> = whole.iter().map(Record::from_bytes).collect();
        let last = read.iter().rposition(Option::is_some).map_or(0, |at| at + 1);
        let records: Vec<Record> = read.into_iter().flatten().collect();
        let lost_bytes = (bytes.len() - HEAD_BYTES - records.len() * RECORD_BYTES) as u64;
        let length = (HEAD_BYTES + last * RECORD_BYTES) as u64;
        let file = File::options().read(true).write(true).open(&path);
        let file = file.map_err(StoreError::io("open", &path))?;
        if length < bytes.len() as u64 {
            file.set_len(length).map_err(StoreError::io("shorten", &path))?;
        }
        let manifest = Manifest { folder: folder.to_owned(), file, length, is_unsure: false };
        Ok(Some(Opened { manifest, records, lost_bytes }))
    }

    /// Puts a journal with these records in place of the folder's, as a whole or not at all.
    pub fn replace(folder: &Path, records: impl Iterator<Item = Record>) -> Result<Manifest, StoreError> {
        let mut bytes = head().to_vec();
        records.for_each(|record| bytes.extend_from_slice(&record.to_bytes()));
        let (unfinished, path) = (folder.join(UNFINISHED), folder.join(MANIFEST));
        let length = bytes.len() as u64;
        let make = || {
            let file =
                File::options().read(true).write(true).create(true).truncate(true).open(&unfinished)?;
            write_all_at(&file, &bytes, 0)?;
            file.sync_all()?;
            std::fs::rename(&unfinished, &path)?;
            sync_folder(folder)?;
            Ok(file)
        };
        let file = make().map_err(StoreError::writing(&path, length))?;
        Ok(Manifest { folder: folder.to_owned(), file, length, is_unsure: false })
    }

    /// Adds records, durably. `all` are those that the journal should have, these included.
    ///
    /// After an error the journal has none of them, or some: they may be added again.
    pub fn append(
        &mut self,
        records: &[Record],
        all: impl FnOnce() -> Vec<Record>,
    ) -> Result<(), StoreError> {
        if self.is_unsure {
            *self = Manifest::replace(&self.folder, all().into_iter())?;
            return Ok(());
        }
        let bytes: Vec<u8> = records.iter().flat_map(|record| record.to_bytes()).collect();
        let path = self.folder.join(MANIFEST);
        let result = write_all_at(&self.file, &bytes, self.length).and_then(|()| self.file.sync_data());
        if let Err(error) = result {
            self.is_unsure = true;
            return Err(StoreError::writing(&path, bytes.len() as u64)(error));
        }
        self.length += bytes.len() as u64;
        Ok(())
    }
}

/// Whether a folder's journal is one that this Outcrop can read. Changes nothing.
pub fn check(folder: &Path) -> Result<(), StoreError> {
    let path = folder.join(MANIFEST);
    let mut head = Vec::new();
    let read = File::open(&path).and_then(|file| file.take(HEAD_BYTES as u64).read_to_end(&mut head));
    read.map_err(StoreError::io("read", &path))?;
    check_head(folder, &head)
}

/// Makes the names of files that were made or renamed in a folder durable.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    // Elsewhere folders can't be opened as files, and the file system keeps their order itself.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Whether a file is what is left of a manifest that was never finished.
pub fn is_unfinished(path: &Path) -> bool {
    std::fs::read(path).is_ok_and(|bytes| head().starts_with(&bytes[..bytes.len().min(HEAD_BYTES)]))
}

fn head() -> [u8; HEAD_BYTES] {
    head_of(VERSION)
}

fn head_of(version: u32) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..8].copy_from_slice(&MAGIC);
    head[8..12].copy_from_slice(&version.to_le_bytes());
    let checksum = crc32fast::hash(&head[..12]);
    head[12..].copy_from_slice(&checksum.to_le_bytes());
    head
}

fn check_head(folder: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let foreign = |problem: &str| StoreError::Foreign { folder: folder.into(), problem: problem.into() };
    if !bytes.starts_with(&MAGIC) {
        return Err(foreign("its file 'manifest' is of something else"));
    }
    let Some(head) = bytes.first_chunk::<HEAD_BYTES>() else {
        return Err(foreign("its manifest is cut off within the head"));
    };
    let found = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
    if *head != head_of(found) {
        return Err(foreign("the head of its manifest is damaged"));
    }
    if found != VERSION {
        return Err(StoreError::Version { folder: folder.into(), found, known: VERSION });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u32) -> Record {
        let token = Token::of(&i64::from(number));
        let offset = u64::from(number) * 1000;
        Record { token, segment: number, offset, header_bytes: 44, stored_bytes: 900, checksum: !number }
    }

    fn opened(folder: &Path) -> Opened {
        Manifest::open(folder).unwrap().unwrap()
    }

    #[test]
    fn a_cut_journal_has_the_records_before_the_cut_and_goes_on_from_there() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let mut manifest = Manifest::replace(folder, [record(0)].into_iter()).unwrap();
        manifest.append(&[record(1), record(2)], Vec::new).unwrap();
        let path = folder.join(MANIFEST);
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.len(), HEAD_BYTES + 3 * RECORD_BYTES);
        for cut in 0..=bytes.len() {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            let Some(whole) = cut.checked_sub(HEAD_BYTES) else {
                assert!(matches!(Manifest::open(folder), Err(StoreError::Foreign { .. })), "{cut}");
                continue;
            };
            let whole = whole / RECORD_BYTES;
            let Opened { mut manifest, records, lost_bytes } = opened(folder);
            assert_eq!(records, (0..whole as u32).map(record).collect::<Vec<_>>());
            assert_eq!(lost_bytes as usize, cut - HEAD_BYTES - whole * RECORD_BYTES);
            manifest.append(&[record(9)], Vec::new).unwrap();
            assert_eq!(opened(folder).records.last(), Some(&record(9)));
            assert_eq!(opened(folder).lost_bytes, 0);
        }
    }

    #[test]
    fn every_flipped_byte_costs_its_record_alone() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        Manifest::replace(folder, (0..3).map(record)).unwrap();
        let bytes = std::fs::read(folder.join(MANIFEST)).unwrap();
        for at in 0..bytes.len() {
            let mut wrong = bytes.clone();
            wrong[at] ^= 0x40;
            std::fs::write(folder.join(MANIFEST), &wrong).unwrap();
            match at.checked_sub(HEAD_BYTES) {
                None => assert!(Manifest::open(folder).is_err(), "{at}"),
                Some(at) => {
                    let lost = (at / RECORD_BYTES) as u32;
                    let kept: Vec<Record> = (0..3).filter(|n| *n != lost).map(record).collect();
                    assert_eq!(opened(folder).records, kept);
                }
            }
        }
    }

    #[test]
    fn other_versions_are_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(MANIFEST), head_of(7)).unwrap();
        let error = Manifest::open(folder.path()).map(|_| ()).unwrap_err();
        assert!(matches!(error, StoreError::Version { found: 7, known: 1, .. }));
        assert!(error.to_string().contains("format 7"), "{error}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn after_a_failed_append_the_journal_is_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let mut manifest = Manifest::replace(folder, [record(0)].into_iter()).unwrap();
        let file =
            std::mem::replace(&mut manifest.file, File::options().write(true).open("/dev/full").unwrap());
        let error = manifest.append(&[record(1)], Vec::new).unwrap_err();
        assert!(matches!(error, StoreError::Full { .. }), "{error}");
        drop(file);
        manifest.append(&[record(1)], || vec![record(0), record(1)]).unwrap();
        manifest.append(&[record(2)], Vec::new).unwrap();
        assert_eq!(opened(folder).records, (0..3).map(record).collect::<Vec<_>>());
    }
}
