//! A session: a machine, its open devices, and the loop from collections to values.

mod attempts;
#[cfg(test)]
mod helping;
mod resume;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::annotate::{Annotations, Overrides};
use crate::collections::nested::{self, Collections};
use crate::collections::{Computed, Runner};
use crate::device::contract::Device;
use crate::device::open::open as open_device;
use crate::device::probe;
use crate::error::Error;
use crate::exec::pinning::CAN_PIN;
use crate::exec::{Control, Devices, Engine, Limits, ResultValue, Trace};
use crate::graph::error::GraphError;
use crate::graph::layer::{Layer, LayerBody, Naming};
use crate::graph::layer_graph::LayerGraph;
use crate::graph::op::{CopyRule, Op, Sink};
use crate::machine::{DeviceId, Machine, MemoryId};
use crate::plan;
use crate::plan::known::Known;
use crate::report::Report;
use crate::settings::{Config, Settings};
use crate::steps::Plan;
use crate::units::Bytes;
use attempts::Attempts;
use resume::Resume;

/// Runs collections on a machine.
///
/// ```
/// use outcrop::collections::{Array, array::Over};
/// use outcrop::session::Session;
///
/// let x = Array::arange(0.0, 1.0, 1_000_000);
/// let mean = (&x * &x).mean(&Over::all());
/// let session = Session::new(Default::default());
/// let value: f64 = session.compute(&mean)?.to_scalar().unwrap();
/// assert!((value - 333332833333.5).abs() < 1e-3);
/// # Ok::<(), outcrop::error::Error>(())
/// ```
pub struct Session {
    machine: Machine,
    settings: Settings,
    notes: Vec<String>,
    open: Mutex<Vec<Option<Arc<dyn Device>>>>,
    engine: Engine,
    resume: Resume,
    /// Devices that were lost, and how.
    lost: Mutex<BTreeMap<DeviceId, String>>,
}

/// A plan that is ready to run, with what it was made from.
pub struct Prepared {
    /// The plan.
    pub plan: Arc<Plan>,
    /// Seconds that planning took.
    pub plan_s: f64,
    graph: LayerGraph,
    settings: Settings,
}

/// What a run left.
pub struct Completed {
    /// For each output asked for that isn't a sink, its value.
    pub results: Vec<ResultValue>,
    /// What happened.
    pub report: Report,
    /// The plan that was run: the one that was prepared, or another one where kept blocks were lost.
    pub plan: Arc<Plan>,
    /// Every attempt at a step of the plan, when the [`Control`] was told to trace.
    pub trace: Option<Trace>,
}

impl Session {
    /// A session on this machine. Looks for devices, which takes tens of milliseconds; opens none yet.
    pub fn new(config: Config) -> Self {
        let inventory = probe::inventory();
        let mut session = Session::on(inventory.machine, config);
        session.notes.splice(0..0, inventory.notes);
        session
    }

    /// A session on a described machine, whose devices are opened where plans need them.
    pub fn on(machine: Machine, config: Config) -> Self {
        let settings = config.or(Config::from_environment()).resolve(machine.host.cores);
        let devices = vec![None; machine.devices.len()];
        let engine = Engine::new(&limits(&machine, &settings));
        let resume = Resume::new(settings.resume.as_deref());
        let notes = notes(&settings);
        Session {
            machine,
            settings,
            notes,
            open: Mutex::new(devices),
            engine,
            resume,
            lost: Mutex::default(),
        }
    }

    /// The session with default annotations for all layers that don't say otherwise, inside those it has.
    pub fn with_annotations(mut self, annotations: Annotations) -> Self {
        self.settings.annotations = self.settings.annotations.inner(&annotations);
        self
    }

