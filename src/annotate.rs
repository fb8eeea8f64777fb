//! Annotations: what a layer asks of the planner and the executor.
//!
//! ```
//! use outcrop::annotate::{Annotations, annotate};
//! use outcrop::collections::{Array, array::Over};
//!
//! let wish = Annotations::new().set("device", "prefer-gpu")?.set("memory", "2 GiB")?;
//! let x = Array::arange(0.0, 0.1, 1000);
//! let wave = annotate(wish, || x.sin() * x.cos()); // every layer made in here carries the wish
//! assert_eq!(wave.layer()?.annotations().to_string(), "device=prefer-gpu memory=\"2.0 GiB\"");
//! assert!(wave.mean(&Over::all()).layer()?.annotations().is_empty()); // what is made out here doesn't
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Every [collection](crate::collections)'s operations take them: arrays, bags, calls, and custom operations. A scope holds
//! on its thread until the closure ends; [`Annotated::annotated`] is for futures.
//!
//! An operation captures [`current`] once, when it makes its layer; nothing else reads the scope. Values are
//! checked where they are given ([`Annotations::set`]), and an error names the key and the value.
//!
//! # The rules
//!
//! | key | value, checked where it is given | in nested scopes | may two layers fuse? | by key? | enforced by |
//! |---|---|---|---|---|---|
//! | `priority` | finite number, higher first, default 0 | inner | yes: the larger, absent counts as 0 | yes | the plan's order |
//! | `retries` | whole number 0 ≤ r < 2^32, default 0: one attempt | inner | when equal, or one absent | yes | the reactor |
//! | `device` | `cpu`, `gpu`, `prefer-gpu`, `any` | inner; an inner `cpu` clears an outer `gpu` share | in one class, or on one device | no | the planner |
//! | `gpu` | share 0 < g ≤ 1 of one device, or ≥ 2 whole devices; implies `device=gpu` | inner; takes the place of an outer `cpu` | when equal | no | the planner; a device runs one kernel at a time |
//! | `memory` | bytes ≥ 0, or `"2 GiB"`: what one task holds, operands and value included; alone it means `device=any` | inner | yes: the larger | yes | the planner; the ledger |
//! | `resources` | name → finite number ≥ 0, counted in millionths; `GPU` means `gpu` | per name, inner; 0 takes an outer one away | when equal, 0 as absent | yes | the planner; the ledger |
//! | `workers` | names or globs, at least one | inner | when the same devices are left | no | the planner |
//! | `allow_other_workers` | `true` or `false`, default `false`: `workers` is a preference | inner | when equal, absent as `false` | no | the planner |
//! | `timeout` | more than nothing: `"30 s"` | inner | when both absent | yes | the engine: where the task [asks](crate::task::check), when the attempt ends, and by giving up one that goes on |
//! | `checkpoint` | `true` or `false`, default `false`: an earlier run's blocks are resumed from | inner | with what it reads; never with what reads it | no | the planner; the resume directory |
//! | any other | any JSON value | inner | never in the way; each source layer keeps its own | yes | handed to report and observer |
//!
//! **By key**: the value may be a [`KeyFunction`], which gives each block its own. A function stands where a plain
//! value would: an inner value replaces an outer one, whichever form they have, save that plain `resources` go
//! over those that an outer function gives. Two layers fuse only when the key's value is the same function on
//! both (clones of one), they have the same blocks, and what the function gives for each of these may be joined
//! by the row above; beside a plain value or none it doesn't fuse. Custom functions are never in the way. Functions
//! are called in planning, once for each block that is needed; a result is checked as a plain value is. A
//! reduction's tasks go by the block that they end in. What places a layer can't be a function, and neither can
//! `checkpoint`: a layer is placed, and kept, whole.
//!
//! **Checkpoints** keep whole values, so a layer that carries one ends its kernel: a scope around a chain of ten maps makes
//! ten kernels of it, where one around the last map makes one. Layers that are parts of one expression of a pipeline
//! file are one layer here: what is kept is its result. Without a resume directory nothing is written, and the kernels
//! are the same.
//!
//! **Copies** between memories are tried again as often as the tasks whose values they move, within the same
//! timeout and with the same priority; they take no resources and no memory beyond the value.
//!
//! # Precedence
//!
//! From the weakest to the strongest; each is [inside](Annotations::inner) the one above it.
//!
//! | where | how | renames layers? |
//! |---|---|---|
//! | session default | `Session::with_annotations`, `[settings] annotations` | no |
//! | scope, outer | [`annotate`], [`Annotated::annotated`] | yes |
//! | scope, inner; the innermost around one call is the layer's own | the same, `annotate` of a `[[layer]]` | yes |
//! | override, by session or for one call | [`Overrides`]: `Config::overrides`, `Session::prepare_with`, `--annotate` | no |
//!
//! A [`fresh`](Annotations::fresh) scope takes nothing from above it, and overrides still go over it.
//!
//! ```
//! use outcrop::annotate::{Annotations, Overrides, annotate};
//! use outcrop::collections::Array;
//! use outcrop::session::Session;
//!
//! let retries = |count: u32| Annotations::new().with_retries(count);
//! let x = Array::arange(0.0, 1.0, 100);
//! let outer = annotate(retries(1)?, || (&x + 1.0).named("outer"));
//! let inner = annotate(retries(1)?, || annotate(retries(2).unwrap(), || (&outer * 2.0).named("inner")));
//! let plain = (&inner - 1.0).named("plain");
//!
//! let session = Session::new(Default::default()).with_annotations(retries(0)?);
//! let overrides = Overrides::new().with("in*", retries(9)?)?;
//! let governs = |overrides: &Overrides| -> Result<Vec<Option<u32>>, Box<dyn std::error::Error>> {
//!     let plan = session.prepare_with(&[plain.layer()?.clone()], overrides)?.plan;
//!     let sources = plan.layers.iter().flat_map(|layer| &layer.sources);
//!     let named = sources.filter(|source| ["outer", "inner", "plain"].contains(&source.label.as_deref().unwrap_or("")));
//!     Ok(named.map(|source| source.annotations.retries()).collect())
//! };
//! assert_eq!(governs(&Overrides::new())?, [Some(1), Some(2), Some(0)]);
//! assert_eq!(governs(&overrides)?, [Some(1), Some(9), Some(0)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Misspelt keys.** Any other key is a legal custom annotation, so `prority = 10` would be kept and never
//! obeyed. A key a slip of the hand away from a known one (case and `-` for `_`, one letter for `gpu`, two
//! for the longer ones) is therefore refused. Who means it writes `x-prority`, or a key with `.` or `:` in it.

