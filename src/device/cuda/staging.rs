//! Pinned memory through which copies go: the card reads and writes it while the processor goes on.

use std::sync::Arc;

use cudarc::driver::result;

use super::context::Context;
use super::kept::{Event, Stream};
use crate::device::contract::DeviceError;

/// Bytes of a part.
pub(super) const PART_BYTES: usize = 8 << 20;

/// Two parts: one is copied while the other is filled or emptied.
pub(super) struct Staging {
    parts: [Part; 2],
}

/// Pinned bytes, and when the card is done with them.
pub(super) struct Part {
    context: Arc<Context>,
    start: *mut u8,
    bytes: usize,
    done: Event,
}

// SAFETY: the memory is the part's own, and whoever fills it has the part for itself.
unsafe impl Send for Part {}

impl Staging {
    pub(super) fn new(context: &Arc<Context>) -> Result<Self, DeviceError> {
        let part = || {
            Ok::<Part, DeviceError>(Part {
                context: context.clone(),
                start: std::ptr::null_mut(),
                bytes: 0,
                done: Event::new(context)?,
            })
        };
        Ok(Staging { parts: [part()?, part()?] })
    }

    /// The part for the `nth` piece of a copy.
    pub(super) fn part(&mut self, nth: usize) -> &mut Part {
        &mut self.parts[nth % 2]
    }
}

impl Part {
    /// Waits until the card is done with what was there.
    pub(super) fn wait(&self, operation: &str) -> Result<(), DeviceError> {
        self.done.wait(operation)
    }

    /// Notes that the card is busy with it until what the stream has been given is done.
    pub(super) fn submitted(&self, stream: &Stream) -> Result<(), DeviceError> {
        self.done.record(stream)
    }

    /// Room for so many bytes, at most [`PART_BYTES`]; what they hold is any values. The card must be done with it.
    pub(super) fn room(&mut self, bytes: usize) -> Result<&mut [u8], DeviceError> {
        if self.bytes < bytes {
            self.free();
            let size = bytes.next_power_of_two().clamp(4096, PART_BYTES);
            // Cached, since the processor reads what comes back.
            // SAFETY: an allocation has no conditions.
            let start =
                self.context.call("pinning memory", || unsafe { result::malloc_host(size, 0) })?.cast::<u8>();
            // SAFETY: the memory was just given out with that size.
            unsafe { start.write_bytes(0, size) };
            (self.start, self.bytes) = (start, size);
        }
        // SAFETY: so many bytes, written at least once, and borrowed with the part.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.start, bytes) })
    }

    fn free(&mut self) {
        if self.bytes > 0 {
            self.bytes = 0;
            // SAFETY: it was given out once, and the card is done with it.
            self.context.give_back(|| unsafe { result::free_host(self.start.cast()) });
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let _ = self.done.wait("giving back");
        self.free();
    }
}
