//! Files that get their final name only when they are complete.
//!
//! A [`StagedFile`] is a temporary file beside its target; [`StagedFile::commit`] syncs and renames it, and
//! dropping it removes it. A process that is killed outright leaves a file named `.NAME.….part` behind, never
//! one under the final name.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::NamedTempFile;

/// A file can't be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The target's folder doesn't exist or isn't one.
    #[error("cannot write {}: there is no folder {}", path.display(), folder.display())]
    NoFolder {
        /// The target.
        path: PathBuf,
        /// Its folder.
        folder: PathBuf,
    },
    /// The target is a folder.
    #[error("cannot write {}: it is a folder", path.display())]
    IsFolder {
        /// The target.
        path: PathBuf,
    },
    /// The system refused.
    #[error("cannot write {}: {source}", path.display())]
    Io {
        /// The target.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The data doesn't fit the format or what was announced.
    #[error("cannot write {}: {reason}", path.display())]
    Content {
        /// The target.
        path: PathBuf,
        /// Why, with figures.
        reason: String,
    },
}

/// A file under a temporary name.
#[derive(Debug)]
pub struct StagedFile {
    temporary: NamedTempFile,
    target: PathBuf,
    _listed: Listed,
}

/// Removes every temporary file of this process: for a process that is about to end without unwinding.
pub fn remove_all() {
    for path in std::mem::take(&mut *list()) {
        // One that is gone needs no removing, and nobody is left to hear of another error.
        let _ = std::fs::remove_file(path);
    }
}

static LIST: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn list() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    LIST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A temporary file's entry in the list of all.
#[derive(Debug)]
struct Listed(PathBuf);

impl Listed {
    fn new(path: &Path) -> Self {
        list().insert(path.to_owned());
        Listed(path.to_owned())
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        list().remove(&self.0);
    }
}

impl StagedFile {
    /// Makes the temporary file beside `target`.
    ///
    /// # Errors
    /// The folder is missing or not writable, or `target` is itself a folder.
    pub fn create(target: &Path) -> Result<Self, OutputError> {
        let path = target.to_path_buf();
        let Some(name) = target.file_name().filter(|_| !target.is_dir()) else {
            return Err(OutputError::IsFolder { path });
        };
        let folder = match target.parent() {
            Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
            Some(parent) => parent,
            None => return Err(OutputError::IsFolder { path }),
        };
        if !folder.is_dir() {
            return Err(OutputError::NoFolder { path, folder: folder.to_path_buf() });
        }
        let prefix = format!(".{}.", name.to_string_lossy());
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(".part");
        readable_by_others(&mut builder);
        let temporary = builder.tempfile_in(folder).map_err(|source| OutputError::Io { path, source })?;
        let listed = Listed::new(temporary.path());
        Ok(StagedFile { temporary, target: target.to_path_buf(), _listed: listed })
    }

    /// The open file.
    pub fn file(&self) -> &File {
        self.temporary.as_file()
    }

    /// The final name.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Syncs the content and gives the file its final name, over any file of that name.
    ///
    /// # Errors
    /// The system refuses; the temporary file is then removed.
    pub fn commit(self) -> Result<(), OutputError> {
        let fail = |source| OutputError::Io { path: self.target.clone(), source };
        self.temporary.as_file().sync_all().map_err(fail)?;
        self.temporary.persist(&self.target).map(drop).map_err(|error| fail(error.error))
    }

    /// An error about the target.
    pub(super) fn failed(&self, source: io::Error) -> OutputError {
        OutputError::Io { path: self.target.clone(), source }
    }

    /// An error about what was to be written.
    pub(super) fn refused(&self, reason: String) -> OutputError {
        OutputError::Content { path: self.target.clone(), reason }
    }
}

/// Temporary files are private by default; outputs follow the umask as every other file does.
#[cfg(unix)]
fn readable_by_others(builder: &mut tempfile::Builder<'_, '_>) {
    use std::os::unix::fs::PermissionsExt;
    builder.permissions(std::fs::Permissions::from_mode(0o666));
}

#[cfg(not(unix))]
fn readable_by_others(_builder: &mut tempfile::Builder<'_, '_>) {}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn the_final_name_appears_with_the_content() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("x.npy");
        let staged = StagedFile::create(&target).unwrap();
        staged.file().write_all(b"new").unwrap();
        assert!(!target.exists());
        staged.commit().unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["x.npy"]);
    }

    #[test]
    fn a_dropped_file_leaves_nothing_and_keeps_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("x.npy");
        std::fs::write(&target, "old").unwrap();
        let staged = StagedFile::create(&target).unwrap();
        staged.file().write_all(b"new").unwrap();
        drop(staged);
        assert_eq!(std::fs::read(&target).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["x.npy"]);
    }

    #[test]
    fn bad_targets_are_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("no/such/x.npy");
        assert!(matches!(StagedFile::create(&missing), Err(OutputError::NoFolder { .. })));
        assert!(matches!(StagedFile::create(folder.path()), Err(OutputError::IsFolder { .. })));
        assert!(matches!(StagedFile::create(Path::new("/")), Err(OutputError::IsFolder { .. })));
    }
}
