//! Kernels that a third party wrote, in WGSL and CUDA C++, on lavapipe and on the emulated CUDA driver: right values,
//! compilers' messages before anything runs, and what a kernel that leaves its block comes to.

#![cfg(all(feature = "cuda", feature = "wgpu", unix))]

mod emulated;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use outcrop::annotate::{Annotations, annotate};
use outcrop::collections::Array;
use outcrop::dtype::DType;
use outcrop::graph::{Call, CustomOp, DeviceSource, Layer, Made, Read, TaskError, ValueSpec};
use outcrop::machine::{Backend, Machine};
use outcrop::session::Session;
use outcrop::settings::Config;
use outcrop::token::{Token, Tokenizer};

const WGSL: &str = "
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<storage, read> params: array<u32>;
@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let at = id.x + id.y * groups.x * 256u;
    if (at < params[1]) {
        y[at] = x[at] * 3.0 + f32(params[3]);
    }
}
";

const CUDA: &str = "
extern \"C\" __global__ void outcrop_kernel(const float *x, float *y, unsigned long long elements) {
    const unsigned long long at = blockIdx.x * 256ull + threadIdx.x;
    if (at < elements) {
        y[at] = x[at] * 3.0f + (float)elements;
    }
}
";

/// `3 x + n`, where n is the length of the block.
#[derive(Debug)]
struct Tripled {
    source: DeviceSource,
    host: bool,
    calls: AtomicUsize,
}

impl Tripled {
    fn new(wgsl: Option<&str>, cuda: Option<&str>, host: bool) -> Arc<Self> {
        let [wgsl, cuda] = [wgsl, cuda].map(|text| text.map(str::to_owned));
        let source = DeviceSource { name: "tripled".to_owned(), operands: 1, wgsl, cuda };
        Arc::new(Tripled { source, host, calls: AtomicUsize::new(0) })
    }
}

impl CustomOp for Tripled {
    fn name(&self) -> &str {
        "tripled"
    }
    fn token(&self) -> Token {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        Tokenizer::new("tripled").text(&text(&self.source.wgsl)).text(&text(&self.source.cuda)).finish()
    }
    fn output(&self, inputs: &[&ValueSpec]) -> Result<ValueSpec, String> {
        match inputs {
            [x] if x.dtype == DType::F32 => Ok(ValueSpec::clone(x)),
            _ => Err("one array of f32 is tripled".to_owned()),
        }
    }
    fn reads(&self, block: usize, _: &ValueSpec, _: &[&ValueSpec]) -> Vec<Read> {
        vec![Read { input: 0, block }]
    }
    fn device_source(&self) -> Option<Arc<DeviceSource>> {
        Some(Arc::new(self.source.clone()))
    }
    fn runs_on_host(&self) -> bool {
        self.host
    }
    fn compute(&self, call: &mut Call<'_>) -> Result<Made, TaskError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let values = call.block_operand(0)?.to_vec::<f32>().ok_or("no f32 block")?;
        let length = values.len() as f32;
        call.write(&values.iter().map(|x| x * 3.0 + length).collect::<Vec<f32>>())
    }
}

/// The machine with nothing but the host and the devices of a backend, or `None` where there is none.
fn machine(backend: Backend) -> Option<Machine> {
    let required = std::env::var("OUTCROP_REQUIRE").unwrap_or_default();
    if backend == Backend::Cuda && !emulated::load() {
        return None;
    }
    let mut machine = outcrop::device::probe::inventory().machine;
    machine.devices.retain(|device| matches!(device.backend, Backend::Host) || device.backend == backend);
    if machine.devices.len() == 1 {
        assert!(backend != Backend::Wgpu || !required.contains("wgpu"), "OUTCROP_REQUIRE names wgpu");
        println!("SKIPPED {backend}: no device");
        return None;
    }
    Some(machine)
}

fn session(machine: Machine) -> Session {
    let config = Config { threads: Some(2), allow_software_gpu: Some(true), ..Config::default() };
    Session::on(machine, config)
}

fn tripled(op: &Arc<Tripled>, device: &str) -> Array {
    let x = Array::from_slice([10], &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]).rechunk(&[5]);
    let wish = Annotations::new().set("device", device).unwrap();
    let made = annotate(wish, || Layer::custom(op.clone(), vec![x.layer().unwrap().clone()]));
    Array::from_layer(made.unwrap())
}

