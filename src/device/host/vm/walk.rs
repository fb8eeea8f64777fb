//! Walks several strided arrays of one shape in step, row by row in C order.

use std::ops::Range;

use smallvec::SmallVec;

use crate::shape::Strides;

type Extents = SmallVec<[usize; 8]>;

/// A walk over rows. Each stream is an array, or anything else with one stride for each axis.
pub(in crate::device::host) struct Walk {
    extents: Extents,
    strides: SmallVec<[Strides; 6]>,
    index: Extents,
    offsets: SmallVec<[isize; 6]>,
    /// The elements to walk, counted in C order, and the first of the current row.
    span: Range<usize>,
    at: usize,
}

impl Walk {
    /// Over `extents`. With `merge`, axes that every stream runs through at even steps become one, so that rows
    /// are as long as they can be.
    pub fn new(extents: &[usize], strides: SmallVec<[Strides; 6]>, merge: bool) -> Self {
        let mut walk = Walk {
            extents: extents.into(),
            offsets: SmallVec::from_elem(0, strides.len()),
            strides,
            index: SmallVec::new(),
            span: 0..0,
            at: 0,
        };
        if merge {
            walk.merge();
        }
        if walk.extents.is_empty() {
            walk.extents.push(1);
            walk.strides.iter_mut().for_each(|strides| strides.push(0));
        }
        let outer = walk.extents.len() - 1;
        walk.index = SmallVec::from_elem(0, outer);
        walk.span = 0..walk.extents.iter().product();
        walk
    }

    /// Keeps to a span of the elements, counted in C order, and goes to the row that holds the first.
    pub fn keep_to(&mut self, span: Range<usize>) {
        let length = self.row_length().max(1);
        let mut row = span.start / length;
        self.span = span;
        self.at = row * length;
        self.offsets.fill(0);
        for axis in (0..self.index.len()).rev() {
            let extent = self.extents[axis].max(1);
            self.index[axis] = row % extent;
            row /= extent;
            for (offset, strides) in self.offsets.iter_mut().zip(&self.strides) {
                *offset += self.index[axis] as isize * strides[axis];
            }
        }
    }

    fn merge(&mut self) {
        let mut kept: SmallVec<[usize; 8]> = SmallVec::new();
        for axis in 0..self.extents.len() {
            if self.extents[axis] == 1 {
                continue;
            }
            let extent = self.extents[axis];
            let joins = |&last: &usize| self.strides.iter().all(|s| s[last] == s[axis] * extent as isize);
            match kept.last().copied().filter(joins) {
                Some(last) => {
                    self.extents[axis] *= self.extents[last];
                    kept.pop();
                    kept.push(axis);
                }
                None => kept.push(axis),
            }
        }
        self.extents = kept.iter().map(|&axis| self.extents[axis]).collect();
        for strides in &mut self.strides {
            *strides = kept.iter().map(|&axis| strides[axis]).collect();
        }
    }

    /// The elements of the current row that are walked.
    pub fn row(&self) -> Range<usize> {
        let end = self.span.end.min(self.at + self.row_length());
        self.span.start.max(self.at) - self.at..end - self.at
    }

    /// Elements in each row.
    pub fn row_length(&self) -> usize {
        self.extents[self.extents.len() - 1]
    }

    /// The step of a stream along rows.
    pub fn row_stride(&self, stream: usize) -> isize {
        self.strides[stream][self.extents.len() - 1]
    }

    /// Where the current row of a stream starts, counted from its first element.
    pub fn offset(&self, stream: usize) -> isize {
        self.offsets[stream]
    }

    /// Index of the current row along the outer axes.
    pub fn index(&self) -> &[usize] {
        &self.index
    }

    /// Whether there is a current row.
    pub fn has_row(&self) -> bool {
        self.at < self.span.end
    }

    /// Goes on to the next row.
    pub fn advance(&mut self) {
        self.at += self.row_length();
        for axis in (0..self.index.len()).rev() {
            self.index[axis] += 1;
            let wraps = self.index[axis] == self.extents[axis];
            for (offset, strides) in self.offsets.iter_mut().zip(&self.strides) {
                *offset += strides[axis];
                if wraps {
                    *offset -= strides[axis] * self.extents[axis] as isize;
                }
            }
            if !wraps {
                return;
            }
            self.index[axis] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(extents: &[usize], strides: &[&[isize]], merge: bool) -> (usize, Vec<isize>) {
        let strides = strides.iter().map(|&s| Strides::from_slice(s)).collect();
        let mut walk = Walk::new(extents, strides, merge);
        let mut rows = Vec::new();
        while walk.has_row() {
            rows.push(walk.offset(0));
            walk.advance();
        }
        (walk.row_length(), rows)
    }

    #[test]
    fn even_axes_merge() {
        assert_eq!(offsets(&[2, 3, 4], &[&[12, 4, 1]], true), (24, vec![0]));
        assert_eq!(offsets(&[2, 3, 4], &[&[12, 4, 1], &[0, 0, 0]], true), (24, vec![0]));
        assert_eq!(offsets(&[2, 3, 4], &[&[12, 4, 1], &[4, 0, 1]], true), (4, vec![0, 4, 8, 12, 16, 20]));
        assert_eq!(offsets(&[2, 3, 4], &[&[20, 4, 1]], true), (12, vec![0, 20]));
        assert_eq!(offsets(&[2, 3, 4], &[&[12, 4, 1]], false), (4, vec![0, 4, 8, 12, 16, 20]));
    }

    #[test]
    fn spans_cover_what_the_whole_walk_does() {
        let strides = || [[20, 4, 1], [0, 4, 1]].iter().map(|s| Strides::from_slice(s)).collect();
        for merge in [false, true] {
            let elements = |spans: &[usize]| {
                let mut all = Vec::new();
                for span in spans.windows(2) {
                    let mut walk = Walk::new(&[3, 2, 4], strides(), merge);
                    walk.keep_to(span[0]..span[1]);
                    while walk.has_row() {
                        all.extend(walk.row().map(|at| walk.offset(0) + at as isize));
                        walk.advance();
                    }
                }
                all
            };
            assert_eq!(elements(&[0, 3, 3, 4, 17, 24]), elements(&[0, 24]));
        }
    }

    #[test]
    fn empty_and_scalar_walks() {
        assert_eq!(offsets(&[], &[&[]], true), (1, vec![0]));
        assert_eq!(offsets(&[1, 1], &[&[5, 9]], true), (1, vec![0]));
        assert_eq!(offsets(&[3, 0], &[&[1, 1]], true).1, Vec::<isize>::new());
        assert_eq!(offsets(&[0, 3], &[&[3, 1]], true).1, Vec::<isize>::new());
    }
}
