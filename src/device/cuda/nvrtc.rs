//! NVRTC, NVIDIA's compiler as a library: finding it, and calling it.
//!
//! It is looked for, in this order: where `OUTCROP_NVRTC` says; by its name, where the system looks for libraries; in
//! the CUDA toolkit (`CUDA_HOME`, `CUDA_PATH`, `/usr/local/cuda*`); in Python's packages `nvidia-cuda-nvrtc-cu12` and
//! its like, of the active environment (`VIRTUAL_ENV`, `CONDA_PREFIX`), the user and the system.

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::OnceLock;

use libloading::Library;

/// The compiler can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NvrtcError {
    /// It isn't there.
    #[error(
        "the CUDA compiler NVRTC isn't found; install the CUDA toolkit or `pip install nvidia-cuda-nvrtc-cu12`, or set \
         OUTCROP_NVRTC to the path of libnvrtc.so"
    )]
    Missing,
    /// It can't be loaded, or lacks a function.
    #[error("{}: {message}", path.display())]
    Broken {
        /// Its file.
        path: PathBuf,
        /// What was said.
        message: String,
    },
    /// It refuses a program.
    #[error("{0}")]
    Refused(String),
}

type Handle = *mut std::ffi::c_void;
type Result_ = c_int;

/// Declares the functions of the library, as fields that [`Functions::load`] finds.
macro_rules! functions {
    ($($field:ident = $name:literal: fn($($argument:ty),*) -> $result:ty;)*) => {
        struct Functions {
            $($field: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Functions {
            fn load(library: &Library) -> Result<Self, libloading::Error> {
                // SAFETY: the functions have had these types since CUDA 11.2.
                Ok(Functions { $($field: *unsafe { library.get(concat!($name, "\0").as_bytes()) }?,)* })
            }
        }
    };
}

functions! {
    version = "nvrtcVersion": fn(*mut c_int, *mut c_int) -> Result_;
    arch_count = "nvrtcGetNumSupportedArchs": fn(*mut c_int) -> Result_;
    archs = "nvrtcGetSupportedArchs": fn(*mut c_int) -> Result_;
    create = "nvrtcCreateProgram": fn(*mut Handle, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char) -> Result_;
    destroy = "nvrtcDestroyProgram": fn(*mut Handle) -> Result_;
    compile = "nvrtcCompileProgram": fn(Handle, c_int, *const *const c_char) -> Result_;
    log_size = "nvrtcGetProgramLogSize": fn(Handle, *mut usize) -> Result_;
    log = "nvrtcGetProgramLog": fn(Handle, *mut c_char) -> Result_;
    ptx_size = "nvrtcGetPTXSize": fn(Handle, *mut usize) -> Result_;
    ptx = "nvrtcGetPTX": fn(Handle, *mut c_char) -> Result_;
    cubin_size = "nvrtcGetCUBINSize": fn(Handle, *mut usize) -> Result_;
    cubin = "nvrtcGetCUBIN": fn(Handle, *mut c_char) -> Result_;
    error_text = "nvrtcGetErrorString": fn(Result_) -> *const c_char;
}

/// The compiler, loaded for as long as the process lives.
pub struct Nvrtc {
    functions: Functions,
    path: PathBuf,
    version: (i32, i32),
    /// Architectures that it knows, ascending: 90 is 9.0.
    archs: Vec<u32>,
}

/// What a program is compiled to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Machine code of one architecture.
    Machine(u32),
    /// PTX, which drivers compile for any later one.
    Ptx(u32),
}

impl Nvrtc {
    /// The compiler, found and loaded at the first call.
    ///
    /// # Errors
    /// It is missing or broken.
    pub fn find() -> Result<&'static Nvrtc, NvrtcError> {
        static FOUND: OnceLock<Result<Nvrtc, NvrtcError>> = OnceLock::new();
        FOUND.get_or_init(look).as_ref().map_err(Clone::clone)
    }

    /// Its version: (12, 9).
    pub fn version(&self) -> (i32, i32) {
        self.version
    }

    /// The file it was loaded from, or its name where the system found it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What to compile to for a card of a compute capability (90 is 9.0): its machine code, or where the compiler is older
    /// than the card, PTX of the latest architecture before.
    pub fn target(&self, capability: u32) -> Target {
        if self.archs.contains(&capability) {
            return Target::Machine(capability);
        }
        let earlier = self.archs.iter().rev().find(|&&arch| arch < capability);
        Target::Ptx(earlier.or(self.archs.first()).copied().unwrap_or(capability))
    }

    /// Compiles a text. `options` are the compiler's own, beside the architecture.
    ///
    /// # Errors
    /// What the compiler says, with lines.
    pub fn compile(&self, source: &str, target: Target, options: &[&str]) -> Result<Vec<u8>, NvrtcError> {
        let refused = |error: &dyn std::fmt::Display| NvrtcError::Refused(error.to_string());
        let source = CString::new(source).map_err(|error| refused(&error))?;
        let mut program = Program { functions: &self.functions, handle: ptr::null_mut() };
        // SAFETY: the text outlives the program, and the handle is written.
        self.check(unsafe {
            (self.functions.create)(
                &mut program.handle,
                source.as_ptr(),
                c"kernel.cu".as_ptr(),
                0,
                ptr::null(),
                ptr::null(),
            )
        })?;
        let arch = match target {
            Target::Machine(arch) => format!("--gpu-architecture=sm_{arch}"),
            Target::Ptx(arch) => format!("--gpu-architecture=compute_{arch}"),
        };
        let options = options
            .iter()
            .copied()
            .chain([arch.as_str()])
            .map(CString::new)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| refused(&error))?;
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: so many options, each ended by a zero.
        let compiled =
            unsafe { (self.functions.compile)(program.handle, pointers.len() as c_int, pointers.as_ptr()) };
        if compiled != 0 {
            let log = self.text(program.handle, self.functions.log_size, self.functions.log)?;
            return Err(NvrtcError::Refused(
                String::from_utf8_lossy(&log).trim_end_matches('\0').trim().to_owned(),
            ));
        }
        match target {
            Target::Machine(_) => self.text(program.handle, self.functions.cubin_size, self.functions.cubin),
            Target::Ptx(_) => self.text(program.handle, self.functions.ptx_size, self.functions.ptx),
        }
    }

    fn text(
        &self,
        program: Handle,
        size: unsafe extern "C" fn(Handle, *mut usize) -> Result_,
        bytes: unsafe extern "C" fn(Handle, *mut c_char) -> Result_,
    ) -> Result<Vec<u8>, NvrtcError> {
        let mut length = 0;
        // SAFETY: the program lives.
        self.check(unsafe { size(program, &mut length) })?;
        let mut text = vec![0u8; length];
        // SAFETY: the vector has the length that was asked for.
        self.check(unsafe { bytes(program, text.as_mut_ptr().cast()) })?;
        Ok(text)
    }

    fn check(&self, result: Result_) -> Result<(), NvrtcError> {
        if result == 0 {
            return Ok(());
        }
        // SAFETY: the library answers every number with a text that it owns.
        let text = unsafe { CStr::from_ptr((self.functions.error_text)(result)) };
        Err(NvrtcError::Refused(text.to_string_lossy().into_owned()))
    }

    fn load(path: PathBuf) -> Result<Nvrtc, NvrtcError> {
        let broken = |message: String| NvrtcError::Broken { path: path.clone(), message };
        // SAFETY: loading a compiler runs its initialisers, which is what it is for.
        let library = unsafe { Library::new(&path) }.map_err(|error| broken(error.to_string()))?;
        let functions = Functions::load(&library).map_err(|error| broken(error.to_string()))?;
        // The functions are called for as long as the process lives.
        std::mem::forget(library);
        let mut found = Nvrtc { functions, path: path.clone(), version: (0, 0), archs: Vec::new() };
        let (mut major, mut minor, mut count) = (0, 0, 0);
        // SAFETY: the numbers are written.
        found.check(unsafe { (found.functions.version)(&mut major, &mut minor) })?;
        // SAFETY: as above.
        found.check(unsafe { (found.functions.arch_count)(&mut count) })?;
        let mut archs = vec![0; usize::try_from(count).unwrap_or_default()];
        // SAFETY: the vector has the length that was asked for.
        found.check(unsafe { (found.functions.archs)(archs.as_mut_ptr()) })?;
        found.archs = archs.into_iter().filter_map(|arch| u32::try_from(arch).ok()).collect();
        found.archs.sort_unstable();
        found.version = (major, minor);
        Ok(found)
    }
}

