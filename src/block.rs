//! Blocks: typed, strided views of memory on some device.
//!
//! A block is what one task produces and the next one reads. Its memory is reference-counted; a view keeps
//! it alive. Blocks on the host can be read as slices; blocks elsewhere are opaque until a copy step brings
//! them over.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::SmallVec;

use crate::dtype::{DType, Element, f16};
use crate::shape::{Region, Shape, Strides};

/// Memory that a device gave out. Dropping the last handle gives it back.
pub trait Storage: Any + Send + Sync {
    /// Bytes held.
    fn bytes(&self) -> usize;

    /// The first byte when the memory is the host's, else `None`. It must stay valid and at the same place
    /// for the storage's lifetime, and be aligned for every element type.
    fn host_pointer(&self) -> Option<*mut u8>;

    /// For the device that made it, to find its own type again.
    fn as_any(&self) -> &dyn Any;
}

/// A shared handle to [`Storage`].
#[derive(Clone)]
pub struct Buffer(Arc<dyn Storage>);

impl Buffer {
    /// Wraps what a device allocated.
    pub fn new(storage: impl Storage) -> Self {
        Buffer(Arc::new(storage))
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// See [`Storage::host_pointer`].
    pub fn host_pointer(&self) -> Option<*mut u8> {
        self.0.host_pointer()
    }

    /// See [`Storage::as_any`].
    pub(crate) fn as_any(&self) -> &dyn Any {
        self.0.as_any()
    }

    /// The storage as the type that its device made, or `None` when another device made it.
    pub fn downcast<T: Storage>(&self) -> Option<&T> {
        self.0.as_any().downcast_ref()
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.bytes())
    }
}

/// How elements lie in a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Element type.
    pub dtype: DType,
    /// Extents.
    pub shape: Shape,
    /// Position of element `(0, 0, …)`, in elements.
    pub offset: usize,
    /// Elements to step along each axis.
    pub strides: Strides,
}

impl Layout {
    /// C order, from the buffer's start, without gaps.
    pub fn contiguous(dtype: DType, shape: Shape) -> Self {
        let strides = shape.strides();
        Layout { dtype, shape, offset: 0, strides }
    }

    /// Whether the elements lie in C order without gaps (axes of extent 1 don't count).
    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1;
        for axis in (0..self.shape.len()).rev() {
            if self.shape[axis] != 1 && self.strides[axis] != expected {
                return false;
            }
            expected *= self.shape[axis] as isize;
        }
        true
    }

    /// Bytes that the elements take when laid out without gaps.
    pub fn bytes(&self) -> usize {
        self.shape.elements() * self.dtype.size()
    }

    /// The layout of a part. The region must lie inside.
    pub fn part(&self, region: &Region) -> Layout {
        let step: isize =
            region.origin.iter().zip(&self.strides).map(|(&at, &stride)| at as isize * stride).sum();
        Layout {
            dtype: self.dtype,
            shape: region.shape.clone(),
            offset: (self.offset as isize + step) as usize,
            strides: self.strides.clone(),
        }
    }
}

/// A typed view of a buffer.
#[derive(Clone, Debug)]
pub struct Block {
    /// Where the bytes are.
    pub buffer: Buffer,
    /// How to find elements there.
    pub layout: Layout,
}

impl Block {
    /// A contiguous block over a whole buffer of at least `layout.bytes()`.
    pub fn contiguous(buffer: Buffer, dtype: DType, shape: Shape) -> Self {
        Block { buffer, layout: Layout::contiguous(dtype, shape) }
    }

    /// A host block that owns a copy of `values`, in C order.
    ///
    /// Returns `None` when `shape` doesn't have as many elements.
    pub fn from_slice<T: Element>(shape: impl Into<Shape>, values: &[T]) -> Option<Self> {
        let shape = shape.into();
        (shape.elements() == values.len()).then(|| {
            let storage = Words::copy_of(bytes_of(values));
            Block::contiguous(Buffer::new(storage), T::DTYPE, shape)
        })
    }

    /// A part of this block, without a copy. The region must lie inside.
    pub fn part(&self, region: &Region) -> Block {
        Block { buffer: self.buffer.clone(), layout: self.layout.part(region) }
    }

    /// Extents.
    pub fn shape(&self) -> &Shape {
        &self.layout.shape
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.layout.dtype
    }

    /// The first element's address, when the block is on the host.
    pub fn host_pointer(&self) -> Option<*mut u8> {
        let start = self.buffer.host_pointer()?;
        Some(start.wrapping_add(self.layout.offset * self.layout.dtype.size()))
    }

    /// The elements in C order, copied out. `None` when the block isn't on the host or holds another type.
    pub fn to_vec<T: Element>(&self) -> Option<Vec<T>> {
        if T::DTYPE != self.dtype() {
            return None;
        }
        let start = self.host_pointer()?.cast::<T>().cast_const();
        let mut values = Vec::with_capacity(self.shape().elements());
        for_each_row(&self.layout, |offset, length, stride| {
            for step in 0..length as isize {
                // SAFETY: the layout lies inside the buffer, which this block keeps alive, and is aligned
                // for every element type; the element type is the block's own.
                values.push(unsafe { *start.offset(offset + step * stride) });
            }
        });
        Some(values)
    }

