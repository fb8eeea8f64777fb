//! Streams and events.

use std::ffi::{c_int, c_void};

use super::{functions, put};
use crate::driver::{self, Answer, event, schedule::Ticket, schedule::schedule, stream};
use crate::result;

/// `CU_STREAM_NON_BLOCKING` and `CU_EVENT_DISABLE_TIMING`.
const NON_BLOCKING: u32 = 1;
const DISABLE_TIMING: u32 = 2;

functions! {
    fn cuStreamCreate(handle: *mut usize, flags: u32) {
        let device = driver::current()?;
        put(handle, stream::create(device, flags & NON_BLOCKING == 0) as usize)
    }

    fn cuStreamCreateWithPriority(handle: *mut usize, flags: u32, _priority: c_int) {
        let device = driver::current()?;
        put(handle, stream::create(device, flags & NON_BLOCKING == 0) as usize)
    }

    fn cuStreamDestroy_v2(handle: usize) {
        let answer = driver::current().map(|_| ());
        stream::destroy(handle)?;
        answer
    }

    fn cuStreamSynchronize(handle: usize) {
        driver::current()?;
        let stream = stream::stream(handle)?;
        stream.synchronize();
        stream.device.check()
    }

    fn cuStreamQuery(handle: usize) {
        driver::current()?;
        let stream = stream::stream(handle)?;
        asked(stream.last(), || stream.device.check())
    }

    fn cuStreamWaitEvent(handle: usize, event: usize, _flags: u32) {
        driver::current()?;
        let (stream, event) = (stream::stream(handle)?, event::event(event)?);
        if let Some(ticket) = event.ticket() {
            stream.wait_for(ticket);
        }
        Ok(())
    }

    // Nothing is captured here.
    fn cuStreamIsCapturing(handle: usize, status: *mut c_int) {
        driver::current()?;
        stream::stream(handle)?;
        put(status, 0)
    }

    fn cuLaunchHostFunc(handle: usize, function: Option<unsafe extern "C" fn(*mut c_void)>, data: usize) {
        driver::current()?;
        let function = function.ok_or(result::INVALID_VALUE)?;
        stream::stream(handle)?.submit(move || {
            // SAFETY: the caller gave the function with its data for this one call.
            unsafe { function(data as *mut c_void) };
            Ok(())
        });
        Ok(())
    }

    fn cuEventCreate(handle: *mut usize, flags: u32) {
        driver::current()?;
        put(handle, event::create(flags & DISABLE_TIMING == 0) as usize)
    }

    fn cuEventDestroy_v2(handle: usize) {
        let answer = driver::current().map(|_| ());
        event::destroy(handle)?;
        answer
    }

    fn cuEventRecord(event: usize, handle: usize) {
        driver::current()?;
        event::event(event)?.record(&stream::stream(handle)?);
        Ok(())
    }

    fn cuEventSynchronize(handle: usize) {
        let device = driver::current()?;
        if let Some(ticket) = event::event(handle)?.ticket() {
            schedule().wait(ticket);
        }
        device.check()
    }

    fn cuEventQuery(handle: usize) {
        let device = driver::current()?;
        match event::event(handle)?.ticket() {
            Some(ticket) => asked(ticket, || device.check()),
            None => Ok(()),
        }
    }

    fn cuEventElapsedTime(ms: *mut f32, from: usize, to: usize) {
        driver::current()?;
        put(ms, event::event(from)?.elapsed_ms(&*event::event(to)?)?)
    }

    fn cuEventElapsedTime_v2(ms: *mut f32, from: usize, to: usize) {
        driver::current()?;
        put(ms, event::event(from)?.elapsed_ms(&*event::event(to)?)?)
    }
}

/// Whether a ticket is done, and then whether the device is sound.
fn asked(ticket: Ticket, check: impl FnOnce() -> Answer<()>) -> Answer<()> {
    if schedule().is_done(ticket) { check() } else { Err(result::NOT_READY) }
}
