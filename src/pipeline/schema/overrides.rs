//! `--set input.key=value` and `--annotate layer:key=value`.

use toml::de::DeValue;

use super::raw::raw;
use super::read::{INPUT_KEYS, set_input_key};
use super::value::Item;
use super::{File, InputTable};
use crate::annotate::{Annotations, Overrides, Value};
use crate::pipeline::diagnostic::Problem;

/// Keys whose value needs no quotes on a command line.
const TEXT_KEYS: [&str; 3] = ["path", "random", "dtype"];
/// Keys of which an input has exactly one.
const SOURCE_KEYS: [&str; 6] = ["path", "random", "zeros", "ones", "full", "arange"];

/// Changes one key of one input: `dem.path=/data/x.npy`, `noise.shape=[100, 100]`, `dem.chunks=auto`.
/// A key that says where the values come from takes the place of the one that the file has.
///
/// # Errors
/// The text isn't `input.key=value`, the input or the key isn't known, or the value has the wrong form. The
/// problem has no span: no text of the file is at fault.
pub fn apply_override(file: &mut File, assignment: &str) -> Result<(), Problem> {
    set(file, assignment).map_err(|mut problem| {
        problem.message = format!("--set {assignment}: {}", problem.message);
        problem
    })
}

/// Reads `slope:retries=2`, `*:memory=2GiB`, `"grad*:resources={licence = 1}"`: a pattern of layers, a key, and
/// the value as TOML, or as a bare string where it isn't TOML.
///
/// # Errors
/// The text isn't `layer:key=value`, the layer is no pattern, or the key or the value is refused. The problem
/// has no span.
pub fn layer_override(overrides: Overrides, assignment: &str) -> Result<Overrides, Problem> {
    let problem = |message: String| Problem::new(format!("--annotate {assignment}: {message}"), None);
    let parts = assignment.split_once(':').and_then(|(layer, rest)| {
        let (key, value) = rest.split_once('=')?;
        Some((layer.trim(), key.trim(), value.trim()))
    });
    let Some((layer, key, text)) = parts else {
        let wrong = problem("this isn't of the form layer:key=value".to_owned());
        return Err(
            wrong.help("write --annotate slope:retries=2, or --annotate '*:device=cpu' for all layers")
        );
    };
    let value = match DeValue::parse(text) {
        Ok(value) => raw(&value).map_err(|wrong| problem(wrong.message))?.get_ref().to_value(),
        Err(_) => Value::Text(text.to_owned()),
    };
    let annotations = Annotations::new().set(key, value).map_err(|error| problem(error.to_string()))?;
    overrides.with(layer, annotations).map_err(|error| problem(error.to_string()))
}

fn set(file: &mut File, assignment: &str) -> Result<(), Problem> {
    let form = || {
        Problem::new("this isn't of the form input.key=value", None)
            .help("write --set dem.path=/data/dem.npy")
    };
    let (target, text) = assignment.split_once('=').ok_or_else(form)?;
    let (name, key) = target.trim().rsplit_once('.').ok_or_else(form)?;
    let (name, key) = (name.strip_prefix("inputs.").unwrap_or(name), key.trim());

    let names: Vec<String> = file.inputs.iter().map(|input| input.name.value.clone()).collect();
    let Some(input) = file.inputs.iter_mut().find(|input| input.name.value == name) else {
        let problem = Problem::new(format!("the pipeline has no input '{name}'"), None);
        return Err(problem.suggest(name, names.iter().map(String::as_str)));
    };
    if !INPUT_KEYS.contains(&key) {
        return Err(Problem::new(format!("inputs have no key '{key}'"), None).suggest(key, INPUT_KEYS));
    }
    let mut changed = input.clone();
    if SOURCE_KEYS.contains(&key) {
        clear_source(&mut changed, key);
    }
    let value = value(key, text.trim());
    set_input_key(&mut changed, &Item { key, value: &value, span: None })?;
    *input = changed;
    Ok(())
}

/// TOML where it is TOML, else the text itself.
fn value<'a>(key: &str, text: &'a str) -> DeValue<'a> {
    let quoted = text.starts_with(['"', '\'']);
    if TEXT_KEYS.contains(&key) && !quoted {
        return DeValue::String(text.into());
    }
    match DeValue::parse(text) {
        Ok(value) => value.into_inner(),
        Err(_) => DeValue::String(text.into()),
    }
}

fn clear_source(input: &mut InputTable, new_source: &str) {
    input.path = None;
    input.random = None;
    input.zeros = None;
    input.ones = None;
    input.full = None;
    input.arange = None;
    if new_source != "random" {
        input.seed = None;
    }
    if new_source == "path" {
        input.shape = None;
    }
}
