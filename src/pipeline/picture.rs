//! PNG files, grey or coloured, written row by row.

mod colormap;

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::staged::{OutputError, StagedFile};

pub use colormap::Colormap;

/// Writes an 8-bit picture in rows from the top; the file gets its name in [`PngWriter::finish`].
pub struct PngWriter {
    stream: png::StreamWriter<'static, Recording>,
    /// What the encoder's destructor can't report.
    failure: Failure,
    staged: StagedFile,
    /// `None` for grey, where a level is its own pixel.
    palette: Option<[[u8; 3]; 256]>,
    levels_left: u64,
    colored: Vec<u8>,
}

impl PngWriter {
    /// A picture of `width` × `height` pixels.
    ///
    /// # Errors
    /// An extent is zero or above 2³¹ − 1, or the file can't be made.
    pub fn create(path: &Path, width: u32, height: u32, colormap: Colormap) -> Result<Self, OutputError> {
        let staged = StagedFile::create(path)?;
        let extents = 1..=i32::MAX as u32;
        if !extents.contains(&width) || !extents.contains(&height) {
            return Err(staged.refused(format!("a PNG can't have {width} × {height} pixels")));
        }
        let failure = Failure::default();
        let file = staged.file().try_clone().map_err(|source| staged.failed(source))?;
        let palette = (colormap != Colormap::Gray).then(|| colormap.table());
        let mut encoder = png::Encoder::new(Recording { file, failure: failure.clone() }, width, height);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_color(if palette.is_some() { png::ColorType::Rgb } else { png::ColorType::Grayscale });
        let stream = encoder.write_header().and_then(png::Writer::into_stream_writer);
        let stream = stream.map_err(|error| encoding(&staged, error))?;
        let levels_left = u64::from(width) * u64::from(height);
        Ok(PngWriter { stream, failure, staged, palette, levels_left, colored: Vec::new() })
    }

    /// Appends levels, one byte a pixel, in rows from the top; a call may hold any number of pixels.
    ///
    /// # Errors
    /// More pixels than the picture has, or the system refuses.
    pub fn write_rows(&mut self, levels: &[u8]) -> Result<(), OutputError> {
        let Some(left) = self.levels_left.checked_sub(levels.len() as u64) else {
            let reason = format!("{} pixels were given, {} are left", levels.len(), self.levels_left);
            return Err(self.staged.refused(reason));
        };
        let written = match &self.palette {
            None => self.stream.write_all(levels),
            Some(palette) => {
                self.colored.clear();
                self.colored.extend(levels.iter().flat_map(|level| palette[usize::from(*level)]));
                self.stream.write_all(&self.colored)
            }
        };
        written.map_err(|source| self.staged.failed(source))?;
        self.levels_left = left;
        Ok(())
    }

    /// Completes the file under its final name.
    ///
    /// # Errors
    /// Pixels are missing, or the system refuses; then nothing is left.
    pub fn finish(self) -> Result<(), OutputError> {
        if self.levels_left > 0 {
            return Err(self.staged.refused(format!("{} pixels are missing", self.levels_left)));
        }
        self.stream.finish().map_err(|error| encoding(&self.staged, error))?;
        match self.failure.take() {
            Some(source) => Err(self.staged.failed(source)),
            None => self.staged.commit(),
        }
    }
}

/// The level of a value: `low` and below is 0, `high` and above is 255, linear between and rounded to the
/// nearest; NaN is 0. Where `low` equals `high`, everything that isn't above is 0.
pub fn level(value: f64, low: f64, high: f64) -> u8 {
    let share = (value - low) / (high - low);
    if value >= high && value > low {
        return 255;
    }
    // `as` saturates and takes NaN to 0.
    (share * 255.0).round() as u8
}

fn encoding(staged: &StagedFile, error: png::EncodingError) -> OutputError {
    match error {
        png::EncodingError::IoError(source) => staged.failed(source),
        other => staged.refused(other.to_string()),
    }
}

/// A file that remembers its first failure.
struct Recording {
    file: File,
    failure: Failure,
}

#[derive(Clone, Default)]
struct Failure(Arc<Mutex<Option<io::Error>>>);

impl Failure {
    fn take(&self) -> Option<io::Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn note<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.inspect_err(|error| {
            let copy = error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error);
            self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(copy);
        })
    }
}

impl Write for Recording {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        self.failure.note(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.flush();
        self.failure.note(flushed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(path: &Path) -> (png::ColorType, u32, u32, Vec<u8>) {
        let mut reader =
            png::Decoder::new(io::BufReader::new(File::open(path).unwrap())).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        (info.color_type, info.width, info.height, pixels)
    }

    #[test]
    fn grey_pictures_hold_their_levels() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.png");
        let levels: Vec<u8> = (0..300 * 200).map(|at| (at % 251) as u8).collect();
        let mut writer = PngWriter::create(&path, 300, 200, Colormap::Gray).unwrap();
        levels.chunks(7_001).for_each(|part| writer.write_rows(part).unwrap());
        assert!(!path.exists());
        writer.finish().unwrap();
        assert_eq!(decoded(&path), (png::ColorType::Grayscale, 300, 200, levels));
    }

    #[test]
    fn coloured_pictures_hold_the_table() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.png");
        let mut writer = PngWriter::create(&path, 256, 1, Colormap::Viridis).unwrap();
        writer.write_rows(&(0..=255).collect::<Vec<u8>>()).unwrap();
        writer.finish().unwrap();
        assert_eq!(decoded(&path).3, Colormap::Viridis.table().concat());
    }

    #[test]
    fn wrong_sizes_are_refused_and_leave_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.png");
        assert!(PngWriter::create(&path, 0, 4, Colormap::Gray).is_err());
        let mut writer = PngWriter::create(&path, 2, 2, Colormap::Gray).unwrap();
        let error = writer.write_rows(&[0; 5]).unwrap_err().to_string();
        assert!(error.ends_with("5 pixels were given, 4 are left"), "{error}");
        writer.write_rows(&[0; 3]).unwrap();
        let error = writer.finish().unwrap_err().to_string();
        assert!(error.ends_with("1 pixels are missing"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn levels_are_linear_and_total() {
        let table = [(0.0, 0), (1.0, 255), (0.5, 128), (-3.0, 0), (9.0, 255), (f64::NAN, 0)];
        for (value, want) in table {
            assert_eq!(level(value, 0.0, 1.0), want, "{value}");
        }
        assert_eq!(level(f64::INFINITY, 0.0, 1.0), 255);
        assert_eq!(level(f64::NEG_INFINITY, 0.0, 1.0), 0);
        assert_eq!(level(5.0, 5.0, 5.0), 0);
    }
}
