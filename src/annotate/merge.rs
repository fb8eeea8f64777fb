//! How annotations of nested scopes become one set, and when two layers may become one.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Annotations, DeviceWish, Fields, GpuField, KEYS, KeyFunction, function};

/// Two layers can't fuse because of this key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: one has {left}, the other has {right}")]
pub struct Conflict {
    /// The annotation.
    pub key: &'static str,
    /// The first layer's value.
    pub left: String,
    /// The second layer's value.
    pub right: String,
}

impl Annotations {
    /// What holds in `inner`'s scope inside this one: the inner value wins, `resources` name by name, custom
    /// annotations key by key. A function and a plain value take each other's place, save that plain
    /// `resources` go over those that an outer function gives. A [`fresh`](Annotations::fresh) inner set
    /// ignores this one. Associative.
    ///
    /// The same rule puts a session's default below a layer's annotations, and an override above them.
    pub fn inner(&self, inner: &Annotations) -> Annotations {
        if inner.is_empty() {
            return self.clone();
        }
        if inner.is_fresh() || self.is_empty() {
            return inner.clone();
        }
        let (outer, inner) = (self.fields(), inner.fields());
        let gpu = if inner.gpu == GpuField::Absent { outer.gpu } else { inner.gpu };
        let device = match (inner.device.or(outer.device), gpu) {
            // One set never holds both, so the share was given further in and takes the place of `cpu`.
            (Some(DeviceWish::Cpu), GpuField::Share(_)) => Some(DeviceWish::Gpu),
            (device, _) => device,
        };
        let mut merged = Fields {
            fresh: outer.fresh,
            priority: inner.priority.or(outer.priority),
            retries: inner.retries.or(outer.retries),
            device,
            gpu,
            memory: inner.memory.or(outer.memory),
            resources: per_name(&outer.resources, &inner.resources),
            workers: inner.workers.clone().or_else(|| outer.workers.clone()),
            allow_other_workers: inner.allow_other_workers.or(outer.allow_other_workers),
            timeout: inner.timeout.or(outer.timeout),
            checkpoint: inner.checkpoint.or(outer.checkpoint),
            custom: per_name(&outer.custom, &inner.custom),
            functions: BTreeMap::new(),
        };
        function::merge(&mut merged, outer, inner);
        Annotations(Some(Arc::new(merged)))
    }

    /// What the fused layer of these two carries, or the first key that forbids fusion.
    ///
    /// `device` and `workers` mean something only on a machine, so they don't decide here: the planner compares
    /// what they resolve to. The result keeps each where the two are equal or one is absent, and leaves it out
    /// elsewhere; see [`same_device`](Annotations::same_device) and
    /// [`same_workers`](Annotations::same_workers). Neither does `checkpoint`: it forbids fusion with what reads the
    /// layer and not with what the layer reads, and which is which isn't said here. Custom annotations stay out of the result: the planner
    /// keeps them with each source layer. A function fuses with itself only: whether its values may be joined
    /// block for block is the planner's to see.
    pub fn fused(&self, other: &Annotations) -> Result<Annotations, Conflict> {
        let (left, right) = (self.fields(), other.fields());
        let same = |key| left.functions.get(key) == right.functions.get(key);
        // Over a function's amounts 0 takes one away: it isn't the same as absent.
        let asked = |fields: &Fields| match fields.functions.get("resources") {
            Some(_) => fields.resources.clone(),
            None => used(&fields.resources),
        };
        let resources = asked(left);
        let no_timeout =
            |fields: &Fields| fields.timeout.is_none() && !fields.functions.contains_key("timeout");
        let one_absent = left.retries.is_none() || right.retries.is_none();
        let may_fuse = [
            ("priority", same("priority")),
            ("retries", same("retries") && (one_absent || left.retries == right.retries)),
            ("gpu", self.gpu() == other.gpu()),
            ("memory", same("memory")),
            ("resources", same("resources") && resources == asked(right)),
            ("allow_other_workers", self.allow_other_workers() == other.allow_other_workers()),
            ("timeout", no_timeout(left) && no_timeout(right)),
        ];
        if let Some((key, _)) = may_fuse.into_iter().find(|(_, may)| !may) {
            return Err(Conflict { key, left: self.shown(key), right: other.shown(key) });
        }
        let priority = match (left.priority, right.priority) {
            (None, None) => None,
            (left, right) => Some(left.unwrap_or(0.0).max(right.unwrap_or(0.0))),
        };
        let fields = Fields {
            fresh: left.fresh && right.fresh,
            priority,
            retries: left.retries.or(right.retries),
            device: agreed(left.device, right.device),
            gpu: if left.gpu == right.gpu { left.gpu } else { GpuField::Absent },
            memory: left.memory.max(right.memory),
            resources,
            workers: agreed(left.workers.clone(), right.workers.clone()),
            allow_other_workers: left.allow_other_workers.or(right.allow_other_workers),
            timeout: None,
            checkpoint: either(left.checkpoint, right.checkpoint),
            custom: BTreeMap::new(),
            functions: left
                .functions
                .iter()
                .filter(|(key, _)| KEYS.contains(&key.as_str()))
                .map(cloned)
                .collect(),
        };
        Ok(Annotations(Some(Arc::new(fields))))
    }

