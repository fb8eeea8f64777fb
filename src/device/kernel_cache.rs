//! Compiled kernels on disk, so that the next process needn't compile them: one file for each, named by the hash of
//! everything that it was made from.
//!
//! The cache is a convenience: what can't be read is compiled, what can't be written isn't kept. A file that isn't whole,
//! or was written by somebody else's mistake, is taken for missing.

use std::fs;
use std::path::{Path, PathBuf};

use super::user_cache;

/// A folder of compiled kernels.
#[derive(Clone, Debug)]
pub struct KernelCache {
    folder: Option<PathBuf>,
}

/// What a file begins with: its format, then the hash of what follows.
const FORMAT: &[u8] = b"outcrop kernel 1\n";

impl KernelCache {
    /// The user's: `outcrop/kernels` in `XDG_CACHE_HOME`, or else in `~/.cache`. Where there is neither nothing is kept.
    pub fn of_user() -> Self {
        KernelCache { folder: user_cache::folder().map(|folder| folder.join("kernels")) }
    }

    /// One in a folder, which is made when something is kept.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        KernelCache { folder: Some(folder.into()) }
    }

    /// What was kept for a key, and is whole. O(bytes).
    pub fn find(&self, key: &str) -> Option<Vec<u8>> {
        let file = fs::read(self.path(key)?).ok()?;
        let rest = file.strip_prefix(FORMAT)?;
        let (hash, image) = rest.split_at_checked(blake3::OUT_LEN)?;
        (blake3::hash(image).as_bytes() == hash).then(|| image.to_owned())
    }

    /// Keeps an image. Other processes see the whole file or none.
    pub fn keep(&self, key: &str, image: &[u8]) {
        if let Some(path) = self.path(key) {
            // Best effort: see the module.
            let _ = write(&path, image);
        }
    }

    fn path(&self, key: &str) -> Option<PathBuf> {
        let name = blake3::hash(key.as_bytes()).to_hex();
        Some(self.folder.as_ref()?.join(name.as_str()))
    }
}

fn write(path: &Path, image: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    std::io::Write::write_all(&mut file, &[FORMAT, blake3::hash(image).as_bytes(), image].concat())?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_come_back_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let cache = KernelCache::at(folder.path().join("deep/in"));
        assert_eq!(cache.find("a"), None);
        cache.keep("a", b"image");
        cache.keep("b", b"");
        assert_eq!(cache.find("a").as_deref(), Some(&b"image"[..]));
        assert_eq!(cache.find("b").as_deref(), Some(&b""[..]));
        let path = cache.path("a").unwrap();
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            assert_eq!(cache.find("a"), None, "{length} bytes");
        }
        cache.keep("a", b"image");
        assert_eq!(cache.find("a").as_deref(), Some(&b"image"[..]));
    }

    #[test]
    fn a_folder_that_cannot_be_made_keeps_nothing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let cache = KernelCache::at(file.path().join("kernels"));
        cache.keep("a", b"image");
        assert_eq!(cache.find("a"), None);
    }
}
