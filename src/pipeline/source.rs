//! `.npy` files as sources of arrays.

use std::any::Any;
use std::sync::{Arc, OnceLock};
use std::time::UNIX_EPOCH;

use memmap2::Mmap;

use super::npy::{ByteOrder, NpyFile, Order};
use crate::block::{Block, Buffer, Layout, Storage, for_each_row};
use crate::dtype::DType;
use crate::graph::op::{Source, TransferError};
use crate::shape::{Region, Shape, Strides};
use crate::token::{Token, Tokenizer};

/// A mapped file. In this machine's byte order and aligned, its blocks are views of the mapping, in C and in
/// Fortran order; else elements are copied and turned as they are read.
#[derive(Debug)]
pub struct NpySource {
    file: NpyFile,
    /// The whole array in the mapping; the offset only holds for files that can be viewed.
    whole: Block,
    in_place: bool,
    content: OnceLock<Token>,
}

impl NpySource {
    /// The source over a file.
    pub fn new(file: NpyFile) -> Self {
        let size = file.dtype.size();
        // Bytes of a file's bool may be anything, those of a block are 0 or 1.
        let in_place = file.byte_order == ByteOrder::NATIVE
            && file.data_offset.is_multiple_of(size)
            && file.dtype != DType::Bool;
        let layout = Layout {
            dtype: file.dtype,
            shape: file.shape.clone(),
            offset: file.data_offset / size,
            strides: strides(&file.shape, file.order),
        };
        let whole = Block { buffer: Buffer::new(Mapping(file.map.clone())), layout };
        NpySource { file, whole, in_place, content: OnceLock::new() }
    }

    fn failed(&self, problem: &str) -> TransferError {
        TransferError { place: self.describe(), problem: problem.to_owned() }
    }
}

impl Source for NpySource {
    fn describe(&self) -> String {
        self.file.path.display().to_string()
    }

    /// Path, size and time of the last change.
    fn token(&self) -> Token {
        let changed = self.file.path.metadata().and_then(|metadata| metadata.modified()).ok();
        let since = changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        let path = std::path::absolute(&self.file.path).unwrap_or_else(|_| self.file.path.clone());
        Tokenizer::new("npy")
            .text(&path.to_string_lossy())
            .int(self.file.map.len() as i64)
            .int(since.as_secs() as i64)
            .int(since.subsec_nanos().into())
            .finish()
    }

    /// All bytes of the file as it is mapped, wherever it lies and whenever it was written.
    fn content(&self) -> Result<Token, TransferError> {
        let hash = || Tokenizer::new("npy bytes").bytes(&self.file.map).finish();
        Ok(*self.content.get_or_init(hash))
    }

    fn dtype(&self) -> DType {
        self.file.dtype
    }

    fn shape(&self) -> Shape {
        self.file.shape.clone()
    }

    fn in_place(&self) -> bool {
        self.in_place
    }

    fn view(&self, region: &Region) -> Result<Block, TransferError> {
        if self.in_place { Ok(self.whole.part(region)) } else { Err(self.failed("can't be viewed in place")) }
    }

    fn read(&self, region: &Region, into: &Block) -> Result<(), TransferError> {
        let fits =
            into.layout.is_contiguous() && *into.shape() == region.shape && into.dtype() == self.file.dtype;
        let Some(target) = into.host_pointer().filter(|_| fits) else {
            return Err(self.failed("is read into a block of another form"));
        };
        // SAFETY: the block is contiguous, on the host, and the caller's alone while it is written; it covers
        // exactly this many bytes.
        let target = unsafe { std::slice::from_raw_parts_mut(target, into.layout.bytes()) };
        let layout = Layout { offset: 0, ..self.whole.layout.clone() }.part(region);
        let (data, size) = (self.file.data(), self.file.dtype.size());
        let turned = self.file.byte_order != ByteOrder::NATIVE;
        let mut targets = target.chunks_exact_mut(size);
        for_each_row(&layout, |start, length, stride| {
            for (step, to) in (0..length).zip(&mut targets) {
                let at = (layout.offset as isize + start + step as isize * stride) as usize * size;
                to.copy_from_slice(&data[at..at + size]);
                if turned {
                    to.reverse();
                }
                if self.file.dtype == DType::Bool {
                    to[0] = u8::from(to[0] != 0);
                }
            }
        });
        Ok(())
    }
}

