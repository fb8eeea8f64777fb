//! Streams that run by themselves, each on its own thread, under random delays.

mod card;

use std::ffi::c_void;
use std::sync::{Condvar, Mutex};

use card::{COPY, Card, call, start};
use cuda_driver::api::{copies, memory, streams, testing};
use cuda_driver::result;

fn open(ordinal: i32) -> Card {
    start(&[("OUTCROP_CUDA_DEVICES", "3"), ("OUTCROP_CUDA_DELAYS", "3:50")]);
    Card::open(ordinal)
}

/// A gate that a stream waits at until the host opens it.
#[derive(Default)]
struct Gate {
    open: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    fn pass(&self) {
        *self.open.lock().expect("a gate") = true;
        self.changed.notify_all();
    }
}

unsafe extern "C" fn wait_at(gate: *mut c_void) {
    // SAFETY: the test's gate outlives the stream's work.
    let gate = unsafe { &*gate.cast::<Gate>() };
    let open = gate.open.lock().expect("a gate");
    drop(gate.changed.wait_while(open, |open| !*open).expect("a gate"));
}

#[test]
fn one_stream_goes_on_while_another_waits() {
    let card = open(0);
    let (gate, second) = (Gate::default(), card.stream());
    let (x, y) = (card.upload(&[1u8; 8]), card.upload(&[2u8; 8]));
    let held = (&raw const gate) as usize;
    assert_eq!(call!(streams::cuLaunchHostFunc, card.stream, Some(wait_at), held), 0);
    assert_eq!(call!(copies::cuMemcpyDtoDAsync_v2, x, y, 8, card.stream), 0);
    let event = card.event();
    assert_eq!(call!(streams::cuEventRecord, event, card.stream), 0);
    assert_eq!(call!(streams::cuEventQuery, event), result::NOT_READY);
    // What doesn't wait for the first stream is done meanwhile.
    let mut host = [0u8; 8];
    assert_eq!(call!(copies::cuMemcpyDtoHAsync_v2, host.as_mut_ptr() as usize, x, 8, second), 0);
    assert_eq!(host, [1; 8]);
    assert_eq!(call!(streams::cuStreamWaitEvent, second, event, 0), 0);
    assert_eq!(call!(copies::cuMemsetD8Async, y, 3, 8, second), 0);
    assert_eq!(call!(streams::cuStreamQuery, second), result::NOT_READY);
    gate.pass();
    assert_eq!(call!(streams::cuStreamSynchronize, second), 0);
    assert_eq!(call!(streams::cuEventQuery, event), 0);
    assert_eq!((card.download::<u8>(x, 8), card.download::<u8>(y, 8)), (vec![2; 8], vec![3; 8]));
}

/// A ring of streams, each of which adds its copy behind its neighbour's event: whatever the delays, in order.
#[test]
fn a_ring_of_streams_keeps_its_order() {
    let card = open(1);
    let ring: Vec<(usize, usize)> = (0..4).map(|_| (card.stream(), card.event())).collect();
    let cells: Vec<u64> = (0..41u8).map(|value| card.upload(&[value; 16])).collect();
    for round in 0..40 {
        let ((stream, event), (_, before)) = (ring[round % 4], ring[(round + 3) % 4]);
        assert_eq!(call!(streams::cuStreamWaitEvent, stream, before, 0), 0);
        assert_eq!(call!(copies::cuMemcpyDtoDAsync_v2, cells[round + 1], cells[round], 16, stream), 0);
        assert_eq!(call!(streams::cuEventRecord, event, stream), 0);
    }
    // Destroyed streams and events do what they were given.
    for (stream, event) in &ring {
        assert_eq!(call!(streams::cuEventDestroy_v2, *event), 0);
        if *stream != ring[39 % 4].0 {
            assert_eq!(call!(streams::cuStreamDestroy_v2, *stream), 0);
        }
    }
    assert_eq!(call!(streams::cuStreamSynchronize, ring[39 % 4].0), 0);
    assert_eq!(card.download::<u8>(cells[40], 16), [0; 16]);
    assert_eq!(call!(streams::cuStreamDestroy_v2, ring[0].0), result::INVALID_HANDLE);
}

#[test]
fn slow_copies_and_a_context_that_ends_with_work_left() {
    let card = open(2);
    let mut pinned = 0;
    assert_eq!(call!(memory::cuMemHostAlloc, &mut pinned, 1024, 0), 0);
    assert_eq!(testing::outcrop_cuda_live_host_bytes(), 1024);
    let (from, to) = (card.event(), card.event());
    let x = card.fresh::<u8>(1024);
    card.fault(COPY, 3000);
    assert_eq!(call!(streams::cuEventRecord, from, card.stream), 0);
    (0..3).for_each(|_| assert_eq!(call!(copies::cuMemcpyHtoDAsync_v2, x, pinned, 1024, card.stream), 0));
    assert_eq!(call!(streams::cuEventRecord, to, card.stream), 0);
    assert_eq!(call!(streams::cuEventSynchronize, to), 0);
    let mut ms = 0.0;
    assert_eq!(call!(streams::cuEventElapsedTime, &mut ms, from, to), 0);
    assert!(ms >= 9.0, "three copies of at least 3 ms: {ms}");
    assert_eq!(testing::outcrop_cuda_count(2, COPY), 3);
    assert_eq!(call!(memory::cuMemFreeHost, pinned), 0);
    assert_eq!(testing::outcrop_cuda_live_host_bytes(), 0);
    card.fault(COPY, 0);
    (0..20).for_each(|_| assert_eq!(call!(copies::cuMemsetD8Async, x, 1, 1024, card.stream), 0));
    assert_eq!(call!(memory::cuMemFreeAsync, x, card.stream), 0);
    drop(card);
    assert_eq!(testing::outcrop_cuda_live_bytes_of(2), 0);
}