struct Program<'a> {
    functions: &'a Functions,
    handle: Handle,
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: it was made once.
            unsafe { (self.functions.destroy)(&mut self.handle) };
        }
    }
}

fn look() -> Result<Nvrtc, NvrtcError> {
    if let Some(path) = std::env::var_os("OUTCROP_NVRTC").filter(|path| !path.is_empty()) {
        return Nvrtc::load(path.into());
    }
    let mut broken = None;
    for path in names().into_iter().chain(files(&places())) {
        match Nvrtc::load(path) {
            Ok(found) => return Ok(found),
            Err(error @ NvrtcError::Broken { .. }) if error_is_of_a_file(&error) => {
                broken.get_or_insert(error);
            }
            Err(_) => {}
        }
    }
    Err(broken.unwrap_or(NvrtcError::Missing))
}

/// Whether a file was there: a name that the system doesn't know says nothing.
fn error_is_of_a_file(error: &NvrtcError) -> bool {
    matches!(error, NvrtcError::Broken { path, .. } if path.is_absolute())
}

/// Names by which the system may know it, the latest first.
fn names() -> Vec<PathBuf> {
    let names: &[&str] = match cfg!(windows) {
        true => &["nvrtc64_130_0.dll", "nvrtc64_120_0.dll"],
        false => &["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"],
    };
    names.iter().map(PathBuf::from).collect()
}

