//! The checks: each key's values, contradictions between keys, and misspelt keys.

use std::time::Duration;

use globset::Glob;
use strsim::osa_distance;

use super::{DeviceWish, Fields, GpuField, GpuShare, Value, function};
use crate::units::{Bytes, UnitError, parse_duration};

/// Every key that Outcrop gives a meaning to.
pub const KEYS: [&str; 10] = [
    "priority",
    "retries",
    "device",
    "gpu",
    "memory",
    "resources",
    "workers",
    "allow_other_workers",
    "timeout",
    "checkpoint",
];

/// An annotation was refused where it was given.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("annotation '{key}' can't be {value}: {problem}")]
pub struct AnnotationError {
    /// The key as it was given.
    pub key: String,
    /// The value as it was given, in text.
    pub value: String,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with an annotation.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Problem {
    /// The value is out of its range or of the wrong type.
    #[error("it must be {0}")]
    Must(&'static str),
    /// One entry of a table or a list is out of its range or of the wrong type.
    #[error("'{name}' is {value}, but must be {must}")]
    Entry {
        /// The entry.
        name: String,
        /// What it holds.
        value: String,
        /// What it must hold.
        must: &'static str,
    },
    /// Not a size or not a duration.
    #[error("{0}")]
    Unit(#[from] UnitError),
    /// A worker pattern is no valid glob.
    #[error("'{pattern}' is no valid pattern: {reason}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// Why not.
        reason: String,
    },
    /// Two keys of one set contradict each other.
    #[error("it contradicts {other_key} = {other_value}, given beside it")]
    Contradicts {
        /// The other key.
        other_key: &'static str,
        /// Its value.
        other_value: String,
    },
    /// The key is a slip away from a known one.
    #[error("there is no such key; did you mean '{meant}'? (a key of your own: 'x-{key}')")]
    Misspelt {
        /// The key as it was given.
        key: String,
        /// The known key.
        meant: &'static str,
    },
    /// The key is an empty string.
    #[error("the key is empty")]
    EmptyKey,
    /// A function for a value that holds for a layer as a whole.
    #[error(
        "a layer is placed and kept whole, so that no function of the block's key can give it; give a plain value, and \
         make blocks that differ in it layers of their own (slice them out)"
    )]
    WholeLayer,
    /// The function that gives the value panicked.
    #[error("it panicked: {message}")]
    Panicked {
        /// The panic's message.
        message: String,
    },
}

/// Takes a value in. A plain one replaces the function that the key had, and the other way round.
pub(super) fn apply(fields: &mut Fields, key: &str, value: &Value) -> Result<(), Problem> {
    if let Value::Function(function) = value {
        return function::apply(fields, key, function);
    }
    match key {
        "priority" => fields.priority = Some(priority(value)?),
        "retries" => fields.retries = Some(retries(value)?),
        "device" => set_device(fields, device(value)?)?,
        "gpu" => set_gpu(fields, gpu(value)?)?,
        "memory" => fields.memory = Some(memory(value)?),
        "resources" => set_resources(fields, value)?,
        "workers" => fields.workers = Some(workers(value)?),
        "allow_other_workers" => fields.allow_other_workers = Some(truth(value)?),
        "timeout" => fields.timeout = Some(timeout(value)?),
        "checkpoint" => fields.checkpoint = Some(truth(value)?),
        _ => {
            check_custom_key(key)?;
            let json = value.to_json().ok_or(Problem::Must(JSON))?;
            fields.custom.insert(key.to_owned(), json);
        }
    }
    fields.functions.remove(key);
    Ok(())
}

fn set_device(fields: &mut Fields, device: DeviceWish) -> Result<(), Problem> {
    match (device, fields.gpu) {
        (DeviceWish::Cpu, GpuField::Share(share)) => {
            return Err(Problem::Contradicts { other_key: "gpu", other_value: share.amount().to_string() });
        }
        (DeviceWish::Cpu, _) => fields.gpu = GpuField::Cleared,
        (_, GpuField::Cleared) => fields.gpu = GpuField::Absent,
        _ => {}
    }
    fields.device = Some(device);
    Ok(())
}

fn set_gpu(fields: &mut Fields, share: GpuShare) -> Result<(), Problem> {
    if fields.device == Some(DeviceWish::Cpu) {
        return Err(Problem::Contradicts { other_key: "device", other_value: "\"cpu\"".to_owned() });
    }
    fields.gpu = GpuField::Share(share);
    Ok(())
}

fn set_resources(fields: &mut Fields, value: &Value) -> Result<(), Problem> {
    const AMOUNT: &str = "a finite number of at least 0";
    let Value::Table(entries) = value else {
        return Err(Problem::Must("a table of names and amounts, such as {licence = 1}"));
    };
    let mut resources = std::collections::BTreeMap::new();
    for (name, amount) in entries {
        let wrong = |must| Problem::Entry { name: name.clone(), value: amount.to_string(), must };
        if function::is_gpu(name) {
            let share = gpu(amount).map_err(|_| wrong(GPU))?;
            match fields.gpu {
                GpuField::Share(given) if given != share => {
                    let other_value = given.amount().to_string();
                    return Err(Problem::Contradicts { other_key: "gpu", other_value });
                }
                _ => set_gpu(fields, share)?,
            }
            continue;
        }
        if name.is_empty() {
            return Err(wrong("under a name that isn't empty"));
        }
        let number = number(amount).filter(|amount| amount.is_finite() && *amount >= 0.0);
        resources.insert(name.clone(), number.ok_or_else(|| wrong(AMOUNT))? + 0.0);
    }
    fields.resources = resources;
    Ok(())
}

