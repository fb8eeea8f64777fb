//! Read this first: the smallest whole runs, from arrays to values, on the host and on a simulated GPU.

use std::sync::Arc;

use outcrop::annotate::{Annotations, annotate};
use outcrop::block::Block;
use outcrop::collections::Array;
use outcrop::collections::array::{Index, Over};
use outcrop::device::contract::{Compiler, Device, DeviceError, Memory, Program, Queue};
use outcrop::device::sim::{FaultPlan, SimDevice};
use outcrop::dtype::DType;
use outcrop::exec::Control;
use outcrop::kernel::Arguments;
use outcrop::machine::{DeviceId, Machine, MemoryId};
use outcrop::session::Session;
use outcrop::settings::Config;

fn config() -> Config {
    Config { threads: Some(2), ..Config::default() }
}

/// A described machine with one GPU, which is simulated.
fn simulated(faults: FaultPlan) -> Session {
    simulated_as(faults, |gpu| Arc::new(gpu))
}

fn simulated_as(faults: FaultPlan, wrap: impl FnOnce(SimDevice) -> Arc<dyn Device>) -> Session {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/machines/one-gpu.toml");
    let mut machine = Machine::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap();
    machine.devices[1].backend = outcrop::machine::Backend::Sim;
    let link = machine.link(MemoryId::HOST, machine.memory_of(DeviceId(1)));
    let gpu = SimDevice::new(machine.device(DeviceId(1)), Some(1 << 30), link, faults);
    Session::on(machine, config()).with_device(wrap(gpu))
}

fn on(device: &str) -> Annotations {
    Annotations::new().set("device", device).unwrap()
}

#[test]
fn arithmetic_over_chunks() {
    let x = Array::arange(0.0, 1.0, 10).rechunk(&[3]);
    let y = (&x * 2.0 + 1.0).sqrt();
    let session = Session::new(config());
    let values: Vec<f64> = session.compute(&y).unwrap().to_vec().unwrap();
    let want: Vec<f64> = (0..10).map(|i| (f64::from(i) * 2.0 + 1.0).sqrt()).collect();
    assert_eq!(values, want);
}

#[test]
fn reductions_slices_and_stencils() {
    let x = Array::indices([5, 7], DType::F32).rechunk(&[2, 3]);
    let session = Session::new(config());
    let outputs = vec![
        x.sum(&Over::all()),
        x.mean(&Over::axis(0)),
        x.max(&Over::axis(-1)),
        x.slice(&[Index::At(2), Index::Range { start: None, stop: None, step: Some(-2) }]),
        x.gradient(1.0, 0).sum(&Over::all()),
        x.std(0, &Over::all()),
    ];
    let values: Vec<Vec<f64>> =
        session.compute(&outputs).unwrap().iter().map(|block| block.to_f64_vec().unwrap()).collect();
    assert_eq!(values[0], [595.0]);
    assert_eq!(values[1], [14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0]);
    assert_eq!(values[2], [6.0, 13.0, 20.0, 27.0, 34.0]);
    assert_eq!(values[3], [20.0, 18.0, 16.0, 14.0]);
    assert_eq!(values[4], [35.0 * 7.0]);
    assert!((values[5][0] - 102.0f64.sqrt()).abs() < 1e-5, "{}", values[5][0]);
}

#[test]
fn a_gpu_stage_between_two_host_stages() {
    let x = Array::indices([64, 64], DType::F32).rechunk(&[16, 64]);
    let host = (&x + 1.0).named("before");
    let gpu = annotate(on("gpu"), || (host.gradient(0.5, 0) * 3.0).named("middle"));
    let after = (&gpu - 1.0).named("after");
    let session = simulated(FaultPlan::none());
    let prepared = session.prepare(&[after.layer().unwrap().clone()]).unwrap();
    let done = session.run(&prepared, &Control::new()).unwrap();
    assert_eq!(
        done.results[0].array().unwrap().to_vec::<f32>().unwrap(),
        vec![64.0 * 2.0 * 3.0 - 1.0; 64 * 64]
    );
    let edges: Vec<(&str, &str, u64)> = done
        .report
        .transfers
        .edges
        .iter()
        .map(|edge| (edge.from.as_str(), edge.to.as_str(), edge.count))
        .collect();
    assert_eq!(edges, [("host", "gpu0", 4), ("gpu0", "host", 4)]);
    assert_eq!(done.report.transfers.bytes, 2 * 64 * 64 * 4);
}

#[test]
fn a_failing_step_is_tried_again_as_often_as_allowed() {
    let build = |retries: u32| {
        let annotations = on("gpu").set("retries", retries).unwrap();
        let x = Array::ones([8], DType::F32);
        annotate(annotations, || (&x + 1.0).named("fragile"))
    };
    let faults = || FaultPlan::none().with(1, outcrop::device::sim::Fault::Fails);
    let y = build(1);
    assert_eq!(simulated(faults()).compute(&y).unwrap().to_vec::<f32>().unwrap(), [2.0; 8]);
    let error = simulated(faults()).compute(&build(0)).unwrap_err().to_string();
    assert_eq!(
        error,
        "layer 'fragile', block ('fragile', 0) at [0:8] on gpu0: gpu0: launch failed: simulated, at operation 1"
    );
}

/// A simulated device whose driver panics where it should wait.
struct Panics(SimDevice);

