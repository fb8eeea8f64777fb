use std::io;

use super::*;
use crate::shape::Region;

fn encoded(block: &Block, worth: f32) -> (Header, Vec<u8>) {
    let mut bytes = Vec::new();
    let header = encode(&Content::block(block).unwrap(), worth, &mut |piece| {
        bytes.extend_from_slice(piece);
        Ok::<(), ()>(())
    });
    (header.unwrap(), bytes)
}

fn decoded(header: &Header, mut bytes: &[u8], into: &Block) -> Result<(), DecodeError> {
    decode_block(header, &mut |to| io::Read::read_exact(&mut bytes, to), into)
}

fn empty(kind: &Kind) -> Block {
    let Kind::Block { dtype, shape } = kind else { panic!("a block") };
    let lines = vec![0f64; (shape.elements() * dtype.size()).div_ceil(8)];
    let buffer = Block::from_slice([lines.len()], &lines).unwrap().buffer;
    Block::contiguous(buffer, *dtype, shape.clone())
}

fn noise(count: usize) -> Vec<u32> {
    let mut state = 1u32;
    let next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    std::iter::repeat_with(next).take(count).collect()
}

#[test]
fn what_compresses_is_compressed_and_what_does_not_is_not() {
    let count = 3 * PIECE_BYTES / 8 + 5;
    let smooth: Vec<f64> = (0..count).map(|i| i as f64).collect();
    let smooth = Block::from_slice([count], &smooth).unwrap();
    let again: Vec<u32> = noise(1000).into_iter().cycle().take(count).collect();
    let again = Block::from_slice([count], &again).unwrap();
    let zeros = Block::from_slice([count], &vec![0i16; count]).unwrap();
    let noise = Block::from_slice([count], &noise(count)).unwrap();
    let cases = [
        (&smooth, 0.5, Encoding::Planes),
        (&smooth, 0.0, Encoding::Raw),
        (&again, 0.5, Encoding::Lz4),
        (&zeros, 0.5, Encoding::Planes),
        (&noise, 0.9, Encoding::Raw),
        // Pieces that don't shrink are raw within a compressed chunk.
        (&noise, 2.0, Encoding::Lz4),
    ];
    for (block, worth, want) in cases {
        let (header, bytes) = encoded(block, worth);
        assert_eq!((header.encoding, header.stored_bytes), (want, bytes.len() as u64));
        assert!(header.stored_bytes <= Content::block(block).unwrap().stored_bytes_max());
        assert!(worth > 1.0 || want == Encoding::Raw || bytes.len() * 5 < block.layout.bytes());
        let back = empty(&header.kind);
        decoded(&header, &bytes, &back).unwrap();
        assert_eq!(&back, block);
    }
}

#[test]
fn strided_blocks_are_the_same_chunk_as_contiguous_ones() {
    let side = 700;
    let values: Vec<f32> = (0..side * side).map(|i| (i / side) as f32).collect();
    let whole = Block::from_slice([side, side], &values).unwrap();
    let mut part = whole.part(&Region { origin: [3, 5].into(), shape: [600, 640].into() });
    part.layout.strides.swap(0, 1);
    let contiguous = Block::from_slice([600, 640], &part.to_vec::<f32>().unwrap()).unwrap();
    for worth in [0.0, 0.9] {
        let (header, bytes) = encoded(&part, worth);
        assert_eq!((header.clone(), bytes.clone()), encoded(&contiguous, worth));
        let into = empty(&Kind::of(&whole)).part(&Region { origin: [1, 1].into(), shape: [600, 640].into() });
        decoded(&header, &bytes, &into).unwrap();
        assert_eq!(into, part);
    }
}

#[test]
fn headers_are_read_as_they_were_written_or_not_at_all() {
    let kinds = [
        Kind::Block { dtype: DType::I16, shape: Shape::default() },
        Kind::Block { dtype: DType::F64, shape: [3, 0, 5].into() },
        Kind::Object { type_name: "alloc::string::String".into() },
    ];
    for kind in kinds {
        let raw_bytes = match &kind {
            Kind::Block { dtype, shape } => (shape.elements() * dtype.size()) as u64,
            Kind::Object { .. } => 77,
        };
        let encoding = Encoding::Planes;
        let header = Header { kind, encoding, raw_bytes, stored_bytes: 9, checksum: 0xfedc_ba98 };
        let bytes = header.to_bytes();
        assert_eq!(bytes.len(), Header::bytes_of(&header.kind));
        assert_eq!(Header::from_bytes(&bytes).as_ref(), Ok(&header));
        for at in 0..bytes.len() {
            assert!(Header::from_bytes(&bytes[..at]).is_err(), "cut at {at}");
            for bit in 0..8 {
                let mut wrong = bytes.clone();
                wrong[at] ^= 1 << bit;
                assert!(Header::from_bytes(&wrong).is_err(), "bit {bit} of byte {at}");
            }
        }
    }
}

#[test]
fn every_flipped_byte_and_every_cut_is_found() {
    let values: Vec<i32> = (0..60).map(|i| if i < 40 { 7 } else { i * 77_773 }).collect();
    let block = Block::from_slice([60], &values).unwrap();
    for worth in [0.0, 1.0] {
        let (header, bytes) = encoded(&block, worth);
        assert_eq!(header.encoding == Encoding::Raw, worth == 0.0);
        let into = empty(&header.kind);
        for at in 0..bytes.len() {
            assert!(decoded(&header, &bytes[..at], &into).is_err(), "cut at {at}");
            for flip in [1, 0x80, 0xff] {
                let mut wrong = bytes.clone();
                wrong[at] ^= flip;
                assert!(decoded(&header, &wrong, &into).is_err(), "byte {at}");
            }
        }
        decoded(&header, &bytes, &into).unwrap();
        assert_eq!(into, block);
    }
}

#[test]
fn objects_are_no_blocks() {
    let text = b"abcabcabcabc".repeat(1000);
    let mut bytes = Vec::new();
    let header = encode(&Content::object("text", &text), 0.9, &mut |piece| {
        bytes.extend_from_slice(piece);
        Ok::<(), ()>(())
    });
    let header = header.unwrap();
    assert!(header.encoding == Encoding::Lz4 && bytes.len() < text.len() / 10);
    let mut from = &bytes[..];
    assert_eq!(decode_bytes(&header, &mut |to| io::Read::read_exact(&mut from, to)).unwrap(), text);
    let block = Block::from_slice([12_000], &text).unwrap();
    assert!(matches!(decoded(&header, &bytes, &block), Err(DecodeError::Mismatch)));
}
