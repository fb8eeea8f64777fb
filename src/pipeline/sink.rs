//! Output files as sinks: nothing is created until [`FileSink::create`], and nothing has its final name until
//! the run finishes it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, RwLock};

use super::npy::NpyWriter;
use super::picture::{Colormap, PngWriter};
use super::staged::OutputError;
use crate::block::{Block, for_each_row};
use crate::dtype::DType;
use crate::graph::op::{Sink, TransferError};
use crate::shape::{Region, Shape};

/// An output that can be created.
pub trait FileSink: Sink {
    /// Makes the temporary file. Called once, after planning and before the run.
    ///
    /// # Errors
    /// The place can't be written to.
    fn create(&self) -> Result<(), OutputError>;
}

/// A `.npy` file. Blocks may come in any order, from several threads.
pub struct NpySink {
    path: PathBuf,
    dtype: DType,
    shape: Shape,
    /// `None` before [`FileSink::create`] and after [`Sink::finish`].
    writer: RwLock<Option<NpyWriter>>,
}

impl NpySink {
    /// The sink of an array.
    pub fn new(path: &Path, dtype: DType, shape: Shape) -> Self {
        NpySink { path: path.to_owned(), dtype, shape, writer: RwLock::new(None) }
    }
}

impl FileSink for NpySink {
    fn create(&self) -> Result<(), OutputError> {
        let writer = NpyWriter::create(&self.path, self.dtype, &self.shape)?;
        *self.writer.write().unwrap_or_else(PoisonError::into_inner) = Some(writer);
        Ok(())
    }
}

impl Sink for NpySink {
    fn describe(&self) -> String {
        self.path.display().to_string()
    }

    fn ordered(&self) -> bool {
        false
    }

    fn write(&self, region: &Region, block: &Block) -> Result<(), TransferError> {
        let guard = self.writer.read().unwrap_or_else(PoisonError::into_inner);
        let writer = guard.as_ref().ok_or_else(|| not_open(&self.path))?;
        let copied;
        let bytes = match block.contiguous_bytes() {
            Some(bytes) => bytes,
            None => {
                copied = gathered(block).ok_or_else(|| not_here(&self.path))?;
                &copied
            }
        };
        let size = self.dtype.size();
        let run = run_elements(region, &self.shape) * size;
        if run == 0 {
            return Ok(());
        }
        let strides = self.shape.strides();
        for (at, part) in bytes.chunks_exact(run).enumerate() {
            let index = region.shape.unravel(at * run / size);
            let position: usize = index
                .iter()
                .zip(region.origin.iter())
                .zip(&strides)
                .map(|((index, origin), stride)| (index + origin) * *stride as usize)
                .sum();
            writer.write_at((position * size) as u64, part).map_err(|error| failed(&self.path, &error))?;
        }
        Ok(())
    }

    /// Blocks are written over those that came before.
    fn restart(&self) -> Result<(), TransferError> {
        Ok(())
    }

    fn finish(&self) -> Result<(), TransferError> {
        let writer = self.writer.write().unwrap_or_else(PoisonError::into_inner).take();
        let writer = writer.ok_or_else(|| not_open(&self.path))?;
        writer.finish().map_err(|error| failed(&self.path, &error))
    }
}

/// A `.png` file of an array of levels, in rows of full width from the top.
pub struct PngSink {
    path: PathBuf,
    height: usize,
    width: usize,
    colormap: Colormap,
    writer: Mutex<Option<PngWriter>>,
}

impl PngSink {
    /// The sink of a `u8` array of this shape.
    pub fn new(path: &Path, height: usize, width: usize, colormap: Colormap) -> Self {
        PngSink { path: path.to_owned(), height, width, colormap, writer: Mutex::new(None) }
    }
}

impl FileSink for PngSink {
    fn create(&self) -> Result<(), OutputError> {
        // What doesn't fit u32 the writer refuses, as it does what doesn't fit a PNG.
        let extent = |extent: usize| u32::try_from(extent).unwrap_or(u32::MAX);
        let writer = PngWriter::create(&self.path, extent(self.width), extent(self.height), self.colormap)?;
        *self.writer.lock().unwrap_or_else(PoisonError::into_inner) = Some(writer);
        Ok(())
    }
}

impl Sink for PngSink {
    fn describe(&self) -> String {
        self.path.display().to_string()
    }