    /// What a layer carries that a rewrite makes of two, or the first key that can't hold for both. Stricter than
    /// [`fused`](Annotations::fused): where they run must be the same to the letter, since nobody looks at a machine.
    /// A custom annotation on which they differ stays out; the layer remembers both.
    pub fn combined(&self, other: &Annotations) -> Result<Annotations, Conflict> {
        for (key, same) in [("device", self.same_device(other)), ("workers", self.same_workers(other))] {
            if !same {
                return Err(Conflict { key, left: self.shown(key), right: other.shown(key) });
            }
        }
        let (left, right) = (self.fields(), other.fields());
        let differs = |key: &String| {
            let has = |fields: &Fields| fields.custom.contains_key(key) || fields.functions.contains_key(key);
            let same = left.custom.get(key) == right.custom.get(key)
                && left.functions.get(key) == right.functions.get(key);
            has(left) && has(right) && !same
        };
        let mut merged = self.fused(other)?.fields().clone();
        merged.custom = per_name(&left.custom, &right.custom);
        merged.custom.retain(|key, _| !differs(key));
        let functions = left.functions.iter().chain(&right.functions).map(cloned);
        merged.functions.extend(functions.filter(|(key, _)| !KEYS.contains(&key.as_str()) && !differs(key)));
        Ok(Annotations(Some(Arc::new(merged))))
    }

    /// What both say.
    pub fn agreed(&self, other: &Annotations) -> Annotations {
        let (left, right) = (self.fields(), other.fields());
        fn both<T: PartialEq + Clone>(left: &Option<T>, right: &Option<T>) -> Option<T> {
            left.clone().filter(|_| left == right)
        }
        fn shared<V: PartialEq + Clone>(
            left: &BTreeMap<String, V>,
            right: &BTreeMap<String, V>,
        ) -> BTreeMap<String, V> {
            let same = left.iter().filter(|(name, value)| right.get(*name) == Some(*value));
            same.map(|(name, value)| (name.clone(), value.clone())).collect()
        }
        Annotations(Some(Arc::new(Fields {
            fresh: left.fresh && right.fresh,
            priority: both(&left.priority, &right.priority),
            retries: both(&left.retries, &right.retries),
            device: both(&left.device, &right.device),
            gpu: if left.gpu == right.gpu { left.gpu } else { GpuField::Absent },
            memory: both(&left.memory, &right.memory),
            resources: shared(&left.resources, &right.resources),
            workers: both(&left.workers, &right.workers),
            allow_other_workers: both(&left.allow_other_workers, &right.allow_other_workers),
            timeout: both(&left.timeout, &right.timeout),
            checkpoint: both(&left.checkpoint, &right.checkpoint),
            custom: shared(&left.custom, &right.custom),
            functions: shared(&left.functions, &right.functions),
        })))
    }

    fn shown(&self, key: &str) -> String {
        self.to_json().get(key).map_or("none".to_owned(), ToString::to_string)
    }

    /// Whether both ask for the same kind of device, to the letter.
    pub fn same_device(&self, other: &Annotations) -> bool {
        self.device() == other.device()
    }

    /// Whether both name the same `workers`, to the letter. Different patterns may still mean the same devices.
    pub fn same_workers(&self, other: &Annotations) -> bool {
        self.workers() == other.workers()
    }
}

fn cloned((key, function): (&String, &KeyFunction)) -> (String, KeyFunction) {
    (key.clone(), function.clone())
}

/// Whether one says so; absent where neither says anything.
fn either(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    left.max(right)
}

/// What both say, or the one that says anything; nothing where they differ.
fn agreed<T: PartialEq>(left: Option<T>, right: Option<T>) -> Option<T> {
    match (left, right) {
        (Some(left), Some(right)) => (left == right).then_some(left),
        (left, right) => left.or(right),
    }
}

fn per_name<V: Clone>(outer: &BTreeMap<String, V>, inner: &BTreeMap<String, V>) -> BTreeMap<String, V> {
    let mut merged = outer.clone();
    merged.extend(inner.iter().map(|(name, value)| (name.clone(), value.clone())));
    merged
}

/// An amount of 0 is the way to override an outer one; it asks for nothing.
fn used(resources: &BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    resources
        .iter()
        .filter(|(_, amount)| **amount > 0.0)
        .map(|(name, amount)| (name.clone(), *amount))
        .collect()
}
