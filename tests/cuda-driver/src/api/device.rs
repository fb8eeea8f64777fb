//! Devices: how many, which, and what they can.

use std::ffi::{c_char, c_int};

use super::{functions, put};
use crate::driver::machine::Spec;
use crate::driver::module::{MOST_SHARED_BYTES, MOST_THREADS, SHARED_BYTES};
use crate::{driver, result};

functions! {
    fn cuDeviceGetCount(count: *mut c_int) { put(count, driver::devices()?.len() as c_int) }

    fn cuDeviceGet(device: *mut c_int, ordinal: c_int) {
        driver::device(ordinal)?;
        put(device, ordinal)
    }

    fn cuDeviceGetName(name: *mut c_char, length: c_int, device: c_int) {
        text(name, length, &driver::device(device)?.spec.name)
    }

    fn cuDeviceGetUuid(uuid: *mut [u8; 16], device: c_int) { put(uuid, driver::device(device)?.spec.uuid()) }

    fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], device: c_int) {
        put(uuid, driver::device(device)?.spec.uuid())
    }

    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) {
        put(bytes, driver::device(device)?.spec.memory)
    }

    fn cuDeviceGetPCIBusId(id: *mut c_char, length: c_int, device: c_int) {
        text(id, length, &format!("0000:{:02X}:00.0", driver::device(device)?.spec.bus))
    }

    fn cuDeviceGetByPCIBusId(device: *mut c_int, id: *const c_char) {
        if id.is_null() {
            return Err(result::INVALID_VALUE);
        }
        let id = std::ffi::CStr::from_ptr(id).to_string_lossy().to_uppercase();
        let names = |found: &&std::sync::Arc<driver::device::Device>| {
            id.ends_with(&format!("{:02X}:00.0", found.spec.bus))
        };
        let found = driver::devices()?.iter().find(names).ok_or(result::INVALID_DEVICE)?;
        put(device, found.ordinal as c_int)
    }

    fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int) {
        let spec = &driver::device(device)?.spec;
        match known(spec, attribute) {
            Some(found) => put(value, found),
            None if (1..=150).contains(&attribute) => put(value, 0),
            None => Err(result::INVALID_VALUE),
        }
    }

    fn cuDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, device: c_int) {
        let capability = driver::device(device)?.spec.capability;
        put(major, capability.0)?;
        put(minor, capability.1)
    }

    fn cuDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) {
        let (device, peer) = (driver::device(device)?, driver::device(peer)?);
        put(can, c_int::from(device.ordinal != peer.ordinal))
    }

    // Access and native atomics among all pairs; every link is as fast as the next.
    fn cuDeviceGetP2PAttribute(value: *mut c_int, attribute: c_int, device: c_int, peer: c_int) {
        let (device, peer) = (driver::device(device)?, driver::device(peer)?);
        if device.ordinal == peer.ordinal {
            return Err(result::INVALID_DEVICE);
        }
        put(value, c_int::from(attribute == 2 || attribute == 3))
    }
}

/// Attributes by their numbers in `CUdevice_attribute`; those left out are 0: what they ask for isn't there.
fn known(spec: &Spec, attribute: c_int) -> Option<c_int> {
    Some(match attribute {
        // Threads and dimensions of a block, dimensions of a grid.
        1..=3 => MOST_THREADS as c_int,
        4 => 64,
        5 => i32::MAX,
        6 | 7 => 65535,
        // Shared memory of a block, constant memory, lanes of a warp.
        8 => SHARED_BYTES as c_int,
        9 => 64 << 10,
        10 => 32,
        // Registers of a block, the clock in kHz, the alignment of textures.
        12 => 65536,
        13 => 1_000_000,
        14 => 512,
        16 => spec.multiprocessors,
        // Concurrent kernels; the bus; the engines that copy.
        31 => 1,
        33 => c_int::from(spec.bus),
        34 | 50 => 0,
        40 => 2,
        41 => 1,
        // The memory's clock in kHz, the bus's width, the second cache, threads of a multiprocessor.
        36 => 1_000_000,
        37 => 256,
        38 => 4 << 20,
        39 => 2048,
        75 => spec.capability.0,
        76 => spec.capability.1,
        // Shared memory and registers of a multiprocessor; shared memory of a block that asks for it.
        81 | 97 => MOST_SHARED_BYTES as c_int,
        82 => 65536,
        // Memory pools.
        115 => 1,
        _ => return None,
    })
}

/// # Safety
/// `to` is null or has `length` bytes.
unsafe fn text(to: *mut c_char, length: c_int, text: &str) -> driver::Answer<()> {
    let Some(room) = usize::try_from(length).ok().and_then(|length| length.checked_sub(1)) else {
        return Err(result::INVALID_VALUE);
    };
    for (at, byte) in text.bytes().take(room).chain([0]).enumerate() {
        // SAFETY: `at` is below `length`, which the caller vouches for.
        unsafe { put(to.wrapping_add(at), byte as c_char)? };
    }
    Ok(())
}
