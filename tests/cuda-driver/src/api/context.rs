//! Primary contexts: retained, current, released.

use std::ffi::c_int;

use super::{functions, put};
use crate::{driver, result};

functions! {
    fn cuDevicePrimaryCtxRetain(context: *mut usize, device: c_int) {
        let device = driver::device(device)?;
        device.retain();
        put(context, device.context())
    }

    fn cuDevicePrimaryCtxRelease_v2(device: c_int) { driver::device(device)?.release() }

    fn cuDevicePrimaryCtxReset_v2(device: c_int) {
        driver::device(device)?.reset();
        Ok(())
    }

    fn cuDevicePrimaryCtxGetState(device: c_int, flags: *mut u32, active: *mut c_int) {
        let device = driver::device(device)?;
        put(flags, 0)?;
        put(active, c_int::from(device.is_retained()))
    }

    fn cuDevicePrimaryCtxSetFlags_v2(device: c_int, _flags: u32) { driver::device(device).map(|_| ()) }

    fn cuCtxSetCurrent(context: usize) {
        if context != 0 {
            driver::context_device(context)?;
        }
        driver::set_current_context(context);
        Ok(())
    }

    fn cuCtxGetCurrent(context: *mut usize) {
        driver::devices()?;
        put(context, driver::current_context())
    }

    fn cuCtxGetDevice(device: *mut c_int) {
        put(device, driver::current_in_any_state()?.ordinal as c_int)
    }

    fn cuCtxSynchronize() {
        let device = driver::current()?;
        device.synchronize();
        device.check()
    }

    fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) {
        driver::current()?;
        put(least, 0)?;
        put(greatest, 0)
    }

    fn cuCtxSetFlags(_flags: u32) { driver::current().map(|_| ()) }

    fn cuCtxGetLimit(value: *mut usize, limit: u32) {
        driver::current()?;
        // The stack of a thread; no other limit is emulated.
        if limit == 0 { put(value, 1024) } else { Err(result::NOT_SUPPORTED) }
    }

    fn cuCtxSetLimit(_limit: u32, _value: usize) { driver::current().map(|_| ()) }

    fn cuCtxEnablePeerAccess(context: usize, flags: u32) {
        let device = driver::current()?;
        let peer = driver::context_device(context)?;
        if flags != 0 || peer.ordinal == device.ordinal {
            return Err(result::INVALID_VALUE);
        }
        match driver::lock(&device.peers).insert(peer.ordinal) {
            true => Ok(()),
            false => Err(result::PEER_ACCESS_ALREADY_ENABLED),
        }
    }

    fn cuCtxDisablePeerAccess(context: usize) {
        let device = driver::current()?;
        let peer = driver::context_device(context)?;
        match driver::lock(&device.peers).remove(&peer.ordinal) {
            true => Ok(()),
            false => Err(result::PEER_ACCESS_NOT_ENABLED),
        }
    }
}
