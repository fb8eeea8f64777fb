//! A made-up NVML, for tests: the functions that a program on nvml-wrapper calls, answering from a description.
//!
//! `OUTCROP_NVML` holds the description, a JSON object, which is read when the library is started:
//!
//! ```json
//! {
//!   "init": 0,
//!   "driver": "550.54.15",
//!   "cards": [{
//!     "name": "NVIDIA A100-SXM4-40GB", "pci": "00000000:07:00.0", "uuid": "GPU-…",
//!     "memory": [42949672960, 42000000000],
//!     "cores": 6912, "core_clock": 1410, "memory_clock": 1215, "bus_bits": 5120,
//!     "capability": [8, 0], "pcie": [4, 16],
//!     "mig": [null, { "name": "… MIG 1g.5gb", "uuid": "MIG-…", "memory": [5368709120, 5300000000], "slices": 1 }],
//!     "nvlinks": [{ "version": 5, "card": "00000000:0B:00.0" }, { "version": 5 }, null]
//!   }]
//! }
//! ```
//!
//! What is left out is answered with NOT_SUPPORTED, and `{ "error": 15 }` in any value's place with that error. A slice
//! that is null is a number without a slice; a link that is null is down, and one without a card ends at a switch.

#![allow(non_snake_case, clippy::missing_safety_doc)]

mod description;

use std::ffi::{c_char, c_uint, c_ulonglong};

use description::{
    Answer, INVALID_ARGUMENT, NOT_FOUND, SUCCESS, Unit, described, number, start, text, value,
};
use serde_json::Value;

/// `nvmlPciInfo_t`.
#[repr(C)]
pub struct PciInfo {
    bus_id_legacy: [c_char; 16],
    domain: c_uint,
    bus: c_uint,
    device: c_uint,
    pci_device_id: c_uint,
    pci_sub_system_id: c_uint,
    bus_id: [c_char; 32],
}

/// `nvmlMemory_v2_t`.
#[repr(C)]
pub struct Memory {
    version: c_uint,
    total: c_ulonglong,
    reserved: c_ulonglong,
    free: c_ulonglong,
    used: c_ulonglong,
}

/// `nvmlDeviceAttributes_t`.
#[repr(C)]
pub struct Attributes {
    multiprocessors: c_uint,
    shared: [c_uint; 5],
    gpu_slices: c_uint,
    compute_slices: c_uint,
    memory_mib: c_ulonglong,
}

/// Declares exported functions by bodies that answer with a result.
macro_rules! functions {
    ($(fn $name:ident($($a:ident: $t:ty),* $(,)?) $body:block)*) => {$(
        /// As `nvml.h` has it: pointers are null or may be written.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($a: $t),*) -> c_uint {
            #[allow(unused_unsafe)]
            // SAFETY: the callers keep the header's contract.
            let body = || -> Answer<()> { unsafe { $body } };
            body().err().unwrap_or(SUCCESS)
        }
    )*};
}

