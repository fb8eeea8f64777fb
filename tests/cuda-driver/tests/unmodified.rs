//! An unmodified cudarc program on the library as others load it: two streams, events, pinned copies, an error.

mod compiler;

use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg, result::DriverError, sys};
use cudarc::nvrtc::Ptx;
use libloading::os::unix::Library;

const N: usize = 10_000;
const SOURCE: &str = include_str!("ptx/elementwise.cu");

/// Loads the library that Cargo left beside this test.
fn load() {
    let folder = std::env::current_exe().expect("a path").with_file_name("libcuda_driver.so");
    compiler::load(&folder);
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
    load();
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