mod check;
mod display;
mod function;
mod merge;
mod overrides;
mod scope;
#[cfg(test)]
mod tests;
mod value;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::units::Bytes;

pub use check::{AnnotationError, KEYS, Problem};
pub use function::KeyFunction;
pub use merge::Conflict;
pub use overrides::{Overrides, PatternError};
pub use scope::{Annotated, AnnotatedFuture, annotate, current};
pub use value::Value;

/// A checked set of annotations. Cheap to clone; the default is empty.
#[derive(Clone, Default)]
pub struct Annotations(Option<Arc<Fields>>);

/// What kind of device a layer wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceWish {
    /// The host, and nothing else.
    Cpu,
    /// A GPU; an error where none fits.
    Gpu,
    /// A GPU where one fits, else the host, and the report says so.
    PreferGpu,
    /// Whatever finishes first.
    Any,
}

/// How much of the GPUs a task takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GpuShare {
    /// A share of one device, 0 < g ≤ 1.
    Fraction(f64),
    /// Whole devices, at least 2, all driven by one task.
    Whole(u32),
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Fields {
    fresh: bool,
    priority: Option<f64>,
    retries: Option<u32>,
    device: Option<DeviceWish>,
    gpu: GpuField,
    memory: Option<Bytes>,
    resources: BTreeMap<String, f64>,
    workers: Option<Vec<String>>,
    allow_other_workers: Option<bool>,
    timeout: Option<Duration>,
    checkpoint: Option<bool>,
    custom: BTreeMap<String, serde_json::Value>,
    /// By key. A key has a plain value or a function, `resources` also both: its names go over the function's.
    functions: BTreeMap<String, KeyFunction>,
}

/// `Cleared` is what `device=cpu` does to a share given further out. It must be remembered, or merging would
/// depend on which two of three scopes are merged first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum GpuField {
    #[default]
    Absent,
    Cleared,
    Share(GpuShare),
}

static EMPTY: Fields = Fields {
    fresh: false,
    priority: None,
    retries: None,
    device: None,
    gpu: GpuField::Absent,
    memory: None,
    resources: BTreeMap::new(),
    workers: None,
    allow_other_workers: None,
    timeout: None,
    checkpoint: None,
    custom: BTreeMap::new(),
    functions: BTreeMap::new(),
};

impl Annotations {
    /// No annotations: everything is taken from further out.
    pub fn new() -> Annotations {
        Annotations::default()
    }

