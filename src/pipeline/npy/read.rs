//! Opening a file: everything is checked, nothing is copied.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::Mmap;
use npyz::{DType as NpyType, Endianness, NpyHeader, TypeChar, TypeStr};

use crate::dtype::DType;
use crate::shape::{AXES_MAX, Shape};

/// An array in a mapped `.npy` file.
///
/// The mapping shows the file as it is: whoever shortens the file while it is open ends the process with
/// SIGBUS, and whoever changes it changes the values.
#[derive(Clone, Debug)]
pub struct NpyFile {
    /// Where it was opened.
    pub path: PathBuf,
    /// Element type. Elements of `bool` may be any byte; non-zero is true.
    pub dtype: DType,
    /// Extents, in the order that NumPy shows.
    pub shape: Shape,
    /// How the elements lie.
    pub order: Order,
    /// How the bytes of an element lie.
    pub byte_order: ByteOrder,
    /// Where the elements begin. Not always a multiple of the element's size: read unaligned.
    pub data_offset: usize,
    /// The whole file; it may hold more than the elements.
    pub map: Arc<Mmap>,
}

/// Which axis varies fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The last.
    C,
    /// The first.
    Fortran,
}

/// How the bytes of an element lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// Least significant first.
    Little,
    /// Most significant first.
    Big,
}

impl ByteOrder {
    /// That of this machine.
    pub const NATIVE: ByteOrder =
        if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };
}

/// A `.npy` file can't be used.
#[derive(Debug, thiserror::Error)]
pub enum NpyError {
    /// The system refused, or there is no such file.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another format.
    #[error("{} is no .npy file: {reason}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// An element type that Outcrop doesn't compute with.
    #[error("{} holds {what}; {advice}", path.display())]
    Type {
        /// The file.
        path: PathBuf,
        /// The type.
        what: String,
        /// What to do about it.
        advice: String,
    },
    /// The extents can't be those of an array in memory.
    #[error("{} claims the shape {shape}, more elements than 64 bits can count", path.display())]
    Oversized {
        /// The file.
        path: PathBuf,
        /// The extents as written.
        shape: String,
    },
    /// More axes than [`AXES_MAX`].
    #[error("{} has {axes} axes, Outcrop handles at most {AXES_MAX}", path.display())]
    Axes {
        /// The file.
        path: PathBuf,
        /// How many.
        axes: usize,
    },
    /// Fewer bytes than the header promises.
    #[error(
        "{} is truncated: shape {shape} of {dtype} needs {expected} bytes of data, the file has {found}",
        path.display()
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// The extents.
        shape: Shape,
        /// The element type.
        dtype: DType,
        /// Bytes that the elements need.
        expected: u64,
        /// Bytes behind the header.
        found: u64,
    },
}

impl NpyFile {
    /// Maps a file and checks its header against its size.
    ///
    /// # Errors
    /// See [`NpyError`].
    pub fn open(path: &Path) -> Result<Self, NpyError> {
        let refused = |source| NpyError::Open { path: path.to_owned(), source };
        // Asked before opening, which would wait forever on a pipe.
        if !path.metadata().map_err(refused)?.is_file() {
            return Err(refused(io::Error::other("it isn't a regular file")));
        }
        let file = File::open(path).map_err(refused)?;
        // SAFETY: the mapping is private to reading and only ever seen as bytes or as copies of plain numbers,
        // of which every bit pattern is valid. Another process may change or shorten the file meanwhile; the
        // type's documentation says what happens then, as no portable lock could prevent it.
        let map = unsafe { Mmap::map(&file) }.map_err(refused)?;
        let header = Header::read(path, &map)?;
        Ok(NpyFile {
            path: path.to_owned(),
            dtype: header.dtype,
            shape: header.shape,
            order: header.order,
            byte_order: header.byte_order,
            data_offset: header.data_offset,
            map: Arc::new(map),
        })
    }

    /// The bytes of the elements, exactly as many as the shape has.
    pub fn data(&self) -> &[u8] {
        let end = self.data_offset + self.shape.elements() * self.dtype.size();
        &self.map[self.data_offset..end]
    }
}

struct Header {
    dtype: DType,
    shape: Shape,
    order: Order,
    byte_order: ByteOrder,
    data_offset: usize,
}

