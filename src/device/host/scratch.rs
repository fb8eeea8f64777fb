//! Memory of a worker thread for tiles, kept from launch to launch.

use std::cell::RefCell;

/// Scratch memory; goes back to the thread when dropped.
#[derive(Default)]
pub(super) struct Scratch {
    lines: Vec<Line>,
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u64; 8]);

thread_local! {
    static IDLE: RefCell<Vec<Scratch>> = const { RefCell::new(Vec::new()) };
}

/// A thread keeps no more than this, in lines: a launch that needed much gives it back.
const KEPT_LINES: usize = (1 << 20) / size_of::<Line>();

impl Scratch {
    /// Areas of at least the given bytes, each from a cache line's start, not cleared. They live as long as
    /// the scratch memory.
    pub fn with_areas(bytes: &[usize]) -> (Scratch, Vec<*mut u8>) {
        let mut scratch = IDLE.with_borrow_mut(Vec::pop).unwrap_or_default();
        let lines = |bytes: &usize| bytes.div_ceil(size_of::<Line>());
        let total = bytes.iter().map(lines).sum();
        if scratch.lines.len() < total {
            scratch.lines = vec![Line([0; 8]); total];
        }
        let start = scratch.lines.as_mut_ptr();
        let mut at = 0;
        let areas = bytes.iter().map(|bytes| {
            let area = start.wrapping_add(at).cast();
            at += lines(bytes);
            area
        });
        let areas = areas.collect();
        (scratch, areas)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.lines.is_empty() && self.lines.len() <= KEPT_LINES {
            let lines = std::mem::take(&mut self.lines);
            // A thread that is ending has no list any more; the memory is freed then.
            let _ = IDLE.try_with(|idle| {
                if let Ok(mut idle) = idle.try_borrow_mut() {
                    idle.push(Scratch { lines });
                }
            });
        }
    }
}