    /// No annotations, and nothing is taken from further out: neither an outer scope nor a session's default.
    pub fn fresh() -> Annotations {
        Annotations(Some(Arc::new(Fields { fresh: true, ..Fields::default() })))
    }

    /// Reads every pair; `resources = {GPU = …}` beside a different `gpu` is an error.
    pub fn from_pairs<K, V>(pairs: impl IntoIterator<Item = (K, V)>) -> Result<Annotations, AnnotationError>
    where
        K: AsRef<str>,
        V: Into<Value>,
    {
        pairs.into_iter().try_fold(Annotations::new(), |so_far, (key, value)| so_far.set(key.as_ref(), value))
    }

    /// Adds one annotation; the one entrance, through which the named builders go too. A key given before is
    /// replaced. `device=cpu` beside a `gpu` share is an error in either order.
    pub fn set(mut self, key: &str, value: impl Into<Value>) -> Result<Annotations, AnnotationError> {
        let value = value.into();
        let fields = Arc::make_mut(self.0.get_or_insert_default());
        match check::apply(fields, key, &value) {
            Ok(()) => Ok(self),
            Err(problem) => Err(AnnotationError { key: key.to_owned(), value: value.to_string(), problem }),
        }
    }

    /// Sets `priority`: higher runs first.
    pub fn with_priority(self, priority: f64) -> Result<Annotations, AnnotationError> {
        self.set("priority", priority)
    }

    /// Sets `retries`: further attempts after the first.
    pub fn with_retries(self, retries: u32) -> Result<Annotations, AnnotationError> {
        self.set("retries", retries)
    }

    /// Sets `device`.
    pub fn with_device(self, device: DeviceWish) -> Result<Annotations, AnnotationError> {
        self.set("device", device.name())
    }

    /// Sets `gpu`: a share of one device, or a whole number of devices.
    pub fn with_gpu(self, gpu: f64) -> Result<Annotations, AnnotationError> {
        self.set("gpu", gpu)
    }

    /// Sets `memory`: what one task holds on its device, inputs and outputs included.
    pub fn with_memory(self, memory: Bytes) -> Result<Annotations, AnnotationError> {
        self.set("memory", memory)
    }

    /// Sets one entry of `resources`, and keeps the others, also those that a function gives.
    pub fn with_resource(self, name: &str, amount: f64) -> Result<Annotations, AnnotationError> {
        let mut table: BTreeMap<String, Value> =
            self.resources().iter().map(|(name, amount)| (name.clone(), Value::from(*amount))).collect();
        table.insert(name.to_owned(), amount.into());
        let function = self.function("resources").cloned();
        let mut set = self.set("resources", Value::Table(table.into_iter().collect()))?;
        if let Some(function) = function {
            let fields = Arc::make_mut(set.0.get_or_insert_default());
            fields.functions.insert("resources".to_owned(), function);
        }
        Ok(set)
    }

    /// Sets `workers`: names or globs of devices.
    pub fn with_workers<S: Into<String>>(
        self,
        workers: impl IntoIterator<Item = S>,
    ) -> Result<Annotations, AnnotationError> {
        self.set("workers", Value::List(workers.into_iter().map(|name| Value::Text(name.into())).collect()))
    }

    /// Sets `allow_other_workers`.
    pub fn with_allow_other_workers(self, allow: bool) -> Result<Annotations, AnnotationError> {
        self.set("allow_other_workers", allow)
    }

    /// Sets `timeout`: how long one attempt may take.
    pub fn with_timeout(self, timeout: Duration) -> Result<Annotations, AnnotationError> {
        self.set("timeout", timeout)
    }

    /// Sets `checkpoint`: whether a run with a resume directory keeps the layer's blocks there.
    pub fn with_checkpoint(self, checkpoint: bool) -> Result<Annotations, AnnotationError> {
        self.set("checkpoint", checkpoint)
    }

    /// Whether nothing is set and outer annotations shine through.
    pub fn is_empty(&self) -> bool {
        *self.fields() == EMPTY
    }

    /// Whether outer annotations are ignored.
    pub fn is_fresh(&self) -> bool {
        self.fields().fresh
    }

    /// `priority`, where given; absent counts as 0.
    pub fn priority(&self) -> Option<f64> {
        self.fields().priority
    }

    /// `retries`, where given; absent counts as 0.
    pub fn retries(&self) -> Option<u32> {
        self.fields().retries
    }

