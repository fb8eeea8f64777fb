//! First pass: what each layer asks for, and which devices can give it.
//!
//! Everything that no device can give is collected, so that the user sees all of it at once.

use std::collections::{BTreeMap, HashSet};

use crate::annotate::{Annotations, DeviceWish, GpuShare};
use crate::graph::layer::Layer;
use crate::graph::layer_graph::LayerGraph;
use crate::graph::op::Op;
use crate::ids::LayerId;
use crate::machine::{DeviceId, DeviceInfo, DeviceKind, Machine};
use crate::plan::capability;
use crate::plan::effective::{self, Effective};
use crate::plan::error::{PlanError, Unsatisfied};
use crate::plan::known::Known;
use crate::plan::memory::budget;
use crate::plan::split;
use crate::settings::Settings;
use crate::units::Bytes;

/// What kind of place a layer asks for. Layers of different classes never fuse before they are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PlacementClass {
    /// Nothing asked: the host pool.
    Host,
    /// A GPU, and nothing else.
    Gpu,
    /// A GPU where one fits, else the host.
    PreferGpu,
    /// Wherever it is done soonest.
    Any,
}

impl PlacementClass {
    /// As plans and reports write it.
    pub const fn name(self) -> &'static str {
        match self {
            PlacementClass::Host => "host",
            PlacementClass::Gpu => "gpu",
            PlacementClass::PreferGpu => "prefer-gpu",
            PlacementClass::Any => "any",
        }
    }
}

/// What one layer asks for, resolved against the machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolution {
    /// The kind of place.
    pub class: PlacementClass,
    /// The devices that can run it, all equally allowed; never empty.
    pub candidates: Vec<DeviceId>,
    /// Why it is so.
    pub reason: String,
    /// Why a preferred GPU isn't among the candidates, if so.
    pub fallback: Option<String>,
}

impl Resolution {
    /// On the host pool, for this reason.
    pub fn host(reason: String) -> Self {
        let candidates = vec![DeviceId::HOST];
        Resolution { class: PlacementClass::Host, candidates, reason, fallback: None }
    }
}

/// The resolutions of all layers, by [`LayerId`].
#[derive(Clone, Debug)]
pub struct Resolved(Vec<Resolution>);

impl Resolved {
    /// From the resolution of each layer, in the graph's order.
    pub fn from_layers(layers: impl IntoIterator<Item = Resolution>) -> Self {
        Resolved(layers.into_iter().collect())
    }

    /// What this layer asks for.
    pub fn of(&self, id: LayerId) -> &Resolution {
        &self.0[id.index()]
    }
}

/// Resolves every layer.
///
/// # Errors
/// [`PlanError::Unsatisfiable`] with every requirement that no device meets.
pub fn resolve(
    graph: &LayerGraph,
    effective: &Effective,
    known: &Known,
    machine: &Machine,
    settings: &Settings,
) -> Result<Resolved, PlanError> {
    let mut resolved = Vec::with_capacity(graph.layer_count());
    let mut unsatisfied = Vec::new();
    for (id, layer) in graph.layers() {
        let annotations = effective.of(id);
        let ask = Ask { layer, annotations, demand: Demand::of(effective, id), known, machine, settings };
        unsatisfied.extend(ask.missing_resources());
        match ask.resolve() {
            Ok(resolution) => resolved.push(resolution),
            Err(problem) => unsatisfied.push(*problem),
        }
    }
    if unsatisfied.is_empty() {
        Ok(Resolved(resolved))
    } else {
        Err(PlanError::Unsatisfiable(merged(unsatisfied)))
    }
}

/// One expression of a pipeline file makes several layers with the same annotations: say each thing once.
fn merged(all: Vec<Unsatisfied>) -> Vec<Unsatisfied> {
    let mut seen = HashSet::new();
    all.into_iter().filter(|one| seen.insert(one.clone())).collect()
}

struct Ask<'a> {
    layer: &'a Layer,
    annotations: &'a Annotations,
    demand: Demand,
    known: &'a Known,
    machine: &'a Machine,
    settings: &'a Settings,
}

