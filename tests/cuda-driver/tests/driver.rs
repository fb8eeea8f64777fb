//! What the driver answers: devices, ranges, faults, leaks, and PTX that isn't known. Each test has its own device.

mod card;

use std::ffi::CStr;

use card::{Card, LAUNCH, LOST, OUT_OF_MEMORY, REFUSAL, args, call, start};
use cuda_driver::api::{answers, context, copies, device, launches, memory, streams, testing};
use cuda_driver::result;

const FAULTY: &str = include_str!("ptx/faulty.ptx");
const HALF: &str = include_str!("ptx/half.ptx");

fn open(ordinal: i32) -> Card {
    start(&[
        ("OUTCROP_CUDA_DEVICES", &["name=Small,memory=1MiB,capability=7.5"; 16].join(";")),
        ("OUTCROP_CUDA_FAULTS", "14:oom=2;14:refuse=1"),
    ]);
    Card::open(ordinal)
}

#[test]
fn devices_as_they_are_described() {
    let card = open(0);
    let (mut count, mut major, mut total, mut name) = (0, 0, 0, [0; 8]);
    assert_eq!(call!(device::cuDeviceGetCount, &mut count), 0);
    assert_eq!(call!(device::cuDeviceGetAttribute, &mut major, 75, 0), 0);
    assert_eq!(call!(device::cuDeviceTotalMem_v2, &mut total, 0), 0);
    assert_eq!(call!(device::cuDeviceGetName, name.as_mut_ptr(), 8, 0), 0);
    assert_eq!((count, major, total), (16, 7, 1 << 20));
    // SAFETY: the driver ended the name with a zero.
    assert_eq!(unsafe { CStr::from_ptr(name.as_ptr()) }, c"Small");
    let (mut bus, mut found) = ([0; 16], 0);
    assert_eq!(call!(device::cuDeviceGetPCIBusId, bus.as_mut_ptr(), 16, 11), 0);
    assert_eq!(call!(device::cuDeviceGetByPCIBusId, &mut found, bus.as_ptr()), 0);
    assert_eq!(found, 11);
    assert_eq!(call!(device::cuDeviceGet, &mut found, 16), result::INVALID_DEVICE);
    let mut text = std::ptr::null();
    assert_eq!(call!(answers::cuGetErrorName, result::ILLEGAL_ADDRESS, &mut text), 0);
    // SAFETY: the driver's texts live for ever and end with a zero.
    assert_eq!(unsafe { CStr::from_ptr(text) }, c"CUDA_ERROR_ILLEGAL_ADDRESS");
    assert_eq!(call!(answers::cuGetExportTable, &mut std::ptr::null(), text.cast()), result::NOT_FOUND);
    drop(card);
}

/// A kernel that touches what it mustn't breaks the context; its end mends the device.
#[test]
fn accesses_out_of_range_break_the_context() {
    let ordinal = 1;
    let cases = [
        ("past_the_end", 4, result::ILLEGAL_ADDRESS),
        ("past_the_end", -5, result::ILLEGAL_ADDRESS),
        ("misaligned", 0, result::MISALIGNED_ADDRESS),
        ("past_shared", 16, result::ILLEGAL_ADDRESS),
        ("lonely_barrier", 0, result::LAUNCH_FAILED),
        ("forever", 0, result::LAUNCH_TIMEOUT),
    ];
    for (name, at, want) in cases {
        let card = open(ordinal);
        let module = card.load(FAULTY).expect("a module");
        let x = card.upload(&[0f32; 4]);
        let kernel = card.kernel(module, name);
        let shared = if name == "past_shared" { 64 } else { 0 };
        let all = args![x, at];
        let arguments = if matches!(name, "past_the_end" | "past_shared") { &all[..] } else { &all[..1] };
        let threads = if name == "lonely_barrier" { 2 } else { 1 };
        assert_eq!(card.launch(kernel, [1, 1, 1], [threads, 1, 1], shared, arguments), 0);
        assert_eq!(card.synchronize(), want, "{name} {at}");
        assert_eq!(card.synchronize(), want, "the error stays");
        assert_eq!(card.take(4), Err(want));
        assert_eq!(call!(copies::cuMemsetD8_v2, x, 0, 4), want);
    }
    let card = open(ordinal);
    assert_eq!(card.synchronize(), 0, "a fresh context is sound");
    assert_eq!(card.live_bytes(), 0, "what a broken context took isn't a leak");
}

