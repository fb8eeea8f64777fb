//! Values that depend on the block: functions of its key.

use std::fmt;
use std::sync::Arc;

use super::check::{self, KEYS, Problem};
use super::{AnnotationError, Annotations, Fields, Value};
use crate::key::Key;
use crate::panics;

/// Keys that hold for a layer as a whole: it is placed and kept whole, so that its blocks can't differ in them.
const WHOLE_LAYER: [&str; 5] = ["device", "gpu", "workers", "allow_other_workers", "checkpoint"];

/// A value of an annotation as a named function of the block's key, for [`Annotations::set`].
///
/// It is called in planning, once for each block that is needed, and never while a graph is built. It must be
/// pure: equal keys, equal values. Two functions are the same one when they are clones of each other; the
/// name is what texts, names of layers and reports show, and doesn't make two functions the same: layers that
/// differ in nothing but two functions of one name clash, and their graph is refused. Make a function once.
///
/// ```
/// use outcrop::annotate::{Annotations, KeyFunction, Value};
/// use outcrop::key::Key;
///
/// let row = |key: &Key| key.index().and_then(|at| at.first().copied()).unwrap_or(0);
/// let by_row = KeyFunction::new("by-row", move |key: &Key| Value::Int(-(row(key) as i128)));
/// let wish = Annotations::new().set("priority", by_row)?;
/// assert_eq!(wish.to_string(), "priority=by-row(key)");
/// # Ok::<(), outcrop::annotate::AnnotationError>(())
/// ```
#[derive(Clone)]
pub struct KeyFunction {
    name: Arc<str>,
    function: Arc<dyn Fn(&Key) -> Value + Send + Sync>,
}

impl KeyFunction {
    /// A function and the name that people see.
    pub fn new(name: &str, function: impl Fn(&Key) -> Value + Send + Sync + 'static) -> KeyFunction {
        KeyFunction { name: name.into(), function: Arc::new(function) }
    }

    /// The name that people see.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Calls the function; a panic in it is an error.
    fn call(&self, key: &Key) -> Result<Value, Problem> {
        panics::caught(|| (self.function)(key)).map_err(|message| Problem::Panicked { message })
    }
}

impl PartialEq for KeyFunction {
    fn eq(&self, other: &KeyFunction) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.function, &other.function)
    }
}

impl fmt::Display for KeyFunction {
    /// `by-row(key)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(key)", self.name)
    }
}

impl fmt::Debug for KeyFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<KeyFunction> for Value {
    fn from(function: KeyFunction) -> Value {
        Value::Function(function)
    }
}

impl Annotations {
    /// Whether some value is a function of the key.
    pub fn has_functions(&self) -> bool {
        !self.fields().functions.is_empty()
    }

    /// The function that gives this key's value, if one does.
    pub fn function(&self, key: &str) -> Option<&KeyFunction> {
        self.fields().functions.get(key)
    }

    /// What holds for one block: every function is called, and what it returns is checked as a plain value is.
    ///
    /// # Errors
    /// The first function, by annotation, that panics or whose result is refused.
    pub fn for_key(&self, key: &Key) -> Result<Annotations, AnnotationError> {
        let fields = self.fields();
        if fields.functions.is_empty() {
            return Ok(self.clone());
        }
        let mut plain = Fields { functions: Default::default(), ..fields.clone() };
        for (name, function) in &fields.functions {
            let refused = |value: String| |problem| AnnotationError { key: name.clone(), value, problem };
            let value = function.call(key).map_err(refused(function.to_string()))?;
            apply_result(&mut plain, name, &value).map_err(refused(value.to_string()))?;
        }
        plain.resources.extend(fields.resources.clone());
        Ok(Annotations(Some(Arc::new(plain))))
    }
}

fn apply_result(fields: &mut Fields, key: &str, value: &Value) -> Result<(), Problem> {
    let names_gpu = |entries: &[(String, Value)]| entries.iter().any(|(name, _)| is_gpu(name));
    match value {
        Value::Function(_) => Err(Problem::Must("a plain value where a function returns it")),
        Value::Table(entries) if key == "resources" && names_gpu(entries) => Err(WHOLE),
        value => check::apply(fields, key, value),
    }
}

/// `GPU` among `resources` is the `gpu` annotation.
pub(super) fn is_gpu(resource: &str) -> bool {
    resource.eq_ignore_ascii_case("gpu")
}

const WHOLE: Problem = Problem::WholeLayer;

/// Takes a function as the value of a key.
pub(super) fn apply(fields: &mut Fields, key: &str, function: &KeyFunction) -> Result<(), Problem> {
    if WHOLE_LAYER.contains(&key) {
        return Err(WHOLE);
    }
    if !KEYS.contains(&key) {
        check::check_custom_key(key)?;
    }
    clear(fields, key);
    fields.functions.insert(key.to_owned(), function.clone());
    Ok(())
}

/// Forgets the plain value of a key that a function may give.
fn clear(fields: &mut Fields, key: &str) {
    match key {
        "priority" => fields.priority = None,
        "retries" => fields.retries = None,
        "memory" => fields.memory = None,
        "timeout" => fields.timeout = None,
        "resources" => fields.resources.clear(),
        _ => drop(fields.custom.remove(key)),
    }
}

/// Whether a key has a plain value, which takes the place of an outer function. A plain table of resources
/// doesn't: its names go over those that the function returns.
fn is_plain(fields: &Fields, key: &str) -> bool {
    match key {
        "priority" => fields.priority.is_some(),
        "retries" => fields.retries.is_some(),
        "memory" => fields.memory.is_some(),
        "timeout" => fields.timeout.is_some(),
        "resources" => false,
        _ => fields.custom.contains_key(key),
    }
}

/// Finishes a merge: `merged` has the plain values of both scopes. Of two forms of one key the inner one stays.
pub(super) fn merge(merged: &mut Fields, outer: &Fields, inner: &Fields) {
    for key in inner.functions.keys() {
        if key == "resources" {
            merged.resources.clone_from(&inner.resources);
        } else {
            clear(merged, key);
        }
    }
    let kept = outer.functions.iter().filter(|(key, _)| !is_plain(inner, key));
    merged.functions = kept.chain(&inner.functions).map(|(key, f)| (key.clone(), f.clone())).collect();
}