    /// Uses this device in the place of the machine's device of the same name: a simulated one, say.
    pub fn with_device(self, device: Arc<dyn Device>) -> Self {
        if let Some(id) = self.machine.device_by_name(device.name()) {
            self.open.lock().unwrap_or_else(PoisonError::into_inner)[usize::from(id.0)] = Some(device);
        }
        self
    }

    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What was odd when the devices were looked for, and settings that come to nothing here.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The value of a collection, or the values of several, nested in tuples, vectors or maps: computed together, so
    /// that what they share is computed once.
    ///
    /// # Errors
    /// Whatever was wrong with a collection, with the plan, or in the run.
    pub fn compute<C: Collections>(&self, collections: &C) -> Result<C::Values, Error> {
        nested::compute(collections, self)
    }

    /// As [`Session::compute`], for code that awaits: the future may be polled on any executor, several are under way at
    /// once, and dropping one cancels its run. Planning happens when it is first polled.
    ///
    /// ```
    /// # use outcrop::collections::{Array, array::Over};
    /// # use outcrop::session::Session;
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let session = Session::new(Default::default());
    /// let x = Array::arange(0.0, 1.0, 1000);
    /// let (sum, mean) = (x.sum(&Over::all()), x.mean(&Over::all()));
    /// let (sum, mean) = tokio::try_join!(session.compute_async(&sum), session.compute_async(&mean))?;
    /// assert_eq!((sum.to_scalar(), mean.to_scalar()), (Some(499_500.0), Some(499.5)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Session::compute`].
    pub async fn compute_async<C: Collections>(&self, collections: &C) -> Result<C::Values, Error> {
        let computed = match nested::graph_of(collections)? {
            Some(graph) => {
                let prepared = self.prepare_graph(&graph, &Overrides::new())?;
                computed(&graph, self.run_async(&prepared, &Control::new()).await?)
            }
            None => Computed::default(),
        };
        Ok(collections.finalize_each(&computed)?)
    }

    /// The same collections with their values computed and held; see [`Collection::persist`](crate::collections::Collection::persist).
    ///
    /// # Errors
    /// As [`Session::compute`].
    pub fn persist<C: Collections>(&self, collections: &C) -> Result<C, Error> {
        nested::persist(collections, self)
    }