#[test]
fn freed_memory_and_another_devices_is_out_of_range() {
    let other = open(3);
    let foreign = other.upload(&[0f32; 64]);
    for peers in [false, true] {
        let card = open(2);
        let module = card.load(FAULTY).expect("a module");
        let kernel = card.kernel(module, "past_the_end");
        if peers {
            assert_eq!(call!(context::cuCtxEnablePeerAccess, other.context, 0), 0);
            let again = call!(context::cuCtxEnablePeerAccess, other.context, 0);
            assert_eq!(again, result::PEER_ACCESS_ALREADY_ENABLED);
        }
        assert_eq!(card.launch(kernel, [1, 1, 1], [8, 1, 1], 0, args![foreign, 0i32]), 0);
        assert_eq!(card.synchronize(), if peers { 0 } else { result::ILLEGAL_ADDRESS });
    }
    let card = open(2);
    let module = card.load(FAULTY).expect("a module");
    let kernel = card.kernel(module, "past_the_end");
    let gone = card.fresh::<f32>(8);
    card.free(gone);
    let fresh = card.fresh::<f32>(8);
    assert_ne!(gone, fresh, "addresses aren't used again");
    assert_eq!(card.launch(kernel, [1, 1, 1], [8, 1, 1], 0, args![gone, 0i32]), 0);
    assert_eq!(card.synchronize(), result::ILLEGAL_ADDRESS);
}

#[test]
fn copies_out_of_range_are_refused() {
    let card = open(4);
    let x = card.upload(&[1u8; 100]);
    let mut host = [0u8; 200];
    let to = host.as_mut_ptr() as usize;
    assert_eq!(call!(copies::cuMemcpyDtoH_v2, to, x, 101), result::INVALID_VALUE);
    assert_eq!(call!(copies::cuMemcpyHtoD_v2, x + 1, to, 100), result::INVALID_VALUE);
    assert_eq!(call!(copies::cuMemcpyDtoD_v2, x, x + 60, 41), result::INVALID_VALUE);
    assert_eq!(call!(copies::cuMemcpyDtoH_v2, to, x, 100), 0);
    assert_eq!((host[99], host[100]), (1, 0));
    assert_eq!(card.synchronize(), 0, "a refusal breaks nothing");
    card.free(x);
    assert_eq!(call!(memory::cuMemFree_v2, x), result::INVALID_VALUE);
    assert_eq!(card.live_bytes(), 0);
}

#[test]
fn memory_runs_out_and_leaks_are_counted() {
    let card = open(5);
    let (mut free, mut total) = (0, 0);
    let first = card.take(700 << 10).expect("room");
    assert_eq!(card.take(400 << 10), Err(result::OUT_OF_MEMORY));
    assert_eq!(call!(memory::cuMemGetInfo_v2, &mut free, &mut total), 0);
    assert_eq!((free, total), (324 << 10, 1 << 20));
    // A stream's free makes room for what comes after it.
    assert_eq!(call!(memory::cuMemFreeAsync, first, card.stream), 0);
    let mut second = 0;
    assert_eq!(call!(memory::cuMemAllocAsync, &mut second, 900 << 10, card.stream), 0);
    assert_eq!(card.live_bytes(), 900 << 10);
    let ordinal = card.ordinal;
    drop(card);
    assert_eq!(testing::outcrop_cuda_live_bytes_of(ordinal), 900 << 10, "the program forgot it");
    assert!(testing::outcrop_cuda_live_bytes() >= 900 << 10);
}