/// Longer headers than NumPy itself would read are refused.
const HEADER_BYTES_MAX: usize = 10_000;

/// Deeper headers are refused: the time that npyz's reader of Python literals takes for an unclosed bracket
/// grows exponentially with the depth. A plain array needs 2 levels, a structured type 4.
const HEADER_NESTING_MAX: usize = 8;

impl Header {
    fn read(path: &Path, bytes: &[u8]) -> Result<Self, NpyError> {
        let format = |reason: String| NpyError::Format { path: path.to_owned(), reason };
        let text_range = text_range(bytes).map_err(format)?;
        let data_offset = text_range.end;
        let text = Literal::scan(&bytes[text_range]);
        if text.nesting > HEADER_NESTING_MAX {
            return Err(format(format!("its header is nested {} levels deep", text.nesting)));
        }
        // npyz multiplies the extents without a check.
        if text.product.is_none() {
            return Err(NpyError::Oversized { path: path.to_owned(), shape: text.shape });
        }
        let header = NpyHeader::from_reader(&bytes[..data_offset]).map_err(|error| {
            // A syntax error of the header's Python comes with a drawing of the place; its first line will do.
            let text = error.to_string();
            format(format!(
                "its header can't be read: {}",
                text.lines().next().unwrap_or_default().trim_end()
            ))
        })?;
        let (dtype, byte_order) = element(&header.dtype()).map_err(|(what, advice)| NpyError::Type {
            path: path.to_owned(),
            what,
            advice: advice.to_owned(),
        })?;
        let extents: Option<Vec<usize>> =
            header.shape().iter().map(|extent| usize::try_from(*extent).ok()).collect();
        let Some(shape) = extents.map(Shape::from) else {
            return Err(NpyError::Oversized { path: path.to_owned(), shape: text.shape });
        };
        if shape.len() > AXES_MAX {
            return Err(NpyError::Axes { path: path.to_owned(), axes: shape.len() });
        }
        let needed =
            header.shape().iter().try_fold(dtype.size() as u64, |bytes, extent| bytes.checked_mul(*extent));
        let Some(expected) = needed else {
            return Err(NpyError::Oversized { path: path.to_owned(), shape: shape.to_string() });
        };
        let found = (bytes.len() - data_offset) as u64;
        if expected > found {
            return Err(NpyError::Truncated { path: path.to_owned(), shape, dtype, expected, found });
        }
        let order = match header.order() {
            npyz::Order::C => Order::C,
            npyz::Order::Fortran => Order::Fortran,
        };
        Ok(Header { dtype, shape, order, byte_order, data_offset })
    }
}

/// Where the header's text stands, by the magic number, the version and the length that follows them. The data
/// begin where it ends.
fn text_range(bytes: &[u8]) -> Result<Range<usize>, String> {
    const MAGIC: &[u8] = b"\x93NUMPY";
    if bytes.is_empty() {
        return Err("it is empty".to_owned());
    }
    if !bytes.starts_with(MAGIC) {
        let guess = match bytes {
            [b'P', b'K', ..] => "; it looks like a .npz archive: save one array with numpy.save",
            [0x80, ..] => "; it looks like a pickle: save the array with numpy.save",
            _ => "",
        };
        return Err(format!("it doesn't begin with \\x93NUMPY{guess}"));
    }
    let (before_text, length) = match bytes[MAGIC.len()..] {
        [1, 0, a, b, ..] => (10, usize::from(u16::from_le_bytes([a, b]))),
        [2 | 3, 0, a, b, c, d, ..] => (12, u32::from_le_bytes([a, b, c, d]) as usize),
        [major @ (1..=3), 0, ..] => return Err(format!("its version {major} header is cut off")),
        [major, minor, ..] => {
            return Err(format!("version {major}.{minor} isn't known, only 1.0, 2.0 and 3.0"));
        }
        _ => return Err("its header is cut off".to_owned()),
    };
    if length > HEADER_BYTES_MAX {
        return Err(format!("its header has {length} bytes, NumPy reads at most {HEADER_BYTES_MAX}"));
    }
    let available = bytes.len() - before_text;
    if length > available {
        return Err(format!("its header should have {length} bytes, the file has {available}"));
    }
    Ok(before_text..before_text + length)
}

