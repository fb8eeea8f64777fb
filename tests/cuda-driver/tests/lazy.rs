//! Streams whose work is done only when somebody waits: what a program didn't wait for, it doesn't have.

mod card;

use card::{Card, args, call, start};
use cuda_driver::api::{copies, memory, streams};
use cuda_driver::result;

const ELEMENTWISE: &str = include_str!("ptx/elementwise.ptx");
const FAULTY: &str = include_str!("ptx/faulty.ptx");

fn open(ordinal: i32) -> Card {
    start(&[("OUTCROP_CUDA_DEVICES", "6"), ("OUTCROP_CUDA_SCHEDULE", "lazy:7")]);
    Card::open(ordinal)
}

/// Pinned memory of the host, as bytes.
fn pinned(bytes: usize) -> &'static mut [u8] {
    let mut address = 0;
    assert_eq!(call!(memory::cuMemHostAlloc, &mut address, bytes, 0), 0);
    // SAFETY: the driver gave so many bytes, which the test doesn't free while it has the slice.
    unsafe { std::slice::from_raw_parts_mut(address as *mut u8, bytes) }
}

#[test]
fn a_copy_that_was_not_waited_for_has_not_come() {
    let card = open(0);
    let x = card.upload(&[5u8; 64]);
    let host = pinned(64);
    assert_eq!(call!(copies::cuMemcpyDtoHAsync_v2, host.as_mut_ptr() as usize, x, 64, card.stream), 0);
    assert_eq!(host[0], 0xcb, "fresh memory has its pattern");
    assert_eq!(call!(streams::cuStreamSynchronize, card.stream), 0);
    assert_eq!(host[63], 5);
}

#[test]
fn pinned_memory_is_read_when_the_stream_is_there_and_pageable_memory_at_once() {
    let card = open(1);
    let (from_pinned, from_pageable) = (card.fresh::<u8>(8), card.fresh::<u8>(8));
    let (host, mut own) = (pinned(8), vec![1u8; 8]);
    host.fill(1);
    assert_eq!(call!(copies::cuMemcpyHtoDAsync_v2, from_pinned, host.as_ptr() as usize, 8, card.stream), 0);
    assert_eq!(call!(copies::cuMemcpyHtoDAsync_v2, from_pageable, own.as_ptr() as usize, 8, card.stream), 0);
    host.fill(2);
    own.fill(2);
    assert_eq!(card.download::<u8>(from_pinned, 8), [2; 8], "the source was changed too early");
    assert_eq!(card.download::<u8>(from_pageable, 8), [1; 8]);
    // Into pageable memory a copy is waited for.
    assert_eq!(
        call!(copies::cuMemcpyDtoHAsync_v2, own.as_mut_ptr() as usize, from_pageable, 8, card.stream),
        0
    );
    assert_eq!(own, [1; 8]);
}

/// Two streams on one buffer: with an event in between always right, without one in some order wrong.
#[test]
fn events_order_streams() {
    let card = open(2);
    let module = card.load(ELEMENTWISE).expect("a module");
    let kernel = card.kernel(module, "axpy_f32");
    let (second, event) = (card.stream(), card.event());
    let n = 16u32;
    let (zero, x, out) = (card.upload(&[0f32; 16]), card.fresh::<f32>(16), card.fresh::<f32>(16));
    let mut wrong = 0;
    for round in 0..60 {
        let ordered = round % 2 == 0;
        assert_eq!(call!(copies::cuMemsetD32_v2, x, 0, 16), 0);
        let bits = (round as f32 + 1.0).to_bits();
        assert_eq!(call!(copies::cuMemsetD32Async, x, bits, 16, card.stream), 0);
        if ordered {
            assert_eq!(call!(streams::cuEventRecord, event, card.stream), 0);
            assert_eq!(call!(streams::cuStreamWaitEvent, second, event, 0), 0);
        }
        let form = ([1, 1, 1], [16, 1, 1], 0);
        assert_eq!(card.launch_on(second, kernel, form, args![x, zero, out, 2.0f32, n]), 0);
        let right = card.download::<f32>(out, 16) == [2.0 * (round as f32 + 1.0); 16];
        assert!(right || !ordered, "{round}");
        wrong += usize::from(!right);
    }
    assert!(wrong > 5, "a missing event shows in some of 30 orders: {wrong}");
}

#[test]
fn the_null_stream_waits_for_blocking_streams_and_they_for_it() {
    let card = open(3);
    let mut blocking = 0;
    assert_eq!(call!(streams::cuStreamCreate, &mut blocking, 0), 0);
    let (x, y) = (card.fresh::<u8>(4), card.fresh::<u8>(4));
    for round in 0..30u8 {
        assert_eq!(call!(copies::cuMemsetD8Async, x, round, 4, blocking), 0);
        assert_eq!(call!(copies::cuMemcpyDtoDAsync_v2, y, x, 4, 0), 0);
        assert_eq!(call!(copies::cuMemsetD8Async, x, 99, 4, blocking), 0);
        assert_eq!(card.download::<u8>(y, 4), [round; 4]);
    }
}

#[test]
fn queries_get_there_and_times_are_those_of_the_device() {
    let card = open(4);
    let (first, last) = (card.event(), card.event());
    let x = card.fresh::<u8>(4);
    let mut ms = -1.0;
    assert_eq!(call!(streams::cuEventQuery, first), 0, "what was never recorded isn't waited for");
    assert_eq!(call!(streams::cuEventElapsedTime, &mut ms, first, last), result::INVALID_HANDLE);
    assert_eq!(call!(streams::cuEventRecord, first, card.stream), 0);
    (0..5).for_each(|value| assert_eq!(call!(copies::cuMemsetD8Async, x, value, 4, card.stream), 0));
    assert_eq!(call!(streams::cuEventRecord, last, card.stream), 0);
    let mut asked = 0;
    while call!(streams::cuEventQuery, last) == result::NOT_READY {
        asked += 1;
    }
    assert_eq!(asked, 6, "each question does one piece of seven");
    assert_eq!(call!(streams::cuEventElapsedTime, &mut ms, first, last), 0);
    assert!(ms >= 0.0);
    assert_eq!(call!(streams::cuStreamQuery, card.stream), 0);
}

/// Memory of a stream, used by another without an event.
#[test]
fn memory_is_there_in_its_streams_order_only() {
    let mut broken = 0;
    for _ in 0..20 {
        let card = open(5);
        let module = card.load(FAULTY).expect("a module");
        let kernel = card.kernel(module, "past_the_end");
        let (second, mut x) = (card.stream(), 0);
        assert_eq!(call!(memory::cuMemAllocAsync, &mut x, 16, card.stream), 0);
        assert_eq!(card.launch_on(second, kernel, ([1, 1, 1], [4, 1, 1], 0), args![x, 0i32]), 0);
        let code = card.synchronize();
        assert!(code == 0 || code == result::ILLEGAL_ADDRESS);
        broken += usize::from(code != 0);
        if code == 0 {
            assert_eq!(call!(memory::cuMemFreeAsync, x, second), 0);
            assert_eq!(card.launch_on(second, kernel, ([1, 1, 1], [4, 1, 1], 0), args![x, 0i32]), 0);
            assert_eq!(card.synchronize(), result::ILLEGAL_ADDRESS, "freed before");
        }
    }
    assert!((3..=17).contains(&broken), "the seed decides: {broken}");
}
