//! LZ4 by planes: the first bytes of all words of eight bytes together, then the second ones, and so on.
//!
//! Narrower elements share a word, and each has planes of its own there, so that one transposition serves all types.
//! A plane of equal bytes is one byte, which LZ4 would be slow to read; one that doesn't shrink stays as it is.
//!
//! ```text
//! eight planes, each:  0u32 byte | length of the plane, bytes | length below it, LZ4
//! the last bytes, fewer than 64, as they are
//! ```

use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};

/// Bytes that are transposed at once: eight words.
const BLOCK: usize = 64;
const LENGTH: usize = size_of::<u32>();

/// The most bytes that [`compress`] makes of so many.
pub fn size_max(bytes: usize) -> usize {
    8 * (LENGTH + get_maximum_output_size(bytes / 8)) + BLOCK
}

/// Writes the compressed `bytes` to `to`, of at least [`size_max`], and returns how many these are. `planes` is
/// scratch of the same length as `bytes`.
pub fn compress(bytes: &[u8], planes: &mut [u8], to: &mut [u8]) -> usize {
    let tail = split(bytes, planes);
    let mut at = 0;
    for plane in planes[..bytes.len() - tail.len()].chunks_exact(plane_bytes(bytes)) {
        let (length, rest) = to[at..].split_at_mut(LENGTH);
        let (stored, written) = match plane {
            // Compared as memory, which is far faster than byte by byte.
            [first, others @ ..] if *others == plane[..others.len()] => {
                rest[0] = *first;
                (0, 1)
            }
            _ => match compress_into(plane, rest) {
                Ok(stored) if stored < plane.len() => (stored, stored),
                _ => {
                    rest[..plane.len()].copy_from_slice(plane);
                    (plane.len(), plane.len())
                }
            },
        };
        length.copy_from_slice(&(stored as u32).to_le_bytes());
        at += LENGTH + written;
    }
    to[at..at + tail.len()].copy_from_slice(tail);
    at + tail.len()
}

/// The inverse of [`compress`]; `None` when `from` is nothing that it wrote for so many bytes.
pub fn decompress(mut from: &[u8], planes: &mut [u8], bytes: &mut [u8]) -> Option<()> {
    let tail = bytes.len() % BLOCK;
    let end = bytes.len() - tail;
    for plane in planes[..end].chunks_exact_mut(plane_bytes(bytes)) {
        let (length, rest) = from.split_first_chunk::<LENGTH>()?;
        let stored = u32::from_le_bytes(*length) as usize;
        from = match stored {
            0 => {
                let (byte, rest) = rest.split_first()?;
                plane.fill(*byte);
                rest
            }
            _ => {
                let (packed, rest) = rest.split_at_checked(stored)?;
                if stored == plane.len() {
                    plane.copy_from_slice(packed);
                } else if decompress_into(packed, plane).ok()? != plane.len() {
                    return None;
                }
                rest
            }
        };
    }
    join(planes, bytes);
    (from.len() == tail).then(|| bytes[end..].copy_from_slice(from))
}

/// Bytes of a plane; 1 where there are no planes.
fn plane_bytes(bytes: &[u8]) -> usize {
    (bytes.len() / BLOCK * 8).max(1)
}

/// Writes the eight planes of all whole blocks, and returns the rest.
fn split<'a>(bytes: &'a [u8], planes: &mut [u8]) -> &'a [u8] {
    let (blocks, tail) = bytes.as_chunks::<BLOCK>();
    let (planes, _) = planes.as_chunks_mut::<8>();
    for (at, block) in blocks.iter().enumerate() {
        let (words, _) = block.as_chunks::<8>();
        let columns = transposed(std::array::from_fn(|row| u64::from_le_bytes(words[row])));
        for (place, column) in columns.iter().enumerate() {
            planes[place * blocks.len() + at] = column.to_le_bytes();
        }
    }
    tail
}

/// The inverse of [`split`].
fn join(planes: &[u8], bytes: &mut [u8]) {
    let (blocks, _) = bytes.as_chunks_mut::<BLOCK>();
    let (planes, _) = planes.as_chunks::<8>();
    let count = blocks.len();
    for (at, block) in blocks.iter_mut().enumerate() {
        let words = transposed(std::array::from_fn(|place| u64::from_le_bytes(planes[place * count + at])));
        let (rows, _) = block.as_chunks_mut::<8>();
        for (row, word) in rows.iter_mut().zip(words) {
            *row = word.to_le_bytes();
        }
    }
}

/// Eight rows of eight bytes, as columns: squares of four, two and one byte are exchanged (Hacker's Delight, 7-3).
#[inline(always)]
fn transposed(mut rows: [u64; 8]) -> [u64; 8] {
    for (distance, mask) in [(4, 0xFFFF_FFFF), (2, 0x0000_FFFF_0000_FFFF), (1, 0x00FF_00FF_00FF_00FF)] {
        for row in (0..8).filter(|row| row & distance == 0) {
            let (low, high) = (rows[row], rows[row + distance]);
            let exchanged = (low >> (8 * distance) ^ high) & mask;
            rows[row] = low ^ exchanged << (8 * distance);
            rows[row + distance] = high ^ exchanged;
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_are_joined_again() {
        let bytes: Vec<u8> = (0..200).collect();
        let mut planes = vec![0; 200];
        assert_eq!(split(&bytes, &mut planes), &bytes[192..]);
        assert_eq!(planes[..3], [0, 8, 16]);
        assert_eq!(planes[24..27], [1, 9, 17]);
        let mut back = vec![0; 200];
        join(&planes, &mut back);
        assert_eq!(back[..192], bytes[..192]);
    }

    #[test]
    fn planes_are_one_byte_or_compressed_or_raw() {
        for length in [0, 1, 63, 64, 65, 1000, 4096] {
            let noise = |i: usize| (i as u32).wrapping_mul(0x9E37_79B9).rotate_left(i as u32 % 31) as u8;
            let byte = |i: usize| match i % 8 {
                0..3 => 7,
                3..6 => (i / 64) as u8,
                _ => noise(i),
            };
            let bytes: Vec<u8> = (0..length).map(byte).collect();
            let (mut planes, mut to) = (vec![0; length], vec![0; size_max(length)]);
            let stored = compress(&bytes, &mut planes, &mut to);
            assert!(length < 4096 || stored < length / 2, "{stored} of {length}");
            let mut back = vec![0xAA; length];
            let mut again = vec![0; length];
            decompress(&to[..stored], &mut again, &mut back).unwrap();
            assert_eq!(back, bytes);
            for cut in 0..stored {
                assert_eq!(decompress(&to[..cut], &mut again, &mut back), None, "{length} cut at {cut}");
            }
        }
    }
}
