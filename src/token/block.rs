//! Tokens of blocks: by what they hold, not by how it lies in memory.

use super::{Token, Tokenizer};
use crate::block::{Block, for_each_row};

/// Bytes that are gathered before they are hashed, where elements lie apart.
const PIECE_BYTES: usize = 1 << 12;

impl Block {
    /// The token of type, shape and elements, these by their bits: equal for a view and its copy. O(bytes),
    /// with a buffer of 4 KiB. `None` when the block isn't on the host; brought over, it has the same token.
    pub fn token(&self) -> Option<Token> {
        let start = self.host_pointer()?.cast_const();
        let size = self.dtype().size();
        let bytes_at = |offset: isize, elements: usize| {
            // SAFETY: the callers below stay inside the layout, which lies inside the buffer; this block
            // keeps that alive, and nobody writes to it once its task is done.
            unsafe { std::slice::from_raw_parts(start.offset(offset * size as isize), elements * size) }
        };
        let extents = self.shape().iter().map(|&extent| extent as i64);
        let fields = Tokenizer::new("block").text(self.dtype().name()).ints(extents);
        let fields = fields.streamed(b'y', self.layout.bytes(), |hasher| {
            let mut piece: Vec<u8> = Vec::with_capacity(PIECE_BYTES);
            for_each_row(&self.layout, |offset, length, stride| {
                if cfg!(target_endian = "little") && stride == 1 {
                    hasher.update(&piece).update(bytes_at(offset, length));
                    piece.clear();
                    return;
                }
                for step in 0..length as isize {
                    let at = piece.len();
                    piece.extend_from_slice(bytes_at(offset + step * stride, 1));
                    if cfg!(target_endian = "big") {
                        piece[at..].reverse();
                    }
                    if piece.len() == PIECE_BYTES {
                        hasher.update(&piece);
                        piece.clear();
                    }
                }
            });
            hasher.update(&piece);
        });
        Some(fields.finish())
    }
}
