//! The CUDA backend by itself, on two emulated cards: copies between them, the order of work, memory given back.

#![cfg(all(feature = "cuda", unix))]

mod emulated;

use std::ffi::CStr;
use std::path::Path;
use std::sync::OnceLock;

use libloading::os::unix::Library;
use outcrop::block::Block;
use outcrop::device::contract::{Device, DeviceError, Memory};
use outcrop::device::cuda::{CudaDevice, OpenError, Selector};
use outcrop::device::host::Host;
use outcrop::device::kernel_cache::KernelCache;
use outcrop::dtype::DType;
use outcrop::shape::Region;

const BYTES: usize = 64 << 20;

/// Loads driver and compiler, once, with two cards whose work waits until somebody waits for it.
fn load() -> bool {
    static LOADED: OnceLock<bool> = OnceLock::new();
    *LOADED.get_or_init(|| {
        let is_there = emulated::load();
        if is_there {
            configure(c"OUTCROP_CUDA_DEVICES", c"2");
            configure(c"OUTCROP_CUDA_SCHEDULE", c"lazy:11");
        }
        is_there
    })
}

fn configure(name: &CStr, value: &CStr) {
    type Configure = unsafe extern "C" fn(*const std::ffi::c_char, *const std::ffi::c_char) -> u32;
    // SAFETY: the loaded driver has a function of this name and type.
    let answer = unsafe {
        let configure =
            Library::this().get::<Configure>(b"outcrop_cuda_configure\0").expect("the emulated driver");
        configure(name.as_ptr(), value.as_ptr())
    };
    assert_eq!(answer, 0, "{name:?}");
}

/// Bytes that the driver has given out and not taken back, on all cards and on the host.
fn live_bytes() -> [u64; 2] {
    ["outcrop_cuda_live_bytes\0", "outcrop_cuda_live_host_bytes\0"].map(|name| {
        // SAFETY: as above.
        unsafe {
            let function = Library::this().get::<unsafe extern "C" fn() -> u64>(name.as_bytes());
            function.expect("the emulated driver")()
        }
    })
}

fn open(ordinal: usize) -> CudaDevice {
    let cache = KernelCache::at(Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels"));
    CudaDevice::open(&format!("gpu{ordinal}"), &Selector::Ordinal(ordinal), BYTES, cache).unwrap()
}

fn room(memory: &dyn Memory, like: &Block) -> Block {
    let buffer = memory.allocate(like.layout.bytes()).unwrap();
    Block::contiguous(buffer, like.dtype(), like.shape().clone())
}

/// One test, since what the driver has given out is counted for the process.
#[test]
fn two_cards_copy_to_each_other_and_give_everything_back() {
    if !load() {
        return;
    }
    let host = Host::new(None);
    {
        let (first, second) = (open(0), open(1));
        // More than one part of the staging memory, and not a whole number of them.
        let values: Vec<f32> = (0..5_000_011).map(|i| i as f32).collect();
        let from = Block::from_slice([values.len()], &values).unwrap();
        let (here, there) = (room(first.memory(), &from), room(second.memory(), &from));
        first.uploads().upload(&from, &here).unwrap();
        first.uploads().synchronize().unwrap();
        second.uploads().upload(&here, &there).unwrap();
        second.uploads().synchronize().unwrap();
        let back = room(host.memory(), &from);
        second.downloads().download(&there, &back).unwrap();
        second.downloads().synchronize().unwrap();
        assert!(back == from);

        // Strided blocks of the host, both ways.
        let whole = Block::from_slice([40, 50], &(0..2000i16).collect::<Vec<i16>>()).unwrap();
        let part = whole.part(&Region { origin: [3, 7].into(), shape: [30, 20].into() });
        let on_card = room(first.memory(), &part);
        first.queue().upload(&part, &on_card).unwrap();
        let target = Block::from_slice([40, 50], &[0i16; 2000]).unwrap();
        let hole = target.part(&Region { origin: [3, 7].into(), shape: [30, 20].into() });
        first.queue().download(&on_card, &hole).unwrap();
        first.queue().synchronize().unwrap();
        assert_eq!(hole.to_vec::<i16>(), part.to_vec::<i16>());

        // A block that a card can't have, and one of the other card.
        let refused = first.memory().allocate(BYTES + 1);
        assert!(matches!(refused, Err(DeviceError::OutOfMemory { requested, .. }) if requested > BYTES));
        assert!(first.queue().download(&there, &back).is_err());
        assert!(first.memory().allocate(1000).is_ok(), "the next small one works");
        let other = Block::contiguous(first.memory().allocate(8).unwrap(), DType::F64, [1].into());
        assert!(matches!(first.queue().upload(&from, &other), Err(DeviceError::Failed { .. })));
        drop((here, there, on_card, other));
        assert_eq!((first.memory().used(), second.memory().used()), (0, 0));
    }
    assert_eq!(live_bytes(), [0, 0]);
    let cache = KernelCache::at(env!("CARGO_TARGET_TMPDIR"));
    let missing = CudaDevice::open("gpu9", &Selector::Ordinal(9), BYTES, cache).map(|_| ());
    let error = missing.unwrap_err();
    assert!(
        matches!(error, OpenError::NoCard { found: 2, .. }) && error.to_string().contains("number 9"),
        "{error}"
    );
}
