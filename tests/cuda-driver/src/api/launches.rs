//! Modules, kernels, launches, and how many blocks fit.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::Ordering::Relaxed;

use super::{functions, put};
use crate::driver::{self, Answer, module, stream};
use crate::result;

functions! {
    fn cuModuleLoadData(handle: *mut usize, image: *const c_char) {
        let device = driver::current()?;
        put(handle, module::load(device, text(image)?)? as usize)
    }

    // The options' log stays empty: what is wrong goes to standard error.
    fn cuModuleLoadDataEx(handle: *mut usize, image: *const c_char, _count: u32, _options: *mut c_int,
                          _values: *mut *mut c_void) {
        let device = driver::current()?;
        put(handle, module::load(device, text(image)?)? as usize)
    }

    fn cuModuleUnload(handle: usize) {
        let answer = driver::current().map(|_| ());
        module::unload(handle)?;
        answer
    }

    fn cuModuleGetFunction(function: *mut usize, handle: usize, name: *const c_char) {
        driver::current()?;
        put(function, module::function(handle, text(name)?)? as usize)
    }

    fn cuModuleGetGlobal_v2(address: *mut u64, bytes: *mut usize, handle: usize, name: *const c_char) {
        driver::current()?;
        let (found, size) = module::variable(handle, text(name)?)?;
        if !address.is_null() {
            put(address, found)?;
        }
        if bytes.is_null() { Ok(()) } else { put(bytes, size) }
    }

    fn cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: usize) {
        driver::current()?;
        let kernel = module::kernel(function)?;
        let found = match attribute {
            0 => kernel.most_threads() as usize,
            1 => kernel.function().shared_bytes,
            2 => 0,
            3 => kernel.function().local_bytes,
            // Registers of 32 bits that a thread has, as the text declares them, 255 at most.
            4 => kernel.function().registers.min(255),
            5 | 6 => kernel.target() as usize,
            8 => kernel.dynamic_limit.load(Relaxed).max(module::SHARED_BYTES),
            _ => 0,
        };
        put(value, found as c_int)
    }

    fn cuFuncSetAttribute(function: usize, attribute: c_int, value: c_int) {
        driver::current()?;
        let kernel = module::kernel(function)?;
        match (attribute, usize::try_from(value)) {
            (8, Ok(bytes)) if bytes + kernel.function().shared_bytes <= module::MOST_SHARED_BYTES => {
                kernel.dynamic_limit.store(bytes, Relaxed);
                Ok(())
            }
            // How cache and shared memory are divided, a hint.
            (9, _) => Ok(()),
            _ => Err(result::INVALID_VALUE),
        }
    }

    fn cuFuncSetCacheConfig(function: usize, _config: u32) {
        driver::current()?;
        module::kernel(function).map(|_| ())
    }

    fn cuLaunchKernel(function: usize, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32,
                      block_z: u32, shared_bytes: u32, handle: usize, arguments: *const *const u8,
                      extra: *mut *mut c_void) {
        let device = driver::current()?;
        let (kernel, stream) = (module::kernel(function)?, stream::stream(handle)?);
        if stream.device.ordinal != device.ordinal {
            return Err(result::INVALID_HANDLE);
        }
        let formal = kernel.function().parameters.clone();
        if !extra.is_null() || (arguments.is_null() && !formal.is_empty()) {
            return Err(result::INVALID_VALUE);
        }
        let mut parameters = vec![0; kernel.function().parameter_bytes];
        for (at, (offset, bytes)) in formal.into_iter().enumerate() {
            let from = arguments.add(at).read();
            if from.is_null() {
                return Err(result::INVALID_VALUE);
            }
            parameters[offset..offset + bytes].copy_from_slice(std::slice::from_raw_parts(from, bytes));
        }
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        kernel.launch(&stream, grid, block, shared_bytes as usize, parameters)
    }

    // As many blocks as threads and shared memory of a multiprocessor allow.
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks: *mut c_int, function: usize, threads: c_int,
                                                   shared_bytes: usize) {
        put(blocks, fitting(function, threads, shared_bytes)?)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks: *mut c_int, function: usize,
                                                            threads: c_int, shared_bytes: usize, _flags: u32) {
        put(blocks, fitting(function, threads, shared_bytes)?)
    }

    fn cuOccupancyMaxPotentialBlockSize(grid: *mut c_int, block: *mut c_int, function: usize,
                                        _shared_of_threads: *mut c_void, shared_bytes: usize, limit: c_int) {
        let device = driver::current()?;
        let most = module::kernel(function)?.most_threads() as c_int;
        let threads = if limit > 0 { most.min(limit) } else { most };
        put(grid, fitting(function, threads, shared_bytes)? * device.spec.multiprocessors)?;
        put(block, threads)
    }
}

/// PTX text or a name. An image of machine code has no such form and isn't taken.
///
/// # Safety
/// `image` is null or ends with a zero.
unsafe fn text<'a>(image: *const c_char) -> Answer<&'a str> {
    if image.is_null() {
        return Err(result::INVALID_VALUE);
    }
    // SAFETY: the caller vouches for it.
    let bytes = unsafe { CStr::from_ptr(image) }.to_bytes();
    if bytes.starts_with(b"\x7fELF") || bytes.starts_with(&[0x50, 0xed, 0x55, 0xba]) {
        eprintln!("[cuda-driver] machine code can't be executed here; load PTX");
        return Err(result::NO_BINARY_FOR_GPU);
    }
    std::str::from_utf8(bytes).map_err(|_| result::INVALID_IMAGE)
}

fn fitting(function: usize, threads: c_int, shared_bytes: usize) -> Answer<c_int> {
    driver::current()?;
    let kernel = module::kernel(function)?;
    if threads <= 0 || threads as u32 > kernel.most_threads() {
        return Err(result::INVALID_VALUE);
    }
    let shared = kernel.function().shared_bytes + shared_bytes;
    let by_shared = module::MOST_SHARED_BYTES.checked_div(shared).unwrap_or(32);
    Ok((2048 / threads).min(by_shared as c_int).min(32))
}
