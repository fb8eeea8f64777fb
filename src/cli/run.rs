//! `outcrop run`: plan, run, report.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::failure::Failure;
use super::progress::Progress;
use super::trace::TraceFile;
use super::{PipelineArguments, interrupt, pretty, print, tell};
use crate::exec::Control;
use crate::report::Report;
use crate::session::Completed;
use crate::session::Session;
use crate::settings::Config;
use crate::units::parse_duration;

#[derive(Debug, Args)]
pub(super) struct RunArguments {
    #[command(flatten)]
    pub(super) shared: PipelineArguments,
    /// Keep finished blocks in DIR, and go on from those that an earlier run kept there
    #[arg(long, value_name = "DIR")]
    resume: Option<PathBuf>,
    /// Write which worker did what and when to FILE, for Perfetto or Chrome's about:tracing
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Stop the run when it takes longer, such as 10s or '5 min'; no output is written then
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    deadline: Option<Duration>,
    /// Print nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

pub(super) fn run(arguments: &RunArguments) -> Result<String, Failure> {
    let RunArguments { shared, resume, trace, quiet, .. } = arguments;
    // First, so that it goes last: a folder must be empty to be removed.
    let mut folder = OutFolder::default();
    let pipeline = shared.pipeline()?;
    let session = Session::new(Config { resume: resume.clone(), ..shared.config(&pipeline) });
    if !quiet {
        tell(session.notes());
    }
    let prepared = session.prepare(&pipeline.outputs())?;
    let talks = !shared.json && !quiet;
    let progress = talks.then(|| Progress::of(&prepared.plan));
    let control = Arc::new(arguments.control(progress.as_ref()));
    interrupt::listen(&control);
    folder.make(&shared.out)?;
    let trace = trace.as_deref().map(TraceFile::create).transpose()?;
    pipeline.create_outputs()?;
    if talks {
        let report = Report::of_plan(&prepared.plan, session.machine(), prepared.plan_s);
        print(&format!("{}\n\n", report.summary()));
    }
    let completed = session.run(&prepared, &control);
    drop(progress);
    let completed = match completed {
        Ok(completed) => completed,
        Err(error) => {
            if let Some((trace, (plan, attempts))) = trace.zip(control.take_trace()) {
                // Why the run failed matters more than why its trace isn't there.
                let _ = trace.write(&plan, &attempts);
            }
            return Err(error.into());
        }
    };
    folder.keep();
    let Completed { mut report, plan, trace: attempts, .. } = completed;
    if let Some(resume) = &mut report.resume
        && let Err(error) = session.remove_unused()
    {
        resume.notes.push(error.to_string());
    }
    if let Some((trace, attempts)) = trace.zip(attempts) {
        trace.write(&plan, &attempts)?;
    }
    Ok(match (shared.json, quiet) {
        (true, _) => pretty(&report),
        (false, true) => String::new(),
        (false, false) => report.to_string(),
    })
}

impl RunArguments {
    fn control(&self, progress: Option<&Progress>) -> Control {
        let mut control = match progress {
            Some(progress) => Control::watched(progress.watcher()),
            None => Control::new(),
        };
        if self.trace.is_some() {
            control = control.traced();
        }
        match self.deadline {
            Some(limit) => control.with_deadline(limit),
            None => control,
        }
    }
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