impl Ask<'_> {
    fn resolve(&self) -> Result<Resolution, Box<Unsatisfied>> {
        let annotations = self.annotations;
        let on_host = match self.layer.op() {
            Op::Load(_) => Some("sources are read on the host"),
            Op::Store(_) => Some("sinks are written on the host"),
            Op::Wait(_) => Some("waits, and needs no device"),
            _ => None,
        };
        if let Some(reason) = on_host {
            return Ok(Resolution::host(reason.to_owned()));
        }
        let Some(class) = class_of(annotations) else {
            return Ok(Resolution::host("no device asked for: host pool".to_owned()));
        };
        if self.settings.cpu_only && (class != PlacementClass::Host || annotations.workers().is_some()) {
            return Ok(Resolution {
                class,
                candidates: vec![DeviceId::HOST],
                reason: "cpu-only".to_owned(),
                fallback: Some(format!("--cpu-only waives {}", need(annotations))),
            });
        }
        self.candidates(class)
    }

    fn candidates(&self, class: PlacementClass) -> Result<Resolution, Box<Unsatisfied>> {
        let verdicts: Vec<(DeviceId, Vec<Obstacle>)> =
            self.machine.devices().map(|(id, device)| (id, self.obstacles(class, id, device))).collect();
        let fits: Vec<DeviceId> =
            verdicts.iter().filter(|(_, obstacles)| obstacles.is_empty()).map(|(id, _)| *id).collect();
        // Blocks are made in parts where no device that could have them has buffers for whole ones.
        let fits = if fits.is_empty() { self.fitting_in_parts(&verdicts) } else { fits };
        let preferred = self.preferred(&fits);
        let reason = need(self.annotations);
        if !preferred.is_empty() {
            return Ok(Resolution { class, candidates: preferred, reason, fallback: None });
        }
        let best = self.best(class, &verdicts);
        let host_fits =
            self.obstacles(PlacementClass::Any, DeviceId::HOST, self.machine.device(DeviceId::HOST));
        if class == PlacementClass::PreferGpu && !self.settings.deny_fallback && host_fits.is_empty() {
            let has_gpu = self.machine.devices.len() > 1;
            let fallback = if has_gpu { format!("no GPU fits: {}", best.text) } else { best.text };
            let fallback = Some(fallback);
            return Ok(Resolution { class, candidates: vec![DeviceId::HOST], reason, fallback });
        }
        Err(Box::new(Unsatisfied {
            layer: self.called(),
            need: if self.settings.deny_fallback && class == PlacementClass::PreferGpu {
                format!("{reason}{} under --deny-fallback", self.at_block())
            } else {
                format!("{reason}{}", self.at_block())
            },
            fix: self.fix(class, &best),
            best: best.text,
        }))
    }

    /// The devices whose buffers hold parts of blocks, if not whole ones, and that want nothing else.
    fn fitting_in_parts(&self, verdicts: &[(DeviceId, Vec<Obstacle>)]) -> Vec<DeviceId> {
        let holds_parts = |(id, obstacles): &&(DeviceId, Vec<Obstacle>)| match obstacles[..] {
            [Obstacle::Block { limit, .. }] => {
                let order = split::Order::on(self.machine.device(*id));
                split::parts_within(self.layer, limit.0, order).is_some()
            }
            _ => false,
        };
        verdicts.iter().filter(holds_parts).map(|(id, _)| *id).collect()
    }

    /// `allow_other_workers` makes `workers` a preference: those that match when any does, else all.
    fn preferred(&self, fits: &[DeviceId]) -> Vec<DeviceId> {
        let annotations = self.annotations;
        let Some(patterns) = annotations.workers().filter(|_| annotations.allow_other_workers()) else {
            return fits.to_vec();
        };
        let wanted = self.machine.matching(patterns);
        let both: Vec<DeviceId> = fits.iter().copied().filter(|id| wanted.contains(id)).collect();
        if both.is_empty() { fits.to_vec() } else { both }
    }

    fn obstacles(&self, class: PlacementClass, id: DeviceId, device: &DeviceInfo) -> Vec<Obstacle> {
        let annotations = self.annotations;
        let mut obstacles = Vec::new();
        if let Some(why) = &device.unusable {
            obstacles.push(Obstacle::Unusable(why.clone()));
        }
        if let Some(how) = self.known.too_small(self.layer, id) {
            obstacles.push(Obstacle::TooSmall(how.to_owned()));
        }
        let wants_gpu = matches!(class, PlacementClass::Gpu | PlacementClass::PreferGpu);
        match device.kind {
            DeviceKind::Host if wants_gpu => obstacles.push(Obstacle::NoGpu),
            DeviceKind::SoftwareGpu if !self.settings.allow_software_gpu => {
                obstacles.push(Obstacle::Software)
            }
            DeviceKind::Host => {}
            _ if class == PlacementClass::Host => obstacles.push(Obstacle::NotHost),
            _ => {}
        }
        if let Some(patterns) = annotations.workers()
            && !annotations.allow_other_workers()
            && !self.machine.matching(patterns).contains(&id)
        {
            obstacles.push(Obstacle::Workers);
        }
        if let (Some((need, _)), Some(have)) = (self.demand.memory, self.capacity(id))
            && need > have
        {
            obstacles.push(Obstacle::Memory { have });
        }
        if let Some(GpuShare::Whole(count)) = annotations.gpu()
            && count > 1
            && device.kind != DeviceKind::Host
        {
            obstacles.push(Obstacle::Whole);
        }
        let block = self.largest_block();
        if let Some(limit) = device.limits.binding_bytes_max.map(Bytes).filter(|limit| block > *limit) {
            obstacles.push(Obstacle::Block { block, limit });
        }
        if let Some(lack) = capability::lack(device, self.layer) {
            obstacles.push(Obstacle::Lack(lack));
        }
        obstacles
    }

    /// Bytes of the largest block that the layer reads or makes.
    fn largest_block(&self) -> Bytes {
        let bytes = |layer: &Layer| (layer.chunks().largest_block() * layer.dtype().size()) as u64;
        let read = self.layer.inputs().iter().map(|input| bytes(input)).max();
        Bytes(bytes(self.layer).max(read.unwrap_or(0)))
    }

    fn capacity(&self, id: DeviceId) -> Option<Bytes> {
        budget(self.machine, self.settings, self.machine.memory_of(id))
    }

    /// The device with the fewest obstacles, the larger memory first; where a GPU is wanted, one in hardware if any is there,
    /// else a software adapter.
    fn best<'v>(&self, class: PlacementClass, verdicts: &'v [(DeviceId, Vec<Obstacle>)]) -> Best<'v> {
        let wants_gpu = matches!(class, PlacementClass::Gpu | PlacementClass::PreferGpu);
        let gpus = verdicts.iter().filter(|(id, _)| *id != DeviceId::HOST || !wants_gpu);
        let nearest = gpus.min_by_key(|(id, obstacles)| {
            let bytes = self.capacity(*id).map_or(0, |bytes| bytes.0);
            let is_software = wants_gpu && self.machine.device(*id).kind == DeviceKind::SoftwareGpu;
            (is_software, obstacles.len(), std::cmp::Reverse(bytes), *id)
        });
        let Some((id, obstacles)) = nearest.or(verdicts.first()) else {
            return Best { text: "nothing".to_owned(), obstacles: &[] };
        };
        let why: Vec<String> =
            obstacles.iter().filter(|why| **why != Obstacle::NoGpu).map(Obstacle::to_string).collect();
        let at_device = format!("{}: {}", self.describe(*id), why.join("; "));
        let text = match (obstacles.contains(&Obstacle::NoGpu), why.is_empty()) {
            (true, true) => "this machine has no GPU".to_owned(),
            (true, false) => format!("this machine has no GPU; {at_device}"),
            (false, _) => at_device,
        };
        Best { text, obstacles }
    }

    fn describe(&self, id: DeviceId) -> String {
        let device = self.machine.device(id);
        let memory = self.capacity(id).map_or_else(|| "memory unknown".to_owned(), |bytes| bytes.to_string());
        if device.model.is_empty() {
            format!("{} ({memory})", device.name)
        } else {
            format!("{} ({}, {memory})", device.name, device.model)
        }
    }

    fn fix(&self, class: PlacementClass, best: &Best<'_>) -> String {
        let mut fixes = Vec::new();
        for obstacle in best.obstacles {
            match obstacle {
                Obstacle::Memory { have } => {
                    fixes.push(format!("memory = \"{}\", or smaller chunks", have.rounded_down()));
                }
                Obstacle::Software => fixes.push("--allow-software-gpu".to_owned()),
                Obstacle::Workers => {
                    let names: Vec<&str> = self.machine.devices.iter().map(|d| d.name.as_str()).collect();
                    fixes.push(format!("workers among {}", names.join(", ")));
                }
                Obstacle::Whole => fixes.push("gpu = 1".to_owned()),
                Obstacle::Block { limit, .. } => fixes.push(format!("chunks of at most {limit}")),
                Obstacle::Lack(lack) if lack.contains("64") => {
                    fixes.push("compute in 32 bits, with astype".to_owned())
                }
                Obstacle::TooSmall(_) => fixes.push("smaller chunks".to_owned()),
                Obstacle::NoGpu | Obstacle::Lack(_) | Obstacle::Unusable(_) | Obstacle::NotHost => {}
            }
        }
        if fixes.is_empty() {
            fixes.push(
                match class {
                    PlacementClass::Gpu => {
                        "device = \"prefer-gpu\", or --cpu-only to run everything on the host"
                    }
                    PlacementClass::PreferGpu => "drop --deny-fallback",
                    PlacementClass::Host | PlacementClass::Any => "drop the annotation",
                }
                .to_owned(),
            );
        }
        fixes.join(", and ")
    }

    fn missing_resources(&self) -> Vec<Unsatisfied> {
        let missing = self.demand.resources.iter().filter_map(|(name, &(amount, block))| {
            let have = self.settings.resources.get(name).copied();
            if amount == 0.0 || have.is_some_and(|have| have >= amount) {
                return None;
            }
            let at = self.at(block);
            let names: Vec<&str> = self.settings.resources.keys().map(String::as_str).collect();
            Some(Unsatisfied {
                layer: self.called(),
                need: format!("resources {{ {name} = {amount} }}{at}"),
                best: match have {
                    Some(have) => format!("{name} = {have}"),
                    None if names.is_empty() => "no custom resources are declared".to_owned(),
                    None => format!("declared are {}", names.join(", ")),
                },
                fix: format!("[settings] resources = {{ {name} = {amount} }}"),
            })
        });
        missing.collect()
    }

    /// The block whose function asked for the most memory, to be read after what is asked.
    fn at_block(&self) -> String {
        match self.demand.memory {
            Some((bytes, Some(block))) => format!(": {bytes}{}", self.at(Some(block))),
            _ => String::new(),
        }
    }

    fn at(&self, block: Option<usize>) -> String {
        let key = block.and_then(|block| effective::key(self.layer, block).ok());
        key.map_or_else(String::new, |key| format!(" at {key}"))
    }

    fn called(&self) -> String {
        self.layer.label().unwrap_or(self.layer.name()).to_owned()
    }
}

