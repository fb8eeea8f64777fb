//! Copies between the host and a device whose copies are of dense bytes: what may be copied, and host blocks as streams
//! of bytes in C order, whatever their strides.

use crate::block::{Block, for_each_row};

/// Why `host` and `device` can't be copied to each other, if so.
pub(in crate::device) fn mismatch(host: &Block, device: &Block) -> Option<String> {
    let (a, b) = (&host.layout, &device.layout);
    if a.dtype != b.dtype || a.shape != b.shape {
        return Some(format!("{} {} on the host, {} {} here", a.dtype, a.shape, b.dtype, b.shape));
    }
    if b.offset != 0 || !b.is_contiguous() {
        return Some("the device's block isn't contiguous".to_owned());
    }
    let is_elsewhere = host.host_pointer().is_none() && a.bytes() > 0;
    is_elsewhere.then(|| "the other block isn't in the host's memory".to_owned())
}

/// Calls `visit` with the block's bytes in C order, at most `part` (a multiple of 8) at a time. Nothing
/// happens when the block isn't on the host.
pub(in crate::device) fn for_each_part(block: &Block, part: usize, mut visit: impl FnMut(&[u8])) {
    if let Some(bytes) = block.contiguous_bytes() {
        return bytes.chunks(part).for_each(visit);
    }
    let Some(start) = block.host_pointer() else { return };
    let size = block.dtype().size();
    let mut gathered: Vec<u8> = Vec::with_capacity(part.min(block.layout.bytes()));
    for_each_row(&block.layout, |offset, length, stride| {
        for step in 0..length as isize {
            if gathered.len() == part {
                visit(&gathered);
                gathered.clear();
            }
            let at = (offset + step * stride) * size as isize;
            // SAFETY: the layout lies inside the buffer, which the block keeps alive; nobody writes to it.
            gathered.extend_from_slice(unsafe {
                std::slice::from_raw_parts(start.offset(at).cast_const(), size)
            });
        }
    });
    if !gathered.is_empty() {
        visit(&gathered);
    }
}

/// Fills a host block with bytes that come in C order.
pub(in crate::device) struct RowWriter<'a> {
    block: &'a Block,
    /// Elements written.
    done: usize,
}

impl<'a> RowWriter<'a> {
    pub(in crate::device) fn new(block: &'a Block) -> Self {
        RowWriter { block, done: 0 }
    }

    /// Writes whole elements; what goes beyond the block, or to a block elsewhere, is dropped.
    pub(in crate::device) fn write(&mut self, bytes: &[u8]) {
        let layout = &self.block.layout;
        let Some(start) = self.block.host_pointer() else { return };
        let size = layout.dtype.size();
        let count = (bytes.len() / size).min(layout.shape.elements() - self.done);
        let row = if layout.is_contiguous() {
            layout.shape.elements()
        } else {
            layout.shape.last().copied().unwrap_or(1)
        };
        let stride = if layout.is_contiguous() { 1 } else { layout.strides.last().copied().unwrap_or(1) };
        let mut taken = 0;
        while taken < count {
            let index = layout.shape.unravel(self.done);
            let length = (row - self.done % row).min(count - taken);
            let first: isize =
                index.iter().zip(&layout.strides).map(|(&at, &stride)| at as isize * stride).sum();
            let step = if stride == 1 { length } else { 1 };
            for k in (0..length).step_by(step) {
                let to = (first + k as isize * stride) * size as isize;
                let from = &bytes[(taken + k) * size..(taken + k + step) * size];
                // SAFETY: `step` elements from index `first + k` on lie in the block, one after the other
                // when the stride is 1; the launcher lets nobody else touch a block that is written.
                unsafe {
                    std::ptr::copy_nonoverlapping(from.as_ptr(), start.offset(to), from.len());
                }
            }
            taken += length;
            self.done += length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Region;

    #[test]
    fn strided_blocks_stream_in_c_order() {
        let values: Vec<i16> = (0..60).collect();
        let whole = Block::from_slice([5, 12], &values).unwrap();
        let view = whole.part(&Region { origin: [1, 2].into(), shape: [3, 7].into() });
        let mut bytes = Vec::new();
        for_each_part(&view, 8, |part| bytes.extend_from_slice(part));
        let want: Vec<u8> = view.to_vec::<i16>().unwrap().iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(bytes, want);

        let target = Block::from_slice([5, 12], &[0i16; 60]).unwrap();
        let hole = target.part(&Region { origin: [1, 2].into(), shape: [3, 7].into() });
        let mut writer = RowWriter::new(&hole);
        bytes.chunks(10).for_each(|part| writer.write(part));
        assert_eq!(hole.to_vec::<i16>(), view.to_vec::<i16>());
        assert_eq!(target.to_vec::<i16>().unwrap()[..14], [0; 14]);
    }
}
