//! What became of a run's resume directory.

use std::fmt;

use serde::Serialize;

use crate::report::Report;

/// A run's resume directory; what was taken from it and put there is said with each layer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResumeReport {
    /// The directory.
    pub folder: String,
    /// What was wrong with it, and put right.
    pub notes: Vec<String>,
}

impl Report {
    /// What was taken from an earlier run, what is left for a later one, and what can't be.
    pub(super) fn write_resume(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let folder = self.resume.as_ref().map_or("the resume directory", |resume| &resume.folder);
        // Without a directory, blocks are recalled that a plan that was broken off had finished: its recovery counts them.
        for layer in &self.layers {
            let (name, all) = (&layer.name, layer.recalled + layer.kept);
            if layer.recalled > 0 && (self.resume.is_some() || self.recoveries.is_empty()) {
                writeln!(f, "resumed: {} of {all} blocks of '{name}' from {folder}", layer.recalled)?;
            }
            if layer.kept > 0 {
                writeln!(f, "kept: {} of {all} blocks of '{name}' in {folder}", layer.kept)?;
            }
            if let Some(reason) = &layer.not_kept {
                writeln!(f, "not kept: '{name}': {reason}")?;
            }
        }
        let notes = self.resume.iter().flat_map(|resume| &resume.notes);
        notes.into_iter().try_for_each(|note| writeln!(f, "note: {folder}: {note}"))
    }
}
