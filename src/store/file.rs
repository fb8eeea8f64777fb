//! Reading and writing at a place in a file, without moving its cursor.

use std::fs::File;
use std::io;

/// Writes all bytes at `at`.
pub fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::write_all_at(file, bytes, at);
    #[cfg(windows)]
    return sequence(bytes.len(), |done| {
        std::os::windows::fs::FileExt::seek_write(file, &bytes[done..], at + done as u64)
    });
}

/// Fills `bytes` from `at`. A file that ends before is [`io::ErrorKind::UnexpectedEof`].
pub fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_exact_at(file, bytes, at);
    #[cfg(windows)]
    return sequence(bytes.len(), |done| {
        std::os::windows::fs::FileExt::seek_read(file, &mut bytes[done..], at + done as u64)
    });
}

/// Calls `step(done)`, which handles some more bytes, until `length` are done.
#[cfg(windows)]
fn sequence(length: usize, mut step: impl FnMut(usize) -> io::Result<usize>) -> io::Result<()> {
    let mut done = 0;
    while done < length {
        match step(done) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(more) => done += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Gives the disk space of a part of a file back; its length stays. Where the file system can't, the space stays
/// with the file.
pub fn punch(file: &File, at: u64, bytes: u64) {
    #[cfg(target_os = "linux")]
    if bytes > 0 {
        use rustix::fs::{FallocateFlags, fallocate};
        // A refusal costs space and nothing else.
        let _ = fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, at, bytes);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, at, bytes);
}
