//! A resume folder: whose it is, who uses it, and which files it has.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::super::StoreError;
use super::super::file::punch;
use super::manifest::{self, MANIFEST, Manifest, Opened, Record, UNFINISHED, is_unfinished, sync_folder};
use super::note::ResumeNote;
use crate::token::Token;

const LOCK: &str = "lock";
const SEGMENT: &str = "chunks-";

/// A folder that nobody else uses.
pub struct Locked {
    /// Locked while it is open.
    pub lock: File,
    /// Its manifest.
    pub opened: Opened,
}

/// Takes a folder, and makes it and its manifest where there is none. A folder that holds something else isn't
/// touched.
pub fn lock(folder: &Path) -> Result<Locked, StoreError> {
    if !folder.is_dir() {
        std::fs::create_dir_all(folder).map_err(StoreError::io("make", folder))?;
        if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            sync_folder(parent).map_err(StoreError::io("sync", parent))?;
        }
    }
    check_owner(folder)?;
    let path = folder.join(LOCK);
    let lock = File::options().read(true).write(true).create(true).truncate(false).open(&path);
    let lock = lock.map_err(StoreError::io("open", &path))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(StoreError::InUse { folder: folder.to_owned() }),
        Err(TryLockError::Error(error)) => return Err(StoreError::io("lock", &path)(error)),
    }
    let opened = match Manifest::open(folder)? {
        Some(opened) => opened,
        None => {
            let manifest = Manifest::replace(folder, std::iter::empty())?;
            Opened { manifest, records: Vec::new(), lost_bytes: 0 }
        }
    };
    Ok(Locked { lock, opened })
}

/// The chunks whose files are there and long enough, and the first free number of a file. Files without any chunk
/// are deleted.
pub fn with_files(
    folder: &Path,
    mut chunks: HashMap<Token, Record>,
    notes: &mut Vec<ResumeNote>,
) -> Result<(HashMap<Token, Record>, u32), StoreError> {
    let files = segments(folder)?;
    let named: HashSet<u32> = chunks.values().map(|record| record.segment).collect();
    let length =
        |number: &u32| std::fs::metadata(segment_path(folder, *number)).map_or(0, |metadata| metadata.len());
    let lengths: HashMap<u32, u64> = named.iter().map(|number| (*number, length(number))).collect();
    let mut missing: BTreeMap<u32, usize> = BTreeMap::new();
    chunks.retain(|_, record| {
        let is_there = record.end() <= lengths.get(&record.segment).copied().unwrap_or_default();
        if !is_there {
            *missing.entry(record.segment).or_default() += 1;
        }
        is_there
    });
    notes.extend(
        missing
            .into_iter()
            .map(|(number, chunks)| ResumeNote::Missing { file: segment_path(folder, number), chunks }),
    );
    let used: HashSet<u32> = chunks.values().map(|record| record.segment).collect();
    for number in files.iter().filter(|number| !used.contains(number)) {
        // What can't be deleted costs space, and nothing else.
        let _ = std::fs::remove_file(segment_path(folder, *number));
    }
    let last = files.iter().chain(&named).max().copied().unwrap_or_default();
    Ok((chunks, last.saturating_add(1)))
}

/// Where the file of a number is.
pub fn segment_path(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("{SEGMENT}{number:08}"))
}

/// The numbers of all files of chunks in a folder.
pub fn segments(folder: &Path) -> Result<Vec<u32>, StoreError> {
    let number = |name: &str| {
        let digits = name.strip_prefix(SEGMENT)?;
        let number = digits.parse().ok()?;
        (segment_path(folder, number).file_name()? == name).then_some(number)
    };
    Ok(names(folder)?.iter().filter_map(|name| number(name)).collect())
}

/// Frees all of a file but these parts (where they begin and end), or deletes it when there are none. What can't be
/// freed costs space, and nothing else.
pub fn free_between(path: &Path, mut parts: Vec<(u64, u64)>) {
    if parts.is_empty() {
        let _ = std::fs::remove_file(path);
        return;
    }
    let Ok(file) = File::options().write(true).open(path) else { return };
    parts.sort_unstable();
    let mut end = 0;
    for (start, next_end) in parts {
        punch(&file, end, start.saturating_sub(end));
        end = end.max(next_end);
    }
    let length = file.metadata().map_or(end, |metadata| metadata.len());
    punch(&file, end, length.saturating_sub(end));
}

/// Whether the folder has a manifest of ours, or nothing but what making one leaves behind.
fn check_owner(folder: &Path) -> Result<(), StoreError> {
    let names = names(folder)?;
    if names.iter().any(|name| name == MANIFEST) {
        return manifest::check(folder);
    }
    let is_ours = |name: &String| match name.as_str() {
        LOCK => std::fs::metadata(folder.join(LOCK)).is_ok_and(|metadata| metadata.len() == 0),
        UNFINISHED => is_unfinished(&folder.join(UNFINISHED)),
        _ => false,
    };
    match names.iter().find(|name| !is_ours(name)) {
        None => Ok(()),
        Some(name) => Err(StoreError::Foreign {
            folder: folder.to_owned(),
            problem: format!("it has no manifest, and holds '{name}'"),
        }),
    }
}

fn names(folder: &Path) -> Result<Vec<String>, StoreError> {
    let read = || {
        let entries = std::fs::read_dir(folder)?;
        let name =
            |entry: io::Result<std::fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
        entries.map(name).collect::<io::Result<Vec<String>>>()
    };
    let mut names = read().map_err(StoreError::io("read", folder))?;
    names.sort_unstable();
    Ok(names)
}
