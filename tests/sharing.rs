//! What runs share: workers by priority, cores, the process's memory, a folder on disk.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::{Context, Waker};

use outcrop::annotate::{Annotations, annotate};
use outcrop::block::Buffer;
use outcrop::collections::{Array, Delayed, array::Over};
use outcrop::device::contract::{Compiler, Device, DeviceError, Memory, Queue};
use outcrop::device::sim::{FaultPlan, SimDevice};
use outcrop::dtype::DType;
use outcrop::exec::Control;
use outcrop::graph::layer::Layer;
use outcrop::machine::{Backend, DeviceId, Machine, MemoryId};
use outcrop::session::{Prepared, Session};
use outcrop::settings::Config;
use outcrop::steps::StepKind;
use outcrop::units::Bytes;

fn prepared(session: &Session, calls: &[Delayed<u64>]) -> Prepared {
    let layers: Vec<Arc<Layer>> = calls.iter().map(|call| call.layer().unwrap().clone()).collect();
    session.prepare(&layers).unwrap()
}

/// Two runs for one worker: the second is handed in while the first step of the first is under way. Who did what, in
/// order.
fn order(first: f64, second: f64) -> String {
    let session = Session::new(Config { threads: Some(1), ..Config::default() });
    let log: Arc<Mutex<String>> = Arc::default();
    let calls = |name: char| -> Vec<Delayed<u64>> {
        let call = |at| {
            let log = log.clone();
            Delayed::<u64>::call("step", (), move || {
                log.lock().unwrap().push(name);
                at
            })
        };
        (0..20).map(call).collect()
    };
    let (starts, has_started) = mpsc::channel();
    let (release, is_released) = mpsc::channel();
    let is_released = Mutex::new(is_released);
    let waits = Delayed::<u64>::call("waits", (), move || {
        starts.send(()).unwrap();
        is_released.lock().unwrap().recv().unwrap();
        0
    });
    let one = prepared(&session, &[vec![waits], calls('1')].concat());
    let two = prepared(&session, &calls('2'));
    let (one_control, two_control) =
        (Control::new().with_priority(first), Control::new().with_priority(second));
    let mut context = Context::from_waker(Waker::noop());
    let mut one = pin!(session.run_async(&one, &one_control));
    assert!(one.as_mut().poll(&mut context).is_pending());
    has_started.recv().unwrap();
    let mut two = pin!(session.run_async(&two, &two_control));
    assert!(two.as_mut().poll(&mut context).is_pending());
    release.send(()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (one, two) = runtime.block_on(async { tokio::join!(one, two) });
    assert!(one.is_ok() && two.is_ok());
    log.lock().unwrap().clone()
}

#[test]
fn the_run_of_higher_priority_goes_first() {
    let (ones, twos) = ("1".repeat(20), "2".repeat(20));
    assert_eq!(order(0.0, 1.0), format!("{twos}{ones}"));
    assert_eq!(order(1.0, 0.0), format!("{ones}{twos}"));
    assert_eq!(order(-1.0, f64::NAN), format!("{twos}{ones}"), "what isn't finite counts as 0");
}

#[cfg(target_os = "linux")]
fn cores_of_this_thread() -> Vec<usize> {
    // SAFETY: a set of cores is plain bits, and as long as it says.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        assert_eq!(libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set), 0);
        (0..libc::CPU_SETSIZE as usize).filter(|core| libc::CPU_ISSET(*core, &set)).collect()
    }
}

/// The cores that each of two workers of a session may run on.
#[cfg(target_os = "linux")]
fn cores_of_workers(pin_threads: bool) -> [Vec<usize>; 2] {
    let config = Config { threads: Some(2), pin_threads: Some(pin_threads), ..Config::default() };
    let session = Session::new(config);
    assert!(session.notes().iter().all(|note| !note.contains("pinned")));
    // Each waits for the other: they are two workers.
    let (meet, seen) = (Arc::new(Barrier::new(2)), Arc::new(Mutex::new(Vec::new())));
    let call = |_| {
        let (meet, seen) = (meet.clone(), seen.clone());
        Delayed::<u64>::call("cores", (), move || {
            meet.wait();
            seen.lock().unwrap().push(cores_of_this_thread());
            0
        })
    };
    session.compute(&(0..2).map(call).collect::<Vec<_>>()).unwrap();
    let mut seen = std::mem::take(&mut *seen.lock().unwrap());
    seen.sort();
    seen.try_into().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn pinned_threads_stay_on_one_core_each_of_those_of_the_process() {
    let all = cores_of_this_thread();
    assert_eq!(cores_of_workers(false), [all.clone(), all.clone()]);
    let [one, two] = cores_of_workers(true);
    assert_eq!((one.len(), two.len()), (1, 1));
    assert_eq!(one == two, all.len() == 1, "{one:?} {two:?} of {all:?}");
    let last = *all.last().unwrap();
    let restricted = move || {
        // SAFETY: as above; the set names a core that the process may use.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(last, &mut set);
            assert_eq!(libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set), 0);
        }
        cores_of_workers(true)
    };
    assert_eq!(std::thread::spawn(restricted).join().unwrap(), [vec![last], vec![last]]);
}