impl Device for Panics {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn memory(&self) -> &dyn Memory {
        self.0.memory()
    }
    fn compiler(&self) -> &dyn Compiler {
        self.0.compiler()
    }
    fn queue(&self) -> &dyn Queue {
        self
    }
}

impl Queue for Panics {
    fn launch(&self, program: &Program, arguments: &Arguments) -> Result<(), DeviceError> {
        self.0.queue().launch(program, arguments)
    }
    fn upload(&self, from: &Block, to: &Block) -> Result<(), DeviceError> {
        self.0.queue().upload(from, to)
    }
    fn download(&self, from: &Block, to: &Block) -> Result<(), DeviceError> {
        self.0.queue().download(from, to)
    }
    fn synchronize(&self) -> Result<(), DeviceError> {
        panic!("the driver is confused")
    }
}

#[test]
fn a_panic_while_waiting_for_a_device_ends_the_run() {
    let session = simulated_as(FaultPlan::none(), |gpu| Arc::new(Panics(gpu)));
    let x = Array::indices([8], DType::F32);
    let error = session.compute(&annotate(on("gpu"), || &x * 2.0)).unwrap_err().to_string();
    assert!(error.contains("panicked: the driver is confused"), "{error}");
}

#[test]
fn a_step_beyond_its_timeout_fails() {
    let x = Array::ones([1 << 16], DType::F64);
    let hurried = Annotations::new().set("timeout", "1 ns").unwrap();
    let y = annotate(hurried, || x.exp().named("slow"));
    let error = Session::new(config()).compute(&y).unwrap_err().to_string();
    assert!(error.contains("slow") && error.contains("its timeout is 0.0 µs"), "{error}");
    let patient = Annotations::new().set("timeout", "1 h").unwrap();
    assert!(Session::new(config()).compute(&annotate(patient, || x.exp())).is_ok());
}

#[test]
fn errors_name_the_line_of_the_call() {
    let x = Array::zeros([3], DType::F32);
    let line = line!() + 1;
    let wrong = &x + &Array::zeros([4], DType::F32);
    let error = Session::new(config()).compute(&(wrong * 2.0)).unwrap_err().to_string();
    assert_eq!(error, format!("{}:{line}: add: shapes (3,) and (4,) don't broadcast together", file!()));
}

#[test]
fn a_thousand_maps_are_one_kernel_and_six_thousand_are_two() {
    let session = Session::new(config());
    for (maps, kernels) in [(1000, 1), (6000, 2)] {
        let chain = (0..maps).fold(Array::zeros([8], DType::F64), |x, i| &x + f64::from(i % 300));
        let prepared = session.prepare(&[chain.layer().unwrap().clone()]).unwrap();
        assert_eq!(prepared.plan.kernels.len(), kernels, "{maps} maps");
        let want: f64 = (0..maps).map(|i| f64::from(i % 300)).sum();
        assert_eq!(session.compute(&chain).unwrap().to_vec::<f64>().unwrap(), [want; 8]);
    }
}

#[test]
fn kernels_with_zeros_of_both_signs_are_two() {
    let x = Array::ones([2], DType::F64);
    let session = Session::new(config());
    let outputs = [&x * 0.0, &x * -0.0].map(|zero| zero.layer().unwrap().clone());
    let prepared = session.prepare(&outputs).unwrap();
    let done = session.run(&prepared, &Control::new()).unwrap();
    let signs: Vec<bool> = done
        .results
        .iter()
        .map(|zero| zero.array().unwrap().to_vec::<f64>().unwrap()[0].is_sign_negative())
        .collect();
    assert_eq!(signs, [false, true]);
}

#[test]
fn a_call_that_fails_says_which_and_is_tried_as_often_as_allowed() {
    use outcrop::collections::Delayed;
    let tries = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = tries.clone();
    let wish = Annotations::new().set("retries", 2).unwrap();
    let fragile = annotate(wish, || {
        Delayed::<i64>::try_call("fragile", (), move || {
            match count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
                0 => Err("not yet".to_owned()),
                1 => panic!("confused"),
                n => Ok(n as i64),
            }
        })
    });
    assert_eq!(*Session::new(config()).compute(&fragile).unwrap(), 2);
    let broken = Delayed::<i64>::try_call("broken", (), || Err("no such station")).named("station-7");
    let error = Session::new(config()).compute(&broken).unwrap_err().to_string();
    assert_eq!(error, "layer 'station-7' on host: no such station");
}

#[test]
fn calls_arrays_and_objects_stand_in_one_report() {
    use outcrop::collections::Delayed;
    use outcrop::collections::manipulate::{SplitEvery, checkpoint};
    let x = Array::arange(0.0, 1.0, 30).rechunk(&[10]);
    let call = Delayed::call("longest", (&x,), |x: &Block| x.shape().elements()).named("length");
    let done = checkpoint(&(x, call), SplitEvery::Values(2)).unwrap();
    let session = Session::new(config());
    let prepared = session.prepare(&[done.layer().unwrap().clone()]).unwrap();
    let report = session.run(&prepared, &Control::new()).unwrap().report;
    let text = report.to_string();
    for row in [
        "length  longest  host    host   1      object one",
        "object 2 of them",
        "waits, and needs no device",
    ] {
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(squeezed(&text).contains(&squeezed(row)), "{row}:\n{text}");
    }
}