fn strides(shape: &Shape, order: Order) -> Strides {
    match order {
        Order::C => shape.strides(),
        Order::Fortran => {
            let mut strides = Shape::new(shape.iter().rev().copied()).strides();
            strides.reverse();
            strides
        }
    }
}

/// A file's mapping as the memory of blocks. Nobody writes to it: sources are never outputs.
struct Mapping(Arc<Mmap>);

impl Storage for Mapping {
    fn bytes(&self) -> usize {
        self.0.len()
    }

    fn host_pointer(&self) -> Option<*mut u8> {
        Some(self.0.as_ptr().cast_mut())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// A file of `i32`, with its header's text given.
    fn file(folder: &Path, header: &str, data: &[u8]) -> NpySource {
        let path = folder.join("x.npy");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        std::fs::write(&path, bytes).unwrap();
        NpySource::new(NpyFile::open(&path).unwrap())
    }

    fn header(descr: &str, fortran: &str, shape: &str, length: usize) -> String {
        let text = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
        format!("{text:<width$}\n", width = length - 1)
    }

    fn read(source: &NpySource, region: &Region) -> Vec<f64> {
        if source.in_place() {
            return source.view(region).unwrap().to_f64_vec().unwrap();
        }
        let zeros = vec![0i32; region.shape.elements()];
        let block = match source.dtype() {
            DType::Bool => Block::from_slice(region.shape.clone(), &vec![false; zeros.len()]).unwrap(),
            _ => Block::from_slice(region.shape.clone(), &zeros).unwrap(),
        };
        source.read(region, &block).unwrap();
        block.to_f64_vec().unwrap()
    }

    #[test]
    fn every_order_gives_the_same_values() {
        let folder = tempfile::tempdir().unwrap();
        let bytes = |values: [i32; 6], big: bool| -> Vec<u8> {
            values
                .iter()
                .flat_map(|value| if big { value.to_be_bytes() } else { value.to_le_bytes() })
                .collect()
        };
        let (c, fortran) = ([0, 1, 2, 10, 11, 12], [0, 10, 1, 11, 2, 12]);
        let cases = [
            (header("<i4", "False", "(2, 3)", 118), bytes(c, false), true),
            (header("<i4", "True", "(2, 3)", 118), bytes(fortran, false), true),
            (header(">i4", "False", "(2, 3)", 118), bytes(c, true), false),
            (header(">i4", "True", "(2, 3)", 118), bytes(fortran, true), false),
            // Not aligned.
            (header("<i4", "False", "(2, 3)", 117), bytes(c, false), false),
        ];
        for (header, data, in_place) in cases {
            let source = file(folder.path(), &header, &data);
            assert_eq!(source.in_place(), in_place && cfg!(target_endian = "little"), "{header}");
            let whole = Region { origin: [0, 0].into(), shape: [2, 3].into() };
            assert_eq!(read(&source, &whole), [0., 1., 2., 10., 11., 12.], "{header}");
            let part = Region { origin: [0, 1].into(), shape: [2, 2].into() };
            assert_eq!(read(&source, &part), [1., 2., 11., 12.], "{header}");
        }
    }

    #[test]
    fn booleans_are_read_as_zero_and_one() {
        let folder = tempfile::tempdir().unwrap();
        let source = file(folder.path(), &header("|b1", "False", "(3,)", 118), &[0, 1, 7]);
        let whole = Region { origin: [0].into(), shape: [3].into() };
        assert_eq!(read(&source, &whole), [0., 1., 1.]);
    }
}