    /// `device`, where given or implied by a `gpu` share.
    pub fn device(&self) -> Option<DeviceWish> {
        let fields = self.fields();
        match (fields.device, fields.gpu) {
            (None, GpuField::Share(_)) => Some(DeviceWish::Gpu),
            (device, _) => device,
        }
    }

    /// The kind of device that the annotations ask for in all: `device`, or any device where only `memory` or
    /// `workers` are given. `None` where nothing asks for a device.
    pub fn asks_for(&self) -> Option<DeviceWish> {
        let is_particular =
            self.memory().is_some() || self.function("memory").is_some() || self.workers().is_some();
        self.device().or(is_particular.then_some(DeviceWish::Any))
    }

    /// `gpu`, where given.
    pub fn gpu(&self) -> Option<GpuShare> {
        match self.fields().gpu {
            GpuField::Share(share) => Some(share),
            GpuField::Absent | GpuField::Cleared => None,
        }
    }

    /// `memory`, where given: bytes on the device that a task runs on.
    pub fn memory(&self) -> Option<Bytes> {
        self.fields().memory
    }

    /// The plain `resources`, without `GPU`, which is [`gpu`](Annotations::gpu), and without what a function
    /// gives.
    pub fn resources(&self) -> &BTreeMap<String, f64> {
        &self.fields().resources
    }

    /// `workers`, where given: sorted, without duplicates, never empty.
    pub fn workers(&self) -> Option<&[String]> {
        self.fields().workers.as_deref()
    }

    /// `allow_other_workers`; absent is false.
    pub fn allow_other_workers(&self) -> bool {
        self.fields().allow_other_workers.unwrap_or(false)
    }

    /// `timeout`, where given.
    pub fn timeout(&self) -> Option<Duration> {
        self.fields().timeout
    }

    /// `checkpoint`; absent is false.
    pub fn checkpoint(&self) -> bool {
        self.fields().checkpoint.unwrap_or(false)
    }

    /// Every annotation that Outcrop gives no meaning to.
    pub fn custom(&self) -> &BTreeMap<String, serde_json::Value> {
        &self.fields().custom
    }

    /// Only what decides where a layer may run: `device`, `gpu`, `memory`, `workers`, `allow_other_workers`.
    pub fn placement(&self) -> Annotations {
        let fields = self.fields();
        let memory = fields.functions.get_key_value("memory");
        Annotations(Some(Arc::new(Fields {
            device: fields.device,
            gpu: fields.gpu,
            memory: fields.memory,
            workers: fields.workers.clone(),
            allow_other_workers: fields.allow_other_workers,
            functions: memory.into_iter().map(|(key, function)| (key.clone(), function.clone())).collect(),
            ..Fields::default()
        })))
    }

    /// Only what governs a task while it is ordered and run: `priority`, `retries`, `memory`, `resources`,
    /// `timeout`. These, and custom annotations, may be functions of the block's key.
    pub fn of_tasks(&self) -> Annotations {
        let fields = self.fields();
        let known = fields.functions.iter().filter(|(key, _)| KEYS.contains(&key.as_str()));
        Annotations(Some(Arc::new(Fields {
            priority: fields.priority,
            retries: fields.retries,
            memory: fields.memory,
            resources: fields.resources.clone(),
            timeout: fields.timeout,
            functions: known.map(|(key, function)| (key.clone(), function.clone())).collect(),
            ..Fields::default()
        })))
    }

    /// The part that governs copies of a layer's values: when they are made.
    pub fn of_copies(&self) -> Annotations {
        Annotations(Some(Arc::new(Fields { priority: self.priority(), ..Fields::default() })))
    }

    fn fields(&self) -> &Fields {
        self.0.as_deref().unwrap_or(&EMPTY)
    }
}

impl PartialEq for Annotations {
    fn eq(&self, other: &Annotations) -> bool {
        self.fields() == other.fields()
    }
}

impl DeviceWish {
    /// Every value, as the annotation lists them.
    pub const ALL: [DeviceWish; 4] =
        [DeviceWish::Cpu, DeviceWish::Gpu, DeviceWish::PreferGpu, DeviceWish::Any];

    /// The value as the annotation writes it.
    pub const fn name(self) -> &'static str {
        match self {
            DeviceWish::Cpu => "cpu",
            DeviceWish::Gpu => "gpu",
            DeviceWish::PreferGpu => "prefer-gpu",
            DeviceWish::Any => "any",
        }
    }
}

impl GpuShare {
    /// The number of devices: the share, or the count.
    pub fn amount(self) -> f64 {
        match self {
            GpuShare::Fraction(share) => share,
            GpuShare::Whole(count) => f64::from(count),
        }
    }
}
