//! Measured figures of a run: what went to disk, and what memory was really in use.

use std::fmt;

use serde::Serialize;

use crate::exec::Usage;
use crate::steps::Plan;
use crate::store::Figures;
use crate::units::Bytes;

/// What was moved to disk and back.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpillReport {
    /// Blocks written.
    pub blocks_written: u64,
    /// Their bytes, before compression.
    pub bytes_written: u64,
    /// Their bytes on disk.
    pub bytes_stored: u64,
    /// Seconds that threads spent on writing, compression included.
    pub write_s: f64,
    /// Blocks read back; one may be read several times.
    pub blocks_read: u64,
    /// Their bytes, before compression.
    pub bytes_read: u64,
    /// Seconds that threads spent on reading.
    pub read_s: f64,
}

/// What was really in use of a memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UseReport {
    /// The memory.
    pub memory: String,
    /// The most bytes in use beyond those at the beginning: on the host, resident anonymous memory of the process; on
    /// other devices, what their allocators gave out.
    pub used_bytes: u64,
    /// The most bytes that were granted.
    pub granted_bytes: u64,
    /// Bytes in use that nobody was granted, where they are more than the margin of the measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excess_bytes: Option<u64>,
}

impl SpillReport {
    pub(super) fn of(figures: &Figures) -> Self {
        SpillReport {
            blocks_written: figures.chunks_written,
            bytes_written: figures.bytes_written,
            bytes_stored: figures.bytes_stored,
            write_s: figures.write_seconds,
            blocks_read: figures.chunks_read,
            bytes_read: figures.bytes_read,
            read_s: figures.read_seconds,
        }
    }
}

impl UseReport {
    pub(super) fn of(usage: &Usage, plan: &Plan) -> Self {
        UseReport {
            memory: plan.memory_names[usize::from(usage.memory)].clone(),
            used_bytes: usage.used,
            granted_bytes: usage.granted,
            excess_bytes: usage.excess(),
        }
    }
}

impl fmt::Display for SpillReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "spilled {} in {}, {} on disk, written at {}",
            Bytes(self.bytes_written),
            blocks(self.blocks_written),
            Bytes(self.bytes_stored),
            rate(self.bytes_written, self.write_s)
        )?;
        match self.blocks_read {
            0 => Ok(()),
            count => write!(
                f,
                "; read back {} in {} at {}",
                Bytes(self.bytes_read),
                blocks(count),
                rate(self.bytes_read, self.read_s)
            ),
        }
    }
}

impl fmt::Display for UseReport {
    /// Says what is in excess; meant for those where something is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let excess = Bytes(self.excess_bytes.unwrap_or(0));
        let (used, granted) = (Bytes(self.used_bytes), Bytes(self.granted_bytes));
        if self.memory == "host" {
            write!(
                f,
                "host: {used} resident, {granted} granted: some function holds {excess} that its memory annotation \
                 doesn't say; which one can't be told, they share the process"
            )
        } else {
            write!(
                f,
                "{}: {used} in use, {granted} granted: {excess} more than the plan knows of",
                self.memory
            )
        }
    }
}

fn blocks(count: u64) -> String {
    format!("{count} block{}", if count == 1 { "" } else { "s" })
}

/// In decimal units, as disks are sold.
fn rate(bytes: u64, seconds: f64) -> String {
    match bytes as f64 / seconds.max(1e-9) {
        rate if rate >= 1e9 => format!("{:.1} GB/s", rate / 1e9),
        rate => format!("{:.0} MB/s", rate / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spill_is_one_line() {
        let mut spill = SpillReport {
            blocks_written: 300,
            bytes_written: 1_288_490_189,
            bytes_stored: 966_367_642,
            write_s: 1.0,
            blocks_read: 1,
            bytes_read: 4 << 20,
            read_s: 0.01,
        };
        let written = "spilled 1.2 GiB in 300 blocks, 921.6 MiB on disk, written at 1.3 GB/s";
        assert_eq!(spill.to_string(), format!("{written}; read back 4.0 MiB in 1 block at 419 MB/s"));
        spill.blocks_read = 0;
        assert_eq!(spill.to_string(), written);
    }
}