/// The most that any task of a layer asks for, and the block that does where a function said so.
struct Demand {
    memory: Option<(Bytes, Option<usize>)>,
    resources: BTreeMap<String, (f64, Option<usize>)>,
}

impl Demand {
    fn of(effective: &Effective, id: LayerId) -> Demand {
        let plain = std::iter::once((None, effective.of(id))).filter(|_| !effective.varies(id));
        let by_block = effective.sets_of(id).map(|(block, set)| (Some(block), set));
        let mut demand = Demand { memory: None, resources: BTreeMap::new() };
        for (block, set) in plain.chain(by_block) {
            if let Some(bytes) =
                set.memory().filter(|bytes| demand.memory.is_none_or(|(most, _)| *bytes > most))
            {
                demand.memory = Some((bytes, block));
            }
            for (name, &amount) in set.resources() {
                let most = demand.resources.entry(name.clone()).or_insert((amount, block));
                if amount > most.0 {
                    *most = (amount, block);
                }
            }
        }
        demand
    }
}

struct Best<'v> {
    text: String,
    obstacles: &'v [Obstacle],
}

/// One thing that keeps a layer from a device.
#[derive(Clone, Debug, PartialEq)]
enum Obstacle {
    NoGpu,
    NotHost,
    Software,
    Unusable(String),
    TooSmall(String),
    Workers,
    Memory { have: Bytes },
    Whole,
    Block { block: Bytes, limit: Bytes },
    Lack(String),
}