#[test]
fn pools_say_what_they_hold() {
    let card = open(6);
    let (mut pool, mut address, mut value) = (0, 0, 77u64);
    assert_eq!(call!(device::cuDeviceGetAttribute, &mut 0, 115, 6), 0);
    assert_eq!(call!(memory::cuDeviceGetDefaultMemPool, &mut pool, 6), 0);
    assert_eq!(call!(memory::cuMemPoolSetAttribute, pool, 4, (&raw mut value).cast()), 0);
    assert_eq!(call!(memory::cuMemAllocFromPoolAsync, &mut address, 1000, pool, card.stream), 0);
    let mut read = |attribute| {
        assert_eq!(call!(memory::cuMemPoolGetAttribute, pool, attribute, (&raw mut value).cast()), 0);
        value
    };
    assert_eq!((read(4), read(7), read(8)), (77, 1000, 1000));
    assert_eq!(call!(memory::cuMemFreeAsync, address, card.stream), 0);
    assert_eq!(card.synchronize(), 0);
    assert_eq!(card.live_bytes(), 0);
}

#[test]
fn the_third_allocation_fails_once() {
    let card = open(7);
    card.fault(OUT_OF_MEMORY, 3);
    let answers: Vec<bool> = (0..5).map(|_| card.take(16).is_ok()).collect();
    assert_eq!(answers, [true, true, false, true, true]);
    assert_eq!(testing::outcrop_cuda_count(7, OUT_OF_MEMORY), 5);
    assert_eq!(card.live_bytes(), 64);
}

#[test]
fn launches_fail_and_are_refused() {
    let card = open(8);
    let module = card.load(HALF).expect("a module");
    let kernel = card.kernel(module, "half_scale");
    let x = card.upload(&[0u16; 4]);
    let launch = || card.launch(kernel, [1, 1, 1], [4, 1, 1], 0, args![x, x, 4u32]);
    card.fault(REFUSAL, 2);
    assert_eq!([launch(), launch(), launch()], [0, result::LAUNCH_OUT_OF_RESOURCES, 0]);
    assert_eq!(card.synchronize(), 0, "a refusal breaks nothing");
    card.fault(LAUNCH, 1);
    assert_eq!(launch(), 0, "the failure comes when the stream does");
    assert_eq!(card.synchronize(), result::LAUNCH_FAILED);
    assert_eq!(launch(), result::LAUNCH_FAILED);
    assert_eq!(call!(memory::cuMemFree_v2, x), result::LAUNCH_FAILED);
    assert_eq!(card.live_bytes(), 0, "freed all the same");
}

#[test]
fn a_device_is_lost() {
    let card = open(9);
    let x = card.upload(&[1u32; 4]);
    card.fault(LOST, 3);
    let mut event = 0;
    assert_eq!(call!(streams::cuEventCreate, &mut event, 0), 0);
    assert_eq!(card.synchronize(), 0);
    assert_eq!(call!(streams::cuEventRecord, event, card.stream), result::UNKNOWN);
    assert_eq!(call!(streams::cuEventQuery, event), result::UNKNOWN);
    assert_eq!(call!(copies::cuMemcpyDtoH_v2, [0u32; 4].as_mut_ptr() as usize, x, 16), result::UNKNOWN);
}