functions! {
    fn nvmlInit_v2() { start() }

    fn nvmlShutdown() { Ok(()) }

    fn nvmlSystemGetDriverVersion(to: *mut c_char, length: c_uint) {
        write(to, length, &text(&described()?, "driver")?)
    }

    fn nvmlDeviceGetCount_v2(count: *mut c_uint) {
        put(count, value(&described()?, "cards")?.as_array().map_or(0, Vec::len) as c_uint)
    }

    fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, handle: *mut Unit) { put(handle, Unit::card(index)?) }

    fn nvmlDeviceGetName(unit: Unit, to: *mut c_char, length: c_uint) {
        write(to, length, &text(&unit.described()?, "name")?)
    }

    fn nvmlDeviceGetUUID(unit: Unit, to: *mut c_char, length: c_uint) {
        write(to, length, &text(&unit.described()?, "uuid")?)
    }

    fn nvmlDeviceGetPciInfo_v3(unit: Unit, info: *mut PciInfo) {
        put(info, pci(&text(&unit.of_card().described()?, "pci")?))
    }

    fn nvmlDeviceGetMemoryInfo_v2(unit: Unit, memory: *mut Memory) {
        let (total, free) = pair(&unit.described()?, "memory")?;
        put(memory, Memory { version: 0, total, reserved: 0, free, used: total.saturating_sub(free) })
    }

    fn nvmlDeviceGetNumGpuCores(unit: Unit, count: *mut c_uint) {
        put(count, number(&unit.described()?, "cores")? as c_uint)
    }

    fn nvmlDeviceGetMaxClockInfo(unit: Unit, clock: c_uint, mhz: *mut c_uint) {
        // NVML_CLOCK_SM and NVML_CLOCK_MEM.
        let name = match clock {
            1 => "core_clock",
            2 => "memory_clock",
            _ => return Err(INVALID_ARGUMENT),
        };
        put(mhz, number(&unit.described()?, name)? as c_uint)
    }

    fn nvmlDeviceGetMemoryBusWidth(unit: Unit, bits: *mut c_uint) {
        put(bits, number(&unit.described()?, "bus_bits")? as c_uint)
    }

    fn nvmlDeviceGetCudaComputeCapability(unit: Unit, major: *mut i32, minor: *mut i32) {
        let capability = pair(&unit.described()?, "capability")?;
        put(major, capability.0 as i32)?;
        put(minor, capability.1 as i32)
    }

    fn nvmlDeviceGetMaxPcieLinkGeneration(unit: Unit, generation: *mut c_uint) {
        put(generation, pair(&unit.described()?, "pcie")?.0 as c_uint)
    }

    fn nvmlDeviceGetMaxPcieLinkWidth(unit: Unit, lanes: *mut c_uint) {
        put(lanes, pair(&unit.described()?, "pcie")?.1 as c_uint)
    }

    fn nvmlDeviceGetMigMode(unit: Unit, current: *mut c_uint, pending: *mut c_uint) {
        let is_on = value(&unit.described()?, "mig")?.is_array();
        put(current, c_uint::from(is_on))?;
        put(pending, c_uint::from(is_on))
    }

    fn nvmlDeviceGetMaxMigDeviceCount(unit: Unit, count: *mut c_uint) {
        unit.described()?;
        put(count, 7)
    }

    fn nvmlDeviceGetMigDeviceHandleByIndex(unit: Unit, index: c_uint, handle: *mut Unit) {
        put(handle, unit.slice(index)?)
    }

    fn nvmlDeviceGetAttributes_v2(unit: Unit, attributes: *mut Attributes) {
        let slices = number(&unit.described()?, "slices")? as c_uint;
        put(attributes, Attributes {
            multiprocessors: 14 * slices,
            shared: [0; 5],
            gpu_slices: slices,
            compute_slices: slices,
            memory_mib: 0,
        })
    }

    fn nvmlDeviceGetNvLinkState(unit: Unit, link: c_uint, state: *mut c_uint) {
        let links = value(&unit.described()?, "nvlinks")?;
        let link = links.get(link as usize).ok_or(INVALID_ARGUMENT)?;
        put(state, c_uint::from(!link.is_null()))
    }

    fn nvmlDeviceGetNvLinkVersion(unit: Unit, link: c_uint, version: *mut c_uint) {
        put(version, number(&nvlink(unit, link)?, "version")? as c_uint)
    }

    fn nvmlDeviceGetNvLinkRemoteDeviceType(unit: Unit, link: c_uint, kind: *mut c_uint) {
        // NVML_NVLINK_DEVICE_TYPE_GPU and NVML_NVLINK_DEVICE_TYPE_SWITCH.
        put(kind, if nvlink(unit, link)?.get("card").is_some() { 0 } else { 2 })
    }

    fn nvmlDeviceGetNvLinkRemotePciInfo_v2(unit: Unit, link: c_uint, info: *mut PciInfo) {
        put(info, pci(&text(&nvlink(unit, link)?, "card")?))
    }
}

fn nvlink(unit: Unit, link: c_uint) -> Answer<Value> {
    let links = value(&unit.described()?, "nvlinks")?;
    links.get(link as usize).filter(|link| !link.is_null()).cloned().ok_or(NOT_FOUND)
}

fn pair(of: &Value, name: &str) -> Answer<(u64, u64)> {
    let pair = value(of, name)?;
    let at = |at: usize| pair.get(at).and_then(Value::as_u64).ok_or(INVALID_ARGUMENT);
    Ok((at(0)?, at(1)?))
}

fn pci(address: &str) -> PciInfo {
    let mut info = PciInfo {
        bus_id_legacy: [0; 16],
        domain: 0,
        bus: 0,
        device: 0,
        pci_device_id: 0x20b0_10de,
        pci_sub_system_id: 0,
        bus_id: [0; 32],
    };
    for (to, byte) in info.bus_id.iter_mut().take(31).zip(address.bytes()) {
        *to = byte as c_char;
    }
    for (to, byte) in info.bus_id_legacy.iter_mut().take(15).zip(address.bytes()) {
        *to = byte as c_char;
    }
    info
}

/// # Safety
/// `to` is null or has `length` bytes.
unsafe fn write(to: *mut c_char, length: c_uint, text: &str) -> Answer<()> {
    let room = (length as usize).checked_sub(1).ok_or(INVALID_ARGUMENT)?;
    for (at, byte) in text.bytes().take(room).chain([0]).enumerate() {
        // SAFETY: `at` is below `length`, which the caller vouches for.
        unsafe { put(to.wrapping_add(at), byte as c_char)? };
    }
    Ok(())
}

/// Gives a value to the caller.
///
/// # Safety
/// `to` is null or may be written.
unsafe fn put<T>(to: *mut T, value: T) -> Answer<()> {
    if to.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    // SAFETY: the caller vouches for it.
    unsafe { to.write_unaligned(value) };
    Ok(())
}