impl std::fmt::Display for Obstacle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Obstacle::NoGpu => f.write_str("is no GPU"),
            Obstacle::NotHost => f.write_str("isn't the host"),
            Obstacle::Software => f.write_str("is a software adapter, not a GPU"),
            Obstacle::Unusable(why) => write!(f, "can't be used: {why}"),
            Obstacle::TooSmall(how) => write!(f, "was too small: {how}"),
            Obstacle::Workers => f.write_str("isn't among the workers asked for"),
            Obstacle::Memory { have } => write!(f, "has only {have} of memory"),
            Obstacle::Whole => f.write_str("one array layer runs on one device"),
            Obstacle::Block { block, limit } => {
                write!(f, "takes buffers of at most {limit}, and a block here has {block}")
            }
            Obstacle::Lack(what) => write!(f, "lacks {what}"),
        }
    }
}

/// The class that annotations ask for; `None` when they ask for no device.
fn class_of(annotations: &Annotations) -> Option<PlacementClass> {
    Some(match annotations.asks_for()? {
        DeviceWish::Cpu => PlacementClass::Host,
        DeviceWish::Gpu => PlacementClass::Gpu,
        DeviceWish::PreferGpu => PlacementClass::PreferGpu,
        DeviceWish::Any => PlacementClass::Any,
    })
}

/// The placement part of the annotations, as the user would write it.
fn need(annotations: &Annotations) -> String {
    annotations.placement().to_string()
}