    /// The only element of a block with one, as a Rust number.
    pub fn to_scalar<T: Element>(&self) -> Option<T> {
        (self.shape().elements() == 1).then(|| self.to_vec()).flatten()?.pop()
    }

    /// The elements as `f64`, in C order; `None` when the block isn't on the host.
    pub fn to_f64_vec(&self) -> Option<Vec<f64>> {
        macro_rules! convert {
            ($rust:ty) => {
                self.to_vec::<$rust>()?.into_iter().map(|v| v as f64).collect()
            };
        }
        Some(match self.dtype() {
            DType::Bool => self.to_vec::<bool>()?.into_iter().map(|v| f64::from(u8::from(v))).collect(),
            DType::U8 => convert!(u8),
            DType::I16 => convert!(i16),
            DType::I32 => convert!(i32),
            DType::U32 => convert!(u32),
            DType::I64 => convert!(i64),
            DType::F16 => self.to_vec::<f16>()?.into_iter().map(f64::from).collect(),
            DType::F32 => convert!(f32),
            DType::F64 => convert!(f64),
        })
    }

    /// The bytes, when the block is on the host and contiguous.
    pub fn contiguous_bytes(&self) -> Option<&[u8]> {
        if !self.layout.is_contiguous() {
            return None;
        }
        let start = self.host_pointer()?;
        // SAFETY: a contiguous layout covers exactly `layout.bytes()` bytes of a buffer that this block
        // keeps alive; nobody writes to a block once its task is done.
        Some(unsafe { std::slice::from_raw_parts(start, self.layout.bytes()) })
    }
}

/// Equal blocks have one type, one shape, and the same bits in every element, wherever these lie: `-0.0` isn't `0.0`,
/// and a NaN equals itself, as in [tokens](Block::token). Blocks that aren't on the host equal nothing. O(bytes).
///
/// ```
/// use outcrop::block::Block;
/// let block = |values: &[f64]| Block::from_slice([2], values).unwrap();
/// assert_eq!(block(&[f64::NAN, 0.0]), block(&[f64::NAN, 0.0]));
/// assert_ne!(block(&[1.0, 0.0]), block(&[1.0, -0.0]));
/// ```
impl PartialEq for Block {
    fn eq(&self, other: &Block) -> bool {
        if self.dtype() != other.dtype() || self.shape() != other.shape() {
            return false;
        }
        match (self.contiguous_bytes(), other.contiguous_bytes()) {
            (Some(left), Some(right)) => left == right,
            _ => self.token().is_some_and(|token| Some(token) == other.token()),
        }
    }
}

/// A host block that one task fills, and that nobody else sees before it is done.
///
/// Its memory holds nothing of use before; a task that says that it wrote its block must have filled it.
#[derive(Debug)]
pub struct OutputBlock<'a> {
    block: &'a Block,
    written: &'a AtomicBool,
}

impl<'a> OutputBlock<'a> {
    /// The block as its task's own, and what says later whether it was filled; `None` when it isn't on the host.
    pub(crate) fn new(block: &'a Block, written: &'a AtomicBool) -> Option<Self> {
        block.host_pointer().map(|_| OutputBlock { block, written })
    }

    /// Extents.
    pub fn shape(&self) -> &Shape {
        self.block.shape()
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.block.dtype()
    }

    /// Fills the block with `values`, in C order. `false`, and nothing is written, when they are of another type or
    /// another number.
    #[must_use]
    pub fn write<T: Element>(&mut self, values: &[T]) -> bool {
        if T::DTYPE != self.dtype() || values.len() != self.shape().elements() {
            return false;
        }
        let Some(start) = self.block.host_pointer() else { return false };
        let mut from = values.chunks(self.shape().last().copied().unwrap_or(1).max(1));
        for_each_row(&self.block.layout, |offset, _, stride| {
            for (step, value) in from.next().unwrap_or_default().iter().enumerate() {
                // SAFETY: the layout lies inside the buffer, is aligned for every element type, and holds elements
                // of type `T`; nobody else touches a task's output while the task runs.
                unsafe { *start.cast::<T>().offset(offset + step as isize * stride) = *value };
            }
        });
        self.written.store(true, Ordering::Relaxed);
        true
    }

    /// Fills the block with another one's elements. `false`, and nothing is written, when type or shape differ or
    /// the other isn't on the host.
    #[must_use]
    pub fn copy_from(&mut self, from: &Block) -> bool {
        macro_rules! copy {
            ($rust:ty) => {
                from.to_vec::<$rust>().is_some_and(|values| self.write(&values))
            };
        }
        if from.shape() != self.shape() {
            return false;
        }
        match from.dtype() {
            DType::Bool => copy!(bool),
            DType::U8 => copy!(u8),
            DType::I16 => copy!(i16),
            DType::I32 => copy!(i32),
            DType::U32 => copy!(u32),
            DType::I64 => copy!(i64),
            DType::F16 => copy!(f16),
            DType::F32 => copy!(f32),
            DType::F64 => copy!(f64),
        }
    }
}

