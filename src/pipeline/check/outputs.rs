//! Which files are written from which layers.

use std::path::{Component, Path, PathBuf};

use crate::pipeline::diagnostic::{Problem, closest};
use crate::pipeline::picture::Colormap;
use crate::pipeline::schema::{File, Located, OutputEntry, Scale};

/// A file to write.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// The layer whose value it holds.
    pub layer: String,
    /// Where the name of the layer stands.
    pub layer_span: Option<std::ops::Range<usize>>,
    /// The path, `.` and `..` resolved as text; relative to the output folder.
    pub path: PathBuf,
    /// Where the path stands.
    pub path_span: Option<std::ops::Range<usize>>,
    /// How it is written.
    pub format: Format,
}

/// The formats of outputs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Format {
    /// NumPy's, any shape and type.
    Npy,
    /// A picture of a two-dimensional layer.
    Png {
        /// From values to levels; automatic where nothing is written.
        scale: Scale,
        /// From levels to colours; grey where nothing is written.
        colormap: Colormap,
    },
}

/// The outputs that are right; the others are among the problems.
pub(super) fn check(file: &File, problems: &mut Vec<Problem>) -> Vec<Output> {
    let mut outputs: Vec<Output> = Vec::new();
    let read_failed = !file.problems.is_empty();
    if file.outputs.is_empty() && !read_failed {
        let problem = Problem::new("the pipeline has no outputs", None);
        problems.push(problem.help("add a table [outputs] with an entry such as slope = \"slope.npy\""));
    }
    for entry in &file.outputs {
        if let Some(problem) = unknown_layer(file, entry) {
            // An entry with several files has its name in the file once.
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
        match output(entry) {
            Err(problem) => problems.push(problem),
            Ok(output) => match outputs.iter().find(|other| other.path == output.path) {
                Some(other) => {
                    let message = format!("two outputs are written to '{}'", output.path.display());
                    let problem = Problem::new(message, output.path_span.clone());
                    problems.push(problem.label(format!("already the file of '{}'", other.layer)));
                }
                None => outputs.push(output),
            },
        }
    }
    outputs
}

fn unknown_layer(file: &File, entry: &OutputEntry) -> Option<Problem> {
    let name = entry.layer.value.as_str();
    let layers: Vec<&str> = file.layers.iter().map(|layer| layer.name.value.as_str()).collect();
    if layers.contains(&name) {
        return None;
    }
    if file.inputs.iter().any(|input| input.name.value == name) {
        let problem =
            Problem::new(format!("'{name}' is an input, outputs are layers"), entry.layer.span.clone());
        return Some(problem.help(format!("add a layer with expr = \"{name}\"")));
    }
    let problem = Problem::new(format!("output '{name}' names no layer"), entry.layer.span.clone());
    Some(problem.suggest(name, layers))
}

fn output(entry: &OutputEntry) -> Result<Output, Problem> {
    let Located { value: text, span } = &entry.path;
    let path = normalized(Path::new(text));
    let name = path.file_name().filter(|_| !text.ends_with(['/', '\\']));
    if name.is_none() {
        return Err(Problem::new(format!("the output path '{text}' names no file"), span.clone()));
    }
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    let format = match extension.as_deref() {
        Some("npy") => npy(entry)?,
        Some("png") => Format::Png {
            scale: entry.scale.as_ref().map_or(Scale::Auto, |scale| scale.value),
            colormap: entry.colormap.as_ref().map_or(Colormap::Gray, |colormap| colormap.value),
        },
        other => {
            let message = format!("the format of output '{text}' isn't known");
            let problem = Problem::new(message, span.clone()).help("outputs are .npy or .png files");
            return Err(match other.and_then(|other| closest(other, ["npy", "png"])) {
                Some(best) => problem.label(format!("did you mean '.{best}'?")),
                None => problem,
            });
        }
    };
    Ok(Output {
        layer: entry.layer.value.clone(),
        layer_span: entry.layer.span.clone(),
        path,
        path_span: span.clone(),
        format,
    })
}

fn npy(entry: &OutputEntry) -> Result<Format, Problem> {
    let scale = entry.scale.as_ref().map(|scale| ("scale", &scale.span));
    match scale.or(entry.colormap.as_ref().map(|colormap| ("colormap", &colormap.span))) {
        None => Ok(Format::Npy),
        Some((key, span)) => {
            let problem = Problem::new(format!("'{key}' is of pictures, not of .npy files"), span.clone());
            Err(problem.help("scale the values in a layer, or write a .png"))
        }
    }
}

/// Without `.`, and with `a/..` taken together, as text: links aren't followed.
fn normalized(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if matches!(out.components().next_back(), Some(Component::Normal(_))) => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}
