//! Why a command failed: for people on stderr, for programs as JSON, for shells as an exit code.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::error::{Error, ErrorClass};
use crate::pipeline::Rejected;
use crate::pipeline::diagnostic::render;
use crate::pipeline::staged::OutputError;
use crate::plan::PlanError;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// The pipeline file or an input is wrong, or an output can't be written.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// Planning or running failed.
    #[error(transparent)]
    Session(Box<Error>),
    /// A file of the command line can't be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A picture or a trace can't be written; nothing has run.
    #[error(transparent)]
    Draw(#[from] OutputError),
    /// The trace can't be written; the run is over.
    #[error("the run is done, and its trace isn't: {0}")]
    Trace(OutputError),
    /// The folder for the outputs can't be made.
    #[error("cannot make the folder {}: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Session(Box::new(error))
    }
}

impl Failure {
    pub(super) fn exit_code(&self) -> u8 {
        match self {
            Failure::Rejected(_) | Failure::Read { .. } | Failure::Draw(_) | Failure::Folder { .. } => 2,
            Failure::Trace(_) => 1,
            Failure::Session(error) => match (error.class(), &**error) {
                (ErrorClass::Unsatisfiable, _) => 3,
                // A closure that panics is the user's, but it was found by running it.
                (ErrorClass::User, error) if !matches!(error, Error::Exec(_)) => 2,
                _ => 1,
            },
        }
    }

    fn class(&self) -> ErrorClass {
        match self {
            Failure::Session(error) => error.class(),
            Failure::Trace(_) => ErrorClass::Resource,
            _ => ErrorClass::User,
        }
    }

    /// On stderr, in colour where it is a terminal.
    pub(super) fn explain(&self) {
        let mut stderr = std::io::stderr().lock();
        let text = match self {
            Failure::Rejected(Rejected { file, problems }) => render(file, problems, stderr.is_terminal()),
            other => format!("error: {other}"),
        };
        let _ = writeln!(stderr, "{}", text.trim_end());
    }

    /// `{"error": {class, message, problems[]{file, line, column, message, help}, unsatisfied[]}}`
    pub(super) fn to_json(&self) -> Value {
        let class = match self.class() {
            ErrorClass::User => "user",
            ErrorClass::Unsatisfiable => "unsatisfiable",
            ErrorClass::Resource => "resource",
            ErrorClass::DeviceLost => "device-lost",
            ErrorClass::Cancelled => "cancelled",
            ErrorClass::Bug => "bug",
        };
        let mut error = json!({ "class": class });
        match self {
            Failure::Rejected(rejected) => {
                let messages: Vec<&str> =
                    rejected.problems.iter().map(|problem| problem.message.as_str()).collect();
                error["message"] = messages.join("; ").into();
                error["problems"] = problems(rejected);
            }
            other => error["message"] = other.to_string().into(),
        }
        if let Failure::Session(failed) = self
            && let Error::Plan(PlanError::Unsatisfiable(all)) = &**failed
        {
            error["unsatisfied"] = json!(all);
        }
        json!({ "error": error })
    }
}

fn problems(Rejected { file, problems }: &Rejected) -> Value {
    let one = |problem: &crate::pipeline::diagnostic::Problem| {
        let place = problem.span.as_ref().map(|span| file.line_column(span.start));
        let help: Vec<&str> =
            [&problem.label, &problem.help].into_iter().flatten().map(String::as_str).collect();
        json!({
            "file": file.name,
            "line": place.map(|(line, _)| line),
            "column": place.map(|(_, column)| column),
            "message": problem.message,
            "help": if help.is_empty() { Value::Null } else { help.join("; ").into() },
        })
    };
    problems.iter().map(one).collect()
}
