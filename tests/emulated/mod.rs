//! The emulated CUDA driver (tests/cuda-driver) and the real NVRTC (ci/cuda.sh), loaded into a test's process so that
//! the CUDA backend finds them where it looks for a real card's.

// Not every test that includes this module uses all of it.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

/// The driver, where Cargo left it: beside the tests.
pub fn driver() -> PathBuf {
    std::env::current_exe().expect("a path").with_file_name("libcuda_driver.so")
}

/// The compiler, where ci/cuda.sh puts it: in the folder that the tests were built in.
pub fn nvrtc() -> PathBuf {
    wheels().join("cuda_nvrtc/lib/libnvrtc.so.12")
}

/// The assembler, from the same place.
pub fn ptxas() -> PathBuf {
    wheels().join("cuda_nvcc/bin/ptxas")
}

fn wheels() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).with_file_name("cuda").join("nvidia")
}

/// Whether the compiler is there. Says so where it isn't, and fails if `OUTCROP_REQUIRE` has `cuda-emulated`.
pub fn has_nvrtc() -> bool {
    let path = nvrtc();
    if path.exists() {
        return true;
    }
    let required = std::env::var("OUTCROP_REQUIRE").unwrap_or_default();
    let is_required = required.split(',').any(|name| name == "cuda-emulated");
    assert!(!is_required, "no {}: run ci/cuda.sh", path.display());
    println!("SKIPPED cuda-emulated: no {}; run ci/cuda.sh", path.display());
    false
}

/// Loads both, once for the process; `false` where the compiler isn't there.
pub fn load() -> bool {
    static LOADED: OnceLock<bool> = OnceLock::new();
    *LOADED.get_or_init(|| {
        if has_nvrtc() {
            open(&driver());
            open(&nvrtc());
        }
        has_nvrtc()
    })
}

/// Loads a library for the whole process, so that it is found by its own name afterwards.
fn open(path: &Path) {
    // SAFETY: the libraries' initialisers do nothing that others must know of.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) };
    std::mem::forget(library.unwrap_or_else(|error| panic!("{}: {error}", path.display())));
}