/// Calls `visit(offset, length, stride)` for each run along the last axis, in C order; offsets are in
/// elements from the layout's first one.
pub fn for_each_row(layout: &Layout, mut visit: impl FnMut(isize, usize, isize)) {
    let axes = layout.shape.len();
    if layout.shape.elements() == 0 {
        return;
    }
    let (length, stride) =
        if axes == 0 { (1, 1) } else { (layout.shape[axes - 1], layout.strides[axes - 1]) };
    let outer = axes.saturating_sub(1);
    let mut index: SmallVec<[usize; 8]> = SmallVec::from_elem(0, outer);
    let mut offset = 0isize;
    loop {
        visit(offset, length, stride);
        let mut axis = outer;
        loop {
            if axis == 0 {
                return;
            }
            axis -= 1;
            index[axis] += 1;
            offset += layout.strides[axis];
            if index[axis] < layout.shape[axis] {
                break;
            }
            offset -= layout.strides[axis] * layout.shape[axis] as isize;
            index[axis] = 0;
        }
    }
}

/// Host memory in whole 64-byte lines, so that it is aligned for every element type and vector.
struct Words(Box<[Line]>);

#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
struct Line([u64; 8]);

impl Words {
    fn copy_of(bytes: &[u8]) -> Self {
        let zero = Line([0; 8]);
        let mut lines = vec![zero; bytes.len().div_ceil(size_of::<Line>())].into_boxed_slice();
        bytemuck::cast_slice_mut::<Line, u8>(&mut lines)[..bytes.len()].copy_from_slice(bytes);
        Words(lines)
    }
}

impl Storage for Words {
    fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }

    fn host_pointer(&self) -> Option<*mut u8> {
        Some(self.0.as_ptr().cast_mut().cast())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn bytes_of<T: Element>(values: &[T]) -> &[u8] {
    // SAFETY: element types are plain numbers (or bool) without padding; any of their bytes may be read.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_views() {
        let values: Vec<i32> = (0..24).collect();
        let block = Block::from_slice([2, 3, 4], &values).unwrap();
        let region = Region { origin: [1, 0, 1].into(), shape: [1, 2, 2].into() };
        let part = block.part(&region);
        assert_eq!(part.to_vec::<i32>().unwrap(), [13, 14, 17, 18]);
        assert!(!part.layout.is_contiguous());
        assert_eq!(part.to_vec::<f32>(), None);
        assert!(Block::from_slice([5], &values).is_none());
    }

    #[test]
    fn outputs_are_filled_in_c_order_and_only_with_what_fits() {
        let whole = Block::from_slice([3, 4], &[0i32; 12]).unwrap();
        let part = whole.part(&Region { origin: [1, 1].into(), shape: [2, 2].into() });
        let written = AtomicBool::new(false);
        let mut output = OutputBlock::new(&part, &written).unwrap();
        assert!(!output.write(&[1, 2, 3i32]) && !written.load(Ordering::Relaxed));
        assert!(output.write(&[1, 2, 3, 4i32]));
        assert!(written.load(Ordering::Relaxed) && !output.write(&[1f32; 4]));
        assert_eq!(whole.to_vec::<i32>().unwrap(), [0, 0, 0, 0, 0, 1, 2, 0, 0, 3, 4, 0]);
        assert!(output.copy_from(&Block::from_slice([2, 2], &[9i32; 4]).unwrap()));
        assert!(!output.copy_from(&Block::from_slice([4], &[9i32; 4]).unwrap()));
        assert_eq!(part.to_vec::<i32>().unwrap(), [9; 4]);
    }

    #[test]
    fn blocks_are_equal_by_type_shape_and_bits() {
        let whole = Block::from_slice([2, 2], &[1i32, 2, 1, 2]).unwrap();
        let column = |at| whole.part(&Region { origin: [0, at].into(), shape: [2, 1].into() });
        assert_eq!(column(1), Block::from_slice([2, 1], &[2i32, 2]).unwrap());
        assert_ne!(column(0), column(1));
        assert_ne!(whole, Block::from_slice([4], &[1i32, 2, 1, 2]).unwrap());
        assert_ne!(whole, Block::from_slice([2, 2], &[1u32, 2, 1, 2]).unwrap());
    }

    #[test]
    fn empty_and_scalar_blocks() {
        let empty = Block::from_slice::<f32>([3, 0], &[]).unwrap();
        assert_eq!(empty.to_vec::<f32>().unwrap(), [0f32; 0]);
        let scalar = Block::from_slice::<f64>(Shape::default(), &[7.0]).unwrap();
        assert_eq!(scalar.to_scalar::<f64>(), Some(7.0));
    }
}
