//! From memory to a chunk's bytes.

use lz4_flex::block::{compress_into, get_maximum_output_size};

use super::{Content, Encoding, Header, PIECE_BYTES, Place, Scratch, planes, room};
use crate::block::{Block, for_each_row};
use crate::shape::Region;

/// A sample is a sixteenth of the content, within these bounds.
const SAMPLE_BYTES: std::ops::RangeInclusive<usize> = 1 << 12..=1 << 15;

/// Hands the chunk's bytes to `sink`, in order, and returns the header that describes them.
///
/// They are compressed when a sample of them shrinks below `worth` of its size; zero tries nothing. What comes
/// out depends on the content and on `worth` alone. O(bytes), with scratch memory of four pieces a thread.
pub fn encode<E>(
    content: &Content,
    worth: f32,
    sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<Header, E> {
    Scratch::lend(|scratch| {
        let Scratch { gathered, by_plane, packed } = scratch;
        let encoding = encoding(content, worth, gathered, by_plane, packed);
        let mut checksum = crc32fast::Hasher::new();
        let mut stored_bytes = 0;
        for_each_piece(content, gathered, &mut |piece| {
            let stored = pack(piece, encoding, by_plane, packed);
            checksum.update(stored);
            stored_bytes += stored.len() as u64;
            sink(stored)
        })?;
        let kind = content.kind.clone();
        let checksum = checksum.finalize();
        Ok(Header { kind, encoding, raw_bytes: content.bytes(), stored_bytes, checksum })
    })
}

/// Which encoding is worth its time, by a sample.
fn encoding(
    content: &Content,
    worth: f32,
    gathered: &mut Vec<u8>,
    by_plane: &mut Vec<u8>,
    packed: &mut Vec<u8>,
) -> Encoding {
    if worth <= 0.0 {
        return Encoding::Raw;
    }
    let sample = (content.bytes() as usize / 16).clamp(*SAMPLE_BYTES.start(), *SAMPLE_BYTES.end());
    let Some(piece) = middle(content, sample, gathered) else { return Encoding::Raw };
    let mut share =
        |encoding| pack(piece, encoding, by_plane, packed).len() as f32 / piece.len().max(1) as f32;
    let (plain, split) = (share(Encoding::Lz4), share(Encoding::Planes));
    match plain.min(split) {
        least if least >= worth => Encoding::Raw,
        // Splitting takes time of its own.
        _ if split < 0.9 * plain => Encoding::Planes,
        _ => Encoding::Lz4,
    }
}

/// About `sample` bytes from the middle, without reading the rest. `None` when there are none.
fn middle<'a>(content: &Content<'a>, sample: usize, gathered: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    match content.place {
        Place::Bytes(bytes) => {
            let length = sample.min(bytes.len());
            let start = ((bytes.len() - length) / 2).next_multiple_of(8).min(bytes.len() - length);
            Some(&bytes[start..start + length])
        }
        Place::Strided(block) => {
            let part = block.part(&middle_region(block, sample));
            let length = part.layout.bytes().min(PIECE_BYTES);
            let mut filled = 0;
            let target = room(gathered, PIECE_BYTES);
            gather(&part, target, &mut |piece| {
                filled = piece.len();
                Ok::<(), ()>(())
            })
            .ok()?;
            Some(&target[..filled.min(length)])
        }
    }
    .filter(|piece| !piece.is_empty())
}

/// The block's region around its middle, narrowed from the outermost axis on until it has about `sample` bytes.
fn middle_region(block: &Block, sample: usize) -> Region {
    let mut region = Region::whole(block.shape());
    for axis in 0..region.shape.len() {
        let bytes = region.shape.elements() * block.dtype().size();
        if bytes <= sample {
            break;
        }
        let extent = region.shape[axis];
        let narrowed = ((extent as u128 * sample as u128 / bytes as u128) as usize).clamp(1, extent);
        region.origin[axis] = (extent - narrowed) / 2;
        region.shape[axis] = narrowed;
    }
    region
}

fn for_each_piece<E>(
    content: &Content,
    gathered: &mut Vec<u8>,
    visit: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    match content.place {
        Place::Bytes(bytes) => bytes.chunks(PIECE_BYTES).try_for_each(visit),
        Place::Strided(block) => gather(block, room(gathered, PIECE_BYTES), visit),
    }
}

/// Copies elements in C order into `piece` and visits it each time that it is full, and at the end. The length of
/// `piece` is a multiple of every element's. After an error nothing is visited.
fn gather<E>(
    block: &Block,
    piece: &mut [u8],
    visit: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let Some(start) = block.host_pointer() else { return Ok(()) };
    let size = block.dtype().size();
    let mut filled = 0;
    let mut result = Ok(());
    for_each_row(&block.layout, |offset, length, stride| {
        for step in 0..length as isize {
            let at = (offset + step * stride) * size as isize;
            // SAFETY: the layout lies inside the buffer, which the block keeps alive, and nobody writes to a block
            // once its task is done.
            let element = unsafe { std::slice::from_raw_parts(start.offset(at), size) };
            copy_element(&mut piece[filled..filled + size], element);
            filled += size;
            if filled == piece.len() {
                if result.is_ok() {
                    result = visit(piece);
                }
                filled = 0;
            }
        }
    });
    if result.is_ok() && filled > 0 {
        result = visit(&piece[..filled]);
    }
    result
}

/// Copies of a known length are single moves.
fn copy_element(to: &mut [u8], from: &[u8]) {
    match from.len() {
        4 => to[..4].copy_from_slice(&from[..4]),
        8 => to[..8].copy_from_slice(&from[..8]),
        _ => to.copy_from_slice(from),
    }
}

/// The piece as it is on disk: raw, or a length in front of it. A length equal to the piece's says that it is raw.
fn pack<'a>(
    piece: &'a [u8],
    encoding: Encoding,
    by_plane: &mut Vec<u8>,
    packed: &'a mut Vec<u8>,
) -> &'a [u8] {
    const LENGTH: usize = size_of::<u32>();
    let most = get_maximum_output_size(piece.len()).max(planes::size_max(piece.len()));
    let target = room(packed, LENGTH + most);
    let length = match encoding {
        Encoding::Raw => return piece,
        Encoding::Lz4 => compress_into(piece, &mut target[LENGTH..]).unwrap_or(usize::MAX),
        Encoding::Planes => planes::compress(piece, room(by_plane, piece.len()), &mut target[LENGTH..]),
    };
    let length = if length < piece.len() {
        length
    } else {
        target[LENGTH..LENGTH + piece.len()].copy_from_slice(piece);
        piece.len()
    };
    target[..LENGTH].copy_from_slice(&(length as u32).to_le_bytes());
    &target[..LENGTH + length]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;

    #[test]
    fn samples_come_from_the_middle_and_stay_small() {
        let block = Block::from_slice([64, 3, 4096], &vec![0u8; 64 * 3 * 4096]).unwrap();
        let region = middle_region(&block, 1 << 13);
        assert_eq!(region.shape, Shape::from([1, 2, 4096]));
        assert_eq!(region.origin, Shape::from([31, 0, 0]));
        assert_eq!(middle_region(&block, usize::MAX), Region::whole(block.shape()));
    }
}
