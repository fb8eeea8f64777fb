//! Writing a file of known shape in any order, from several threads.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use crate::dtype::DType;
use crate::pipeline::staged::{OutputError, StagedFile};
use crate::shape::Shape;

/// Writes a C-order `.npy` file in the machine's byte order. Regions may come in any order and from several
/// threads; what nobody writes is zero. The file gets its name in [`NpyWriter::finish`]; dropped before, it
/// leaves nothing.
#[derive(Debug)]
pub struct NpyWriter {
    staged: StagedFile,
    /// Where the elements begin, a multiple of 64.
    data_offset: u64,
    data_bytes: u64,
    #[cfg(not(unix))]
    cursor: std::sync::Mutex<()>,
}

impl NpyWriter {
    /// Makes the temporary file beside `path`, with its header and its full length.
    ///
    /// # Errors
    /// The folder is missing or not writable, or the array is beyond what a file can hold.
    pub fn create(path: &Path, dtype: DType, shape: &Shape) -> Result<Self, OutputError> {
        let staged = StagedFile::create(path)?;
        let extents = shape.iter().map(|extent| *extent as u64);
        let data_bytes =
            extents.clone().try_fold(dtype.size() as u64, |bytes, extent| bytes.checked_mul(extent));
        let header = header(dtype, shape);
        let data_offset = header.len() as u64;
        let Some(data_bytes) = data_bytes.filter(|bytes| *bytes < i64::MAX as u64 - data_offset) else {
            return Err(staged.refused(format!("an array of shape {shape} is too large for a file")));
        };
        let prepare = |mut file: &File| {
            file.write_all(&header)?;
            file.set_len(data_offset + data_bytes)
        };
        prepare(staged.file()).map_err(|source| staged.failed(source))?;
        Ok(NpyWriter {
            staged,
            data_offset,
            data_bytes,
            #[cfg(not(unix))]
            cursor: std::sync::Mutex::new(()),
        })
    }

    /// Writes elements, as bytes, from the byte `offset` of the data on (0 is the first element).
    ///
    /// # Errors
    /// The region isn't inside the array, or the system refuses (a full disk, say).
    pub fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), OutputError> {
        let end = offset.checked_add(bytes.len() as u64);
        if end.is_none_or(|end| end > self.data_bytes) {
            let (count, all) = (bytes.len(), self.data_bytes);
            return Err(self.staged.refused(format!("{count} bytes at {offset} exceed the array's {all}")));
        }
        self.positioned(self.data_offset + offset, bytes).map_err(|source| self.staged.failed(source))
    }

    /// Bytes of all elements.
    pub fn data_bytes(&self) -> u64 {
        self.data_bytes
    }

    /// Syncs the file and gives it its final name, over any file of that name.
    ///
    /// # Errors
    /// The system refuses; then nothing is left.
    pub fn finish(self) -> Result<(), OutputError> {
        self.staged.commit()
    }

    #[cfg(unix)]
    fn positioned(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(self.staged.file(), bytes, offset)
    }

    #[cfg(not(unix))]
    fn positioned(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        use std::io::{Seek, SeekFrom};
        // The cursor is shared; nothing is left half done if a holder of the lock panicked.
        let _cursor = self.cursor.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut file = self.staged.file();
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(bytes)
    }
}

/// The header that NumPy writes: version 1, padded with spaces so that the data begins at a multiple of 64.
fn header(dtype: DType, shape: &Shape) -> Vec<u8> {
    let descr = match dtype {
        DType::Bool => "|b1".to_owned(),
        DType::U8 => "|u1".to_owned(),
        _ => {
            let order = if cfg!(target_endian = "big") { '>' } else { '<' };
            format!("{order}{}{}", dtype.name().chars().next().unwrap_or('f'), dtype.size())
        }
    };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    // At most 8 axes of 20 digits: the length always fits the 16 bits of version 1.
    const BEFORE_TEXT: usize = 10;
    let length = (BEFORE_TEXT + text.len() + 1).next_multiple_of(64) - BEFORE_TEXT;
    text.push_str(&" ".repeat(length - text.len() - 1));
    text.push('\n');
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend((length as u16).to_le_bytes());
    header.extend(text.as_bytes());
    header
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