/// `(computed, error)`.
fn computed(session: &Session, array: &Array) -> Result<Vec<f32>, String> {
    let values = session.compute(array).map_err(|error| {
        let mut text = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(inner) = cause {
            text += &format!(": {inner}");
            cause = inner.source();
        }
        text
    });
    values.map(|values| values.to_vec::<f32>().unwrap())
}

const BACKENDS: [Backend; 2] = [Backend::Wgpu, Backend::Cuda];

#[test]
fn a_kernel_runs_where_its_language_is_spoken() {
    for backend in BACKENDS {
        let Some(machine) = machine(backend) else { continue };
        let op = Tripled::new(Some(WGSL), Some(CUDA), true);
        let values = computed(&session(machine), &tripled(&op, "gpu")).unwrap();
        assert_eq!(values, (1..=10).map(|x| x as f32 * 3.0 + 5.0).collect::<Vec<f32>>(), "{backend}");
        assert_eq!(op.calls.load(Ordering::Relaxed), 0, "{backend}: nothing ran on the host");
    }
    let op = Tripled::new(None, None, true);
    let host = session(Machine::host_only(2, outcrop::units::Bytes(1 << 30)));
    assert_eq!(computed(&host, &tripled(&op, "cpu")).unwrap()[0], 8.0);
    assert_eq!(op.calls.load(Ordering::Relaxed), 2);
}

#[test]
fn a_kernel_that_does_not_compile_is_the_compilers_message_before_anything_runs() {
    let wgsl = WGSL.replace("f32(params[3])", "params[3]");
    let cuda = CUDA.replace("(float)elements", "elephants");
    for backend in BACKENDS {
        let Some(machine) = machine(backend) else { continue };
        let op = Tripled::new(Some(&wgsl), Some(&cuda), true);
        let error = computed(&session(machine), &tripled(&op, "gpu").named("mine")).unwrap_err();
        // WGSL's faulty line is the ninth, CUDA's the fifth.
        let (line, word) =
            if backend == Backend::Wgpu { ("9:17", "params[3]") } else { ("(5)", "elephants") };
        for part in ["mine", line, word] {
            assert!(error.contains(part), "{backend}: '{part}' isn't in: {error}");
        }
        assert_eq!(op.calls.load(Ordering::Relaxed), 0, "{backend}");
    }
}

#[test]
fn a_language_that_is_lacking_is_said_before_anything_runs() {
    for (backend, language) in [(Backend::Wgpu, "WGSL"), (Backend::Cuda, "CUDA C++")] {
        let Some(machine) = machine(backend) else { continue };
        let op = Tripled::new(None, None, true);
        let session = session(machine);
        let error = computed(&session, &tripled(&op, "gpu")).unwrap_err();
        assert!(error.contains(language) && error.contains("tripled"), "{backend}: {error}");
        assert_eq!(
            computed(&session, &tripled(&op, "prefer-gpu")).unwrap()[9],
            35.0,
            "it falls back, and says so"
        );
    }
    let nowhere = Tripled::new(Some(WGSL), Some(CUDA), false);
    let host = session(Machine::host_only(2, outcrop::units::Bytes(1 << 30)));
    let error = computed(&host, &tripled(&nowhere, "any")).unwrap_err();
    assert!(error.contains("a function of 'tripled' for the host"), "{error}");
}

/// Far beyond its block: on CUDA the card is lost and the run says at which layer; through wgpu only its own buffers are in
/// reach.
#[test]
fn a_kernel_that_leaves_its_block_is_found_out_or_kept_in() {
    let wgsl = WGSL.replace("y[at] =", "y[at + 1000000u] =");
    let cuda = CUDA.replace("y[at] =", "y[at + 100000000] =");
    for backend in BACKENDS {
        let Some(machine) = machine(backend) else { continue };
        let op = Tripled::new(Some(&wgsl), Some(&cuda), true);
        let session = session(machine);
        let ran = computed(&session, &tripled(&op, "gpu").named("mine"));
        match backend {
            Backend::Cuda => {
                let error = ran.unwrap_err();
                assert!(error.contains("mine") && error.contains("lost"), "{error}");
            }
            _ => assert_eq!(ran.map(|values| values.len()), Ok(10)),
        }
    }
}