    /// This session, with annotations that go over those of the layers and of the session: the last word, for what is
    /// computed through it.
    ///
    /// ```
    /// # use outcrop::annotate::{Annotations, Overrides};
    /// # use outcrop::collections::Array;
    /// # use outcrop::session::Session;
    /// let x = Array::ones([10], outcrop::dtype::DType::F64).named("x");
    /// let patient = Overrides::new().with("x", Annotations::new().set("retries", 3)?)?;
    /// let ones = Session::new(Default::default()).overriding(patient).compute(&x)?;
    /// # assert_eq!(ones.to_vec::<f64>().unwrap(), [1.0; 10]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn overriding(&self, overrides: Overrides) -> Overriding<'_> {
        Overriding { session: self, overrides }
    }

    /// Plans some outputs: arrays to keep, or sinks.
    pub fn prepare(&self, outputs: &[Arc<Layer>]) -> Result<Prepared, Error> {
        self.prepare_with(outputs, &Overrides::new())
    }

    /// Plans some outputs under annotations that go over those of the layers and of the session.
    ///
    /// # Errors
    /// As [`prepare`](Session::prepare); a pattern that matches no layer.
    pub fn prepare_with(&self, outputs: &[Arc<Layer>], overrides: &Overrides) -> Result<Prepared, Error> {
        self.prepare_graph(&LayerGraph::of(outputs.iter().cloned()), overrides)
    }

    /// Plans a graph's outputs, of each what the graph keeps of it.
    ///
    /// # Errors
    /// The graph isn't valid; a pattern matches no layer; there is no plan.
    pub fn prepare_graph(&self, graph: &LayerGraph, overrides: &Overrides) -> Result<Prepared, Error> {
        graph.validate()?;
        let graph = graph.with_outputs(owned)?;
        let overrides = self.settings.overrides.clone().then(overrides);
        self.planned(graph, &Known::none(), Settings { overrides, ..self.settings.clone() })
    }

    fn planned(&self, graph: LayerGraph, known: &Known, settings: Settings) -> Result<Prepared, Error> {
        let started = Instant::now();
        let plan = self.resume.plan(&graph, known, &self.machine_left(), &settings)?;
        Ok(Prepared { plan: Arc::new(plan), plan_s: started.elapsed().as_secs_f64(), graph, settings })
    }

    /// Runs a plan, and puts the outputs of its sinks in place. Other runs of the session may be under way.
    ///
    /// What can be mended is, by running another plan, and the report says so. Where a block that an earlier run kept turns
    /// out to be damaged, it is computed again. A device that is lost is gone for the session; what was planned for it goes
    /// where its annotations allow, values that are alive elsewhere are taken over, and those that were lost are computed
    /// again. A device whose memory gives out, though it was said to be there, does one thing at a time from then on; where
    /// that isn't enough, blocks of the layers that it is too small for are made there in parts, 2 to
    /// [`PARTS_MAX`](crate::plan::split::PARTS_MAX); and where no parts are left, these layers go elsewhere likewise.
    ///
    /// # Errors
    /// A device can't be opened; the run failed, and no plan does without what failed it; an output can't be put in
    /// place.
    pub fn run(&self, prepared: &Prepared, control: &Control) -> Result<Completed, Error> {
        let mut attempts = Attempts::new(self, prepared, control)?;
        loop {
            match attempts.start()?.wait() {
                Ok(outcome) => return attempts.complete(outcome),
                Err(error) => attempts.mend(error)?,
            }
        }
    }

    /// As [`Session::run`], for code that awaits: the run is handed in when the future is first polled, and cancelled when
    /// it is dropped.
    ///
    /// # Errors
    /// As [`Session::run`].
    pub async fn run_async(&self, prepared: &Prepared, control: &Control) -> Result<Completed, Error> {
        let mut attempts = Attempts::new(self, prepared, control)?;
        loop {
            match attempts.start()?.await {
                Ok(outcome) => return attempts.complete(outcome),
                Err(error) => attempts.mend(error)?,
            }
        }
    }

    /// Removes from the resume directory whatever no plan of this session could use, and returns how many blocks that
    /// were: those of other pipelines and of former versions of this one.
    ///
    /// # Errors
    /// The directory can't be written.
    pub fn remove_unused(&self) -> Result<usize, Error> {
        self.resume.remove_unused()
    }

    /// The machine without the devices that were lost.
    fn machine_left(&self) -> Cow<'_, Machine> {
        let lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        let mut machine = Cow::Borrowed(&self.machine);
        for (device, how) in &*lost {
            machine.to_mut().devices[usize::from(device.0)].unusable = Some(how.clone());
        }
        machine
    }

    /// The device is gone, for as long as the session lives.
    fn lose(&self, device: DeviceId, message: &str) {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.entry(device).or_insert_with(|| format!("it was lost earlier in this session: {message}"));
        self.open.lock().unwrap_or_else(PoisonError::into_inner)[usize::from(device.0)] = None;
    }

    /// Whether a plan wants a device that is gone.
    fn is_outdated(&self, plan: &Plan) -> bool {
        let lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        plan.layers.iter().any(|layer| lost.contains_key(&layer.device))
    }

    fn open_for(&self, plan: &Plan) -> Result<Devices, Error> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        for (id, info) in self.machine_left().devices() {
            let at = usize::from(id.0);
            let used = id == DeviceId::HOST || plan.steps.iter().any(|step| step.device == id);
            if !used || info.unusable.is_some() || open[at].is_some() {
                continue;
            }
            let budget = plan.memories[usize::from(self.machine.memory_of(id).0)].budget;
            let capacity = budget.map(with_rounding);
            open[at] = open_device(info, capacity)?;
        }
        Ok(Devices::new(open.clone()))
    }
}