/// What can be told of a header without reading it as Python.
struct Literal {
    nesting: usize,
    /// All integers outside strings multiplied, zeros as ones; `None` beyond 64 bits.
    product: Option<u64>,
    /// The text after `'shape':` up to the closing parenthesis.
    shape: String,
}

impl Literal {
    fn scan(bytes: &[u8]) -> Self {
        let mut scan = Literal { nesting: 0, product: Some(1), shape: String::new() };
        let mut level = 0usize;
        let mut quote = None;
        let mut number: Option<Option<u64>> = None;
        for &byte in bytes {
            if quote.is_none() && byte.is_ascii_digit() {
                let digit = u64::from(byte - b'0');
                number = Some(number.unwrap_or(Some(0)).and_then(|n| n.checked_mul(10)?.checked_add(digit)));
                continue;
            }
            if let Some(number) = number.take() {
                scan.product =
                    scan.product.zip(number).and_then(|(product, n)| product.checked_mul(n.max(1)));
            }
            match (quote, byte) {
                (Some(open), _) if byte == open => quote = None,
                (Some(_), _) => {}
                (None, b'"' | b'\'') => quote = Some(byte),
                (None, b'(' | b'[' | b'{') => level += 1,
                (None, b')' | b']' | b'}') => level = level.saturating_sub(1),
                _ => {}
            }
            scan.nesting = scan.nesting.max(level);
        }
        let text = String::from_utf8_lossy(bytes);
        if let Some((_, after)) = text.split_once("'shape'") {
            let open = after.find('(').unwrap_or(0);
            let close = after.find(')').map_or(after.len(), |close| close + 1);
            scan.shape = after.get(open..close).unwrap_or_default().to_owned();
        }
        scan
    }
}

/// The element type, or what it is instead and what the user can do.
fn element(dtype: &NpyType) -> Result<(DType, ByteOrder), (String, &'static str)> {
    let NpyType::Plain(plain) = dtype else {
        let what = format!("a structured type, {}", dtype.descr());
        return Err((what, "save one field: numpy.save(path, a['field'])"));
    };
    let byte_order = match plain.endianness() {
        Endianness::Big => ByteOrder::Big,
        Endianness::Little => ByteOrder::Little,
        Endianness::Irrelevant => ByteOrder::NATIVE,
    };
    let dtype = match (plain.type_char(), plain.size_field()) {
        (TypeChar::Bool, 1) => DType::Bool,
        (TypeChar::Uint, 1) => DType::U8,
        (TypeChar::Int, 2) => DType::I16,
        (TypeChar::Int, 4) => DType::I32,
        (TypeChar::Uint, 4) => DType::U32,
        (TypeChar::Int, 8) => DType::I64,
        (TypeChar::Float, 2) => DType::F16,
        (TypeChar::Float, 4) => DType::F32,
        (TypeChar::Float, 8) => DType::F64,
        _ => return Err(unsupported(plain)),
    };
    Ok((dtype, byte_order))
}

fn unsupported(plain: &TypeStr) -> (String, &'static str) {
    let bits = plain.size_field().saturating_mul(8);
    let (what, advice) = match plain.type_char() {
        TypeChar::Object => {
            ("Python objects".to_owned(), "convert them to numbers first: a.astype('float64')")
        }
        TypeChar::Complex => {
            (format!("complex{bits} numbers"), "save the real and the imaginary part: a.real, a.imag")
        }
        TypeChar::Float => (format!("float{bits} numbers"), "save it as a.astype('float64')"),
        TypeChar::Int => (format!("int{bits} numbers"), "save it as a.astype('int16')"),
        TypeChar::Uint if bits == 16 => ("uint16 numbers".to_owned(), "save it as a.astype('int32')"),
        TypeChar::Uint => {
            (format!("uint{bits} numbers"), "save it as a.astype('int64') if its values are below 2**63")
        }
        TypeChar::DateTime | TypeChar::TimeDelta => {
            (format!("dates or time spans ('{plain}')"), "save them as numbers: a.astype('int64')")
        }
        TypeChar::ByteStr | TypeChar::UnicodeStr => {
            (format!("strings ('{plain}')"), "convert them to numbers first: a.astype('float64')")
        }
        _ => (format!("elements of type '{plain}'"), "convert them to numbers first"),
    };
    (what, advice)
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
