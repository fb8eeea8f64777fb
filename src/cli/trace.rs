//! `outcrop run --trace FILE`: the trace of a run, beside its outputs.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use super::failure::Failure;
use crate::exec::Trace;
use crate::pipeline::staged::{OutputError, StagedFile};
use crate::report::trace;
use crate::steps::Plan;

/// Where a trace goes.
pub(super) struct TraceFile {
    path: PathBuf,
    to: To,
}

enum To {
    /// A file that gets its name when it is whole.
    Staged(StagedFile),
    /// A pipe or a device, which nothing may take the place of.
    Open(File),
}

impl TraceFile {
    /// Opens the place before anything runs.
    pub(super) fn create(path: &Path) -> Result<Self, Failure> {
        let is_special = std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
        let to = if is_special {
            let failed = |source| OutputError::Io { path: path.to_owned(), source };
            To::Open(File::options().write(true).open(path).map_err(failed)?)
        } else {
            To::Staged(StagedFile::create(path)?)
        };
        Ok(TraceFile { path: path.to_owned(), to })
    }

    /// Writes the trace, and puts the file in its place.
    pub(super) fn write(self, plan: &Plan, trace: &Trace) -> Result<(), Failure> {
        let file = match &self.to {
            To::Staged(staged) => staged.file(),
            To::Open(file) => file,
        };
        let failed = |source| Failure::Trace(OutputError::Io { path: self.path.clone(), source });
        trace::write(plan, trace, BufWriter::with_capacity(1 << 16, file)).map_err(failed)?;
        match self.to {
            To::Staged(staged) => staged.commit().map_err(Failure::Trace),
            To::Open(_) => Ok(()),
        }
    }
}
