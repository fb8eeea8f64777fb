//! `--set input.key=value`.

use toml::de::DeValue;

use super::read::{INPUT_KEYS, set_input_key};
use super::value::Item;
use super::{File, InputTable};
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
