//! Shapes, strides and regions of n-dimensional arrays, in C order.

use std::fmt;
use std::ops::{Deref, DerefMut};

use smallvec::SmallVec;

/// The extents of an array, outermost axis first. An empty shape is a scalar.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Shape(SmallVec<[usize; 4]>);

/// Elements to step for each axis; zero repeats, negative runs backwards.
pub type Strides = SmallVec<[isize; 4]>;

/// More axes than this are refused where an array is made: kernels keep their loop counters in fixed arrays.
pub const AXES_MAX: usize = 8;

impl Shape {
    /// A shape of the given extents.
    pub fn new(extents: impl IntoIterator<Item = usize>) -> Self {
        Shape(extents.into_iter().collect())
    }

    /// The number of elements; 1 for a scalar.
    pub fn elements(&self) -> usize {
        self.0.iter().product()
    }

    /// Strides of a contiguous C-order array of this shape.
    pub fn strides(&self) -> Strides {
        let mut strides: Strides = SmallVec::from_elem(1, self.len());
        for axis in (1..self.len()).rev() {
            strides[axis - 1] = strides[axis] * self[axis] as isize;
        }
        strides
    }

    /// The shape of an elementwise operation over both, by NumPy's rule: axes align from the right, and an
    /// extent of 1 stretches. `None` when they don't fit.
    pub fn broadcast(&self, other: &Shape) -> Option<Shape> {
        let axes = self.len().max(other.len());
        let at =
            |shape: &Shape, axis: usize| (axis + shape.len()).checked_sub(axes).map_or(1, |own| shape[own]);
        (0..axes)
            .map(|axis| match (at(self, axis), at(other, axis)) {
                (a, b) if a == b => Some(a),
                (1, b) => Some(b),
                (a, 1) => Some(a),
                _ => None,
            })
            .collect::<Option<_>>()
            .map(Shape)
    }

    /// The multi-index of element `linear` in C order.
    pub fn unravel(&self, mut linear: usize) -> Shape {
        let mut index = Shape(SmallVec::from_elem(0, self.len()));
        for axis in (0..self.len()).rev() {
            let extent = self[axis].max(1);
            index[axis] = linear % extent;
            linear /= extent;
        }
        index
    }

    /// The C-order position of a multi-index.
    pub fn ravel(&self, index: &[usize]) -> usize {
        self.iter().zip(index).fold(0, |linear, (&extent, &at)| linear * extent + at)
    }
}

impl Deref for Shape {
    type Target = [usize];
    fn deref(&self) -> &[usize] {
        &self.0
    }
}

impl DerefMut for Shape {
    fn deref_mut(&mut self) -> &mut [usize] {
        &mut self.0
    }
}

impl From<&[usize]> for Shape {
    fn from(extents: &[usize]) -> Self {
        Shape(SmallVec::from_slice(extents))
    }
}

impl From<Vec<usize>> for Shape {
    fn from(extents: Vec<usize>) -> Self {
        Shape(SmallVec::from_vec(extents))
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    fn from(extents: [usize; N]) -> Self {
        Shape(SmallVec::from_slice(&extents))
    }
}

impl FromIterator<usize> for Shape {
    fn from_iter<I: IntoIterator<Item = usize>>(extents: I) -> Self {
        Shape(extents.into_iter().collect())
    }
}

impl fmt::Display for Shape {
    /// As Python writes a tuple: `(344, 403)`, `(5,)`, `()`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (axis, extent) in self.iter().enumerate() {
            let comma = if axis > 0 { ", " } else { "" };
            write!(f, "{comma}{extent}")?;
        }
        f.write_str(if self.len() == 1 { ",)" } else { ")" })
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A box of elements in an array: `origin[a] .. origin[a] + shape[a]` along every axis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Region {
    /// The first element.
    pub origin: Shape,
    /// The extents.
    pub shape: Shape,
}

impl Region {
    /// The whole of an array of this shape.
    pub fn whole(shape: &Shape) -> Self {
        Region { origin: Shape::new(std::iter::repeat_n(0, shape.len())), shape: shape.clone() }
    }

    /// One past the last element along `axis`.
    pub fn end(&self, axis: usize) -> usize {
        self.origin[axis] + self.shape[axis]
    }

    /// What two regions of one array have in common; without elements where that is nothing.
    pub fn common(&self, other: &Region) -> Region {
        let axes = 0..self.shape.len();
        let origin: Shape = axes.clone().map(|axis| self.origin[axis].max(other.origin[axis])).collect();
        let end = |axis: usize| self.end(axis).min(other.end(axis));
        let shape = axes.map(|axis| end(axis).saturating_sub(origin[axis])).collect();
        Region { origin, shape }
    }
}

impl fmt::Display for Region {
    /// As NumPy writes a slice: `[0:52, 0:20000]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for axis in 0..self.shape.len() {
            let comma = if axis > 0 { ", " } else { "" };
            write!(f, "{comma}{}:{}", self.origin[axis], self.end(axis))?;
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasting_aligns_from_the_right() {
        let shape = |extents: &[usize]| Shape::from(extents);
        let check = |a: &[usize], b: &[usize], want: Option<&[usize]>| {
            assert_eq!(shape(a).broadcast(&shape(b)), want.map(shape), "{a:?} with {b:?}");
            assert_eq!(shape(b).broadcast(&shape(a)), want.map(shape), "{b:?} with {a:?}");
        };
        check(&[3, 1], &[4], Some(&[3, 4]));
        check(&[], &[2, 3], Some(&[2, 3]));
        check(&[2, 3], &[3, 2], None);
        check(&[0, 3], &[1, 3], Some(&[0, 3]));
        check(&[1], &[0], Some(&[0]));
        check(&[5, 1, 7], &[6, 1], Some(&[5, 6, 7]));
    }

    #[test]
    fn ravel_inverts_unravel() {
        let shape = Shape::from([3, 1, 4]);
        for linear in 0..shape.elements() {
            assert_eq!(shape.ravel(&shape.unravel(linear)), linear);
        }
        assert_eq!(&shape.strides()[..], &[4, 4, 1]);
    }

    #[test]
    fn shapes_print_as_python_does() {
        assert_eq!(Shape::from([344, 403]).to_string(), "(344, 403)");
        assert_eq!(Shape::from([5]).to_string(), "(5,)");
        assert_eq!(Shape::default().to_string(), "()");
    }
}
