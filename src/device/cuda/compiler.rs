//! Kernels to modules; equal sources are compiled once for each device, and kept on disk for the next process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::context::Context;
use super::kept::{Function, Module};
use super::nvrtc::{Nvrtc, NvrtcError, Target};
use crate::device::contract::{Compiler, DeviceError, Program};
use crate::device::kernel_cache::KernelCache;
use crate::kernel::Kernel;
use crate::kernel::capability::cuda_kernel_lack;
use crate::kernel::cuda::Rendered;

/// The host's bits: no contraction, nothing flushed to zero, divisions and roots rounded correctly.
pub const OPTIONS: [&str; 5] =
    ["--std=c++17", "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true"];

/// The compiler of one device.
pub struct CudaCompiler {
    context: Arc<Context>,
    nvrtc: &'static Nvrtc,
    target: Mutex<Target>,
    cache: KernelCache,
    modules: Mutex<HashMap<String, Arc<Module>>>,
}

/// A kernel's functions.
pub(super) struct CudaProgram {
    pub(super) rendered: Rendered,
    pub(super) functions: Vec<Function>,
    pub(super) name: String,
    /// What the functions are in.
    _module: Arc<Module>,
}

impl CudaCompiler {
    /// A compiler for a card of a compute capability (90 is 9.0).
    pub(super) fn new(
        context: &Arc<Context>,
        nvrtc: &'static Nvrtc,
        capability: u32,
        cache: KernelCache,
    ) -> Self {
        let target = Mutex::new(nvrtc.target(capability));
        CudaCompiler { context: context.clone(), nvrtc, target, cache, modules: Mutex::default() }
    }

    /// The source's module, from the cache or new. Two threads may compile the same one at a time; the first stays.
    fn module(&self, kernel: &Kernel, source: &str) -> Result<Arc<Module>, DeviceError> {
        let known = || self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = known().get(source) {
            return Ok(module.clone());
        }
        let target = *self.target.lock().unwrap_or_else(PoisonError::into_inner);
        let made = match (self.load(kernel, source, target), target) {
            // A driver that is older than the compiler doesn't take its machine code; one that emulates a card has none.
            (Err(DeviceError::Failed { .. }), Target::Machine(arch)) => {
                let module = self.load(kernel, source, Target::Ptx(arch))?;
                *self.target.lock().unwrap_or_else(PoisonError::into_inner) = Target::Ptx(arch);
                module
            }
            (made, _) => made?,
        };
        Ok(known().entry(source.to_owned()).or_insert(Arc::new(made)).clone())
    }

    fn load(&self, kernel: &Kernel, source: &str, target: Target) -> Result<Module, DeviceError> {
        let (major, minor) = self.nvrtc.version();
        let key = format!("NVRTC {major}.{minor}\n{target:?}\n{}\n{source}", OPTIONS.join(" "));
        if let Some(image) = self.cache.find(&key)
            && let Ok(module) = Module::load(&self.context, &image)
        {
            return Ok(module);
        }
        let compiled = self.nvrtc.compile(source, target, &OPTIONS);
        let image = compiled.map_err(|error: NvrtcError| DeviceError::Compile {
            device: self.context.name().to_owned(),
            kernel: kernel.name(),
            message: error.to_string(),
        })?;
        let module = Module::load(&self.context, &image)?;
        self.cache.keep(&key, &image);
        Ok(module)
    }
}

impl Compiler for CudaCompiler {
    fn compile(&self, kernel: &Kernel) -> Result<Program, DeviceError> {
        if let Some(lack) = cuda_kernel_lack(kernel) {
            let (device, kernel) = (self.context.name().to_owned(), kernel.name());
            return Err(DeviceError::Compile {
                device,
                kernel,
                message: format!("this device lacks {lack}"),
            });
        }
        let rendered = Rendered::new(kernel);
        let module = self.module(kernel, &rendered.source)?;
        let functions =
            rendered.functions.iter().map(|name| module.function(name)).collect::<Result<_, _>>()?;
        Ok(Program::new(CudaProgram { rendered, functions, name: kernel.name(), _module: module }))
    }
}
