//! What a chunk on disk says of itself.

use super::{Damage, Kind};
use crate::dtype::DType;
use crate::shape::{AXES_MAX, Shape};

const MAGIC: [u8; 4] = *b"OCCH";
const VERSION: u8 = 1;
/// Bytes before the shape or the name.
const FIXED_BYTES: usize = 32;
const CHECKSUM_BYTES: usize = size_of::<u32>();

/// How the bytes of a chunk are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// As they are.
    Raw,
    /// LZ4, piece by piece; each piece with its length in front.
    Lz4,
    /// LZ4 too, with a piece's bytes by their place in words of eight bytes.
    Planes,
}

/// What a chunk is, how it is written, and what must come out of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// What it is.
    pub kind: Kind,
    /// How its bytes are written.
    pub encoding: Encoding,
    /// Bytes before compression.
    pub raw_bytes: u64,
    /// Bytes on disk, without the header.
    pub stored_bytes: u64,
    /// CRC-32 of the bytes on disk, without the header.
    pub checksum: u32,
}

impl Header {
    /// Bytes of a header of this kind.
    pub fn bytes_of(kind: &Kind) -> usize {
        let varying = match kind {
            Kind::Block { shape, .. } => shape.len() * size_of::<u64>(),
            Kind::Object { type_name } => type_name.len(),
        };
        FIXED_BYTES + varying + CHECKSUM_BYTES
    }

    /// The header on disk, with a checksum of its own as the last four bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(Self::bytes_of(&self.kind));
        let encoding = Encoding::ALL.iter().position(|e| *e == self.encoding).unwrap_or_default() as u8;
        let (kind, dtype, count) = match &self.kind {
            Kind::Block { dtype, shape } => (0, code(*dtype), shape.len()),
            Kind::Object { type_name } => (1, 0, type_name.len()),
        };
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&[VERSION, kind, encoding, dtype]);
        bytes.extend_from_slice(&(count as u32).to_le_bytes());
        bytes.extend_from_slice(&self.raw_bytes.to_le_bytes());
        bytes.extend_from_slice(&self.stored_bytes.to_le_bytes());
        bytes.extend_from_slice(&self.checksum.to_le_bytes());
        match &self.kind {
            Kind::Block { shape, .. } => {
                shape.iter().for_each(|&extent| bytes.extend_from_slice(&(extent as u64).to_le_bytes()));
            }
            Kind::Object { type_name } => bytes.extend_from_slice(type_name.as_bytes()),
        }
        bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
        bytes
    }

    /// Reads what [`to_bytes`](Header::to_bytes) wrote; `bytes` are the header and nothing else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Header, Damage> {
        if bytes.len() < FIXED_BYTES + CHECKSUM_BYTES {
            return Err(Damage::Short);
        }
        if bytes[..4] != MAGIC {
            return Err(Damage::Magic);
        }
        if bytes[4] != VERSION {
            return Err(Damage::Version { found: bytes[4], known: VERSION });
        }
        let (body, checksum) = bytes.split_at(bytes.len() - CHECKSUM_BYTES);
        if number(checksum) != u64::from(crc32fast::hash(body)) {
            return Err(Damage::Header);
        }
        let (fixed, varying) = body.split_at(FIXED_BYTES);
        let encoding = Encoding::ALL.get(usize::from(fixed[6])).copied();
        let header = Header {
            kind: kind(fixed, varying).ok_or(Damage::Header)?,
            encoding: encoding.ok_or(Damage::Header)?,
            raw_bytes: number(&fixed[12..20]),
            stored_bytes: number(&fixed[20..28]),
            checksum: number(&fixed[28..32]) as u32,
        };
        if header.is_consistent() { Ok(header) } else { Err(Damage::Header) }
    }

    fn is_consistent(&self) -> bool {
        let raw = match &self.kind {
            Kind::Block { dtype, shape } => shape
                .iter()
                .try_fold(dtype.size() as u64, |bytes, &extent| bytes.checked_mul(extent as u64))
                .is_some_and(|bytes| bytes == self.raw_bytes),
            Kind::Object { .. } => true,
        };
        raw && (self.encoding != Encoding::Raw || self.raw_bytes == self.stored_bytes)
    }
}

impl Encoding {
    /// By their number on disk.
    const ALL: [Encoding; 3] = [Encoding::Raw, Encoding::Lz4, Encoding::Planes];
}

fn kind(fixed: &[u8], varying: &[u8]) -> Option<Kind> {
    let count = number(&fixed[8..12]) as usize;
    match fixed[5] {
        0 if count <= AXES_MAX && varying.len() == count * size_of::<u64>() => {
            let dtype = DType::ALL.into_iter().find(|dtype| code(*dtype) == fixed[7])?;
            let extents = varying.chunks(size_of::<u64>()).map(|bytes| usize::try_from(number(bytes)).ok());
            Some(Kind::Block { dtype, shape: extents.collect::<Option<Shape>>()? })
        }
        1 if varying.len() == count => {
            Some(Kind::Object { type_name: String::from_utf8(varying.to_vec()).ok()? })
        }
        _ => None,
    }
}

/// An element type's number on disk.
fn code(dtype: DType) -> u8 {
    match dtype {
        DType::Bool => 1,
        DType::U8 => 2,
        DType::I16 => 3,
        DType::I32 => 4,
        DType::U32 => 5,
        DType::I64 => 6,
        DType::F32 => 7,
        DType::F64 => 8,
        DType::F16 => 9,
    }
}

/// A little-endian number of up to eight bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}