#[test]
fn launches_of_impossible_forms_are_refused() {
    let card = open(10);
    let module = card.load(FAULTY).expect("a module");
    let kernel = card.kernel(module, "past_shared");
    let x = card.upload(&[0i32; 4]);
    let table = [
        ([1, 1, 1], [1025, 1, 1], 0, result::INVALID_VALUE),
        ([1, 1, 1], [1, 1, 65], 0, result::INVALID_VALUE),
        ([0, 1, 1], [1, 1, 1], 0, result::INVALID_VALUE),
        ([1, 65536, 1], [1, 1, 1], 0, result::INVALID_VALUE),
        ([1, 1, 1], [1, 1, 1], 50_000, result::INVALID_VALUE),
        ([1, 1, 1], [1, 1, 1], 48 << 10, 0),
    ];
    for (grid, block, shared, want) in table {
        assert_eq!(
            card.launch(kernel, grid, block, shared, args![x, 1i32]),
            want,
            "{grid:?} {block:?} {shared}"
        );
    }
    assert_eq!(call!(launches::cuFuncSetAttribute, kernel, 8, 50_000), 0);
    assert_eq!(card.launch(kernel, [1, 1, 1], [1, 1, 1], 50_000, args![x, 12_000i32]), 0);
    assert_eq!(card.synchronize(), 0);
    let mut found = 0;
    let missing = call!(launches::cuModuleGetFunction, &mut found, module, c"nothing".as_ptr());
    assert_eq!(missing, result::NOT_FOUND);
    assert_eq!(call!(launches::cuModuleUnload, module), 0);
    assert_eq!(card.launch(kernel, [1, 1, 1], [1, 1, 1], 0, args![x, 1i32]), result::INVALID_HANDLE);
}

#[test]
fn ptx_that_is_not_known_is_refused() {
    let card = open(11);
    let text = |body: &str| {
        let registers = ".reg .b32 %r<4>; .reg .f32 %f<4>; .reg .b64 %rd<4>;";
        format!(
            ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry f() {{ {registers}\n{body}\nret; }}"
        )
    };
    let known = [
        "add.s32 %r1, %r2, 3;",
        "add.rn.ftz.f32 %f1, %f1, %f2;",
        "bar.sync 0;",
        "{ .reg .b32 t; mov.b32 t, 1; }",
    ];
    for body in known {
        assert!(card.load(&text(body)).is_ok(), "{body}");
    }
    let wrong = [
        "frobnicate.s32 %r1, %r2;",
        "add.sat.wrong.s32 %r1, %r2, 3;",
        "add.sat.s32 %r1, %r2, 3;",
        "add.s32 %r1, %r9, 3;",
        "add.s32 %r1, %r2;",
        "ld.global.tex.f32 %f1, [%rd1];",
        "fma.f32 %f1, %f1, %f1, %f1;",
        "mul.s32 %r1, %r2, %r3;",
        "bra nowhere;",
        "call nothing;",
        "wmma.load.a.sync.aligned.m16n16k16 %r1, [%rd1];",
        "ld.global.v2.f32 %f1, [%rd1];",
        ".tex .u64 t;",
    ];
    for body in wrong {
        assert_eq!(card.load(&text(body)), Err(result::INVALID_PTX), "{body}");
    }
    assert_eq!(card.load(&text("").replace("sm_70", "sm_90")), Err(result::NO_BINARY_FOR_GPU));
    assert_eq!(card.load("\u{7f}ELF"), Err(result::NO_BINARY_FOR_GPU));
    assert_eq!(card.synchronize(), 0, "a refusal breaks nothing");
}

#[test]
fn calls_without_a_context_are_refused() {
    let card = open(12);
    std::thread::spawn(|| {
        let mut address = 0;
        assert_eq!(call!(memory::cuMemAlloc_v2, &mut address, 4), result::INVALID_CONTEXT);
        assert_eq!(call!(context::cuCtxSetCurrent, 0x123), result::INVALID_CONTEXT);
    })
    .join()
    .expect("no failure");
    assert_eq!(call!(streams::cuStreamSynchronize, 0x77), result::INVALID_HANDLE);
    drop(card);
    assert_eq!(call!(memory::cuMemAlloc_v2, &mut 0, 4), result::INVALID_CONTEXT);
}

#[test]
fn faults_of_the_environment() {
    let card = open(14);
    assert!(card.take(4).is_ok());
    assert_eq!(card.take(4), Err(result::OUT_OF_MEMORY));
    let module = card.load(FAULTY).expect("a module");
    let kernel = card.kernel(module, "misaligned");
    assert_eq!(card.launch(kernel, [1, 1, 1], [1, 1, 1], 0, args![0u64]), result::LAUNCH_OUT_OF_RESOURCES);
}
