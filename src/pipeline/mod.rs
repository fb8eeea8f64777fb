//! The pipeline file: TOML with NumPy-like expressions, read, checked and built; and the files it names.
//!
//! ```text
//! text ─▶ schema::read ─▶ File ─▶ apply_override* ─▶ check ─▶ Checked ─▶ evaluate ─▶ arrays ─▶ outputs ─▶ store layers
//!                                                      └──▶ problems, rendered by diagnostic
//! ```
//!
//! [`Pipeline`] is the whole way. Inputs are mapped when it is built ([`source`]); outputs are written under a
//! temporary name first, and not even that exists before [`Pipeline::create_outputs`] ([`sink`], [`staged`]).

pub mod check;
pub mod diagnostic;
pub mod evaluate;
pub mod expr;
pub mod npy;
pub mod outputs;
pub mod picture;
pub mod schema;
pub mod sink;
pub mod source;
pub mod staged;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::annotate::Overrides;
use crate::collections::Array;
use crate::graph::layer::Layer;
use crate::settings::Config;
use diagnostic::{Problem, SourceText, render};
use outputs::Stored;

/// A pipeline, built and ready to be planned.
#[derive(Debug)]
pub struct Pipeline {
    source: SourceText,
    config: Config,
    arrays: evaluate::Evaluated,
    stored: Vec<Stored>,
}

/// A pipeline file that can't be used, with everything that is wrong with it.
#[derive(Clone, Debug, thiserror::Error)]
pub struct Rejected {
    /// The file; its text is empty when it couldn't be read.
    pub file: SourceText,
    /// At least one.
    pub problems: Vec<Problem>,
}

impl Pipeline {
    /// Reads, checks and builds a pipeline file. `overrides` are `input.key=value` as the command line has them,
    /// `out` is the folder that output paths are relative to; input paths are relative to the file.
    ///
    /// # Errors
    /// Everything that is wrong with the file and its inputs. Nothing is written.
    pub fn open(path: &Path, overrides: &[String], out: &Path) -> Result<Self, Rejected> {
        let name = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => {
                let folder = path.parent().map_or_else(PathBuf::new, Path::to_owned);
                Pipeline::build(SourceText::new(name, text), &folder, overrides, out)
            }
            Err(error) => {
                let problem = Problem::new(format!("cannot read {name}: {error}"), None);
                Err(Rejected { file: SourceText::new(name, ""), problems: vec![problem] })
            }
        }
    }

    /// As [`Pipeline::open`], from a text; input paths are relative to `folder`.
    pub fn build(
        source: SourceText,
        folder: &Path,
        overrides: &[String],
        out: &Path,
    ) -> Result<Self, Rejected> {
        let built = || {
            let mut file = schema::read(&source);
            let mut problems = Vec::new();
            if !file.malformed {
                let refused = |text: &String| schema::apply_override(&mut file, text).err();
                problems.extend(overrides.iter().filter_map(refused));
            }
            let checked = match check::check(&file) {
                Ok(checked) if problems.is_empty() => checked,
                Ok(_) => return Err(problems),
                Err(more) => return Err([problems, more].concat()),
            };
            let arrays = evaluate::evaluate(&checked, folder)?;
            let mut stored = Vec::new();
            for output in &checked.outputs {
                match arrays.array(&output.layer).map(|array| outputs::store(output, &array, out)) {
                    Some(Ok(output)) => stored.push(output),
                    Some(Err(problem)) => problems.push(problem),
                    // Outputs name layers: that is checked.
                    None => {}
                }
            }
            problems.extend(replaced_inputs(&checked, folder, out));
            let config = config(&checked.settings).unwrap_or_else(|refused| {
                problems.extend(refused);
                Config::default()
            });
            if problems.is_empty() { Ok((config, arrays, stored)) } else { Err(problems) }
        };
        match built() {
            Ok((config, arrays, stored)) => Ok(Pipeline { source, config, arrays, stored }),
            Err(problems) => Err(Rejected { file: source, problems }),
        }
    }

    /// With annotations over those of the layers, each as `layer:key=value`; later ones win.
    ///
    /// # Errors
    /// Every text that is no such thing.
    pub fn annotated(mut self, overrides: &[String]) -> Result<Self, Rejected> {
        let mut problems = Vec::new();
        for text in overrides {
            match schema::layer_override(self.config.overrides.clone(), text) {
                Ok(more) => self.config.overrides = more,
                Err(problem) => problems.push(problem),
            }
        }
        if problems.is_empty() { Ok(self) } else { Err(Rejected { file: self.source.clone(), problems }) }
    }

    /// What the file's `[settings]` say, and the overrides.
    pub fn config(&self) -> Config {
        self.config.clone()
    }

    /// The layers that write the outputs, in the order of the file.
    pub fn outputs(&self) -> Vec<Arc<Layer>> {
        self.stored.iter().map(|stored| stored.layer.clone()).collect()
    }

    /// The array of a layer, for those who compute it themselves.
    pub fn array(&self, layer: &str) -> Option<Array> {
        self.arrays.array(layer)
    }

    /// Makes the outputs' files under temporary names. Those of a pipeline that is dropped, or whose run doesn't
    /// finish, go again.
    ///
    /// # Errors
    /// Every place that can't be written to.
    pub fn create_outputs(&self) -> Result<(), Rejected> {
        let refused = |stored: &Stored| {
            let error = stored.sink.create().err()?;
            Some(Problem::new(error.to_string(), stored.span.clone()))
        };
        let problems: Vec<Problem> = self.stored.iter().filter_map(refused).collect();
        if problems.is_empty() { Ok(()) } else { Err(Rejected { file: self.source.clone(), problems }) }
    }
}

/// Outputs whose file is one that an input reads: it would be gone after the run.
fn replaced_inputs(checked: &check::Checked, folder: &Path, out: &Path) -> Vec<Problem> {
    let read = |input: &check::Input| match &input.source {
        check::Source::Npy { path, .. } => {
            let base = if path.span.is_some() { folder } else { Path::new("") };
            let real = std::fs::canonicalize(base.join(&path.value)).ok()?;
            Some((real, input.name.value.clone()))
        }
        check::Source::Generated { .. } => None,
    };
    let inputs: Vec<(PathBuf, String)> = checked.inputs.iter().filter_map(read).collect();
    let replaced = |output: &check::Output| {
        let target = std::fs::canonicalize(out.join(&output.path)).ok()?;
        let (_, input) = inputs.iter().find(|(path, _)| *path == target)?;
        let message = format!("'{}' is the file that the input '{input}' reads", output.path.display());
        Some(Problem::new(message, output.path_span.clone()).help("give the output another name"))
    };
    checked.outputs.iter().filter_map(replaced).collect()
}

fn config(settings: &schema::Settings) -> Result<Config, Vec<Problem>> {
    Ok(Config {
        threads: settings.threads.as_ref().map(|threads| threads.value),
        device_timeout: None,
        pin_threads: settings.pin_threads,
        memory: settings.memory.as_ref().map(|memory| memory.value),
        spill: settings.spill,
        spill_dir: settings.spill_dir.as_ref().map(|folder| folder.value.clone().into()),
        spill_limit: settings.spill_limit.as_ref().map(|limit| limit.value),
        cpu_only: settings.cpu_only,
        deny_fallback: settings.deny_fallback,
        allow_software_gpu: settings.allow_software_gpu,
        resources: settings.resources.clone(),
        verify: None,
        resume: None,
        annotations: evaluate::annotations::read(&settings.annotations)?,
        overrides: Overrides::new(),
    })
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&render(&self.file, &self.problems, false))
    }
}
