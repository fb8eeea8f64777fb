//! An unmodified cudarc program on the library as others load it: two streams, events, pinned copies, an error.

#![cfg(unix)]

mod compiler;

use std::path::{Path, PathBuf};
use std::process::Command;

use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg, result::DriverError, sys};
use cudarc::nvrtc::Ptx;
use libloading::os::unix::Library;

const N: usize = 10_000;
const SOURCE: &str = include_str!("ptx/elementwise.cu");

/// Where Cargo left the library: beside this test.
fn library() -> PathBuf {
    std::env::current_exe().expect("a path").with_file_name("libcuda_driver.so")
}

fn live_bytes() -> u64 {
    // SAFETY: the function is the loaded library's and has this type.
    unsafe {
        let function = Library::this().get::<unsafe extern "C" fn() -> u64>(b"outcrop_cuda_live_bytes");
        function.expect("the emulated driver")()
    }
}

#[test]
fn a_program_on_cudarc() -> Result<(), DriverError> {
    compiler::load(&library());
    assert_eq!(CudaContext::device_count()?, 1);
    let context = CudaContext::new(0)?;
    assert_eq!(context.name()?, "Emulated GPU");
    assert_eq!((context.compute_capability()?, context.has_async_alloc()), ((8, 0), true));
    let ptx = match compiler::is_there() {
        true => Ptx::from_src(compiler::ptx(SOURCE, &["--gpu-architecture=compute_80"]).expect("PTX")),
        false => Ptx::from_src(include_str!("ptx/elementwise.ptx")),
    };
    let module = context.load_module(ptx)?;
    let axpy = module.load_function("axpy_f32")?;
    let (compute, copies) = (context.new_stream()?, context.new_stream()?);
    {
        // SAFETY: written before it is read.
        let (mut from, mut to) =
            unsafe { (context.alloc_pinned::<f32>(N)?, context.alloc_pinned::<f32>(N)?) };
        (0..N).for_each(|i| from.as_mut_slice().expect("pinned")[i] = i as f32);
        let x = copies.clone_htod(&from)?;
        let mut out = compute.alloc_zeros::<f32>(N)?;
        compute.join(&copies)?;
        let (a, n) = (3f32, N as u32);
        let mut launch = compute.launch_builder(&axpy);
        launch.arg(&x).arg(&x).arg(&mut out).arg(&a).arg(&n);
        // SAFETY: the arguments are the kernel's, and it keeps within `n`.
        unsafe { launch.launch(LaunchConfig::for_num_elems(n))? };
        let done = compute.record_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT))?;
        copies.wait(&done)?;
        copies.memcpy_dtoh(&out, &mut to)?;
        copies.synchronize()?;
        assert!(done.is_complete());
        for (i, got) in to.as_slice()?.iter().enumerate() {
            assert_eq!(*got, 4.0 * i as f32);
        }
        assert!(live_bytes() >= 8 * N as u64);
        let (free, total) = context.mem_get_info()?;
        assert_eq!((total, total - free), (1 << 30, 8 * N));
        assert!(
            compute.alloc_zeros::<u8>(2 << 30).is_err_and(|e| e.0 == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)
        );
    }
    context.synchronize()?;
    assert_eq!(live_bytes(), 0);
    assert!(context.load_module(Ptx::from_src(".version 8.0\n.target sm_80\nnonsense")).is_err());
    Ok(())
}

/// Set for the process that a test starts of its own binary.
const CHILD: &str = "CUDA_DRIVER_CHILD";

#[test]
fn a_process_finds_the_driver_in_a_folder() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cuda-driver");
    std::fs::create_dir_all(&folder).expect("a folder");
    // cudarc asks for the first name before the second.
    for name in ["libcuda.so", "libcuda.so.1"] {
        let _ = std::fs::remove_file(folder.join(name));
        std::os::unix::fs::symlink(library(), folder.join(name)).expect("a link");
    }
    let mut child = Command::new(std::env::current_exe().expect("a path"));
    child.args(["--exact", "what_that_process_does", "--nocapture"]).env(CHILD, "1");
    child
        .env("LD_LIBRARY_PATH", &folder)
        .env("OUTCROP_CUDA_DEVICES", "name=A,capability=7.5;name=B,capability=9.0");
    child.env_remove("CUDA_VISIBLE_DEVICES").env_remove("CUDA_DEVICE_ORDER");
    let output = child.output().expect("a child");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn what_that_process_does() -> Result<(), DriverError> {
    if std::env::var_os(CHILD).is_none() {
        return Ok(());
    }
    let names: Result<Vec<String>, DriverError> =
        (0..CudaContext::device_count()?).map(|ordinal| CudaContext::new(ordinal as usize)?.name()).collect();
    assert_eq!(names?, ["B", "A"], "the faster first");
    Ok(())
}