    fn ordered(&self) -> bool {
        true
    }

    /// A failure ends the file: rows can't be written twice.
    fn write(&self, _region: &Region, block: &Block) -> Result<(), TransferError> {
        let mut guard = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut writer = guard.take().ok_or_else(|| not_open(&self.path))?;
        let written = match block.contiguous_bytes() {
            Some(levels) => writer.write_rows(levels),
            None => writer.write_rows(&gathered(block).ok_or_else(|| not_here(&self.path))?),
        };
        written.map_err(|error| failed(&self.path, &error))?;
        *guard = Some(writer);
        Ok(())
    }

    fn restart(&self) -> Result<(), TransferError> {
        self.create().map_err(|error| failed(&self.path, &error))
    }

    fn finish(&self) -> Result<(), TransferError> {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let writer = writer.ok_or_else(|| not_open(&self.path))?;
        writer.finish().map_err(|error| failed(&self.path, &error))
    }
}

impl fmt::Debug for NpySink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NpySink({})", self.path.display())
    }
}

impl fmt::Debug for PngSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PngSink({})", self.path.display())
    }
}

/// How many elements of the region lie one after the other in the file: whole trailing axes, and the part of
/// the axis before them.
fn run_elements(region: &Region, shape: &Shape) -> usize {
    let mut run = 1;
    for axis in (0..shape.len()).rev() {
        run *= region.shape[axis];
        if region.shape[axis] != shape[axis] {
            break;
        }
    }
    run
}

/// The bytes of a strided block in C order; `None` when it isn't on the host.
fn gathered(block: &Block) -> Option<Vec<u8>> {
    let start = block.host_pointer()?;
    let size = block.dtype().size();
    let mut bytes = Vec::with_capacity(block.layout.bytes());
    for_each_row(&block.layout, |offset, length, stride| {
        for step in 0..length as isize {
            let element = start.wrapping_offset((offset + step * stride) * size as isize);
            // SAFETY: the layout lies inside the buffer, which the block keeps alive; nobody writes to a
            // block once its task is done.
            bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(element, size) });
        }
    });
    Some(bytes)
}

fn failed(path: &Path, error: &OutputError) -> TransferError {
    TransferError { place: path.display().to_string(), problem: error.to_string() }
}

fn not_open(path: &Path) -> TransferError {
    let problem = "the file isn't open: it was not created, an earlier write failed, or it is finished";
    TransferError { place: path.display().to_string(), problem: problem.to_owned() }
}

fn not_here(path: &Path) -> TransferError {
    let problem = "the block isn't in host memory".to_owned();
    TransferError { place: path.display().to_string(), problem }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::npy::NpyFile;

    #[test]
    fn blocks_land_in_their_places_whatever_their_strides() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        let sink = NpySink::new(&path, DType::I32, [4, 3, 2].into());
        let all: Vec<i32> = (0..24).collect();
        let whole = Block::from_slice([4, 3, 2], &all).unwrap();
        assert!(sink.write(&Region { origin: [0, 0, 0].into(), shape: [4, 3, 2].into() }, &whole).is_err());
        sink.create().unwrap();
        let regions: [([usize; 3], [usize; 3]); 4] =
            [([2, 0, 0], [2, 3, 2]), ([0, 0, 0], [2, 3, 1]), ([0, 0, 1], [2, 1, 1]), ([0, 1, 1], [2, 2, 1])];
        for (origin, shape) in regions {
            let region = Region { origin: origin.into(), shape: shape.into() };
            sink.write(&region, &whole.part(&region)).unwrap();
        }
        assert!(!path.exists());
        sink.finish().unwrap();
        let file = NpyFile::open(&path).unwrap();
        let read: Vec<i32> =
            file.data().chunks_exact(4).map(|b| i32::from_ne_bytes([b[0], b[1], b[2], b[3]])).collect();
        assert_eq!(read, all);
    }

    #[test]
    fn a_dropped_sink_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let sinks: [Box<dyn FileSink>; 2] = [
            Box::new(NpySink::new(&folder.path().join("x.npy"), DType::F32, [2].into())),
            Box::new(PngSink::new(&folder.path().join("x.png"), 2, 2, Colormap::Gray)),
        ];
        sinks.iter().for_each(|sink| sink.create().unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
        drop(sinks);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
