//! Loaded modules, their functions, and launches.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use super::device::Device;
use super::faults::Kind;
use super::heap::{Allocation, Heap};
use super::stream::Stream;
use super::{Answer, fresh_handle, lock};
use crate::ptx::{self, code};
use crate::result;
use crate::run::{self, Fault, Launch};

/// Addresses set aside for a module's variables.
const VARIABLE_BYTES: u64 = 1 << 28;

/// Bytes of shared memory that a block has unless more is asked for; and at most.
pub const SHARED_BYTES: usize = 48 << 10;
pub const MOST_SHARED_BYTES: usize = 160 << 10;

pub const MOST_THREADS: u32 = 1024;

pub struct Loaded {
    device: Arc<Device>,
    module: code::Module,
    /// The function's handles, made when they are asked for.
    functions: Mutex<HashMap<usize, u64>>,
}

/// A kernel as launches name it.
pub struct Kernel {
    pub loaded: Arc<Loaded>,
    index: usize,
    /// The dynamic shared memory that was asked for; 0 for none.
    pub dynamic_limit: AtomicUsize,
}

#[derive(Default)]
struct Registry {
    modules: HashMap<u64, Arc<Loaded>>,
    kernels: HashMap<u64, Arc<Kernel>>,
}

static REGISTRY: Mutex<Option<Registry>> = Mutex::new(None);

/// Loads PTX text for a device.
///
/// # Errors
/// What of the text isn't known, also on standard error with its line; an architecture above the device's.
pub fn load(device: &Arc<Device>, text: &str) -> Answer<u64> {
    let place = lock(&device.heap).reserve(VARIABLE_BYTES);
    let module = ptx::parse(text, place).map_err(|error| {
        let line = text.lines().nth(error.line.saturating_sub(1) as usize).unwrap_or("").trim();
        eprintln!("[cuda-driver] {error}\n[cuda-driver]     {line}");
        result::INVALID_PTX
    })?;
    let (major, minor) = device.spec.capability;
    if i64::from(module.target) > i64::from(10 * major + minor) {
        eprintln!("[cuda-driver] PTX for sm_{} on a device of {major}.{minor}", module.target);
        return Err(result::NO_BINARY_FOR_GPU);
    }
    for variable in &module.variables {
        let mut heap = lock(&device.heap);
        let placed = heap.place(variable.address, variable.bytes, variable.constant);
        let placed = placed.ok_or(result::OUT_OF_MEMORY)?;
        for offset in 0..variable.bytes {
            placed.write(offset, 1, u64::from(variable.start.get(offset).copied().unwrap_or(0)));
        }
    }
    let id = fresh_handle();
    let loaded = Loaded { device: device.clone(), module, functions: Mutex::default() };
    lock(&REGISTRY).get_or_insert_default().modules.insert(id, Arc::new(loaded));
    Ok(id)
}

/// Forgets a module, once all that its device has to do is done.
pub fn unload(handle: usize) -> Answer<()> {
    let found = module(handle)?;
    found.device.synchronize();
    let mut registry = lock(&REGISTRY);
    let registry = registry.get_or_insert_default();
    registry.modules.remove(&(handle as u64));
    registry.kernels.retain(|_, kernel| !Arc::ptr_eq(&kernel.loaded, &found));
    let mut heap = lock(&found.device.heap);
    for variable in &found.module.variables {
        heap.free(variable.address);
    }
    Ok(())
}

pub fn unload_all(ordinal: usize) {
    let mut registry = lock(&REGISTRY);
    let registry = registry.get_or_insert_default();
    registry.modules.retain(|_, loaded| loaded.device.ordinal != ordinal);
    registry.kernels.retain(|_, kernel| kernel.loaded.device.ordinal != ordinal);
}

fn module(handle: usize) -> Answer<Arc<Loaded>> {
    let registry = lock(&REGISTRY);
    let found = registry.as_ref().and_then(|registry| registry.modules.get(&(handle as u64)));
    found.cloned().ok_or(result::INVALID_HANDLE)
}

