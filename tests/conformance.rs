//! Every device against the host: `outcrop::device::conformance`. How many cases ran on each is printed, and held to a
//! table: a device that comes to run fewer fails.

use outcrop::device::conformance::{Family, Subject, Tally, check};
use outcrop::device::contract::Device;
use outcrop::device::host::Host;
use outcrop::device::host::isa::Isa;
use outcrop::device::sim::{FaultPlan, SimDevice};
use outcrop::machine::{Machine, MemoryId};

/// Cases that run at least, by family.
type Least = [(Family, usize); 9];

const HOST: Least = [
    (Family::Unary, 1015),
    (Family::Binary, 1043),
    (Family::Cast, 567),
    (Family::Fused, 27),
    (Family::Made, 66),
    (Family::Stencil, 48),
    (Family::Reduction, 751),
    (Family::MatMul, 80),
    (Family::Copy, 90),
];

fn held_to(least: &Least, name: &str, subject: &Subject<'_>) -> Tally {
    let tally = check(subject).unwrap_or_else(|mismatch| panic!("{name}: {mismatch}"));
    println!("{name}:\n{tally}");
    for &(family, least) in least {
        assert!(
            tally.of(family) >= least,
            "{name} ran {} cases of {family:?}, not {least}",
            tally.of(family)
        );
    }
    tally
}

#[test]
fn the_host_with_every_instruction_set() {
    for isa in Isa::available() {
        let device = Host::with_isa(None, isa);
        let tally = held_to(&HOST, &format!("host, {isa:?}"), &Subject::of_host_class(&device));
        assert_eq!(tally.lacking, 0);
        assert_eq!(device.memory().used(), 0);
    }
}

#[test]
fn a_simulated_device() {
    let machine: Machine = toml::from_str(include_str!("../examples/machines/gpu-server.toml")).unwrap();
    let (_, info) = machine.devices().nth(1).unwrap();
    let link = machine.link(MemoryId::HOST, MemoryId(1));
    let device = SimDevice::new(info, Some(64 << 20), link, FaultPlan::default());
    let tally = held_to(&HOST, "sim", &Subject::of_host_class(&device));
    assert_eq!((tally.lacking, device.memory().used()), (0, 0));
}

#[cfg(all(feature = "cuda", unix))]
mod emulated;

/// The emulated driver, or the real one where `OUTCROP_REQUIRE` has `cuda`.
#[cfg(all(feature = "cuda", unix))]
#[test]
fn cuda() {
    use outcrop::device::cuda::{CudaDevice, Selector};
    use outcrop::device::kernel_cache::KernelCache;

    let required = std::env::var("OUTCROP_REQUIRE").unwrap_or_default();
    let is_real = required.split(',').any(|name| name == "cuda");
    if !is_real && !emulated::load() {
        return;
    }
    let cache = KernelCache::at(std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels"));
    let device = CudaDevice::open("gpu0", &Selector::Ordinal(0), 64 << 20, cache).expect("a card");
    let name = if is_real { "cuda" } else { "cuda, emulated" };
    let tally = held_to(&HOST, name, &Subject::of_cuda(&device));
    assert_eq!((tally.lacking, device.memory().used()), (0, 0));
}

#[cfg(feature = "wgpu")]
mod wgpu {
    use super::*;
    use outcrop::device::conformance::check_some;
    use outcrop::device::wgpu::{Selector, open_adapter};
    use outcrop::dtype::DType;
    use outcrop::kernel::capability::WGPU_DTYPES;

    const WGPU: Least = [
        (Family::Unary, 749),
        (Family::Binary, 805),
        (Family::Cast, 343),
        (Family::Fused, 21),
        (Family::Made, 6),
        (Family::Stencil, 24),
        (Family::Reduction, 301),
        (Family::MatMul, 48),
        (Family::Copy, 90),
    ];

    #[test]
    fn the_software_adapter() {
        let mut device = match open_adapter("gpu0", &Selector::Software, 64 << 20) {
            Ok(device) => device,
            Err(error) => {
                let required = std::env::var("OUTCROP_REQUIRE").is_ok_and(|names| names.contains("wgpu"));
                assert!(!required, "OUTCROP_REQUIRE names wgpu: {error}");
                return println!("SKIPPED wgpu: no adapter ({error})");
            }
        };
        let name = format!("wgpu, {}", device.adapter_name());
        let is_long = device.dtypes().contains(&DType::I64) && device.dtypes().contains(&DType::F64);
        let least = if is_long { &HOST } else { &WGPU };
        let all = held_to(least, &name, &Subject::of_wgpu(&device, device.dtypes()));
        assert!(!is_long || all.lacking == 0);
        held_to(&WGPU, &format!("{name}, 32 bits"), &Subject::of_wgpu(&device, &WGPU_DTYPES));
        device.treat_as_hardware();
        let subject = Subject::of_wgpu(&device, device.dtypes());
        let shared =
            check_some(&subject, &[Family::MatMul]).unwrap_or_else(|mismatch| panic!("{name}: {mismatch}"));
        println!("{name}, kernels with workgroup memory: {} cases", shared.total());
        assert_eq!(shared.total(), if is_long { 80 } else { 48 });
        assert_eq!(device.memory().used(), 0);
    }
}