static HOARD: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());
const HOARDED: usize = 200 << 20;

#[cfg(target_os = "linux")]
#[test]
fn memory_that_a_function_holds_on_to_is_told() {
    let session = Session::new(Config { threads: Some(1), ..Config::default() });
    let hoards = || {
        Delayed::<u64>::call("hoards", (), || {
            HOARD.lock().unwrap().push(vec![1; HOARDED]);
            0
        })
    };
    let report =
        |call: Delayed<u64>| session.run(&prepared(&session, &[call]), &Control::new()).unwrap().report;
    let plain = report(Delayed::<u64>::call("plain", (), || 0));
    assert_eq!((plain.memory_use.len(), plain.memory_use[0].excess_bytes), (1, None), "{plain}");
    let told = report(hoards());
    let excess = told.memory_use[0].excess_bytes.unwrap_or(0);
    assert!(excess > HOARDED as u64 * 9 / 10, "{told}");
    let line = format!("some function holds {} that its memory annotation doesn't say", Bytes(excess));
    assert!(told.to_string().contains(&line), "{told}");
    let said = annotate(Annotations::new().set("memory", "200 MiB").unwrap(), hoards);
    let said = report(said);
    assert_eq!(said.memory_use[0].excess_bytes, None, "{said}");
    assert!(said.memory_use[0].used_bytes > HOARDED as u64 * 9 / 10, "{said}");
    HOARD.lock().unwrap().clear();
}

/// A simulated GPU whose driver keeps 8 MiB of its own for every buffer.
struct Greedy(SimDevice, Mutex<Vec<Buffer>>);

impl Device for Greedy {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn memory(&self) -> &dyn Memory {
        self
    }

    fn compiler(&self) -> &dyn Compiler {
        self.0.compiler()
    }

    fn queue(&self) -> &dyn Queue {
        self.0.queue()
    }
}

impl Memory for Greedy {
    fn allocate(&self, bytes: usize) -> Result<Buffer, DeviceError> {
        self.1.lock().unwrap().push(self.0.memory().allocate(8 << 20)?);
        self.0.memory().allocate(bytes)
    }

    fn used(&self) -> usize {
        self.0.memory().used()
    }
}

#[test]
fn memory_of_a_device_that_nobody_was_granted_is_told() {
    let of = |wrap: fn(SimDevice) -> Arc<dyn Device>| {
        let text = include_str!("../examples/machines/one-gpu.toml");
        let mut machine = Machine::from_toml(text).unwrap();
        machine.devices[1].backend = Backend::Sim;
        let link = machine.link(MemoryId::HOST, machine.memory_of(DeviceId(1)));
        let gpu = SimDevice::new(machine.device(DeviceId(1)), Some(1 << 30), link, FaultPlan::none());
        let session = Session::on(machine, Config { threads: Some(1), ..Config::default() });
        let session = session.with_device(wrap(gpu));
        let wish = Annotations::new().set("device", "gpu").unwrap();
        let x = annotate(wish, || Array::ones([1000], DType::F32) + 1.0);
        let prepared = session.prepare(&[x.layer().unwrap().clone()]).unwrap();
        session.run(&prepared, &Control::new()).unwrap().report
    };
    let plain = of(|gpu| Arc::new(gpu));
    let of_gpu = plain.memory_use.iter().find(|one| one.memory == "gpu0").unwrap();
    assert!(of_gpu.excess_bytes.is_none(), "{plain}");
    let greedy = of(|gpu| Arc::new(Greedy(gpu, Mutex::default())));
    assert!(greedy.to_string().contains("gpu0: 8.0 MiB in use, "), "{greedy}");
    assert!(greedy.to_string().contains(" more than the plan knows of"), "{greedy}");
}

#[test]
fn a_spill_folder_that_vanishes_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("spilled");
    std::fs::create_dir(&place).unwrap();
    let x = (&Array::arange(0.0, 1.0, 160_000).rechunk(&[10_000]) + 1.0).sqrt();
    let total = (&x - x.mean(&Over::all())).abs().sum(&Over::all());
    let of = |config: Config, control: &Control| {
        let session = Session::new(Config { threads: Some(1), ..config });
        let prepared = session.prepare(&[total.layer().unwrap().clone()]).unwrap();
        let completed = session.run(&prepared, control).unwrap();
        completed.results[0].array().unwrap().to_vec::<f64>().unwrap()
    };
    let expected = of(Config::default(), &Control::new());
    let gone = place.clone();
    let control = Control::new().observed(move |event| {
        if event.kind == StepKind::Spill && gone.exists() {
            std::fs::remove_dir(&gone).unwrap();
        }
    });
    let tight =
        Config { memory: Some(Bytes(400 << 10)), spill_dir: Some(place.clone()), ..Config::default() };
    assert_eq!(of(tight, &control), expected);
    assert!(!place.exists());
}