const JSON: &str = "a JSON value: no NaN, no infinity, and no function inside a list or a table";

const GPU: &str = "a share of one device (0 < g ≤ 1) or a whole number of devices (2 or more); \
     a layer without GPU has device = \"cpu\"";

fn priority(value: &Value) -> Result<f64, Problem> {
    // Adding 0 makes −0 and 0, which order alike, print alike.
    number(value).filter(|p| p.is_finite()).map(|p| p + 0.0).ok_or(Problem::Must("a finite number"))
}

fn retries(value: &Value) -> Result<u32, Problem> {
    whole(value)
        .and_then(|count| u32::try_from(count).ok())
        .ok_or(Problem::Must("a whole number from 0 to 4294967295"))
}

fn device(value: &Value) -> Result<DeviceWish, Problem> {
    DeviceWish::ALL
        .into_iter()
        .find(|wish| matches!(value, Value::Text(text) if text == wish.name()))
        .ok_or(Problem::Must("\"cpu\", \"gpu\", \"prefer-gpu\" or \"any\""))
}

fn gpu(value: &Value) -> Result<GpuShare, Problem> {
    let amount = number(value).ok_or(Problem::Must(GPU))?;
    if amount > 0.0 && amount <= 1.0 {
        return Ok(GpuShare::Fraction(amount));
    }
    let count = whole(value).filter(|count| *count >= 2).and_then(|count| u32::try_from(count).ok());
    count.map(GpuShare::Whole).ok_or(Problem::Must(GPU))
}

fn memory(value: &Value) -> Result<Bytes, Problem> {
    match value {
        Value::Bytes(bytes) => Ok(*bytes),
        Value::Text(text) => Ok(text.parse::<Bytes>()?),
        _ => whole(value)
            .and_then(|bytes| u64::try_from(bytes).ok())
            .map(Bytes)
            .ok_or(Problem::Must("a size such as \"2 GiB\", or a whole number of bytes of at least 0")),
    }
}

fn workers(value: &Value) -> Result<Vec<String>, Problem> {
    const MUST: Problem = Problem::Must("a device name or pattern, or a list of at least one");
    let items = match value {
        Value::Text(_) => std::slice::from_ref(value),
        Value::List(items) if !items.is_empty() => items,
        _ => return Err(MUST),
    };
    let mut names = Vec::with_capacity(items.len());
    for item in items {
        let Value::Text(pattern) = item else { return Err(MUST) };
        if pattern.trim().is_empty() {
            return Err(MUST);
        }
        let glob = Glob::new(pattern);
        glob.map_err(|error| Problem::Pattern {
            pattern: pattern.clone(),
            reason: error.kind().to_string(),
        })?;
        names.push(pattern.clone());
    }
    names.sort();
    names.dedup();
    Ok(names)
}

fn truth(value: &Value) -> Result<bool, Problem> {
    match value {
        Value::Bool(truth) => Ok(*truth),
        _ => Err(Problem::Must("true or false")),
    }
}

fn timeout(value: &Value) -> Result<Duration, Problem> {
    let timeout = match value {
        Value::Duration(duration) => *duration,
        Value::Text(text) => parse_duration(text)?,
        _ => return Err(Problem::Must("a duration with its unit, such as \"30 s\"")),
    };
    if timeout.is_zero() { Err(Problem::Must("more than 0: no task ends in no time")) } else { Ok(timeout) }
}

pub(super) fn check_custom_key(key: &str) -> Result<(), Problem> {
    if key.is_empty() {
        return Err(Problem::EmptyKey);
    }
    if key.starts_with("x-") || key.contains(['.', ':']) {
        return Ok(());
    }
    let plain = key.to_lowercase().replace('-', "_");
    let slips = |known: &str| if known.len() <= 4 { 1 } else { 2 };
    let nearest = KEYS.into_iter().min_by_key(|known| osa_distance(&plain, known));
    match nearest.filter(|known| osa_distance(&plain, known) <= slips(known)) {
        Some(meant) => Err(Problem::Misspelt { key: key.to_owned(), meant }),
        None => Ok(()),
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(integer) => Some(*integer as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}

/// An integer, or a float that is one: JSON doesn't tell them apart.
fn whole(value: &Value) -> Option<i128> {
    match value {
        Value::Int(integer) => Some(*integer),
        Value::Float(number) if number.fract() == 0.0 && number.abs() < 2f64.powi(53) => {
            Some(*number as i128)
        }
        _ => None,
    }
}