/// The handle of a module's kernel.
pub fn function(handle: usize, name: &str) -> Answer<u64> {
    let loaded = module(handle)?;
    let fits = |function: &code::Function| function.is_entry && function.name == name;
    let index = loaded.module.functions.iter().position(fits).ok_or(result::NOT_FOUND)?;
    let mut functions = lock(&loaded.functions);
    let id = *functions.entry(index).or_insert_with(|| {
        let id = fresh_handle();
        let kernel = Kernel { loaded: loaded.clone(), index, dynamic_limit: AtomicUsize::new(0) };
        lock(&REGISTRY).get_or_insert_default().kernels.insert(id, Arc::new(kernel));
        id
    });
    Ok(id)
}

/// Address and bytes of a module's variable.
pub fn variable(handle: usize, name: &str) -> Answer<(u64, usize)> {
    let loaded = module(handle)?;
    let found = loaded.module.variables.iter().find(|variable| variable.name == name);
    found.map(|variable| (variable.address, variable.bytes)).ok_or(result::NOT_FOUND)
}

pub fn kernel(handle: usize) -> Answer<Arc<Kernel>> {
    let registry = lock(&REGISTRY);
    let found = registry.as_ref().and_then(|registry| registry.kernels.get(&(handle as u64)));
    found.cloned().ok_or(result::INVALID_HANDLE)
}

impl Kernel {
    pub fn function(&self) -> &code::Function {
        &self.loaded.module.functions[self.index]
    }

    pub fn target(&self) -> u32 {
        self.loaded.module.target
    }

    /// The threads that a block of it may have.
    pub fn most_threads(&self) -> u32 {
        self.function().max_threads.unwrap_or(MOST_THREADS).min(MOST_THREADS)
    }

    /// Whether a launch of this form is one that a device takes.
    pub fn check(&self, grid: [u32; 3], block: [u32; 3], dynamic: usize) -> Answer<()> {
        let threads = block.iter().try_fold(1u32, |all, axis| all.checked_mul(*axis)).unwrap_or(u32::MAX);
        let grid_fits = grid[0] <= i32::MAX as u32 && grid[1..].iter().all(|axis| *axis <= 65535);
        let block_fits = block[2] <= 64 && threads <= MOST_THREADS;
        if grid.contains(&0) || block.contains(&0) || !grid_fits || !block_fits {
            return Err(result::INVALID_VALUE);
        }
        if threads > self.most_threads() {
            return Err(result::LAUNCH_OUT_OF_RESOURCES);
        }
        let shared = self.function().shared_bytes + dynamic;
        let limit = SHARED_BYTES.max(self.function().shared_bytes + self.dynamic_limit.load(Relaxed));
        if shared > limit { Err(result::INVALID_VALUE) } else { Ok(()) }
    }

    /// Appends a launch to a stream.
    pub fn launch(
        self: Arc<Kernel>,
        stream: &Stream,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic: usize,
        parameters: Vec<u8>,
    ) -> Answer<()> {
        let device = stream.device.clone();
        if self.loaded.device.ordinal != device.ordinal {
            return Err(result::INVALID_HANDLE);
        }
        self.check(grid, block, dynamic)?;
        if device.count(Kind::Refusal) {
            return Err(result::LAUNCH_OUT_OF_RESOURCES);
        }
        let fails = device.count(Kind::Launch);
        stream.submit(move || {
            if fails {
                let message = format!("the launch of '{}' fails, as the test asked", self.function().name);
                return Err(Fault { code: result::LAUNCH_FAILED, message });
            }
            let launch = Launch {
                module: &self.loaded.module,
                function: self.index,
                grid,
                block,
                dynamic_shared_bytes: dynamic,
                parameters: &parameters,
                memory: &|address| reachable(&device, address),
            };
            run::run(&launch)
        });
        Ok(())
    }
}

/// The live allocation at an address that a device's kernels may touch: its own, or of a peer.
fn reachable(device: &Device, address: u64) -> Option<Arc<Allocation>> {
    let owner = super::stream::device_of(address)?;
    let own = Heap::device_of(address) == Some(device.ordinal);
    if !own && !lock(&device.peers).contains(&owner.ordinal) {
        return None;
    }
    lock(&owner.heap).at(address)
}