/// Folders that may hold it.
fn places() -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let mut toolkits: Vec<PathBuf> =
        ["CUDA_HOME", "CUDA_PATH"].iter().filter_map(|name| variable(name)).collect();
    toolkits.extend(below(Path::new("/usr/local"), "cuda"));
    let mut places: Vec<PathBuf> = toolkits
        .iter()
        .flat_map(|toolkit| {
            ["lib64", "lib", "bin", "targets/x86_64-linux/lib"].map(|name| toolkit.join(name))
        })
        .collect();
    let environments = ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().filter_map(|name| variable(name));
    let user = variable("HOME").map(|home| home.join(".local"));
    let prefixes = environments.chain(user).chain([PathBuf::from("/usr/local"), PathBuf::from("/usr")]);
    for prefix in prefixes {
        for python in below(&prefix.join("lib"), "python3") {
            for packages in ["site-packages", "dist-packages"] {
                let nvidia = python.join(packages).join("nvidia");
                places.extend(["cuda_nvrtc/lib", "cu13/lib"].map(|name| nvidia.join(name)));
            }
        }
    }
    places
}

/// The entries of a folder whose names begin so, the last by name first.
fn below(folder: &Path, beginning: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(beginning))
        .map(|e| e.path())
        .collect();
    found.sort();
    found.reverse();
    found
}

/// The libraries in the folders, for one folder after the other.
fn files(places: &[PathBuf]) -> Vec<PathBuf> {
    let names = ["libnvrtc.so", "nvrtc64_"];
    let is_library = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        names.iter().any(|beginning| name.starts_with(beginning)) && !name.contains("builtins")
    };
    places
        .iter()
        .flat_map(|place| {
            names.iter().flat_map(|name| below(place, name)).filter(|path| is_library(path)).take(1)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_found_in_toolkits_and_packages() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            path
        };
        let wheel = make("python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
        make("python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.12.9");
        let toolkit = make("cuda-13.0/lib64/libnvrtc.so.13");
        let places = [toolkit.parent().unwrap(), folder.path(), wheel.parent().unwrap()].map(Path::to_owned);
        assert_eq!(files(&places), [toolkit, wheel]);
        assert_eq!(below(folder.path(), "python3"), [folder.path().join("python3.11")],);
    }
}