impl Prepared {
    fn sinks(&self) -> impl Iterator<Item = &Arc<dyn Sink>> {
        self.graph.outputs().iter().filter_map(|&output| match self.graph.layer(output).op() {
            Op::Store(sink) => Some(sink),
            _ => None,
        })
    }
}

/// What the machine and the settings give all runs of a session together.
fn limits(machine: &Machine, settings: &Settings) -> Limits {
    let memory =
        |at: usize| plan::memory::budget(machine, settings, MemoryId(at as u16)).map(|bytes| bytes.0);
    Limits {
        threads: settings.threads,
        memories: (0..machine.memories.len()).map(memory).chain([spill_limit(settings)]).collect(),
        resources: plan::Resources::of(machine, settings).amounts.iter().map(|(_, amount)| *amount).collect(),
        devices: machine.devices.len(),
        device_timeout: Some(settings.device_timeout),
        pin_threads: settings.pin_threads,
    }
}

/// Settings that come to nothing here.
fn notes(settings: &Settings) -> Vec<String> {
    let idle = settings.pin_threads && !CAN_PIN;
    idle.then(|| "threads can't be pinned to cores on this system; they run anywhere".to_owned())
        .into_iter()
        .collect()
}

/// The disk comes behind the machine's memories.
fn spill_limit(settings: &Settings) -> Option<u64> {
    settings.spill_limit.map(|bytes| bytes.0)
}

/// The ledger counts elements; allocators round small buffers up to lines and words. Their hard limit leaves
/// room for that, so that what the ledger grants is there.
fn with_rounding(budget: Bytes) -> Bytes {
    const SMALL_BUFFERS: u64 = 1 << 20;
    Bytes(budget.0 + budget.0 / 64 + SMALL_BUFFERS)
}

/// A session whose annotations are overridden; made by [`Session::overriding`].
pub struct Overriding<'a> {
    session: &'a Session,
    overrides: Overrides,
}

impl Overriding<'_> {
    /// As [`Session::compute`].
    ///
    /// # Errors
    /// As [`Session::compute`]; a pattern that matches no layer.
    pub fn compute<C: Collections>(&self, collections: &C) -> Result<C::Values, Error> {
        nested::compute(collections, self)
    }

    /// As [`Session::persist`].
    ///
    /// # Errors
    /// As [`Overriding::compute`].
    pub fn persist<C: Collections>(&self, collections: &C) -> Result<C, Error> {
        nested::persist(collections, self)
    }
}

impl Runner for Session {
    type Error = Error;

    fn run_graph(&self, graph: &LayerGraph) -> Result<Computed, Error> {
        self.overriding(Overrides::new()).run_graph(graph)
    }
}

impl Runner for Overriding<'_> {
    type Error = Error;

    fn run_graph(&self, graph: &LayerGraph) -> Result<Computed, Error> {
        let prepared = self.session.prepare_graph(graph, &self.overrides)?;
        Ok(computed(graph, self.session.run(&prepared, &Control::new())?))
    }
}

/// The results of a graph's run, by layer.
fn computed(graph: &LayerGraph, completed: Completed) -> Computed {
    let mut computed = Computed::default();
    let is_kept = |layer: &&Arc<Layer>| !matches!(layer.op(), Op::Store(_));
    for (layer, result) in graph.output_layers().iter().filter(is_kept).zip(completed.results) {
        match result {
            ResultValue::Array(array) => computed.add_array(layer, array),
            ResultValue::Values(values) => computed.add_values(layer, graph.asked_of(layer), values),
        }
    }
    computed
}

/// An output that is a source is copied: its blocks are the source's own memory, or a file's.
fn owned(layer: &Arc<Layer>) -> Result<Arc<Layer>, GraphError> {
    let Op::Load(_) = layer.op() else { return Ok(layer.clone()) };
    let source = std::slice::from_ref(layer);
    let body = LayerBody { op: Op::Copy(CopyRule::Rechunk), spec: layer.spec().clone() };
    Layer::from_layers(source, body, source.to_vec(), Vec::new(), Naming::Content)
}
