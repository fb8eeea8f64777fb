//! The real NVRTC, from the wheel that ci/cuda.sh installs, or a reason why a test is skipped.

use std::ffi::CString;
use std::path::PathBuf;
use std::sync::OnceLock;

use cudarc::nvrtc::result as nvrtc;
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

/// Loads the compiler; where it isn't there says so, and fails if `OUTCROP_REQUIRE` has `cuda-emulated`.
pub fn is_there() -> bool {
    static LIBRARY: OnceLock<bool> = OnceLock::new();
    *LIBRARY.get_or_init(|| {
        let path = nvrtc_path();
        if path.exists() {
            load(&path);
            return true;
        }
        let required = std::env::var("OUTCROP_REQUIRE").unwrap_or_default();
        assert!(
            !required.split(',').any(|name| name == "cuda-emulated"),
            "no {}: run ci/cuda.sh",
            path.display()
        );
        eprintln!("SKIPPED: no {}; run ci/cuda.sh", path.display());
        false
    })
}

/// Loads a library for the whole process, so that it is found by its own name afterwards.
pub fn load(path: &std::path::Path) {
    // SAFETY: the libraries' initializers do nothing that others must know of.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) };
    std::mem::forget(library.unwrap_or_else(|error| panic!("{}: {error}", path.display())));
}

/// PTX of a CUDA text, or the compiler's log.
pub fn ptx(source: &str, options: &[&str]) -> Result<String, String> {
    let source = CString::new(source).expect("no zero");
    let program = nvrtc::create_program(&source, None).map_err(|error| error.to_string())?;
    let text = |bytes: Vec<std::ffi::c_char>| {
        let bytes: Vec<u8> = bytes.into_iter().map(|byte| byte as u8).take_while(|byte| *byte != 0).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    // SAFETY: the program was just made and is destroyed once.
    unsafe {
        let compiled = nvrtc::compile_program(program, options);
        let answer = match compiled {
            Ok(()) => nvrtc::get_ptx(program).map(text).map_err(|error| error.to_string()),
            Err(_) => Err(nvrtc::get_program_log(program).map(text).unwrap_or_default()),
        };
        nvrtc::destroy_program(program).map_err(|error| error.to_string())?;
        answer
    }
}

/// Where ci/cuda.sh puts it: in the folder that this test was built in.
fn nvrtc_path() -> PathBuf {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).with_file_name("cuda");
    target.join("nvidia/cuda_nvrtc/lib/libnvrtc.so.12")
}
