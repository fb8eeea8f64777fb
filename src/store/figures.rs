//! What a store did.

use std::time::Instant;

/// What a store wrote and read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Chunks written.
    pub chunks_written: u64,
    /// Their bytes, before compression.
    pub bytes_written: u64,
    /// Their bytes on disk.
    pub bytes_stored: u64,
    /// Seconds that threads spent on writing, compression and waiting for the disk included.
    pub write_seconds: f64,
    /// Chunks read.
    pub chunks_read: u64,
    /// Their bytes, before compression.
    pub bytes_read: u64,
    /// Seconds that threads spent on reading.
    pub read_seconds: f64,
}

impl Figures {
    /// Adds a chunk that was written since `started`.
    pub(super) fn wrote(&mut self, raw_bytes: u64, stored_bytes: u64, started: Instant) {
        self.chunks_written += 1;
        self.bytes_written += raw_bytes;
        self.bytes_stored += stored_bytes;
        self.write_seconds += started.elapsed().as_secs_f64();
    }

    /// Adds a chunk that was read since `started`.
    pub(super) fn read(&mut self, raw_bytes: u64, started: Instant) {
        self.chunks_read += 1;
        self.bytes_read += raw_bytes;
        self.read_seconds += started.elapsed().as_secs_f64();
    }
}
