//! From a chunk's bytes to memory.

use std::io;

use super::{Damage, Encoding, Header, Kind, PIECE_BYTES, Scratch, planes, room};
use crate::block::{Block, for_each_row};

/// A chunk can't be read.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// Reading failed.
    #[error(transparent)]
    Io(io::Error),
    /// What was read isn't what was written.
    #[error(transparent)]
    Damaged(#[from] Damage),
    /// The header is of something else.
    #[error("it is of another kind")]
    Mismatch,
}

impl From<io::Error> for DecodeError {
    /// A file that ends too early is damaged.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => DecodeError::Damaged(Damage::Short),
            _ => DecodeError::Io(error),
        }
    }
}

/// Fills a host block, which may be strided, from the chunk that `header` describes. `read` fills a slice with the
/// chunk's next bytes. After an error the block's elements are of no use. O(bytes).
pub fn decode_block(
    header: &Header,
    read: &mut dyn FnMut(&mut [u8]) -> io::Result<()>,
    into: &Block,
) -> Result<(), DecodeError> {
    let Some(start) = into.host_pointer().filter(|_| header.kind == Kind::of(into)) else {
        return Err(DecodeError::Mismatch);
    };
    Scratch::lend(|scratch| {
        let Scratch { gathered, by_plane, packed } = scratch;
        let mut pieces = Pieces::new(header, read, by_plane, packed);
        if into.layout.is_contiguous() {
            // SAFETY: a contiguous layout covers exactly these bytes of a buffer that the block keeps alive; nobody
            // else touches a block that is being made, and any bits are bytes.
            let target = unsafe { std::slice::from_raw_parts_mut(start, into.layout.bytes()) };
            target.chunks_mut(PIECE_BYTES).try_for_each(|piece| pieces.next(piece))?;
        } else {
            scatter(into, start, gathered, |piece| pieces.next(piece))?;
        }
        pieces.finish()
    })
}

/// The bytes of the object in the chunk that `header` describes. `read` fills a slice with the chunk's next bytes.
/// O(bytes).
pub fn decode_bytes(
    header: &Header,
    read: &mut dyn FnMut(&mut [u8]) -> io::Result<()>,
) -> Result<Vec<u8>, DecodeError> {
    let length = match header.kind {
        Kind::Object { .. } => usize::try_from(header.raw_bytes).map_err(|_| Damage::Header)?,
        Kind::Block { .. } => return Err(DecodeError::Mismatch),
    };
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    bytes.resize(length, 0);
    Scratch::lend(|scratch| {
        let mut pieces = Pieces::new(header, read, &mut scratch.by_plane, &mut scratch.packed);
        bytes.chunks_mut(PIECE_BYTES).try_for_each(|piece| pieces.next(piece))?;
        pieces.finish()
    })?;
    Ok(bytes)
}

/// The pieces of a chunk, one after the other.
struct Pieces<'a> {
    header: &'a Header,
    read: &'a mut dyn FnMut(&mut [u8]) -> io::Result<()>,
    by_plane: &'a mut Vec<u8>,
    packed: &'a mut Vec<u8>,
    checksum: crc32fast::Hasher,
    left: u64,
}

impl<'a> Pieces<'a> {
    fn new(
        header: &'a Header,
        read: &'a mut dyn FnMut(&mut [u8]) -> io::Result<()>,
        by_plane: &'a mut Vec<u8>,
        packed: &'a mut Vec<u8>,
    ) -> Self {
        let checksum = crc32fast::Hasher::new();
        Pieces { header, read, by_plane, packed, checksum, left: header.stored_bytes }
    }

    /// Fills `to`, whose length is that of the next piece.
    fn next(&mut self, to: &mut [u8]) -> Result<(), DecodeError> {
        if self.header.encoding == Encoding::Raw {
            return self.read(to);
        }
        let mut length = [0; size_of::<u32>()];
        self.read(&mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        if length == to.len() {
            return self.read(to);
        }
        if length > to.len() {
            return Err(self.wrong_length());
        }
        let mut packed = std::mem::take(self.packed);
        let result = self.read(room(&mut packed, length));
        *self.packed = packed;
        result?;
        let packed = &self.packed[..length];
        let result = match self.header.encoding {
            Encoding::Planes => planes::decompress(packed, room(self.by_plane, to.len()), to),
            _ => {
                lz4_flex::block::decompress_into(packed, to).ok().filter(|bytes| *bytes == to.len()).map(drop)
            }
        };
        result.ok_or(DecodeError::Damaged(Damage::Piece))
    }

    /// Whether all bytes were read, and are those that were written.
    fn finish(self) -> Result<(), DecodeError> {
        if self.left > 0 {
            return Err(self.wrong_length());
        }
        let (found, stored) = (self.checksum.finalize(), self.header.checksum);
        if found == stored { Ok(()) } else { Err(Damage::Checksum { found, stored }.into()) }
    }

    fn read(&mut self, to: &mut [u8]) -> Result<(), DecodeError> {
        self.left = self.left.checked_sub(to.len() as u64).ok_or_else(|| self.wrong_length())?;
        (self.read)(to)?;
        self.checksum.update(to);
        Ok(())
    }

    fn wrong_length(&self) -> DecodeError {
        Damage::Length { stored_bytes: self.header.stored_bytes }.into()
    }
}

/// Writes elements to a strided block in C order; `next` fills a slice with the following ones. It isn't called
/// again after an error.
fn scatter(
    into: &Block,
    start: *mut u8,
    gathered: &mut Vec<u8>,
    mut next: impl FnMut(&mut [u8]) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    let size = into.dtype().size();
    let mut left = into.layout.bytes();
    let (mut at, mut end) = (0, 0);
    let mut result = Ok(());
    for_each_row(&into.layout, |offset, length, stride| {
        for step in 0..length as isize {
            if at == end && result.is_ok() {
                (at, end) = (0, left.min(PIECE_BYTES));
                left -= end;
                result = next(room(gathered, end));
            }
            if result.is_err() {
                return;
            }
            let element = &gathered[at..at + size];
            // SAFETY: the layout lies inside the buffer, which the block keeps alive, and nobody else touches a
            // block that is being made.
            unsafe {
                let place = start.offset((offset + step * stride) * size as isize);
                std::ptr::copy_nonoverlapping(element.as_ptr(), place, size);
            }
            at += size;
        }
    });
    result
}
