//! An engine, and what must be true of it in the end.

use std::sync::Arc;

use shuttle::thread;

use crate::annotate::{Annotations, Value as Annotation};
use crate::collections::{Array, Delayed};
use crate::device::contract::Device;
use crate::device::host::Host;
use crate::device::sim::{FaultPlan, SimDevice};
use crate::dtype::DType;
use crate::exec::engine::{Devices, Engine, Limits, Outcome, RunOptions, Running};
use crate::exec::work::ResultValue;
use crate::exec::{Control, ExecError};
use crate::graph::layer::Layer;
use crate::graph::layer_graph::LayerGraph;
use crate::machine::{Backend, Machine, MemoryId};
use crate::plan::known::Known;
use crate::plan::plan;
use crate::settings::{Config, Settings};
use crate::steps::Plan;

/// A value that counts those like it.
#[derive(Clone)]
pub(super) struct Counted {
    pub(super) number: u64,
    _alive: Arc<()>,
}

impl Counted {
    /// One that says another number.
    pub(super) fn with(&self, number: u64) -> Counted {
        Counted { number, ..self.clone() }
    }
}

/// The engine of a scene.
#[derive(Clone)]
pub(super) struct Stage {
    pub(super) engine: Arc<Engine>,
    pub(super) set: Set,
}

/// What is there beside the engine.
#[derive(Clone)]
pub(super) struct Set {
    machine: Machine,
    settings: Settings,
    devices: Devices,
    memories: Vec<Arc<dyn Device>>,
    alive: Arc<()>,
}

impl Stage {
    /// Of so many threads on the host, with one licence.
    pub(super) fn new(threads: usize) -> Stage {
        Stage::on(machine("cpu-only"), threads, None, FaultPlan::none())
    }

    /// With so much memory on the host, and devices that fail when `faults` says.
    pub(super) fn on(machine: Machine, threads: usize, memory: Option<u64>, faults: FaultPlan) -> Stage {
        let config = Config {
            threads: Some(threads),
            memory: memory.map(crate::units::Bytes),
            resources: Some([("licence".to_owned(), 1.0)].into()),
            ..Config::default()
        };
        let host: Arc<dyn Device> = Arc::new(Host::new(None));
        let mut memories = vec![host];
        memories.extend(machine.devices().skip(1).map(|(id, info)| -> Arc<dyn Device> {
            let link = machine.link(MemoryId::HOST, machine.memory_of(id));
            Arc::new(SimDevice::new(info, Some(1 << 30), link, faults.clone()))
        }));
        let mut limits = vec![memory.or(Some(1 << 30))];
        limits.resize(machine.memories.len(), Some(1 << 30));
        let limits = Limits {
            threads,
            memories: limits,
            resources: vec![1.0],
            devices: machine.devices.len(),
            device_timeout: None,
            pin_threads: false,
        };
        let set = Set {
            settings: config.resolve(threads),
            devices: Devices::new(memories.iter().cloned().map(Some).collect()),
            machine,
            memories,
            alive: Arc::new(()),
        };
        Stage { engine: Arc::new(Engine::new(&limits)), set }
    }

    /// A value that has to be gone in the end.
    pub(super) fn counted(&self, number: u64) -> Counted {
        Counted { number, _alive: self.set.alive.clone() }
    }

    pub(super) fn plan(&self, outputs: &[Arc<Layer>]) -> Arc<Plan> {
        let graph = LayerGraph::from_outputs(outputs).unwrap();
        Arc::new(plan(&graph, &Known::none(), &self.set.machine, &self.set.settings).unwrap())
    }

    pub(super) fn submit(&self, plan: &Arc<Plan>, control: &Control) -> Running {
        let options = RunOptions { priority: control.priority(), ..RunOptions::default() };
        self.engine.submit(plan, &self.set.devices, options, control).unwrap()
    }

    pub(super) fn run(&self, plan: &Arc<Plan>, control: &Control) -> Result<Outcome, ExecError> {
        self.submit(plan, control).wait()
    }

    /// Runs what makes one [`Counted`], and gives its number.
    pub(super) fn number(&self, call: &Delayed<Counted>) -> Result<u64, ExecError> {
        Ok(number(&self.run(&self.plan(&[layer(call)]), &Control::new())?))
    }

    /// Other work is done, everything is given back, and everybody leaves.
    pub(super) fn end(self) {
        let after = self.counted(7);
        let after = Delayed::<Counted>::call("after", (), move || after.clone());
        assert_eq!(self.number(&after).unwrap(), 7);
        drop(after);
        {
            let core = self.engine.pool.lock();
            assert!(core.reactor.ledger().is_settled(), "{:?}", core.reactor);
            assert!(core.slots().next().is_none() && core.todo.is_empty());
        }
        self.leave();
    }

    /// Everybody leaves.
    pub(super) fn leave(self) {
        let Stage { engine, set } = self;
        let pool = Arc::downgrade(&engine.pool);
        drop(engine);
        assert_eq!(pool.strong_count(), 0, "somebody is still there");
        set.is_empty();
    }

    /// Waits until attempts that were given up have come back.
    pub(super) fn settle(&self) {
        while !self.engine.pool.lock().reactor.ledger().is_settled() {
            thread::yield_now();
        }
    }
}

impl Set {
    /// Nothing is left of runs.
    pub(super) fn is_empty(&self) {
        assert_eq!(Arc::strong_count(&self.alive), 1, "values are alive");
        assert!(self.memories.iter().all(|device| device.memory().used() == 0), "blocks are alive");
    }
}

/// The number of the only result.
pub(super) fn number(outcome: &Outcome) -> u64 {
    let ResultValue::Values(values) = &outcome.results[0] else { panic!("{outcome:?}") };
    values[0].object::<Counted>().unwrap().number
}

pub(super) fn layer(call: &Delayed<Counted>) -> Arc<Layer> {
    call.layer().unwrap().clone()
}

pub(super) fn array(array: &Array) -> Arc<Layer> {
    array.layer().unwrap().clone()
}

pub(super) fn asking(key: &str, value: impl Into<Annotation>) -> Annotations {
    Annotations::new().set(key, value).unwrap()
}

/// A machine of `examples/machines`, its devices simulated.
pub(super) fn machine(name: &str) -> Machine {
    let path = format!("{}/examples/machines/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let mut machine = Machine::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap();
    for device in &mut machine.devices[1..] {
        device.backend = Backend::Sim;
        device.dtypes = DType::ALL.to_vec();
    }
    machine
}
