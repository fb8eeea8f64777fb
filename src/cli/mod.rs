//! The command line: `outcrop run`, `plan`, `devices`, `functions`.
//!
//! Exit codes: 0 done, 1 failed while running, 2 bad usage, pipeline or input, 3 requirements that can't be met.

mod devices;
mod draw;
mod failure;
mod interrupt;
mod plan;
mod progress;
mod run;
mod trace;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::pipeline::{Pipeline, evaluate::functions};
use crate::settings::Config;
use crate::units::Bytes;
use failure::Failure;

/// Runs annotated numeric pipelines: lazy chunked arrays, placed on host and GPU by contract.
#[derive(Debug, Parser)]
#[command(name = "outcrop", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a pipeline file and write its outputs
    Run(run::RunArguments),
    /// Show how a pipeline would run: devices, reasons, transfers, memory
    Plan(plan::PlanArguments),
    /// List this machine's devices, and why one can't be used
    Devices(devices::DevicesArguments),
    /// List the functions that expressions may call
    Functions,
}

/// What `run` and `plan` share. Flags go over `[settings]` of the file, and these over the environment.
#[derive(Debug, Args)]
struct PipelineArguments {
    /// The pipeline file
    file: PathBuf,
    /// Folder for the outputs, made when it is missing
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// Run everything on the host; GPU requirements are waived, and the report lists them
    #[arg(long)]
    cpu_only: bool,
    /// Fail where a 'prefer-gpu' layer would run on the host
    #[arg(long)]
    deny_fallback: bool,
    /// Count software adapters (llvmpipe, lavapipe, WARP) as GPUs
    #[arg(long)]
    allow_software_gpu: bool,
    /// Host threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Keep each host thread on one core (Linux)
    #[arg(long)]
    pin_threads: bool,
    /// Budget of host memory, such as 512MiB
    #[arg(long, value_name = "SIZE")]
    memory: Option<Bytes>,
    /// Folder for values that don't fit into memory [default: the system's folder for temporary files]
    #[arg(long, value_name = "DIR")]
    spill_dir: Option<PathBuf>,
    /// Refuse a plan above its memory budget, where values would be moved to disk and back
    #[arg(long)]
    no_spill: bool,
    /// Change an input, such as dem.path=other.npy or noise.shape=[100, 100]
    #[arg(long, value_name = "INPUT.KEY=VALUE")]
    set: Vec<String>,
    /// Annotate layers whatever the file says, such as slope:retries=2 or '*:device=cpu'; LAYER may be a pattern,
    /// and the last one wins
    #[arg(long, value_name = "LAYER:KEY=VALUE")]
    annotate: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl PipelineArguments {
    fn pipeline(&self) -> Result<Pipeline, Failure> {
        // Paths look better without "./".
        let out = if self.out == Path::new(".") { Path::new("") } else { &self.out };
        Ok(Pipeline::open(&self.file, &self.set, out)?.annotated(&self.annotate)?)
    }

    fn config(&self, pipeline: &Pipeline) -> Config {
        let flags = Config {
            threads: self.threads.map(usize::from),
            pin_threads: self.pin_threads.then_some(true),
            memory: self.memory,
            spill: self.no_spill.then_some(false),
            spill_dir: self.spill_dir.clone(),
            cpu_only: self.cpu_only.then_some(true),
            deny_fallback: self.deny_fallback.then_some(true),
            allow_software_gpu: self.allow_software_gpu.then_some(true),
            resources: None,
            ..Config::default()
        };
        flags.or(pipeline.config())
    }
}

/// Reads the command line, does what it says, and says how it went.
pub fn main() -> ExitCode {
    let Arguments { command } = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version come this way too, and go to stdout.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let (json, result) = match &command {
        Command::Run(arguments) => (arguments.shared.json, run::run(arguments)),
        Command::Plan(arguments) => (arguments.shared.json, plan::plan(arguments)),
        Command::Devices(arguments) => (arguments.json, devices::devices(arguments)),
        Command::Functions => (false, Ok(functions::reference())),
    };
    match result {
        Ok(text) => {
            print(&text);
            ExitCode::SUCCESS
        }
        Err(failure) => {
            if json {
                print(&pretty(&failure.to_json()));
            }
            failure.explain();
            ExitCode::from(failure.exit_code())
        }
    }
}

/// To stdout; a reader that has gone away is no reason to fail.
fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// What a session has to say of this machine, to stderr: stdout is the report's.
fn tell(notes: &[String]) {
    let mut stderr = std::io::stderr().lock();
    for note in notes {
        let _ = writeln!(stderr, "note: {note}");
    }
}

fn pretty(value: &impl serde::Serialize) -> String {
    // Keys are strings and numbers finite: there is nothing that JSON can't hold.
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}
