//! `outcrop run`: plan, run, report.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::failure::Failure;
use super::progress::Progress;
use super::{PipelineArguments, interrupt, pretty, print};
use crate::exec::Control;
use crate::report::Report;
use crate::session::Session;
use crate::settings::Config;

#[derive(Debug, Args)]
pub(super) struct RunArguments {
    #[command(flatten)]
    pub(super) shared: PipelineArguments,
    /// Keep finished blocks in DIR, and go on from those that an earlier run kept there
    #[arg(long, value_name = "DIR")]
    resume: Option<PathBuf>,
    /// Print nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

pub(super) fn run(arguments: &RunArguments) -> Result<String, Failure> {
    let RunArguments { shared, resume, quiet } = arguments;
    // First, so that it goes last: a folder must be empty to be removed.
    let mut folder = OutFolder::default();
    let pipeline = shared.pipeline()?;
    let session = Session::new(Config { resume: resume.clone(), ..shared.config(&pipeline) });
    let prepared = session.prepare(&pipeline.outputs())?;
    let talks = !shared.json && !quiet;
    let progress = talks.then(|| Progress::of(&prepared.plan));
    let control = Arc::new(match &progress {
        Some(progress) => Control::watched(progress.watcher()),
        None => Control::new(),
    });
    interrupt::listen(&control);
    folder.make(&shared.out)?;
    pipeline.create_outputs()?;
    if talks {
        let report = Report::of_plan(&prepared.plan, session.machine(), prepared.plan_s);
        print(&format!("{}\n\n", report.summary()));
    }
    let completed = session.run(&prepared, &control);
    drop(progress);
    let mut report = completed?.report;
    folder.keep();
    if let Some(resume) = &mut report.resume
        && let Err(error) = session.remove_unused()
    {
        resume.notes.push(error.to_string());
    }
    Ok(match (shared.json, quiet) {
        (true, _) => pretty(&report),
        (false, true) => String::new(),
        (false, false) => report.to_string(),
    })
}

/// The folder for the outputs. What had to be made goes again when the run fails.
#[derive(Default)]
struct OutFolder {
    made: Vec<PathBuf>,
}

impl OutFolder {
    fn make(&mut self, path: &Path) -> Result<(), Failure> {
        let named = path.ancestors().filter(|path| !path.as_os_str().is_empty());
        self.made = named.take_while(|path| !path.exists()).map(Path::to_owned).collect();
        let failed = |source| Failure::Folder { path: path.to_owned(), source };
        std::fs::create_dir_all(path).map_err(failed)
    }

    fn keep(&mut self) {
        self.made.clear();
    }
}

impl Drop for OutFolder {
    fn drop(&mut self) {
        // Innermost first; one that somebody else has put something in stays.
        for path in &self.made {
            let _ = std::fs::remove_dir(path);
        }
    }
}
